//! The proof of a round: the inclusion of each of its records under one checkpoint.

use crate::files::Files;
use motherlode_log::{Record, hash};
use motherlode_proto::proof::v1::{ProvenRecord, RoundRecords};
use motherlode_tiles::{Checkpoint, Note, Proof, inclusion, is_included, leaf};
use prost::Message as _;
use std::io;

/// Proves that a round's records, in their order, are in the tree of a checkpoint. The proof is that of the last one; `extra` has
/// all of them ([`RoundRecords`]), each with its own path.
///
/// # Errors
/// The tree can't be read; or its files are damaged, so that nothing can be proven by them.
pub fn proof_of(
    files: &Files,
    checkpoint: &Checkpoint,
    note: &Note,
    round: &str,
    records: &[Record],
) -> io::Result<Proof> {
    let mut proven = vec![];
    for record in records {
        let (index, size) = (record.position.saturating_sub(1), checkpoint.size);
        let path = inclusion(files, index, size)?;
        if !is_included(&leaf(&hash(&record.bytes)), index, size, &path, &checkpoint.root) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the tree's files are not those of its checkpoint"));
        }
        proven.push((index, path));
    }
    let (index, path) = proven.last_mut().map_or((0, vec![]), |(index, path)| (*index, std::mem::take(path)));
    let of = |(record, (_, path)): (&Record, (u64, Vec<[u8; 32]>))| ProvenRecord {
        position: record.position,
        record: record.bytes.to_vec(),
        path: path.iter().map(|hash| hash.to_vec()).collect(),
    };
    let records = records.iter().zip(proven).map(of).collect();
    let extra = RoundRecords { records, round_id: round.to_owned() }.encode_to_vec();
    Ok(Proof { extra, index, path, checkpoint: note.clone() })
}
