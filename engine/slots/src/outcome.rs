//! What a step showed and won: a buffer that the caller owns and every step refills.
//!
//! Reuse one buffer for many steps and nothing is allocated once its vectors have grown. All wins
//! are whole coins with every multiplier already in them.

use std::ops::Range;

use crate::game::Awaiting;

/// Most reels a game may have.
pub const REELS_MAX: usize = 8;
/// Most cells a window may have: 7 rows on 5 reels.
pub const CELLS_MAX: usize = 35;
/// Most cards a round turns: the double is open five times (BW-22).
pub const CARDS_MAX: usize = 5;

/// The outcome of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The windows shown in this step, in order.
    pub spins: Vec<Spin>,
    /// The wins of all those windows; each spin names its range.
    pub wins: Vec<Win>,
    /// What the bonus awarded, if this step resolved one.
    pub prize: Option<Prize>,
    /// The card turned, if this step was a double.
    pub card: Option<CardTurn>,
    /// Whether this step won the progressive jackpot.
    pub jackpot: bool,
    /// What the round waits for after this step.
    pub awaiting: Awaiting,
    /// Free spins won and not yet played.
    pub free_spins_left: u32,
    /// The cards of this round's double, latest first (BW-24).
    pub double_strip: Strip,
    /// The round's total win in coins as of this step; the jackpot isn't in it.
    pub round_win_coins: u64,
}

impl Outcome {
    /// Empties the buffer and keeps its capacity.
    pub fn clear(&mut self) {
        self.spins.clear();
        self.wins.clear();
        self.prize = None;
        self.card = None;
        self.jackpot = false;
        self.awaiting = Awaiting::Nothing;
        self.free_spins_left = 0;
        self.double_strip = Strip::default();
        self.round_win_coins = 0;
    }

    /// The wins of one of this outcome's spins.
    #[must_use]
    pub fn wins_of(&self, spin: &Spin) -> &[Win] {
        self.wins.get(spin.wins.start as usize..spin.wins.end as usize).unwrap_or_default()
    }
}

/// One window of the reels and what it won.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spin {
    /// A free spin, as opposed to the paid one.
    pub free: bool,
    /// Where each reel stopped.
    pub stops: Stops,
    /// Rows of the window.
    pub rows: u8,
    /// Symbols of the window, reel by reel from the left, each from the top; see [`Spin::cell`].
    pub cells: [u8; CELLS_MAX],
    /// What line wins were multiplied by.
    pub multiplier: u32,
    /// This spin's wins within [`Outcome::wins`].
    pub wins: Range<u32>,
    /// Coins won by this window: its lines and scatters. The bonus pays in its own step.
    pub win_coins: u64,
    /// Free spins that this window awarded.
    pub free_spins_won: u32,
    /// Whether this window started the bonus round.
    pub bonus: bool,
}

impl Spin {
    /// The symbol at a reel and row (0 is left, 0 is top), or `None` outside the window.
    #[must_use]
    pub fn cell(&self, reel: usize, row: usize) -> Option<u8> {
        let rows = usize::from(self.rows);
        if row >= rows || reel >= self.stops.as_slice().len() {
            return None;
        }
        self.cells.get(reel * rows + row).copied()
    }
}

/// Reel stops: for each reel the strip position that shows in the window's top row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    len: u8,
    at: [u16; REELS_MAX],
}

impl Stops {
    /// Adds the next reel's stop; a reel beyond [`REELS_MAX`] is ignored (models are checked for it).
    #[inline]
    pub fn push(&mut self, stop: u16) {
        if let Some(slot) = self.at.get_mut(usize::from(self.len)) {
            *slot = stop;
            self.len += 1;
        }
    }

    /// The stops from the leftmost reel.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u16] {
        self.at.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// One win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Win {
    /// Where it was won.
    pub kind: WinKind,
    /// The symbol that won, as an index into the game's symbols.
    pub symbol: u8,
    /// How many of it.
    pub count: u8,
    /// Coins paid, multiplier included.
    pub coins: u64,
}

/// Where a win was won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinKind {
    /// On the payline of this index, 0 for the first.
    Line(u8),
    /// Anywhere in the window.
    Scatter,
}

/// What the bonus round awards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prize {
    /// Money: a multiple of the total bet.
    Coins {
        /// The multiple.
        multiple: u32,
        /// The coins it makes.
        coins: u64,
    },
    /// Free spins.
    FreeSpins(u32),
    /// The progressive jackpot; the pool prices it, not the engine.
    Jackpot,
}

/// A card of the double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    /// Red Heart.
    RedHeart,
    /// Black Spade.
    BlackSpade,
}

/// One turn of the double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardTurn {
    /// What the player guessed.
    pub guess: Card,
    /// What was turned.
    pub card: Card,
    /// Coins at risk.
    pub risked_coins: u64,
    /// Coins after the turn: twice the risk, or nothing.
    pub coins: u64,
}

/// The cards turned in a round, latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    len: u8,
    /// Oldest first, so that adding a card moves nothing; unused places are `None`.
    cards: [Option<Card>; CARDS_MAX],
}

impl Strip {
    /// Adds the card just turned; beyond [`CARDS_MAX`] it's ignored (the gamble ends there).
    pub fn push(&mut self, card: Card) {
        if let Some(slot) = self.cards.get_mut(usize::from(self.len)) {
            *slot = Some(card);
            self.len += 1;
        }
    }

    /// The cards, latest first.
    pub fn iter(&self) -> impl Iterator<Item = Card> {
        self.cards.into_iter().rev().flatten()
    }

    /// How many cards were turned.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether no card was turned yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
