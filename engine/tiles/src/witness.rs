use crate::{
    checkpoint::Checkpoint,
    keys::VerifierKey,
    merkle::{Hash, empty},
    note::{Note, NoteError},
    proof::is_consistent,
    text::{self, Malformed, decimal},
};
use std::{fmt, str::FromStr};

const PATH_MAX: usize = 63;

/// Body of a `POST add-checkpoint` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// Tree size of the last checkpoint that the witness cosigned, as far as the sender knows.
    pub old: u64,
    pub path: Vec<Hash>,
    pub checkpoint: Note,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub size: u64,
    pub root: Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unwitnessed {
    /// HTTP status 403: the checkpoint has no valid signature of the log.
    #[error("invalid checkpoint: {0}")]
    Forbidden(#[from] NoteError),
    /// HTTP status 400.
    #[error("the request's old size exceeds the checkpoint's size")]
    Backwards,
    /// HTTP status 409; contains the last cosigned size.
    #[error("the request's old size differs from the last cosigned size, {0}")]
    Conflict(u64),
    /// HTTP status 422.
    #[error("the checkpoint does not continue the last cosigned checkpoint")]
    Inconsistent,
}

/// Checks a request and returns the first error in the order of the specification. If the check succeeds, the caller must
/// store the checkpoint before it returns a cosignature.
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
        let (old, path, checkpoint) = read()
            .ok_or(Malformed("not an add-checkpoint request: expected old size, hashes, empty line and checkpoint"))?;
        Ok(Self { old, path, checkpoint: checkpoint.parse()? })
    }
}
