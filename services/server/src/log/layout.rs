//! The layout of a data folder.

use std::path::{Path, PathBuf};

/// Folder of a partition's log.
#[must_use]
pub fn log_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("log").join(partition.to_string())
}

/// Folder of an operator's copy of a partition, kept by `follow`.
#[must_use]
pub fn copy_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("copy").join(partition.to_string())
}

/// Folder of a partition's index.
#[must_use]
pub fn index_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("index").join(partition.to_string())
}
