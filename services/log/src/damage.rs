use std::{
    io,
    path::{Path, PathBuf},
};

use crate::record::Position;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged: {} at byte {offset}, where the record at position {position} is expected: {reason}", file.display())]
pub struct Damage {
    pub file: PathBuf,
    pub offset: u64,
    pub position: Position,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the log is damaged: message {sequence} of stream {stream}, where the record at position {position} is expected: {reason}"
)]
pub struct DamagedMessage {
    pub stream: String,
    pub sequence: u64,
    pub position: Position,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error(transparent)]
    Damaged(#[from] Damage),
    #[error("cannot access {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl ScanError {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is in use by another process: stop that process, or use another folder (--data)", dir.display())]
    Locked { dir: PathBuf },
    #[error(transparent)]
    Scan(#[from] ScanError),
}
