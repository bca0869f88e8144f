//! The highest win of a round, "win up to" (WF-04, PL-13).

use crate::contract::par::Exact;

/// The highest win of a round in bets, what was gambled and the jackpot left out.
#[derive(Clone, Debug, PartialEq)]
pub struct HighestWin {
    /// No round wins more, but for what [`HighestWin::unlimited`] says. Stated rounded down.
    pub bets: Exact,
    /// Decimal exponent of a chance: at most ten to the power of this is the chance that a round wins so much or more.
    pub chance_exponent: i32,
    /// Free spins can win free spins without limit: `bets` is what a round can win whose free spins win none, and a
    /// round that wins more is not impossible.
    pub unlimited: bool,
}

impl HighestWin {
    /// The meaning of the figures, in a sentence.
    #[must_use]
    pub fn said(&self) -> &'static str {
        if self.unlimited {
            "the most that a round can win whose free spins win no more free spins; they can, without limit, so that a \
             higher win is possible: the chance of a round that wins so much or more is at most the one stated"
        } else {
            "no round wins more; the chance of a round that wins so much is at most the one stated"
        }
    }

    /// The bound of the chance as a decimal in scientific notation, such as `1e-31`.
    #[must_use]
    pub fn chance(&self) -> String {
        format!("1e{}", self.chance_exponent)
    }
}
