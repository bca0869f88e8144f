//! The significant events of a partition so far: the latest in memory, those before them in [files](files::EventFiles).
//!
//! Cost: some 300 bytes of memory for each of the latest [`LATEST_MAX`] and of those that come while these are put away, and 48 bytes for
//! each [`STRETCH`] of all: what a page must know to read no more than it shows.

pub(crate) mod files;

use files::{Away, EventReader, Unreadable};
use motherlode_proto::report::v1::SignificantEvent;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// So many in memory are put away.
const LATEST_MAX: usize = 1_024;
/// Events that are read at once.
const STRETCH: u64 = 256;
/// Names of operators that a stretch tells apart.
const OPERATOR_BITS: u8 = 64;

/// All of a partition, in the order of its log. Each has a number, from 0.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Events {
    /// By kind.
    counts: BTreeMap<i32, u64>,
    stretches: Arc<Vec<Stretch>>,
    /// So many, the oldest, are in files.
    away: Away,
    /// The others.
    #[serde(with = "crate::kept::messages")]
    latest: Vec<Arc<SignificantEvent>>,
    /// Reads the files, where there are any.
    #[serde(skip)]
    files: Option<EventReader>,
    /// So many more than [`LATEST_MAX`] are waited for, since files could not be written.
    #[serde(skip)]
    patience: usize,
}

/// A summary of [`STRETCH`] events, by which most that nobody asked for are not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stretch {
    /// The log position of the first.
    first: u64,
    /// Its time, Unix seconds.
    since: i64,
    /// A bit for each kind that is among them.
    kinds: u128,
    /// A bit for each operator that they concern; operators share bits.
    operators: u64,
    /// Whether one of them concerns all.
    of_all: bool,
}

/// Names an event: partition, position and number in its commit.
pub(crate) type Name = (u32, u64, u32);
/// Events of all partitions go by their logged times.
pub(crate) type Order = (i64, i32, Name);

/// The name of an event.
pub(crate) fn name(event: &SignificantEvent) -> Name {
    (event.partition, event.position, event.number)
}

/// The place of an event among those of all partitions.
pub(crate) fn order(event: &SignificantEvent) -> Order {
    let time = event.time.unwrap_or_default();
    (time.seconds, time.nanos, name(event))
}

/// Which events somebody wants.
pub(crate) struct Filter {
    /// The operator whose events, beside those that concern all, may be seen; none where all may.
    pub(crate) own: Option<String>,
    /// Empty for all.
    pub(crate) kinds: Vec<i32>,
    /// Only those before this place.
    pub(crate) before: Option<Order>,
}

impl Filter {
    fn has(&self, event: &SignificantEvent) -> bool {
        is_for(self.own.as_deref(), event)
            && self.before.is_none_or(|before| order(event) < before)
            && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
    }

    /// Whether it can have an event of a stretch.
    fn reaches(&self, stretch: &Stretch) -> bool {
        let whose = self.own.as_deref().is_none_or(|own| stretch.of_all || stretch.operators & bit_of(own) != 0);
        let before = self.before.is_none_or(|(seconds, ..)| stretch.since <= seconds);
        let kinds = self.kinds.iter().fold(0, |bits, kind| bits | bit(*kind));
        whose && before && (kinds == 0 || stretch.kinds & kinds != 0)
    }
}

/// Whether an operator may see an event: its own, and what concerns all. `None` is whoever sees all.
pub(crate) fn is_for(own: Option<&str>, event: &SignificantEvent) -> bool {
    event.operator_id.is_empty() || own.is_none_or(|own| own == event.operator_id)
}

/// The bit of a kind; what is no kind has all.
fn bit(kind: i32) -> u128 {
    u32::try_from(kind).ok().and_then(|kind| 1u128.checked_shl(kind)).unwrap_or(u128::MAX)
}

/// The bit of an operator.
fn bit_of(operator: &str) -> u64 {
    let sum = operator.bytes().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    1 << (sum % OPERATOR_BITS)
}

impl Stretch {
    fn add(&mut self, event: &SignificantEvent) {
        self.kinds |= bit(event.kind);
        match event.operator_id.as_str() {
            "" => self.of_all = true,
            operator => self.operators |= bit_of(operator),
        }
    }
}

impl Events {
    /// Adds the next one.
    pub(crate) fn push(&mut self, event: SignificantEvent) {
        let begins = self.count().is_multiple_of(STRETCH);
        let stretches = Arc::make_mut(&mut self.stretches);
        if begins {
            let since = event.time.unwrap_or_default().seconds;
            stretches.push(Stretch { first: event.position, since, ..Stretch::default() });
        }
        if let Some(last) = stretches.last_mut() {
            last.add(&event);
        }
        *self.counts.entry(event.kind).or_default() += 1;
        self.latest.push(Arc::new(event));
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.away.count + self.latest.len() as u64
    }

    /// How many there are of each kind that there is one of.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (i32, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Those from a number on; none where that one is in a file.
    pub(crate) fn latest_from(&self, number: u64) -> Option<&[Arc<SignificantEvent>]> {
        let skip = usize::try_from(number.checked_sub(self.away.count)?).ok()?;
        Some(self.latest.get(skip..).unwrap_or_default())
    }

    /// A number to begin at for the events after a log position: none of them comes before it, and few others after it.
    pub(crate) fn number_near(&self, position: u64) -> u64 {
        let begun = self.stretches.partition_point(|stretch| stretch.first <= position);
        begun.saturating_sub(1) as u64 * STRETCH
    }

    /// All as they are now, to be read without holding them.
    pub(crate) fn look(&self) -> Look {
        let Self { stretches, away, latest, files, .. } = self;
        Look { stretches: Arc::clone(stretches), away: away.count, latest: latest.clone(), files: files.clone() }
    }

    /// How many are in files.
    pub(crate) fn away(&self) -> Away {
        self.away
    }

    /// Reads those that are in files by this.
    pub(crate) fn read_by(&mut self, files: EventReader) {
        self.files = Some(files);
    }

    /// Whether so many are in memory that they are to be put away.
    pub(crate) fn are_many(&self) -> bool {
        self.latest.len() >= LATEST_MAX + self.patience
    }

    /// Those in memory, and the number of the first, where they are to be put away.
    pub(crate) fn to_put_away(&self) -> Option<(u64, Vec<Arc<SignificantEvent>>)> {
        self.are_many().then(|| (self.away.count, self.latest.clone()))
    }

    /// They could not be put away: it's tried again when there are as many more.
    pub(crate) fn wait_for_more(&mut self) {
        self.patience = self.latest.len();
    }

    /// They are in files.
    pub(crate) fn put_away(&mut self, away: Away, files: EventReader) {
        let count = usize::try_from(away.count.saturating_sub(self.away.count)).unwrap_or(usize::MAX);
        self.latest.drain(..count.min(self.latest.len()));
        // What a busy hour needed is not held for ever.
        self.latest.shrink_to(LATEST_MAX);
        (self.away, self.files, self.patience) = (away, Some(files), 0);
    }
}

/// The events of a partition as they were at a moment.
pub(crate) struct Look {
    stretches: Arc<Vec<Stretch>>,
    away: u64,
    latest: Vec<Arc<SignificantEvent>>,
    files: Option<EventReader>,
}

impl Look {
    /// Those that are wanted, the latest first.
    pub(crate) fn back<'a>(
        &'a self,
        filter: &'a Filter,
    ) -> impl Iterator<Item = Result<Arc<SignificantEvent>, Unreadable>> + 'a {
        let reached = self.stretches.iter().enumerate().rev().filter(|(_, stretch)| filter.reaches(stretch));
        reached.flat_map(move |(at, _)| match self.stretch(at as u64) {
            Ok(events) => {
                let found: Vec<_> = events.into_iter().rev().filter(|event| filter.has(event)).map(Ok).collect();
                found.into_iter().chain(None)
            }
            Err(error) => vec![].into_iter().chain(Some(Err(error))),
        })
    }

    /// One by its name.
    pub(crate) fn named(&self, wanted: Name) -> Result<Option<Arc<SignificantEvent>>, Unreadable> {
        let (_, position, _) = wanted;
        // Those of a commit may lie across the beginnings of some stretches.
        let end = self.stretches.partition_point(|stretch| stretch.first <= position);
        let begin = self.stretches.partition_point(|stretch| stretch.first < position).saturating_sub(1);
        for at in begin..end {
            if let Some(found) = self.stretch(at as u64)?.into_iter().find(|event| name(event) == wanted) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Those from a number on, up to the end of its stretch.
    pub(crate) fn from(&self, number: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        let skip = usize::try_from(number % STRETCH).unwrap_or(usize::MAX);
        Ok(self.stretch(number / STRETCH)?.into_iter().skip(skip).collect())
    }

    /// The events of a stretch, from files and from memory.
    fn stretch(&self, at: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        let (first, end) = (at * STRETCH, (at + 1) * STRETCH);
        let mut events = vec![];
        if let Some(files) = self.files.as_ref().filter(|_| first < self.away) {
            events = files.read(first, end.min(self.away))?;
        }
        let place = |number: u64| usize::try_from(number.saturating_sub(self.away)).unwrap_or(usize::MAX);
        let latest = self.latest.iter().take(place(end)).skip(place(first));
        events.extend(latest.cloned());
        Ok(events)
    }
}

#[cfg(test)]
mod tests;
