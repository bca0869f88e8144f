//! Start of a log: its first position and the hash of the record before that position. The file `start` must be durable
//! before the first segment is removed. Its format:
//!
//! ```text
//! "MLSTART1"  SHA-256 of the rest 32
//! partition u32  first position u64  hash of the record before it 32  hash of record 1 32
//! ```
//!
//! If the file `start` does not exist, a missing first segment counts as damage. If the file exists, a segment must
//! start at the recorded position and continue the recorded hash; older segments are ignored.

use std::path::Path;

use bytes::{Buf, BufMut};
use sha2::{Digest, Sha256};

use crate::{
    chain::genesis,
    damage::{Damage, ScanError},
    disk::{Access, Disk},
    error::ReadError,
    record::{Hash, Position},
};

const MAGIC: [u8; 8] = *b"MLSTART1";
const BYTES: u64 = 8 + 32 + 4 + 8 + 32 + 32;
const FILE: &str = "start";
const UNFINISHED: &str = "start.new";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStart {
    pub first: Position,
    pub previous: Hash,
}

impl LogStart {
    #[must_use]
    pub fn genesis(partition: u32) -> Self {
        Self { first: 1, previous: genesis(partition) }
    }

    /// Checks a position to read from; a position of 0 means 1. Fails with [`ReadError::Archived`] if the position is
    /// below `first`.
    pub fn check(&self, position: Position) -> Result<(), ReadError> {
        let (position, first) = (position.max(1), self.first);
        if position < first { Err(ReadError::Archived { position, first }) } else { Ok(()) }
    }

    pub(crate) fn read(disk: &dyn Disk, dir: &Path, partition: Option<u32>) -> Result<Option<(u32, Self)>, ScanError> {
        let Some((of, start, _)) = Self::read_file(disk, dir)? else { return Ok(None) };
        match partition {
            Some(partition) if partition != of => Err(damage(
                dir,
                format!(
                    "the file that records the log's start names partition {of}, which is not the partition of this log"
                ),
            )
            .into()),
            _ => Ok(Some((of, start))),
        }
    }

    pub(crate) fn read_identity(disk: &dyn Disk, dir: &Path) -> Result<Option<Hash>, ScanError> {
        Ok(Self::read_file(disk, dir)?.map(|(.., identity)| identity))
    }

    fn read_file(disk: &dyn Disk, dir: &Path) -> Result<Option<(u32, Self, Hash)>, ScanError> {
        let path = dir.join(FILE);
        let listed = disk.list(dir).map_err(ScanError::at(dir))?;
        if !listed.iter().any(|name| name == Path::new(FILE)) {
            return Ok(None);
        }
        let read = disk.open(&path, Access::Read).and_then(|file| file.read_up_to(BYTES + 1, 0));
        let bytes = read.map_err(ScanError::at(&path))?;
        let found = Self::decode(&bytes);
        found.map(Some).ok_or_else(|| damage(dir, "the file that records the log's start is damaged".into()).into())
    }

    pub(crate) fn write(&self, disk: &dyn Disk, dir: &Path, partition: u32, identity: &Hash) -> Result<(), ScanError> {
        let mut body = vec![];
        body.put_u32_le(partition);
        body.put_u64_le(self.first);
        body.put_slice(&self.previous);
        body.put_slice(identity);
        let bytes = [&MAGIC[..], &Sha256::digest(&body), &body].concat();
        let path = dir.join(UNFINISHED);
        let written = disk.create(&path).and_then(|file| {
            file.write_all_at(&bytes, 0)?;
            file.sync()?;
            disk.rename(&path, &dir.join(FILE))?;
            disk.folder(dir)?.sync()
        });
        written.map_err(ScanError::at(&path))
    }

    fn decode(bytes: &[u8]) -> Option<(u32, Self, Hash)> {
        let (digest, mut body) = bytes.strip_prefix(&MAGIC)?.split_first_chunk::<32>()?;
        if Sha256::digest(body)[..] != digest[..] {
            return None;
        }
        let (partition, first) = (body.try_get_u32_le().ok()?, body.try_get_u64_le().ok()?);
        let (mut previous, mut identity) = ([0; 32], [0; 32]);
        body.try_copy_to_slice(&mut previous).ok()?;
        body.try_copy_to_slice(&mut identity).ok()?;
        (body.is_empty() && first > 0).then_some((partition, Self { first, previous }, identity))
    }
}

fn damage(dir: &Path, reason: String) -> Damage {
    Damage { file: dir.join(FILE), offset: 0, position: 1, reason }
}
