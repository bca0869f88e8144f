//! Decoders of this crate's files, for the fuzz targets in `fuzz/`.

use crate::{index, snapshot};
use motherlode_books::Books;

/// Decodes a snapshot file; returns whether it is valid.
#[must_use]
pub fn snapshot(file: &[u8]) -> bool {
    snapshot::decode_any(file)
}

/// Decodes the body of a snapshot with a valid digest and header.
#[must_use]
pub fn sealed_snapshot(body: &[u8]) -> Option<Books> {
    snapshot::decode_sealed(body)
}

/// Encodes the body of a snapshot of these books, without request names.
#[must_use]
pub fn snapshot_body(books: &Books) -> Vec<u8> {
    snapshot::body(books)
}

/// Decodes a balance of the index.
#[must_use]
pub fn balance(key: &[u8], value: &[u8]) -> Option<index::ProjectedBalance> {
    index::parse_balance(key, value)
}
