//! Significant events in files: a log of their own, in the same segments as the log and chained as it is, whose records are the
//! events in their order.
//!
//! They hold nothing that the log does not. Files that are missing, damaged, shorter than the [kept figures](crate::kept) say or of
//! others are deleted together with these, and made anew from the log by the next start. Events that a crash has left here beyond those
//! figures are the ones that the same fold comes to again: they stay.
//!
//! Cost: a write and a sync for a thousand events or more; files of [`SEGMENT`] bytes.

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

/// The length of a file, bytes.
const SEGMENT: u64 = 8 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// A record.
#[derive(Clone, PartialEq, Message)]
struct Stored {
    /// The hash of the record before it, as in every log.
    #[prost(bytes = "vec", tag = "1")]
    previous: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    event: Option<SignificantEvent>,
}

/// How many events are in files, and the hash of the record of the last one: so files are known to be the right ones.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Away {
    pub(crate) count: u64,
    pub(crate) head: Hash,
}

/// The files of a partition's events. They're opened when there is something to write or read.
pub(crate) struct EventFiles {
    folder: PathBuf,
    store: Option<SegmentStore>,
    /// Whether there may be files that should have been deleted.
    of_others: bool,
    trust: Arc<Trust>,
}

/// Whether what is in the files is what was written, as far as anybody has seen.
struct Trust {
    /// The file of the figures that rest on them.
    kept: PathBuf,
    lost: AtomicBool,
}

/// Reads the files; clones share what they found.
#[derive(Clone)]
pub(crate) struct EventReader {
    records: Arc<dyn Reader>,
    trust: Arc<Trust>,
}

/// Why events can't be put into files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritten {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("they end before event {0}, which was put there")]
    Shorter(u64),
    #[error("files of others are in their place and cannot be deleted")]
    OfOthers,
}

/// Why events can't be read from files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    Read(#[from] ReadError),
    #[error("the files of significant events end before event {0}")]
    Missing(u64),
    #[error("record {0} of the files of significant events is none")]
    Malformed(u64),
}

impl From<Unreadable> for Refusal {
    fn from(error: Unreadable) -> Self {
        let message = format!("significant events cannot be read from their files: {error}; the log has them all");
        Refusal::new(Reason::EventsUnreadable, message)
    }
}

impl EventFiles {
    /// Beside the file of the kept figures that rest on them.
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

    /// Whether figures that rest on them can be kept.
    pub(crate) fn are_sound(&self) -> bool {
        !self.trust.lost.load(Ordering::Relaxed)
    }

    /// Reads the files, if they have these events.
    pub(crate) fn reader(&mut self, away: Away) -> Result<EventReader, Unwritten> {
        let (records, trust) = (self.open()?.reader(), Arc::clone(&self.trust));
        match hash_at(&*records, away.count)? {
            Some(head) if head == away.head => Ok(EventReader { records, trust }),
            _ => Err(Unwritten::Shorter(away.count)),
        }
    }

    /// Deletes all, and the kept figures with it.
    pub(crate) fn delete(&mut self) -> io::Result<()> {
        self.store = None;
        let absent = |error: io::Error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
        let deleted = fs::remove_file(&self.trust.kept).or_else(absent);
        let deleted = deleted.and_then(|()| fs::remove_dir_all(&self.folder).or_else(absent));
        self.of_others = deleted.is_err();
        deleted
    }

    /// Appends events, the first of which has this number; those that are there already are passed over.
    ///
    /// # Errors
    /// They're not all there; it may be tried again.
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

/// The hash of the last of so many records.
fn hash_at(records: &dyn Reader, count: u64) -> Result<Option<Hash>, ReadError> {
    let last = records.read(count, 1, 0)?;
    Ok(last.first().filter(|record| record.position == count).map(|record| hash(&record.bytes)))
}

impl EventReader {
    /// The events from a number on up to another.
    ///
    /// # Errors
    /// [`Unreadable`]. If they're damaged, the next start makes them anew.
    pub(super) fn read(&self, first: u64, end: u64) -> Result<Vec<Arc<SignificantEvent>>, Unreadable> {
        self.read_all(first, end).inspect_err(|error| {
            tracing::error!(%error, "significant events cannot be read from their files");
            if !matches!(error, Unreadable::Read(ReadError::Io(_))) && !self.trust.lost.swap(true, Ordering::Relaxed) {
                // Without figures to rest on a start makes both anew; where they can't be removed, it says so then.
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
