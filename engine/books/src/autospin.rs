//! Autospin: when a series of rounds that plays by itself comes to its end (BW-25, PL-07).
//!
//! A pure state machine over finished rounds. It neither spins nor waits: whoever plays the rounds tells how each ended,
//! and plays the next one as long as it's not told to stop. The same rounds give the same stop, so a series that is
//! asked for again ends where it ended before. Cost: a few additions a round.

use crate::money::Minor;

/// What ends a series before its spins are used up. Each is optional; the default is to play them all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AutospinLimits {
    /// Stops when this plus all wins minus all bets is below zero. Not negative.
    pub loss: Option<Minor>,
    /// Stops where that is zero, too (WF-19).
    pub at_loss: bool,
    /// Stops when the win of one round, jackpot included, reaches this.
    pub win: Option<Minor>,
    /// Stops when a round wins the jackpot.
    pub on_jackpot: bool,
    /// Stops when a round plays a feature (WF-19).
    pub on_feature: bool,
}

/// Why a series ended. Where several reasons hold, the first in this order is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutospinStop {
    /// The jackpot was won.
    Jackpot,
    /// A round's win reached the win limit.
    WinLimit,
    /// The loss limit plus all wins minus all bets is below zero.
    LossLimit,
    /// A round played a feature.
    Feature,
    /// Every spin is played.
    Complete,
}

/// How a round ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FinishedRound {
    /// The bet; zero where it was refunded.
    pub bet: Minor,
    /// The win, jackpot excluded.
    pub win: Minor,
    /// What the jackpot paid, where the round won it.
    pub jackpot: Option<Minor>,
    /// Whether more was played than the paid spin's window: free spins, a respin, a bonus.
    pub feature: bool,
}

/// A series under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Autospin {
    limits: AutospinLimits,
    spins_left: u32,
    bets: i128,
    wins: i128,
}

impl Autospin {
    /// A series of some spins, at least one.
    #[must_use]
    pub fn new(spins: u32, limits: AutospinLimits) -> Self {
        Self { limits, spins_left: spins, bets: 0, wins: 0 }
    }

    /// Spins that are not finished.
    #[must_use]
    pub fn spins_left(&self) -> u32 {
        self.spins_left
    }

    /// All bets of finished rounds.
    #[must_use]
    pub fn bets(&self) -> Minor {
        saturated(self.bets)
    }

    /// All wins of finished rounds, jackpots included.
    #[must_use]
    pub fn wins(&self) -> Minor {
        saturated(self.wins)
    }

    /// Counts a finished round; says whether the series ends with it, and why.
    pub fn finish(&mut self, round: FinishedRound) -> Option<AutospinStop> {
        let won = i128::from(round.win.0) + round.jackpot.map_or(0, |jackpot| i128::from(jackpot.0));
        self.spins_left = self.spins_left.saturating_sub(1);
        self.bets += i128::from(round.bet.0);
        self.wins += won;
        let AutospinLimits { loss, at_loss, win, on_jackpot, on_feature } = self.limits;
        let least = i128::from(at_loss);
        if on_jackpot && round.jackpot.is_some() {
            Some(AutospinStop::Jackpot)
        } else if win.is_some_and(|limit| won >= i128::from(limit.0)) {
            Some(AutospinStop::WinLimit)
        } else if loss.is_some_and(|limit| i128::from(limit.0) + self.wins - self.bets < least) {
            Some(AutospinStop::LossLimit)
        } else if on_feature && round.feature {
            Some(AutospinStop::Feature)
        } else if self.spins_left == 0 {
            Some(AutospinStop::Complete)
        } else {
            None
        }
    }
}

/// For show: the sums are kept exactly, and no account holds more than an i64.
fn saturated(sum: i128) -> Minor {
    Minor(i64::try_from(sum).unwrap_or(i64::MAX))
}
