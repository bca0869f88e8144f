//! The few things that the log asks of a file system, so that tests can put a treacherous one in its place.
//!
//! [`os::OsDisk`] is the real one; that of the tests (`tests/kit`) forgets what wasn't synced, fills up and fails on demand. After a crash a log relies on no more than POSIX and the common Linux file systems give:
//! bytes after `sync` of their file, names after `sync` of their directory, `rename` as a whole or not at all.

pub mod os;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A file system, as far as the log needs one.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Makes `dir` and what is missing above it, durably.
    ///
    /// # Errors
    /// The file system's.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// The names of the files in `dir`, in no order.
    ///
    /// # Errors
    /// The file system's.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    /// Makes `path` an empty file, whatever it was.
    ///
    /// # Errors
    /// The file system's.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// Opens the file `path` for reading and, if asked, writing.
    ///
    /// # Errors
    /// The file system's.
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>>;

    /// Renames a file, replacing one of that name.
    ///
    /// # Errors
    /// The file system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Opens the directory `dir`, so that its names can be made durable later without another descriptor.
    ///
    /// # Errors
    /// The file system's.
    fn folder(&self, dir: &Path) -> io::Result<Arc<dyn Folder>>;

    /// Locks `path` against every other process and opener until the guard is dropped; `None` if another has it.
    ///
    /// # Errors
    /// The file system's.
    fn lock(&self, path: &Path) -> io::Result<Option<LockGuard>>;
}

/// Holds a lock until it is dropped.
pub type LockGuard = Box<dyn Held>;

/// Whatever has a lock as long as it lives.
pub trait Held: fmt::Debug + Send {}

impl<T: fmt::Debug + Send> Held for T {}

/// The access with which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

/// An open directory.
pub trait Folder: fmt::Debug + Send + Sync {
    /// Makes the names in it durable: `fsync`.
    ///
    /// # Errors
    /// The file system's. Names given since the last success are then in doubt until they are given again.
    fn sync(&self) -> io::Result<()>;
}

/// An open file. Reads and writes name their place, so that one handle serves many threads.
pub trait File: fmt::Debug + Send + Sync {
    /// Its length, bytes.
    ///
    /// # Errors
    /// The file system's.
    fn length(&self) -> io::Result<u64>;

    /// Reads at most `buffer.len()` bytes from `offset`; 0 means the end of the file.
    ///
    /// # Errors
    /// The file system's.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes some of `bytes` at `offset`, extending the file if needed, and answers how many.
    ///
    /// # Errors
    /// The file system's.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Cuts the file, or extends it by zeros, to `bytes`.
    ///
    /// # Errors
    /// The file system's.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes its bytes durable, and what of its metadata is needed to read them: `fdatasync`.
    ///
    /// # Errors
    /// The file system's. What was written since the last success is then in doubt until it is written again: another
    /// sync says nothing of it.
    fn sync(&self) -> io::Result<()>;
}

impl dyn File {
    /// Writes all of `bytes` at `offset`.
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

    /// Reads up to `bytes` bytes from `offset`, fewer only if the file ends.
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
