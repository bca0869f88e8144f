//! In-memory index from positions to sequence numbers, with one 56-byte entry per 32 messages or 32 KiB, whichever is
//! reached first.

use crate::{message::Walk, start::Start};
use motherlode_log::{Hash, Position};

const MESSAGES: u64 = 32;
const BYTES: usize = 32 << 10;

#[derive(Debug)]
pub(crate) struct Index {
    pub start: Start,
    pub end: Position,
    pub last: u64,
    marks: Vec<Mark>,
    bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    next: Position,
    sequence: u64,
    epoch: u64,
    head: Hash,
}

impl Index {
    pub(crate) fn new(start: Start) -> Self {
        Self { start, end: start.log.first - 1, last: start.sequence - 1, marks: vec![], bytes: 0 }
    }

    pub(crate) fn add(&mut self, before: &Walk, after: &Walk, bytes: usize) {
        let due = |mark: &Mark| before.sequence - mark.sequence >= MESSAGES || self.bytes >= BYTES;
        if self.marks.last().is_none_or(due) {
            let Walk { next, sequence, epoch, head, .. } = *before;
            self.marks.push(Mark { next, sequence, epoch, head });
            self.bytes = 0;
        }
        self.bytes += bytes;
        (self.end, self.last) = (after.next - 1, after.sequence - 1);
        if after.start != self.start {
            self.begin_at(after.start);
        }
    }

    fn begin_at(&mut self, start: Start) {
        let Start { sequence, epoch, log, .. } = start;
        let first = Mark { next: log.first, sequence, epoch, head: log.previous };
        let dropped = self.marks.partition_point(|mark| mark.sequence <= sequence);
        self.marks.splice(..dropped, [first]);
        self.start = start;
    }

    pub(crate) fn find(&self, position: Position, upto: Position) -> Option<(Walk, u64)> {
        if position < self.start.log.first || position > self.end {
            return None;
        }
        let from = self.marks.partition_point(|mark| mark.next <= position).checked_sub(1)?;
        let Mark { next, sequence, epoch, head } = *self.marks.get(from)?;
        let beyond = self.marks.partition_point(|mark| mark.next <= upto);
        let end = self.marks.get(beyond).map_or(self.last + 1, |mark| mark.sequence);
        let walk = Walk { sequence, next, head, epoch, foreign: 0, authentic: true, start: self.start };
        Some((walk, end - sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_log::LogStart;

    #[test]
    fn a_position_is_found_between_marks_that_are_near() {
        let (mut index, mut walk) = (Index::new(Start::genesis(0)), Walk::new(0));
        let mut of = vec![];
        for sequence in 1..=1000 {
            let before = walk.clone();
            walk.sequence += 1;
            if sequence % 10 != 0 {
                walk.next += 2;
                of.extend([sequence, sequence]);
            }
            index.add(&before, &walk, 100);
        }
        assert_eq!((index.end, index.last), (1800, 1000));
        for position in 1..=index.end {
            let (walk, messages) = index.find(position, position).unwrap();
            let sequence = of[usize::try_from(position).unwrap() - 1];
            assert!((walk.sequence..walk.sequence + messages).contains(&sequence), "{position}");
            assert!(walk.next <= position && messages <= MESSAGES);
        }
        let (walk, messages) = index.find(1, Position::MAX).unwrap();
        assert_eq!((walk.sequence, messages), (1, 1000));
        assert!(index.find(0, 0).is_none() && index.find(1801, 1801).is_none());
    }

    #[test]
    fn pl_37_a_recorded_start_drops_the_entries_before_it() {
        let (mut index, mut walk) = (Index::new(Start::genesis(0)), Walk::new(0));
        for _ in 0..100 {
            let before = walk.clone();
            (walk.sequence, walk.next) = (walk.sequence + 1, walk.next + 2);
            index.add(&before, &walk, 100);
        }
        let before = walk.clone();
        let log = LogStart { first: 81, previous: [4; 32] };
        walk.start = Start { sequence: 41, epoch: 1, log, identity: Some([1; 32]) };
        walk.sequence += 1;
        index.add(&before, &walk, 100);
        assert!(index.find(80, 80).is_none());
        for (position, sequence) in [(81, 41), (128, 41), (129, 65), (200, 97)] {
            assert_eq!(index.find(position, position).unwrap().0.sequence, sequence, "{position}");
        }
        let (first, _) = index.find(81, 81).unwrap();
        assert_eq!((first.next, first.head, first.epoch), (81, [4; 32], 1));
        assert_eq!((index.end, index.last), (200, 101));
    }

    #[test]
    fn long_messages_have_marks_of_their_own() {
        let (mut index, mut walk) = (Index::new(Start::genesis(0)), Walk::new(0));
        for _ in 0..10 {
            let before = walk.clone();
            (walk.sequence, walk.next) = (walk.sequence + 1, walk.next + 1);
            index.add(&before, &walk, BYTES);
        }
        assert!((1..=10).all(|position| index.find(position, position).unwrap().1 == 1));
    }
}
