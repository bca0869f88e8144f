//! Stores figures and significant events as keyspaces in the partition's checkpoints, so that startup decodes only the
//! commits after the checkpoint.
//!
//! | keyspace | key | value |
//! |---|---|---|
//! | figures | `all` | the thresholds and figures, in [postcard's format](https://postcard.jamesmunns.com/wire-format) |
//! | events | event number (8 bytes), contiguous from 0 | `SignificantEvent` |
//!
//! Figures are computed again from the log if they are damaged, or if their [version](FIGURES_VERSION) or thresholds
//! differ from those of this program.

use crate::{
    events::{EVENTS, write},
    figures::Figures,
};
use motherlode_ledger::{FollowerView, FollowerViews, Handle};
use motherlode_log::Position;
use motherlode_runtime::config::Report;
use motherlode_views::{Keyspace, KeyspaceTables, Store, ViewError, Writer};
use parking_lot::RwLock;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::watch;

/// Raise the version by 1 for every change that makes the same log yield different figures or serialized bytes;
/// otherwise, the tests `state_version_*` fail. Such a change can be in this crate, in the books' statements and
/// revenue, or in the decoding of outcomes.
const FIGURES_VERSION: u32 = 4;
static FIGURES: Keyspace = Keyspace { name: "figures", version: FIGURES_VERSION, widths: None, filtered: 0 };
const ALL: &[u8] = b"all";

pub(crate) struct ReportView {
    config: Report,
    pub(crate) past: Position,
    pub(crate) figures: RwLock<Figures>,
    /// Position of the last commit in the figures; it changes only under the lock of `figures`.
    pub(crate) position: watch::Sender<Position>,
    written: AtomicU64,
}

impl ReportView {
    pub(crate) fn open(ledger: &Handle, config: &Report) -> Arc<Self> {
        let read = read(ledger.follower_views(), config).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the reports' totals: recomputing them from the whole log");
            None
        });
        let (position, figures) = read.unwrap_or_else(|| (0, Figures::new(config)));
        let view = Arc::new(Self {
            config: config.clone(),
            past: ledger.durable(),
            figures: RwLock::new(figures),
            position: watch::Sender::new(position),
            written: AtomicU64::new(position),
        });
        let registered: Arc<dyn FollowerView> = Arc::clone(&view) as _;
        ledger.follower_views().set(registered);
        view
    }

    pub(crate) fn position(&self) -> Position {
        *self.position.borrow()
    }

    /// If a table of events is damaged, replaces all figures with empty ones. Only the task that computes the figures
    /// may call this.
    pub(crate) fn reset_damaged(&self) {
        if self.figures.read().significant.events.are_damaged() {
            tracing::warn!(
                "the tables of significant events are damaged: recomputing the reports' totals from the log"
            );
            let mut figures = self.figures.write();
            *figures = Figures::new(&self.config);
            self.written.store(0, Ordering::Relaxed);
            self.position.send_replace(0);
        }
    }
}

impl FollowerView for ReportView {
    /// Until the figures include all commits from before the start, events are written only to free memory. After
    /// damage to tables, nothing is written until the figures are computed again.
    fn unwritten(&self) -> u64 {
        let figures = self.figures.read();
        let events = &figures.significant.events;
        match self.position() {
            position if events.are_damaged() || position < self.past && !events.are_many() => 0,
            _ if events.are_many() => u64::MAX,
            position => position.saturating_sub(self.written.load(Ordering::Relaxed)),
        }
    }

    fn write(&self, store: &Store) -> Result<Vec<KeyspaceTables>, ViewError> {
        let (position, bytes, first, latest, mut runs) = {
            let figures = self.figures.read();
            let (first, latest, runs) = figures.significant.events.unwritten();
            (self.position(), encode(&self.config, &figures)?, first, latest, runs)
        };
        write(store, (first, &latest), position, &mut runs)?;
        let mut writer = Writer::new(store, &FIGURES, (0, position), u64::MAX);
        writer.put(ALL, &bytes)?;
        let tables = vec![KeyspaceTables::new(&FIGURES, &[writer.finish()?]), KeyspaceTables::new(&EVENTS, &runs)];
        if self.figures.write().significant.events.take_written(first, latest.len(), runs) {
            self.written.store(position, Ordering::Relaxed);
        }
        Ok(tables)
    }
}

fn encode(config: &Report, figures: &Figures) -> Result<Vec<u8>, ViewError> {
    let wrong = |_| ViewError::Entry { keyspace: FIGURES.name, reason: "cannot encode the reports' totals" };
    postcard::to_extend(figures, postcard::to_allocvec(config).map_err(wrong)?).map_err(wrong)
}

fn read(views: &FollowerViews, config: &Report) -> Result<Option<(Position, Figures)>, ViewError> {
    let Some(run) = views.open(&FIGURES)?.pop() else { return Ok(None) };
    let wrong = |reason| ViewError::Entry { keyspace: FIGURES.name, reason };
    let bytes = run.get(ALL)?.ok_or_else(|| wrong("the entry with the reports' totals is missing"))?;
    let decoded = postcard::take_from_bytes::<Report>(&bytes);
    let (thresholds, figures) = decoded.map_err(|_| wrong("cannot decode the thresholds of significant events"))?;
    if thresholds != *config {
        return Err(wrong("the stored thresholds of significant events differ from those in the configuration"));
    }
    let figures: Figures = postcard::from_bytes(figures).map_err(|_| wrong("cannot decode the reports' totals"))?;
    let figures = figures.with(config, views.open(&EVENTS)?).ok_or_else(|| {
        wrong("the number of significant events in the reports' totals differs from the number in the tables")
    })?;
    Ok(Some((run.to(), figures)))
}

pub(crate) mod messages {
    use prost::Message;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use std::collections::BTreeMap;

    pub(crate) fn serialize<M: Message, S: Serializer>(
        days: &BTreeMap<i64, Vec<M>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let encoded = |all: &Vec<M>| all.iter().map(Message::encode_to_vec).collect::<Vec<_>>();
        days.iter().map(|(day, all)| (*day, encoded(all))).collect::<BTreeMap<_, _>>().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, M: Message + Default, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<i64, Vec<M>>, D::Error> {
        let days = BTreeMap::<i64, Vec<Vec<u8>>>::deserialize(deserializer)?;
        let decoded = |all: Vec<Vec<u8>>| all.iter().map(|bytes| M::decode(&bytes[..])).collect::<Result<_, _>>();
        days.into_iter().map(|(day, all)| Ok((day, decoded(all).map_err(Error::custom)?))).collect()
    }
}

#[cfg(test)]
mod tests;
