//! Autospin: when a series of rounds that plays by itself comes to its end (BW-25, PL-07).
//!
//! A pure state machine over finished rounds. It neither spins nor waits: its caller plays the rounds, reports how
//! each ended, and plays the next one until it answers with a stop. The same rounds give the same stop, so a series that is
//! asked for again ends where it ended before. Cost: a few additions a round.

use crate::values::Minor;

/// Limits that end a series before its spins are used up. Each is optional; by default all spins are played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AutospinLimits {
    /// Stops by the loss of the series.
    pub loss: Option<LossStop>,
    /// Stops by the win of one round, jackpot included.
    pub win: Option<WinStop>,
    /// Stops when a round wins the jackpot.
    pub on_jackpot: bool,
    /// Stops when a round plays a feature (WF-19).
    pub on_feature: bool,
}

/// When the loss of a series, all bets minus all wins, ends it. Limits are not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossStop {
    /// It has passed the limit: the limit plus all wins minus all bets is below zero (BW-25, ME-19).
    Passed(Minor),
    /// It has come to the limit (WF-19).
    Reached(Minor),
    /// The next round's bet could bring it past the limit: that round isn't begun (DM-26).
    Prevented {
        /// The most that may be lost.
        limit: Minor,
        /// The bet of each round; zero for free rounds.
        bet: Minor,
    },
}

/// When the win of one round ends a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WinStop {
    /// It reaches the limit (BW-25, WF-19).
    Reached(Minor),
    /// It passes the limit (ME-19).
    Passed(Minor),
}

impl LossStop {
    /// Whether a series that has won and bet so much ends.
    fn ends(self, wins: i128, bets: i128) -> bool {
        let left = |limit: Minor| i128::from(limit.0) + wins - bets;
        match self {
            Self::Passed(limit) => left(limit) < 0,
            Self::Reached(limit) => left(limit) <= 0,
            Self::Prevented { limit, bet } => left(limit) < i128::from(bet.0),
        }
    }
}

impl WinStop {
    fn ends(self, won: i128) -> bool {
        match self {
            Self::Reached(limit) => won >= i128::from(limit.0),
            Self::Passed(limit) => won > i128::from(limit.0),
        }
    }
}

/// Why a series ended. Where several reasons hold, the first in this order is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutospinStop {
    /// The jackpot was won.
    Jackpot,
    /// A round's win reached the win limit.
    WinLimit,
    /// The loss met the loss limit.
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
    /// The jackpot's payment, where the round won it.
    pub jackpot: Option<Minor>,
    /// Whether the round played more than the paid spin's window: free spins, a respin, a bonus.
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
    /// Most spins of a series.
    pub const SPINS_MAX: u32 = 1000;

    /// The request id of a spin of a series, counted from 1.
    #[must_use]
    pub fn spin_request_id(series: &str, spin: u32) -> String {
        format!("{series}.{spin}")
    }

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

    /// Whether the series ends before its first round: a single bet could pass the loss limit (DM-26).
    #[must_use]
    pub fn prevented(&self) -> bool {
        matches!(self.limits.loss, Some(LossStop::Prevented { .. })) && self.ends_by_loss()
    }

    fn ends_by_loss(&self) -> bool {
        self.limits.loss.is_some_and(|stop| stop.ends(self.wins, self.bets))
    }

    /// Counts a finished round; says whether the series ends with it, and why.
    pub fn finish(&mut self, round: FinishedRound) -> Option<AutospinStop> {
        let won = i128::from(round.win.0) + round.jackpot.map_or(0, |jackpot| i128::from(jackpot.0));
        self.spins_left = self.spins_left.saturating_sub(1);
        self.bets += i128::from(round.bet.0);
        self.wins += won;
        let AutospinLimits { win, on_jackpot, on_feature, .. } = self.limits;
        if on_jackpot && round.jackpot.is_some() {
            Some(AutospinStop::Jackpot)
        } else if win.is_some_and(|stop| stop.ends(won)) {
            Some(AutospinStop::WinLimit)
        } else if self.ends_by_loss() {
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
