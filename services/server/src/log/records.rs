//! Verified records of a log, read without locking the log.

use super::{
    layout::log_folder,
    location::{LogError, LogLocation},
};
use motherlode_jetstream as jetstream;
use motherlode_log::{self as log, Hash, Position, ReadError, Record, ScanError, genesis};

const BATCH_BYTES: usize = 256 << 10;
const BATCH_RECORDS: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    #[error("{location}: no log{} there", partition_suffix(*partition))]
    Missing { location: Box<LogLocation>, partition: Option<u32> },
    #[error("{0}: the log in a stream can only be copied from its first record; name a data folder instead")]
    NotAFolder(Box<LogLocation>),
    #[error(transparent)]
    Unlisted(LogError),
    #[error(transparent)]
    Files(#[from] ScanError),
    #[error(
        "{log}: the log starts at position {first} because earlier records were archived and removed: read a copy of the whole log"
    )]
    Archived { log: String, first: Position },
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    #[error(transparent)]
    Messages(#[from] ReadError),
}

fn partition_suffix(partition: Option<u32>) -> String {
    partition.map_or_else(String::new, |partition| format!(" of partition {partition}"))
}

impl LogLocation {
    pub fn existing_count(&self) -> Result<u32, RecordsError> {
        let count = self.count().map_err(|error| match error {
            LogError::Stream(error) => error.into(),
            error => RecordsError::Unlisted(error),
        })?;
        count.ok_or_else(|| RecordsError::Missing { location: Box::new(self.clone()), partition: None })
    }

    pub fn records(&self, partition: u32) -> Result<Option<Records>, RecordsError> {
        match self.kept_records(partition)? {
            Some(records) if records.first() > 1 => Err(self.archived(partition, records.first())),
            records => Ok(records),
        }
    }

    pub(super) fn archived(&self, partition: u32, first: Position) -> RecordsError {
        let log = match self {
            Self::Folder { data, .. } => log_folder(data, partition).display().to_string(),
            Self::Stream(_) => self.to_string(),
        };
        RecordsError::Archived { log, first }
    }

    pub fn kept_after(&self, partition: u32, after: Position) -> Result<Records, RecordsError> {
        let records = self.kept_records(partition)?.ok_or_else(|| self.missing(partition))?;
        match records.first() > after + 1 {
            true => Err(self.archived(partition, records.first())),
            false => Ok(records),
        }
    }

    pub(super) fn kept_records(&self, partition: u32) -> Result<Option<Records>, RecordsError> {
        match self {
            Self::Folder { data, .. } => {
                let log = log_folder(data, partition);
                if !log.is_dir() {
                    return Ok(None);
                }
                Ok(Some(Records::Folder(partition, log::scan(&log)?)))
            }
            Self::Stream(config) => match jetstream::scan(config, partition) {
                Ok(scan) => Ok(Some(Records::Stream(scan))),
                Err(jetstream::OpenError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Opens the records after a position, where `head` is the hash of the record at the position. The log must be in a
    /// folder.
    pub fn records_after(&self, partition: u32, position: Position, head: Hash) -> Result<Records, RecordsError> {
        match self {
            Self::Folder { data, .. } => {
                let scan = log::scan_after(&log_folder(data, partition), partition, position, head)?;
                Ok(Records::Folder(partition, scan))
            }
            Self::Stream(_) => Err(RecordsError::NotAFolder(Box::new(self.clone()))),
        }
    }

    pub fn existing(&self, partition: u32) -> Result<Records, RecordsError> {
        self.records(partition)?.ok_or_else(|| self.missing(partition))
    }

    pub(super) fn missing(&self, partition: u32) -> RecordsError {
        RecordsError::Missing { location: Box::new(self.clone()), partition: Some(partition) }
    }
}

#[derive(Debug)]
pub enum Records {
    Folder(u32, log::Scan),
    Stream(jetstream::Scan),
}

impl Records {
    pub(super) fn first(&self) -> Position {
        match self {
            Self::Folder(_, scan) => scan.first(),
            Self::Stream(scan) => scan.start().first,
        }
    }

    #[must_use]
    pub fn verified(&self) -> (Position, Hash) {
        match self {
            Self::Folder(partition, scan) => match scan.verified() {
                (0, _) => (0, genesis(*partition)),
                verified => verified,
            },
            Self::Stream(scan) => scan.verified(),
        }
    }

    pub fn resume(&mut self) -> Result<(), RecordsError> {
        match self {
            Self::Folder(_, scan) => Ok(scan.resume()?),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Reads the next records, as many as fit in one append; none at the log's end. An error is returned with the records
    /// read before it.
    pub fn batch(&mut self) -> (Vec<Record>, Option<RecordsError>) {
        let (mut batch, mut bytes) = (vec![], 0);
        while batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
            match self.next() {
                Some(Ok(record)) => {
                    bytes += record.bytes.len();
                    batch.push(record);
                }
                Some(Err(error)) => return (batch, Some(error)),
                None => break,
            }
        }
        (batch, None)
    }
}

impl Iterator for Records {
    type Item = Result<Record, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Folder(_, scan) => scan.next().map(|record| Ok(record?)),
            Self::Stream(scan) => scan.next().map(|record| Ok(record?)),
        }
    }
}
