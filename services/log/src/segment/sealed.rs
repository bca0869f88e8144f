//! Sealed segments are full segments, built in memory for an archive. They have the format of segment files without
//! zeros at the end. The same records and segment size always give the same blocks.

use bytes::Bytes;

use super::format::{
    BLOCK_HEADER, BlockHeader, SEGMENT_HEADER, SegmentHeader, block_bytes, body_bytes, decode_block, encode_block,
};
use crate::{
    chain::verify_chain,
    error::AppendError,
    record::{Hash, Position, Record},
};

/// Maximum size of a block's records in bytes. A longer record gets a block of its own.
const BODY: u64 = 256 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub bytes: Bytes,
    pub first: Position,
    pub last: Position,
    pub previous: Hash,
    pub head: Hash,
}

#[derive(Debug)]
pub struct Sealer {
    first: Position,
    previous: Hash,
    next: Position,
    head: Hash,
    bytes: Vec<u8>,
    block: Vec<Bytes>,
    body: u64,
}

impl Sealer {
    #[must_use]
    pub fn new(partition: u32, after: Position, head: Hash) -> Self {
        let first = after + 1;
        let bytes = SegmentHeader { partition, first, previous: head }.encode().to_vec();
        Self { first, previous: head, next: first, head, bytes, block: vec![], body: 0 }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next == self.first
    }

    #[must_use]
    pub fn bytes_with(&self, record: &Bytes) -> u64 {
        self.bytes.len() as u64 + block_bytes(self.body + 4 + record.len() as u64) + BLOCK_HEADER as u64
    }

    pub fn push(&mut self, record: Bytes) -> Result<Hash, AppendError> {
        let more = body_bytes(std::slice::from_ref(&record));
        self.head = verify_chain(self.head, self.next - 1, std::slice::from_ref(&record))?;
        if !self.block.is_empty() && self.body + more > BODY {
            self.end_block();
        }
        self.next += 1;
        self.body += more;
        self.block.push(record);
        Ok(self.head)
    }

    fn end_block(&mut self) {
        let mut block = vec![];
        let first = self.next - self.block.len() as Position;
        encode_block(&mut block, self.bytes.len() as u64, first, &self.block);
        self.bytes.extend_from_slice(&block);
        self.block.clear();
        self.body = 0;
    }

    #[must_use]
    pub fn finish(mut self) -> Option<Sealed> {
        if self.is_empty() {
            return None;
        }
        self.end_block();
        let Self { first, previous, next, head, bytes, .. } = self;
        Some(Sealed { bytes: bytes.into(), first, last: next - 1, previous, head })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}, where the record at position {position} is expected: {reason}")]
pub struct SealedDamage {
    pub offset: u64,
    pub position: Position,
    pub reason: String,
}

#[derive(Debug)]
pub struct Unsealer {
    bytes: Bytes,
    offset: usize,
    next: Position,
    head: Hash,
    failed: bool,
}

impl Unsealer {
    /// Opens a segment, which must begin at `first` after a record with the hash `previous`.
    pub fn new(bytes: Bytes, partition: u32, first: Position, previous: Hash) -> Result<Self, SealedDamage> {
        let damage = |reason: &str| SealedDamage { offset: 0, position: first, reason: reason.to_owned() };
        let header = SegmentHeader::decode(&bytes).map_err(damage)?;
        if header != (SegmentHeader { partition, first, previous }) {
            return Err(damage(
                "the segment's header does not match the expected partition, first position or previous hash",
            ));
        }
        Ok(Self { bytes, offset: SEGMENT_HEADER, next: first, head: previous, failed: false })
    }

    #[must_use]
    pub fn verified(&self) -> (Position, Hash) {
        (self.next - 1, self.head)
    }

    fn block(&mut self) -> Result<Vec<Record>, SealedDamage> {
        let damage = |reason: String| SealedDamage { offset: self.offset as u64, position: self.next, reason };
        let rest = self.bytes.slice(self.offset..);
        let whole = BlockHeader::decode(&rest).is_some_and(|header| header.bytes() <= rest.len());
        if !whole {
            return Err(damage("no whole block".to_owned()));
        }
        let block = decode_block(&rest, self.next).map_err(|reason| damage(reason.to_owned()))?;
        self.head =
            verify_chain(self.head, self.next - 1, &block.records).map_err(|error| damage(error.to_string()))?;
        self.offset += block.bytes;
        let records = block.records.into_iter().zip(self.next..);
        let records: Vec<_> = records.map(|(bytes, position)| Record { position, bytes }).collect();
        self.next += records.len() as Position;
        Ok(records)
    }
}

impl Iterator for Unsealer {
    type Item = Result<Vec<Record>, SealedDamage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.offset == self.bytes.len() {
            return None;
        }
        let block = self.block();
        self.failed = block.is_err();
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::{Tail, scan};
    use super::*;
    use crate::chain::{genesis, hash};

    fn records(count: usize, bytes: usize) -> Vec<Bytes> {
        let mut head = genesis(3);
        let link = |number: usize| {
            let payload = vec![number.to_le_bytes()[0]; bytes];
            let record = Bytes::from([&[0x0A, 0x20][..], &head, &payload].concat());
            head = hash(&record);
            record
        };
        (0..count).map(link).collect()
    }

    fn sealed(records: &[Bytes]) -> Sealed {
        let mut sealer = Sealer::new(3, 0, genesis(3));
        for record in records {
            sealer.push(record.clone()).unwrap();
        }
        sealer.finish().unwrap()
    }

    fn unsealed(bytes: Bytes) -> Result<Vec<Bytes>, SealedDamage> {
        let blocks = Unsealer::new(bytes, 3, 1, genesis(3))?;
        let mut all = vec![];
        for block in blocks {
            all.extend(block?.into_iter().map(|record| record.bytes));
        }
        Ok(all)
    }

    #[test]
    fn pl_37_a_sealed_segment_is_a_segment_file_with_the_same_records() {
        let (records, folder) = (records(2_000, 300), tempfile::tempdir().unwrap());
        let segment = sealed(&records);
        assert_eq!((segment.first, segment.last, segment.head), (1, 2_000, hash(&records[1_999])));
        assert_eq!(unsealed(segment.bytes.clone()).unwrap(), records);
        std::fs::write(folder.path().join(format!("{:020}.log", 1)), &segment.bytes).unwrap();
        let mut scan = scan(folder.path()).unwrap();
        let read: Vec<_> = scan.by_ref().map(|record| record.unwrap().bytes).collect();
        assert_eq!((read, scan.tail()), (records, &Tail::Clean));
    }

    #[test]
    fn pl_37_every_changed_byte_and_every_length_of_a_sealed_segment_is_damage() {
        let records = records(5, 40);
        let whole = sealed(&records).bytes;
        for at in 0..whole.len() {
            let mut changed = whole.to_vec();
            changed[at] ^= 0x10;
            assert!(unsealed(changed.into()).is_err(), "byte {at}");
        }
        for length in (0..whole.len()).filter(|length| *length != SEGMENT_HEADER) {
            assert!(unsealed(whole.slice(..length)).is_err(), "{length} bytes");
        }
        assert!(unsealed([&whole[..], &[0; 32]].concat().into()).is_err(), "zeros follow");
    }

    #[test]
    fn pl_37_a_record_that_does_not_chain_is_not_sealed() {
        let records = records(3, 10);
        let mut sealer = Sealer::new(3, 0, genesis(3));
        sealer.push(records[0].clone()).unwrap();
        assert!(sealer.push(records[2].clone()).is_err());
        sealer.push(records[1].clone()).unwrap();
        assert_eq!(sealer.finish().unwrap().last, 2);
        assert_eq!(Sealer::new(3, 0, genesis(3)).finish(), None);
    }
}
