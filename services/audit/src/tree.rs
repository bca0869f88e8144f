//! Recomputes the log's Merkle tree and compares it with signed checkpoints and the stored tree files. Cost: two hashes per
//! record on average.

use crate::divergence::Fault;
use motherlode_log::{Hash, Position};
use motherlode_proofs::{Files, FilesError};
use motherlode_proto::convert::play::hex;
use motherlode_tiles::{Checkpoint, Stored as _, Tree, VerifierKey};
use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
};

const TOGETHER: usize = 256;

#[derive(Debug, Clone, Default)]
pub struct Checkpoints {
    pub signed: Vec<Checkpoint>,
    /// Folder of the tree files, and the number of records that they must cover.
    pub files: Option<(PathBuf, u64)>,
}

impl Checkpoints {
    /// Opens the tree files in a folder. If the folder has no checkpoint, nothing is compared.
    pub fn in_folder(folder: &Path, key: &VerifierKey) -> Result<Self, FilesError> {
        let Some((checkpoint, _)) = Files::restored_checkpoint(folder, key)? else { return Ok(Self::default()) };
        Ok(Self { files: Some((folder.to_owned(), checkpoint.size)), signed: vec![checkpoint] })
    }
}

pub(crate) struct TreeCheck {
    tree: Tree,
    signed: Vec<Checkpoint>,
    files: Option<(Files, u64)>,
    /// Hashes still to be compared, one list per level of the tree, each with the index of its first hash.
    pending: Vec<(u64, Vec<Hash>)>,
}

impl TreeCheck {
    pub(crate) fn new(of: &Checkpoints) -> Result<Option<Self>, Fault> {
        if of.signed.is_empty() && of.files.is_none() {
            return Ok(None);
        }
        let mut signed = of.signed.clone();
        signed.sort_by_key(|checkpoint| Reverse(checkpoint.size));
        let files = of.files.as_ref().map(|(folder, size)| match Files::open_unchanged(folder) {
            Ok(files) => Ok((files, *size)),
            Err(error) => Err(Fault::new("the tree's files cannot be read", folder.display(), error)),
        });
        Ok(Some(Self { tree: Tree::default(), signed, files: files.transpose()?, pending: vec![] }))
    }

    pub(crate) fn take(&mut self, record: Hash) -> Result<(), Fault> {
        let Self { tree, pending, files, .. } = self;
        let at = tree.size();
        let compared = files.as_ref().is_some_and(|(_, size)| at < *size);
        let mut note = |level: usize, hash| {
            if pending.len() <= level {
                pending.resize_with(level + 1, || (0, vec![]));
            }
            if let Some((_, hashes)) = pending.get_mut(level).filter(|_| compared) {
                hashes.push(hash);
            }
        };
        note(0, record);
        tree.append(&record, |level, hash| {
            if level > 0 {
                note(usize::from(level), hash);
            }
        });
        if compared {
            self.compare(TOGETHER)?;
        }
        self.reached()
    }

    fn compare(&mut self, least: usize) -> Result<(), Fault> {
        let Some((files, _)) = &self.files else { return Ok(()) };
        for (level, (first, hashes)) in self.pending.iter_mut().enumerate() {
            if hashes.is_empty() || hashes.len() < least {
                continue;
            }
            let stored = match u8::try_from(level) {
                Ok(level) if level > 0 => files.hashes(level, *first, hashes.len()),
                _ => files.entries(*first, hashes.len()),
            };
            let fault = |expected: String, found: String| {
                let what = match level {
                    0 => "the record's entry in the log's Merkle tree is not the record's hash".to_owned(),
                    level => format!("a tile of level {level} of the Merkle tree differs from the log"),
                };
                Fault::new(what, expected, found)
            };
            let stored = stored.map_err(|error| {
                fault(
                    format!("the tree files must contain {} hashes from index {first}", hashes.len()),
                    error.to_string(),
                )
            })?;
            let differs = hashes.iter().zip(&stored).zip(*first..).find(|((one, other), _)| one != other);
            if let Some(((expected, found), index)) = differs {
                return Err(fault(format!("{} at {index}", hex(expected)), hex(found)));
            }
            *first += hashes.len() as u64;
            hashes.clear();
        }
        Ok(())
    }

    fn reached(&mut self) -> Result<(), Fault> {
        while let Some(checkpoint) = self.signed.pop_if(|next| next.size <= self.tree.size()) {
            let root = if checkpoint.size == 0 { Tree::default().root() } else { self.tree.root() };
            if checkpoint.root != root {
                let what = format!(
                    "the log up to this position differs from a signed checkpoint of the log {}",
                    checkpoint.origin
                );
                return Err(Fault::new(what, hex(&checkpoint.root), hex(&root)));
            }
        }
        Ok(())
    }

    pub(crate) fn end(&mut self, end: Position, head: Hash) -> Result<(), Fault> {
        if self.tree.size() + 1 == end {
            self.take(head)?;
        }
        self.reached()?;
        if let Some(longer) = self.signed.first() {
            let what = "the log is shorter than its signed checkpoint: records are missing";
            return Err(Fault::new(
                what,
                format!("the log must have at least {} records", longer.size),
                format!("the log ends at position {end}"),
            ));
        }
        self.compare(1)
    }
}
