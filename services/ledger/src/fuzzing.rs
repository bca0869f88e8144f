//! Decoders for the fuzz targets in `fuzz/`.

use crate::{index, snapshot};
use motherlode_books::Books;

#[must_use]
pub fn snapshot(file: &[u8]) -> bool {
    snapshot::decode_any(file)
}

#[must_use]
pub fn sealed_snapshot(body: &[u8]) -> Option<Books> {
    snapshot::decode_sealed(body)
}

#[must_use]
pub fn snapshot_body(books: &Books) -> Vec<u8> {
    snapshot::body(books)
}

#[must_use]
pub fn balance(key: &[u8], value: &[u8]) -> Option<index::ProjectedBalance> {
    index::parse_balance(key, value)
}
