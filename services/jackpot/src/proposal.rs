//! The proposals by which the steward keeps pools up to date.

use motherlode_books::{Event, InternalRequest, StreamId};
use motherlode_ledger::Proposal;

/// Makes a proposal of the steward.
pub(crate) fn proposal(
    stream: StreamId,
    expected_version: Option<u64>,
    request: InternalRequest<'_>,
    events: Vec<Event>,
) -> Proposal {
    let request_id = request.to_string();
    Proposal {
        stream,
        expected_version,
        request_id: request_id.into(),
        fingerprint: InternalRequest::FINGERPRINT,
        events,
    }
}
