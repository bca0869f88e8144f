//! The layout of a data folder: a folder a partition for the log, for its index, and for an operator's copy.

use std::path::{Path, PathBuf};

/// The log of a partition.
#[must_use]
pub fn log_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("log").join(partition.to_string())
}

/// An operator's copy of a partition's log, as `follow` keeps it.
#[must_use]
pub fn copy_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("copy").join(partition.to_string())
}

/// The index of a partition.
#[must_use]
pub fn index_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("index").join(partition.to_string())
}
