//! Files of significant events: a chained log in the log's segment format, derived from the log.
//!
//! Files that are missing, damaged, foreign, or shorter than the [stored figures](crate::kept) state are deleted together
//! with the figures, and the next start rebuilds both. Events after the figures, left by a crash, stay, because the fold
//! gives the same events again.

use bytes::Bytes;
use motherlode_log::{AppendError, Chained, Hash, OpenError, Options, ReadError, Reader, SegmentStore, Store, hash};
use motherlode_proto::report::v1::SignificantEvent;
use motherlode_runtime::{Reason, Refusal};
use prost::Message;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

const SEGMENT: u64 = 8 << 20;
const READ_BYTES: usize = 1 << 20;

#[derive(Clone, PartialEq, Message)]
struct Stored {
    #[prost(bytes = "vec", tag = "1")]
    previous: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    event: Option<SignificantEvent>,
}

/// End of the files. The hash of the last record identifies the files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Away {
    pub(crate) count: u64,
    pub(crate) head: Hash,
}

pub(crate) struct EventFiles {
    folder: PathBuf,
    store: Option<SegmentStore>,
    of_others: bool,
    trust: Arc<Trust>,
}

struct Trust {
    kept: PathBuf,
    lost: AtomicBool,
}

#[derive(Clone)]
pub(crate) struct EventReader {
    records: Arc<dyn Reader>,
    trust: Arc<Trust>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritten {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the files of significant events end before event {0}, which had been written")]
    Shorter(u64),
    #[error("the folder of significant events contains other files and cannot be deleted")]
    OfOthers,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("the files of significant events end before event {0}")]
    Missing(u64),
    #[error("record {0} of the files of significant events is not an event")]
    Malformed(u64),
}

impl From<Unreadable> for Refusal {
    fn from(error: Unreadable) -> Self {
        let message = format!(
            "significant events cannot be read from their files: {error}; the next start rebuilds the files from the log"
        );
        Refusal::new(Reason::EventsUnreadable, message)
    }
}

impl EventFiles {
    pub(crate) fn new(kept: &Path) -> Self {
        let trust = Trust { kept: kept.to_owned(), lost: AtomicBool::new(false) };
        Self { folder: kept.with_extension("events"), store: None, of_others: false, trust: Arc::new(trust) }
    }

    fn open(&mut self) -> Result<&mut SegmentStore, Unwritten> {
        if self.of_others {
            return Err(Unwritten::OfOthers);
        }
        let store = match self.store.take() {
            Some(store) => store,
            None => {
                let options = Options { segment_bytes: SEGMENT, ..Options::default() };
                SegmentStore::open_by_outlines(&self.folder, 0, options)?
            }
        };
        Ok(self.store.insert(store))
    }

    pub(crate) fn are_sound(&self) -> bool {
        !self.trust.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn reader(&mut self, away: Away) -> Result<EventReader, Unwritten> {
        let (records, trust) = (self.open()?.reader(), Arc::clone(&self.trust));
        match hash_at(&*records, away.count)? {
            Some(head) if head == away.head => Ok(EventReader { records, trust }),
            _ => Err(Unwritten::Shorter(away.count)),
        }
    }

    pub(crate) fn delete(&mut self) -> io::Result<()> {
        self.store = None;
        let absent = |error: io::Error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
        let deleted = fs::remove_file(&self.trust.kept).or_else(absent);
        let deleted = deleted.and_then(|()| fs::remove_dir_all(&self.folder).or_else(absent));
        self.of_others = deleted.is_err();
        deleted
    }

    /// Appends events, except those already in the files. Can be repeated after an error.
    pub(crate) fn append(
        &mut self,
        first: u64,
        events: &[Arc<SignificantEvent>],
    ) -> Result<(Away, EventReader), Unwritten> {
        let trust = Arc::clone(&self.trust);
        let store = self.open()?;
        let (count, end) = (first + events.len() as u64, store.end());
        let there = end.checked_sub(first).ok_or(Unwritten::Shorter(first))?;
        let mut chained = Chained::after(store.head());
        for (event, after) in events.iter().skip(usize::try_from(there).unwrap_or(usize::MAX)).zip(end..) {
            let stored = Stored { previous: chained.head().to_vec(), event: Some(SignificantEvent::clone(event)) };
            chained.push(after, Bytes::from(stored.encode_to_vec()))?;
        }
        store.append_chained(end, &chained)?;
        let records = store.reader();
        let head = hash_at(&*records, count)?.ok_or(Unwritten::Shorter(count))?;
        Ok((Away { count, head }, EventReader { records, trust }))
    }
}

fn hash_at(records: &dyn Reader, count: u64) -> Result<Option<Hash>, ReadError> {
    let last = records.read(count, 1, 0)?;
    Ok(last.first().filter(|record| record.position == count).map(|record| hash(&record.bytes)))
}

impl EventReader {
    /// Reads events up to `end`, exclusive. If the files are damaged, the next start rebuilds them.
    pub(super) fn read(&self, first: u64, end: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        self.read_all(first, end).inspect_err(|error| {
            tracing::error!(%error, "failed to read significant events from their files: the next start rebuilds them");
            if !matches!(error, Unreadable::Read(ReadError::Io(_))) && !self.trust.lost.swap(true, Ordering::Relaxed) {
                // Without the kept figures, the next start rebuilds both.
                let _ = fs::remove_file(&self.trust.kept);
            }
        })
    }

    fn read_all(&self, first: u64, end: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        let (mut events, mut next) = (vec![], first + 1);
        while next <= end {
            let most = usize::try_from(end + 1 - next).unwrap_or(usize::MAX);
            let records = self.records.read(next, most, READ_BYTES)?;
            if records.is_empty() {
                return Err(Unreadable::Missing(next));
            }
            for record in records {
                let stored = Stored::decode(record.bytes).ok().and_then(|stored| stored.event);
                events.push(Arc::new(stored.ok_or(Unreadable::Malformed(record.position))?));
                next = record.position + 1;
            }
        }
        Ok(events)
    }
}
