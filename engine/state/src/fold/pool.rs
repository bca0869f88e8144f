use std::sync::Arc;

use super::price::{TakenBack, price, take_back};
use super::transition::{Transition, add_figure, expect_figure};
use crate::events::{Award, Decision, MirroredAward, PoolStatus, PoolTerms, Refused};
use crate::state::{PoolState, UnpaidAward};
use crate::values::{Account, Currency, Nano};

impl<'s> Transition<'s, '_> {
    pub fn pool(&mut self, name: &str) -> Result<&mut PoolState, Refused> {
        let pool = self.delta.pool.as_deref_mut();
        pool.ok_or_else(|| Refused::UnknownPool { pool: name.into() })
    }

    fn pool_in(&mut self, name: &str, status: &PoolStatus) -> Result<&mut PoolState, Refused> {
        let pool = self.pool(name)?;
        if pool.status == *status { Ok(pool) } else { Err(Refused::PoolStatus { status: pool.status.clone() }) }
    }

    pub fn open_pool(&mut self, name: &str, given: &str, terms: &PoolTerms) -> Result<(), Refused> {
        if given != name {
            return Err(Refused::WrongStream);
        }
        if self.delta.pool.is_some() {
            return Err(Refused::PoolExists);
        }
        check_terms(terms, 1)?;
        self.delta.pool = Some(Box::new(PoolState::new(Arc::from(name), self.commit.head(), terms.clone())));
        Ok(())
    }

    /// Adds a partition's contributions at log positions `from` to `to` (inclusive) to the pool. Fails while a jackpot hit
    /// or void before position `to` is undecided (BW-11).
    pub fn take_up(&mut self, name: &'s str, partition: u32, from: u64, to: u64, amount: Nano) -> Result<(), Refused> {
        let (view, home) = (self.view, self.commit.partition);
        let pool = self.pool(name)?;
        let marks = pool.marks(partition);
        let expected = marks.pooled_position + 1;
        if from != expected || to < from {
            return Err(Refused::WrongStretch { expected, found: from });
        }
        let end = view.durable_end(pool, partition);
        if to > end {
            return Err(Refused::NotDurable { to, end });
        }
        // Another partition's report is added as a whole, because its parts could otherwise fall into different pool
        // cycles.
        let whole =
            partition == home || view.durable_pending(name).is_some_and(|pending| pending.ends_at(partition, to));
        if !whole {
            return Err(Refused::WrongStretch { expected, found: from });
        }
        if let Some(pending) = view.durable_pending(name) {
            let waiting = pending.decisions_after(partition, marks.decided_to).next();
            if let Some(waiting) = waiting.filter(|decision| decision.position() < to) {
                return Err(Refused::DecisionWaits { position: waiting.position() });
            }
        }
        let contributions = view.durable_pending(name).into_iter();
        let contributions = contributions.flat_map(|pending| pending.contributions(partition, from, to));
        expect_figure(Nano(contributions.map(|amount| amount.0).sum()), amount)?;
        pool.increments = add_figure(pool.increments, amount)?;
        pool.contributions = add_figure(pool.contributions, amount)?;
        pool.marks_mut(partition).pooled_position = to;
        self.sum_voids(name, partition, (from, to))?;
        self.transfer(Account::ContributionsDue(name), Account::Increments(name), Currency::EUR, amount);
        Ok(())
    }

    /// Returns the partition's oldest undecided jackpot hit or void, which must be at `position`. All contributions
    /// up to `position` must be in the pool.
    pub(super) fn next_decision(&mut self, name: &str, partition: u32, position: u64) -> Result<&'s Decision, Refused> {
        let pending = self.view.durable_pending(name);
        let marks = self.pool(name)?.marks(partition);
        let next = pending.and_then(|pending| pending.decisions_after(partition, marks.decided_to).next());
        next.filter(|decision| decision.position() == position && marks.pooled_position == position)
            .ok_or(Refused::NothingToDecide { position })
    }

    pub fn award(&mut self, name: &'s str, award: &'s Award) -> Result<(), Refused> {
        let Decision::Hit(hit) = self.next_decision(name, award.partition, award.hit)? else {
            return Err(Refused::NothingToDecide { position: award.hit });
        };
        let position = self.commit.position;
        let pool = self.pool(name)?;
        let expected = price(pool, hit)?;
        if expected != *award {
            return Err(Refused::AwardWrong { expected: Box::new(expected), found: Box::new(award.clone()) });
        }
        let increments = pool.increments;
        pool.reserve = Nano(pool.reserve.0 - award.seed_from_reserve.0 + award.to_reserve.0);
        pool.house_funding = add_figure(pool.house_funding, award.seed_from_house)?;
        pool.increments = Nano::ZERO;
        pool.paid = add_figure(pool.paid, award.paid)?;
        pool.cycle += 1;
        pool.last_hit_ms = Some(hit.time_ms);
        if let Some(terms) = pool.pending_terms.take() {
            pool.terms = terms;
        }
        pool.marks_mut(award.partition).decided_to = award.hit;
        for marks in pool.marks.values_mut() {
            marks.cycle_from = marks.pooled_position;
        }
        let abroad = pool.reports.get_mut(&award.partition);
        let is_abroad = abroad.is_some();
        if let Some(reported) = abroad {
            reported.awards.push((position, MirroredAward::from_award(award)));
        } else {
            let unpaid = UnpaidAward::new(&MirroredAward::from_award(award), Arc::clone(&pool.name));
            self.delta.awarded.push(((award.partition, award.hit), unpaid));
        }
        self.post_award(name, award, increments);
        if is_abroad {
            self.transfer(Account::JackpotPayable(name), Account::Interpartition, Currency::EUR, award.paid);
        }
        Ok(())
    }

    fn post_award(&mut self, name: &'s str, award: &Award, increments: Nano) {
        let payable = Account::JackpotPayable(name);
        let reserve = Account::Reserve(name);
        let shares = award.increments.0 + award.seed_from_reserve.0 + award.seed_from_house.0;
        let rest = Nano(increments.0 - award.increments.0);
        self.transfer(Account::SeedFunding(name), payable, Currency::EUR, award.seed_from_house);
        self.transfer(reserve, payable, Currency::EUR, award.seed_from_reserve);
        self.transfer(Account::Increments(name), payable, Currency::EUR, award.increments);
        self.transfer(payable, reserve, Currency::EUR, Nano(shares - award.paid.0));
        self.transfer(Account::Increments(name), reserve, Currency::EUR, rest);
    }

    pub fn take_back(
        &mut self,
        name: &'s str,
        partition: u32,
        position: u64,
        amount: Nano,
        split: TakenBack,
    ) -> Result<(), Refused> {
        let Decision::TakeBack(void) = self.next_decision(name, partition, position)? else {
            return Err(Refused::NothingToDecide { position });
        };
        let pool = self.pool(name)?;
        expect_figure(void.amount, amount)?;
        let expected = take_back(pool, void);
        expect_figure(expected.from_increments, split.from_increments)?;
        expect_figure(expected.from_reserve, split.from_reserve)?;
        expect_figure(expected.from_house, split.from_house)?;
        pool.contributions.0 -= amount.0;
        pool.increments.0 -= split.from_increments.0;
        pool.reserve.0 -= split.from_reserve.0;
        pool.house_funding = add_figure(pool.house_funding, split.from_house)?;
        pool.marks_mut(partition).decided_to = position;
        let due = Account::ContributionsDue(name);
        self.transfer(Account::Increments(name), due, Currency::EUR, split.from_increments);
        self.transfer(Account::Reserve(name), due, Currency::EUR, split.from_reserve);
        self.transfer(Account::SeedFunding(name), due, Currency::EUR, split.from_house);
        Ok(())
    }

    pub fn change_terms(&mut self, name: &str, terms: &PoolTerms) -> Result<(), Refused> {
        let pool = self.pool(name)?;
        if let PoolStatus::Retired { .. } = pool.status {
            return Err(Refused::PoolStatus { status: pool.status.clone() });
        }
        check_terms(terms, pool.next_terms_version())?;
        if terms.base_coin != pool.terms.base_coin {
            return Err(Refused::BadTerms { reason: "a pool's base coin value must not change".to_owned() });
        }
        pool.pending_terms = Some(terms.clone());
        Ok(())
    }

    pub fn suspend(&mut self, name: &str) -> Result<(), Refused> {
        let (home, position) = (self.commit.partition, self.commit.position);
        let pool = self.pool_in(name, &PoolStatus::Active)?;
        (pool.status, pool.suspended_at) = (PoolStatus::Suspended, position);
        pool.release_hits(home, position);
        Ok(())
    }

    pub fn resume(&mut self, name: &str) -> Result<(), Refused> {
        self.pool_in(name, &PoolStatus::Suspended)?.status = PoolStatus::Active;
        Ok(())
    }

    pub fn release_hits(&mut self, name: &str) -> Result<(), Refused> {
        let (home, position) = (self.commit.partition, self.commit.position);
        self.pool_in(name, &PoolStatus::Suspended)?.release_hits(home, position);
        Ok(())
    }

    pub fn retire(&mut self, name: &'s str, into: &str, increments: Nano, reserve: Nano) -> Result<(), Refused> {
        let view = self.view;
        let pool = self.pool_in(name, &PoolStatus::Suspended)?;
        let heir = view.pool(into).filter(|_| into != name);
        let heir = heir.ok_or_else(|| Refused::UnknownPool { pool: into.into() })?;
        if let PoolStatus::Retired { .. } = heir.status {
            return Err(Refused::PoolStatus { status: heir.status.clone() });
        }
        let arriving = |other: &PoolState| {
            matches!(&other.status, PoolStatus::Retired { into, .. } if into == name)
                && !pool.received_from.contains(&*other.name)
        };
        if view.outstanding(pool) || view.pools().any(arriving) {
            return Err(Refused::PoolOutstanding);
        }
        expect_figure(pool.increments, increments)?;
        expect_figure(pool.reserve, reserve)?;
        pool.moved_out = add_figure(increments, reserve)?;
        pool.increments = Nano::ZERO;
        pool.reserve = Nano::ZERO;
        pool.status = PoolStatus::Retired { into: into.into(), increments, reserve };
        self.transfer(Account::Increments(name), Account::Transfer, Currency::EUR, increments);
        self.transfer(Account::Reserve(name), Account::Transfer, Currency::EUR, reserve);
        Ok(())
    }

    pub fn receive(&mut self, name: &'s str, from: &str, increments: Nano, reserve: Nano) -> Result<(), Refused> {
        let sender = self.view.pool(from).map(|sender| sender.status.clone());
        let sent = PoolStatus::Retired { into: name.into(), increments, reserve };
        let pool = self.pool(name)?;
        if sender != Some(sent) || !pool.received_from.insert(from.into()) {
            return Err(Refused::NoSuchTransfer { pool: from.into() });
        }
        pool.increments = add_figure(pool.increments, increments)?;
        pool.reserve = add_figure(pool.reserve, reserve)?;
        pool.moved_in = add_figure(pool.moved_in, add_figure(increments, reserve)?)?;
        self.transfer(Account::Transfer, Account::Increments(name), Currency::EUR, increments);
        self.transfer(Account::Transfer, Account::Reserve(name), Currency::EUR, reserve);
        Ok(())
    }
}

pub(super) fn check_terms(terms: &PoolTerms, version: u32) -> Result<(), Refused> {
    let fault = if terms.contribution_ppm > 1_000_000 {
        "a contribution must not exceed the bet"
    } else if !(Nano::ZERO..=Nano::major(1_000_000_000)).contains(&terms.seed) {
        "the seed must be between 0 and 10^9 EUR"
    } else if terms.base_coin.0 == 0 {
        "the base coin value must be above 0"
    } else if terms.refresh_ms == 0 {
        "the refresh interval of the displayed jackpot must be above 0 ms"
    } else if terms.version != version {
        return Err(Refused::WrongTerms { expected: version, found: terms.version });
    } else {
        return Ok(());
    };
    Err(Refused::BadTerms { reason: fault.to_owned() })
}
