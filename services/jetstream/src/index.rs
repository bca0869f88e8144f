//! In-memory index from positions to sequence numbers, with one 56-byte entry per 32 messages or 32 KiB, whichever is
//! reached first.

use crate::message::Walk;
use motherlode_log::{Hash, Position};

const MESSAGES: u64 = 32;
const BYTES: usize = 32 << 10;

#[derive(Debug, Default)]
pub(crate) struct Index {
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
    pub(crate) fn add(&mut self, before: &Walk, after: &Walk, bytes: usize) {
        let due = |mark: &Mark| before.sequence - mark.sequence >= MESSAGES || self.bytes >= BYTES;
        if self.marks.last().is_none_or(due) {
            let Walk { next, sequence, epoch, head, .. } = *before;
            self.marks.push(Mark { next, sequence, epoch, head });
            self.bytes = 0;
        }
        self.bytes += bytes;
        (self.end, self.last) = (after.next - 1, after.sequence - 1);
    }

    pub(crate) fn find(&self, position: Position, upto: Position) -> Option<(Walk, u64)> {
        if position == 0 || position > self.end {
            return None;
        }
        let from = self.marks.partition_point(|mark| mark.next <= position).checked_sub(1)?;
        let Mark { next, sequence, epoch, head } = *self.marks.get(from)?;
        let beyond = self.marks.partition_point(|mark| mark.next <= upto);
        let end = self.marks.get(beyond).map_or(self.last + 1, |mark| mark.sequence);
        Some((Walk { sequence, next, head, epoch, foreign: 0, authentic: true }, end - sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_found_between_marks_that_are_near() {
        let (mut index, mut walk) = (Index::default(), Walk::new(0));
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
    fn long_messages_have_marks_of_their_own() {
        let (mut index, mut walk) = (Index::default(), Walk::new(0));
        for _ in 0..10 {
            let before = walk.clone();
            (walk.sequence, walk.next) = (walk.sequence + 1, walk.next + 1);
            index.add(&before, &walk, BYTES);
        }
        assert!((1..=10).all(|position| index.find(position, position).unwrap().1 == 1));
    }
}
