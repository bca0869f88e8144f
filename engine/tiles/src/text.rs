//! Shared elements of text formats: lines, decimal numbers, base64 hashes, each with one spelling.

use crate::merkle::Hash;
use data_encoding::BASE64;

/// Text in a wrong format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

/// Parses a decimal number without leading zeros.
pub(crate) fn decimal(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}

/// Decodes base64 with padding; other spellings are refused.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    // The library also accepts concatenated texts, each with padding.
    let within = text.trim_end_matches('=');
    if within.contains('=') {
        return None;
    }
    BASE64.decode(text.as_bytes()).ok()
}

/// Decodes a hash in base64.
pub(crate) fn hash(text: &str) -> Option<Hash> {
    base64(text)?.try_into().ok()
}

/// Encodes bytes in base64.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Encodes hashes, one per line.
pub(crate) fn lines(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| to_base64(hash) + "\n").collect()
}

/// Reads hashes up to and including an empty line. Returns them with the remaining text.
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
