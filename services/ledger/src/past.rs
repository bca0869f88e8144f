use crate::error::FetchError;
use bytes::Bytes;
use motherlode_archive::Segment;
use motherlode_log::Position;
use motherlode_proto::convert::record::{self, Logged};
use std::{collections::BTreeMap, sync::Arc};

/// Number of records copied from an archived segment at once: the needed record and its predecessors in the stream.
const AHEAD: usize = 64;

#[derive(Debug, Clone, Default)]
pub(crate) struct PastRecords {
    records: BTreeMap<Position, (Bytes, Arc<Logged>)>,
    bytes: usize,
}

impl PastRecords {
    pub(crate) fn get(&self, position: Position) -> Option<&(Bytes, Arc<Logged>)> {
        self.records.get(&position)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn take(&mut self, segment: &Segment, position: Position) -> Result<(), FetchError> {
        let mut next = position;
        for _ in 0..AHEAD {
            let Some(bytes) = segment.record(next).filter(|_| !self.records.contains_key(&next)) else { break };
            let decoded = record::decode(bytes).map_err(|source| FetchError::Malformed { position: next, source })?;
            let previous = decoded.commit.previous;
            self.bytes += bytes.len();
            self.records.insert(next, (Bytes::copy_from_slice(bytes), Arc::new(decoded)));
            next = previous;
        }
        Ok(())
    }
}
