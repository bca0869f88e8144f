//! The sparse index of a partition's files, which the writer fills and readers look positions up in.
//!
//! One mark for about 64 KiB of blocks, 16 bytes each: a partition of a terabyte takes 256 MB. It is held in memory
//! and built anew at each open. The lock is held to look up or to publish, never while a file is read or written.

use std::sync::Arc;

use super::outline::Outline;
use crate::{
    disk::File,
    record::{Hash, Position},
};

/// Bytes of blocks for one mark.
const SPACING: u64 = 64 * 1024;

/// The durable part of a partition.
#[derive(Debug)]
pub(super) struct Index {
    /// The last durable position.
    pub end: Position,
    segments: Vec<Segment>,
    /// The file that the writer has open, and its segment.
    open: Option<(Position, Arc<dyn File>)>,
}

#[derive(Debug)]
struct Segment {
    first: Position,
    /// Durable bytes of the file: up to the end of its last block.
    used: u64,
    /// Blocks here and there, by their first position and their place in the file. The first block is one.
    marks: Vec<(Position, u64)>,
}

/// Where to begin to look for a position.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    /// The segment by its first position.
    pub segment: Position,
    /// Its file, if it is open.
    pub file: Option<Arc<dyn File>>,
    /// The block that begins here has this first position; the one looked for is in it or follows in this file.
    pub position: Position,
    pub offset: u64,
    /// Where the durable part of the file ends.
    pub used: u64,
}

impl Index {
    /// The index of a log whose last record is at `end`, and of which no block is known.
    pub fn after(end: Position) -> Self {
        Self { end, segments: Vec::new(), open: None }
    }

    /// Notes the block with positions `first` to `last` at `offset`, of `bytes`, in the segment `segment`, which is
    /// the last one or a new one.
    pub fn add(&mut self, segment: Position, offset: u64, bytes: u64, first: Position, last: Position) {
        if self.segments.last().is_none_or(|known| known.first != segment) {
            self.segments.push(Segment { first: segment, used: offset, marks: Vec::new() });
        }
        if let Some(known) = self.segments.last_mut() {
            if known.marks.last().is_none_or(|(_, marked)| offset - marked >= SPACING) {
                known.marks.push((first, offset));
            }
            known.used = offset + bytes;
        }
        self.end = last;
    }

    /// Notes a whole segment by its outline.
    pub fn add_outlined(&mut self, outline: Outline) {
        let Outline { first, last, used, marks, .. } = outline;
        self.segments.push(Segment { first, used, marks });
        self.end = last;
    }

    /// The outline of a full segment, whose last record has this hash.
    pub fn outline(&self, partition: u32, segment: Position, head: Hash) -> Option<Outline> {
        let at = self.segments.binary_search_by_key(&segment, |segment| segment.first).ok()?;
        let Segment { first, used, marks } = &self.segments[at];
        let last = self.segments.get(at + 1)?.first - 1;
        Some(Outline { partition, first: *first, last, head, used: *used, marks: marks.clone() })
    }

    /// The full segments with positions up to this one: first position, bytes up to the end of the last block, and last position.
    pub fn full(&self, upto: Position) -> Vec<(Position, u64, Position)> {
        let pairs = self.segments.windows(2).map(|pair| (pair[0].first, pair[0].used, pair[1].first - 1));
        pairs.take_while(|(.., last)| *last <= upto).collect()
    }

    /// Notes a block as [`add`](Self::add) does, and the file that it was written to.
    pub fn publish(
        &mut self,
        segment: Position,
        file: &Arc<dyn File>,
        offset: u64,
        bytes: u64,
        first: Position,
        last: Position,
    ) {
        self.add(segment, offset, bytes, first, last);
        self.open = Some((segment, Arc::clone(file)));
    }

    /// Where to look for `position`; `None` if it isn't in the log.
    pub fn find(&self, position: Position) -> Option<Lookup> {
        if position == 0 || position > self.end {
            return None;
        }
        let after = self.segments.partition_point(|segment| segment.first <= position);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let after_mark = segment.marks.partition_point(|(marked, _)| *marked <= position);
        let (marked, offset) = *segment.marks.get(after_mark.checked_sub(1)?)?;
        let open = self.open.as_ref().filter(|(open, _)| *open == segment.first);
        let file = open.map(|(_, file)| Arc::clone(file));
        Some(Lookup { segment: segment.first, file, position: marked, offset, used: segment.used })
    }
}
