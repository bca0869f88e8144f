//! Rows added to the visible symbols (DM-08). Cells are drawn reel by reel, from the top. Each of the four crystals
//! lands at most once (DM-09).

use crate::contract::draws::Draws;
use crate::parts::file::ModelError;

pub const CRYSTALS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    symbols: Vec<u8>,
    limits: Vec<u32>,
    crystal: u32,
    total: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    Symbol(u8),
    Crystal(usize),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Landed([bool; CRYSTALS]);

impl Landed {
    #[inline]
    pub fn kinds(self) -> impl Iterator<Item = usize> {
        (0..CRYSTALS).filter(move |&kind| self.0[kind])
    }

    #[inline]
    fn number(self) -> u32 {
        self.0.iter().map(|&landed| u32::from(landed)).sum()
    }
}

impl Expansion {
    pub fn new(weights: &[(u8, u32)], crystal: u32) -> Result<Self, ModelError> {
        let bad = |what: &str| ModelError::part("expansion", what);
        let mut sum = 0u32;
        let mut limits = Vec::with_capacity(weights.len());
        for &(_, weight) in weights {
            sum = sum.checked_add(weight).ok_or_else(|| bad("the sum of the weights exceeds 32 bits"))?;
            limits.push(sum);
        }
        if weights.is_empty() || crystal == 0 || weights.iter().any(|&(_, weight)| weight == 0) {
            return Err(bad("the expansion has no symbol, or a symbol's weight is 0"));
        }
        let crystals = crystal.checked_mul(4).ok_or_else(|| bad("the sum of the crystals' weights exceeds 32 bits"))?;
        let total = sum.checked_add(crystals).ok_or_else(|| bad("the sum of the weights exceeds 32 bits"))?;
        Ok(Self { symbols: weights.iter().map(|&(symbol, _)| symbol).collect(), limits, crystal, total })
    }

    #[inline]
    pub fn cell(&self, landed: &mut Landed, draws: &mut Draws) -> Drawn {
        let drawn = draws.below(self.total - self.crystal * landed.number());
        let place: usize = self.limits.iter().map(|&limit| usize::from(drawn >= limit)).sum();
        if let Some(&symbol) = self.symbols.get(place) {
            return Drawn::Symbol(symbol);
        }
        let among_free = (drawn - self.limits[place - 1]) / self.crystal;
        let free = (0..CRYSTALS).filter(|&kind| !landed.0[kind]);
        let kind = free.take(among_free as usize + 1).last().unwrap_or(0);
        landed.0[kind] = true;
        Drawn::Crystal(kind)
    }

    pub fn weights(&self) -> impl Iterator<Item = (u8, u32)> {
        let before = std::iter::once(0).chain(self.limits.iter().copied());
        self.symbols.iter().zip(before.zip(&self.limits)).map(|(&symbol, (below, &limit))| (symbol, limit - below))
    }

    #[must_use]
    pub fn crystal(&self) -> u32 {
        self.crystal
    }
}
