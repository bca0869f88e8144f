use crate::snapshot;
use motherlode_state::Books;
use motherlode_views::Checkpoint;

#[must_use]
pub fn snapshot(file: &[u8]) -> bool {
    Checkpoint::decode(file).is_some()
}

#[must_use]
pub fn sealed_snapshot(state: &[u8]) -> Option<Books> {
    snapshot::decode_state(state)
}

#[must_use]
pub fn snapshot_body(books: &Books) -> Vec<u8> {
    snapshot::state(books)
}
