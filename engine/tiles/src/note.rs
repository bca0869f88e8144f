use crate::{keys::VerifierKey, signature::Signature, text::Malformed};
use std::{fmt, str::FromStr};

pub const SIGNATURES_MAX: usize = 64;

/// Text with signatures. The text must not be trusted before [`verify`](Note::verify) has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    pub signatures: Vec<Signature>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    #[error("the note is not signed by this key")]
    Unsigned,
    #[error("a signature that names this key is invalid")]
    False,
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Note {
    /// Fails if the text does not end in a newline, or contains other control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, Malformed> {
        let text = text.into();
        match text.ends_with('\n') && !has_control(&text) {
            true => Ok(Self { text, signatures: vec![] }),
            false => Err(Malformed("a note's text must end with a newline and contain no other control characters")),
        }
    }

    #[must_use]
    pub fn with(self, signatures: Vec<Signature>) -> Self {
        Self { signatures, ..self }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Verifies all signatures made with a key. Returns the time of the last of these signatures, in Unix seconds; 0 if
    /// the key belongs to a log, because a log's signatures contain no time.
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
            note.rsplit_once("\n\n").ok_or(Malformed("a note must have an empty line before its signatures"))?;
        let signatures = signatures.strip_suffix('\n').ok_or(Malformed("a note must end with a newline"))?;
        let lines: Vec<_> = signatures.split('\n').collect();
        if lines.len() > SIGNATURES_MAX {
            return Err(Malformed("a note can have at most 64 signatures"));
        }
        let signatures = lines.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { signatures, ..Self::new(format!("{text}\n"))? })
    }
}

fn has_control(text: &str) -> bool {
    text.chars().any(|letter| letter < ' ' && letter != '\n')
}
