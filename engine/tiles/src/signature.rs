use crate::text::{Malformed, base64, to_base64};
use std::{fmt, str::FromStr};

const DASH: &str = "\u{2014} ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub id: [u8; 4],
    pub bytes: Vec<u8>,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{DASH}{} {}", self.name, to_base64(&[&self.id[..], &self.bytes].concat()))
    }
}

impl FromStr for Signature {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        let read = || {
            let (name, signature) = line.strip_prefix(DASH)?.split_once(' ')?;
            let signature = base64(signature)?;
            let (id, bytes) = signature.split_first_chunk()?;
            let signed = !bytes.is_empty();
            signed.then_some(Self { name: checked(name).ok()?, id: *id, bytes: bytes.to_vec() })
        };
        read().ok_or(Malformed("not a signature: expected em dash, name and base64"))
    }
}

pub(crate) fn checked(name: &str) -> Result<String, Malformed> {
    let odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '+';
    match name.is_empty() || name.contains(odd) {
        true => Err(Malformed("the name of a key must not be empty, and must not contain white space or a plus sign")),
        false => Ok(name.to_owned()),
    }
}
