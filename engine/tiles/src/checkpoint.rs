use crate::{
    keys::{SignerKey, VerifierKey},
    merkle::Hash,
    note::{Note, NoteError},
    text::{Malformed, decimal, hash, to_base64},
};
use std::{fmt, str::FromStr};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

/// Returns the origin without the suffix `/r<number>`, which names a restore.
#[must_use]
pub fn without_restore(origin: &str) -> &str {
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    origin.rsplit_once("/r").filter(|(_, number)| is_number(number)).map_or(origin, |(bare, _)| bare)
}

impl Checkpoint {
    pub fn open(note: &Note, key: &VerifierKey) -> Result<Self, NoteError> {
        note.verify(key)?;
        let checkpoint: Self = note.text().parse()?;
        match checkpoint.origin == key.name() {
            true => Ok(checkpoint),
            false => Err(Malformed("the checkpoint and the key belong to different logs").into()),
        }
    }

    /// Opens a checkpoint of the key's log, or of the log after a restore, whose origin differs only in a suffix
    /// `/r<number>`.
    pub fn open_restored(note: &Note, key: &VerifierKey) -> Result<Self, NoteError> {
        let claimed: Self = note.text().parse()?;
        match without_restore(&claimed.origin) == without_restore(key.name()) {
            true => Self::open(note, &key.named(&claimed.origin)?),
            false => Self::open(note, key),
        }
    }

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

    /// The signature covers lines after the third, but the function ignores them.
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let read = || {
            let mut lines = text.strip_suffix('\n')?.split('\n');
            let origin = lines.next().filter(|origin| !origin.is_empty())?.to_owned();
            let checkpoint = Self { origin, size: decimal(lines.next()?)?, root: hash(lines.next()?)? };
            lines.all(|extension| !extension.is_empty()).then_some(checkpoint)
        };
        read().ok_or(Malformed("not a checkpoint: expected origin, size and base64 root, one per line"))
    }
}
