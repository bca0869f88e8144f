//! Compares partitions with each other, if their own audits found no fault. Reports in partition 0 ("home") must match
//! the logs of the partitions that reported, and copies of pools, exchange rates and stop switches must match the
//! originals.

use crate::{
    divergence::{Divergence, Fault},
    exchange::{Exchange, past_end},
    facts::{Control, Disconnected, Fact, FactReceiver},
};
use motherlode_log::Position;
use motherlode_state::{Event, HOME, Nano, PartitionReported, PoolState, StreamId, VoidReturn};
use std::collections::BTreeMap;

pub(crate) type Compared = Result<Nano, Stopped>;

#[derive(Debug)]
pub(crate) enum Stopped {
    Divergence(Box<Divergence>),
    /// The audit of a partition stopped at a divergence. That divergence is reported, and no comparison is made.
    Disconnected,
}

impl From<Disconnected> for Stopped {
    fn from(Disconnected: Disconnected) -> Self {
        Self::Disconnected
    }
}

struct OtherPartition {
    partition: u32,
    receiver: FactReceiver,
    pools: BTreeMap<String, Exchange>,
    copied: BTreeMap<StreamId, usize>,
}

/// Compares partitions by the facts that their audits send; partition 0 must be first. Returns the amount in transit
/// between partitions, which must equal the sum of the partitions' exchange accounts.
pub(crate) fn compare(partitions: Vec<FactReceiver>) -> Compared {
    let mut partitions = partitions.into_iter();
    let Some(mut home) = partitions.next() else { return Ok(Nano::ZERO) };
    let numbered = partitions.zip(HOME + 1..);
    let other =
        |(receiver, partition)| OtherPartition { partition, receiver, pools: BTreeMap::new(), copied: BTreeMap::new() };
    let mut comparison = Comparison { others: numbered.map(other).collect(), controls: BTreeMap::new() };
    while let Some(fact) = home.next(Position::MAX)? {
        match fact {
            Fact::Pool { position, events, state } => comparison.pool(position, &events, &state)?,
            Fact::Control(control) => {
                comparison.controls.entry(control.stream.clone()).or_default().push(control);
            }
            Fact::Contributed(_) | Fact::End(_) => {}
        }
    }
    let end = home.end.unwrap_or_default();
    for other in &mut comparison.others {
        other.receive(Position::MAX, end, &comparison.controls)?;
    }
    let pools = comparison.others.iter().flat_map(|other| other.pools.values());
    Ok(Nano(pools.map(|exchange| exchange.in_transit().0).sum()))
}

struct Comparison {
    others: Vec<OtherPartition>,
    controls: BTreeMap<StreamId, Vec<Control>>,
}

impl Comparison {
    fn pool(&mut self, position: Position, events: &[Event], state: &PoolState) -> Result<(), Stopped> {
        for event in events {
            match event {
                Event::PartitionReported(report) => self.report(position, &state.name, report)?,
                Event::JackpotAwarded(award) => {
                    let other = self.others.iter_mut().find(|other| other.partition == award.partition);
                    other.into_iter().for_each(|other| other.exchange(&state.name).award(position, award));
                }
                Event::ContributionsReturned { incident, partition, amount, .. } => {
                    let declared = state.incidents().find(|declared| declared.id == *incident);
                    let operator = declared.map(|declared| declared.operator.clone()).unwrap_or_default();
                    let other = self.others.iter_mut().find(|other| other.partition == *partition);
                    let returned = VoidReturn { operator, amount: *amount };
                    other
                        .into_iter()
                        .for_each(|other| other.exchange(&state.name).give_back(position, returned.clone()));
                }
                _ => {}
            }
        }
        for other in &mut self.others {
            let partition = other.partition;
            other.exchange(&state.name).changed(position, partition, state);
        }
        Ok(())
    }

    fn report(&mut self, position: Position, pool: &str, report: &PartitionReported) -> Result<(), Stopped> {
        let at_home = |fault: Fault| Stopped::Divergence(fault.at(HOME, position));
        let partitions = self.others.len();
        let other = self.others.iter_mut().find(|other| other.partition == report.partition);
        let other = other.ok_or_else(|| {
            let what = "the pool has a report from a nonexistent partition";
            at_home(Fault::new(what, format!("the partition must be 1 to {partitions}"), report.partition))
        })?;
        other.receive(report.to, position.saturating_sub(1), &self.controls)?;
        if let Some(end) = other.receiver.end.filter(|end| *end < report.to) {
            return Err(at_home(past_end(other.partition, report.to, end)));
        }
        other.exchange(pool).report(report).map_err(at_home)
    }
}

impl OtherPartition {
    fn exchange(&mut self, pool: &str) -> &mut Exchange {
        if !self.pools.contains_key(pool) {
            self.pools.insert(pool.to_owned(), Exchange::default());
        }
        self.pools.entry(pool.to_owned()).or_default()
    }

    fn receive(
        &mut self,
        to: Position,
        home_end: Position,
        controls: &BTreeMap<StreamId, Vec<Control>>,
    ) -> Result<(), Stopped> {
        while let Some(fact) = self.receiver.next(to)? {
            let partition = self.partition;
            match fact {
                Fact::Contributed(effect) => {
                    let pool = effect.pool.clone();
                    self.exchange(&pool).contributed(effect);
                }
                Fact::Pool { position, events, state } => {
                    for event in &events {
                        if let Event::PoolMirrored(mirrored) = event {
                            let compared = self.exchange(&state.name).mirror(position, mirrored, home_end);
                            compared.map_err(|fault| Stopped::Divergence(fault.at(partition, position)))?;
                        }
                    }
                }
                Fact::Control(copy) => {
                    let compared = self.control(&copy, home_end, controls);
                    compared.map_err(|fault| Stopped::Divergence(fault.at(partition, copy.position)))?;
                }
                Fact::End(_) => {}
            }
        }
        Ok(())
    }

    fn control(
        &mut self,
        copy: &Control,
        home_end: Position,
        controls: &BTreeMap<StreamId, Vec<Control>>,
    ) -> Result<(), Fault> {
        let copied = self.copied.entry(copy.stream.clone()).or_default();
        let original = controls.get(&copy.stream).and_then(|controls| controls.get(*copied));
        *copied += 1;
        let what = "a copied setting differs from the setting of partition 0 that is due to be copied next";
        let of = |position: Position, events: &[Event]| format!("position {position}: {events:?}");
        match (copy.copies, original) {
            (Some(named), Some(original)) if named == original.position && copy.events == original.events => Ok(()),
            (Some(named), _) if named > home_end => Err(past_end(HOME, named, home_end)),
            (Some(named), Some(original)) => {
                Err(Fault::new(what, of(original.position, &original.events), of(named, &copy.events)))
            }
            (Some(named), None) => Err(Fault::new(what, "none", of(named, &copy.events))),
            (None, _) => Err(Fault::new(
                "the record sets a setting that only partition 0 may set",
                "a copy of partition 0's setting",
                format!("{:?}", copy.events),
            )),
        }
    }
}
