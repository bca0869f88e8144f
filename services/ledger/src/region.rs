//! Files that are written once and never change: a part of one, from its first byte to its last.

use motherlode_log::Hash;
use sha2::{Digest, Sha256};
use std::{fs::File, io, os::unix::fs::FileExt};

/// Bytes that are gathered before they are written.
const GATHER: usize = 256 << 10;
/// Bytes after which they are synced: the log's own syncs are not to wait for more.
const SYNC_EVERY: u64 = 1 << 20;

/// A part of a file that is written from its first byte to its last.
pub(crate) struct Region<'a> {
    file: &'a File,
    at: u64,
    gathered: Vec<u8>,
    digest: Sha256,
    unsynced: u64,
}

impl<'a> Region<'a> {
    pub(crate) fn new(file: &'a File, at: u64) -> Self {
        Self { file, at, gathered: Vec::with_capacity(GATHER), digest: Sha256::new(), unsynced: 0 }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Piece by piece, so that a long part is synced on its way, too.
        for bytes in bytes.chunks(GATHER) {
            self.gathered.extend_from_slice(bytes);
            if self.gathered.len() >= GATHER {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.digest.update(&self.gathered);
        self.file.write_all_at(&self.gathered, self.at)?;
        self.at += self.gathered.len() as u64;
        self.unsynced += self.gathered.len() as u64;
        self.gathered.clear();
        if self.unsynced >= SYNC_EVERY {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(())
    }

    /// Where its next byte goes.
    pub(crate) fn at(&self) -> u64 {
        self.at + self.gathered.len() as u64
    }

    /// The digest of all its bytes.
    pub(crate) fn end(mut self) -> io::Result<Hash> {
        self.write()?;
        Ok(self.digest.finalize().into())
    }
}
