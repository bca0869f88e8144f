//! Decoders of files that only this crate reads, for the fuzz targets in `fuzz/`.

use crate::{index, snapshot};
use motherlode_books::Books;
use motherlode_views::Checkpoint;

/// Decodes a checkpoint's file; whether it is one.
#[must_use]
pub fn snapshot(file: &[u8]) -> bool {
    Checkpoint::decode(file).is_some()
}

/// Decodes the state of a checkpoint: the books, if it is that.
#[must_use]
pub fn sealed_snapshot(state: &[u8]) -> Option<Books> {
    snapshot::decode_state(state)
}

/// The state of a checkpoint of these books, without requests and players.
#[must_use]
pub fn snapshot_body(books: &Books) -> Vec<u8> {
    snapshot::state(books)
}

/// Decodes a balance of the index.
#[must_use]
pub fn balance(key: &[u8], value: &[u8]) -> Option<index::ProjectedBalance> {
    index::parse_balance(key, value)
}
