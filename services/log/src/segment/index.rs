//! Sparse in-memory index of a partition's files, with 16 bytes per 64 KiB of blocks.

use std::sync::Arc;

use super::outline::Outline;
use crate::{
    disk::File,
    record::{Hash, Position},
};

const SPACING: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) struct Index {
    pub end: Position,
    segments: Vec<Segment>,
    open: Option<(Position, Arc<dyn File>)>,
}

#[derive(Debug)]
struct Segment {
    first: Position,
    used: u64,
    marks: Vec<(Position, u64)>,
}

#[derive(Debug, Clone)]
pub(super) struct Lookup {
    pub segment: Position,
    pub file: Option<Arc<dyn File>>,
    pub position: Position,
    pub offset: u64,
    pub used: u64,
}

impl Index {
    pub fn after(end: Position) -> Self {
        Self { end, segments: Vec::new(), open: None }
    }

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

    pub fn add_outlined(&mut self, outline: Outline) {
        let Outline { first, last, used, marks, .. } = outline;
        self.segments.push(Segment { first, used, marks });
        self.end = last;
    }

    pub fn outline(&self, partition: u32, segment: Position, head: Hash) -> Option<Outline> {
        let at = self.segments.binary_search_by_key(&segment, |segment| segment.first).ok()?;
        let Segment { first, used, marks } = &self.segments[at];
        let last = self.segments.get(at + 1)?.first - 1;
        Some(Outline { partition, first: *first, last, head, used: *used, marks: marks.clone() })
    }

    pub fn segment_of(&self, position: Position) -> Option<Position> {
        let after = self.segments.partition_point(|segment| segment.first <= position);
        Some(self.segments.get(after.checked_sub(1)?)?.first)
    }

    pub fn full(&self, upto: Position) -> Vec<(Position, u64, Position)> {
        let pairs = self.segments.windows(2).map(|pair| (pair[0].first, pair[0].used, pair[1].first - 1));
        pairs.take_while(|(.., last)| *last <= upto).collect()
    }

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
