use std::path::{Path, PathBuf};

#[must_use]
pub fn log_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("log").join(partition.to_string())
}

#[must_use]
pub fn copy_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("copy").join(partition.to_string())
}

#[must_use]
pub fn index_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("index").join(partition.to_string())
}
