//! The parts that the table is made of: ranges of commits one after another, in memory or in a run.

use super::{name::Name, run::Run, stretch::Stretch};
use motherlode_log::Position;
use std::sync::Arc;

/// How many runs of about the same length are merged into one.
pub(super) const MERGED: usize = 4;
/// A run is never longer.
const COMMITS_MAX: u64 = 1 << 31;

/// A range of commits.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Memory(Arc<Stretch>),
    Disk(Arc<Run>),
}

impl Part {
    pub(super) fn from(&self) -> Position {
        match self {
            Self::Memory(stretch) => stretch.from,
            Self::Disk(run) => run.range.from,
        }
    }

    pub(super) fn to(&self) -> Position {
        match self {
            Self::Memory(stretch) => stretch.to(),
            Self::Disk(run) => run.range.to,
        }
    }

    pub(super) fn run(&self) -> Option<&Arc<Run>> {
        match self {
            Self::Memory(_) => None,
            Self::Disk(run) => Some(run),
        }
    }
}

/// All parts but the one that grows, in order and without gaps.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    pub(super) fn to(&self) -> Position {
        self.0.last().map_or(0, Part::to)
    }

    pub(super) fn push(&mut self, part: Part) {
        self.0.push(part);
    }

    /// Adds what is in memory of a name, and the runs that may have more of it.
    pub(super) fn find(&self, name: Name, found: &mut Vec<Position>, runs: &mut Vec<Arc<Run>>) {
        // A repetition is mostly of something new.
        for part in self.0.iter().rev() {
            match part {
                Part::Memory(stretch) => stretch.find(name, found),
                Part::Disk(run) if run.may_hold(name) => runs.push(Arc::clone(run)),
                Part::Disk(_) => {}
            }
        }
    }

    /// Puts others in the place of those between two positions.
    pub(super) fn replace(&mut self, from: Position, to: Position, others: Vec<Part>) {
        let begin = self.0.partition_point(|part| part.from() < from);
        let end = self.0.partition_point(|part| part.to() <= to);
        if begin <= end {
            self.0.splice(begin..end, others);
        }
    }

    /// Drops filters of the oldest runs, which are the longest, until the others need no more memory than this.
    pub(super) fn bound_filters(&mut self, bytes_max: u64) {
        let mut bytes = 0_u64;
        for part in self.0.iter_mut().rev() {
            let Part::Disk(run) = part else { continue };
            let with = bytes.saturating_add(run.filter_bytes());
            match with > bytes_max {
                true => *run = Arc::new(run.without_filter()),
                false => bytes = with,
            }
        }
    }

    pub(super) fn first_in_memory(&self) -> Option<Arc<Stretch>> {
        self.0.iter().find_map(|part| match part {
            Part::Memory(stretch) => Some(Arc::clone(stretch)),
            Part::Disk(_) => None,
        })
    }

    pub(super) fn damaged(&self) -> Option<Arc<Run>> {
        self.0.iter().filter_map(Part::run).find(|run| run.is_damaged()).cloned()
    }

    /// Runs side by side that are to be one: the shortest first. `commits` is the length of a run as it's first written.
    pub(super) fn mergeable(&self, commits: u64) -> Option<Vec<Arc<Run>>> {
        let level = |run: &Arc<Run>| (run.range.count() / commits.max(1)).max(1).ilog(MERGED as u64);
        let alike = self.0.windows(MERGED).filter_map(|window| {
            let runs: Vec<_> = window.iter().filter_map(Part::run).cloned().collect();
            let of = level(runs.first()?);
            let commits: u64 = runs.iter().map(|run| run.range.count()).sum();
            let alike = runs.len() == MERGED && commits <= COMMITS_MAX && runs.iter().all(|run| level(run) == of);
            alike.then_some((of, runs))
        });
        alike.min_by_key(|(of, _)| *of).map(|(_, runs)| runs)
    }

    /// The last run's end: what a snapshot need not hold.
    pub(super) fn on_disk_to(&self) -> Position {
        self.0.iter().rev().find_map(Part::run).map_or(0, |run| run.range.to)
    }

    /// Those in memory after the last run.
    pub(super) fn rest(&self) -> impl Iterator<Item = &Stretch> {
        let after = self.on_disk_to();
        self.0.iter().filter_map(move |part| match part {
            Part::Memory(stretch) if stretch.from >= after => Some(&**stretch),
            Part::Memory(_) | Part::Disk(_) => None,
        })
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        let bytes = self.0.iter().map(|part| match part {
            Part::Memory(stretch) => stretch.bytes(),
            Part::Disk(run) => run.bytes(),
        });
        bytes.sum()
    }

    /// Those of filters.
    #[cfg(test)]
    pub(super) fn filter_bytes(&self) -> u64 {
        self.0.iter().filter_map(Part::run).map(|run| run.filter_bytes()).sum()
    }

    /// How many runs there are.
    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.0.iter().filter_map(Part::run).count()
    }
}
