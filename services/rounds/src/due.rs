use motherlode_slots::{Awaiting, Outcome};
use motherlode_state::{Event, Minor, SmolStr};
use std::num::TryFromIntError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEvents {
    pub win: Minor,
    pub collection: Option<Event>,
    pub credit: Option<Minor>,
    pub hit: bool,
    pub over: bool,
}

impl StepEvents {
    /// Derives a step's events. The step can hit the jackpot only if its bet contributed to the pool. Fails if the win
    /// exceeds the range of amounts.
    pub fn from_outcome(
        outcome: &Outcome,
        contributed: bool,
        collection: Option<Event>,
    ) -> Result<Self, TryFromIntError> {
        let credit = i64::try_from(outcome.credited_minor).map(Minor)?;
        Ok(Self {
            win: i64::try_from(outcome.round_win_minor).map(Minor)?,
            collection,
            credit: Some(credit).filter(|credit| *credit > Minor::ZERO),
            hit: outcome.jackpot && contributed,
            over: outcome.awaiting == Awaiting::Nothing,
        })
    }

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
