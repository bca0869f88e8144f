//! Errors of the store.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Error of a file of the store. Nothing is lost with a file: the log has its facts.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the file system.
        source: io::Error,
    },
    /// A file has other bytes than were written, or is of another partition, keyspace or version.
    #[error("{}: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        reason: &'static str,
    },
    /// A block of a table has other bytes than were written.
    #[error("{}: the block at byte {at} is damaged", path.display())]
    Block {
        /// The table.
        path: PathBuf,
        /// Where the block begins.
        at: u64,
    },
    /// An entry cannot be written or decoded.
    #[error("an entry of {keyspace}: {reason}")]
    Entry {
        /// Name of the keyspace.
        keyspace: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// The catalogue cannot be used.
    #[error("catalogue {}: {reason}", path.display())]
    Catalogue {
        /// Its folder.
        path: PathBuf,
        /// Error of sled.
        reason: String,
    },
    /// The store is being closed.
    #[error("the store of views is closing")]
    Stopped,
}

impl ViewError {
    /// Whether a file was read and has other bytes than it should have.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Unusable { .. } | Self::Block { .. })
    }

    pub(crate) fn unusable(path: &Path, reason: &'static str) -> Self {
        Self::Unusable { path: path.to_owned(), reason }
    }
}

/// Adds the path to an error of the file system.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> ViewError {
    move |source| ViewError::Io { path: path.to_owned(), source }
}

impl From<ViewError> for io::Error {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Io { source, .. } => source,
            other => Self::other(other),
        }
    }
}
