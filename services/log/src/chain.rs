//! Hash chain: each record contains the SHA-256 of the record before it.
//!
//! A record is a protobuf message with the previous record's hash as field 1, so its bytes begin with `0A 20`. Hashes
//! are computed over the stored bytes, which are never encoded again.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::{
    error::AppendError,
    record::{Hash, Position},
};

const PREFIX: [u8; 2] = [0x0A, 0x20];

#[must_use]
pub fn genesis(partition: u32) -> Hash {
    hash(format!("motherlode/log/v1/partition/{partition}").as_bytes())
}

#[must_use]
pub fn hash(record: &[u8]) -> Hash {
    Sha256::digest(record).into()
}

#[must_use]
pub fn previous_hash(record: &[u8]) -> Option<Hash> {
    record.strip_prefix(&PREFIX)?.first_chunk().copied()
}

pub fn verify_chain(head: Hash, after: Position, records: &[Bytes]) -> Result<Hash, AppendError> {
    let mut head = head;
    for (record, position) in records.iter().zip(after + 1..) {
        let found = previous_hash(record);
        if found != Some(head) {
            return Err(AppendError::Chain { position, expected: head, found });
        }
        head = hash(record);
    }
    Ok(head)
}

#[derive(Debug, Clone)]
pub struct Chained {
    before: Hash,
    head: Hash,
    records: Vec<Bytes>,
}

impl Chained {
    #[must_use]
    pub fn after(head: Hash) -> Self {
        Self { before: head, head, records: Vec::new() }
    }

    /// On [`AppendError::Chain`] nothing changes.
    pub fn push(&mut self, after: Position, record: Bytes) -> Result<(), AppendError> {
        self.head = verify_chain(self.head, after, std::slice::from_ref(&record))?;
        self.records.push(record);
        Ok(())
    }

    #[must_use]
    pub fn head(&self) -> Hash {
        self.head
    }

    pub fn hashes(&self) -> impl Iterator<Item = Hash> {
        let named = self.records.iter().skip(1).filter_map(|record| previous_hash(record));
        named.chain((!self.records.is_empty()).then_some(self.head))
    }

    #[must_use]
    pub fn records(&self) -> &[Bytes] {
        &self.records
    }

    pub fn verify_after(&self, after: Position, head: Hash) -> Result<(), AppendError> {
        match self.before == head {
            true => Ok(()),
            false => Err(AppendError::Chain { position: after + 1, expected: head, found: Some(self.before) }),
        }
    }
}

impl From<Chained> for Vec<Bytes> {
    fn from(chained: Chained) -> Self {
        chained.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genesis_is_frozen() {
        let hex = |h: Hash| h.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(hex(genesis(0)), "c2e6d4e58db7125470dce6c1cf5fcc5dd82be808e7ced250b9648493f8dd2504");
        assert_eq!(hex(genesis(17)), "8d9be72c27ae19a457d02f1c9334214a0a8ee40a4567af90dd7d90c44a4d87fa");
    }

    #[test]
    fn what_is_chained_names_what_came_before_and_comes_after_it_alone() {
        let record = |before: Hash, text: &str| Bytes::from([&PREFIX[..], &before[..], text.as_bytes()].concat());
        let (start, mut chained) = (genesis(0), Chained::after(genesis(0)));
        let first = record(start, "one");
        chained.push(0, first.clone()).unwrap();
        assert_eq!(chained.head(), hash(&first));
        let broken = chained.push(1, record(start, "two"));
        assert!(matches!(broken, Err(AppendError::Chain { position: 2, expected, found: Some(found) })
            if expected == hash(&first) && found == start));
        assert_eq!((chained.head(), chained.records()), (hash(&first), &[first.clone()][..]));
        assert!(chained.verify_after(0, start).is_ok());
        assert!(matches!(chained.verify_after(1, hash(&first)), Err(AppendError::Chain { position: 2, .. })));
        assert!(
            Chained::after(start).verify_after(1, hash(&first)).is_err(),
            "the records must not continue the chain of another record"
        );
    }

    #[test]
    fn a_record_names_its_predecessor_only_with_the_exact_prefix() {
        let mut record = vec![0x0A, 0x20];
        record.extend([7; 32]);
        assert_eq!(previous_hash(&record), Some([7; 32]));
        assert_eq!(previous_hash(&record[..33]), None, "31 bytes must not count as a hash");
        assert_eq!(previous_hash(&[]), None);
        record[1] = 0x21;
        assert_eq!(previous_hash(&record), None);
        record[..2].copy_from_slice(&[0x12, 0x20]);
        assert_eq!(previous_hash(&record), None);
    }
}
