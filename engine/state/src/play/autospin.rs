//! Conditions that end an Autospin series (BW-25, PL-07).

use crate::values::Minor;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AutospinLimits {
    pub loss: Option<LossStop>,
    pub win: Option<WinStop>,
    pub on_jackpot: bool,
    pub on_feature: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossStop {
    /// The series ends if the loss exceeds the limit (BW-25, ME-19).
    Passed(Minor),
    /// The series ends if the loss reaches the limit (WF-19).
    Reached(Minor),
    /// The series ends before a bet that could raise the series' loss above the limit (DM-26).
    Prevented { limit: Minor, bet: Minor },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WinStop {
    /// The series ends if a win reaches the limit (BW-25, WF-19).
    Reached(Minor),
    /// The series ends if a win exceeds the limit (ME-19).
    Passed(Minor),
}

impl LossStop {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutospinStop {
    Jackpot,
    WinLimit,
    LossLimit,
    Feature,
    Complete,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FinishedRound {
    pub bet: Minor,
    pub win: Minor,
    pub jackpot: Option<Minor>,
    pub feature: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Autospin {
    limits: AutospinLimits,
    spins_left: u32,
    bets: i128,
    wins: i128,
}

impl Autospin {
    pub const SPINS_MAX: u32 = 1000;

    #[must_use]
    pub fn spin_request_id(series: &str, spin: u32) -> String {
        format!("{series}.{spin}")
    }

    #[must_use]
    pub fn new(spins: u32, limits: AutospinLimits) -> Self {
        Self { limits, spins_left: spins, bets: 0, wins: 0 }
    }

    #[must_use]
    pub fn spins_left(&self) -> u32 {
        self.spins_left
    }

    #[must_use]
    pub fn bets(&self) -> Minor {
        saturated(self.bets)
    }

    /// Returns the sum of all wins, including jackpots.
    #[must_use]
    pub fn wins(&self) -> Minor {
        saturated(self.wins)
    }

    #[must_use]
    pub fn prevented(&self) -> bool {
        matches!(self.limits.loss, Some(LossStop::Prevented { .. })) && self.ends_by_loss()
    }

    fn ends_by_loss(&self) -> bool {
        self.limits.loss.is_some_and(|stop| stop.ends(self.wins, self.bets))
    }

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

fn saturated(sum: i128) -> Minor {
    Minor(i64::try_from(sum).unwrap_or(i64::MAX))
}
