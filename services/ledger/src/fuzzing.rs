//! Decoders of files that only this crate reads, for the fuzz targets in `fuzz/`.

use crate::{index, snapshot};
use motherlode_books::Books;

/// Decodes a snapshot's file; whether it is one.
#[must_use]
pub fn snapshot(file: &[u8]) -> bool {
    snapshot::decode_any(file)
}

/// Decodes what a snapshot holds behind a digest and a header that are right: the books, if it is that.
#[must_use]
pub fn sealed_snapshot(body: &[u8]) -> Option<Books> {
    snapshot::decode_sealed(body)
}

/// The body of a snapshot of these books, without names of requests: the bytes behind its header.
#[must_use]
pub fn snapshot_body(books: &Books) -> Vec<u8> {
    snapshot::body(books)
}

/// Decodes a balance of the index.
#[must_use]
pub fn balance(key: &[u8], value: &[u8]) -> Option<index::ProjectedBalance> {
    index::parse_balance(key, value)
}
