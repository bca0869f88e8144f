//! Runs: files with the names of a range of commits, in order of names, that never change once they are written.
//!
//! ```text
//! header    256 bytes: MAGIC, the SHA-256 of the rest of it, a Header in postcard's wire format, zeros
//! filter    blocks of 32 bytes, see `filter`
//! tables    for each bucket the number of its first entry (4 bytes), then for each the CRC-32C of its entries (4 bytes)
//! entries   a name (8 bytes) and how many commits after `from` it stands (4 bytes), in order; some 512 make a bucket
//! ```
//!
//! All integers are little-endian. A name's bucket is its place among the buckets, so a question is one read of some 6 KB.
//! Header, filter and tables are verified when a run is opened, a bucket each time that it's read. Cost: 12 bytes of memory a
//! thousand commits for the tables, 1.5 a commit for the filter, 13.5 a commit on the disk.

use super::{
    filter::{BLOCK, Filter, Making, blocks},
    name::{Key, Name},
};
use crate::{error::OpenError, region::Region};
use motherlode_log::{Hash, Position};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The first bytes of a run, with the version of its format.
const MAGIC: [u8; 8] = *b"MLRUN001";
/// Bytes of the header.
const HEADER: usize = 256;
/// Where what its digest is of begins.
const SEALED: usize = MAGIC.len() + 32;
/// Bytes of an entry.
const ENTRY: usize = 12;
/// Entries of a bucket, about.
const BUCKET: u64 = 512;

/// Why a run is of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it's damaged")]
    Damaged,
    #[error("it's of partition {0}")]
    OtherPartition(u32),
    #[error("its names are hashed with another key")]
    OtherKey,
    #[error("it was made from another log")]
    OtherLog,
    #[error("others have what it has")]
    Superseded,
    /// Its making was broken off, since the ledger closes.
    #[error("the ledger closes")]
    Stopped,
    #[error(transparent)]
    Log(#[from] OpenError),
}

/// The place and the origin of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Range {
    pub(super) key: Key,
    pub(super) partition: u32,
    /// The position before its first.
    pub(super) from: Position,
    /// Its last position.
    pub(super) to: Position,
    /// Hashes of the records at its first and its last position: that it's of this very log.
    pub(super) first: Hash,
    pub(super) last: Hash,
}

impl Range {
    pub(super) fn count(&self) -> u64 {
        self.to - self.from
    }

    /// The name of its file.
    pub(super) fn file_name(&self) -> String {
        format!("{:020}-{:020}.run", self.from + 1, self.to)
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    range: Range,
    filter: Hash,
    tables: Hash,
}

/// Where the parts of a file are.
struct Layout {
    buckets: u64,
    filter: u64,
    tables: u64,
    entries: u64,
    end: u64,
}

impl Layout {
    fn of(count: u64) -> Self {
        let buckets = count.div_ceil(BUCKET).max(1);
        let filter = HEADER as u64;
        let tables = filter + blocks(count) * BLOCK as u64;
        let entries = tables + buckets * 8;
        Self { buckets, filter, tables, entries, end: entries + count * ENTRY as u64 }
    }
}

/// A run that is open for reading.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) range: Range,
    file: Arc<File>,
    /// Left out where memory for filters is used up: then each question is a read.
    filter: Option<Arc<Filter>>,
    tables: Arc<Tables>,
    /// Bytes of it are not what was written: it's to be made again.
    damaged: Arc<AtomicBool>,
}

/// Of each bucket.
#[derive(Debug)]
struct Tables {
    starts: Vec<u32>,
    sums: Vec<u32>,
}

impl Run {
    /// Opens a file and verifies all but its entries. A filter that needs more memory than this is left out.
    pub(super) fn open(path: &Path, partition: u32, filter_bytes_max: u64) -> Result<Self, RunError> {
        let file = File::open(path)?;
        let Header { range, filter, tables } = read_header(&file)?;
        if range.partition != partition {
            return Err(RunError::OtherPartition(range.partition));
        }
        let named = path.file_name().is_some_and(|name| name == range.file_name().as_str());
        let unnamed = path.extension().is_some_and(|extension| extension == "new");
        if !(named || unnamed) || range.from >= range.to || range.count() > u64::from(u32::MAX) {
            return Err(RunError::Damaged);
        }
        let layout = Layout::of(range.count());
        if file.metadata()?.len() != layout.end {
            return Err(RunError::Damaged);
        }
        let verified = |from, to, digest: Hash| {
            let bytes = read(&file, from, to - from)?;
            if Sha256::digest(&bytes)[..] == digest[..] { Ok(bytes) } else { Err(RunError::Damaged) }
        };
        let bytes = verified(layout.tables, layout.entries, tables)?;
        let (starts, sums) = bytes.split_at(bytes.len() / 2);
        let number = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
        let numbers = |bytes: &[u8]| bytes.chunks_exact(4).filter_map(number).collect();
        let tables = Arc::new(Tables { starts: numbers(starts), sums: numbers(sums) });
        let fits = layout.tables - layout.filter <= filter_bytes_max;
        let filter = fits.then(|| verified(layout.filter, layout.tables, filter)).transpose()?;
        let filter = filter.map(|bytes| Arc::new(Filter::new(bytes)));
        Ok(Self { range, file: Arc::new(file), filter, tables, damaged: Arc::default() })
    }

    /// The same run without its filter.
    pub(super) fn without_filter(&self) -> Self {
        let (file, tables) = (Arc::clone(&self.file), Arc::clone(&self.tables));
        Self { range: self.range.clone(), file, filter: None, tables, damaged: Arc::clone(&self.damaged) }
    }

    /// False of no name that is there.
    pub(super) fn may_hold(&self, name: Name) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_hold(name))
    }

    /// Adds the positions of commits with a name. A run that turns out to be damaged remembers it.
    pub(super) fn find(&self, name: Name, found: &mut Vec<Position>) -> Result<(), RunError> {
        let bucket = self.bucket(name.place(self.tables.starts.len() as u64));
        let entries = bucket.inspect_err(|_| self.damaged.store(true, Ordering::Release))?;
        found.extend(entries.into_iter().filter(|(of, _)| *of == name).map(|(_, position)| position));
        Ok(())
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Acquire)
    }

    /// All names with their positions, in order, read bucket by bucket.
    pub(super) fn entries(&self) -> impl Iterator<Item = Result<(Name, Position), RunError>> {
        (0..self.tables.starts.len() as u64).flat_map(|bucket| {
            let (entries, error) = match self.bucket(bucket) {
                Ok(entries) => (entries, None),
                Err(error) => {
                    self.damaged.store(true, Ordering::Release);
                    (vec![], Some(Err(error)))
                }
            };
            entries.into_iter().map(Ok).chain(error)
        })
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        self.filter_bytes() + 8 * self.tables.starts.len() as u64
    }

    /// Those of its filter.
    pub(super) fn filter_bytes(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.bytes())
    }

    fn bucket(&self, bucket: u64) -> Result<Vec<(Name, Position)>, RunError> {
        let Tables { starts, sums } = &*self.tables;
        let at = usize::try_from(bucket).map_err(|_| RunError::Damaged)?;
        let start = u64::from(*starts.get(at).ok_or(RunError::Damaged)?);
        let end = starts.get(at + 1).map_or(self.range.count(), |end| u64::from(*end));
        if start > end || end > self.range.count() {
            return Err(RunError::Damaged);
        }
        let begin = Layout::of(self.range.count()).entries + start * ENTRY as u64;
        let bytes = read(&self.file, begin, (end - start) * ENTRY as u64)?;
        if sums.get(at) != Some(&crc32c::crc32c(&bytes)) {
            return Err(RunError::Damaged);
        }
        let entry = |bytes: &[u8]| {
            let (name, after) = bytes.split_first_chunk::<8>()?;
            Some((
                Name(u64::from_le_bytes(*name)),
                self.range.from + u64::from(u32::from_le_bytes(after.try_into().ok()?)),
            ))
        };
        Ok(bytes.chunks_exact(ENTRY).filter_map(entry).collect())
    }
}

fn read(file: &File, at: u64, bytes: u64) -> Result<Vec<u8>, RunError> {
    let mut buffer = vec![0; usize::try_from(bytes).map_err(|_| RunError::Damaged)?];
    file.read_exact_at(&mut buffer, at).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => RunError::Damaged,
        _ => RunError::Io(error),
    })?;
    Ok(buffer)
}

fn read_header(file: &File) -> Result<Header, RunError> {
    let header = read(file, 0, HEADER as u64)?;
    let rest = header.strip_prefix(&MAGIC).ok_or(RunError::Damaged)?;
    let (digest, sealed) = rest.split_first_chunk::<32>().ok_or(RunError::Damaged)?;
    if Sha256::digest(sealed)[..] != digest[..] {
        return Err(RunError::Damaged);
    }
    Ok(postcard::take_from_bytes(sealed).map_err(|_| RunError::Damaged)?.0)
}

/// Writes a run and syncs it. `entries` are the names of exactly its positions, in order; their making may fail.
pub(super) fn write(
    path: &PathBuf,
    range: &Range,
    entries: impl Iterator<Item = Result<(Name, Position), RunError>>,
) -> Result<(), RunError> {
    let count = range.count();
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let layout = Layout::of(count);
    let mut filter = Region::new(&file, layout.filter);
    let mut body = Region::new(&file, layout.entries);
    let mut making = Making::of(count);
    let (mut starts, mut sums) = (vec![], vec![]);
    let (mut written, mut sum) = (0, 0);
    for entry in entries {
        let (name, position) = entry?;
        while (starts.len() as u64) <= name.place(layout.buckets) {
            if !starts.is_empty() {
                sums.push(sum);
            }
            starts.push(written);
            sum = 0;
        }
        let after = position.checked_sub(range.from).and_then(|after| u32::try_from(after).ok());
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&name.0.to_le_bytes());
        bytes[8..].copy_from_slice(&after.ok_or(RunError::Damaged)?.to_le_bytes());
        sum = crc32c::crc32c_append(sum, &bytes);
        body.put(&bytes)?;
        making.take(name, &mut |block: &[u8]| filter.put(block))?;
        written += 1;
    }
    making.end(&mut |block: &[u8]| filter.put(block))?;
    while (starts.len() as u64) < layout.buckets {
        if !starts.is_empty() {
            sums.push(sum);
        }
        starts.push(written);
        sum = 0;
    }
    sums.push(sum);
    if u64::from(written) != count {
        return Err(RunError::Damaged);
    }
    let filter = filter.end()?;
    body.end()?;
    let mut tables = Region::new(&file, layout.tables);
    for number in starts.into_iter().chain(sums) {
        tables.put(&number.to_le_bytes())?;
    }
    let header = Header { range: range.clone(), filter, tables: tables.end()? };
    let encoded = postcard::to_allocvec(&header).map_err(io::Error::other)?;
    let mut sealed = [0; HEADER - SEALED];
    sealed.get_mut(..encoded.len()).ok_or(RunError::Damaged)?.copy_from_slice(&encoded);
    file.write_all_at(&[&MAGIC[..], &Sha256::digest(sealed), &sealed].concat(), 0)?;
    Ok(file.sync_all()?)
}
