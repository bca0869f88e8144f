//! Before the service answers, checks the log against the last signed checkpoint: the snapshot must belong to the signed
//! log, and the records after the checkpoint are verified. The ledger verifies the records before the checkpoint in the
//! background.

use crate::{
    files::Files,
    growing::{Contradiction, GrowError, Growing},
};
use motherlode_ledger::{ChainHead, Handle};
use motherlode_log::{Position, ReadError, hash, previous_hash};
use motherlode_tiles::{Checkpoint, Hash, Note, inclusion, is_included, leaf};

const RECORDS: usize = 4096;
const BYTES: usize = 1 << 20;

/// Without a signed checkpoint, the whole log is verified in the background.
pub(crate) fn resume(
    (mut growing, signed): (Growing, Option<(Checkpoint, Note)>),
    ledger: &Handle,
) -> Result<(Growing, Option<(Checkpoint, Note)>), GrowError> {
    let Some((checkpoint, note)) = signed else { return Ok((growing, None)) };
    if !is_of_snapshot(&growing.files, &checkpoint, ledger.partition(), ledger.rests_on())? {
        growing.begin_anew(Some(checkpoint));
        return Ok((growing, None));
    }
    verify_past(ledger, checkpoint.size, *growing.head(), ledger.verification().borrow().unread)?;
    Ok((growing, Some((checkpoint, note))))
}

fn is_of_snapshot(
    files: &Files,
    checkpoint: &Checkpoint,
    partition: u32,
    snapshot: ChainHead,
) -> Result<bool, GrowError> {
    let (size, position) = (checkpoint.size, snapshot.position);
    if position == 0 || position > size {
        return Ok(true);
    }
    let index = position - 1;
    let path = inclusion(files, index, size)?;
    let is_signed = |entry: &Hash| is_included(&leaf(entry), index, size, &path, &checkpoint.root);
    if is_signed(&snapshot.hash) {
        return Ok(true);
    }
    match files.entries(index, 1)?.first().is_some_and(is_signed) {
        true => {
            let what =
                "the snapshot used at startup names a record at this position that is not in the signed log".into();
            Err(Contradiction { partition, position, what }.into())
        }
        false => Ok(false),
    }
}

/// Verifies the records after the checkpoint, unless they were verified when the log was opened.
fn verify_past(ledger: &Handle, size: Position, head: Hash, unread: Position) -> Result<(), GrowError> {
    let (partition, to) = (ledger.partition(), (unread + 1).min(ledger.durable()));
    if unread <= size {
        return Ok(());
    }
    tracing::info!(
        partition,
        from = size + 1,
        to,
        "verifying the records after the last checkpoint before answering calls"
    );
    let (mut at, mut head) = (size, head);
    while at < to {
        let left = usize::try_from(to - at).unwrap_or(usize::MAX).min(RECORDS);
        let contradiction = |position, what| GrowError::from(Contradiction { partition, position, what });
        let records = match ledger.records(at + 1, left, BYTES) {
            Ok(records) if !records.is_empty() => records,
            Ok(_) => return Err(contradiction(at + 1, "the log has no record at this position".into())),
            Err(error @ (ReadError::Io(_) | ReadError::Archived { .. })) => return Err(error.into()),
            Err(error) => {
                return Err(contradiction(at + 1, format!("cannot verify the records after the checkpoint: {error}")));
            }
        };
        for record in &records {
            if previous_hash(&record.bytes) != Some(head) {
                return Err(contradiction(
                    record.position,
                    "the record does not continue the hash chain of the signed log".into(),
                ));
            }
            (at, head) = (record.position, hash(&record.bytes));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_tiles::Tree;

    #[test]
    fn pl_30_a_snapshot_must_stand_on_a_record_that_was_signed() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(folder.path()).unwrap();
        let entries: Vec<Hash> = (0..40).map(|number| [number; 32]).collect();
        files.write(None, 0, &entries).unwrap();
        let mut tree = Tree::default();
        entries.iter().for_each(|entry| tree.append(entry, |_, _| {}));
        let checkpoint = Checkpoint { origin: "log".into(), size: 40, root: tree.root() };
        let held = |position, entry| is_of_snapshot(&files, &checkpoint, 7, ChainHead { position, hash: [entry; 32] });
        for position in 1..=40_u8 {
            assert!(held(position.into(), position - 1).unwrap());
            let refused = held(position.into(), 99).unwrap_err().to_string();
            let place = format!(
                "partition 7, position {position}: the snapshot used at startup names a record at this position that is not in the signed log"
            );
            assert!(refused.starts_with(&place), "{refused}");
        }
        assert!(held(0, 99).unwrap(), "without a snapshot the check must pass");
        assert!(held(41, 99).unwrap(), "a snapshot after the checkpoint must not be checked here");
        files.write(None, 11, &[[99; 32]]).unwrap();
        assert!(!held(12, 98).unwrap());
    }
}
