//! The events that a step's outcome demands of the commit that it stands in.

use motherlode_books::{Event, Minor, RoundStarted};
use motherlode_slots::{Awaiting, Outcome};
use std::num::TryFromIntError;

/// Everything that a step's outcome demands of its commit, beside the step itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The round's win as of the step.
    pub win: Minor,
    /// The change of the player's collection.
    pub collection: Option<Event>,
    /// The part of the win that is credited at once (ME-16).
    pub credit: Option<Minor>,
    /// The jackpot is hit.
    pub hit: bool,
    /// The round is over.
    pub over: bool,
}

impl Due {
    /// The demands of an outcome that changes the player's collection as said. Only a round whose bet
    /// contributed hits the jackpot.
    ///
    /// # Errors
    /// The win is no amount of cash.
    pub fn of(outcome: &Outcome, contributed: bool, collection: Option<Event>) -> Result<Self, TryFromIntError> {
        let credit = i64::try_from(outcome.credited_minor).map(Minor)?;
        Ok(Self {
            win: i64::try_from(outcome.round_win_minor).map(Minor)?,
            collection,
            credit: Some(credit).filter(|credit| *credit > Minor::ZERO),
            hit: outcome.jackpot && contributed,
            over: outcome.awaiting == Awaiting::Nothing,
        })
    }

    /// The events that follow the step.
    pub fn events(self, started: &RoundStarted) -> impl Iterator<Item = Event> {
        let (round, win) = (started.round, self.win);
        let pool = started.contribution.as_ref().filter(|_| self.hit).map(|given| given.pool.clone());
        let credited = self.credit.map(|amount| Event::WinCredited { round, amount });
        let hit = pool.map(|pool| Event::JackpotHit { round, pool });
        let settled = self.over.then_some(Event::RoundSettled { round, win });
        [self.collection, credited, hit, settled].into_iter().flatten()
    }
}
