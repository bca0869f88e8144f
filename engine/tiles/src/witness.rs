//! Witness: cosigns only checkpoints that continue the last one it cosigned.

use crate::{
    checkpoint::Checkpoint,
    keys::VerifierKey,
    merkle::{Hash, empty},
    note::{Note, NoteError},
    proof::is_consistent,
    text::{self, Malformed, decimal},
};
use std::{fmt, str::FromStr};

/// Maximum hashes of a consistency proof.
const PATH_MAX: usize = 63;

/// A log's request to a witness: body of `POST add-checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// Size that the witness is expected to have cosigned last.
    pub old: u64,
    /// Consistency proof from that size.
    pub path: Vec<Hash>,
    /// New checkpoint.
    pub checkpoint: Note,
}

/// Last tree of a log cosigned by a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Number of entries.
    pub size: u64,
    /// Root hash.
    pub root: Hash,
}

/// Reason for a refused cosignature, with its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unwitnessed {
    /// 403: not signed by the log's key.
    #[error("the checkpoint: {0}")]
    Forbidden(#[from] NoteError),
    /// 400: the old size is above the new one.
    #[error("the old size is above the checkpoint's")]
    Backwards,
    /// 409: the witness cosigned another size last.
    #[error("the last checkpoint that was cosigned has size {0}")]
    Conflict(u64),
    /// 422: not a continuation of the last cosigned tree.
    #[error("it does not continue the last checkpoint that was cosigned")]
    Inconsistent,
}

/// Checks a request against the log's key and the last cosigned tree. The caller must store the result before it returns a
/// cosignature.
///
/// # Errors
/// [`Unwitnessed`]: the first reason in the specification's order.
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
