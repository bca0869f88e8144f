//! Table: a file with the sorted entries of one keyspace.
//!
//! ```text
//! blocks    entries in key order, 8 KB per block unless one entry is longer
//! filter    blocks of 32 bytes, see `filter`; empty for a keyspace without one
//! index     for each block its offset (4 bytes), CRC-32C (4), length of its first key (2), first key
//! footer    256 bytes: MAGIC, a Footer in postcard's wire format, zeros
//! ```
//!
//! Integers are little-endian. Unless keys and values have fixed widths, an entry begins with the lengths of its key (2
//! bytes) and value (4 bytes). The file's name is the SHA-256 of the footer, which contains the SHA-256 of each other
//! section. Opening verifies footer, filter and index; each read of a block verifies the block's checksum.

use crate::{
    error::{ViewError, at},
    filter::Filter,
};
use motherlode_log::{Hash, Position};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub(crate) const MAGIC: [u8; 8] = *b"MLTABL01";
pub(crate) const FOOTER: usize = 256;
/// Maximum bytes per block; a longer entry has a block of its own.
pub(crate) const BLOCK_BYTES: usize = 8192;
/// Bytes per read when a table is verified.
const VERIFIED: u64 = 1 << 20;
const LINE: usize = 10;

#[derive(Debug, PartialEq, Eq)]
pub struct Keyspace {
    pub name: &'static str,
    pub version: u32,
    /// Fixed sizes of keys and values in bytes, if any.
    pub widths: Option<(u16, u16)>,
    /// Length of the key prefix in the filter, in bytes; 0 if there is no filter.
    pub filtered: u16,
}

impl Keyspace {
    #[must_use]
    pub fn filtered<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        match self.filtered {
            0 => None,
            u16::MAX => Some(key),
            bytes => key.get(..usize::from(bytes)),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Footer {
    pub(crate) keyspace: String,
    pub(crate) version: u32,
    pub(crate) partition: u32,
    pub(crate) from: Position,
    pub(crate) to: Position,
    pub(crate) entries: u64,
    pub(crate) widths: Option<(u16, u16)>,
    pub(crate) filtered: u16,
    pub(crate) blocks: (u64, Hash),
    pub(crate) filter: (u64, Hash),
    pub(crate) index: (u64, Hash),
}

impl Footer {
    fn file_bytes(&self) -> u64 {
        [self.blocks.0, self.filter.0, self.index.0].into_iter().fold(FOOTER as u64, u64::saturating_add)
    }

    pub(crate) fn encode(&self) -> Option<[u8; FOOTER]> {
        let encoded = postcard::to_allocvec(self).ok()?;
        let mut bytes = [0; FOOTER];
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        bytes.get_mut(MAGIC.len()..MAGIC.len() + encoded.len())?.copy_from_slice(&encoded);
        Some(bytes)
    }
}

#[derive(Debug, Default)]
struct Index {
    keys: Vec<u8>,
    key_ends: Vec<u32>,
    offsets: Vec<u32>,
    sums: Vec<u32>,
}

pub(crate) fn index_line(offset: u32, sum: u32, first: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(first.len()).ok()?;
    Some([&offset.to_le_bytes()[..], &sum.to_le_bytes(), &length.to_le_bytes(), first].concat())
}

impl Index {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (mut index, mut rest) = (Self::default(), bytes);
        while !rest.is_empty() {
            let (line, after) = rest.split_at_checked(LINE)?;
            let length = usize::from(u16::from_le_bytes([line[8], line[9]]));
            let (key, after) = after.split_at_checked(length)?;
            index.offsets.push(u32::from_le_bytes(*line.first_chunk()?));
            index.sums.push(u32::from_le_bytes(*line[4..].first_chunk()?));
            index.keys.extend_from_slice(key);
            index.key_ends.push(u32::try_from(index.keys.len()).ok()?);
            rest = after;
        }
        Some(index)
    }

    fn blocks(&self) -> usize {
        self.offsets.len()
    }

    fn first_key(&self, block: usize) -> &[u8] {
        let end = self.key_ends.get(block).map_or(0, |end| *end as usize);
        let begin = block.checked_sub(1).and_then(|before| self.key_ends.get(before)).map_or(0, |end| *end as usize);
        self.keys.get(begin..end).unwrap_or_default()
    }

    fn blocks_up_to(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.blocks());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_key(middle) <= key { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn bytes(&self) -> u64 {
        (self.keys.capacity() + 4 * (self.key_ends.capacity() + self.offsets.capacity() + self.sums.capacity())) as u64
    }
}

#[derive(Debug)]
pub struct Table {
    id: Hash,
    path: PathBuf,
    keyspace: &'static Keyspace,
    footer: Footer,
    file: Arc<File>,
    filter: Option<Arc<Filter>>,
    index: Arc<Index>,
    is_damaged: Arc<AtomicBool>,
}

pub(crate) type EntryRange = (Range<usize>, Range<usize>, usize);

impl Table {
    /// Verifies all sections except the blocks. A filter longer than `filter_bytes_max` is not loaded; each lookup then
    /// reads a block.
    pub fn open(
        path: &Path,
        id: Hash,
        partition: u32,
        keyspace: &'static Keyspace,
        filter_bytes_max: u64,
    ) -> Result<Self, ViewError> {
        let unusable = |reason| ViewError::unusable(path, reason);
        let (file, footer) = open(path, id, partition)?;
        let same = (&*footer.keyspace, footer.version, footer.widths, footer.filtered)
            == (keyspace.name, keyspace.version, keyspace.widths, keyspace.filtered);
        if !same {
            return Err(unusable("the table does not have the expected keyspace, version or layout"));
        }
        let verified = |from, (length, digest): (u64, Hash)| {
            let bytes = read(&file, path, from, length)?;
            if Sha256::digest(&bytes)[..] == digest[..] {
                Ok(bytes)
            } else {
                Err(unusable("a section of the table is damaged"))
            }
        };
        let (filter_at, index_at) = (footer.blocks.0, footer.blocks.0 + footer.filter.0);
        let index = Index::decode(&verified(index_at, footer.index)?)
            .ok_or_else(|| unusable("the index of the table is damaged"))?;
        let fits = footer.filter.0 > 0 && footer.filter.0 <= filter_bytes_max;
        let filter = fits.then(|| verified(filter_at, footer.filter)).transpose()?;
        let filter =
            filter.map(|bytes| Filter::from_bytes(bytes).ok_or_else(|| unusable("the filter of the table is damaged")));
        Ok(Self {
            id,
            path: path.to_owned(),
            keyspace,
            footer,
            file: Arc::new(file),
            filter: filter.transpose()?.map(Arc::new),
            index: Arc::new(index),
            is_damaged: Arc::default(),
        })
    }

    #[must_use]
    pub fn without_filter(&self) -> Self {
        Self {
            id: self.id,
            path: self.path.clone(),
            keyspace: self.keyspace,
            footer: self.footer.clone(),
            file: Arc::clone(&self.file),
            filter: None,
            index: Arc::clone(&self.index),
            is_damaged: Arc::clone(&self.is_damaged),
        }
    }

    #[must_use]
    pub fn id(&self) -> Hash {
        self.id
    }

    #[must_use]
    pub fn keyspace(&self) -> &'static Keyspace {
        self.keyspace
    }

    #[must_use]
    pub fn from(&self) -> Position {
        self.footer.from
    }

    #[must_use]
    pub fn to(&self) -> Position {
        self.footer.to
    }

    #[must_use]
    pub fn entries(&self) -> u64 {
        self.footer.entries
    }

    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.footer.file_bytes()
    }

    #[must_use]
    pub fn memory(&self) -> u64 {
        self.index.bytes() + self.filter_bytes()
    }

    #[must_use]
    pub fn filter_bytes(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.bytes().len() as u64)
    }

    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    /// Returns false only if the table has no key with this [hash](crate::filter_hash).
    #[must_use]
    pub fn may_contain(&self, hash: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain(hash))
    }

    #[must_use]
    pub fn first_key(&self) -> &[u8] {
        self.index.first_key(0)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.index.blocks()
    }

    pub(crate) fn block_of(&self, key: &[u8]) -> usize {
        self.index.blocks_up_to(key).saturating_sub(1)
    }

    pub(crate) fn read_block(&self, block: usize) -> Result<Vec<u8>, ViewError> {
        let offsets = &self.index.offsets;
        let begin = offsets.get(block).map_or(0, |offset| u64::from(*offset));
        let end = offsets.get(block + 1).map_or(self.footer.blocks.0, |offset| u64::from(*offset));
        let length =
            end.checked_sub(begin).filter(|_| end <= self.footer.blocks.0).ok_or_else(|| self.damage(begin))?;
        let bytes = read(&self.file, &self.path, begin, length)?;
        if self.index.sums.get(block) != Some(&crc32c::crc32c(&bytes)) {
            return Err(self.damage(begin));
        }
        Ok(bytes)
    }

    pub(crate) fn entry(&self, block: &[u8], begin: usize) -> Result<EntryRange, ViewError> {
        let malformed = || {
            self.is_damaged.store(true, Ordering::Release);
            ViewError::unusable(&self.path, "an entry of the table is malformed")
        };
        place(self.keyspace, block, begin).ok_or_else(malformed)
    }

    fn damage(&self, at: u64) -> ViewError {
        self.is_damaged.store(true, Ordering::Release);
        ViewError::Block { path: self.path.clone(), at }
    }
}

fn place(keyspace: &Keyspace, block: &[u8], begin: usize) -> Option<EntryRange> {
    let rest = block.get(begin..)?;
    let (head, key, value) = match keyspace.widths {
        Some((key, value)) => (0, usize::from(key), usize::from(value)),
        None => {
            let (key, rest) = rest.split_first_chunk::<2>()?;
            let value = rest.first_chunk::<4>()?;
            (6, usize::from(u16::from_le_bytes(*key)), usize::try_from(u32::from_le_bytes(*value)).ok()?)
        }
    };
    let key = begin.checked_add(head)?..begin.checked_add(head)?.checked_add(key)?;
    let value = key.end..key.end.checked_add(value)?;
    let end = value.end;
    (end <= block.len() && end > begin).then_some((key, value, end))
}

fn open(path: &Path, id: Hash, partition: u32) -> Result<(File, Footer), ViewError> {
    let unusable = |reason| ViewError::unusable(path, reason);
    let file = File::open(path).map_err(at(path))?;
    let length = file.metadata().map_err(at(path))?.len();
    let start = length.checked_sub(FOOTER as u64).ok_or_else(|| unusable("the table's file is too short"))?;
    let sealed = read(&file, path, start, FOOTER as u64)?;
    if Sha256::digest(&sealed)[..] != id[..] {
        return Err(unusable("the footer of the table is damaged"));
    }
    let encoded = sealed.strip_prefix(&MAGIC).ok_or_else(|| unusable("the file is not a table of the views"))?;
    let (footer, _) =
        postcard::take_from_bytes::<Footer>(encoded).map_err(|_| unusable("the footer of the table is damaged"))?;
    if footer.partition != partition {
        return Err(unusable("the table belongs to a partition other than this store's"));
    }
    if footer.file_bytes() != length {
        return Err(unusable("the file's length does not match its footer"));
    }
    Ok((file, footer))
}

pub(crate) fn verify(path: &Path, id: Hash, partition: u32) -> Result<(), ViewError> {
    let (file, footer) = open(path, id, partition)?;
    let mut at = 0;
    for (length, expected) in [footer.blocks, footer.filter, footer.index] {
        let (mut digest, end) = (Sha256::new(), at + length);
        while at < end {
            let part = read(&file, path, at, (end - at).min(VERIFIED))?;
            digest.update(&part);
            at += part.len() as u64;
        }
        if digest.finalize()[..] != expected[..] {
            return Err(ViewError::unusable(path, "a section of the table is damaged"));
        }
    }
    Ok(())
}

fn read(file: &File, path: &Path, from: u64, bytes: u64) -> Result<Vec<u8>, ViewError> {
    let too_long = |_| ViewError::unusable(path, "a section of the table is too long");
    let mut buffer = vec![0; usize::try_from(bytes).map_err(too_long)?];
    file.read_exact_at(&mut buffer, from).map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => ViewError::unusable(path, "the table's file is too short"),
        _ => ViewError::Io { path: path.to_owned(), source },
    })?;
    Ok(buffer)
}
