//! Damage: stored bytes that are not those that were appended.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::record::Position;

/// Stored bytes that cannot be what was appended: where, and how it shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged: {} at byte {offset}, where position {position} is expected: {reason}", file.display())]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// The byte in the file at which the damaged part begins.
    pub offset: u64,
    /// The position that should stand there.
    pub position: Position,
    /// How the damage shows.
    pub reason: String,
}

/// The same of a log that is kept as messages: of a stream of them instead of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged: message {sequence} of stream {stream}, where position {position} is expected: {reason}")]
pub struct DamagedMessage {
    /// The stream.
    pub stream: String,
    /// The message's number in the stream.
    pub sequence: u64,
    /// The position that should stand there.
    pub position: Position,
    /// How the damage shows.
    pub reason: String,
}

/// Why a scan of a log stops.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The bytes are not what was appended.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A file or directory cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ScanError {
    /// Names the file in an error of the file system.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

/// Why a log cannot be opened for appending.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another store in this one, has it open.
    #[error("{} is in use by another process: stop that one, or name another folder by --data", dir.display())]
    Locked {
        /// The partition's directory.
        dir: PathBuf,
    },
    /// It cannot be read, or is damaged. Nothing was changed.
    #[error(transparent)]
    Scan(#[from] ScanError),
}
