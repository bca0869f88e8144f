//! The proposals by which the steward keeps pools up to date.

use motherlode_books::{Event, StreamId};
use motherlode_ledger::Proposal;

/// Proposals of the steward need no fingerprint: their ids have a slash, which no client's has.
pub(crate) fn proposal(
    stream: StreamId,
    expected_version: Option<u64>,
    request_id: String,
    events: Vec<Event>,
) -> Proposal {
    Proposal { stream, expected_version, request_id, fingerprint: [0; 16], events }
}
