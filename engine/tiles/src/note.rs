//! Signed notes: a text, an empty line, and lines with signatures.

use crate::{keys::VerifierKey, signature::Signature, text::Malformed};
use std::{fmt, str::FromStr};

/// Signatures of a note, at the most.
pub const SIGNATURES_MAX: usize = 64;

/// A text and those who signed it. Believe nothing of it before a key has [verified](Note::verify) it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    /// Signatures, in their order.
    pub signatures: Vec<Signature>,
}

/// Why a note is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// No signature is of the key.
    #[error("it is not signed by this key")]
    Unsigned,
    /// A signature names the key, but is not of it.
    #[error("a signature that names this key is false")]
    False,
    /// The text that is signed is no checkpoint of the key's log.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Note {
    /// A note that nobody has signed yet.
    ///
    /// # Errors
    /// The text does not end with a line's end, or has control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, Malformed> {
        let text = text.into();
        match text.ends_with('\n') && !has_control(&text) {
            true => Ok(Self { text, signatures: vec![] }),
            false => Err(Malformed("a note's text must end with a line's end and have no control characters")),
        }
    }

    /// The same text with these signatures.
    #[must_use]
    pub fn with(self, signatures: Vec<Signature>) -> Self {
        Self { signatures, ..self }
    }

    /// The text, with its last line's end.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Verifies a key's signatures; the time is that of the last one, 0 where it tells none.
    ///
    /// # Errors
    /// There is none, or a false one.
    pub fn verify(&self, key: &VerifierKey) -> Result<u64, NoteError> {
        let id = key.id();
        let own = self.signatures.iter().filter(|signature| signature.id == id && signature.name == key.name());
        let mut verified = Err(NoteError::Unsigned);
        for signature in own {
            verified = Ok(key.verify(&self.text, &signature.bytes).ok_or(NoteError::False)?);
        }
        verified
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| write!(f, "{signature}"))
    }
}

impl FromStr for Note {
    type Err = Malformed;

    fn from_str(note: &str) -> Result<Self, Malformed> {
        let (text, signatures) =
            note.rsplit_once("\n\n").ok_or(Malformed("a note has an empty line before its signatures"))?;
        let signatures = signatures.strip_suffix('\n').ok_or(Malformed("a note ends with a line's end"))?;
        let lines: Vec<_> = signatures.split('\n').collect();
        if lines.len() > SIGNATURES_MAX {
            return Err(Malformed("a note has 64 signatures at the most"));
        }
        let signatures = lines.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { signatures, ..Self::new(format!("{text}\n"))? })
    }
}

fn has_control(text: &str) -> bool {
    text.chars().any(|letter| letter < ' ' && letter != '\n')
}
