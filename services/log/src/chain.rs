//! The hash chain: each record names the record before it by SHA-256.
//!
//! A record is a protobuf message whose first field is number 1 with 32 bytes: the previous record's hash.
//! Its bytes therefore begin `0A 20` and the hash, and the chain is verified from that prefix alone. The hash
//! is taken over the stored bytes; nothing is ever decoded and encoded again to verify it.
//! Cost: one SHA-256 a record (about 0.2 microseconds for 250 bytes with SHA instructions).

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::{
    error::AppendError,
    record::{Hash, Position},
};

/// Protobuf tag of field 1, length-delimited, and the length 32.
const PREFIX: [u8; 2] = [0x0A, 0x20];

/// The hash that the first record of `partition` names as its previous one. It depends on the partition, so no record
/// of another partition, and no tail of another log, can stand at position 1.
#[must_use]
pub fn genesis(partition: u32) -> Hash {
    hash(format!("motherlode/log/v1/partition/{partition}").as_bytes())
}

/// The hash by which the next record names this one: SHA-256 of the stored bytes.
#[must_use]
pub fn hash(record: &[u8]) -> Hash {
    Sha256::digest(record).into()
}

/// The hash of the record before, as `record` names it; `None` if the bytes don't begin as a record must.
#[must_use]
pub fn previous_hash(record: &[u8]) -> Option<Hash> {
    record.strip_prefix(&PREFIX)?.first_chunk().copied()
}

/// Verifies that `records` continue the chain from `head`, the hash of the record at `after`, and returns the hash of the
/// last one. Every store checks this before it appends, and every verifier after it has read.
///
/// # Errors
/// [`AppendError::Chain`] for the first record that doesn't name the one before it.
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

/// Records that name each other in their order, with the hash of the last: the chain is verified as it's made, and each record is
/// hashed once for all who need to know.
#[derive(Debug, Clone)]
pub struct Chained {
    before: Hash,
    head: Hash,
    records: Vec<Bytes>,
}

impl Chained {
    /// No records, after the one with this hash.
    #[must_use]
    pub fn after(head: Hash) -> Self {
        Self { before: head, head, records: Vec::new() }
    }

    /// Adds a record. The last one was `after`.
    ///
    /// # Errors
    /// [`AppendError::Chain`] where it doesn't name the last one; nothing has changed.
    pub fn push(&mut self, after: Position, record: Bytes) -> Result<(), AppendError> {
        self.head = verify_chain(self.head, after, std::slice::from_ref(&record))?;
        self.records.push(record);
        Ok(())
    }

    /// The hash of the last record, or of the one before where there's none.
    #[must_use]
    pub fn head(&self) -> Hash {
        self.head
    }

    /// The hash of each record. Costs nothing to speak of: each one names that of the one before it.
    pub fn hashes(&self) -> impl Iterator<Item = Hash> {
        let named = self.records.iter().skip(1).filter_map(|record| previous_hash(record));
        named.chain((!self.records.is_empty()).then_some(self.head))
    }

    /// The records.
    #[must_use]
    pub fn records(&self) -> &[Bytes] {
        &self.records
    }

    /// Verifies that they come after the record at `after` with the hash `head`, even where there are none.
    ///
    /// # Errors
    /// [`AppendError::Chain`].
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

    /// Known answers, computed with `printf 'motherlode/log/v1/partition/0' | sha256sum`.
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
        // One that names another record changes nothing.
        let broken = chained.push(1, record(start, "two"));
        assert!(matches!(broken, Err(AppendError::Chain { position: 2, expected, found: Some(found) })
            if expected == hash(&first) && found == start));
        assert_eq!((chained.head(), chained.records()), (hash(&first), &[first.clone()][..]));
        assert!(chained.verify_after(0, start).is_ok());
        assert!(matches!(chained.verify_after(1, hash(&first)), Err(AppendError::Chain { position: 2, .. })));
        assert!(Chained::after(start).verify_after(1, hash(&first)).is_err(), "no records after another one");
    }

    #[test]
    fn a_record_names_its_predecessor_only_with_the_exact_prefix() {
        let mut record = vec![0x0A, 0x20];
        record.extend([7; 32]);
        assert_eq!(previous_hash(&record), Some([7; 32]));
        assert_eq!(previous_hash(&record[..33]), None, "31 bytes are no hash");
        assert_eq!(previous_hash(&[]), None);
        record[1] = 0x21;
        assert_eq!(previous_hash(&record), None);
        record[..2].copy_from_slice(&[0x12, 0x20]);
        assert_eq!(previous_hash(&record), None);
    }
}
