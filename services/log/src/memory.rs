use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

use crate::{
    chain::Chained,
    error::{AppendError, ReadError},
    record::{Hash, Position, Record},
    start::LogStart,
    store::{Limit, Reader, Store},
};

/// Store that meets the contract of [`Store`] except for durability.
#[derive(Debug)]
pub struct MemoryStore {
    partition: u32,
    head: Hash,
    records: Arc<Records>,
}

#[derive(Debug)]
struct Records {
    start: LogStart,
    kept: RwLock<Vec<Bytes>>,
}

impl MemoryStore {
    #[must_use]
    pub fn new(partition: u32) -> Self {
        Self::starting(partition, LogStart::genesis(partition))
    }

    #[must_use]
    pub fn starting(partition: u32, start: LogStart) -> Self {
        Self { partition, head: start.previous, records: Arc::new(Records { start, kept: RwLock::default() }) }
    }
}

impl Store for MemoryStore {
    fn partition(&self) -> u32 {
        self.partition
    }

    fn start(&self) -> LogStart {
        self.records.start
    }

    fn end(&self) -> Position {
        self.records.end()
    }

    fn head(&self) -> Hash {
        self.head
    }

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError> {
        let end = self.end();
        if after != end {
            return Err(AppendError::Conflict { end });
        }
        chained.verify_after(after, self.head)?;
        self.head = chained.head();
        self.records.kept.write().extend_from_slice(chained.records());
        Ok(())
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.records) as Arc<dyn Reader>
    }
}

impl Reader for Records {
    fn first(&self) -> Position {
        self.start.first
    }

    fn end(&self) -> Position {
        self.start.first - 1 + self.kept.read().len() as Position
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        self.start.check(from)?;
        let from = from.max(1);
        let records = self.kept.read();
        let start = usize::try_from(from - self.start.first).unwrap_or(usize::MAX).min(records.len());
        let mut limit = Limit::new(max_records, max_bytes);
        let wanted = records[start..].iter().zip(from..);
        Ok(wanted
            .take_while(|(bytes, _)| limit.admits(bytes.len()))
            .map(|(bytes, position)| Record { position, bytes: bytes.clone() })
            .collect())
    }
}
