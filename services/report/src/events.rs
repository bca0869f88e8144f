//! A partition's significant events: the latest [`LATEST_MAX`] in memory, about 300 bytes each, earlier ones in
//! [files](files::EventFiles).

pub(crate) mod files;

use files::{Away, EventReader, Unreadable};
use motherlode_proto::report::v1::SignificantEvent;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

const LATEST_MAX: usize = 1_024;
const STRETCH: u64 = 256;
const OPERATOR_BITS: u8 = 64;

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Events {
    counts: BTreeMap<i32, u64>,
    stretches: Arc<Vec<Stretch>>,
    away: Away,
    #[serde(with = "crate::kept::messages")]
    latest: Vec<Arc<SignificantEvent>>,
    #[serde(skip)]
    files: Option<EventReader>,
    #[serde(skip)]
    patience: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stretch {
    first: u64,
    since: i64,
    kinds: u128,
    /// Set of operators; each has a bit, and several can share a bit.
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

/// Returns whether an operator sees an event: its own events, and events without an operator.
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
        self.away.count + self.latest.len() as u64
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = (i32, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Returns the events from a number on; `None` if the first is in a file.
    pub(crate) fn latest_from(&self, number: u64) -> Option<&[Arc<SignificantEvent>]> {
        let skip = usize::try_from(number.checked_sub(self.away.count)?).ok()?;
        Some(self.latest.get(skip..).unwrap_or_default())
    }

    /// Returns the number of the first event after the position, or a slightly smaller number.
    pub(crate) fn number_near(&self, position: u64) -> u64 {
        let begun = self.stretches.partition_point(|stretch| stretch.first <= position);
        begun.saturating_sub(1) as u64 * STRETCH
    }

    pub(crate) fn look(&self) -> Look {
        let Self { stretches, away, latest, files, .. } = self;
        Look { stretches: Arc::clone(stretches), away: away.count, latest: latest.clone(), files: files.clone() }
    }

    pub(crate) fn away(&self) -> Away {
        self.away
    }

    pub(crate) fn read_by(&mut self, files: EventReader) {
        self.files = Some(files);
    }

    pub(crate) fn are_many(&self) -> bool {
        self.latest.len() >= LATEST_MAX + self.patience
    }

    pub(crate) fn to_put_away(&self) -> Option<(u64, Vec<Arc<SignificantEvent>>)> {
        self.are_many().then(|| (self.away.count, self.latest.clone()))
    }

    pub(crate) fn wait_for_more(&mut self) {
        self.patience = self.latest.len();
    }

    pub(crate) fn put_away(&mut self, away: Away, files: EventReader) {
        let count = usize::try_from(away.count.saturating_sub(self.away.count)).unwrap_or(usize::MAX);
        self.latest.drain(..count.min(self.latest.len()));
        self.latest.shrink_to(LATEST_MAX);
        (self.away, self.files, self.patience) = (away, Some(files), 0);
    }
}

pub(crate) struct Look {
    stretches: Arc<Vec<Stretch>>,
    away: u64,
    latest: Vec<Arc<SignificantEvent>>,
    files: Option<EventReader>,
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
