//! The pool's steward: what a pool's stream should say next. A pure function of the books, so that whoever runs it, after
//! whatever crash, comes to the same events; the fold then checks them like anybody's.

use crate::books::Books;
use crate::event::Event;
use crate::money::{MoneyError, Nano};
use crate::pool::{Decision, Pending, PoolState};
use crate::price::{price, take_back};

impl Books {
    /// The events of the next commit on a pool's stream: contributions up to the next hit or void of a partition, or to
    /// its end, and the decision about that hit or void. `None` when nothing waits.
    ///
    /// Of several partitions, one with a decision comes first, then the one that is furthest behind.
    ///
    /// # Errors
    /// [`MoneyError::OutOfRange`] when a price does not fit.
    pub fn pool_step(&self, pool: &str) -> Result<Option<Vec<Event>>, MoneyError> {
        let (Some(state), Some(pending)) = (self.pool(pool), self.pending.get(pool)) else {
            return Ok(None);
        };
        let waiting = self.ends.iter().filter_map(|(&partition, end)| {
            let marks = state.marks(partition);
            let decision = pending.decisions_after(partition, marks.decided_to).next();
            let from = marks.pooled_to + 1;
            let to = decision.map_or(end.position, Decision::position);
            let waits = decision.is_some() || pending.contributions(partition, from, to).next().is_some();
            waits.then_some(Stretch { partition, from, to, decision })
        });
        let next = waiting.max_by_key(|stretch| (stretch.decision.is_some(), stretch.to.saturating_sub(stretch.from)));
        next.map(|stretch| stretch.events(state, pending)).transpose()
    }
}

/// What a pool takes up of a partition in one step.
struct Stretch<'a> {
    partition: u32,
    from: u64,
    to: u64,
    decision: Option<&'a Decision>,
}

impl Stretch<'_> {
    fn events(&self, pool: &PoolState, pending: &Pending) -> Result<Vec<Event>, MoneyError> {
        let Self { partition, from, to, decision } = *self;
        let amount = Nano(pending.contributions(partition, from, to).map(|amount| amount.0).sum());
        let mut events = Vec::with_capacity(2);
        if to >= from {
            events.push(Event::ContributionsPooled { partition, from, to, amount });
        }
        if let Some(decision) = decision {
            // The decision is made on the figures as of its place: with this stretch's contributions.
            let mut as_of = pool.clone();
            as_of.increments = as_of.increments.checked_add(amount).ok_or(MoneyError::OutOfRange)?;
            events.push(decide(&as_of, decision)?);
        }
        Ok(events)
    }
}

fn decide(pool: &PoolState, decision: &Decision) -> Result<Event, MoneyError> {
    Ok(match decision {
        Decision::Hit(hit) => Event::JackpotAwarded(price(pool, hit)?),
        Decision::TakeBack(void) => {
            let split = take_back(pool, void);
            Event::ContributionTakenBack {
                partition: void.partition,
                position: void.position,
                amount: void.amount,
                from_increments: split.from_increments,
                from_reserve: split.from_reserve,
                from_house: split.from_house,
            }
        }
    })
}
