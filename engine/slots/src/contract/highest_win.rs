//! The highest win of a round, "win up to" (WF-04, PL-13, PL-43).

use crate::contract::par::Exact;

/// The highest win of a round in bets, the jackpot left out.
#[derive(Clone, Debug, PartialEq)]
pub struct HighestWin {
    /// No round wins more, but for [`HighestWin::unlimited`], [`HighestWin::collected`] and [`HighestWin::gamble`].
    /// Stated rounded down.
    pub bets: Exact,
    /// Decimal exponent of a chance: at most ten to the power of this is the chance that a round wins so much or more.
    pub chance_exponent: i32,
    /// Free spins can win free spins without limit: `bets` is the most that a round can win whose free spins win none,
    /// and a round that wins more is not impossible.
    pub unlimited: bool,
    /// Windows that are paid at another coin value than the round's; `None` where all are paid at the round's own. Then
    /// `bets` is the win of a player who keeps to one coin value.
    pub collected: Option<CollectedTop>,
    /// The gamble of the round's win; `None` where the game has none. It is not in `bets`.
    pub gamble: Option<GambleTop>,
}

/// The highest round of a game that plays some windows at the mean of the coin values of earlier rounds (DM-12).
#[derive(Clone, Debug, PartialEq)]
pub struct CollectedTop {
    /// Windows paid at the round's coin value.
    pub own: Vec<TopWindows>,
    /// Windows paid at the mean coin value.
    pub collected: Vec<TopWindows>,
    /// Earlier rounds in the mean, besides the round itself.
    pub earlier: u32,
}

/// Equal windows, each at its highest win.
#[derive(Clone, Debug, PartialEq)]
pub struct TopWindows {
    /// Number of windows.
    pub windows: u32,
    /// Coins that each wins.
    pub coins: u64,
    /// Decimal logarithm of a bound of the chance that one window wins just that.
    pub log_chance: f64,
    /// The same for a window that wins so much or nearly, so that both round to the same minor units.
    pub log_chance_rounded: f64,
}

/// The most that the gamble can make of a round.
#[derive(Clone, Debug, PartialEq)]
pub enum GambleTop {
    /// The line wins of the paid spin can be doubled so often, without a limit (BW-22).
    Lines {
        /// The highest line wins in bets.
        bets: Exact,
        /// Most turns.
        turns: u8,
    },
    /// The whole win can be doubled so often, and halves of it secured in between (ME-14 to ME-16).
    Win {
        /// Most turns.
        turns: u8,
        /// The limit is on the win after a card, as in older rules versions, not on the win that is gambled.
        limit_on_result: bool,
    },
}

impl HighestWin {
    /// A highest win without a gamble or collections.
    #[must_use]
    pub fn new(bets: Exact, chance_exponent: i32, unlimited: bool) -> Self {
        Self { bets, chance_exponent, unlimited, collected: None, gamble: None }
    }

    /// The meaning of the figures, in a sentence.
    #[must_use]
    pub fn said(&self) -> &'static str {
        match (self.unlimited, self.collected.is_some()) {
            (true, _) => {
                "the most that a round can win whose free spins win no more free spins; they can, without limit, so that a \
                 higher win is possible: the chance of a round that wins so much or more is at most the one stated; \
                 neither gamble nor jackpot is in it"
            }
            (false, true) => {
                "no round wins more; the chance of a round that wins so much is at most the one stated; collections that \
                 were begun at the highest coin value on offer in the currency and are completed at the lowest are in it"
            }
            (false, false) => {
                "no round wins more; the chance of a round that wins so much is at most the one stated; the gamble is not \
                 in it"
            }
        }
    }

    /// The bound of the chance as a decimal in scientific notation, such as `1e-31`.
    #[must_use]
    pub fn chance(&self) -> String {
        format!("1e{}", self.chance_exponent)
    }
}
