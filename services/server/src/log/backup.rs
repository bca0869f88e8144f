//! Local copy of a partition, made by `follow` (PL-30).

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

pub struct Backup {
    data: PathBuf,
    partition: u32,
    kept: Option<CopyStore>,
    position: Position,
}

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} contains both a copy of the whole log and one operator's records: use a folder for each", .0.display())]
    Both(PathBuf),
    #[error("cannot open the copy in {}: {source}", folder.display())]
    Open { folder: PathBuf, source: OpenError },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(
        "the copy's files lack the last record: restore the files from a backup, or start a copy in another folder"
    )]
    NoLast,
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("the existing copy contains {}, but the service sends {}", whose(held), whose(sent))]
    Operator {
        /// Operator of the copy's records; empty for all operators.
        held: Box<str>,
        /// Operator of the sent records; empty for all operators.
        sent: Box<str>,
    },
    #[error(
        "the service sent record {position} of partition {partition} after record {last}: \
         records are missing or out of order"
    )]
    Order { position: Position, partition: u32, last: Position },
    #[error("the service's log is not the log that this copy was made from: {0}")]
    OtherLog(AppendError),
    #[error(transparent)]
    Append(AppendError),
}

fn whose(operator: &str) -> String {
    if operator.is_empty() { "the whole log".into() } else { format!("{operator}'s records") }
}

struct CopyStore {
    operator: String,
    store: SegmentStore,
}

impl Backup {
    pub fn open(data: &Path, partition: u32) -> Result<Self, BackupError> {
        let (log, own_copy) = (log_folder(data, partition), copy_folder(data, partition));
        let (whole, own) = (log.is_dir(), own_copy.is_dir());
        let mut copy = Self { data: data.to_owned(), partition, kept: None, position: 0 };
        match (whole, own) {
            (false, false) => {}
            (true, true) => {
                return Err(BackupError::Both(data.to_owned()));
            }
            (true, false) => {
                let store = open(&log, partition)?;
                copy.position = store.end();
                copy.kept = Some(CopyStore { operator: String::new(), store });
            }
            (false, true) => {
                let store = open(&own_copy, partition)?;
                if store.end() > 0 {
                    let last = store.reader().read(store.end(), 1, 0)?;
                    let last = last.first().ok_or(BackupError::NoLast)?;
                    let Copied { operator, position, .. } = copied::decode(&last.bytes)?;
                    copy.position = position;
                    copy.kept = Some(CopyStore { operator, store });
                }
            }
        }
        Ok(copy)
    }

    #[must_use]
    pub fn partition(&self) -> u32 {
        self.partition
    }

    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    #[must_use]
    pub fn records(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.store.end())
    }

    /// Appends records durably. The first record must directly follow the copy's last record.
    pub fn take(&mut self, message: FollowLogResponse) -> Result<(), BackupError> {
        let FollowLogResponse { records, operator_id, .. } = message;
        if let Some(CopyStore { operator, .. }) = self.kept.as_ref().filter(|kept| kept.operator != operator_id) {
            return Err(BackupError::Operator { held: operator.as_str().into(), sent: operator_id.into() });
        }
        let Some(last) = records.last().map(|record| record.position) else { return Ok(()) };
        self.check(&records, operator_id.is_empty())?;
        let kept = match &mut self.kept {
            Some(kept) => kept,
            none => {
                let folder = if operator_id.is_empty() { log_folder } else { copy_folder };
                let store = open(&folder(&self.data, self.partition), self.partition)?;
                none.insert(CopyStore { operator: operator_id, store })
            }
        };
        kept.append(records)?;
        self.position = last;
        Ok(())
    }

    fn check(&self, records: &[LogRecord], dense: bool) -> Result<(), BackupError> {
        let mut last = self.position;
        for LogRecord { position, partition, .. } in records {
            if *partition != self.partition || *position <= last || (dense && *position != last + 1) {
                return Err(BackupError::Order { position: *position, partition: *partition, last });
            }
            last = *position;
        }
        Ok(())
    }
}

impl CopyStore {
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
