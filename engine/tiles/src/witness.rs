//! A witness: it cosigns a checkpoint that continues the last one it has seen, and no other.

use crate::{
    checkpoint::Checkpoint,
    keys::VerifierKey,
    merkle::{Hash, empty},
    note::{Note, NoteError},
    proof::is_consistent,
    text::{self, Malformed, decimal},
};
use std::{fmt, str::FromStr};

/// Hashes of a consistency proof, at the most.
const PATH_MAX: usize = 63;

/// The request that a log makes of a witness: the body of `POST add-checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// The size that the witness is taken to have seen last.
    pub old: u64,
    /// The proof that the tree of that size is the beginning of the new one.
    pub path: Vec<Hash>,
    /// The new checkpoint.
    pub checkpoint: Note,
}

/// The tree that a witness has seen last of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its size.
    pub size: u64,
    /// Its root.
    pub root: Hash,
}

/// Why a witness does not cosign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unwitnessed {
    /// 403: the log's key has not signed it.
    #[error("the checkpoint: {0}")]
    Forbidden(#[from] NoteError),
    /// 400: the old size is above the new one.
    #[error("the old size is above the checkpoint's")]
    Backwards,
    /// 409: the witness has seen another size last.
    #[error("the last checkpoint that was cosigned has size {0}")]
    Conflict(u64),
    /// 422: the tree that was seen is not its beginning.
    #[error("it does not continue the last checkpoint that was cosigned")]
    Inconsistent,
}

/// Judges a request by the log's key and what was seen of the log last. What comes of it must be kept before anybody is told.
///
/// # Errors
/// [`Unwitnessed`], for the first reason in the specification's order.
pub fn judge(request: &AddCheckpoint, key: &VerifierKey, seen: Option<Seen>) -> Result<Checkpoint, Unwitnessed> {
    let checkpoint = Checkpoint::open(&request.checkpoint, key)?;
    if request.old > checkpoint.size {
        return Err(Unwitnessed::Backwards);
    }
    let seen = seen.unwrap_or(Seen { size: 0, root: empty() });
    if request.old != seen.size {
        return Err(Unwitnessed::Conflict(seen.size));
    }
    let (old, new) = ((seen.size, &seen.root), (checkpoint.size, &checkpoint.root));
    match is_consistent(old, new, &request.path) && (checkpoint.size > 0 || checkpoint.root == empty()) {
        true => Ok(checkpoint),
        false => Err(Unwitnessed::Inconsistent),
    }
}

impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "old {}\n{}\n{}", self.old, text::lines(&self.path), self.checkpoint)
    }
}

impl FromStr for AddCheckpoint {
    type Err = Malformed;

    fn from_str(body: &str) -> Result<Self, Malformed> {
        let read = || {
            let (old, rest) = body.strip_prefix("old ")?.split_once('\n')?;
            let (path, checkpoint) = text::path(rest, PATH_MAX)?;
            Some((decimal(old)?, path, checkpoint))
        };
        let (old, path, checkpoint) =
            read().ok_or(Malformed("not a request: old size, hashes, empty line, checkpoint"))?;
        Ok(Self { old, path, checkpoint: checkpoint.parse()? })
    }
}
