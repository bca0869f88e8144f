//! Random access to durable records during appends. A read verifies the blocks and stops at the end of the segment.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::RwLock;

use super::{
    format::{BLOCK_HEADER, Block, BlockHeader, decode_block},
    index::{Index, Lookup},
    scan::name_of,
    window::Window,
};
use crate::{
    chain::hash,
    damage::{Damage, ScanError},
    disk::{Access, Disk},
    error::ReadError,
    record::{Hash, Position, Record},
    start::LogStart,
    store::{Limit, Reader},
};

const READ_MIN: u64 = 64 * 1024;
const READ_MAX: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) struct SegmentReader {
    pub disk: Arc<dyn Disk>,
    pub dir: PathBuf,
    pub start: LogStart,
    pub index: RwLock<Index>,
}

impl Reader for SegmentReader {
    fn first(&self) -> Position {
        self.start.first
    }

    fn end(&self) -> Position {
        self.index.read().end
    }

    fn read(&self, from: Position, max_records: usize, max_bytes: usize) -> Result<Vec<Record>, ReadError> {
        self.start.check(from)?;
        let from = from.max(1);
        let found = self.index.read().find(from);
        let Some(lookup) = found.filter(|_| max_records > 0) else { return Ok(Vec::new()) };
        let mut blocks = Blocks::open(self, lookup)?;
        let mut limit = Limit::new(max_records, max_bytes);
        let mut read = Vec::new();
        while let Some(block) = blocks.next(from)? {
            for (bytes, position) in block.records.into_iter().zip(block.first..) {
                if position < from {
                    continue;
                }
                if !limit.admits(bytes.len()) {
                    return Ok(read);
                }
                read.push(Record { position, bytes });
            }
        }
        match read.is_empty() {
            true => Err(blocks.damage("the segment ends before a position that it must contain").into()),
            false => Ok(read),
        }
    }

    fn identity(&self) -> Result<Option<Hash>, ReadError> {
        if self.start.first == 1 {
            return Ok(self.read(1, 1, 0)?.first().map(|record| hash(&record.bytes)));
        }
        LogStart::read_identity(&*self.disk, &self.dir).map_err(|error| match error {
            ScanError::Damaged(damage) => damage.into(),
            ScanError::Io { source, .. } => source.into(),
        })
    }

    fn check_rest(&self, upto: Position) -> Result<(), ReadError> {
        let full = self.index.read().full(upto);
        for (first, used, last) in full {
            let path = self.dir.join(name_of(first));
            let file = self.disk.open(&path, Access::Read).map_err(|error| with_path(&path, &error))?;
            let mut offset = used;
            loop {
                let bytes = file.read_up_to(READ_MAX, offset).map_err(|error| with_path(&path, &error))?;
                if let Some(at) = bytes.iter().position(|byte| *byte != 0) {
                    let (offset, position) = (offset + at as u64, last + 1);
                    let reason = "the full segment has bytes after its last block".to_owned();
                    return Err(Damage { file: path, offset, position, reason }.into());
                }
                if bytes.is_empty() {
                    break;
                }
                offset += bytes.len() as u64;
            }
        }
        Ok(())
    }
}

struct Blocks<'a> {
    shared: &'a SegmentReader,
    lookup: Lookup,
    position: Position,
    window: Window,
    ahead: u64,
}

impl<'a> Blocks<'a> {
    fn open(shared: &'a SegmentReader, lookup: Lookup) -> Result<Self, ReadError> {
        let file = match &lookup.file {
            Some(file) => Arc::clone(file),
            None => {
                let path = shared.dir.join(name_of(lookup.segment));
                shared.disk.open(&path, Access::Read).map_err(|error| with_path(&path, &error))?
            }
        };
        let (position, window) = (lookup.position, Window::new(file, lookup.offset));
        Ok(Self { shared, lookup, position, window, ahead: READ_MIN })
    }

    fn next(&mut self, from: Position) -> Result<Option<Block>, ReadError> {
        while self.window.offset < self.lookup.used {
            self.fill(BLOCK_HEADER)?;
            let header =
                BlockHeader::decode(&self.window.bytes).ok_or_else(|| self.damage("the block has no valid header"))?;
            let next = header.first.saturating_add(header.records.into());
            if next <= from {
                self.window.advance(header.bytes());
                self.position = next;
                continue;
            }
            self.fill(header.bytes())?;
            let block = decode_block(&self.window.bytes, self.position).map_err(|reason| self.damage(reason))?;
            self.window.advance(block.bytes);
            self.position = next;
            return Ok(Some(block));
        }
        Ok(None)
    }

    fn fill(&mut self, needed: usize) -> Result<(), ReadError> {
        if self.window.bytes.len() < needed {
            let ahead = self.ahead.min(self.lookup.used - self.window.offset);
            self.window.fill(needed, ahead).map_err(|error| with_path(&self.file(), &error))?;
            self.ahead = READ_MAX.min(2 * self.ahead);
        }
        Ok(())
    }

    fn file(&self) -> PathBuf {
        self.shared.dir.join(name_of(self.lookup.segment))
    }

    fn damage(&self, reason: &str) -> Damage {
        Damage { file: self.file(), offset: self.window.offset, position: self.position, reason: reason.to_owned() }
    }
}

fn with_path(file: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", file.display()))
}
