//! The events that a step's outcome demands of the commit that it stands in.

use motherlode_books::{Event, Minor, SmolStr};
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

    /// Adds the events that follow the step of a round; `pool`: the one that its bet contributed to.
    pub fn add_to(self, round: u64, pool: Option<SmolStr>, events: &mut Vec<Event>) {
        events.extend(self.collection);
        if let Some(amount) = self.credit {
            events.push(Event::WinCredited { round, amount });
        }
        if let Some(pool) = pool.filter(|_| self.hit) {
            events.push(Event::JackpotHit { round, pool });
        }
        if self.over {
            events.push(Event::RoundSettled { round, win: self.win });
        }
    }
}
