//! File that is written once, sequentially, with a digest per section.

use motherlode_log::Hash;
use sha2::{Digest, Sha256};
use std::{fs::File, io, io::Write, mem, path::Path};

const GATHER: usize = 256 << 10;
/// Maximum bytes between syncs; more would delay syncs of the log on the same disk.
const SYNC_EVERY: usize = 1 << 20;

pub(crate) struct Output {
    file: File,
    gathered: Vec<u8>,
    digest: Sha256,
    section: u64,
    unsynced: usize,
}

impl Output {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Self { file, gathered: Vec::with_capacity(GATHER), digest: Sha256::new(), section: 0, unsynced: 0 })
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        for bytes in bytes.chunks(GATHER) {
            self.gathered.extend_from_slice(bytes);
            if self.gathered.len() >= GATHER {
                self.write()?;
            }
        }
        self.section += bytes.len() as u64;
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.digest.update(&self.gathered);
        self.file.write_all(&self.gathered)?;
        self.unsynced += self.gathered.len();
        self.gathered.clear();
        if self.unsynced >= SYNC_EVERY {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(())
    }

    pub(crate) fn end_section(&mut self) -> io::Result<(u64, Hash)> {
        self.write()?;
        Ok((mem::take(&mut self.section), self.digest.finalize_reset().into()))
    }

    pub(crate) fn section(&self) -> u64 {
        self.section
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.write()?;
        self.file.sync_all()
    }
}
