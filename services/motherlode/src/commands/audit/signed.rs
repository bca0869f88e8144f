use super::args::Args;
use crate::commands::{Failure, read_text};
use motherlode_audit::{Checkpoints, Options};
use motherlode_proofs::{load, of_partition, proofs_folder};
use motherlode_tiles::{Checkpoint, Note, VerifierKey, without_restore};

pub(super) fn add(args: &Args, parts: &mut [Options]) -> Result<(), Failure> {
    let Some(key) = key(args)? else {
        return match args.checkpoints.is_empty() {
            true => Ok(()),
            false => Err(Failure::unusable("--checkpoint needs the log's public key: name the key with --key")),
        };
    };
    for part in &mut *parts {
        let key = of_partition(&key, part.partition).map_err(Failure::unusable)?;
        match Checkpoints::in_folder(&proofs_folder(&args.data, part.partition), &key) {
            Ok(found) => part.checkpoints = found,
            // A damaged checkpoint causes only a warning, because the service replaces it.
            Err(error) => {
                eprintln!(
                    "warning: partition {}: the log was not compared with its last checkpoint: {error}",
                    part.partition
                )
            }
        }
    }
    for path in &args.checkpoints {
        let step = "With --checkpoint, name a file with a signed checkpoint of this log; with --key, name the log's own public key";
        let unusable = |what: String| Failure::unusable(format!("{}: {what}", path.display())).with_step(step);
        let text = read_text(path, step)?;
        let note: Note = text.parse().map_err(|error| unusable(format!("{error}")))?;
        let claimed: Checkpoint = note.text().parse().map_err(|error| unusable(format!("{error}")))?;
        let of = |part: &&mut Options| {
            of_partition(&key, part.partition).is_ok_and(|key| key.name() == without_restore(&claimed.origin))
        };
        let Some(part) = parts.iter_mut().find(of) else {
            return Err(unusable(format!(
                "the checkpoint is signed for {}, which is not a partition of this log",
                claimed.origin
            )));
        };
        let key = of_partition(&key, part.partition).map_err(Failure::unusable)?;
        let checkpoint = Checkpoint::open_restored(&note, &key).map_err(|error| unusable(error.to_string()))?;
        part.checkpoints.signed.push(checkpoint);
    }
    Ok(())
}

fn key(args: &Args) -> Result<Option<VerifierKey>, Failure> {
    let file = args.data.join("proofs.key");
    match &args.key {
        Some(key) => Ok(Some(key.clone())),
        None if !file.exists() => Ok(None),
        None => {
            let step = "Name the log's public key with --key";
            Ok(Some(load(&file).map_err(|error| Failure::unusable(error).with_step(step))?.verifier().clone()))
        }
    }
}
