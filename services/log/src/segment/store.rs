//! The writer: one block, one `write`, one `fdatasync` for each append.
//!
//! A segment is filled with zeros, in chunks and synced, before blocks go there: the sync of an append then
//! finds the file's length and extents unchanged and has no metadata to journal, and the disk can run full only
//! while zeros are written, when nothing of the append has been. The next segment's file is made when half of the
//! present one is used, so that the change from one to the other needs no new descriptor and no room.
//!
//! After a write or sync that failed, the kernel may hold the block in memory as clean while the disk has not
//! got it: nothing read back can tell. So before anything else is written the segment is cut behind its last whole
//! append, what shares a page with the cut is written once more, and that is synced ([`Active::mend`]): the failed
//! append is then not in the log, whatever the disk had got of it. Until that has succeeded, its outcome is unknown.
//! An opening does the same with what it finds.

use std::{io, path::Path, sync::Arc};

use bytes::Bytes;
use parking_lot::RwLock;

use super::{
    active::{Active, write_zeros},
    format::{MAX_BLOCK, SEGMENT_HEADER, SegmentHeader, block_bytes, body_bytes, encode_block},
    index::Index,
    outline::Outline,
    reader::Shared,
    scan::{MAX_SEGMENT, Step, Tail, Walk, name_of},
};
use crate::{
    chain::Chained,
    damage::{OpenError, ScanError},
    disk::os::OsDisk,
    disk::{Access, Disk, File, Folder, LockGuard},
    error::AppendError,
    record::{Hash, Position},
    start::LogStart,
    store::{Reader, Store},
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
    /// Segments of 64 MiB, zeros by 512 KiB: an append that has to write them first takes little longer, and of all syncs they are few.
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, zero_bytes: 512 << 10 }
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
    /// The file of the segment after it, unnamed as yet.
    spare: Option<Active>,
    /// A segment with the next position may be there, unfinished: the next block goes into a new one in its place.
    rolling: bool,
    /// The bytes for which the last append found no room.
    starved: Option<u64>,
    /// The bytes that the opening found after the last whole append; the first [`settle`](Store::settle) cuts them
    /// away.
    recovered: Tail,
    /// Whether bytes that the opening found may not be durable yet.
    opened: bool,
    folder: Arc<dyn Folder>,
    /// The block that is being written; kept for its memory.
    block: Vec<u8>,
    /// Full segments without an outline, with the hashes of their last records.
    full: Vec<(Position, Hash)>,
    /// Up to here nothing was read at the opening.
    unread: Position,
    _lock: LockGuard,
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
        let mut store = Self::open_unchanged_on(disk, dir, partition, options)?;
        let path = store.active.as_ref().map_or_else(|| dir.to_owned(), |active| dir.join(name_of(active.first)));
        store.mend().map_err(ScanError::at(&path))?;
        Ok(store)
    }

    /// Opens `partition` in the directory `dir` without changing the log, so that a caller can still decide whether
    /// this is the right one. Until [`settle`](Store::settle) or the first append its bytes may not be durable, and a
    /// torn tail is still there.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_unchanged(dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        Self::open_unchanged_on(Arc::new(OsDisk), dir, partition, options)
    }

    /// The same, but full segments that have an outline are not read: that they are as they were appended is to be verified
    /// later, up to [`unread`](Store::unread). That none is missing, and that they chain by their headers, is verified.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_by_outlines(dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        Self::open_walking(Arc::new(OsDisk), dir, partition, options, true)
    }

    /// As [`open_unchanged`](Self::open_unchanged) in the directory `dir` of `disk`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_unchanged_on(
        disk: Arc<dyn Disk>,
        dir: &Path,
        partition: u32,
        options: Options,
    ) -> Result<Self, OpenError> {
        Self::open_walking(disk, dir, partition, options, false)
    }

    fn open_walking(
        disk: Arc<dyn Disk>,
        dir: &Path,
        partition: u32,
        options: Options,
        by_outlines: bool,
    ) -> Result<Self, OpenError> {
        disk.create_dir(dir).map_err(ScanError::at(dir))?;
        let lock = disk.lock(&dir.join(LOCK)).map_err(ScanError::at(&dir.join(LOCK)))?;
        let lock = lock.ok_or_else(|| OpenError::Locked { dir: dir.to_owned() })?;
        let mut walk = Walk::new(Arc::clone(&disk), dir, Some(partition))?;
        walk.by_outlines = by_outlines;
        let start = LogStart { first: walk.next, previous: walk.head };
        let mut index = Index::after(walk.next - 1);
        let (mut last, mut unread) = (None, 0);
        let mut pass = |index: &mut Index, passed: std::vec::Drain<Outline>| {
            for outline in passed {
                unread = outline.last;
                index.add_outlined(outline);
            }
        };
        while let Some(Step { segment, offset, block }) = walk.step()? {
            pass(&mut index, walk.passed.drain(..));
            index.add(segment, offset, block.bytes as u64, block.first, block.next() - 1);
            last = Some((segment, offset, block.bytes as u64));
        }
        pass(&mut index, walk.passed.drain(..));
        let active = match walk.last_segment {
            Some(first) => {
                let path = dir.join(name_of(first));
                let block = last.filter(|(segment, ..)| *segment == first).map(|(_, offset, bytes)| (offset, bytes));
                let file = disk.open(&path, Access::Write).map_err(ScanError::at(&path))?;
                Some(Active::found(first, file, block, &walk.tail).map_err(ScanError::at(&path))?)
            }
            None => None,
        };
        let options = Options {
            segment_bytes: options.segment_bytes.clamp(4 << 10, MAX_SEGMENT),
            zero_bytes: options.zero_bytes.max(512),
        };
        let folder = disk.folder(dir).map_err(ScanError::at(dir))?;
        Ok(Self {
            partition,
            options,
            head: walk.head,
            shared: Arc::new(Shared { disk, dir: dir.to_owned(), start, index: RwLock::new(index) }),
            active,
            spare: None,
            rolling: false,
            starved: None,
            recovered: walk.tail,
            opened: true,
            folder,
            block: Vec::new(),
            full: walk.full,
            unread,
            _lock: lock,
        })
    }

    /// Describes the bytes that the opening found after the last whole append. [`Tail::Torn`] is cut away when the
    /// store settles.
    #[must_use]
    pub fn recovered(&self) -> &Tail {
        &self.recovered
    }

    /// The largest block, bytes.
    fn block_limit(&self) -> u64 {
        MAX_BLOCK.min(self.options.segment_bytes - SEGMENT_HEADER as u64)
    }

    /// Brings the files to a known state, durably.
    fn mend(&mut self) -> io::Result<()> {
        if let Some(active) = &mut self.active {
            active.mend()?;
        }
        if self.opened {
            // The last segment's name, if whoever gave it ended before it was durable.
            self.folder.sync()?;
            self.opened = false;
        }
        Ok(())
    }

    /// Makes sure that a block of so many bytes has durable zeros to be written over.
    fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        self.starved = Some(bytes);
        self.mend()?;
        let Options { segment_bytes, zero_bytes } = self.options;
        if self.rolling || self.active.as_ref().is_none_or(|active| active.used + bytes > segment_bytes) {
            self.roll(self.end() + 1)?;
        }
        if let Some(active) = &mut self.active {
            active.reserve(bytes, zero_bytes, segment_bytes)?;
        }
        self.starved = None;
        Ok(())
    }

    /// Writes zeros for the next appends before they need them.
    fn write_ahead(&mut self) -> io::Result<()> {
        let Options { segment_bytes, zero_bytes } = self.options;
        let Some(active) = self.active.as_mut().filter(|_| !self.rolling) else { return Ok(()) };
        let room = segment_bytes.saturating_sub(active.used);
        active.reserve(room.min(zero_bytes / 2), zero_bytes, segment_bytes)
    }

    /// Goes on to the next segment, durably: its name appears once its header is there.
    fn roll(&mut self, first: Position) -> io::Result<()> {
        let header = SegmentHeader { partition: self.partition, first, previous: self.head }.encode();
        let mut next = match self.spare.take() {
            Some(spare) => spare,
            None => Active::spare(self.create()?, 0),
        };
        next.begin(first, &header)?;
        // A name that is not durable, or perhaps not even given, is given again to another file: what was tried with this
        // one says nothing.
        self.rolling = true;
        let Shared { disk, dir, .. } = &*self.shared;
        disk.rename(&dir.join(UNFINISHED), &dir.join(name_of(first)))?;
        self.folder.sync()?;
        self.rolling = false;
        if let Some(full) = self.active.replace(next) {
            self.full.push((full.first, self.head));
        }
        Ok(())
    }

    /// A new file, that is no segment yet.
    fn create(&self) -> io::Result<Arc<dyn File>> {
        self.shared.disk.create(&self.shared.dir.join(UNFINISHED))
    }

    /// Makes the next segment's file, with zeros for its first appends, once half of this one is used.
    fn make_spare(&mut self) -> io::Result<()> {
        let Options { segment_bytes, zero_bytes } = self.options;
        let is_due = self.active.as_ref().is_some_and(|active| active.used >= segment_bytes / 2);
        if self.spare.is_some() || !is_due {
            return Ok(());
        }
        let file = self.create()?;
        let zeros = zero_bytes.min(segment_bytes);
        write_zeros(&file, 0, zeros)?;
        file.sync()?;
        self.spare = Some(Active::spare(file, zeros));
        Ok(())
    }

    /// Writes the outlines of full segments that have none: many only behind an opening that has read them all.
    fn write_outlines(&mut self) {
        let Shared { disk, dir, index, .. } = &*self.shared;
        for (segment, head) in self.full.drain(..) {
            let outline = index.read().outline(self.partition, segment, head);
            // Without one the next start reads the segment.
            let _ = outline.map(|outline| outline.write(&**disk, dir));
        }
    }

    /// Writes and syncs records as one block, and only then shows them to the readers.
    fn commit(&mut self, records: &[Bytes]) -> io::Result<()> {
        let (first, last) = (self.end() + 1, self.end() + records.len() as Position);
        let Some(active) = &mut self.active else { return Ok(()) };
        let offset = active.used;
        encode_block(&mut self.block, offset, first, records);
        active.write(&self.block)?;
        let bytes = self.block.len() as u64;
        self.shared.index.write().publish(active.first, &active.file, offset, bytes, first, last);
        Ok(())
    }
}

impl Store for SegmentStore {
    fn partition(&self) -> u32 {
        self.partition
    }

    fn start(&self) -> LogStart {
        self.shared.start
    }

    fn end(&self) -> Position {
        self.shared.end()
    }

    fn head(&self) -> Hash {
        self.head
    }

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError> {
        let end = self.end();
        if after != end {
            return Err(AppendError::Conflict { end });
        }
        chained.verify_after(after, self.head)?;
        let records = chained.records();
        if records.is_empty() {
            return Ok(());
        }
        let (bytes, limit) = (block_bytes(body_bytes(records)), self.block_limit());
        if bytes > limit {
            return Err(AppendError::TooLarge { bytes, limit });
        }
        self.make_room(bytes).map_err(refused)?;
        if let Err(error) = self.commit(records) {
            return Err(match self.mend() {
                Ok(()) => refused(error),
                Err(_) => AppendError::Unknown(error),
            });
        }
        self.head = chained.head();
        Ok(())
    }

    fn settle(&mut self) -> Result<(), AppendError> {
        self.mend().map_err(refused)?;
        self.write_outlines();
        Ok(())
    }

    /// Makes ready the room that the last append did not find and that the next ones need, and the next segment's file; writes a full
    /// segment's outline.
    fn tend(&mut self) -> Result<(), AppendError> {
        match self.starved {
            Some(bytes) => self.make_room(bytes).map_err(refused)?,
            None => self.settle()?,
        }
        self.write_ahead().map_err(refused)?;
        self.make_spare().map_err(refused)?;
        self.write_outlines();
        Ok(())
    }

    fn unread(&self) -> Position {
        self.unread
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.shared) as Arc<dyn Reader>
    }
}

/// Of an append that is not in the log.
fn refused(error: io::Error) -> AppendError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => AppendError::Full(error),
        _ => AppendError::Unavailable(error),
    }
}
