//! Events required by a step's outcome.

use motherlode_books::{Event, Minor, SmolStr};
use motherlode_slots::{Awaiting, Outcome};
use std::num::TryFromIntError;

/// Requirements of a step's outcome on its commit, in addition to the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Win of the round after the step.
    pub win: Minor,
    /// Change of the player's collection.
    pub collection: Option<Event>,
    /// Immediately credited part of the win (ME-16).
    pub credit: Option<Minor>,
    /// Whether the jackpot was hit.
    pub hit: bool,
    /// Whether the round is over.
    pub over: bool,
}

impl Due {
    /// Derives the requirements from an outcome and its change of the collection. The jackpot can be hit only if the bet
    /// contributed to it.
    ///
    /// # Errors
    /// The win exceeds the range of cash.
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

    /// Appends the events after a round's step. `pool` is the pool to which the bet contributed.
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
