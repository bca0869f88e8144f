//! The page is a file in memory-backed storage that records the end of a partition's log (PL-40). It is written before
//! each answer. The file's name is derived from the log's identity, so a process that starts with a copy of the log
//! finds the page of the original.

use crate::{chain::ChainHead, evidence::EndMark};
use data_encoding::HEXLOWER;
use motherlode_log::Hash;
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

#[derive(Debug)]
pub(crate) struct Page {
    path: PathBuf,
    file: File,
    generation: u64,
    failed: AtomicBool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error("{} is locked: another process on this machine serves this log or a copy of it; stop the other process first", .0.display())]
    InUse(PathBuf),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl Page {
    pub(crate) fn open(
        folder: &Path,
        (log, partition): (Hash, u32),
        exclusive: bool,
    ) -> Result<(Self, Option<EndMark>), PageError> {
        let name = HEXLOWER.encode(&log[..16]);
        let path = folder.join(format!("{name}-{partition}"));
        let failed = |source| PageError::Io { path: path.clone(), source };
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if exclusive => return Err(PageError::InUse(path)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            _ => {}
        }
        let mut text = Vec::new();
        (&mut file).take(1024).read_to_end(&mut text).map_err(failed)?;
        let found = std::str::from_utf8(&text).ok().and_then(EndMark::parse);
        Ok((Self { path, file, generation: 0, failed: AtomicBool::new(false) }, found))
    }

    pub(crate) fn in_generation(self, generation: u64) -> Self {
        Self { generation, ..self }
    }

    pub(crate) fn release(&self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(file = %self.path.display(), %error, "failed to release the lock on the memory-backed file \
                 that records the log's end");
        }
    }

    /// Writes the log's end to the page. If the write fails, the page is removed, so that the next start does not trust
    /// an old page.
    pub(crate) fn write(&self, head: ChainHead) {
        let line = EndMark { head, generation: self.generation, stopped: false }.line();
        let written = self.file.write_all_at(line.as_bytes(), 0);
        if let Err(error) = written
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            tracing::error!(file = %self.path.display(), %error, "failed to write the memory-backed file that \
                 records the log's end: without this file, the next start revokes unused seals");
            if let Err(error) = std::fs::remove_file(&self.path) {
                tracing::error!(file = %self.path.display(), %error, "failed to remove the memory-backed file that \
                     records the log's end");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_40_a_page_is_of_one_log_and_of_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let head = |position| ChainHead { position, hash: [3; 32] };
        let (page, found) = Page::open(folder.path(), ([1; 32], 0), true).unwrap();
        assert_eq!(found, None);
        let page = page.in_generation(4);
        page.write(head(70));
        page.write(head(7));
        assert!(matches!(Page::open(folder.path(), ([1; 32], 0), true), Err(PageError::InUse(_))));
        let remembered = EndMark { head: head(7), generation: 4, stopped: false };
        assert_eq!(Page::open(folder.path(), ([1; 32], 0), false).unwrap().1, Some(remembered));
        drop(page);
        assert_eq!(Page::open(folder.path(), ([1; 32], 0), true).unwrap().1, Some(remembered));
        assert_eq!(Page::open(folder.path(), ([2; 32], 0), true).unwrap().1, None);
        assert_eq!(Page::open(folder.path(), ([1; 32], 1), true).unwrap().1, None);
    }
}
