use motherlode_ledger::{AppendError, Handle, Proposal};
use motherlode_state::{Event, InternalRequest, StreamId};
use std::time::Duration;

const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// Appends a proposal that is based on another partition's records. Retries while the writer has not read these records yet.
pub(crate) async fn append_there(ledger: &Handle, proposal: Proposal) -> Result<(), AppendError> {
    for _ in 1..TRIES {
        match ledger.append(proposal.clone()).await {
            Err(AppendError::Conflict { version }) if Some(version) == proposal.expected_version => {
                tokio::time::sleep(PAUSE).await;
            }
            appended => return appended.map(|_| ()),
        }
    }
    ledger.append(proposal).await.map(|_| ())
}

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
