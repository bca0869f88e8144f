use bytes::Bytes;
use motherlode_log::{Limit, Position, Record};
use std::collections::{BTreeMap, VecDeque};

/// Maximum size of the cache in bytes. A range that exceeds it is cached alone.
const BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Default)]
pub(crate) struct Recent {
    stretches: BTreeMap<Position, Vec<Bytes>>,
    order: VecDeque<Position>,
    bytes: usize,
}

impl Recent {
    pub(crate) fn read(&self, from: Position, limit: &mut Limit) -> Vec<Record> {
        let Some((first, records)) = self.stretches.range(..=from).next_back() else { return vec![] };
        stretch(*first, records, from, limit)
    }

    pub(crate) fn keep(&mut self, first: Position, records: Vec<Bytes>) {
        self.bytes += length(&records);
        match self.stretches.insert(first, records) {
            Some(before) => self.bytes -= length(&before),
            None => self.order.push_back(first),
        }
        while self.bytes > BYTES_MAX && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|first| self.stretches.remove(&first));
            self.bytes -= oldest.map_or(0, |records| length(&records));
        }
    }
}

pub(crate) fn stretch(first: Position, records: &[Bytes], from: Position, limit: &mut Limit) -> Vec<Record> {
    let skipped = usize::try_from(from - first).unwrap_or(usize::MAX);
    let wanted = records.iter().skip(skipped).take_while(|record| limit.admits(record.len()));
    wanted.zip(from..).map(|(bytes, position)| Record { position, bytes: bytes.clone() }).collect()
}

fn length(records: &[Bytes]) -> usize {
    records.iter().map(Bytes::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(count: usize, bytes: usize) -> Vec<Bytes> {
        vec![Bytes::from(vec![7; bytes]); count]
    }

    fn positions(recent: &Recent, from: Position, max_records: usize, max_bytes: usize) -> Vec<Position> {
        let read = recent.read(from, &mut Limit::new(max_records, max_bytes));
        read.iter().map(|record| record.position).collect()
    }

    #[test]
    fn what_is_kept_is_read_within_the_limits_and_nothing_else() {
        let mut recent = Recent::default();
        recent.keep(11, records(5, 10));
        recent.keep(31, records(5, 10));
        assert_eq!(positions(&recent, 11, 3, 1000), [11, 12, 13]);
        assert_eq!(positions(&recent, 13, 9, 20), [13, 14]);
        assert_eq!(positions(&recent, 35, 9, 0), [35]);
        for outside in [1, 10, 16, 30, 36, Position::MAX] {
            assert!(positions(&recent, outside, 9, 1000).is_empty(), "{outside}");
        }
        recent.keep(31, records(7, 10));
        assert_eq!(positions(&recent, 36, 9, 1000), [36, 37]);
        assert_eq!((recent.bytes, recent.order.len()), (120, 2));
    }

    #[test]
    fn the_oldest_goes_and_the_last_stays_however_long() {
        let mut recent = Recent::default();
        for first in [100, 1, 200] {
            recent.keep(first, records(1, BYTES_MAX / 2));
        }
        assert!(positions(&recent, 100, 1, 1).is_empty());
        assert_eq!((positions(&recent, 1, 1, 1), positions(&recent, 200, 1, 1)), (vec![1], vec![200]));
        recent.keep(300, records(3, BYTES_MAX));
        assert_eq!(positions(&recent, 302, 1, 1), [302]);
        assert_eq!((recent.order.len(), recent.stretches.len(), recent.bytes), (1, 1, 3 * BYTES_MAX));
    }
}
