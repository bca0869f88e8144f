use motherlode_log::Position;
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderKind {
    Replica,
    Standby,
    Copy,
}

impl ReaderKind {
    pub const ALL: [Self; 3] = [Self::Replica, Self::Standby, Self::Copy];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Replica => "replica",
            Self::Standby => "standby",
            Self::Copy => "copy",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogReader {
    pub kind: ReaderKind,
    pub name: String,
    pub since_ms: i64,
    pub sent: Position,
}

#[derive(Clone, Default)]
pub(crate) struct Readers(Arc<Mutex<Listed>>);

#[derive(Default)]
struct Listed {
    next: u64,
    readers: BTreeMap<u64, (ReaderKind, String, i64, Arc<AtomicU64>)>,
    /// Highest position sent to a copy of the log before the copy disconnected.
    copied: Position,
}

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

    pub(crate) fn copied(&self) -> Position {
        let listed = self.0.lock();
        let copies = listed.readers.values().filter(|(kind, ..)| *kind == ReaderKind::Copy);
        copies.map(|(.., sent)| sent.load(Ordering::Relaxed)).fold(listed.copied, Position::max)
    }
}

impl Reading {
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
