//! Who follows the log from other processes, and how far each was sent: how far behind a replica is, as its writer sees it. Cost: an atomic
//! store a message that is sent.

use motherlode_log::Position;
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A process that follows the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogReader {
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
    readers: BTreeMap<u64, (String, i64, Arc<AtomicU64>)>,
}

/// One of them, for as long as it's held.
pub struct Reading {
    list: Readers,
    number: u64,
    sent: Arc<AtomicU64>,
}

impl Readers {
    pub(crate) fn enter(&self, name: String, since_ms: i64, after: Position) -> Reading {
        let sent = Arc::new(AtomicU64::new(after));
        let mut listed = self.0.lock();
        let number = listed.next;
        listed.next += 1;
        listed.readers.insert(number, (name, since_ms, Arc::clone(&sent)));
        Reading { list: self.clone(), number, sent }
    }

    /// Those who follow now, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<LogReader> {
        let listed = self.0.lock();
        let told = listed.readers.values().map(|(name, since_ms, sent)| LogReader {
            name: name.clone(),
            since_ms: *since_ms,
            sent: sent.load(Ordering::Relaxed),
        });
        told.collect()
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
        self.list.0.lock().readers.remove(&self.number);
    }
}
