use std::{io, sync::Arc};

use super::{format::SEGMENT_HEADER, scan::Tail};
use crate::{disk::File, record::Position};

const PAGE: u64 = 4096;

#[derive(Debug)]
pub(super) struct Active {
    pub first: Position,
    pub file: Arc<dyn File>,
    pub used: u64,
    pub zeroed: u64,
    /// Copy of the file's bytes before offset `used`, starting at the last page boundary or earlier.
    last: Vec<u8>,
    due: Pending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Nothing,
    Write,
    /// The file must be truncated before the write, because partial blocks or zeros that are not durable may follow its
    /// valid bytes.
    Cut,
}

impl Active {
    pub fn found(first: Position, file: Arc<dyn File>, block: Option<(u64, u64)>, tail: &Tail) -> io::Result<Self> {
        let (offset, bytes) = block.unwrap_or((0, SEGMENT_HEADER as u64));
        let used = offset + bytes;
        let from = offset.min(used - used % PAGE);
        let last = file.read_up_to(used - from, from)?;
        if last.len() as u64 != used - from {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let due = if matches!(tail, Tail::Clean) { Pending::Write } else { Pending::Cut };
        let zeroed = file.length()?;
        Ok(Self { first, file, used, zeroed, last, due })
    }

    pub fn spare(file: Arc<dyn File>, zeroed: u64) -> Self {
        Self { first: 0, file, used: 0, zeroed, last: vec![], due: Pending::Nothing }
    }

    pub fn begin(&mut self, first: Position, header: &[u8; SEGMENT_HEADER]) -> io::Result<()> {
        self.file.write_all_at(header, 0)?;
        self.file.sync()?;
        self.first = first;
        self.used = SEGMENT_HEADER as u64;
        self.zeroed = self.zeroed.max(self.used);
        self.last = header.to_vec();
        Ok(())
    }

    /// Makes all appended bytes durable and removes the remains of a failed append.
    ///
    /// After a failed sync the kernel may report unwritten pages as clean, so a second sync proves nothing. Therefore
    /// the bytes are truncated or written again before a second sync.
    pub fn mend(&mut self) -> io::Result<()> {
        if self.due == Pending::Nothing {
            return Ok(());
        }
        if self.due == Pending::Cut {
            self.file.set_len(self.used)?;
        }
        self.file.write_all_at(&self.last, self.used - self.last.len() as u64)?;
        self.file.sync()?;
        if self.due == Pending::Cut {
            self.zeroed = self.used;
        }
        self.due = Pending::Nothing;
        Ok(())
    }

    /// If fewer than `bytes` durable zeros follow the used part of the file, writes and syncs `ahead` zeros.
    pub fn reserve(&mut self, bytes: u64, ahead: u64, limit: u64) -> io::Result<()> {
        let needed = self.used + bytes;
        if needed <= self.zeroed {
            return Ok(());
        }
        let end = needed.max(self.zeroed.saturating_add(ahead).min(limit));
        self.due = Pending::Cut;
        write_zeros(&self.file, self.zeroed, end)?;
        self.file.sync()?;
        self.due = Pending::Nothing;
        self.zeroed = end;
        Ok(())
    }

    pub fn write(&mut self, block: &[u8]) -> io::Result<()> {
        self.due = Pending::Cut;
        self.file.write_all_at(block, self.used)?;
        self.file.sync()?;
        self.due = Pending::Nothing;
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

pub(super) fn write_zeros(file: &Arc<dyn File>, mut at: u64, end: u64) -> io::Result<()> {
    const ZEROS: &[u8] = &[0; 64 * 1024];
    while at < end {
        let piece = ZEROS.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        file.write_all_at(&ZEROS[..piece], at)?;
        at += piece as u64;
    }
    Ok(())
}
