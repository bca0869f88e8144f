use super::{
    copy::{CopyError, copy},
    layout::{index_folder, log_folder},
    location::LogLocation,
    records::RecordsError,
};
use motherlode_log::Options;
use motherlode_runtime::{Config, ConfigError};
use motherlode_state::HOME;
use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64},
};
use tempfile::TempDir;

/// Log on this machine: a data folder, or a temporary copy of a log on JetStream.
#[derive(Debug)]
pub struct LocalLog {
    data: PathBuf,
    partitions: u32,
    _copy: Option<TempDir>,
}

#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error(transparent)]
    Name(#[from] ConfigError),
    #[error("{}: no such folder", .0.display())]
    NoFolder(PathBuf),
    #[error("{}: no log there ({} is missing)", .0.display(), log_folder(.0, HOME).display())]
    NoLog(PathBuf),
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Folder(#[from] io::Error),
    #[error(transparent)]
    Copy(#[from] CopyError),
}

impl LocalLog {
    pub fn open(name: &Path, config: &Config) -> Result<Self, LocalError> {
        let location = LogLocation::named(&name.to_string_lossy(), config)?;
        let LogLocation::Stream(_) = &location else {
            let data = name.to_owned();
            return match (data.is_dir(), log_folder(&data, HOME).is_dir()) {
                (true, true) => Ok(Self { data, partitions: location.existing_count()?, _copy: None }),
                (true, false) => Err(LocalError::NoLog(data)),
                (false, _) => Err(LocalError::NoFolder(data)),
            };
        };
        let folder = tempfile::tempdir()?;
        let data = folder.path().to_owned();
        let local = LogLocation::Folder { data: data.clone(), segment_bytes: Options::default().segment_bytes };
        let copied = copy(&location, &local, false, &AtomicBool::new(false), &AtomicU64::new(0))?;
        let partitions = u32::try_from(copied.len()).unwrap_or(u32::MAX);
        Ok(Self { data, partitions, _copy: Some(folder) })
    }

    #[must_use]
    pub fn partitions(&self) -> u32 {
        self.partitions
    }

    #[must_use]
    pub fn log(&self, partition: u32) -> PathBuf {
        log_folder(&self.data, partition)
    }

    #[must_use]
    pub fn index(&self, partition: u32) -> PathBuf {
        index_folder(&self.data, partition)
    }
}
