//! Text that the formats share: lines, decimal numbers, hashes in base64, each with one spelling.

use crate::merkle::Hash;
use data_encoding::BASE64;

/// A text that is not of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

/// A number in decimal digits, without leading zeros.
pub(crate) fn decimal(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}

/// Bytes in base64 with padding; no other spelling of them is read.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    // The library also reads texts one behind the other, each with its padding.
    let within = text.trim_end_matches('=');
    if within.contains('=') {
        return None;
    }
    BASE64.decode(text.as_bytes()).ok()
}

/// A hash in base64.
pub(crate) fn hash(text: &str) -> Option<Hash> {
    base64(text)?.try_into().ok()
}

/// Bytes as they are written.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Hashes as they are written, one a line.
pub(crate) fn lines(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| to_base64(hash) + "\n").collect()
}

/// Hashes up to an empty line, which is taken with them, and the text behind it.
pub(crate) fn path(mut text: &str, hashes_max: usize) -> Option<(Vec<Hash>, &str)> {
    let mut hashes = vec![];
    loop {
        let (line, rest) = text.split_once('\n')?;
        match line {
            "" => return Some((hashes, rest)),
            _ if hashes.len() == hashes_max => return None,
            line => hashes.push(hash(line)?),
        }
        text = rest;
    }
}
