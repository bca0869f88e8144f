//! Random access: reads of the durable part while the writer appends.

use crate::{index::Index, open::Stream, scan::fetch};
use motherlode_log::{Limit, Position, ReadError, Reader, Record};
use parking_lot::RwLock;

/// Bytes asked for at once, at the least: what lies between two marks.
const BYTES_MIN: u64 = 64 << 10;

/// What the writer and its readers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub stream: Stream,
    /// Locked to look up or to publish, never while a request is under way.
    pub index: RwLock<Index>,
}

impl Reader for Shared {
    fn end(&self) -> Position {
        self.index.read().end
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        let from = from.max(1);
        let upto = from.saturating_add((max_records as u64).saturating_sub(1));
        let (found, end) = {
            let index = self.index.read();
            (index.find(from, upto), index.end)
        };
        let Some((mut walk, mut messages)) = found.filter(|_| max_records > 0) else { return Ok(vec![]) };
        let mut limit = Limit::new(max_records, max_bytes);
        let mut read = vec![];
        while read.is_empty() && messages > 0 {
            let bytes = (max_bytes as u64).max(BYTES_MIN);
            for message in fetch(&self.stream, walk.sequence, messages, bytes)? {
                let first = walk.next;
                messages = messages.saturating_sub(1);
                for (bytes, position) in walk.step(&self.stream.name, &message)?.into_iter().zip(first..) {
                    if position < from {
                        continue;
                    }
                    if position > end || !limit.admits(bytes.len()) {
                        return Ok(read);
                    }
                    read.push(Record { position, bytes });
                }
            }
        }
        Ok(read)
    }
}
