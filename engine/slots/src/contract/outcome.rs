//! The outcome of a step: a buffer that the caller owns and every step refills.
//!
//! Reuse one buffer for many steps and nothing is allocated once its vectors have grown. All wins
//! are whole coins with every multiplier already in them.

use std::ops::Range;

use crate::contract::carried::Carried;

/// Most reels a game may have.
pub const REELS_MAX: usize = 8;
/// Most cells a window may have: 7 rows on 5 reels.
pub const CELLS_MAX: usize = 35;
/// Most cards a round turns: ten gambles (ME-15).
pub const CARDS_MAX: usize = 10;
/// Most parts that a game's return is told apart by.
pub const PARTS_MAX: usize = 8;
/// Most objects that a player picks at once: five treasures (NP-10).
pub const PICKS_MAX: usize = 5;

/// The outcome of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The windows shown in this step, in order.
    pub spins: Vec<Spin>,
    /// The wins of all those windows; each spin names its range.
    pub wins: Vec<Win>,
    /// The marks on the cells of all those windows; each spin names its range.
    pub marks: Vec<Mark>,
    /// The bonus's prize, if this step resolved one.
    pub prize: Option<Prize>,
    /// The values of the picked objects, in the order picked.
    pub reveals: Vec<Reveal>,
    /// The values of the objects that were left unopened, by number. To be shown once the round is over, and never
    /// before (NP-12); it's in no log.
    pub unopened: Vec<Reveal>,
    /// The worth of a coin in this step, where it isn't the stake's coin value (DM-12); it's in no log.
    pub mean_coin: Option<MeanCoin>,
    /// The pick that the round waits for after this step.
    pub pick: Option<PickOffer>,
    /// The card turned, if this step was a double.
    pub card: Option<CardTurn>,
    /// Whether this step won the progressive jackpot.
    pub jackpot: bool,
    /// The step that the round waits for next.
    pub awaiting: Awaiting,
    /// Free spins won and not yet played, of the series that comes next where there are several.
    pub free_spins_left: u32,
    /// The cards of this round's double, latest first (BW-24).
    pub double_strip: Strip,
    /// The round's total win in coins as of this step; the jackpot and what was gambled aren't in it.
    pub round_win_coins: u64,
    /// The round's total win as of this step in minor units of the account's currency, gambles included: what it pays
    /// if it settles now. The jackpot isn't in it.
    pub round_win_minor: u64,
    /// Minor units of that win that are credited with this step, before the round is over (ME-16).
    pub credited_minor: u64,
    /// The figures that the player carries from this step on, where the step changed them.
    pub carried: Option<Carried>,
    /// Coins won in this step by part of the return, in the order of [`crate::Game::parts`]. For the simulation, which
    /// compares them with the exact parts; it's in no log.
    pub part_coins: [u64; PARTS_MAX],
}

impl Outcome {
    /// Empties the buffer and keeps its capacity.
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

    /// The wins of one of this outcome's spins.
    #[must_use]
    pub fn wins_of(&self, spin: &Spin) -> &[Win] {
        self.wins.get(spin.wins.start as usize..spin.wins.end as usize).unwrap_or_default()
    }

    /// The marks of one of this outcome's spins.
    #[must_use]
    pub fn marks_of(&self, spin: &Spin) -> &[Mark] {
        self.marks.get(spin.marks.start as usize..spin.marks.end as usize).unwrap_or_default()
    }
}

/// The step that a round waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaiting {
    /// Nothing: it's settled.
    #[default]
    Nothing,
    /// The paid spin.
    Spin,
    /// A pick, as [`Outcome::pick`] says.
    Pick,
    /// The start of free spins.
    FreeSpins,
    /// The start of a feature.
    Feature,
    /// A guess of the double, its end or, where the game has it, a half.
    Double,
}

/// The kind of spin that a window belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinKind {
    /// The paid spin.
    Base,
    /// A free spin.
    Free,
    /// A Collection Free Spin, with the super-high symbol of this index on its reels (DM-11).
    Collection(u8),
    /// A window of the Hold and Win feature (ME-10).
    HoldAndWin,
    /// High Symbols Respin (WF-07).
    HighSymbols,
    /// Random Wilds Respin (WF-08).
    RandomWilds,
    /// A respin of the Multiplier feature (WF-09).
    MultiplierRespin,
    /// Mega Wild Respin (WF-10).
    MegaWild,
    /// The window after the Explosion (WF-13).
    Explosion,
}

impl SpinKind {
    /// Whether it's a free spin of either kind.
    #[must_use]
    pub fn is_free(self) -> bool {
        matches!(self, Self::Free | Self::Collection(_))
    }
}

/// Something on a cell besides its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The cell: reel x rows + row.
    pub cell: u8,
    /// Its kind.
    pub kind: MarkKind,
    /// How much, or which: see the kind.
    pub value: u32,
}

/// The kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A crystal was collected here; the value is its symbol's index (DM-09).
    Crystal,
    /// A Bonus symbol of this many total bets (ME-04).
    Bonus,
    /// A Mystery Bonus; the value is what it revealed in total bets, or 0 while it hasn't (ME-05).
    Mystery,
    /// A Multiplying Bonus; the value is what it multiplied by, or 0 while it hasn't (ME-06).
    Multiplier,
    /// A Potion landed here and was collected; the value is its symbol's index (WF-05).
    Potion,
    /// A Wild was placed here; the value is the side of the Wild, 1 to 3 (WF-08, WF-10).
    PlacedWild,
    /// A Question mark landed here and became the symbol that the cell shows (WF-13).
    Question,
}

/// A pick that the player is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickOffer {
    /// How many to pick, all different.
    pub needs: u8,
    /// Out of how many, numbered from 0.
    pub of: u8,
}

/// The mean of several coin values, exactly (DM-12): their sum over their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanCoin {
    /// Sum of the coin values, in millionths of the currency's major unit.
    pub sum_micros: u64,
    /// How many they are, at least 1.
    pub count: u64,
}

/// A picked object and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reveal {
    /// The object, from 0.
    pub object: u8,
    /// Its value in coins, with every multiplier in it.
    pub coins: u64,
}

/// One window of the reels and what it won.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spin {
    /// The kind of spin.
    pub kind: SpinKind,
    /// Where each reel stopped, on the strips of its kind; empty where cells are drawn one by one.
    pub stops: Stops,
    /// Reels of the window.
    pub reels: u8,
    /// Rows of the window.
    pub rows: u8,
    /// Symbols of the window, reel by reel from the left, each from the top; see [`Spin::cell`].
    pub cells: [u8; CELLS_MAX],
    /// The factor of its regular wins.
    pub multiplier: u32,
    /// This spin's wins within [`Outcome::wins`].
    pub wins: Range<u32>,
    /// This spin's marks within [`Outcome::marks`].
    pub marks: Range<u32>,
    /// Coins won by this window: lines, ways and scatters. A bonus pays in its own step.
    pub win_coins: u64,
    /// The same in minor units, rounded half to even (DM-17).
    pub win_minor: u64,
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
        if row >= rows || reel >= usize::from(self.reels) {
            return None;
        }
        self.cells.get(reel * rows + row).copied()
    }

    /// Ways through the window: its rows to the power of its reels (DM-01). Means something in ways games only.
    #[must_use]
    pub fn ways(&self) -> u32 {
        u32::from(self.rows).saturating_pow(u32::from(self.reels))
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
    /// On so many ways: the product of the symbol's counts on the reels (DM-03).
    Ways(u32),
    /// Anywhere in the window.
    Scatter,
}

/// A prize of the bonus round.
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

/// A card of the gamble. A guess names the heart for red or the spade for black.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    /// Red Heart.
    RedHeart,
    /// Black Spade.
    BlackSpade,
    /// Red Diamond.
    RedDiamond,
    /// Black Club.
    BlackClub,
    /// The Joker, which stands for any colour (ME-17).
    Joker,
}

/// One turn of the double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardTurn {
    /// The player's guess.
    pub guess: Card,
    /// The card turned.
    pub card: Card,
    /// Whether the guess was right.
    pub won: bool,
    /// Minor units at risk.
    pub risked_minor: u64,
    /// Minor units after the turn: twice the risk, or nothing.
    pub minor: u64,
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
