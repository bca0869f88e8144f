//! Checks the messages about one pool between partition 0 ("home") and another partition. Reports must match the partition's
//! log, and mirrors (copies of the pool's state) must match the pool's stream.

use crate::{
    divergence::Fault,
    facts::{Contributed, KeptContribution},
};
use motherlode_log::Position;
use motherlode_state::{
    Award, Decision, HOME, MirroredAward, Nano, PartitionReported, PoolMirrored, PoolState, PoolStatus, PoolTerms,
    StretchEnd, VoidReturn,
};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Default)]
pub(crate) struct Exchange {
    unreported: VecDeque<Contributed>,
    /// Positions of copies of the pool, each with the position in partition 0 whose state the copy contains.
    mirrors: VecDeque<(Position, Position)>,
    open_rounds: u64,
    mirrored: Position,
    heads: VecDeque<Position>,
    views: VecDeque<(Position, PoolView)>,
    joined: bool,
    // The following fields contain items that no copy of the pool contains yet, each with its position in partition 0.
    contributions: VecDeque<(Position, Nano)>,
    voids: VecDeque<(Position, Nano)>,
    awards: VecDeque<(Position, MirroredAward)>,
    reversals: VecDeque<(Position, Nano)>,
    returns: VecDeque<(Position, VoidReturn)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PoolView {
    terms: PoolTerms,
    status: PoolStatus,
    pooled_position: Position,
    decided_to: Position,
}

impl Exchange {
    pub(crate) fn contributed(&mut self, effect: Contributed) {
        self.unreported.push_back(effect);
    }

    pub(crate) fn award(&mut self, position: Position, award: &Award) {
        let Award { hit, round, amount, currency, paid, seed_from_house, .. } = *award;
        let stream = award.stream.clone();
        let mirrored = MirroredAward { hit, stream, round, amount, currency, paid, seed_from_house };
        self.awards.push_back((position, mirrored));
    }

    pub(crate) fn give_back(&mut self, position: Position, returned: VoidReturn) {
        self.returns.push_back((position, returned));
    }

    pub(crate) fn changed(&mut self, position: Position, partition: u32, pool: &PoolState) {
        if !self.joined {
            return;
        }
        self.heads.push_back(position);
        let (pooled_position, decided_to) = (pool.pooled_position(partition), pool.decided_to(partition));
        let view = PoolView { terms: pool.terms.clone(), status: pool.status.clone(), pooled_position, decided_to };
        if self.views.back().is_none_or(|(_, last)| *last != view) {
            self.views.push_back((position, view));
        }
    }

    pub(crate) fn report(&mut self, report: &PartitionReported) -> Result<(), Fault> {
        let PartitionReported { to, contributions, ref end, ref voids, .. } = *report;
        self.joined = true;
        let (mut sum, mut decisions, mut kept) = (Nano::ZERO, vec![], BTreeMap::new());
        while let Some(effect) = self.unreported.pop_front_if(|effect| effect.position <= to) {
            sum.0 += effect.contribution.0;
            decisions.extend(effect.decision);
            if let Some(KeptContribution { operator, game, rules_version, minute, amount }) = effect.kept {
                let sum = kept.entry((operator, game, rules_version, minute)).or_insert((0, 0));
                *sum = (sum.0 + 1, sum.1 + amount.0);
            }
            self.open_rounds = effect.open_rounds;
        }
        while let Some((_, mirrored)) = self.mirrors.pop_front_if(|(position, _)| *position <= to) {
            self.mirrored = mirrored;
        }
        if contributions != sum {
            let what = "the contributions reported to the pool differ from those in the partition's log";
            return Err(Fault::new(what, format!("{sum} EUR"), format!("{contributions} EUR")));
        }
        let mut reported = BTreeMap::new();
        for of in voids {
            let key = (of.operator.clone(), of.game.clone(), of.rules_version.clone(), of.minute);
            let sum = reported.entry(key).or_insert((0, 0));
            *sum = (sum.0 + of.voids, sum.1 + of.in_stretch.0 + of.in_cycle.0 + of.earlier.0);
        }
        if reported != kept {
            let what = "the voids reported to the pool differ from those in the partition's log";
            return Err(Fault::new(what, format!("{kept:?}"), format!("{reported:?}")));
        }
        let standing = StretchEnd::Standing { open_rounds: self.open_rounds, mirrored: self.mirrored };
        let expected = decisions.first().map_or(standing, |first| StretchEnd::Decision(first.clone()));
        if *end != expected || decisions.len() > 1 {
            let what =
                "the jackpot hit, void or state that ends the report to the pool differs from the partition's log";
            return Err(Fault::new(
                what,
                stretch_end(&expected),
                format!("{}, in a report that ends at position {to}", stretch_end(end)),
            ));
        }
        self.contributions.push_back((to, contributions));
        if let StretchEnd::Decision(Decision::TakeBack(void)) = end {
            self.voids.push_back((to, void.amount));
        }
        if let StretchEnd::Decision(Decision::Reversal(reversal)) = end {
            self.reversals.push_back((to, reversal.amount));
        }
        Ok(())
    }

    pub(crate) fn mirror(
        &mut self,
        position: Position,
        mirrored: &PoolMirrored,
        home_end: Position,
    ) -> Result<(), Fault> {
        let PoolMirrored { home_position, ref terms, ref status, pooled_position, decided_to, ref awards, ref returns } =
            *mirrored;
        if home_position > home_end {
            return Err(past_end(HOME, home_position, home_end));
        }
        self.mirrors.push_back((position, home_position));
        while self.heads.pop_front_if(|head| *head < home_position).is_some() {}
        if self.heads.pop_front_if(|head| *head == home_position).is_none() {
            let what = "the partition's copy of the pool names a wrong position in partition 0";
            return Err(Fault::new(what, "position of a pool commit that was not copied before", home_position));
        }
        while self.views.get(1).is_some_and(|(since, _)| *since <= home_position) {
            self.views.pop_front();
        }
        let found = PoolView { terms: terms.clone(), status: status.clone(), pooled_position, decided_to };
        match self.views.front() {
            Some((_, view)) if *view == found => {}
            view => {
                let what = "the partition's copy of the pool's state differs from the state in partition 0";
                let expected = view.map_or_else(|| "none".to_owned(), |(_, view)| format!("{view:?}"));
                return Err(Fault::new(what, expected, format!("{found:?}")));
            }
        }
        let mut due: Vec<MirroredAward> = vec![];
        while let Some((_, award)) = self.awards.pop_front_if(|(awarded_at, _)| *awarded_at <= home_position) {
            due.push(award);
        }
        if awards.iter().all(|award| award.seed_from_house == Nano::ZERO) {
            due.iter_mut().for_each(|award| award.seed_from_house = Nano::ZERO);
        }
        if due != *awards {
            let what = "the awards copied to the partition differ from the pool's awards in partition 0";
            return Err(Fault::new(what, format!("{due:?}"), format!("{awards:?}")));
        }
        let mut due = vec![];
        while let Some((_, returned)) = self.returns.pop_front_if(|(at, _)| *at <= home_position) {
            due.push(returned);
        }
        if due != *returns {
            let what = "the returned contributions copied to the partition differ from those in partition 0";
            return Err(Fault::new(what, format!("{due:?}"), format!("{returns:?}")));
        }
        while self.reversals.pop_front_if(|(to, _)| *to <= decided_to).is_some() {}
        while self.contributions.pop_front_if(|(to, _)| *to <= pooled_position).is_some() {}
        while self.voids.pop_front_if(|(to, _)| *to <= decided_to).is_some() {}
        Ok(())
    }

    pub(crate) fn in_transit(&self) -> Nano {
        let contributions: i128 = self.contributions.iter().map(|(_, amount)| amount.0).sum();
        let voids: i128 = self.voids.iter().map(|(_, amount)| amount.0).sum();
        let awards: i128 = self.awards.iter().map(|(_, award)| award.paid.0).sum();
        let returns: i128 = self.returns.iter().map(|(_, returned)| returned.amount.0).sum();
        let reversals: i128 = self.reversals.iter().map(|(_, amount)| amount.0).sum();
        Nano(voids + awards + returns - reversals - contributions)
    }
}

pub(crate) fn past_end(partition: u32, named: Position, end: Position) -> Fault {
    Fault::new(
        format!(
            "the record names position {named} of partition {partition}, past that partition's end: commits are missing there"
        ),
        format!("the log of partition {partition} must end at position {named} or later"),
        format!("the partition ends at position {end}"),
    )
}

fn stretch_end(end: &StretchEnd) -> String {
    match end {
        StretchEnd::Decision(Decision::Hit(hit)) => {
            let (position, stream, round, currency) = (hit.position, &hit.stream, hit.round, hit.currency);
            let (coin, rate, time_ms) = (hit.coin_value, hit.rate, hit.time_ms);
            format!(
                "the jackpot hit at position {position} in round {round} of {stream}: coin value {coin} {currency}, \
                 {rate} EUR per {currency}, Unix time {time_ms} ms"
            )
        }
        StretchEnd::Decision(Decision::TakeBack(void)) => {
            format!(
                "the void at position {}, which takes back {} EUR contributed at position {}",
                void.position, void.amount, void.contributed_at
            )
        }
        StretchEnd::Decision(Decision::Reversal(reversal)) => {
            format!("the void at position {}, which reverses {} EUR of awards", reversal.position, reversal.amount)
        }
        StretchEnd::Standing { open_rounds, mirrored } => {
            format!(
                "no jackpot hit or void; the partition has {open_rounds} open rounds, and copied the pool as of \
                 position {mirrored} of partition 0"
            )
        }
    }
}
