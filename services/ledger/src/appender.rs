//! Disk thread: appends the writer's groups in order with one sync per group, and retries failed appends.

use crate::writer::{AppenderTask, Writer};
use motherlode_log::{Chained, Store};
use std::{sync::Arc, time::Instant};

pub(crate) struct Appender {
    pub(crate) store: Box<dyn Store>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) appends: motherlode_runtime::Appends,
}

impl Appender {
    pub(crate) fn run(mut self) {
        loop {
            match self.writer.due() {
                AppenderTask::Append(chained) => self.append(chained),
                AppenderTask::Again => {}
                AppenderTask::Nothing => break,
            }
            self.tend();
        }
        tracing::info!(position = self.store.end(), "closed the log");
    }

    fn append(&mut self, chained: Chained) {
        let (begun, after) = (Instant::now(), self.store.end());
        let appended = self.store.append_chained(after, &chained);
        let count = chained.records().len();
        self.appends.record(count, begun.elapsed());
        if let Err(error) = appended {
            tracing::debug!(%error, after, records = count, "failed to append a group of records; retrying");
            return self.writer.failed(error);
        }
        self.writer.shared().hashes.lock().push(after, &chained);
        self.writer.appended(chained);
    }

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
