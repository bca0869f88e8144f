//! File system interface. The log relies on only three guarantees: after a `sync` of a file, its bytes survive a crash;
//! after a `sync` of a directory, its names survive; and `rename` is atomic.

pub mod os;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub trait Disk: fmt::Debug + Send + Sync {
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    fn folder(&self, dir: &Path) -> io::Result<Arc<dyn Folder>>;

    fn lock(&self, path: &Path) -> io::Result<Option<LockGuard>>;

    /// Returns whether a store may use threads. Without threads, the store must prepare everything in
    /// [`Store::tend`](crate::Store::tend), so that tests see all operations in the same order.
    fn has_threads(&self) -> bool {
        true
    }
}

pub type LockGuard = Box<dyn LockHandle>;

pub trait LockHandle: fmt::Debug + Send {}

impl<T: fmt::Debug + Send> LockHandle for T {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

pub trait Folder: fmt::Debug + Send + Sync {
    /// Makes the directory's names durable. After an error, a file's name may be lost unless the file is created or
    /// renamed again.
    fn sync(&self) -> io::Result<()>;
}

pub trait File: fmt::Debug + Send + Sync {
    fn length(&self) -> io::Result<u64>;

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns the number of bytes written, which may be below the length of `bytes`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes written bytes durable. After an error, the bytes may be lost unless they are written again, even if a
    /// second sync succeeds.
    fn sync(&self) -> io::Result<()>;
}

impl dyn File {
    pub(crate) fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(crate) fn read_up_to(&self, bytes: u64, offset: u64) -> io::Result<Vec<u8>> {
        let available = self.length()?.saturating_sub(offset).min(bytes);
        let mut buffer = vec![0; usize::try_from(available).map_err(|_| io::ErrorKind::OutOfMemory)?];
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer.truncate(filled);
        Ok(buffer)
    }
}
