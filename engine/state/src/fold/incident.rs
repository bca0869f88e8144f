use std::sync::Arc;

use super::price::{TakenBack, split};
use super::transition::{Transition, add_figure, expect_figure};
use super::view::View;
use crate::events::{Decision, Event, Incident, Refused, VoidReturn};
use crate::state::{Books, PoolState, RETURN_MINUTES, VoidKey, VoidSum};
use crate::values::{Account, Currency, Nano};

const INCIDENTS_MAX: usize = 256;

struct Returnable<'s> {
    keys: Vec<&'s VoidKey>,
    sum: VoidSum,
}

impl<'s> View<'s> {
    fn due(self, pool: &PoolState, incident: &Incident, partition: Option<u32>) -> Returnable<'s> {
        let (from, until) = incident.minutes();
        let keys = self.void_keys(&pool.name, (from.max(pool.returns_from), until));
        let is_due = |key: &&VoidKey| partition.is_none_or(|of| of == key.partition) && key.belongs_to(incident);
        let mut due = Returnable { keys: vec![], sum: VoidSum::default() };
        for key in keys.into_iter().filter(is_due) {
            if let Some(sum) = self.void_sum(key) {
                due.sum.join(sum, pool.cycle);
                due.keys.push(key);
            }
        }
        due
    }
}

impl<'s> Transition<'s, '_> {
    /// Sums the contributions of voided bets, which return to operators if an [`Incident`] is declared. Bets older than
    /// `RETURN_MINUTES` are ignored.
    pub fn sum_voids(&mut self, name: &str, partition: u32, (from, to): (u64, u64)) -> Result<(), Refused> {
        let (view, now) = (self.view, Incident::minute_of(self.commit.time_ms));
        let pool = self.pool(name)?;
        pool.returns_from = pool.returns_from.max(now - RETURN_MINUTES);
        if pool.incidents.values().any(|incident| incident.minutes().1 <= pool.returns_from) {
            let returns_from = pool.returns_from;
            Arc::make_mut(&mut pool.incidents).retain(|_, incident| incident.minutes().1 > returns_from);
        }
        let (pool_name, cycle, returns_from) = (Arc::clone(&pool.name), pool.cycle, pool.returns_from);
        let cycle_from = pool.marks(partition).cycle_from;
        let pending = view.durable_pending(name).into_iter();
        for void in pending.flat_map(|pending| pending.voids(partition, from, to)) {
            if void.minute >= returns_from {
                let key = void.key(&pool_name);
                let before = || view.void_sum(&key).unwrap_or_default();
                let sum = self.delta.void_sums.get(&key).copied().unwrap_or_else(before);
                let mut sum = sum;
                sum.add(void, cycle, cycle_from);
                self.delta.void_sums.insert(key, sum);
            }
        }
        Ok(())
    }

    pub fn declare(&mut self, name: &str, incident: &Incident) -> Result<(), Refused> {
        let now_ms = self.commit.time_ms;
        let pool = self.pool(name)?;
        let Incident { from_ms, until_ms, .. } = *incident;
        let whole = |time_ms: i64| time_ms.rem_euclid(Incident::RESOLUTION_MS) == 0;
        let reason = if incident.id.is_empty() || incident.operator.is_empty() || incident.game.is_empty() {
            "an incident needs a name, an operator and a game"
        } else if incident.reason.is_empty() {
            "the incident needs a reason"
        } else if !whole(from_ms) || !whole(until_ms) {
            "the incident's interval must begin and end at whole minutes"
        } else if from_ms >= until_ms {
            "the incident's interval is empty"
        } else if until_ms > now_ms.saturating_add(Incident::RESOLUTION_MS) {
            "the incident's interval ends in the future"
        } else if from_ms < 0 || now_ms / Incident::RESOLUTION_MS - from_ms / Incident::RESOLUTION_MS > RETURN_MINUTES {
            "the incident began more than 92 days ago"
        } else if pool.incidents.contains_key(&incident.id) {
            return Err(Refused::IncidentExists { id: incident.id.clone() });
        } else if pool.incidents.len() >= INCIDENTS_MAX {
            return Err(Refused::TooManyIncidents { most: INCIDENTS_MAX });
        } else {
            Arc::make_mut(&mut pool.incidents).insert(incident.id.clone(), incident.clone());
            return Ok(());
        };
        Err(Refused::BadIncident { reason: reason.to_owned() })
    }

    /// Pays contributions back to the operator's house account. Contributions of the current cycle are taken from the
    /// increments; those of earlier cycles are taken from the reserve and, if it is too small, from the seed funding
    /// (BW-19).
    pub fn return_contributions(
        &mut self,
        name: &'s str,
        (incident, partition, voids): (&str, u32, u64),
        amount: Nano,
        found: TakenBack,
    ) -> Result<(), Refused> {
        let (view, home, position) = (self.view, self.commit.partition, self.commit.position);
        let unknown = || Refused::UnknownIncident { id: incident.into() };
        let declared = view.pool(name).and_then(|pool| pool.incidents.get(incident)).ok_or_else(unknown)?;
        if self.commit.events.len() != 1 {
            return Err(unknown());
        }
        let pool = self.pool(name)?;
        let Returnable { keys, sum } = view.due(pool, declared, Some(partition));
        if keys.is_empty() || sum.voids != voids {
            return Err(unknown());
        }
        expect_figure(sum.amount(), amount)?;
        let expected = split(pool, amount, sum.in_cycle(pool.cycle));
        expect_figure(expected.from_increments, found.from_increments)?;
        expect_figure(expected.from_reserve, found.from_reserve)?;
        expect_figure(expected.from_house, found.from_house)?;
        pool.contributions.0 -= amount.0;
        pool.increments.0 -= found.from_increments.0;
        pool.reserve.0 -= found.from_reserve.0;
        pool.house_funding = add_figure(pool.house_funding, found.from_house)?;
        let house = if partition == home {
            Account::House(&declared.operator)
        } else {
            let reported = pool.reports.get_mut(&partition).ok_or_else(unknown)?;
            reported.returns.push((position, VoidReturn { operator: declared.operator.clone(), amount }));
            Account::Interpartition
        };
        self.delta.returned = keys.into_iter().cloned().collect();
        self.transfer(Account::Increments(name), house, Currency::EUR, found.from_increments);
        self.transfer(Account::Reserve(name), house, Currency::EUR, found.from_reserve);
        self.transfer(Account::SeedFunding(name), house, Currency::EUR, found.from_house);
        Ok(())
    }

    /// Reverses an unpaid award: its seed part goes to the house, and the remainder to the pool's reserve.
    pub fn reverse(
        &mut self,
        name: &'s str,
        (partition, position, operator): (u32, u64, &str),
        amount: Nano,
        to_house: Nano,
    ) -> Result<(), Refused> {
        let Decision::Reversal(reversal) = self.next_decision(name, partition, position)? else {
            return Err(Refused::NothingToDecide { position });
        };
        if reversal.operator != operator {
            return Err(Refused::NothingToDecide { position });
        }
        let pool = self.pool(name)?;
        expect_figure(reversal.amount, amount)?;
        expect_figure(reversal.to_house.min(pool.house_funding), to_house)?;
        let to_reserve = Nano(amount.0 - to_house.0);
        pool.paid.0 -= amount.0;
        pool.house_funding.0 -= to_house.0;
        pool.reserve = add_figure(pool.reserve, to_reserve)?;
        pool.marks_mut(partition).decided_to = position;
        let due = Account::ContributionsDue(name);
        self.transfer(due, Account::Reserve(name), Currency::EUR, to_reserve);
        self.transfer(due, Account::SeedFunding(name), Currency::EUR, to_house);
        Ok(())
    }
}

impl Books {
    #[must_use]
    pub fn pool_return(&self, pool: &str) -> Option<Event> {
        let (view, state) = (self.view(), self.pool(pool).filter(|state| state.mirrors().is_none())?);
        if self.void_sums.is_empty() {
            return None;
        }
        state.incidents().find_map(|incident| {
            let first = view.due(state, incident, None).keys.first().map(|key| key.partition)?;
            let Returnable { sum, .. } = view.due(state, incident, Some(first));
            let amount = sum.amount();
            let TakenBack { from_increments, from_reserve, from_house } =
                split(state, amount, sum.in_cycle(state.cycle));
            Some(Event::ContributionsReturned {
                incident: incident.id.clone(),
                partition: first,
                voids: sum.voids,
                amount,
                from_increments,
                from_reserve,
                from_house,
            })
        })
    }
}
