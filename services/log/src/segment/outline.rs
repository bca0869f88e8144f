//! An outline is a stored summary of a full segment, so that a log opens without reading the segment.
//!
//! ```text
//! "MLOUTLN1"  SHA-256 of the rest 32
//! partition u32  first position u64  last position u64  hash of the last record 32  used bytes u64
//! marks u32, each position u64  offset u64
//! ```
//!
//! An outline is used only if its positions and hash match the headers of its own segment and of the next segment. The
//! segment's records are then not verified.

use std::path::{Path, PathBuf};

use bytes::{Buf, BufMut};
use sha2::{Digest, Sha256};

use crate::{
    disk::{Access, Disk},
    record::{Hash, Position},
};

const MAGIC: [u8; 8] = *b"MLOUTLN1";
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outline {
    pub partition: u32,
    pub first: Position,
    pub last: Position,
    pub head: Hash,
    pub used: u64,
    pub marks: Vec<(Position, u64)>,
}

fn file(dir: &Path, first: Position) -> PathBuf {
    dir.join(format!("{first:020}.outline"))
}

impl Outline {
    pub fn read(disk: &dyn Disk, dir: &Path, first: Position) -> Option<Self> {
        let file = disk.open(&file(dir, first), Access::Read).ok()?;
        let bytes = file.read_up_to(BYTES_MAX, 0).ok()?;
        Self::decode(&bytes).filter(|outline| outline.first == first)
    }

    /// Writes the file without a sync, because an incomplete file fails its digest check.
    pub fn write(&self, disk: &dyn Disk, dir: &Path) -> std::io::Result<()> {
        disk.create(&file(dir, self.first))?.write_all_at(&self.encode(), 0)
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = vec![];
        body.put_u32_le(self.partition);
        body.put_u64_le(self.first);
        body.put_u64_le(self.last);
        body.put_slice(&self.head);
        body.put_u64_le(self.used);
        body.put_u32_le(u32::try_from(self.marks.len()).unwrap_or(u32::MAX));
        for (position, offset) in &self.marks {
            body.put_u64_le(*position);
            body.put_u64_le(*offset);
        }
        [&MAGIC[..], &Sha256::digest(&body), &body].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (digest, mut body) = bytes.strip_prefix(&MAGIC)?.split_first_chunk::<32>()?;
        if Sha256::digest(body)[..] != digest[..] {
            return None;
        }
        let partition = body.try_get_u32_le().ok()?;
        let (first, last) = (body.try_get_u64_le().ok()?, body.try_get_u64_le().ok()?);
        let mut head = [0; 32];
        body.try_copy_to_slice(&mut head).ok()?;
        let used = body.try_get_u64_le().ok()?;
        let count = body.try_get_u32_le().ok()? as usize;
        if body.len() != count.checked_mul(16)? || last < first || count == 0 {
            return None;
        }
        let marks = (0..count).map(|_| (body.get_u64_le(), body.get_u64_le())).collect();
        Some(Self { partition, first, last, head, used, marks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_10_an_outline_comes_back_as_it_was_and_no_flipped_bit_is_believed() {
        let marks = vec![(1, 64), (700, 65_600)];
        let outline = Outline { partition: 3, first: 1, last: 900, head: [7; 32], used: 90_000, marks };
        let bytes = outline.encode();
        assert_eq!(Outline::decode(&bytes), Some(outline));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Outline::decode(&flipped), None, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(Outline::decode(&bytes[..length]), None, "{length} bytes");
        }
    }
}
