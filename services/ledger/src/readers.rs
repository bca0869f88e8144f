//! Readers of the log in other processes, with the last position sent to each: the lag of a replica, a standby or a copy, as
//! measured by the writer. Cost: an atomic store per sent message.

use motherlode_log::Position;
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A reader's use of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderKind {
    /// It serves calls from a replica.
    Replica,
    /// It would write the log if the writer ended.
    Standby,
    /// It keeps a copy of the whole log, or feeds one.
    Copy,
}

impl ReaderKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Replica, Self::Standby, Self::Copy];

    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Replica => "replica",
            Self::Standby => "standby",
            Self::Copy => "copy",
        }
    }
}

/// A process that follows the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogReader {
    /// Its use of the log.
    pub kind: ReaderKind,
    /// Its credential; or, where nobody can be told apart, its address.
    pub name: String,
    /// Since when, Unix ms.
    pub since_ms: i64,
    /// The last position that it was sent. What it has not taken is held back after some messages, so this is behind when it is.
    pub sent: Position,
}

/// All of them; clones share the list.
#[derive(Clone, Default)]
pub(crate) struct Readers(Arc<Mutex<Listed>>);

#[derive(Default)]
struct Listed {
    next: u64,
    readers: BTreeMap<u64, (ReaderKind, String, i64, Arc<AtomicU64>)>,
    /// Highest position sent to a disconnected copy.
    copied: Position,
}

/// One of them, for as long as it's held.
pub struct Reading {
    list: Readers,
    number: u64,
    sent: Arc<AtomicU64>,
}

impl Readers {
    pub(crate) fn enter(&self, kind: ReaderKind, name: String, since_ms: i64, after: Position) -> Reading {
        let sent = Arc::new(AtomicU64::new(after));
        let mut listed = self.0.lock();
        let number = listed.next;
        listed.next += 1;
        listed.readers.insert(number, (kind, name, since_ms, Arc::clone(&sent)));
        Reading { list: self.clone(), number, sent }
    }

    /// Those who follow now, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<LogReader> {
        let listed = self.0.lock();
        let told = listed.readers.values().map(|(kind, name, since_ms, sent)| LogReader {
            kind: *kind,
            name: name.clone(),
            since_ms: *since_ms,
            sent: sent.load(Ordering::Relaxed),
        });
        told.collect()
    }

    /// Highest position sent to a copy since startup; 0 without a copy.
    pub(crate) fn copied(&self) -> Position {
        let listed = self.0.lock();
        let copies = listed.readers.values().filter(|(kind, ..)| *kind == ReaderKind::Copy);
        copies.map(|(.., sent)| sent.load(Ordering::Relaxed)).fold(listed.copied, Position::max)
    }
}

impl Reading {
    /// It has got as far as this position.
    pub fn sent(&self, position: Position) {
        self.sent.store(position, Ordering::Relaxed);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut listed = self.list.0.lock();
        if let Some((ReaderKind::Copy, .., sent)) = listed.readers.remove(&self.number) {
            listed.copied = listed.copied.max(sent.load(Ordering::Relaxed));
        }
    }
}
