//! The writer: one block, one `write`, one `fdatasync` for each append.
//!
//! A segment is filled with zeros, in chunks and synced, before blocks go there: the sync of an append then
//! finds the file's length and extents unchanged and has no metadata to journal, and the disk can run full only
//! while zeros are written, when nothing of the append has been.
//!
//! After a write or sync that failed, the kernel may hold the block in memory as clean while the disk has not
//! got it: nothing read back can tell. The store takes no more appends then, and the next open writes the last
//! block once more and syncs it before it counts.

use std::{io, path::Path, sync::Arc};

use bytes::Bytes;
use parking_lot::RwLock;

use super::{
    format::{MAX_BLOCK, SEGMENT_HEADER, SegmentHeader, block_bytes, body_bytes, encode_block},
    index::Index,
    reader::Shared,
    scan::{MAX_SEGMENT, Step, Tail, Walk, name_of},
};
use crate::{
    Access, AppendError, Disk, File, Hash, LockGuard, OpenError, OsDisk, Position, Reader, ScanError, Store, chain,
};

/// The lock's file in a partition's directory.
const LOCK: &str = "lock";
/// The name of a segment until its header is durable.
const UNFINISHED: &str = "unfinished";

/// How a partition's files are laid out. They may differ from one opening to the next.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// A segment's largest length, bytes: 4 KiB to 1 GiB. Also bounds an append, which never spans two.
    pub segment_bytes: u64,
    /// How many zeros are written ahead at a time, bytes: 512 and more.
    pub zero_bytes: u64,
}

impl Default for Options {
    /// Segments of 64 MiB, zeros by 4 MiB.
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, zero_bytes: 4 << 20 }
    }
}

/// A partition in segment files: its writer.
#[derive(Debug)]
pub struct SegmentStore {
    partition: u32,
    options: Options,
    head: Hash,
    shared: Arc<Shared>,
    /// The segment that is written to; none before the first append.
    active: Option<Active>,
    /// What was found behind the last whole append, and cut.
    recovered: Tail,
    /// Why no more appends are taken.
    failed: Option<String>,
    /// The block that is being written; kept for its memory.
    block: Vec<u8>,
    _lock: LockGuard,
}

/// The segment that is written to.
#[derive(Debug)]
struct Active {
    first: Position,
    file: Arc<dyn File>,
    /// Where the next block goes.
    used: u64,
    /// Up to where durable zeros have been written.
    zeroed: u64,
}

impl SegmentStore {
    /// Opens `partition` in the directory `dir`, which is made if it is missing. Everything in it is verified.
    ///
    /// # Errors
    /// [`OpenError::Locked`] if it is open already; [`ScanError::Damaged`] if anything isn't as it was written,
    /// and then nothing is changed; [`ScanError::Io`] if the file system fails.
    pub fn open(dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        Self::open_on(Arc::new(OsDisk), dir, partition, options)
    }

    /// Opens `partition` in the directory `dir` of `disk`; otherwise as [`open`](Self::open).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(disk: Arc<dyn Disk>, dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        disk.create_dir(dir).map_err(ScanError::at(dir))?;
        let lock = disk.lock(&dir.join(LOCK)).map_err(ScanError::at(dir))?;
        let lock = lock.ok_or_else(|| OpenError::Locked { dir: dir.to_owned() })?;
        let mut walk = Walk::new(Arc::clone(&disk), dir, Some(partition))?;
        let mut index = Index::default();
        let mut last = None;
        while let Some(Step { segment, offset, block }) = walk.step()? {
            index.add(segment, offset, block.bytes as u64, block.first, block.next() - 1);
            last = Some((segment, offset, block.bytes as u64));
        }
        let active = match walk.last_segment {
            Some(first) => {
                let path = dir.join(name_of(first));
                let block = last.filter(|(segment, ..)| *segment == first).map(|(_, offset, bytes)| (offset, bytes));
                let file = disk.open(&path, Access::Write).map_err(ScanError::at(&path))?;
                let active = Active::resume(first, file, block, &walk.tail).map_err(ScanError::at(&path))?;
                disk.sync_dir(dir).map_err(ScanError::at(dir))?;
                Some(active)
            }
            None => None,
        };
        let options = Options {
            segment_bytes: options.segment_bytes.clamp(4 << 10, MAX_SEGMENT),
            zero_bytes: options.zero_bytes.max(512),
        };
        Ok(Self {
            partition,
            options,
            head: walk.head,
            shared: Arc::new(Shared { disk, dir: dir.to_owned(), index: RwLock::new(index) }),
            active,
            recovered: walk.tail,
            failed: None,
            block: Vec::new(),
            _lock: lock,
        })
    }

    /// What the opening found behind the last whole append: [`Tail::Torn`] has been cut away.
    #[must_use]
    pub fn recovered(&self) -> &Tail {
        &self.recovered
    }

    /// The largest block, bytes.
    fn block_limit(&self) -> u64 {
        MAX_BLOCK.min(self.options.segment_bytes - SEGMENT_HEADER as u64)
    }

    /// Sees to it that `records` have durable zeros to be written over, and encodes them for their place.
    fn prepare(&mut self, after: Position, records: &[Bytes], bytes: u64) -> io::Result<()> {
        let limit = self.options.segment_bytes;
        if self.active.as_ref().is_none_or(|active| active.used + bytes > limit) {
            self.active = Some(self.create_segment(after + 1)?);
        }
        if let Some(active) = &mut self.active {
            active.reserve(bytes, self.options.zero_bytes, limit)?;
            encode_block(&mut self.block, active.used, after + 1, records);
        }
        Ok(())
    }

    /// Makes the next segment, durably: its name appears once its header is there.
    fn create_segment(&self, first: Position) -> io::Result<Active> {
        let Shared { disk, dir, .. } = &*self.shared;
        let unfinished = dir.join(UNFINISHED);
        let file = disk.create(&unfinished)?;
        let header = SegmentHeader { partition: self.partition, first, previous: self.head };
        file.write_all_at(&header.encode(), 0)?;
        file.sync()?;
        disk.rename(&unfinished, &dir.join(name_of(first)))?;
        disk.sync_dir(dir)?;
        Ok(Active { first, file, used: SEGMENT_HEADER as u64, zeroed: SEGMENT_HEADER as u64 })
    }

    /// Writes and syncs the encoded block, and only then shows it to the readers.
    fn commit(&mut self, first: Position, last: Position) -> io::Result<()> {
        let Some(active) = &mut self.active else { return Ok(()) };
        active.file.write_all_at(&self.block, active.used)?;
        active.file.sync()?;
        let bytes = self.block.len() as u64;
        self.shared.index.write().publish(active.first, &active.file, active.used, bytes, first, last);
        active.used += bytes;
        Ok(())
    }

    /// Takes no more appends.
    fn fail(&mut self, what: &str, error: &io::Error) -> AppendError {
        let reason = format!("{what} failed: {error}");
        self.failed = Some(reason.clone());
        AppendError::Failed { reason }
    }
}

impl Active {
    /// Goes on with the segment that begins with `first`: cuts a torn tail, and makes the last `block` (place and
    /// length), which may only have been in memory when its writer ended, durable before it counts.
    fn resume(first: Position, file: Arc<dyn File>, block: Option<(u64, u64)>, tail: &Tail) -> io::Result<Self> {
        if let Tail::Torn { offset, .. } = tail {
            file.set_len(*offset)?;
        }
        let (offset, bytes) = block.unwrap_or((0, SEGMENT_HEADER as u64));
        let last = file.read_up_to(bytes, offset)?;
        file.write_all_at(&last, offset)?;
        file.sync()?;
        let zeroed = file.length()?;
        Ok(Self { first, file, used: offset + bytes, zeroed })
    }

    /// Sees to it that `bytes` more can be written over durable zeros; if not, writes `ahead` bytes of them, or as
    /// many as are needed, up to the segment's `limit`.
    fn reserve(&mut self, bytes: u64, ahead: u64, limit: u64) -> io::Result<()> {
        const ZEROS: &[u8] = &[0; 64 * 1024];
        let needed = self.used + bytes;
        if needed <= self.zeroed {
            return Ok(());
        }
        let end = needed.max(self.zeroed.saturating_add(ahead).min(limit));
        let mut at = self.zeroed;
        while at < end {
            let piece = ZEROS.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            self.file.write_all_at(&ZEROS[..piece], at)?;
            at += piece as u64;
        }
        self.file.sync()?;
        self.zeroed = end;
        Ok(())
    }
}

impl Store for SegmentStore {
    fn partition(&self) -> u32 {
        self.partition
    }

    fn end(&self) -> Position {
        self.shared.end()
    }

    fn head(&self) -> Hash {
        self.head
    }

    fn append(&mut self, after: Position, records: &[Bytes]) -> Result<(), AppendError> {
        if let Some(reason) = &self.failed {
            return Err(AppendError::Failed { reason: reason.clone() });
        }
        let end = self.end();
        if after != end {
            return Err(AppendError::Conflict { end });
        }
        let head = chain::follow(self.head, after, records)?;
        if records.is_empty() {
            return Ok(());
        }
        let (bytes, limit) = (block_bytes(body_bytes(records)), self.block_limit());
        if bytes > limit {
            return Err(AppendError::TooLarge { bytes, limit });
        }
        match self.prepare(after, records, bytes) {
            Ok(()) => {}
            Err(error) if is_full(&error) => return Err(AppendError::Full(error)),
            Err(error) => return Err(self.fail("making room", &error)),
        }
        let last = after + records.len() as Position;
        self.commit(after + 1, last).map_err(|error| self.fail("writing", &error))?;
        self.head = head;
        Ok(())
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.shared) as Arc<dyn Reader>
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
