//! The comparison of partitions: every copy with its original.
//!
//! Each partition was folded by itself. Left to check is that reports to home say what the other partition's log says
//! ([`PartitionReported`](motherlode_books::PartitionReported)), and that copies of home's state in other partitions
//! are what home's log says: the pool in mirrors, rates and switches in copies. Home is walked from its beginning to
//! its end; when it comes to a report, the other partition's facts are read up to the report's end. A cause stands
//! before its effect: a mirror that a report covers copies an earlier decision of home.

use crate::{
    Divergence,
    between::{Between, past_end},
    divergence::Fault,
    said::{Control, Hearing, Said, Silent},
};
use motherlode_books::{Event, HOME, Nano, PartitionReported, PoolState, StreamId};
use motherlode_log::Position;
use std::collections::BTreeMap;

/// The amount in transit between partitions, EUR, or the reason why the comparison stopped.
pub(crate) type Compared = Result<Nano, Stopped>;

/// Why a comparison has no end.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// A copy is not its original.
    Divergence(Box<Divergence>),
    /// The audit of a partition has found something, which comes first.
    Silent,
}

impl From<Silent> for Stopped {
    fn from(Silent: Silent) -> Self {
        Self::Silent
    }
}

/// Another partition than home.
struct There {
    partition: u32,
    hearing: Hearing,
    pools: BTreeMap<String, Between>,
    /// How many of home's rates and switches it has copied, by stream.
    copied: BTreeMap<StreamId, usize>,
}

/// Compares partitions, home first; answers what is under way between them: what their accounts for that must hold.
pub(crate) fn compare(partitions: Vec<Hearing>) -> Compared {
    let mut partitions = partitions.into_iter();
    let Some(mut home) = partitions.next() else { return Ok(Nano::ZERO) };
    let numbered = partitions.zip(HOME + 1..);
    let there = |(hearing, partition)| There { partition, hearing, pools: BTreeMap::new(), copied: BTreeMap::new() };
    let mut comparison = Comparison { there: numbered.map(there).collect(), controls: BTreeMap::new() };
    while let Some(said) = home.next(Position::MAX)? {
        match said {
            Said::Pool { position, events, state } => comparison.pool(position, &events, &state)?,
            Said::Control(control) => {
                comparison.controls.entry(control.stream.clone()).or_default().push(control);
            }
            Said::Left(_) | Said::End(_) => {}
        }
    }
    let end = home.end.unwrap_or_default();
    for there in &mut comparison.there {
        there.hear(Position::MAX, end, &comparison.controls)?;
    }
    let pools = comparison.there.iter().flat_map(|there| there.pools.values());
    Ok(Nano(pools.map(|between| between.under_way().0).sum()))
}

/// The state of a comparison.
struct Comparison {
    there: Vec<There>,
    /// Rates and switches that were set at home, by stream.
    controls: BTreeMap<StreamId, Vec<Control>>,
}

impl Comparison {
    /// A commit of a pool's stream at home.
    fn pool(&mut self, position: Position, events: &[Event], state: &PoolState) -> Result<(), Stopped> {
        for event in events {
            match event {
                Event::PartitionReported(report) => self.report(position, &state.name, report)?,
                Event::JackpotAwarded(award) => {
                    let there = self.there.iter_mut().find(|there| there.partition == award.partition);
                    there.into_iter().for_each(|there| there.between(&state.name).award(position, award));
                }
                _ => {}
            }
        }
        for there in &mut self.there {
            let partition = there.partition;
            there.between(&state.name).stands(position, partition, state);
        }
        Ok(())
    }

    fn report(&mut self, position: Position, pool: &str, report: &PartitionReported) -> Result<(), Stopped> {
        let at_home = |fault: Fault| Stopped::Divergence(fault.at(HOME, position));
        let partitions = self.there.len();
        let there = self.there.iter_mut().find(|there| there.partition == report.partition);
        let there = there.ok_or_else(|| {
            let what = "a report of a partition that is not there";
            at_home(Fault::new(what, format!("partitions up to {partitions}"), report.partition))
        })?;
        there.hear(report.to, position.saturating_sub(1), &self.controls)?;
        if let Some(end) = there.hearing.end.filter(|end| *end < report.to) {
            return Err(at_home(past_end(there.partition, report.to, end)));
        }
        there.between(pool).report(report).map_err(at_home)
    }
}

impl There {
    fn between(&mut self, pool: &str) -> &mut Between {
        if !self.pools.contains_key(pool) {
            self.pools.insert(pool.to_owned(), Between::default());
        }
        self.pools.entry(pool.to_owned()).or_default()
    }

    /// Takes in what the partition says up to a position, with home heard up to `home_end`.
    fn hear(
        &mut self,
        to: Position,
        home_end: Position,
        controls: &BTreeMap<StreamId, Vec<Control>>,
    ) -> Result<(), Stopped> {
        while let Some(said) = self.hearing.next(to)? {
            let partition = self.partition;
            match said {
                Said::Left(left) => {
                    let pool = left.pool.clone();
                    self.between(&pool).leave(left);
                }
                Said::Pool { position, events, state } => {
                    for event in &events {
                        if let Event::PoolMirrored(mirrored) = event {
                            let compared = self.between(&state.name).mirror(position, mirrored, home_end);
                            compared.map_err(|fault| Stopped::Divergence(fault.at(partition, position)))?;
                        }
                    }
                }
                Said::Control(copy) => {
                    let compared = self.control(&copy, home_end, controls);
                    compared.map_err(|fault| Stopped::Divergence(fault.at(partition, copy.position)))?;
                }
                Said::End(_) => {}
            }
        }
        Ok(())
    }

    /// Rates and switches are home's, one after the other, each once.
    fn control(
        &mut self,
        copy: &Control,
        home_end: Position,
        controls: &BTreeMap<StreamId, Vec<Control>>,
    ) -> Result<(), Fault> {
        let copied = self.copied.entry(copy.stream.clone()).or_default();
        let original = controls.get(&copy.stream).and_then(|controls| controls.get(*copied));
        *copied += 1;
        let what = "the copy is not what was set next at home";
        let of = |position: Position, events: &[Event]| format!("position {position}: {events:?}");
        match (copy.copies, original) {
            (Some(named), Some(original)) if named == original.position && copy.events == original.events => Ok(()),
            (Some(named), _) if named > home_end => Err(past_end(HOME, named, home_end)),
            (Some(named), Some(original)) => {
                Err(Fault::new(what, of(original.position, &original.events), of(named, &copy.events)))
            }
            (Some(named), None) => Err(Fault::new(what, "none", of(named, &copy.events))),
            (None, _) => Err(Fault::new("set here, which is home's to decide", "a copy", format!("{:?}", copy.events))),
        }
    }
}
