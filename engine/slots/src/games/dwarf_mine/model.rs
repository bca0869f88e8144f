use std::collections::BTreeSet;

use super::data::{GameData, SUPER_HIGH};
use crate::contract::info::{Autoplay, AutoplayLoss, Fact, GameInfo, PayRow, SymbolInfo, SymbolRole};
use crate::contract::par::PartName;
use crate::contract::stake::StakeLimits;
use crate::parts::collection::{GIFT_COLOUR, GiftTo};
use crate::parts::data::{self, SymbolData};
use crate::parts::expansion::{CRYSTALS, Expansion};
use crate::parts::file::{self, ModelError};
use crate::parts::reels::REELS;
use crate::parts::ways::{WAYS_SYMBOLS_MAX, Ways, WaysPays, WaysReels};

pub(super) const BASE_WAYS: usize = 0;
pub(super) const FREE_SPINS: usize = 1;
pub(super) const COLLECTIONS: usize = 2;
pub(super) const PARTS: [PartName; 3] = [
    PartName::cash("base_ways", "ways wins of the paid spin"),
    PartName::cash("free_spins", "all wins in free spins"),
    PartName::collected("collections", "all wins in Collection Free Spins, in the long run"),
];

const SHORT_NAMES: [(&str, &str); 8] = [
    ("Emerald Dwarf", "Emerald"),
    ("Topaz Dwarf", "Topaz"),
    ("Sapphire Dwarf", "Sapphire"),
    ("Ruby Dwarf", "Ruby"),
    ("Green Crystal", "Green"),
    ("Yellow Crystal", "Yellow"),
    ("Blue Crystal", "Blue"),
    ("Red Crystal", "Red"),
];
pub const ROWS: usize = 4;
pub const ROWS_MAX: usize = 7;
/// See DM-06.
pub const BONUS_REELS: [usize; 3] = [0, 2, 4];
pub const BET_COINS: u32 = 25;
const SPINS_MAX: u32 = 100;

#[derive(Clone, Debug)]
pub struct Model {
    pub base: WaysReels,
    pub free: WaysReels,
    pub collection: [WaysReels; CRYSTALS],
    pub ways: Ways,
    pub expansion: Expansion,
    pub bonus: u8,
    pub crystals: [u8; CRYSTALS],
    pub super_high: [u8; CRYSTALS],
    pub free_spins: u32,
    pub needs: u32,
    pub collection_spins: u32,
    pub gift: u32,
    pub gift_to: GiftTo,
    pub limits: StakeLimits,
    pub symbols: Vec<SymbolInfo>,
    pub rtp_micros: u64,
}

impl Model {
    pub fn new(data: &GameData) -> Result<Self, ModelError> {
        let limits = data::limits(&data.stake, 1)?;
        if (limits.lines, limits.coins_per_line) != ((1, 1), (BET_COINS, BET_COINS)) {
            return Err(ModelError::part("stake", "every bet must be 25 coins"));
        }
        let spins = [data.free_spins.spins, data.collection.spins];
        if spins.iter().any(|spins| !(1..=SPINS_MAX).contains(spins)) {
            return Err(ModelError::part(
                "free_spins",
                format!("the numbers of free spins, {spins:?}, must each be 1 to {SPINS_MAX}"),
            ));
        }
        if data.collection.needs == 0 || data.collection.gift >= data.collection.needs {
            return Err(ModelError::part("collection", "a new player's free crystals must not complete a collection"));
        }
        let codes: BTreeSet<&str> = data.symbols.iter().map(|of| of.code.as_str()).collect();
        if codes.len() != data.symbols.len() || codes.contains(SUPER_HIGH) {
            return Err(ModelError::part(
                "symbols",
                "two symbols have the same code, or a code equals the placeholder of the super-high symbol",
            ));
        }
        let super_high = colours(data, SymbolRole::SuperHigh)?;
        let of_colour = |symbol| WaysReels::new(&free_strips(data, Some(symbol))?, ROWS_MAX);
        let [green, yellow, blue, red] = super_high.map(of_colour);
        let bonus = data::only(&data.symbols, SymbolRole::FreeSpins)?;
        Ok(Self {
            base: WaysReels::new(&base_strips(data, bonus)?, ROWS)?,
            free: WaysReels::new(&free_strips(data, None)?, ROWS_MAX)?,
            collection: [green?, yellow?, blue?, red?],
            ways: Ways::new(pays(&data.symbols)?)?,
            expansion: expansion(data)?,
            bonus,
            crystals: colours(data, SymbolRole::Collected)?,
            super_high,
            free_spins: data.free_spins.spins,
            needs: data.collection.needs,
            collection_spins: data.collection.spins,
            gift: data.collection.gift,
            gift_to: data.collection.gift_to,
            limits,
            symbols: data::symbol_infos(&data.symbols, &SHORT_NAMES),
            rtp_micros: file::micros("rtp", &data.rtp)?,
        })
    }

    #[must_use]
    pub fn info(&self, data: &GameData) -> GameInfo {
        GameInfo {
            rows: 4,
            paytable: self.paytable(),
            ways: true,
            rows_max: 7,
            autoplay: Autoplay { loss: AutoplayLoss::Prevented, ends_above_win: false },
            free_spin_multiplier: 1,
            collection_needs: self.needs,
            ..data.info(&self.symbols, &self.limits)
        }
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        let fact = |key, title, value: u32| Fact { key, title, value: value.to_string() };
        vec![
            fact("free_spins", "free spins that three Bonus symbols start", self.free_spins),
            fact("collection_needs", "crystals of one colour that complete a collection", self.needs),
            fact("collection_spins", "Collection Free Spins per completed collection", self.collection_spins),
            fact("gift_crystals", "red crystals given to a new player", self.gift),
        ]
    }

    pub(crate) fn paytable(&self) -> Vec<PayRow> {
        let mut rows = Vec::new();
        for (symbol, pays) in (0u8..).zip(self.ways.pays()) {
            for (count, &pays) in (0u8..=5).zip(pays).rev().filter(|(_, pays)| **pays > 0) {
                rows.push(PayRow { symbol, count, pays, free_spins: 0, scatter: false, bonus: false });
            }
        }
        let award =
            |symbol, count, free_spins| PayRow { symbol, count, pays: 0, free_spins, scatter: true, bonus: false };
        rows.push(award(self.bonus, 3, self.free_spins));
        let needs = u8::try_from(self.needs).unwrap_or(u8::MAX);
        rows.extend(self.crystals.map(|crystal| award(crystal, needs, self.collection_spins)));
        rows
    }

    #[must_use]
    pub fn regular(&self) -> Vec<u8> {
        let symbols = (0u8..).zip(&self.symbols).filter(|(_, info)| info.role == SymbolRole::Regular);
        symbols.map(|(symbol, _)| symbol).collect()
    }
}

fn colours(data: &GameData, role: SymbolRole) -> Result<[u8; CRYSTALS], ModelError> {
    let of_role = data.symbols.iter().filter(|symbol| symbol.role == role);
    let indexes: Vec<u8> = of_role.map(|of| data::index_of(&data.symbols, &of.code)).collect::<Result<_, _>>()?;
    let wrong = |all: Vec<u8>| {
        ModelError::part("symbols", format!("there are {} {role:?} symbols instead of {CRYSTALS}", all.len()))
    };
    indexes.try_into().map_err(wrong)
}

fn pays(symbols: &[SymbolData]) -> Result<WaysPays, ModelError> {
    let mut all = WaysPays::default();
    let bad = |of: &SymbolData| {
        Err(ModelError::part(
            "symbols",
            format!("the pays or free spins of symbol `{}` do not match its role", of.code),
        ))
    };
    for (index, of) in symbols.iter().enumerate() {
        let pays = data::from_none("symbols", &of.pays)?;
        let (regular, high) = (of.role == SymbolRole::Regular, of.role == SymbolRole::SuperHigh);
        if !of.free_spins.is_empty() || (regular || high) != (pays[3] > 0) || high != (pays[2] > 0) {
            return bad(of);
        }
        match all.get_mut(index) {
            Some(slot) => *slot = pays,
            None if pays[3] > 0 || of.role == SymbolRole::FreeSpins => return bad(of),
            None => {}
        }
    }
    debug_assert!(all.len() == WAYS_SYMBOLS_MAX);
    Ok(all)
}

fn base_strips(data: &GameData, bonus: u8) -> Result<Vec<Vec<u8>>, ModelError> {
    let strips = data::strips_of(&data.symbols, &data.reels.base)?;
    for (reel, strip) in strips.iter().enumerate() {
        regular(data, strip.iter().copied().filter(|&symbol| symbol != bonus))?;
        let at: Vec<usize> = (0..strip.len()).filter(|&stop| strip[stop] == bonus).collect();
        let gap = |(i, &stop): (usize, &usize)| match at.get(i + 1) {
            Some(next) => next - stop,
            None => at[0] + strip.len() - stop,
        };
        if at.is_empty() == BONUS_REELS.contains(&reel) || at.iter().enumerate().map(gap).any(|gap| gap < ROWS) {
            return Err(ModelError::part(
                "reels",
                format!(
                    "reel {} has two Bonus symbols in one window, lacks Bonus symbols that it needs, or has Bonus \
                     symbols where none are allowed",
                    reel + 1
                ),
            ));
        }
    }
    Ok(strips)
}

fn free_strips(data: &GameData, super_high: Option<u8>) -> Result<Vec<Vec<u8>>, ModelError> {
    let code = super_high.map_or("", |symbol| data.symbols[usize::from(symbol)].code.as_str());
    if data.reels.free.iter().any(|strip| !strip.split_whitespace().any(|of| of == SUPER_HIGH)) {
        return Err(ModelError::part("reels", "the super-high symbol must be on all reels"));
    }
    let strips: Vec<String> = data.reels.free.iter().map(|strip| strip.replace(SUPER_HIGH, code)).collect();
    let strips = data::strips_of(&data.symbols, &strips)?;
    let without = |&&symbol: &&u8| Some(symbol) != super_high;
    regular(data, strips.iter().flatten().filter(without).copied())?;
    Ok(strips)
}

fn regular(data: &GameData, mut symbols: impl Iterator<Item = u8>) -> Result<(), ModelError> {
    match symbols.find(|&symbol| data.symbols[usize::from(symbol)].role != SymbolRole::Regular) {
        Some(other) => Err(ModelError::part(
            "reels",
            format!(
                "symbol `{}` is not a regular symbol, so it is not allowed on this strip",
                data.symbols[usize::from(other)].code
            ),
        )),
        None => Ok(()),
    }
}

fn expansion(data: &GameData) -> Result<Expansion, ModelError> {
    let cells = &data.expansion.symbols;
    let weight = |cell: &super::data::CellData| Ok((data::index_of(&data.symbols, &cell.code)?, cell.weight));
    let weights: Vec<(u8, u32)> = cells.iter().map(weight).collect::<Result<_, ModelError>>()?;
    regular(data, weights.iter().map(|&(symbol, _)| symbol))?;
    let twice = |(place, of): (usize, &(u8, u32))| weights[..place].iter().any(|other| other.0 == of.0);
    if weights.iter().enumerate().any(twice) {
        return Err(ModelError::part("expansion", "the expansion lists a symbol twice"));
    }
    Expansion::new(&weights, data.expansion.crystal)
}

const _: () = assert!(GIFT_COLOUR < CRYSTALS && BONUS_REELS[2] < REELS);
