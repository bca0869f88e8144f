//! Where a log is kept: segment files of a data folder, or a stream on JetStream. Whatever opens or reads one begins here.

use crate::{
    commands::{Failure, copy},
    server::{index_folder, log_folder},
    warm::Streams,
};
use motherlode_books::{HOME, number};
use motherlode_jetstream::{self as jetstream, JetStreamStore, Presence};
use motherlode_ledger::Stores;
use motherlode_log::{self as log, Hash, Position, Record, ScanError, SegmentStore, Store, genesis};
use motherlode_runtime::{Config, config};
use std::{
    collections::BTreeSet,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};
use tempfile::TempDir;

/// Bytes of records that are handed on at once.
const BATCH_BYTES: usize = 256 << 10;
/// Records that are handed on at once.
const BATCH_RECORDS: usize = 4096;

/// A log's place.
#[derive(Debug, Clone)]
pub enum Place {
    /// Segment files in a data folder.
    Folder {
        /// The data folder.
        data: PathBuf,
        /// Bytes of one segment file.
        segment_bytes: u64,
    },
    /// A stream.
    Stream(config::Store),
}

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Segment files.
    #[error("the log in {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// What is wrong, with file and offset.
        source: log::OpenError,
    },
    /// A stream.
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    /// The log is there with another number of partitions: where players live is fixed when it's made.
    #[error(
        "{place} has the log of partitions {found}, not of {configured} partitions as configured, of which {writes} are written \
         here"
    )]
    Partitions {
        /// Where it is.
        place: String,
        /// Those that are there.
        found: String,
        /// Those that the process writes.
        writes: String,
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
    /// The folder of the index is in use, or cannot be.
    #[error("{}: {source}", folder.display())]
    Index {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Place {
    /// Where a service has its log.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        match &config.store.url {
            None => Self::Folder { data: config.data.clone(), segment_bytes: config.limits.segment_bytes },
            Some(_) => Self::Stream(config.store.clone()),
        }
    }

    /// The place that a command names: a data folder or `nats://host:port,...`, with the rest as a service's configuration
    /// has it.
    ///
    /// # Errors
    /// The configuration cannot be read, or the address is none.
    pub fn named(name: &str, config: Option<&Path>) -> Result<Self, Failure> {
        let config = read_config(config)?;
        match name.starts_with("nats://") {
            true => Ok(Self::Stream(config.store.at(name).map_err(Failure::unusable)?)),
            false => Ok(Self::Folder { data: name.into(), segment_bytes: config.limits.segment_bytes }),
        }
    }

    /// Opens a partition of it for writing; no other can then.
    ///
    /// # Errors
    /// See [`PlaceError`].
    pub fn open(&self, partition: u32) -> Result<Box<dyn Store>, PlaceError> {
        match self {
            Self::Folder { data, segment_bytes } => {
                let folder = log_folder(data, partition);
                let options = log::Options { segment_bytes: *segment_bytes, ..log::Options::default() };
                // What it finds may yet prove to be less than the index knows of: the ledger settles it then.
                let store = SegmentStore::open_unchanged(&folder, partition, options);
                let named = |source| PlaceError::Folder { folder: folder.display().to_string(), source };
                Ok(Box::new(store.map_err(named)?))
            }
            Self::Stream(config) => Ok(Box::new(JetStreamStore::open(config, partition)?)),
        }
    }

    /// Opens the partitions that a service writes. Where the log isn't in its data folder, and its locks keep no second
    /// service out, another lock does: they would share the index. With them comes what tells other processes that this one
    /// writes the log, where they could take it over.
    ///
    /// # Errors
    /// See [`PlaceError`].
    pub fn open_all(&self, config: &Config) -> Result<(Stores, Option<Presence>), PlaceError> {
        match self {
            Self::Folder { .. } => {
                self.check_partitions(config.partitions, &config.writes())?;
                // From the last to the first: where the first is there all are, and which there are can be seen.
                let opened = config.writes().into_iter().rev().map(|partition| self.open(partition));
                Ok((opened.collect::<Result<Vec<_>, _>>()?.into(), None))
            }
            Self::Stream(_) => {
                let mut streams = Streams::new(config)?;
                self.check_partitions(config.partitions, &config.writes())?;
                streams.open()
            }
        }
    }

    /// Waits until nobody is heard who writes what this service would, where that could be another process: who has the first
    /// of these partitions has all of them.
    ///
    /// # Errors
    /// [`PlaceError`]: it can't be asked.
    pub async fn vacant(&self, config: &Config) -> Result<(), PlaceError> {
        match self {
            Self::Folder { .. } => Ok(()),
            Self::Stream(store) => {
                Ok(jetstream::vacant(store, config.writes().first().copied().unwrap_or(HOME)).await?)
            }
        }
    }

    /// Refuses to write other partitions of so many than the log was made with; a log whose making was broken off goes on. On
    /// JetStream other processes may have made the others, in a folder they can't have.
    ///
    /// # Errors
    /// See [`PlaceError`].
    pub fn check_partitions(&self, partitions: u32, writes: &BTreeSet<u32>) -> Result<(), PlaceError> {
        let found = self.partitions(partitions)?;
        let fits = match self {
            Self::Folder { .. } => found.is_subset(writes),
            Self::Stream(_) => found.iter().all(|partition| *partition < partitions),
        };
        let unmade = writes.first().is_none_or(|first| !found.contains(first));
        if fits && (unmade || writes.is_subset(&found)) {
            return Ok(());
        }
        let listed = |partitions: &BTreeSet<u32>| partitions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let (found, writes) = (listed(&found), listed(writes));
        Err(PlaceError::Partitions { place: self.to_string(), found, writes, configured: partitions })
    }

    /// The partitions that are there; on JetStream of those up to a number.
    fn partitions(&self, up_to: u32) -> Result<BTreeSet<u32>, PlaceError> {
        match self {
            Self::Folder { data, .. } => {
                let folder = data.join("log");
                let listed = match fs::read_dir(&folder) {
                    Ok(listed) => listed.collect::<Result<Vec<_>, _>>(),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
                    Err(error) => Err(error),
                };
                let listed = listed.map_err(|source| PlaceError::List { folder, source })?;
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

    /// How many partitions the log has: what tools that read all of it begin with.
    ///
    /// # Errors
    /// There is none, or it cannot be reached or listed.
    pub fn count(&self) -> Result<u32, Failure> {
        let there = match self {
            Self::Folder { .. } => self.partitions(0).map_err(Failure::unusable)?.last().copied(),
            Self::Stream(config) => {
                let mut last = None;
                while jetstream::exists(config, last.map_or(HOME, |last| last + 1)).map_err(Failure::found)? {
                    last = Some(last.map_or(HOME, |last| last + 1));
                }
                last
            }
        };
        there.map(|last| last + 1).ok_or_else(|| Failure::unusable(format!("{self}: no log there")))
    }

    /// The records of a partition, verified; nothing is changed or locked. `None` where there is no log yet.
    ///
    /// # Errors
    /// It cannot be reached or listed.
    pub fn records(&self, partition: u32) -> Result<Option<Records>, Failure> {
        match self {
            Self::Folder { data, .. } if !log_folder(data, partition).is_dir() => Ok(None),
            Self::Folder { data, .. } => {
                let scan = log::scan(&log_folder(data, partition)).map_err(Failure::found)?;
                Ok(Some(Records::Folder(partition, scan)))
            }
            Self::Stream(config) => match jetstream::scan(config, partition) {
                Ok(scan) => Ok(Some(Records::Stream(scan))),
                Err(jetstream::OpenError::Missing { .. }) => Ok(None),
                Err(error) => Err(Failure::found(error)),
            },
        }
    }

    /// The records of a partition, which must be there.
    ///
    /// # Errors
    /// They are not, or cannot be read.
    pub fn existing(&self, partition: u32) -> Result<Records, Failure> {
        self.records(partition)?.ok_or_else(|| Failure::unusable(format!("{self}: no log there")))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { data, .. } => write!(f, "{}", data.display()),
            Self::Stream(config) => {
                write!(f, "{} stream {}_{HOME}", config.url.as_deref().unwrap_or_default(), config.stream)
            }
        }
    }
}

/// A log in a folder of this machine, for tools that read it several times: where it's on JetStream, a copy that is
/// removed with this.
#[derive(Debug)]
pub struct Local {
    data: PathBuf,
    partitions: u32,
    _copy: Option<TempDir>,
}

impl Local {
    /// The log that a command names, as [`Place::named`].
    ///
    /// # Errors
    /// There is none, or it cannot be copied.
    pub fn of(name: &Path, config: Option<&Path>) -> Result<Self, Failure> {
        let place = Place::named(&name.to_string_lossy(), config)?;
        let Place::Stream(_) = &place else {
            let (data, log) = (name.to_owned(), log_folder(name, HOME));
            return match (data.is_dir(), log.is_dir()) {
                (true, true) => Ok(Self { data, partitions: place.count()?, _copy: None }),
                (true, false) => {
                    let missing = format!("{}: no log there ({} is missing)", data.display(), log.display());
                    Err(Failure::unusable(missing))
                }
                (false, _) => Err(Failure::unusable(format!("{}: no such folder", data.display()))),
            };
        };
        let copy = tempfile::tempdir().map_err(Failure::found)?;
        let data = copy.path().to_owned();
        let local = Place::Folder { data: data.clone(), segment_bytes: log::Options::default().segment_bytes };
        let copied = copy::copy(&place, &local, false, &AtomicBool::new(false))?;
        let partitions = u32::try_from(copied.len()).unwrap_or(u32::MAX);
        Ok(Self { data, partitions, _copy: Some(copy) })
    }

    /// How many partitions it has.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        self.partitions
    }

    /// What there is to audit, partition by partition.
    #[must_use]
    pub fn to_audit(&self) -> Vec<motherlode_audit::Options> {
        let of = |partition| motherlode_audit::Options {
            log: self.log(partition),
            index: Some(index_folder(&self.data, partition)),
            partition,
        };
        (0..self.partitions).map(of).collect()
    }

    /// The folder of a partition's log in it.
    #[must_use]
    pub fn log(&self, partition: u32) -> PathBuf {
        log_folder(&self.data, partition)
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
    pub fn resume(&mut self) -> Result<(), ScanError> {
        match self {
            Self::Folder(_, scan) => scan.resume(),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Some records, as many as an append should have at the most; none at the end.
    ///
    /// # Errors
    /// The log is damaged or cannot be read.
    pub fn batch(&mut self) -> Result<Vec<Record>, Failure> {
        let (mut batch, mut bytes) = (vec![], 0);
        while batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
            let Some(record) = self.next().transpose()? else { break };
            bytes += record.bytes.len();
            batch.push(record);
        }
        Ok(batch)
    }
}

impl Iterator for Records {
    type Item = Result<Record, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Folder(_, scan) => scan.next().map(|record| record.map_err(Failure::found)),
            Self::Stream(scan) => scan.next().map(|record| record.map_err(Failure::found)),
        }
    }
}

/// The configuration in a file; the default one without.
///
/// # Errors
/// It cannot be read, or makes no sense.
pub fn read_config(file: Option<&Path>) -> Result<Config, Failure> {
    let Some(file) = file else { return Ok(Config::default()) };
    let unusable = |error: &dyn fmt::Display| Failure::unusable(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| unusable(&error))?;
    Config::parse(&text).map_err(|error| unusable(&error))
}
