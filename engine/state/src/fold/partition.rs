use std::sync::Arc;

use super::pool::check_terms;
use super::transition::{Transition, add_figure};
use crate::events::{
    Decision, PartitionReported, PoolMirrored, PoolStatus, Refused, ReportedVoids, StretchEnd, VoidReturn,
};
use crate::state::{BetPlace, Pending, PendingVoid, PoolState, UnpaidAward};
use crate::values::{Account, Currency, Head, Nano, StreamId};

impl<'s> Transition<'s, '_> {
    pub fn report(&mut self, name: &'s str, report: &'s PartitionReported) -> Result<(), Refused> {
        let PartitionReported { partition, from, to, contributions, ref end, ref voids, cycle } = *report;
        let position = self.commit.position;
        if self.decided {
            return Err(Refused::SecondDecision);
        }
        self.decided = true;
        check_report(report)?;
        if partition == self.commit.partition {
            return Err(Refused::BadReport { reason: "the pool's own partition must not send a report".to_owned() });
        }
        let pool = self.pool(name)?;
        if cycle != if voids.is_empty() { 0 } else { pool.cycle } {
            return Err(Refused::BadReport {
                reason: "the report's cycle must be that since the pool's latest award, or 0 without voids".to_owned(),
            });
        }
        let reports = &mut pool.reports;
        let expected = reports.get(&partition).map_or(1, |reported| reported.to + 1);
        let joins = !reports.contains_key(&partition);
        if from != expected || joins != (to < from) {
            return Err(Refused::WrongStretch { expected, found: from });
        }
        let reported = reports.entry(partition).or_default();
        reported.to = to;
        if let StretchEnd::Standing { open_rounds, mirrored } = *end {
            if !(reported.mirrored..position).contains(&mirrored) {
                return Err(Refused::BadReport {
                    reason: "the position up to which partition 0 was copied is not below the commit, or has decreased"
                        .to_owned(),
                });
            }
            (reported.open_rounds, reported.mirrored) = (open_rounds, mirrored);
            reported.awards.retain(|(awarded_at, _)| *awarded_at > mirrored);
            reported.returns.retain(|(returned_at, _)| *returned_at > mirrored);
        }
        if joins {
            return Ok(());
        }
        let pending = self.pending(name);
        pending.contribution = Some((partition, to, contributions));
        pending.voids = voids.iter().flat_map(|voids| pending_voids(voids, partition, to, cycle)).collect();
        let due = Account::ContributionsDue(name);
        self.transfer(Account::Interpartition, due, Currency::EUR, contributions);
        if let StretchEnd::Decision(decision) = end {
            if let Decision::TakeBack(void) = decision {
                self.transfer(due, Account::Interpartition, Currency::EUR, void.amount);
            }
            if let Decision::Reversal(reversal) = decision {
                self.transfer(Account::Interpartition, due, Currency::EUR, reversal.amount);
            }
            self.pending(name).decision = Some(Box::new(decision.clone()));
        }
        Ok(())
    }

    pub fn mirror(&mut self, name: &'s str, mirrored: &'s PoolMirrored) -> Result<(), Refused> {
        let Head { partition, .. } = self.mirrored_pool(name, mirrored)?.head;
        let view = self.view;
        let pool = self.pool(name)?;
        let before = pool.marks(partition);
        let PoolMirrored { home_position, pooled_position, decided_to, .. } = *mirrored;
        if pooled_position < before.pooled_position || decided_to < before.decided_to || decided_to > pooled_position {
            return Err(Refused::WrongStretch { expected: before.pooled_position, found: pooled_position });
        }
        let end = view.durable.end(partition).position;
        if pooled_position > end {
            return Err(Refused::NotDurable { to: pooled_position, end });
        }
        pool.home_position = home_position;
        pool.terms.clone_from(&mirrored.terms);
        pool.status.clone_from(&mirrored.status);
        let marks = pool.marks_mut(partition);
        (marks.pooled_position, marks.decided_to) = (pooled_position, decided_to);
        let name_of = Arc::clone(&pool.name);

        let nothing = Pending::default();
        let pending = view.durable_pending(name).unwrap_or(&nothing);
        let waiting = pending.decisions_after(partition, decided_to).next();
        if let Some(waiting) = waiting.filter(|decision| decision.position() < pooled_position) {
            return Err(Refused::DecisionWaits { position: waiting.position() });
        }
        let pooled = pending.contributions(partition, before.pooled_position + 1, pooled_position);
        let pooled = Nano(pooled.map(|amount| amount.0).sum());
        let mut decided = before.decided_to;
        let mut awards = mirrored.awards.iter();
        let (mut taken_back, mut awarded, mut reversed) = (Nano::ZERO, Nano::ZERO, Nano::ZERO);
        let decisions = pending.decisions_after(partition, before.decided_to);
        for decision in decisions.take_while(|decision| decision.position() <= decided_to) {
            decided = decision.position();
            match decision {
                Decision::TakeBack(void) => taken_back = add_figure(taken_back, void.amount)?,
                Decision::Reversal(reversal) => reversed = add_figure(reversed, reversal.amount)?,
                Decision::Hit(_) => {
                    let award = awards.next().filter(|award| award.is_for(decision));
                    let award = award.ok_or(Refused::NoSuchAward { hit: decided })?;
                    awarded = add_figure(awarded, award.paid)?;
                    let unpaid = UnpaidAward::new(award, Arc::clone(&name_of));
                    self.delta.awarded.push(((partition, award.hit), unpaid));
                }
            }
        }
        if let Some(award) = awards.next() {
            return Err(Refused::NoSuchAward { hit: award.hit });
        }
        if decided != decided_to {
            return Err(Refused::NothingToDecide { position: decided_to });
        }
        let due = Account::ContributionsDue(name);
        self.transfer(due, Account::Interpartition, Currency::EUR, pooled);
        self.transfer(due, Account::Interpartition, Currency::EUR, reversed);
        self.transfer(Account::Interpartition, due, Currency::EUR, taken_back);
        for VoidReturn { operator, amount } in &mirrored.returns {
            if *amount <= Nano::ZERO {
                return Err(Refused::BadReport {
                    reason: "each amount returned to an operator must be above 0".to_owned(),
                });
            }
            self.transfer(Account::Interpartition, Account::House(operator), Currency::EUR, *amount);
        }
        self.transfer(Account::Interpartition, Account::JackpotPayable(name), Currency::EUR, awarded);
        Ok(())
    }

    fn mirrored_pool(&mut self, name: &str, mirrored: &PoolMirrored) -> Result<&mut PoolState, Refused> {
        let PoolMirrored { home_position, terms, status, .. } = mirrored;
        check_terms(terms, terms.version.max(1))?;
        let head = self.commit.head();
        let before = self.delta.pool.take();
        let pool = before.unwrap_or_else(|| Box::new(PoolState::new(Arc::from(name), head, terms.clone())));
        let expected = pool.home_position + 1;
        if *home_position < expected {
            return Err(Refused::StaleMirror { expected, found: *home_position });
        }
        let is_same = *terms == pool.terms;
        if terms.version < pool.terms.version || (terms.version == pool.terms.version && !is_same) {
            return Err(Refused::WrongTerms { expected: pool.terms.version, found: terms.version });
        }
        if terms.base_coin != pool.terms.base_coin {
            return Err(Refused::BadTerms { reason: "a pool's base coin value must not change".to_owned() });
        }
        if matches!(pool.status, PoolStatus::Retired { .. }) && *status != pool.status {
            return Err(Refused::PoolStatus { status: pool.status });
        }
        Ok(self.delta.pool.insert(pool))
    }
}

fn pending_voids(
    voids: &ReportedVoids,
    partition: u32,
    to: u64,
    cycle: u64,
) -> impl Iterator<Item = PendingVoid> + use<> {
    let ReportedVoids { operator, game, rules_version, minute, voids: count, in_stretch, in_cycle, earlier } =
        voids.clone();
    let parts = [(BetPlace::InStretch, in_stretch), (BetPlace::InCycle(cycle), in_cycle), (BetPlace::Earlier, earlier)];
    let counts = [count, 0, 0];
    parts.into_iter().zip(counts).filter(|((_, amount), count)| *amount != Nano::ZERO || *count > 0).map(
        move |((bet, amount), voids)| PendingVoid {
            position: to,
            partition,
            minute,
            operator: operator.clone(),
            game: game.clone(),
            rules_version: rules_version.clone(),
            voids,
            bet,
            amount,
        },
    )
}

fn check_report(report: &PartitionReported) -> Result<(), Refused> {
    let PartitionReported { partition, to, contributions, ref end, ref voids, .. } = *report;
    let is_sum = |voids: &ReportedVoids| {
        voids.voids > 0 && [voids.in_stretch, voids.in_cycle, voids.earlier].iter().all(|part| *part >= Nano::ZERO)
    };
    let reason = match end {
        _ if !voids.iter().all(is_sum) => {
            "each entry for voids in the report must count at least one void and state no negative contributions"
        }
        _ if contributions < Nano::ZERO => "the report's contributions are negative",
        StretchEnd::Standing { open_rounds, mirrored }
            if to == 0 && !(voids.is_empty() && (contributions, *open_rounds, *mirrored) == (Nano::ZERO, 0, 0)) =>
        {
            "a partition's first report covers no records, so it must state no amounts, voids, open rounds or copied \
             position"
        }
        StretchEnd::Standing { .. } => return Ok(()),
        StretchEnd::Decision(decision) if to == 0 || (decision.partition(), decision.position()) != (partition, to) => {
            "the report must end at the jackpot hit or void that it states"
        }
        StretchEnd::Decision(Decision::TakeBack(void)) if void.amount < Nano::ZERO || void.contributed_at >= to => {
            "the void takes back a negative amount, or a contribution that was not made before the void"
        }
        StretchEnd::Decision(Decision::Reversal(reversal))
            if reversal.amount <= Nano::ZERO || !(Nano::ZERO..=reversal.amount).contains(&reversal.to_house) =>
        {
            "the reversed amount must be above 0, and the house's part of it must be between 0 and this amount"
        }
        StretchEnd::Decision(Decision::Hit(hit)) if !matches!(hit.stream, StreamId::Player { .. }) => {
            "the jackpot hit is not on a player's stream"
        }
        StretchEnd::Decision(_) => return Ok(()),
    };
    Err(Refused::BadReport { reason: reason.to_owned() })
}
