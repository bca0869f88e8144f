use crate::{
    check::count,
    index::Index,
    message::{Message, Walk},
    open::Stream,
    recent::{Recent, stretch},
    scan::fetch,
    start::Start,
};
use bytes::Bytes;
use motherlode_log::{Hash, Limit, Position, ReadError, Reader, Record, hash};
use parking_lot::{Mutex, RwLock};
use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
};

const BYTES_MIN: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct StreamReader {
    stream: Stream,
    /// Index of the stream, not locked during requests to the server.
    index: RwLock<Index>,
    /// Cache of the latest reads, not locked during requests to the server.
    recent: Mutex<Recent>,
    foreign: AtomicU64,
}

impl StreamReader {
    pub(crate) fn new(stream: Stream, index: Index) -> Self {
        Self { stream, index: RwLock::new(index), recent: Mutex::default(), foreign: AtomicU64::new(0) }
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(crate) fn publish(&self, before: &Walk, after: &Walk, bytes: usize) {
        self.index.write().add(before, after, bytes);
        if after.skipped(before) {
            self.foreign.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_foreign(&self, from: u64) {
        self.foreign.store(from, Ordering::Relaxed);
    }

    pub(crate) fn foreign(&self) -> u64 {
        self.foreign.load(Ordering::Relaxed)
    }

    pub(crate) fn last(&self) -> u64 {
        self.index.read().last
    }

    pub(crate) fn keep(&self, first: Position, records: Vec<Bytes>) {
        if !records.is_empty() {
            self.recent.lock().keep(first, records);
        }
    }

    pub(crate) fn start(&self) -> Start {
        self.index.read().start
    }

    pub(crate) fn walk_to(&self, position: Position) -> Result<Option<Walk>, ReadError> {
        let found = self.index.read().find(position, position);
        let Some((mut walk, messages)) = found else { return Ok(None) };
        let end = walk.sequence + messages;
        while walk.sequence < end {
            for message in self.messages(walk.sequence, end - walk.sequence, BYTES_MIN)? {
                let mut after = walk.clone();
                after.step(&self.stream.trust, &message)?;
                if after.next > position {
                    return Ok(Some(walk));
                }
                walk = after;
            }
        }
        Ok(Some(walk))
    }

    fn messages(&self, sequence: u64, messages: u64, bytes: u64) -> Result<Vec<Message>, ReadError> {
        let found = fetch(&self.stream, sequence, messages, bytes)?;
        if found.first().is_some_and(|first| first.sequence > sequence) {
            let info = self.stream.info().map_err(io::Error::from)?;
            if count(&info["state"], "first_seq") > sequence {
                return Err(io::Error::other(format!("message {sequence} of the stream was removed by a prune")).into());
            }
        }
        Ok(found)
    }

    fn fetch(&self, mut walk: Walk, messages: u64, bytes: u64, from: Position) -> Result<Vec<Bytes>, ReadError> {
        let end = walk.sequence + messages;
        let mut records = vec![];
        while walk.next <= from && walk.sequence < end {
            for message in self.messages(walk.sequence, end - walk.sequence, bytes)? {
                records.extend(walk.step(&self.stream.trust, &message)?);
            }
        }
        Ok(records)
    }
}

impl Reader for StreamReader {
    fn first(&self) -> Position {
        self.start().log.first
    }

    fn end(&self) -> Position {
        self.index.read().end
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        self.start().log.check(from)?;
        let from = from.max(1);
        let mut limit = Limit::new(max_records, max_bytes);
        let kept = self.recent.lock().read(from, &mut limit);
        if !kept.is_empty() || max_records == 0 {
            return Ok(kept);
        }
        let upto = from.saturating_add((max_records as u64).saturating_sub(1));
        let found = self.index.read().find(from, upto);
        let Some((walk, messages)) = found else { return Ok(vec![]) };
        let first = walk.next;
        let records = self.fetch(walk, messages, (max_bytes as u64).max(BYTES_MIN), from)?;
        let read = stretch(first, &records, from, &mut limit);
        self.recent.lock().keep(first, records);
        Ok(read)
    }

    fn identity(&self) -> Result<Option<Hash>, ReadError> {
        match self.start().identity {
            Some(identity) => Ok(Some(identity)),
            None => Ok(self.read(1, 1, 0)?.first().map(|record| hash(&record.bytes))),
        }
    }
}
