//! Outcome of a step: a caller-owned buffer that each step refills.
//!
//! A reused buffer does not allocate once its vectors have grown. Wins are whole coins with all multipliers applied.

use std::ops::Range;

use crate::contract::carried::Carried;

/// Maximum number of reels.
pub const REELS_MAX: usize = 8;
/// Maximum number of cells per window: 7 rows on 5 reels.
pub const CELLS_MAX: usize = 35;
/// Maximum number of cards per round: ten gambles (ME-15).
pub const CARDS_MAX: usize = 10;
/// Maximum number of parts of a game's return.
pub const PARTS_MAX: usize = 8;
/// Maximum number of objects per pick: five treasures (NP-10).
pub const PICKS_MAX: usize = 5;

/// Outcome of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Windows in order.
    pub spins: Vec<Spin>,
    /// Wins of all windows; each spin has its range.
    pub wins: Vec<Win>,
    /// Marks on the cells of all windows; each spin has its range.
    pub marks: Vec<Mark>,
    /// Prize of a bonus resolved in this step.
    pub prize: Option<Prize>,
    /// Values of the picked objects, in picking order.
    pub reveals: Vec<Reveal>,
    /// Values of unopened objects, by number. Not logged, and shown only after the round is over (NP-12).
    pub unopened: Vec<Reveal>,
    /// Coin value of this step if it differs from the stake's (DM-12). Not logged.
    pub mean_coin: Option<MeanCoin>,
    /// Pick awaited after this step.
    pub pick: Option<PickOffer>,
    /// Card turned by a double.
    pub card: Option<CardTurn>,
    /// Whether this step won the progressive jackpot.
    pub jackpot: bool,
    /// Next awaited step.
    pub awaiting: Awaiting,
    /// Unplayed free spins of the next series.
    pub free_spins_left: u32,
    /// Cards of the round's double, latest first (BW-24).
    pub double_strip: Strip,
    /// Current total win of the round in coins, without jackpot and gamble.
    pub round_win_coins: u64,
    /// Current total win of the round in minor units, with gambles and without the jackpot: the payment if the round settles now.
    pub round_win_minor: u64,
    /// Minor units of the win credited with this step, before the round is over (ME-16).
    pub credited_minor: u64,
    /// New carried figures if the step changed them.
    pub carried: Option<Carried>,
    /// Coins won in this step per part of the return, in the order of [`crate::Game::parts`]. For simulation; not logged.
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

    /// Returns the wins of a spin of this outcome.
    #[must_use]
    pub fn wins_of(&self, spin: &Spin) -> &[Win] {
        self.wins.get(spin.wins.start as usize..spin.wins.end as usize).unwrap_or_default()
    }

    /// Returns the marks of a spin of this outcome.
    #[must_use]
    pub fn marks_of(&self, spin: &Spin) -> &[Mark] {
        self.marks.get(spin.marks.start as usize..spin.marks.end as usize).unwrap_or_default()
    }
}

/// Step awaited by a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaiting {
    /// None: the round is settled.
    #[default]
    Nothing,
    /// Paid spin.
    Spin,
    /// Pick described by [`Outcome::pick`].
    Pick,
    /// Start of free spins.
    FreeSpins,
    /// Start of a feature.
    Feature,
    /// Double, its end or, if offered, a half.
    Double,
}

/// Kind of spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinKind {
    /// Paid spin.
    Base,
    /// Free spin.
    Free,
    /// Collection Free Spin with this super-high symbol on its reels (DM-11).
    Collection(u8),
    /// Window of the Hold and Win feature (ME-10).
    HoldAndWin,
    /// High Symbols Respin (WF-07).
    HighSymbols,
    /// Random Wilds Respin (WF-08).
    RandomWilds,
    /// Respin of the Multiplier feature (WF-09).
    MultiplierRespin,
    /// Mega Wild Respin (WF-10).
    MegaWild,
    /// Window after the Explosion (WF-13).
    Explosion,
}

impl SpinKind {
    /// Returns whether it's a free spin of either kind.
    #[must_use]
    pub fn is_free(self) -> bool {
        matches!(self, Self::Free | Self::Collection(_))
    }
}

/// Annotation of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Cell: reel x rows + row.
    pub cell: u8,
    /// Kind.
    pub kind: MarkKind,
    /// Value with a meaning per kind.
    pub value: u32,
}

/// Kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// Crystal collected; the value is its symbol index (DM-09).
    Crystal,
    /// Bonus symbol; the value is in total bets (ME-04).
    Bonus,
    /// Mystery Bonus; the value is in total bets, 0 until revealed (ME-05).
    Mystery,
    /// Multiplying Bonus; the value is its multiplier, 0 until revealed (ME-06).
    Multiplier,
    /// Potion collected; the value is its symbol index (WF-05).
    Potion,
    /// Placed Wild; the value is its side length, 1 to 3 (WF-08, WF-10).
    PlacedWild,
    /// Question mark that became the symbol of the cell (WF-13).
    Question,
}

/// Pick awaited from the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickOffer {
    /// Number of different objects to pick.
    pub needs: u8,
    /// Number of objects on offer, numbered from 0.
    pub of: u8,
}

/// Exact mean of coin values (DM-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanCoin {
    /// Sum of the coin values, in millionths of the currency's major unit.
    pub sum_micros: u64,
    /// Number of coin values, at least 1.
    pub count: u64,
}

/// A picked object and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reveal {
    /// Object number, from 0.
    pub object: u8,
    /// Value in coins with all multipliers.
    pub coins: u64,
}

/// One window and its wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spin {
    /// Kind of spin.
    pub kind: SpinKind,
    /// Stop per reel on the strips of its kind; empty if cells are drawn individually.
    pub stops: Stops,
    /// Number of reels.
    pub reels: u8,
    /// Number of rows.
    pub rows: u8,
    /// Symbols reel by reel from the left, each from the top; see [`Spin::cell`].
    pub cells: [u8; CELLS_MAX],
    /// Multiplier of regular wins.
    pub multiplier: u32,
    /// Range within [`Outcome::wins`].
    pub wins: Range<u32>,
    /// Range within [`Outcome::marks`].
    pub marks: Range<u32>,
    /// Coins won by lines, ways and scatters. A bonus pays in its own step.
    pub win_coins: u64,
    /// Same in minor units, rounded half to even (DM-17).
    pub win_minor: u64,
    /// Free spins awarded.
    pub free_spins_won: u32,
    /// Whether the window started the bonus round.
    pub bonus: bool,
}

impl Spin {
    /// Returns the symbol at a reel (0 is left) and row (0 is top); `None` outside the window.
    #[must_use]
    pub fn cell(&self, reel: usize, row: usize) -> Option<u8> {
        let rows = usize::from(self.rows);
        if row >= rows || reel >= usize::from(self.reels) {
            return None;
        }
        self.cells.get(reel * rows + row).copied()
    }

    /// Number of ways: rows to the power of reels (DM-01). Valid in ways games only.
    #[must_use]
    pub fn ways(&self) -> u32 {
        u32::from(self.rows).saturating_pow(u32::from(self.reels))
    }
}

/// Strip position in the window's top row, per reel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    len: u8,
    at: [u16; REELS_MAX],
}

impl Stops {
    /// Adds the next reel's stop. Ignores reels beyond [`REELS_MAX`], which model checks exclude.
    #[inline]
    pub fn push(&mut self, stop: u16) {
        if let Some(slot) = self.at.get_mut(usize::from(self.len)) {
            *slot = stop;
            self.len += 1;
        }
    }

    /// Stops from the leftmost reel.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u16] {
        self.at.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// One win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Win {
    /// Kind of win.
    pub kind: WinKind,
    /// Symbol index.
    pub symbol: u8,
    /// Number of symbols.
    pub count: u8,
    /// Coins paid, multiplier included.
    pub coins: u64,
}

/// Kind of win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WinKind {
    /// Payline index, from 0.
    Line(u8),
    /// Number of ways: product of the symbol's counts per reel (DM-03).
    Ways(u32),
    /// Anywhere in the window.
    Scatter,
}

/// Prize of a bonus round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prize {
    /// Multiple of the total bet.
    Coins {
        /// Multiple.
        multiple: u32,
        /// Coins.
        coins: u64,
    },
    /// Number of free spins.
    FreeSpins(u32),
    /// Progressive jackpot; its amount comes from the pool.
    Jackpot,
}

/// Card of the gamble. A guess is the heart for red or the spade for black.
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
    /// Joker, which matches both colours (ME-17).
    Joker,
}

/// One turn of the double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardTurn {
    /// Player's guess.
    pub guess: Card,
    /// Turned card.
    pub card: Card,
    /// Whether the guess was right.
    pub won: bool,
    /// Minor units at risk.
    pub risked_minor: u64,
    /// Minor units after the turn: twice the risk, or 0.
    pub minor: u64,
}

/// Cards turned in a round, latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    len: u8,
    /// Oldest first, so that adding is cheap; unused places are `None`.
    cards: [Option<Card>; CARDS_MAX],
}

impl Strip {
    /// Adds a card. Ignores cards beyond [`CARDS_MAX`], the limit of the gamble.
    pub fn push(&mut self, card: Card) {
        if let Some(slot) = self.cards.get_mut(usize::from(self.len)) {
            *slot = Some(card);
            self.len += 1;
        }
    }

    /// Cards, latest first.
    pub fn iter(&self) -> impl Iterator<Item = Card> {
        self.cards.into_iter().rev().flatten()
    }

    /// Number of turned cards.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns whether no card was turned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
