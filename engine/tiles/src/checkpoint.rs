//! Checkpoints: a log's name, its tree's size and root, signed.

use crate::{
    keys::{SignerKey, VerifierKey},
    merkle::Hash,
    note::{Note, NoteError},
    text::{Malformed, decimal, hash, to_base64},
};
use std::{fmt, str::FromStr};

/// The state of a log that its signature vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name.
    pub origin: String,
    /// Entries of the tree.
    pub size: u64,
    /// The root of the tree.
    pub root: Hash,
}

impl Checkpoint {
    /// The checkpoint of a note that the log's key has signed. The key's name is the log's.
    ///
    /// # Errors
    /// [`NoteError`]: it isn't signed by the key, or is none of this log.
    pub fn open(note: &Note, key: &VerifierKey) -> Result<Self, NoteError> {
        note.verify(key)?;
        let checkpoint: Self = note.text().parse()?;
        match checkpoint.origin == key.name() {
            true => Ok(checkpoint),
            false => Err(Malformed("the checkpoint is of another log than its key").into()),
        }
    }

    /// The note of it, signed.
    ///
    /// # Errors
    /// The origin makes no note.
    pub fn sign(&self, key: &SignerKey) -> Result<Note, Malformed> {
        let note = Note::new(self.to_string())?;
        let signature = key.sign(note.text());
        Ok(note.with(vec![signature]))
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, to_base64(&self.root))
    }
}

impl FromStr for Checkpoint {
    type Err = Malformed;

    /// Reads the text of a note. Lines past the third mean nothing here; they are signed all the same.
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let read = || {
            let mut lines = text.strip_suffix('\n')?.split('\n');
            let origin = lines.next().filter(|origin| !origin.is_empty())?.to_owned();
            let checkpoint = Self { origin, size: decimal(lines.next()?)?, root: hash(lines.next()?)? };
            lines.all(|extension| !extension.is_empty()).then_some(checkpoint)
        };
        read().ok_or(Malformed("not a checkpoint: origin, size, root in base64, a line each"))
    }
}
