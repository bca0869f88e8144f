//! Outcome of a step. The next step can reuse the outcome's buffers. Wins are in whole coins and include multipliers.

use std::ops::Range;

use crate::contract::carried::Carried;

pub const REELS_MAX: usize = 8;
pub const CELLS_MAX: usize = 35;
/// Maximum number of cards turned per round (ME-15).
pub const CARDS_MAX: usize = 10;
pub const PARTS_MAX: usize = 8;
/// Maximum number of objects that a player picks in one choice (NP-10).
pub const PICKS_MAX: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub spins: Vec<Spin>,
    pub wins: Vec<Win>,
    pub marks: Vec<Mark>,
    pub prize: Option<Prize>,
    pub reveals: Vec<Reveal>,
    pub unopened: Vec<Reveal>,
    /// Mean coin value at which the step pays, if it does not pay at the stake's coin value (DM-12). Not logged.
    pub mean_coin: Option<MeanCoin>,
    pub pick: Option<PickOffer>,
    pub card: Option<CardTurn>,
    pub jackpot: bool,
    pub awaiting: Awaiting,
    pub free_spins_left: u32,
    pub double_strip: Strip,
    /// Win of the round so far, before gambles and excluding jackpots.
    pub round_win_coins: u64,
    /// Win of the round so far, after gambles and excluding jackpots.
    pub round_win_minor: u64,
    /// Amount that this step credits, in minor units (ME-16).
    pub credited_minor: u64,
    pub carried: Option<Carried>,
    /// Coins won per kind of win in [`crate::Game::parts`]. Not logged.
    pub part_coins: [u64; PARTS_MAX],
}

impl Outcome {
    pub fn clear(&mut self) {
        self.spins.clear();
        self.wins.clear();
        self.marks.clear();
        self.prize = None;
        self.reveals.clear();
        self.unopened.clear();
        self.mean_coin = None;
        self.pick = None;
        self.card = None;
        self.jackpot = false;
        self.awaiting = Awaiting::Nothing;
        self.free_spins_left = 0;
        self.double_strip = Strip::default();
        self.round_win_coins = 0;
        self.round_win_minor = 0;
        self.credited_minor = 0;
        self.carried = None;
        self.part_coins = [0; PARTS_MAX];
    }

    #[must_use]
    pub fn wins_of(&self, spin: &Spin) -> &[Win] {
        self.wins.get(spin.wins.start as usize..spin.wins.end as usize).unwrap_or_default()
    }

    #[must_use]
    pub fn marks_of(&self, spin: &Spin) -> &[Mark] {
        self.marks.get(spin.marks.start as usize..spin.marks.end as usize).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaiting {
    #[default]
    Nothing,
    Spin,
    Pick,
    FreeSpins,
    Feature,
    /// The player may guess a card, or collect or halve the win.
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinKind {
    Base,
    Free,
    /// Free spin of a completed collection, with this super-high symbol (DM-11).
    Collection(u8),
    /// See ME-10.
    HoldAndWin,
    /// See WF-07.
    HighSymbols,
    /// See WF-08.
    RandomWilds,
    /// See WF-09.
    MultiplierRespin,
    /// See WF-10.
    MegaWild,
    /// See WF-13.
    Explosion,
}

impl SpinKind {
    #[must_use]
    pub fn is_free(self) -> bool {
        matches!(self, Self::Free | Self::Collection(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Cell number: reel × number of rows + row.
    pub cell: u8,
    pub kind: MarkKind,
    pub value: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// Crystal; `value` is its symbol's index (DM-09).
    Crystal,
    /// Bonus; `value` is its pay as a multiple of the total bet (ME-04).
    Bonus,
    /// Mystery Bonus; `value` is its pay as a multiple of the total bet, or 0 until the pay is revealed (ME-05).
    Mystery,
    /// Multiplier; `value` is its factor, or 0 until the factor is revealed (ME-06).
    Multiplier,
    /// Potion; `value` is its symbol's index (WF-05).
    Potion,
    /// Placed Wild; `value` is its side length in cells, 1 to 3 (WF-08, WF-10).
    PlacedWild,
    /// See WF-13.
    Question,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickOffer {
    pub needs: u8,
    pub of: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanCoin {
    pub sum_micros: u64,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reveal {
    pub object: u8,
    pub coins: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spin {
    pub kind: SpinKind,
    /// Reel stops; empty if cells are drawn individually.
    pub stops: Stops,
    pub reels: u8,
    pub rows: u8,
    pub cells: [u8; CELLS_MAX],
    pub multiplier: u32,
    pub wins: Range<u32>,
    pub marks: Range<u32>,
    pub win_coins: u64,
    /// Win in minor units, rounded half to even (DM-17).
    pub win_minor: u64,
    pub free_spins_won: u32,
    pub bonus: bool,
}

impl Spin {
    #[must_use]
    pub fn cell(&self, reel: usize, row: usize) -> Option<u8> {
        let rows = usize::from(self.rows);
        if row >= rows || reel >= usize::from(self.reels) {
            return None;
        }
        self.cells.get(reel * rows + row).copied()
    }

    #[must_use]
    pub fn ways(&self) -> u32 {
        u32::from(self.rows).saturating_pow(u32::from(self.reels))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    len: u8,
    at: [u16; REELS_MAX],
}

impl Stops {
    #[inline]
    pub fn push(&mut self, stop: u16) {
        if let Some(slot) = self.at.get_mut(usize::from(self.len)) {
            *slot = stop;
            self.len += 1;
        }
    }

    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u16] {
        self.at.get(..usize::from(self.len)).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Win {
    pub kind: WinKind,
    pub symbol: u8,
    pub count: u8,
    pub coins: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinKind {
    Line(u8),
    Ways(u32),
    Scatter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prize {
    Coins { multiple: u32, coins: u64 },
    FreeSpins(u32),
    Jackpot,
}

/// Playing card. The player guesses red as `RedHeart` and black as `BlackSpade`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    RedHeart,
    BlackSpade,
    RedDiamond,
    BlackClub,
    Joker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardTurn {
    pub guess: Card,
    pub card: Card,
    pub won: bool,
    pub risked_minor: u64,
    /// Amount at risk after this card.
    pub minor: u64,
}

/// Cards turned in a gamble; [`Strip::iter`] starts with the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    len: u8,
    /// Oldest first.
    cards: [Option<Card>; CARDS_MAX],
}

impl Strip {
    pub fn push(&mut self, card: Card) {
        if let Some(slot) = self.cards.get_mut(usize::from(self.len)) {
            *slot = Some(card);
            self.len += 1;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Card> {
        self.cards.into_iter().rev().flatten()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
