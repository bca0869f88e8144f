//! Computes the next events of a pool's stream from the state alone, so that a retry computes the same events.

use std::collections::BTreeMap;

use super::price::{price, take_back};
use crate::events::{
    Decision, Event, PartitionReported, PoolMirrored, PoolStatus, ReportedVoids, Reversal, StretchEnd,
};
use crate::state::{BetPlace, Books, Pending, PendingVoid, PoolState};
use crate::values::{MoneyError, Nano};

impl Books {
    /// Returns events that add a partition's contributions to the pool up to its next jackpot hit or void, and that
    /// decide this hit or void. One commit decides up to [`DECISIONS_MAX`] consecutive voids, but only one hit.
    /// Partitions with an undecided hit or void come first, then the partition with the most positions still to add.
    pub fn pool_step(&self, pool: &str) -> Result<Option<Vec<Event>>, MoneyError> {
        let state = self.pool(pool).filter(|state| state.mirrors().is_none());
        let (Some(state), Some(pending)) = (state, self.pending.get(pool)) else {
            return Ok(None);
        };
        let own = self.ends.iter().map(|(&partition, end)| (partition, end.position));
        let others = state.reports.iter().map(|(&partition, reported)| (partition, reported.to));
        let waiting = own.chain(others).filter_map(|(partition, end)| {
            let marks = state.marks(partition);
            let first = pending.decisions_after(partition, marks.decided_to).next();
            let from = marks.pooled_position + 1;
            let decision = first.filter(|decision| is_decided_now(state, decision));
            let to = match (first, decision) {
                (None, _) => end,
                (Some(_), Some(decision)) => decision.position(),
                (Some(hit), None) => pending.last_before(partition, hit.position())?,
            };
            let waits = decision.is_some()
                || pending.contributions(partition, from, to).next().is_some()
                || pending.voids(partition, from, to).next().is_some();
            waits.then_some(Stretch { partition, from, to, decision })
        });
        let next = waiting.max_by_key(|stretch| (stretch.decision.is_some(), stretch.to.saturating_sub(stretch.from)));
        next.map(|stretch| stretch.events(state, pending)).transpose()
    }

    /// Returns the next report of `partition` to the pool, or `None` if there is nothing to report. `self` is the
    /// durable state of partition 0, and `there` is that of `partition`.
    #[must_use]
    pub fn partition_report(&self, pool: &str, partition: u32, there: &Self) -> Option<PartitionReported> {
        let state = self.pool(pool)?;
        let report = self.partition_report_to(pool, partition, there, u64::MAX)?;
        let reported = state.reports.get(&partition);
        // Even without contributions, a partition must report to a suspended pool, because the pool cannot retire before
        // this report.
        let is_new = reported.is_none_or(|reported| match report.end {
            StretchEnd::Standing { open_rounds, mirrored } => {
                let stands = mirrored >= state.suspended_at
                    && (open_rounds != reported.open_rounds || reported.mirrored < state.suspended_at);
                report.contributions != Nano::ZERO
                    || !report.voids.is_empty()
                    || (state.status == PoolStatus::Suspended && stands)
            }
            StretchEnd::Decision(_) => true,
        });
        is_new.then_some(report)
    }

    #[must_use]
    pub fn partition_report_to(
        &self,
        pool: &str,
        partition: u32,
        there: &Self,
        to_max: u64,
    ) -> Option<PartitionReported> {
        let state = self.pool(pool).filter(|state| state.head.partition != partition)?;
        let Some(reported) = state.reports.get(&partition) else {
            let end = StretchEnd::Standing { open_rounds: 0, mirrored: 0 };
            let (contributions, voids, cycle) = (Nano::ZERO, vec![], 0);
            return Some(PartitionReported { partition, from: 1, to: 0, contributions, end, voids, cycle });
        };
        let nothing = Pending::default();
        let pending = there.pending.get(pool).unwrap_or(&nothing);
        let from = reported.to + 1;
        let decision = pending.decisions_after(partition, reported.to).next();
        let decision = decision.filter(|decision| decision.position() <= to_max);
        let to = decision.map_or(there.end(partition).position.min(to_max), Decision::position);
        let contributions = Nano(pending.contributions(partition, from, to).map(|amount| amount.0).sum());
        let voids = reported_voids(state, pending.voids(partition, from, to), from);
        let open_rounds = there.contributing_rounds(pool);
        let mirrored = there.pool(pool).map_or(0, |mirror| mirror.home_position);
        let end = match decision {
            Some(decision) => StretchEnd::Decision(decision.clone()),
            None => StretchEnd::Standing { open_rounds, mirrored },
        };
        let cycle = if voids.is_empty() { 0 } else { state.cycle };
        (to >= from).then_some(PartitionReported { partition, from, to, contributions, end, voids, cycle })
    }

    #[must_use]
    pub fn pool_mirror(&self, pool: &str, partition: u32, there: &Self) -> Option<PoolMirrored> {
        let state = self.pool(pool)?;
        let mirrored = self.mirror_as_of_now(pool, partition, there)?;
        let (marks, mirror) = (state.marks(partition), there.pool(pool));
        let is_current = mirror.is_some_and(|mirror| {
            let (known, pending) = (mirror.marks(partition), there.pending.get(pool));
            let pooled = pending
                .and_then(|p| p.contributions(partition, known.pooled_position + 1, marks.pooled_position).next());
            let void =
                pending.and_then(|p| p.voids(partition, known.pooled_position + 1, marks.pooled_position).next());
            let decided = pending.and_then(|p| p.decisions_after(partition, known.decided_to).next());
            let decided = decided.is_some_and(|decision| decision.position() <= marks.decided_to);
            let is_same = (&mirror.terms, &mirror.status) == (&state.terms, &state.status);
            is_same && pooled.is_none() && void.is_none() && !decided && mirrored.returns.is_empty()
        });
        (!is_current).then_some(mirrored)
    }

    #[must_use]
    pub fn mirror_as_of_now(&self, pool: &str, partition: u32, there: &Self) -> Option<PoolMirrored> {
        let state = self.pool(pool)?;
        let reported = state.reports.get(&partition)?;
        let marks = state.marks(partition);
        let since = there.pool(pool).map_or(0, |mirror| mirror.home_position);
        let awards = reported.awards.iter().filter(|(awarded_at, _)| *awarded_at > since);
        let returns = reported.returns.iter().filter(|(returned_at, _)| *returned_at > since);
        Some(PoolMirrored {
            home_position: state.head.position,
            terms: state.terms.clone(),
            status: state.status.clone(),
            pooled_position: marks.pooled_position,
            decided_to: marks.decided_to,
            awards: awards.map(|(_, award)| award.clone()).collect(),
            returns: returns.map(|(_, returned)| returned.clone()).collect(),
        })
    }
}

fn reported_voids<'a>(pool: &PoolState, voids: impl Iterator<Item = &'a PendingVoid>, from: u64) -> Vec<ReportedVoids> {
    let mut sums = BTreeMap::<_, ReportedVoids>::new();
    for void in voids {
        let PendingVoid { partition, minute, ref operator, ref game, ref rules_version, .. } = *void;
        let sum = sums.entry((minute, operator, game, rules_version)).or_insert_with(|| ReportedVoids {
            operator: operator.clone(),
            game: game.clone(),
            rules_version: rules_version.clone(),
            minute,
            voids: 0,
            in_stretch: Nano::ZERO,
            in_cycle: Nano::ZERO,
            earlier: Nano::ZERO,
        });
        let part = match void.bet {
            BetPlace::At(position) if position >= from => &mut sum.in_stretch,
            BetPlace::At(position) if position > pool.marks(partition).cycle_from => &mut sum.in_cycle,
            _ => &mut sum.earlier,
        };
        part.0 += void.amount.0;
        sum.voids += void.voids;
    }
    sums.into_values().collect()
}

struct Stretch<'a> {
    partition: u32,
    from: u64,
    to: u64,
    decision: Option<&'a Decision>,
}

impl Stretch<'_> {
    fn events(&self, pool: &PoolState, pending: &Pending) -> Result<Vec<Event>, MoneyError> {
        let Self { partition, from, to, decision } = *self;
        let mut events = Vec::with_capacity(2);
        let mut as_of = pool.clone();
        let Some(_) = decision else {
            pool_stretch(&mut as_of, pending, (partition, from, to), &mut events)?;
            return Ok(events);
        };
        let mut next = from;
        let decisions = pending.decisions_after(partition, pool.marks(partition).decided_to);
        for decision in decisions.take(DECISIONS_MAX).take_while(|decision| is_decided_now(pool, decision)) {
            pool_stretch(&mut as_of, pending, (partition, next, decision.position()), &mut events)?;
            next = next.max(decision.position() + 1);
            let decided = decide(&as_of, decision)?;
            let is_award = matches!(decided, Event::JackpotAwarded(_));
            as_of.give_back(&decided);
            events.push(decided);
            if is_award {
                break;
            }
        }
        Ok(events)
    }
}

const DECISIONS_MAX: usize = 256;

fn is_decided_now(pool: &PoolState, decision: &Decision) -> bool {
    match decision {
        Decision::Hit(hit) => pool.awards_now(hit),
        Decision::TakeBack(_) | Decision::Reversal(_) => true,
    }
}

fn pool_stretch(
    pool: &mut PoolState,
    pending: &Pending,
    (partition, from, to): (u32, u64, u64),
    events: &mut Vec<Event>,
) -> Result<(), MoneyError> {
    if to >= from {
        let amount = Nano(pending.contributions(partition, from, to).map(|amount| amount.0).sum());
        pool.increments = pool.increments.checked_add(amount).ok_or(MoneyError::OutOfRange)?;
        events.push(Event::ContributionsPooled { partition, from, to, amount });
    }
    Ok(())
}

impl PoolState {
    fn give_back(&mut self, decided: &Event) {
        match decided {
            Event::ContributionTakenBack { from_increments, from_reserve, from_house, .. } => {
                self.increments.0 -= from_increments.0;
                self.reserve.0 -= from_reserve.0;
                self.house_funding.0 += from_house.0;
            }
            Event::AwardReversed { amount, to_house, .. } => {
                self.house_funding.0 -= to_house.0;
                self.reserve.0 += amount.0 - to_house.0;
            }
            _ => {}
        }
    }
}

fn decide(pool: &PoolState, decision: &Decision) -> Result<Event, MoneyError> {
    Ok(match decision {
        Decision::Hit(hit) => Event::JackpotAwarded(price(pool, hit)?.into()),
        Decision::Reversal(Reversal { partition, position, operator, amount, to_house }) => Event::AwardReversed {
            partition: *partition,
            position: *position,
            amount: *amount,
            to_house: (*to_house).min(pool.house_funding),
            operator: operator.clone(),
        },
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
