//! Catalogue of the current checkpoint and the pinned checkpoints, stored in sled.
//!
//! A checkpoint is committed when the catalogue names the checkpoint. Older files are removed after that. An empty,
//! outdated or unreadable catalogue is replaced: the sequence numbers in the checkpoint files show which checkpoint is
//! the newest. A catalogue longer than [`BYTES_MAX`] is rewritten, because sled does not free space.
//!
//! | key | value |
//! |---|---|
//! | `current` | digest (32 bytes) and number (8 bytes) of the current checkpoint |
//! | `pin/` name | digest of the pinned checkpoint (32 bytes), end of the pin in Unix milliseconds (8 bytes) |

use crate::error::{ViewError, at};
use motherlode_log::Hash;
use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

pub(crate) const BYTES_MAX: u64 = 16 << 20;
const PINS_MAX: usize = 64;
const CLOSE_MAX: Duration = Duration::from_secs(10);
const CURRENT: &[u8] = b"current";
const PIN: &[u8] = b"pin/";

/// Digest of a checkpoint, with the checkpoint's number or the pin's expiry.
pub(crate) type Named = (Hash, u64);

pub(crate) struct Catalogue {
    folder: PathBuf,
    database: Option<sled::Db>,
    pub(crate) current: Option<Named>,
    pub(crate) pins: BTreeMap<String, Named>,
}

impl Catalogue {
    pub(crate) fn open(folder: &Path) -> Result<Self, ViewError> {
        if File::open(folder.join("db"))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
        {
            return Err(failed(folder, "another process is using the catalogue"));
        }
        Self::try_open(folder).or_else(|error| {
            tracing::warn!(%error, "failed to open the catalogue of views: replacing it with an empty one");
            remove(folder)?;
            Self::try_open(folder)
        })
    }

    fn try_open(folder: &Path) -> Result<Self, ViewError> {
        // sled panics on some damaged files.
        let opened = panic::catch_unwind(|| {
            let database = sled::Config::new().path(folder).cache_capacity(4 << 20).flush_every_ms(None).open()?;
            let current = database.get(CURRENT)?;
            let pins = database.scan_prefix(PIN).take(PINS_MAX).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, sled::Error>((database, current, pins))
        });
        let (database, current, pins) = match opened {
            Ok(opened) => opened.map_err(|error| failed(folder, error))?,
            Err(_) => return Err(failed(folder, "sled panicked while opening or reading its files")),
        };
        let malformed = || failed(folder, "a value in the catalogue is malformed");
        let current = current.map(|value| decode(&value).ok_or_else(malformed)).transpose()?;
        let pin = |(key, value): &(sled::IVec, sled::IVec)| {
            let name = key.strip_prefix(PIN).and_then(|name| std::str::from_utf8(name).ok()).ok_or_else(malformed)?;
            Ok((name.to_owned(), decode(value).ok_or_else(malformed)?))
        };
        let pins = pins.iter().map(pin).collect::<Result<_, ViewError>>()?;
        Ok(Self { folder: folder.to_owned(), database: Some(database), current, pins })
    }

    pub(crate) fn set_current(&mut self, current: Option<Named>) -> Result<(), ViewError> {
        self.current = current;
        self.put(CURRENT, current)
    }

    pub(crate) fn pin(&mut self, name: &str, pinned: Named) -> Result<bool, ViewError> {
        if self.pins.len() >= PINS_MAX && !self.pins.contains_key(name) {
            return Ok(false);
        }
        self.pins.insert(name.to_owned(), pinned);
        self.put(&[PIN, name.as_bytes()].concat(), Some(pinned))?;
        Ok(true)
    }

    pub(crate) fn expire(&mut self, now_ms: u64) -> Result<(), ViewError> {
        let expired: Vec<_> =
            self.pins.iter().filter(|(_, (_, until))| *until <= now_ms).map(|(name, _)| name.clone()).collect();
        for name in expired {
            self.pins.remove(&name);
            self.put(&[PIN, name.as_bytes()].concat(), None)?;
        }
        Ok(())
    }

    fn put(&mut self, key: &[u8], named: Option<Named>) -> Result<(), ViewError> {
        let database = match &self.database {
            Some(database) if database.size_on_disk().is_ok_and(|bytes| bytes <= BYTES_MAX) => database,
            _ => return self.rewrite(),
        };
        let put = panic::catch_unwind(AssertUnwindSafe(|| {
            match named {
                Some(named) => database.insert(key, encode(named))?,
                None => database.remove(key)?,
            };
            database.flush()
        }));
        match put {
            // sled's flush writes the file `db` without a sync.
            Ok(Ok(_)) => sync(&self.folder),
            _ => self.rewrite(),
        }
    }

    fn rewrite(&mut self) -> Result<(), ViewError> {
        self.close();
        remove(&self.folder)?;
        let opened = Self::try_open(&self.folder)?.take()?;
        let mut batch = sled::Batch::default();
        let mut write = |key: Vec<u8>, named: Named| batch.insert(key, encode(named));
        self.current.into_iter().for_each(|current| write(CURRENT.to_vec(), current));
        self.pins.iter().for_each(|(name, pinned)| write([PIN, name.as_bytes()].concat(), *pinned));
        let written = opened.apply_batch(batch).and_then(|()| opened.flush());
        self.database = Some(opened);
        written.map_err(|error| failed(&self.folder, error))?;
        sync(&self.folder)
    }

    fn take(mut self) -> Result<sled::Db, ViewError> {
        self.database.take().ok_or_else(|| failed(&self.folder, "it is closed"))
    }

    fn close(&mut self) {
        let Some(database) = self.database.take() else { return };
        let file = File::open(self.folder.join("db"));
        let _ = panic::catch_unwind(AssertUnwindSafe(|| drop(database)));
        let (Ok(file), begun) = (file, Instant::now()) else { return };
        while let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
            if begun.elapsed() > CLOSE_MAX {
                tracing::warn!(folder = %self.folder.display(), "sled still holds the lock on the catalogue of views after 10 s; not waiting any longer");
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Catalogue {
    fn drop(&mut self) {
        self.close();
    }
}

fn encode((hash, number): Named) -> Vec<u8> {
    [&hash[..], &number.to_be_bytes()].concat()
}

fn decode(value: &[u8]) -> Option<Named> {
    let (hash, number) = value.split_first_chunk::<32>()?;
    Some((*hash, u64::from_be_bytes(number.try_into().ok()?)))
}

fn sync(folder: &Path) -> Result<(), ViewError> {
    let path = folder.join("db");
    File::open(&path).and_then(|file| file.sync_data()).map_err(at(&path))
}

fn remove(folder: &Path) -> Result<(), ViewError> {
    match if folder.is_file() { fs::remove_file(folder) } else { fs::remove_dir_all(folder) } {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(at(folder)),
    }
}

fn failed(folder: &Path, reason: impl ToString) -> ViewError {
    ViewError::Catalogue { path: folder.to_owned(), reason: reason.to_string() }
}
