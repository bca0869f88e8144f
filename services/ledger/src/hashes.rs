//! Hashes of the newest durable records in memory, so that most lookups do not read the log.

use motherlode_log::{Chained, Hash, Position};
use std::collections::VecDeque;

const HASHES_MAX: usize = 1 << 16;

#[derive(Debug, Default)]
pub(crate) struct RecentHashes {
    end: Position,
    hashes: VecDeque<Hash>,
}

impl RecentHashes {
    pub(crate) fn push(&mut self, after: Position, group: &Chained) {
        if after != self.end {
            self.hashes.clear();
        }
        self.hashes.extend(group.hashes());
        self.end = after + group.records().len() as u64;
        let excess = self.hashes.len().saturating_sub(HASHES_MAX);
        self.hashes.drain(..excess);
    }

    pub(crate) fn from(&self, position: Position, max: usize) -> Option<Vec<Hash>> {
        let first = self.end + 1 - self.hashes.len() as u64;
        let skip = usize::try_from(position.checked_sub(first)?).unwrap_or(usize::MAX);
        Some(self.hashes.iter().skip(skip).take(max).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use motherlode_log::{genesis, hash};

    fn group(before: Hash, count: u8) -> Chained {
        let mut chained = Chained::after(before);
        for number in 0..count {
            let record = [&[0x0A, 0x20], &chained.head()[..], &[number]].concat();
            chained.push(u64::from(number), Bytes::from(record)).unwrap();
        }
        chained
    }

    #[test]
    fn hashes_are_those_of_the_records_from_a_position_on() {
        let (first, mut recent) = (group(genesis(0), 3), RecentHashes::default());
        let second = group(first.head(), 2);
        recent.push(0, &first);
        recent.push(3, &second);
        let all: Vec<_> = first.records().iter().chain(second.records()).map(|record| hash(record)).collect();
        for (position, rest) in (1..).zip((0..=5).map(|skip| all[skip..].to_vec())) {
            assert_eq!(recent.from(position, 9), Some(rest));
        }
        assert_eq!(recent.from(2, 2), Some(all[1..3].to_vec()));
        assert_eq!(recent.from(0, 2), None, "no record has position 0");
    }

    #[test]
    fn what_does_not_follow_begins_anew_and_the_oldest_go() {
        let mut recent = RecentHashes::default();
        recent.push(0, &group(genesis(0), 3));
        recent.push(7, &group(genesis(0), 1));
        assert_eq!((recent.from(3, 1), recent.from(8, 9).map(|hashes| hashes.len())), (None, Some(1)));
        for after in 0..HASHES_MAX as u64 {
            recent.push(8 + after, &group(genesis(0), 1));
        }
        assert_eq!((recent.from(8, 1), recent.from(9, usize::MAX).unwrap().len()), (None, HASHES_MAX));
    }
}
