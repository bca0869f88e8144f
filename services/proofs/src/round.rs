use crate::{brief::brief, copied::shortened, files::Files};
use motherlode_log::{Hash, Record, hash};
use motherlode_proto::{
    convert::record::decode,
    proof::v1::{ProvenRecord, RoundRecords},
};
use motherlode_rounds::draws;
use motherlode_tiles::{Checkpoint, Note, Proof, inclusion, is_included, leaf};
use prost::Message as _;
use std::{collections::BTreeSet, io};

/// Creates the proof of a round. The round's last record has an inclusion proof. An earlier record is proven by its hash
/// in a later record of the round, or else by an inclusion proof. The proof's `extra` contains the records
/// ([`RoundRecords`]), in which copy instructions replace repeated bytes. If `is_brief` is set, the records also omit
/// fields that the verifier can derive.
pub fn proof_of(
    files: &Files,
    checkpoint: &Checkpoint,
    note: &Note,
    round: u64,
    records: &[Record],
    sealing: &[Record],
    is_brief: bool,
) -> io::Result<Proof> {
    let Some(last) = records.last() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let size = checkpoint.size;
    let path_of = |index: u64, entry: &Hash| {
        let path = inclusion(files, index, size)?;
        match is_included(&leaf(entry), index, size, &path, &checkpoint.root) {
            true => Ok(path),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "the tree's files do not match its checkpoint")),
        }
    };
    let mut extra = RoundRecords { round, ..RoundRecords::default() };
    let damaged = |malformed| io::Error::new(io::ErrorKind::InvalidData, malformed);
    let all: Vec<_> = sealing.iter().chain(records).collect();
    let short = match is_brief {
        true => brief(&all).map_err(damaged)?,
        false => vec![None; all.len()],
    };
    let mut before = None;
    for (place, (record, short)) in all.into_iter().zip(&short).enumerate() {
        let bytes = short.as_deref().unwrap_or(&record.bytes);
        let (record, copied) = shortened(bytes, before);
        let proven = ProvenRecord { record, copied, brief: short.is_some(), ..ProvenRecord::default() };
        if place < sealing.len() { &mut extra.sealing } else { &mut extra.records }.push(proven);
        before = Some(bytes);
    }
    let (mut named, mut path) = (BTreeSet::new(), vec![]);
    let all = sealing.iter().zip(&mut extra.sealing).chain(records.iter().zip(&mut extra.records));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(record, _)| record.position);
    for (record, proven) in all.into_iter().rev() {
        let (index, entry) = (record.position.saturating_sub(1), hash(&record.bytes));
        if record.position == last.position {
            path = path_of(index, &entry)?;
        } else if !named.contains(&entry) {
            proven.path = path_of(index, &entry)?.iter().map(|hash| hash.to_vec()).collect();
        }
        let logged = decode(&record.bytes).map_err(damaged)?;
        named.extend(draws::sealed_by(&logged.commit.events));
    }
    Ok(Proof { extra: extra.encode_to_vec(), index: last.position.saturating_sub(1), path, checkpoint: note.clone() })
}
