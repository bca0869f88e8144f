//! Rows that a window grows by for one spin: their cells are drawn one by one, from weights (DM-08).
//!
//! Besides the symbols that pay there are crystals among them, all equally likely. A crystal that has landed in this
//! spin is out of the draw for its further cells, so each lands at most once, by construction (DM-09). The order of the
//! cells is part of the draw: reel by reel from the left, each from the top. One draw a cell.

use crate::contract::draws::Draws;
use crate::parts::file::ModelError;

/// Kinds of crystals.
pub const CRYSTALS: usize = 4;

/// The weights that the cells are drawn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    symbols: Vec<u8>,
    /// For each symbol the weights up to and with its own.
    limits: Vec<u32>,
    /// Weight of each kind of crystal.
    crystal: u32,
    /// All weights before any crystal has landed.
    total: u32,
}

/// The content drawn for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// This symbol.
    Symbol(u8),
    /// The crystal of this kind, from 0.
    Crystal(usize),
}

/// The crystals that have landed in a spin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Landed([bool; CRYSTALS]);

impl Landed {
    /// The kinds that have landed, in their order.
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
    /// Symbols with their weights, and the weight of each kind of crystal.
    ///
    /// # Errors
    /// No symbol, a weight of 0, or more than 32 bits of weight in all.
    pub fn new(weights: &[(u8, u32)], crystal: u32) -> Result<Self, ModelError> {
        let bad = |what: &str| ModelError::part("expansion", what);
        let mut sum = 0u32;
        let mut limits = Vec::with_capacity(weights.len());
        for &(_, weight) in weights {
            sum = sum.checked_add(weight).ok_or_else(|| bad("the weights pass 32 bits"))?;
            limits.push(sum);
        }
        if weights.is_empty() || crystal == 0 || weights.iter().any(|&(_, weight)| weight == 0) {
            return Err(bad("no symbol, or a weight of 0"));
        }
        let crystals = crystal.checked_mul(4).ok_or_else(|| bad("the crystals' weights pass 32 bits"))?;
        let total = sum.checked_add(crystals).ok_or_else(|| bad("the weights pass 32 bits"))?;
        Ok(Self { symbols: weights.iter().map(|&(symbol, _)| symbol).collect(), limits, crystal, total })
    }

    /// Draws the next cell of a spin in which these crystals have landed.
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

    /// The symbols and their weights.
    pub fn weights(&self) -> impl Iterator<Item = (u8, u32)> {
        let before = std::iter::once(0).chain(self.limits.iter().copied());
        self.symbols.iter().zip(before.zip(&self.limits)).map(|(&symbol, (below, &limit))| (symbol, limit - below))
    }

    /// The weight of each kind of crystal.
    #[must_use]
    pub fn crystal(&self) -> u32 {
        self.crystal
    }
}
