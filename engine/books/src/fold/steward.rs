//! The pool's steward: the next events of a pool's stream. It's a pure function of the books, so a rerun after a crash comes
//! to the same events. The fold checks them like any others.

use super::price::{price, take_back};
use crate::events::{Decision, Event, PartitionReported, PoolMirrored, PoolStatus, StretchEnd};
use crate::state::{Books, Pending, PoolState};
use crate::values::{MoneyError, Nano};

impl Books {
    /// The events of the next commit on a pool's stream: contributions up to the next hit or void of a partition, or to
    /// its end, and the decision about that hit or void. `None` when nothing waits.
    ///
    /// Of several partitions, one with a decision comes first, then the one that is furthest behind.
    ///
    /// # Errors
    /// [`MoneyError::OutOfRange`] when a price does not fit.
    pub fn pool_step(&self, pool: &str) -> Result<Option<Vec<Event>>, MoneyError> {
        let state = self.pool(pool).filter(|state| state.mirrors().is_none());
        let (Some(state), Some(pending)) = (state, self.pending.get(pool)) else {
            return Ok(None);
        };
        let own = self.ends.iter().map(|(&partition, end)| (partition, end.position));
        let others = state.reports.iter().map(|(&partition, reported)| (partition, reported.to));
        let waiting = own.chain(others).filter_map(|(partition, end)| {
            let marks = state.marks(partition);
            let decision = pending.decisions_after(partition, marks.decided_to).next();
            let from = marks.pooled_to + 1;
            let to = decision.map_or(end, Decision::position);
            let waits = decision.is_some() || pending.contributions(partition, from, to).next().is_some();
            waits.then_some(Stretch { partition, from, to, decision })
        });
        let next = waiting.max_by_key(|stretch| (stretch.decision.is_some(), stretch.to.saturating_sub(stretch.from)));
        next.map(|stretch| stretch.events(state, pending)).transpose()
    }

    /// The next report of a partition to a pool: up to the partition's next hit or void, or to its end. `self` are the
    /// durable books of home, `there` those of the partition. `None` when the pool needs to know nothing more.
    #[must_use]
    pub fn partition_report(&self, pool: &str, partition: u32, there: &Self) -> Option<PartitionReported> {
        let state = self.pool(pool).filter(|state| state.head.partition != partition)?;
        let Some(reported) = state.reports.get(&partition) else {
            let end = StretchEnd::Standing { open_rounds: 0, mirrored: 0 };
            return Some(PartitionReported { partition, from: 1, to: 0, contributions: Nano::ZERO, end });
        };
        let nothing = Pending::default();
        let pending = there.pending.get(pool).unwrap_or(&nothing);
        let from = reported.to + 1;
        let decision = pending.decisions_after(partition, reported.to).next();
        let to = decision.map_or(there.end(partition).position, Decision::position);
        let contributions = Nano(pending.contributions(partition, from, to).map(|amount| amount.0).sum());
        let open_rounds = there.contributing_rounds(pool);
        let mirrored = there.pool(pool).map_or(0, |mirror| mirror.home_position);
        let suspended_at = state.suspended_at;
        // Whoever waits for the retirement of a suspended pool needs to know.
        let stands =
            || mirrored >= suspended_at && (open_rounds != reported.open_rounds || reported.mirrored < suspended_at);
        let end = match decision {
            Some(decision) => StretchEnd::Decision(decision.clone()),
            None if contributions == Nano::ZERO && !(state.status == PoolStatus::Suspended && stands()) => return None,
            None => StretchEnd::Standing { open_rounds, mirrored },
        };
        (to >= from).then_some(PartitionReported { partition, from, to, contributions, end })
    }

    /// The next event of a partition's mirror of a pool: terms, status, new awards, and how far the pool has taken the partition
    /// up. `self` are the durable books of home, `there` those of the partition. `None` when the mirror is current, or the
    /// partition has not joined yet.
    #[must_use]
    pub fn pool_mirror(&self, pool: &str, partition: u32, there: &Self) -> Option<PoolMirrored> {
        let state = self.pool(pool)?;
        let reported = state.reports.get(&partition)?;
        let marks = state.marks(partition);
        let mirror = there.pool(pool);
        let since = mirror.map_or(0, |mirror| mirror.home_position);
        let awards = reported.awards.iter().filter(|(awarded_at, _)| *awarded_at > since);
        let awards: Vec<_> = awards.map(|(_, award)| award.clone()).collect();
        let is_current = mirror.is_some_and(|mirror| {
            let (known, pending) = (mirror.marks(partition), there.pending.get(pool));
            let pooled = pending.and_then(|p| p.contributions(partition, known.pooled_to + 1, marks.pooled_to).next());
            let decided = pending.and_then(|p| p.decisions_after(partition, known.decided_to).next());
            let decided = decided.is_some_and(|decision| decision.position() <= marks.decided_to);
            (&mirror.terms, &mirror.status) == (&state.terms, &state.status) && pooled.is_none() && !decided
        });
        let mirrored = || PoolMirrored {
            home_position: state.head.position,
            terms: state.terms.clone(),
            status: state.status.clone(),
            pooled_to: marks.pooled_to,
            decided_to: marks.decided_to,
            awards,
        };
        (!is_current).then(mirrored)
    }
}

/// The part of a partition's log that a pool takes up in one step.
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
        Decision::Hit(hit) => Event::JackpotAwarded(price(pool, hit)?.into()),
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
