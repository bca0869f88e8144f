//! Where a log is kept: segment files of a data folder, or streams on JetStream. Whatever opens a log begins here.

use super::layout::log_folder;
use motherlode_books::{HOME, number};
use motherlode_jetstream::{self as jetstream, JetStreamStore};
use motherlode_log::{self as log, SegmentStore, Store};
use motherlode_runtime::{
    Config, ConfigError,
    config::{self, Verify},
};
use std::{collections::BTreeSet, fmt, fs, io, path::PathBuf};

/// Where a log is kept.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a process has one or two of them")]
pub enum LogLocation {
    /// Segment files in a data folder.
    Folder {
        /// The data folder.
        data: PathBuf,
        /// Bytes of one segment file.
        segment_bytes: u64,
    },
    /// A stream a partition.
    Stream(config::Store),
}

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Segment files.
    #[error("the log in {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Its cause, with file and offset.
        source: log::OpenError,
    },
    /// A stream.
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    /// The log is there with another number of partitions: where players live is fixed when it's made.
    #[error(
        "{location} has the log of partitions {}, not of {configured} partitions as configured, of which {} are written \
         here",
        listed(found),
        listed(writes)
    )]
    Partitions {
        /// Where it is.
        location: Box<LogLocation>,
        /// Those that are there.
        found: BTreeSet<u32>,
        /// Those that the process writes.
        writes: BTreeSet<u32>,
        /// How many there should be.
        configured: u32,
    },
    /// The folder of the log cannot be listed.
    #[error("{}: {source}", folder.display())]
    List {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder of the index is in use, or cannot be used.
    #[error("{}: {source}", folder.display())]
    Index {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn options(segment_bytes: u64) -> log::Options {
    log::Options { segment_bytes, ..log::Options::default() }
}

fn listed(partitions: &BTreeSet<u32>) -> String {
    partitions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

impl LogLocation {
    /// Where a service has its log.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        match &config.store.url {
            None => Self::Folder { data: config.data.clone(), segment_bytes: config.limits.segment_bytes },
            Some(_) => Self::Stream(config.log_store()),
        }
    }

    /// A location by its name: a data folder or `nats://host:port,...`, with the rest as a service's configuration has it.
    ///
    /// # Errors
    /// The address is none.
    pub fn named(name: &str, config: &Config) -> Result<Self, ConfigError> {
        match name.starts_with("nats://") {
            true => Ok(Self::Stream(config.log_store().at(name)?)),
            false => Ok(Self::Folder { data: name.into(), segment_bytes: config.limits.segment_bytes }),
        }
    }

    /// Opens a partition for writing; no other can then.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn open(&self, partition: u32) -> Result<Box<dyn Store>, LogError> {
        match self {
            Self::Folder { data, segment_bytes } => {
                let folder = log_folder(data, partition);
                // What it finds may yet prove to be less than the index knows of: the ledger settles it then.
                let store = SegmentStore::open_unchanged(&folder, partition, options(*segment_bytes));
                Ok(Box::new(store.map_err(|source| LogError::Folder { folder, source })?))
            }
            Self::Stream(config) => Ok(Box::new(JetStreamStore::open(config, partition)?)),
        }
    }

    /// The same for a service: full segments of a folder need not be verified before.
    fn open_to_serve(&self, partition: u32, verify: Verify) -> Result<Box<dyn Store>, LogError> {
        match (self, verify) {
            (Self::Folder { data, segment_bytes }, Verify::Behind) => {
                let folder = log_folder(data, partition);
                let store = SegmentStore::open_by_outlines(&folder, partition, options(*segment_bytes));
                Ok(Box::new(store.map_err(|source| LogError::Folder { folder, source })?))
            }
            _ => self.open(partition),
        }
    }

    /// Opens the partitions that a service with its log in a data folder writes; the folders' locks keep a second service out.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn open_written(&self, config: &Config) -> Result<Vec<Box<dyn Store>>, LogError> {
        self.check_partitions(config.partitions, &config.writes())?;
        // From the last to the first: where the first is there all are, and which there are can be seen.
        config.writes().into_iter().rev().map(|partition| self.open_to_serve(partition, config.verify)).collect()
    }

    /// Refuses to write other partitions of so many than the log was made with; a log whose making was broken off goes on. On
    /// JetStream other processes may have made the others, in a folder they can't have.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn check_partitions(&self, partitions: u32, writes: &BTreeSet<u32>) -> Result<(), LogError> {
        let found = self.partitions(partitions)?;
        let fits = match self {
            Self::Folder { .. } => found.is_subset(writes),
            Self::Stream(_) => found.iter().all(|partition| *partition < partitions),
        };
        let unmade = writes.first().is_none_or(|first| !found.contains(first));
        if fits && (unmade || writes.is_subset(&found)) {
            return Ok(());
        }
        let (location, writes) = (Box::new(self.clone()), writes.clone());
        Err(LogError::Partitions { location, found, writes, configured: partitions })
    }

    /// The partitions that are there; on JetStream of those up to a number.
    fn partitions(&self, up_to: u32) -> Result<BTreeSet<u32>, LogError> {
        match self {
            Self::Folder { data, .. } => {
                let folder = data.join("log");
                let listed = match fs::read_dir(&folder) {
                    Ok(listed) => listed.collect::<Result<Vec<_>, _>>(),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
                    Err(error) => Err(error),
                };
                let listed = listed.map_err(|source| LogError::List { folder, source })?;
                Ok(listed.iter().filter_map(|entry| number(entry.file_name().to_str()?)).collect())
            }
            Self::Stream(config) => {
                let mut there = BTreeSet::new();
                for partition in 0..=up_to {
                    if jetstream::exists(config, partition)? {
                        there.insert(partition);
                    }
                }
                Ok(there)
            }
        }
    }

    /// How many partitions the log has; `None` where there is no log.
    ///
    /// # Errors
    /// It cannot be reached or listed.
    pub fn count(&self) -> Result<Option<u32>, LogError> {
        let Self::Stream(config) = self else { return Ok(self.partitions(0)?.last().map(|last| last + 1)) };
        let mut count = HOME;
        while jetstream::exists(config, count)? {
            count += 1;
        }
        Ok(Some(count).filter(|count| *count > HOME))
    }
}

impl fmt::Display for LogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { data, .. } => write!(f, "{}", data.display()),
            Self::Stream(config) => {
                write!(f, "{} stream {}_{HOME}", config.url.as_deref().unwrap_or_default(), config.stream)
            }
        }
    }
}
