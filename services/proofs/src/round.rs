//! The proof of a round: the inclusion of each of its records under one checkpoint.

use crate::files::Files;
use motherlode_log::{Record, hash};
use motherlode_proto::proof::v1::{ProvenRecord, RoundRecords};
use motherlode_tiles::{Checkpoint, Hash, Note, Proof, inclusion, is_included, leaf};
use prost::Message as _;
use std::io;

/// Proves that a round's records, in their order, are in the tree of a checkpoint, and so are the records in which its draws
/// were sealed. The proof is that of the round's last one; `extra` has all of them ([`RoundRecords`]), each with its own path.
///
/// # Errors
/// The tree can't be read; or its files are damaged, so that nothing can be proven by them.
pub fn proof_of(
    files: &Files,
    checkpoint: &Checkpoint,
    note: &Note,
    round: &str,
    records: &[Record],
    sealing: &[Record],
) -> io::Result<Proof> {
    let Some((last, before)) = records.split_last() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let size = checkpoint.size;
    let path_of = |record: &Record| {
        let index = record.position.saturating_sub(1);
        let path = inclusion(files, index, size)?;
        match is_included(&leaf(&hash(&record.bytes)), index, size, &path, &checkpoint.root) {
            true => Ok(path),
            false => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the tree's files are not those of its checkpoint"))
            }
        }
    };
    let proven = |record: &Record, path: Vec<Hash>| ProvenRecord {
        position: record.position,
        record: record.bytes.to_vec(),
        path: path.iter().map(|hash| hash.to_vec()).collect(),
    };
    let with_paths = |records: &[Record]| {
        let each = records.iter().map(|record| Ok(proven(record, path_of(record)?)));
        each.collect::<io::Result<Vec<_>>>()
    };
    let (mut records, sealing, path) = (with_paths(before)?, with_paths(sealing)?, path_of(last)?);
    records.push(proven(last, vec![]));
    let extra = RoundRecords { records, round_id: round.to_owned(), sealing }.encode_to_vec();
    Ok(Proof { extra, index: last.position.saturating_sub(1), path, checkpoint: note.clone() })
}
