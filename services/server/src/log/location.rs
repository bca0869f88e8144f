use super::layout::log_folder;
use motherlode_jetstream::{self as jetstream, JetStreamStore};
use motherlode_log::{self as log, SegmentStore, Store};
use motherlode_runtime::{
    Config, ConfigError,
    config::{self, Verify},
};
use motherlode_state::{HOME, number};
use std::{collections::BTreeSet, fmt, fs, io, path::PathBuf};

#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "a process has at most two values of this type, so their size does not matter"
)]
pub enum LogLocation {
    Folder { data: PathBuf, segment_bytes: u64 },
    Stream(config::Store),
}

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("cannot open the log in {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: log::OpenError },
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    /// The log's number of partitions differs from the configured number. The number cannot change, because it determines
    /// each player's partition.
    #[error(
        "{location} has the log of partitions {}, but {configured} partitions are configured, of which this process writes {}",
        listed(found),
        listed(writes)
    )]
    Partitions { location: Box<LogLocation>, found: BTreeSet<u32>, writes: BTreeSet<u32>, configured: u32 },
    #[error("cannot list the folder {}: {source}", folder.display())]
    List { folder: PathBuf, source: io::Error },
    #[error("cannot open the index {}: {source}", folder.display())]
    Index { folder: PathBuf, source: io::Error },
}

fn options(segment_bytes: u64) -> log::Options {
    log::Options { segment_bytes, ..log::Options::default() }
}

fn listed(partitions: &BTreeSet<u32>) -> String {
    partitions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

impl LogLocation {
    #[must_use]
    pub fn from_config(config: &Config) -> Self {
        match &config.store.url {
            None => Self::Folder { data: config.data.clone(), segment_bytes: config.limits.segment_bytes },
            Some(_) => Self::Stream(config.log_store()),
        }
    }

    pub fn named(name: &str, config: &Config) -> Result<Self, ConfigError> {
        match name.starts_with("nats://") {
            true => Ok(Self::Stream(config.log_store().at(name)?)),
            false if name.contains("://") => {
                let fault = format!("{name} is neither a folder nor nats://host:port,...");
                Err(ConfigError::Store { fault })
            }
            false => Ok(Self::Folder { data: name.into(), segment_bytes: config.limits.segment_bytes }),
        }
    }

    pub fn open(&self, partition: u32) -> Result<Box<dyn Store>, LogError> {
        match self {
            Self::Folder { data, segment_bytes } => {
                let folder = log_folder(data, partition);
                // The log is repaired only after the ledger's checks: a refused log must stay unchanged.
                let store = SegmentStore::open_unchanged(&folder, partition, options(*segment_bytes));
                Ok(Box::new(store.map_err(|source| LogError::Folder { folder, source })?))
            }
            Self::Stream(config) => Ok(Box::new(JetStreamStore::open(config, partition)?)),
        }
    }

    fn open_to_serve(&self, partition: u32, verify: Verify) -> Result<Box<dyn Store>, LogError> {
        match (self, verify) {
            (Self::Folder { data, segment_bytes }, Verify::Background) => {
                let folder = log_folder(data, partition);
                let store = SegmentStore::open_by_outlines(&folder, partition, options(*segment_bytes));
                Ok(Box::new(store.map_err(|source| LogError::Folder { folder, source })?))
            }
            _ => self.open(partition),
        }
    }

    pub fn open_written(&self, config: &Config) -> Result<Vec<Box<dyn Store>>, LogError> {
        self.check_partitions(config.partitions, &config.write_partitions())?;
        // Partition 0 is created last, so if it exists, all others exist.
        config
            .write_partitions()
            .into_iter()
            .rev()
            .map(|partition| self.open_to_serve(partition, config.verify))
            .collect()
    }

    /// Checks that the log contains all partitions in `writes`, and that a folder contains no others. Missing
    /// partitions are accepted if the log's creation was interrupted.
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
