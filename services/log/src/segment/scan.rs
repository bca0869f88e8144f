//! Reads a log and verifies headers, checksums, positions and the hash chain. A scan takes no lock, so a writer may
//! append meanwhile.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    vec,
};

use bytes::Bytes;

use super::{
    format::{ALIGN, BLOCK_HEADER, Block, BlockHeader, SEGMENT_HEADER, SegmentHeader, decode_block},
    outline::Outline,
    tail::{Verdict, is_zero, judge},
    window::Window,
};
use crate::{
    chain,
    chain::genesis,
    damage::{Damage, ScanError},
    disk::os::OsDisk,
    disk::{Access, Disk},
    record::{Hash, Position, Record},
    start::LogStart,
};

pub(super) const MAX_SEGMENT: u64 = 1 << 30;
const AHEAD: u64 = 1 << 17;
const LOOKS: usize = 16;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Tail {
    #[default]
    Clean,
    /// Incomplete append that was not acknowledged: it was interrupted by a crash or is still in progress.
    Torn { file: PathBuf, offset: u64, bytes: u64 },
}

/// Scans a whole log. Fails if the file with the [`LogStart`] is damaged or the first segment is missing.
pub fn scan(dir: &Path) -> Result<Scan, ScanError> {
    scan_on(Arc::new(OsDisk), dir)
}

pub fn scan_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<Scan, ScanError> {
    Ok(Scan { walk: Walk::new(disk, dir, None)?, first: 1, block: Vec::new().into_iter(), failed: false })
}

/// Scans the records after `position`; the record at `position` must have the hash `head`. Earlier records are not verified.
pub fn scan_after(dir: &Path, partition: u32, position: Position, head: Hash) -> Result<Scan, ScanError> {
    let mut walk = Walk::new(Arc::new(OsDisk), dir, Some(partition))?;
    let block = walk.skip(position, head)?;
    Ok(Scan { walk, first: position + 1, block: block.into_iter(), failed: false })
}

#[derive(Debug)]
pub struct Scan {
    walk: Walk,
    first: Position,
    block: vec::IntoIter<Bytes>,
    failed: bool,
}

impl Scan {
    #[must_use]
    pub fn partition_number(&self) -> Option<u32> {
        self.walk.partition
    }

    #[must_use]
    pub fn first(&self) -> Position {
        self.walk.first.max(1)
    }

    #[must_use]
    pub fn verified(&self) -> (Position, Hash) {
        (self.walk.next - 1, self.walk.head)
    }

    pub fn resume(&mut self) -> Result<(), ScanError> {
        self.walk.resume()
    }

    #[must_use]
    pub fn tail(&self) -> &Tail {
        &self.walk.tail
    }
}

impl Iterator for Scan {
    type Item = Result<Record, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if self.block.len() == 0 {
            match self.walk.step() {
                Ok(step) => {
                    let block = step?.block;
                    (self.first, self.block) = (block.first, block.records.into_iter());
                }
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        let bytes = self.block.next()?;
        let position = self.first;
        self.first += 1;
        Some(Ok(Record { position, bytes }))
    }
}

#[derive(Debug)]
pub(super) struct Step {
    pub segment: Position,
    pub offset: u64,
    pub block: Block,
}

#[derive(Debug)]
pub(super) struct Walk {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    files: VecDeque<(Position, PathBuf)>,
    current: Option<Current>,
    pub partition: Option<u32>,
    /// First position according to the file with the [`LogStart`]; 0 if there is no such file.
    first: Position,
    pub next: Position,
    pub head: Hash,
    pub tail: Tail,
    pub last_segment: Option<Position>,
    pub by_outlines: bool,
    pub passed: Vec<Outline>,
    pub full: Vec<(Position, Hash)>,
}

#[derive(Debug)]
struct Current {
    path: PathBuf,
    first: Position,
    window: Window,
}

impl Walk {
    pub fn new(disk: Arc<dyn Disk>, dir: &Path, partition: Option<u32>) -> Result<Self, ScanError> {
        let recorded = LogStart::read(&*disk, dir, partition)?;
        let partition = partition.or(recorded.map(|(partition, _)| partition));
        let start = recorded.map(|(_, start)| start);
        let LogStart { first: next, previous: head } =
            start.unwrap_or(LogStart { first: 1, previous: partition.map_or([0; 32], genesis) });
        let first = start.map_or(0, |start| start.first);
        let files: VecDeque<_> = segments(&*disk, dir, first)?.into();
        if start.is_some() && files.front().is_none_or(|(first, _)| *first != next) {
            let reason = "the log's first segment is missing".to_owned();
            return Err(Damage { file: dir.join(name_of(next)), offset: 0, position: next, reason }.into());
        }
        Ok(Self {
            disk,
            dir: dir.to_owned(),
            files,
            current: None,
            partition,
            first,
            next,
            head,
            tail: Tail::Clean,
            last_segment: None,
            by_outlines: false,
            passed: vec![],
            full: vec![],
        })
    }

    pub fn step(&mut self) -> Result<Option<Step>, ScanError> {
        loop {
            if let Some(mut current) = self.current.take() {
                let step = self.read_block(&mut current)?;
                if step.is_some() || self.files.is_empty() {
                    self.current = Some(current);
                    return Ok(step);
                }
            }
            let Some((first, path)) = self.files.pop_front() else { return Ok(None) };
            let opened = self.open(first, path)?;
            match self.outline_of(&opened) {
                Some(outline) => self.pass(outline),
                None => self.current = Some(opened),
            }
        }
    }

    fn skip(&mut self, position: Position, head: Hash) -> Result<Vec<Bytes>, ScanError> {
        (self.next, self.head) = (position + 1, head);
        while self.files.get(1).is_some_and(|(first, _)| *first <= self.next) {
            self.files.pop_front();
        }
        let Some((first, path)) = self.files.pop_front_if(|(first, _)| *first != self.next) else { return Ok(vec![]) };
        let file = self.disk.open(&path, Access::Read).map_err(ScanError::at(&path))?;
        let bytes = Bytes::from(file.read_up_to(MAX_SEGMENT, 0).map_err(ScanError::at(&path))?);
        let blocks = (SEGMENT_HEADER..bytes.len()).step_by(ALIGN).filter_map(|at| {
            let header = BlockHeader::decode(&bytes[at..])?;
            (header.first..=header.first + u64::from(header.records)).contains(&self.next).then_some((at, header))
        });
        let (at, header) = blocks.last().ok_or_else(|| {
            self.damage(&path, 0, "the segment has no block that contains or precedes the expected position")
        })?;
        let (mut offset, mut rest) = (at, vec![]);
        if header.first < self.next {
            offset += header.bytes();
            if header.first + u64::from(header.records) > self.next {
                let block = decode_block(&bytes.slice(at..), header.first);
                let block = block.map_err(|reason| self.damage(&path, at as u64, reason))?;
                let before = usize::try_from(self.next - header.first).unwrap_or(usize::MAX);
                rest = block.records.into_iter().skip(before).collect();
                self.head = chain::verify_chain(head, position, &rest)
                    .map_err(|broken| self.damage(&path, at as u64, &broken.to_string()))?;
                self.next = header.first + u64::from(header.records);
            }
        }
        self.last_segment = Some(first);
        self.current = Some(Current { path, first, window: Window::new(file, offset as u64) });
        Ok(rest)
    }

    /// Continues after the scan has reached the log's end. Newer segments are listed before the end of the current
    /// segment is read again, because a segment no longer grows once a later segment exists.
    fn resume(&mut self) -> Result<(), ScanError> {
        let from = self.last_segment.map_or(self.first, |last| last + 1);
        self.files = segments(&*self.disk, &self.dir, from)?.into();
        self.tail = Tail::Clean;
        Ok(())
    }

    fn open(&mut self, first: Position, path: PathBuf) -> Result<Current, ScanError> {
        let file = self.disk.open(&path, Access::Read).map_err(ScanError::at(&path))?;
        if file.length().map_err(ScanError::at(&path))? > MAX_SEGMENT {
            return Err(self.damage(
                &path,
                MAX_SEGMENT,
                "the segment file is longer than the maximum size of a segment",
            ));
        }
        let mut window = Window::new(file, 0);
        let ahead = if self.by_outlines { SEGMENT_HEADER as u64 } else { AHEAD };
        window.fill(SEGMENT_HEADER, ahead).map_err(ScanError::at(&path))?;
        let header = SegmentHeader::decode(&window.bytes).map_err(|reason| self.damage(&path, 0, reason))?;
        if self.partition.is_none() {
            self.partition = Some(header.partition);
            self.head = genesis(header.partition);
        }
        if self.partition != Some(header.partition) {
            return Err(self.damage(
                &path,
                0,
                &format!(
                    "the segment's header names partition {}, which is not the partition of this log",
                    header.partition
                ),
            ));
        }
        if header.first != first || header.first != self.next {
            let reason =
                format!("the segment begins at position {}: a segment is missing, misnamed or cut short", header.first);
            return Err(self.damage(&path, 0, &reason));
        }
        if header.previous != self.head {
            return Err(self.damage(&path, 0, "the segment does not continue the hash chain of the previous segment"));
        }
        let before = self.last_segment.replace(first);
        let passed = self.passed.last().map(|outline| outline.first);
        self.full.extend(before.filter(|before| passed != Some(*before)).map(|before| (before, self.head)));
        window.advance(SEGMENT_HEADER);
        Ok(Current { path, first, window })
    }

    fn outline_of(&self, current: &Current) -> Option<Outline> {
        let (next, path) = self.files.front().filter(|_| self.by_outlines)?;
        let outline = Outline::read(&*self.disk, &self.dir, current.first)?;
        let length = current.window.file.length().ok()?;
        let after = self.disk.open(path, Access::Read).ok()?.read_up_to(SEGMENT_HEADER as u64, 0).ok()?;
        let after = SegmentHeader::decode(&after).ok()?;
        let fits = Some(outline.partition) == self.partition
            && outline.last + 1 == *next
            && (after.first, after.previous) == (*next, outline.head)
            && outline.used <= length;
        fits.then_some(outline)
    }

    fn pass(&mut self, outline: Outline) {
        (self.next, self.head) = (outline.last + 1, outline.head);
        self.passed.push(outline);
    }

    fn read_block(&mut self, current: &mut Current) -> Result<Option<Step>, ScanError> {
        let window = &mut current.window;
        window.fill(BLOCK_HEADER, AHEAD).map_err(ScanError::at(&current.path))?;
        if let Some(header) = BlockHeader::decode(&window.bytes) {
            window.fill(header.bytes(), AHEAD).map_err(ScanError::at(&current.path))?;
        }
        match decode_block(&window.bytes, self.next) {
            Ok(block) => self.accept(current, block).map(Some),
            Err(_) => self.read_end(current),
        }
    }

    /// Reads the bytes after the last block. They must be zeros, a torn append at the log's end, or a block written
    /// since the scan read this part.
    fn read_end(&mut self, current: &mut Current) -> Result<Option<Step>, ScanError> {
        let mut rest = look_ahead(&current.window).map_err(ScanError::at(&current.path))?;
        for _ in 0..LOOKS {
            let offset = current.window.offset;
            let verdict = judge(&rest, offset, self.next);
            if verdict == Verdict::Clean {
                return Ok(None);
            }
            current.window.bytes = rest.into();
            let reason = match decode_block(&current.window.bytes, self.next) {
                Ok(block) => return self.accept(current, block).map(Some),
                Err(reason) => reason,
            };
            rest = look_ahead(&current.window).map_err(ScanError::at(&current.path))?;
            if rest != current.window.bytes {
                continue;
            }
            return match verdict {
                Verdict::Torn(bytes) if self.files.is_empty() => {
                    self.tail = Tail::Torn { file: current.path.clone(), offset, bytes: bytes as u64 };
                    Ok(None)
                }
                _ => Err(self.damage(&current.path, offset, reason)),
            };
        }
        Err(self.damage(&current.path, current.window.offset, "the segment file changed repeatedly while it was read"))
    }

    fn accept(&mut self, current: &mut Current, block: Block) -> Result<Step, ScanError> {
        let offset = current.window.offset;
        self.head = chain::verify_chain(self.head, self.next - 1, &block.records)
            .map_err(|broken| self.damage(&current.path, offset, &broken.to_string()))?;
        self.next = block.next();
        current.window.advance(block.bytes);
        Ok(Step { segment: current.first, offset, block })
    }

    fn damage(&self, file: &Path, offset: u64, reason: &str) -> ScanError {
        Damage { file: file.to_owned(), offset, position: self.next, reason: reason.to_owned() }.into()
    }
}

/// Returns the rest of the file without the zeros at its end, but at least the whole next block.
fn look_ahead(window: &Window) -> io::Result<Vec<u8>> {
    let mut rest = window.file.read_up_to(AHEAD, window.offset)?;
    let (block, mut read) = (BlockHeader::decode(&rest).map_or(0, |header| header.bytes()), rest.len());
    loop {
        let more = window.file.read_up_to(AHEAD, window.offset + read as u64)?;
        if more.is_empty() {
            return Ok(rest);
        }
        if read < block || !is_zero(&more) {
            rest.resize(read, 0);
            rest.extend_from_slice(&more);
        }
        read += more.len();
    }
}

fn segments(disk: &dyn Disk, dir: &Path, from: Position) -> Result<Vec<(Position, PathBuf)>, ScanError> {
    let names = disk.list(dir).map_err(ScanError::at(dir))?;
    let firsts = names.iter().filter_map(|name| Some((first_of(name)?, dir.join(name))));
    let mut files: Vec<_> = firsts.filter(|(first, _)| *first >= from).collect();
    files.sort();
    Ok(files)
}

pub(super) fn name_of(first: Position) -> String {
    format!("{first:020}.log")
}

fn first_of(name: &Path) -> Option<Position> {
    let digits = name.to_str()?.strip_suffix(".log")?;
    let first = digits.parse().ok()?;
    (name_of(first) == name.to_str()?).then_some(first)
}
