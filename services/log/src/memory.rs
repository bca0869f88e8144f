//! A store in memory: for tests and demonstrations. "Durable" means as long as the process.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

use crate::{
    chain::{Chained, genesis},
    error::{AppendError, ReadError},
    record::{Hash, Position, Record},
    store::{Limit, Reader, Store},
};

/// A partition in memory. Same contract as every [`Store`], except that nothing outlives the process.
#[derive(Debug)]
pub struct MemoryStore {
    partition: u32,
    head: Hash,
    records: Arc<Records>,
}

/// The records, shared by the writer and its readers: the record at position `n` stands at index `n - 1`.
#[derive(Debug, Default)]
struct Records(RwLock<Vec<Bytes>>);

impl MemoryStore {
    /// An empty log for `partition`.
    #[must_use]
    pub fn new(partition: u32) -> Self {
        Self { partition, head: genesis(partition), records: Arc::default() }
    }
}

impl Store for MemoryStore {
    fn partition(&self) -> u32 {
        self.partition
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
        self.records.0.write().extend_from_slice(chained.records());
        Ok(())
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.records) as Arc<dyn Reader>
    }
}

impl Reader for Records {
    fn end(&self) -> Position {
        self.0.read().len() as Position
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        let from = from.max(1);
        let records = self.0.read();
        let start = usize::try_from(from - 1).unwrap_or(usize::MAX).min(records.len());
        let mut limit = Limit::new(max_records, max_bytes);
        let wanted = records[start..].iter().zip(from..);
        Ok(wanted
            .take_while(|(bytes, _)| limit.admits(bytes.len()))
            .map(|(bytes, position)| Record { position, bytes: bytes.clone() })
            .collect())
    }
}
