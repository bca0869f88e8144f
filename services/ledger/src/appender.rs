//! Disk thread. It appends the writer's groups in order, each as one block with one sync.
//!
//! While appends fail, it retries the store at intervals, even without new proposals.

use crate::writer::{Due, Writer};
use motherlode_log::{Chained, Store};
use std::{sync::Arc, time::Instant};

pub(crate) struct Appender {
    pub(crate) store: Box<dyn Store>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) appends: motherlode_runtime::Appends,
}

impl Appender {
    /// Runs until the ledger closes or all handles are dropped.
    pub(crate) fn run(mut self) {
        loop {
            match self.writer.due() {
                Due::Append(chained) => self.append(chained),
                Due::Again => {}
                Due::Nothing => break,
            }
            self.tend();
        }
        tracing::info!(position = self.store.end(), "the log is closed");
    }

    fn append(&mut self, chained: Chained) {
        let (begun, after) = (Instant::now(), self.store.end());
        let appended = self.store.append_chained(after, &chained);
        let count = chained.records().len();
        self.appends.record(count, begun.elapsed());
        if let Err(error) = appended {
            tracing::debug!(%error, after, records = count, "an append failed");
            return self.writer.failed(error);
        }
        self.writer.shared().hashes.lock().push(after, &chained);
        self.writer.appended(chained);
    }

    /// Lets the store do its maintenance between appends.
    fn tend(&mut self) {
        if self.writer.may_tend() {
            self.writer.tended(self.store.tend());
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        self.writer.end();
    }
}
