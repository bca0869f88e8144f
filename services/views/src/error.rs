use std::{
    io,
    path::{Path, PathBuf},
};

/// No error loses data, because views can be derived from the log again.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("cannot read or write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: &'static str },
    #[error("{}: the block at byte {at} is damaged", path.display())]
    Block { path: PathBuf, at: u64 },
    #[error("invalid entry in keyspace {keyspace}: {reason}")]
    Entry { keyspace: &'static str, reason: &'static str },
    #[error("cannot use the catalogue of views {}: {reason}", path.display())]
    Catalogue { path: PathBuf, reason: String },
    #[error("the checkpoint cannot be removed, because a prune removed the log's records before it")]
    Needed,
    #[error("the store of views is closing")]
    Stopped,
}

impl ViewError {
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Unusable { .. } | Self::Block { .. })
    }

    pub(crate) fn unusable(path: &Path, reason: &'static str) -> Self {
        Self::Unusable { path: path.to_owned(), reason }
    }
}

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
