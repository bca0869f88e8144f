//! Significant events of a partition. Events after the latest checkpoint are in memory, at about 300 bytes each;
//! earlier events are in table files. A checkpoint is due when [`LATEST_MAX`] events are in memory.

use motherlode_log::Position;
use motherlode_proto::report::v1::SignificantEvent;
use motherlode_runtime::{Reason, Refusal};
use motherlode_views::{Keyspace, Run, Store, ViewError, Writer, mergeable};
use prost::Message;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

pub(crate) static EVENTS: Keyspace = Keyspace { name: "events", version: 1, widths: None, filtered: 0 };
const LATEST_MAX: usize = 1 << 13;
const STRETCH: u64 = 256;
const OPERATOR_BITS: u8 = 64;

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Events {
    counts: BTreeMap<i32, u64>,
    stretches: Arc<Vec<Stretch>>,
    /// Number of events that are in tables and no longer in memory.
    #[serde(skip)]
    away: u64,
    #[serde(skip)]
    runs: Vec<Run>,
    #[serde(skip)]
    latest: Vec<Arc<SignificantEvent>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    View(#[from] ViewError),
    #[error("the tables of significant events do not contain exactly the events {0} to {1}")]
    Missing(u64, u64),
    #[error("entry {0} of the tables of significant events cannot be decoded")]
    Malformed(u64),
}

impl From<Unreadable> for Refusal {
    fn from(error: Unreadable) -> Self {
        tracing::error!(%error, "failed to read significant events from their tables");
        let message = format!(
            "cannot read the tables of significant events: {error}. The service rebuilds them from the log: retry later"
        );
        Refusal::new(Reason::EventsUnreadable, message)
    }
}

/// Summary of [`STRETCH`] consecutive events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stretch {
    first: u64,
    since: i64,
    kinds: u128,
    /// Bit set of these events' operators; several operators may share a bit.
    operators: u64,
    of_all: bool,
}

pub(crate) type Name = (u32, u64, u32);
pub(crate) type Order = (i64, i32, Name);

pub(crate) fn name(event: &SignificantEvent) -> Name {
    (event.partition, event.position, event.number)
}

pub(crate) fn order(event: &SignificantEvent) -> Order {
    let time = event.time.unwrap_or_default();
    (time.seconds, time.nanos, name(event))
}

pub(crate) struct Filter {
    pub(crate) own: Option<String>,
    pub(crate) kinds: Vec<i32>,
    pub(crate) before: Option<Order>,
}

impl Filter {
    fn has(&self, event: &SignificantEvent) -> bool {
        is_for(self.own.as_deref(), event)
            && self.before.is_none_or(|before| order(event) < before)
            && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
    }

    fn reaches(&self, stretch: &Stretch) -> bool {
        let whose = self.own.as_deref().is_none_or(|own| stretch.of_all || stretch.operators & bit_of(own) != 0);
        let before = self.before.is_none_or(|(seconds, ..)| stretch.since <= seconds);
        let kinds = self.kinds.iter().fold(0, |bits, kind| bits | bit(*kind));
        whose && before && (kinds == 0 || stretch.kinds & kinds != 0)
    }
}

pub(crate) fn is_for(own: Option<&str>, event: &SignificantEvent) -> bool {
    event.operator_id.is_empty() || own.is_none_or(|own| own == event.operator_id)
}

fn bit(kind: i32) -> u128 {
    u32::try_from(kind).ok().and_then(|kind| 1u128.checked_shl(kind)).unwrap_or(u128::MAX)
}

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

    pub(crate) fn count(&self) -> u64 {
        self.away + self.latest.len() as u64
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = (i32, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    pub(crate) fn latest_from(&self, number: u64) -> Option<&[Arc<SignificantEvent>]> {
        let skip = usize::try_from(number.checked_sub(self.away)?).ok()?;
        Some(self.latest.get(skip..).unwrap_or_default())
    }

    pub(crate) fn number_near(&self, position: u64) -> u64 {
        let begun = self.stretches.partition_point(|stretch| stretch.first <= position);
        begun.saturating_sub(1) as u64 * STRETCH
    }

    pub(crate) fn look(&self) -> Look {
        let Self { stretches, away, runs, latest, .. } = self;
        Look { stretches: Arc::clone(stretches), away: *away, runs: runs.clone(), latest: latest.clone() }
    }

    pub(crate) fn with(self, runs: Vec<Run>) -> Option<Self> {
        let away = runs.iter().flat_map(Run::tables).map(|table| table.entries()).sum();
        (away == self.counts.values().sum::<u64>()).then_some(Self { away, runs, ..self })
    }

    pub(crate) fn are_many(&self) -> bool {
        self.latest.len() >= LATEST_MAX
    }

    pub(crate) fn are_damaged(&self) -> bool {
        self.runs.iter().any(Run::is_damaged)
    }

    pub(crate) fn unwritten(&self) -> (u64, Vec<Arc<SignificantEvent>>, Vec<Run>) {
        (self.away, self.latest.clone(), self.runs.clone())
    }

    /// Removes `count` events from memory, beginning with number `first`, because the tables `runs` contain them.
    /// Returns false if the events were rebuilt since the call of `unwritten`.
    pub(crate) fn take_written(&mut self, first: u64, count: usize, runs: Vec<Run>) -> bool {
        let is_next = first == self.away && count <= self.latest.len();
        if is_next {
            self.latest.drain(..count);
            self.latest.shrink_to(LATEST_MAX);
            (self.away, self.runs) = (first + count as u64, runs);
        }
        is_next
    }
}

pub(crate) fn write(
    store: &Store,
    (first, events): (u64, &[Arc<SignificantEvent>]),
    position: Position,
    runs: &mut Vec<Run>,
) -> Result<(), ViewError> {
    if !events.is_empty() {
        let from = runs.last().map_or(0, Run::to);
        let mut writer = Writer::new(store, &EVENTS, (from, position), u64::MAX);
        for (number, event) in (first..).zip(events) {
            writer.put(&number.to_be_bytes(), &event.encode_to_vec())?;
        }
        runs.push(writer.finish()?);
    }
    while let Some(range) = mergeable(runs).filter(|_| !store.is_stopped()) {
        let run = Writer::merge(store, &EVENTS, &runs[range.clone()], u64::MAX)?;
        runs.splice(range, [run]);
    }
    Ok(())
}

pub(crate) struct Look {
    stretches: Arc<Vec<Stretch>>,
    away: u64,
    runs: Vec<Run>,
    latest: Vec<Arc<SignificantEvent>>,
}

impl Look {
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

    pub(crate) fn named(&self, wanted: Name) -> Result<Option<Arc<SignificantEvent>>, Unreadable> {
        let (_, position, _) = wanted;
        let end = self.stretches.partition_point(|stretch| stretch.first <= position);
        let begin = self.stretches.partition_point(|stretch| stretch.first < position).saturating_sub(1);
        for at in begin..end {
            if let Some(found) = self.stretch(at as u64)?.into_iter().find(|event| name(event) == wanted) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    pub(crate) fn from(&self, number: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        let skip = usize::try_from(number % STRETCH).unwrap_or(usize::MAX);
        Ok(self.stretch(number / STRETCH)?.into_iter().skip(skip).collect())
    }

    fn stretch(&self, at: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        let (first, end) = (at * STRETCH, (at + 1) * STRETCH);
        let mut events = self.written(first, end.min(self.away))?;
        let place = |number: u64| usize::try_from(number.saturating_sub(self.away)).unwrap_or(usize::MAX);
        let latest = self.latest.iter().take(place(end)).skip(place(first));
        events.extend(latest.cloned());
        Ok(events)
    }

    fn written(&self, first: u64, end: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        let (mut events, mut wrong) = (vec![], None);
        if first >= end {
            return Ok(events);
        }
        let key = first.to_be_bytes();
        let begun = |run: &Run| run.tables().first().is_some_and(|table| table.first_key() <= &key[..]);
        for run in &self.runs[self.runs.partition_point(begun).saturating_sub(1)..] {
            run.scan(&key, |number, event| {
                let is_wanted = *number < end.to_be_bytes()[..];
                if is_wanted {
                    match SignificantEvent::decode(event) {
                        Ok(event) => events.push(Arc::new(event)),
                        Err(_) => wrong = Some(first + events.len() as u64),
                    }
                }
                is_wanted
            })?;
            if events.len() as u64 >= end - first {
                break;
            }
        }
        match wrong {
            Some(number) => Err(Unreadable::Malformed(number)),
            None if events.len() as u64 != end - first => Err(Unreadable::Missing(first, end)),
            None => Ok(events),
        }
    }
}

#[cfg(test)]
mod tests;
