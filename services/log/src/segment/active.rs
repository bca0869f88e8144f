//! The segment that is written to, and the file that is made ready to be the next.

use std::{io, sync::Arc};

use super::{format::SEGMENT_HEADER, scan::Tail};
use crate::{disk::File, record::Position};

/// The kernel's unit of writing, bytes. Bytes that share a page with a failed write are written again.
const PAGE: u64 = 4096;

/// The segment that is written to.
#[derive(Debug)]
pub(super) struct Active {
    pub first: Position,
    pub file: Arc<dyn File>,
    /// Where the next block goes.
    pub used: u64,
    /// Up to where durable zeros have been written.
    zeroed: u64,
    /// The bytes before `used` as they must be on the disk: those that share a page with what comes next at least, and
    /// after an opening the whole last block.
    last: Vec<u8>,
    due: Due,
}

/// The repair that is due before the next block is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    /// The last bytes may only be in memory: they are written again and synced.
    Write,
    /// There may be parts of a block behind them as well, or zeros that are not durable: these are cut away first.
    Cut,
}

impl Active {
    /// The segment that begins with `first`, as an opening found it: with its last `block` (place and length), which may
    /// only have been in memory when its writer ended, and a torn tail to be cut. Nothing is written yet.
    pub fn found(first: Position, file: Arc<dyn File>, block: Option<(u64, u64)>, tail: &Tail) -> io::Result<Self> {
        let (offset, bytes) = block.unwrap_or((0, SEGMENT_HEADER as u64));
        let used = offset + bytes;
        let from = offset.min(used - used % PAGE);
        let last = file.read_up_to(used - from, from)?;
        if last.len() as u64 != used - from {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let due = if matches!(tail, Tail::Clean) { Due::Write } else { Due::Cut };
        let zeroed = file.length()?;
        Ok(Self { first, file, used, zeroed, last, due })
    }

    /// A file that has `zeroed` durable zeros and is to be a segment once it has its header.
    pub fn spare(file: Arc<dyn File>, zeroed: u64) -> Self {
        Self { first: 0, file, used: 0, zeroed, last: vec![], due: Due::Nothing }
    }

    /// Writes the header of the segment that begins with `first`, durably.
    pub fn begin(&mut self, first: Position, header: &[u8; SEGMENT_HEADER]) -> io::Result<()> {
        self.file.write_all_at(header, 0)?;
        self.file.sync()?;
        self.first = first;
        self.used = SEGMENT_HEADER as u64;
        self.zeroed = self.zeroed.max(self.used);
        self.last = header.to_vec();
        Ok(())
    }

    /// Brings the file to a known state: all that was appended, durably, and nothing behind it.
    ///
    /// After a sync that failed the kernel may count pages as clean that the disk has not got: a second sync says nothing
    /// of them. So every byte that the failed one was about is cut away or written again before the sync that counts.
    pub fn mend(&mut self) -> io::Result<()> {
        if self.due == Due::Nothing {
            return Ok(());
        }
        if self.due == Due::Cut {
            self.file.set_len(self.used)?;
        }
        self.file.write_all_at(&self.last, self.used - self.last.len() as u64)?;
        self.file.sync()?;
        if self.due == Due::Cut {
            self.zeroed = self.used;
        }
        self.due = Due::Nothing;
        Ok(())
    }

    /// Sees to it that `bytes` more can be written over durable zeros; if not, writes `ahead` bytes of them, or as
    /// many as are needed, up to the segment's `limit`.
    pub fn reserve(&mut self, bytes: u64, ahead: u64, limit: u64) -> io::Result<()> {
        let needed = self.used + bytes;
        if needed <= self.zeroed {
            return Ok(());
        }
        let end = needed.max(self.zeroed.saturating_add(ahead).min(limit));
        self.due = Due::Cut;
        write_zeros(&self.file, self.zeroed, end)?;
        self.file.sync()?;
        self.due = Due::Nothing;
        self.zeroed = end;
        Ok(())
    }

    /// Writes and syncs a block at the end of what is used.
    pub fn write(&mut self, block: &[u8]) -> io::Result<()> {
        self.due = Due::Cut;
        self.file.write_all_at(block, self.used)?;
        self.file.sync()?;
        self.due = Due::Nothing;
        let end = self.used + block.len() as u64;
        let shared = usize::try_from(end % PAGE).unwrap_or(0);
        if shared <= block.len() {
            self.last.clear();
            self.last.extend_from_slice(&block[block.len() - shared..]);
        } else {
            self.last.extend_from_slice(block);
        }
        self.used = end;
        Ok(())
    }
}

/// Writes zeros from `at` to `end`.
pub(super) fn write_zeros(file: &Arc<dyn File>, mut at: u64, end: u64) -> io::Result<()> {
    const ZEROS: &[u8] = &[0; 64 * 1024];
    while at < end {
        let piece = ZEROS.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        file.write_all_at(&ZEROS[..piece], at)?;
        at += piece as u64;
    }
    Ok(())
}
