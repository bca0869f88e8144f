//! The records of a log read from its first, verified on the way; nothing is changed or locked.

use super::{
    layout::log_folder,
    location::{LogError, LogLocation},
};
use motherlode_jetstream as jetstream;
use motherlode_log::{self as log, Hash, Position, ReadError, Record, ScanError, genesis};
use std::path::PathBuf;

/// Bytes of records that are handed on at once.
const BATCH_BYTES: usize = 256 << 10;
/// Records that are handed on at once.
const BATCH_RECORDS: usize = 4096;

/// Why records could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// There is no log.
    #[error("{location}: no log there{}", of(*partition))]
    Missing {
        /// Where it should be.
        location: Box<LogLocation>,
        /// Its partition; `None` for all.
        partition: Option<u32>,
    },
    /// A stream is read from its first message only.
    #[error("{0}: a stream is copied from its first record only; name a data folder")]
    NotAFolder(Box<LogLocation>),
    /// Which partitions there are cannot be found out.
    #[error(transparent)]
    Unlisted(LogError),
    /// Segment files are damaged, or cannot be read.
    #[error(transparent)]
    Files(#[from] ScanError),
    /// The log's first records are archived.
    #[error("{}: the log starts at position {first}, and the records before it are archived: read a copy with the whole log", log.display())]
    Archived {
        /// The partition's folder.
        log: PathBuf,
        /// Its first kept position.
        first: Position,
    },
    /// A stream cannot be reached.
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    /// A stream is damaged, or cannot be read.
    #[error(transparent)]
    Messages(#[from] ReadError),
}

fn of(partition: Option<u32>) -> String {
    partition.map_or_else(String::new, |partition| format!(" of partition {partition}"))
}

impl LogLocation {
    /// How many partitions the log has, which must be there: what tools that read all of it begin with.
    ///
    /// # Errors
    /// It isn't, or cannot be reached or listed.
    pub fn existing_count(&self) -> Result<u32, RecordsError> {
        let count = self.count().map_err(|error| match error {
            LogError::Stream(error) => error.into(),
            error => RecordsError::Unlisted(error),
        })?;
        count.ok_or_else(|| RecordsError::Missing { location: Box::new(self.clone()), partition: None })
    }

    /// The records of a partition from position 1 on, `None` if there is no log yet.
    ///
    /// # Errors
    /// It cannot be reached or listed, or its first records are archived.
    pub fn records(&self, partition: u32) -> Result<Option<Records>, RecordsError> {
        match self {
            Self::Folder { data, .. } => {
                let log = log_folder(data, partition);
                if !log.is_dir() {
                    return Ok(None);
                }
                let scan = log::scan(&log)?;
                match scan.first() {
                    1 => Ok(Some(Records::Folder(partition, scan))),
                    first => Err(RecordsError::Archived { log, first }),
                }
            }
            Self::Stream(config) => match jetstream::scan(config, partition) {
                Ok(scan) => Ok(Some(Records::Stream(scan))),
                Err(jetstream::OpenError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// The records of a partition after the one at a position with this hash. The records before it are not read.
    ///
    /// # Errors
    /// They cannot be read; [`RecordsError::NotAFolder`].
    pub fn records_after(&self, partition: u32, position: Position, head: Hash) -> Result<Records, RecordsError> {
        match self {
            Self::Folder { data, .. } => {
                let scan = log::scan_after(&log_folder(data, partition), partition, position, head)?;
                Ok(Records::Folder(partition, scan))
            }
            Self::Stream(_) => Err(RecordsError::NotAFolder(Box::new(self.clone()))),
        }
    }

    /// The records of a partition, which must be there.
    ///
    /// # Errors
    /// They are not, or cannot be read.
    pub fn existing(&self, partition: u32) -> Result<Records, RecordsError> {
        let missing = || RecordsError::Missing { location: Box::new(self.clone()), partition: Some(partition) };
        self.records(partition)?.ok_or_else(missing)
    }
}

/// The verified records of a log, in order, up to the end as it is when that is reached.
#[derive(Debug)]
pub enum Records {
    /// Of a partition's segment files.
    Folder(u32, log::Scan),
    /// Of a stream.
    Stream(jetstream::Scan),
}

impl Records {
    /// The last position that was verified, and its record's hash.
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

    /// Goes on after the end.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn resume(&mut self) -> Result<(), RecordsError> {
        match self {
            Self::Folder(_, scan) => Ok(scan.resume()?),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Reads a batch of at most the size of one append; empty at the end. An error ends the batch and is returned with the
    /// records before it.
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
