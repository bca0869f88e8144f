//! Writer of segment files: one block, one `write` and one `fdatasync` per append.
//!
//! Zeros are written and synced before the appends that overwrite them, so an append's sync changes no metadata and a
//! full disk is detected early.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::RwLock;

use super::{
    active::Active,
    format::{MAX_BLOCK, SEGMENT_HEADER, SegmentHeader, block_bytes, body_bytes, encode_block},
    index::Index,
    outline::Outline,
    reader::SegmentReader,
    scan::{MAX_SEGMENT, Step, Tail, Walk, name_of},
    spare::Spare,
};
use crate::{
    chain::Chained,
    damage::{Damage, OpenError, ScanError},
    disk::os::OsDisk,
    disk::{Access, Disk, Folder, LockGuard},
    error::AppendError,
    record::{Hash, Position},
    start::LogStart,
    store::{Reader, Store},
};

const LOCK: &str = "lock";
/// Name of a segment until its header is durable.
const UNFINISHED: &str = "unfinished";
/// The next segment is prepared once 1 / `SPARE_DUE` of the active segment is used.
const SPARE_DUE: u64 = 8;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Size of a segment file, from 4 KiB to 1 GiB. An append must fit into one segment.
    pub segment_bytes: u64,
    /// Number of zero bytes written ahead at a time, at least 512. The background thread that prepares the next segment
    /// writes twice as many at a time.
    pub zero_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, zero_bytes: 512 << 10 }
    }
}

#[derive(Debug)]
pub struct SegmentStore {
    partition: u32,
    options: Options,
    head: Hash,
    shared: Arc<SegmentReader>,
    active: Option<Active>,
    spare: Option<Spare>,
    /// Whether a roll to the next segment failed. The new file's name may then be lost in a crash, so the next append
    /// creates another file.
    rolling: bool,
    starved: Option<u64>,
    recovered: Tail,
    opened: bool,
    folder: Arc<dyn Folder>,
    block: Vec<u8>,
    full: Vec<(Position, Hash)>,
    unread: Position,
    _lock: LockGuard,
}

impl SegmentStore {
    /// Opens a log. If the log is damaged, fails without changing it.
    pub fn open(dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        Self::open_on(Arc::new(OsDisk), dir, partition, options)
    }

    pub fn open_on(disk: Arc<dyn Disk>, dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        let mut store = Self::open_unchanged_on(disk, dir, partition, options)?;
        let path = store.active.as_ref().map_or_else(|| dir.to_owned(), |active| dir.join(name_of(active.first)));
        store.mend().map_err(ScanError::at(&path))?;
        Ok(store)
    }

    /// Opens a log without changing it, so that the caller can check it first. Until an append or
    /// [`settle`](Store::settle), the log's bytes may not be durable, and a torn append stays in the file.
    pub fn open_unchanged(dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        Self::open_unchanged_on(Arc::new(OsDisk), dir, partition, options)
    }

    /// Like [`Self::open_unchanged`], but verifies only the header of each full segment that has an outline (a stored
    /// summary); [`unread`](Store::unread) returns the end of these segments.
    pub fn open_by_outlines(dir: &Path, partition: u32, options: Options) -> Result<Self, OpenError> {
        Self::open_walking(Arc::new(OsDisk), dir, partition, options, true)
    }

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
        let Walked { walk, start, index, last, unread } = Walked::new(&disk, dir, partition, by_outlines)?;
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
            shared: Arc::new(SegmentReader { disk, dir: dir.to_owned(), start, index: RwLock::new(index) }),
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

    #[must_use]
    pub fn recovered(&self) -> &Tail {
        &self.recovered
    }

    /// Removes the segments that lie wholly before a position (PL-37), and returns the log's new start. The start is
    /// durable before the first file is removed, so after a crash the log is whole, and a repeated prune removes the
    /// remaining files.
    pub fn prune(self, before: Position) -> Result<LogStart, ScanError> {
        let SegmentReader { disk, dir, start, index } = &*self.shared;
        let (mut kept, first) = (*start, index.read().segment_of(before));
        if let Some(first) = first.filter(|first| *first > start.first) {
            let path = dir.join(name_of(first));
            let read = disk.open(&path, Access::Read).and_then(|file| file.read_up_to(SEGMENT_HEADER as u64, 0));
            let header = SegmentHeader::decode(&read.map_err(ScanError::at(&path))?);
            let damage =
                |reason: &str| Damage { file: path.clone(), offset: 0, position: first, reason: reason.to_owned() };
            let header = header.map_err(damage)?;
            let identity = self.shared.identity().map_err(|error| ScanError::at(dir)(io::Error::other(error)))?;
            let identity = identity.ok_or_else(|| damage("the log has no first record"))?;
            kept = LogStart { first, previous: header.previous };
            kept.write(&**disk, dir, self.partition, &identity)?;
        }
        let listed = disk.list(dir).map_err(ScanError::at(dir))?;
        let mut old: Vec<_> =
            listed.into_iter().filter(|name| covered(name).is_some_and(|of| of < kept.first)).collect();
        old.sort();
        for name in old {
            let path = dir.join(name);
            disk.remove(&path).map_err(ScanError::at(&path))?;
        }
        self.folder.sync().map_err(ScanError::at(dir))?;
        Ok(kept)
    }

    fn block_limit(&self) -> u64 {
        MAX_BLOCK.min(self.options.segment_bytes - SEGMENT_HEADER as u64)
    }

    fn mend(&mut self) -> io::Result<()> {
        if let Some(active) = &mut self.active {
            active.mend()?;
        }
        if self.opened {
            // The name of the last segment is possibly not durable yet.
            self.folder.sync()?;
            self.opened = false;
        }
        Ok(())
    }

    fn make_room(&mut self, bytes: u64) -> io::Result<()> {
        self.starved = Some(bytes);
        self.mend()?;
        let Options { segment_bytes, zero_bytes } = self.options;
        let needed = self.active.as_ref().map(|active| active.used + bytes);
        let is_full = needed.is_none_or(|needed| needed > segment_bytes);
        // If too few zeros follow the last append and the next segment is prepared, switching to it is cheaper than
        // writing zeros.
        let ends = |active: &Active| active.used + bytes > active.zeroed && self.has_usable_spare();
        if self.rolling || is_full || self.active.as_ref().is_some_and(ends) {
            self.roll(self.end() + 1)?;
        }
        if let Some(active) = &mut self.active {
            active.reserve(bytes, zero_bytes, segment_bytes)?;
        }
        self.starved = None;
        Ok(())
    }

    fn has_usable_spare(&self) -> bool {
        self.spare.as_ref().is_some_and(Spare::is_usable)
    }

    fn write_ahead(&mut self) -> io::Result<()> {
        let Options { segment_bytes, zero_bytes } = self.options;
        if self.rolling || self.has_usable_spare() {
            return Ok(());
        }
        let Some(active) = &mut self.active else { return Ok(()) };
        let room = segment_bytes.saturating_sub(active.used);
        active.reserve(room.min(zero_bytes / 2), zero_bytes, segment_bytes)
    }

    fn roll(&mut self, first: Position) -> io::Result<()> {
        let header = SegmentHeader { partition: self.partition, first, previous: self.head }.encode();
        let mut next = match self.spare.take().and_then(Spare::take) {
            Some(spare) => spare,
            None => Active::spare(self.shared.disk.create(&self.unfinished())?, 0),
        };
        next.begin(first, &header)?;
        self.rolling = true;
        let SegmentReader { disk, dir, .. } = &*self.shared;
        disk.rename(&self.unfinished(), &dir.join(name_of(first)))?;
        self.folder.sync()?;
        self.rolling = false;
        if let Some(full) = self.active.replace(next) {
            self.full.push((full.first, self.head));
        }
        Ok(())
    }

    fn unfinished(&self) -> PathBuf {
        self.shared.dir.join(UNFINISHED)
    }

    fn tend_spare(&mut self) -> io::Result<()> {
        let Options { segment_bytes, zero_bytes } = self.options;
        let Some(active) = self.active.as_ref().filter(|active| active.used >= active.zeroed / SPARE_DUE) else {
            return Ok(());
        };
        if self.spare.is_none() {
            let (disk, path) = (Arc::clone(&self.shared.disk), self.unfinished());
            self.spare = Some(Spare::new(disk, path, segment_bytes, 2 * zero_bytes));
        }
        self.spare.as_mut().map_or(Ok(()), |spare| spare.tend(active))
    }

    fn write_outlines(&mut self) {
        let SegmentReader { disk, dir, index, .. } = &*self.shared;
        for (segment, head) in self.full.drain(..) {
            let outline = index.read().outline(self.partition, segment, head);
            let _ = outline.map(|outline| outline.write(&**disk, dir));
        }
    }

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

struct Walked {
    walk: Walk,
    start: LogStart,
    index: Index,
    last: Option<(Position, u64, u64)>,
    unread: Position,
}

impl Walked {
    fn new(disk: &Arc<dyn Disk>, dir: &Path, partition: u32, by_outlines: bool) -> Result<Self, ScanError> {
        let mut walk = Walk::new(Arc::clone(disk), dir, Some(partition))?;
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
        Ok(Self { walk, start, index, last, unread })
    }
}

/// Opens a log's present records for reading only; another process may write the log. Verifies these records and their
/// hash chain, and syncs the files in case the writer has not. Returns the reader and the hash of the last record.
pub fn read_present(dir: &Path, partition: u32) -> Result<(Arc<dyn Reader>, Hash), ScanError> {
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    let Walked { walk, start, index, .. } = Walked::new(&disk, dir, partition, false)?;
    if let Some(last) = walk.last_segment {
        let path = dir.join(name_of(last));
        let synced = disk.open(&path, Access::Read).and_then(|file| file.sync());
        synced.and_then(|()| disk.folder(dir)?.sync()).map_err(ScanError::at(&path))?;
    }
    let reader = SegmentReader { disk, dir: dir.to_owned(), start, index: RwLock::new(index) };
    Ok((Arc::new(reader), walk.head))
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

    fn tend(&mut self) -> Result<(), AppendError> {
        match self.starved {
            Some(bytes) => self.make_room(bytes).map_err(refused)?,
            None => self.settle()?,
        }
        let spare = self.tend_spare();
        self.write_ahead().map_err(refused)?;
        spare.map_err(refused)?;
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

/// First position of the segment to which a file belongs.
fn covered(name: &Path) -> Option<Position> {
    let is_of_segment = name.extension().is_some_and(|ending| ending == "log" || ending == "outline");
    name.file_stem()?.to_str()?.parse().ok().filter(|_| is_of_segment)
}

fn refused(error: io::Error) -> AppendError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => AppendError::Full(error),
        _ => AppendError::Unavailable(error),
    }
}
