//! Parsers that accept only one text form of each value.

use crate::merkle::Hash;
use data_encoding::BASE64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

pub(crate) fn decimal(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}

pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    // The base64 library would also accept several base64 texts in a row, each with its own padding.
    let within = text.trim_end_matches('=');
    if within.contains('=') {
        return None;
    }
    BASE64.decode(text.as_bytes()).ok()
}

pub(crate) fn hash(text: &str) -> Option<Hash> {
    base64(text)?.try_into().ok()
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(crate) fn lines(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| to_base64(hash) + "\n").collect()
}

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
