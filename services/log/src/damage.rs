//! Damage: stored bytes differ from the appended ones.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::record::Position;

/// A damaged part of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged: {} at byte {offset}, where position {position} is expected: {reason}", file.display())]
pub struct Damage {
    /// Affected file.
    pub file: PathBuf,
    /// Offset in bytes.
    pub offset: u64,
    /// Expected position.
    pub position: Position,
    /// Description of the fault.
    pub reason: String,
}

/// A damaged message of a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged: message {sequence} of stream {stream}, where position {position} is expected: {reason}")]
pub struct DamagedMessage {
    /// Stream name.
    pub stream: String,
    /// Sequence number.
    pub sequence: u64,
    /// Expected position.
    pub position: Position,
    /// Description of the fault.
    pub reason: String,
}

/// Reasons for a failed scan.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The stored bytes are damaged.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A file or directory cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Affected path.
        path: PathBuf,
        /// System error.
        source: io::Error,
    },
}

impl ScanError {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

/// Reasons for a failed opening.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log is open in this or another process.
    #[error("{} is in use by another process: stop it, or name another folder with --data", dir.display())]
    Locked {
        /// Partition's directory.
        dir: PathBuf,
    },
    /// The log is unreadable or damaged, and unchanged.
    #[error(transparent)]
    Scan(#[from] ScanError),
}
