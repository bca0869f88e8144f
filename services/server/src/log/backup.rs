//! A copy of a partition of a service's log on this machine, as `follow` keeps it (PL-30).
//!
//! Of the whole log it's a log like any other, where `serve` would have it: the same records, the same hashes. Of one
//! operator's records it's a chain of its own, each record wrapped with its place in the log. Both are kept by the log's
//! own store: what is held is synced, a torn append is cut at the next opening, damage is found.

use super::layout::{copy_folder, log_folder};
use bytes::Bytes;
use motherlode_log::{AppendError, OpenError, Options, Position, ReadError, SegmentStore, Store, hash};
use motherlode_proto::{
    convert::{
        Malformed,
        copied::{self, Copied},
    },
    ledger::v1::{FollowLogResponse, LogRecord},
};
use std::path::{Path, PathBuf};

/// A copy of a partition, open for more.
pub struct Backup {
    data: PathBuf,
    partition: u32,
    kept: Option<Kept>,
    /// Place in the log of the last record held.
    held: Position,
}

/// Why a copy cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The folder has two, of the whole log and of an operator's records.
    #[error("{}: both a log and an operator's copy are there", .0.display())]
    Both(PathBuf),
    /// It's damaged, in use, or cannot be read.
    #[error("{}: {source}", folder.display())]
    Open {
        /// Its folder.
        folder: PathBuf,
        /// Its cause.
        source: OpenError,
    },
    /// Its last record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its last record is not there.
    #[error("the copy's last record is missing")]
    NoLast,
    /// Its last record is none of a copy.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The service sends another operator's records, or those of all.
    #[error("the copy is {}, what the service sends is {}", whose(held), whose(sent))]
    Operator {
        /// Whose records are held; empty for the whole log.
        held: Box<str>,
        /// Whose were sent.
        sent: Box<str>,
    },
    /// The service sends what does not come next.
    #[error("position {position} of partition {partition} was sent after {last}")]
    Order {
        /// The record's position.
        position: Position,
        /// Its partition.
        partition: u32,
        /// The last position before it.
        last: Position,
    },
    /// The service's log is another one.
    #[error("what the service sends is not the log that this copy was made from: {0}")]
    OtherLog(AppendError),
    /// A record cannot be written.
    #[error(transparent)]
    Append(AppendError),
}

fn whose(operator: &str) -> String {
    if operator.is_empty() { "the whole log".into() } else { format!("{operator}'s") }
}

/// The store of a copy, and whose records it has.
struct Kept {
    /// Whose records they are; empty for the whole log.
    operator: String,
    store: SegmentStore,
}

impl Backup {
    /// Opens what a folder has of a copy, verifying all of it; it may be nothing yet.
    ///
    /// # Errors
    /// It's damaged, in use, or cannot be read.
    pub fn open(data: &Path, partition: u32) -> Result<Self, BackupError> {
        let (log, own_copy) = (log_folder(data, partition), copy_folder(data, partition));
        let (whole, own) = (log.is_dir(), own_copy.is_dir());
        let mut copy = Self { data: data.to_owned(), partition, kept: None, held: 0 };
        match (whole, own) {
            (false, false) => {}
            (true, true) => {
                return Err(BackupError::Both(data.to_owned()));
            }
            (true, false) => {
                let store = open(&log, partition)?;
                copy.held = store.end();
                copy.kept = Some(Kept { operator: String::new(), store });
            }
            (false, true) => {
                let store = open(&own_copy, partition)?;
                // A store that got no record yet says nothing of its operator.
                if store.end() > 0 {
                    let last = store.reader().read(store.end(), 1, 0)?;
                    let last = last.first().ok_or(BackupError::NoLast)?;
                    let Copied { operator, position, .. } = copied::decode(&last.bytes)?;
                    copy.held = position;
                    copy.kept = Some(Kept { operator, store });
                }
            }
        }
        Ok(copy)
    }

    /// Which partition it's of.
    #[must_use]
    pub fn partition(&self) -> u32 {
        self.partition
    }

    /// Place in the log of the last record that is held durably; 0 for none.
    #[must_use]
    pub fn held(&self) -> Position {
        self.held
    }

    /// How many records are held.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.store.end())
    }

    /// Takes a message's records up, durably.
    ///
    /// # Errors
    /// They are no continuation of the copy, or cannot be written.
    pub fn take(&mut self, message: FollowLogResponse) -> Result<(), BackupError> {
        let FollowLogResponse { records, operator_id, .. } = message;
        if let Some(Kept { operator, .. }) = self.kept.as_ref().filter(|kept| kept.operator != operator_id) {
            return Err(BackupError::Operator { held: operator.as_str().into(), sent: operator_id.into() });
        }
        let Some(last) = records.last().map(|record| record.position) else { return Ok(()) };
        self.check(&records, operator_id.is_empty())?;
        let kept = match &mut self.kept {
            Some(kept) => kept,
            none => {
                let folder = if operator_id.is_empty() { log_folder } else { copy_folder };
                let store = open(&folder(&self.data, self.partition), self.partition)?;
                none.insert(Kept { operator: operator_id, store })
            }
        };
        kept.append(records)?;
        self.held = last;
        Ok(())
    }

    /// Whether records come next: of the whole log without a gap.
    fn check(&self, records: &[LogRecord], dense: bool) -> Result<(), BackupError> {
        let mut last = self.held;
        for LogRecord { position, partition, .. } in records {
            if *partition != self.partition || *position <= last || (dense && *position != last + 1) {
                return Err(BackupError::Order { position: *position, partition: *partition, last });
            }
            last = *position;
        }
        Ok(())
    }
}

impl Kept {
    fn append(&mut self, records: Vec<LogRecord>) -> Result<(), BackupError> {
        let mut head = self.store.head();
        let bytes = records.into_iter().map(|LogRecord { position, partition, record }| {
            if self.operator.is_empty() {
                return Bytes::from(record);
            }
            let copied = Copied { operator: self.operator.clone(), partition, position, record: record.into() };
            let bytes = copied::encode(&head, &copied);
            head = hash(&bytes);
            bytes
        });
        let bytes: Vec<_> = bytes.collect();
        self.store.append(self.store.end(), &bytes).map_err(|error| match error {
            AppendError::Chain { .. } => BackupError::OtherLog(error),
            error => BackupError::Append(error),
        })
    }
}

fn open(folder: &Path, partition: u32) -> Result<SegmentStore, BackupError> {
    let opened = SegmentStore::open(folder, partition, Options::default());
    opened.map_err(|source| BackupError::Open { folder: folder.to_owned(), source })
}
