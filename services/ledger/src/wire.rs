use crate::append::{AppendError, Proposal};
use motherlode_proto::{
    convert::{Malformed, event, refused},
    log::v1::{self, not_taken::Cause, verdict::Outcome},
};

pub(crate) fn proposal_to_wire(ticket: u64, proposal: &Proposal) -> v1::Proposal {
    v1::Proposal {
        ticket,
        stream: proposal.stream.to_string(),
        expected_version: proposal.expected_version,
        request_id: proposal.request_id.to_string(),
        fingerprint: proposal.fingerprint.to_vec(),
        events: proposal.events.iter().map(event::to_log).collect(),
        wait_ms: 0,
        traceparent: String::new(),
    }
}

pub(crate) fn proposal_from_wire(message: v1::Proposal) -> Result<Proposal, Malformed> {
    Ok(Proposal {
        stream: message.stream.parse().map_err(|_| Malformed::Field("stream"))?,
        expected_version: message.expected_version,
        request_id: message.request_id.into(),
        fingerprint: message.fingerprint.as_slice().try_into().map_err(|_| Malformed::Field("fingerprint"))?,
        events: message.events.into_iter().map(event::from_log).collect::<Result<_, _>>()?,
    })
}

pub(crate) fn error_to_wire(error: &AppendError) -> Outcome {
    let text;
    let (cause, reason) = match error {
        AppendError::Conflict { version } => return Outcome::ConflictVersion(*version),
        AppendError::RequestIdReused { request_id } => return Outcome::ReusedRequestId(request_id.to_string()),
        AppendError::RequestCancelled { request_id } => return Outcome::CancelledRequestId(request_id.to_string()),
        AppendError::Refused(why) => return Outcome::Refused(refused::to_wire(why)),
        AppendError::Archived { position, first } => {
            return Outcome::Archived(v1::Archived { position: *position, first_position: *first });
        }
        AppendError::Busy => (Cause::Busy, ""),
        AppendError::OpenRounds { most } => {
            text = most.to_string();
            (Cause::OpenRounds, text.as_str())
        }
        AppendError::Full { reason } => (Cause::Full, reason.as_str()),
        AppendError::Unavailable { reason } => (Cause::Unavailable, reason.as_str()),
        AppendError::Damaged { reason } => (Cause::Damaged, reason.as_str()),
        AppendError::Unknown { reason } => (Cause::Unknown, reason.as_str()),
        AppendError::Late => (Cause::Late, ""),
        AppendError::Closing => (Cause::Closing, ""),
        AppendError::NotAllowed { .. } => {
            text = error.to_string();
            (Cause::NotAllowed, text.as_str())
        }
    };
    Outcome::NotTaken(v1::NotTaken { cause: cause.into(), reason: reason.to_owned() })
}

pub(crate) fn outcome_from_wire(outcome: Option<Outcome>) -> Result<Result<u64, AppendError>, Malformed> {
    let error = match outcome.ok_or(Malformed::Field("outcome"))? {
        Outcome::Position(position) => return Ok(Ok(position)),
        Outcome::ConflictVersion(version) => AppendError::Conflict { version },
        Outcome::ReusedRequestId(request_id) => AppendError::RequestIdReused { request_id: request_id.into() },
        Outcome::CancelledRequestId(request_id) => AppendError::RequestCancelled { request_id: request_id.into() },
        Outcome::Archived(v1::Archived { position, first_position: first }) => {
            AppendError::Archived { position, first }
        }
        Outcome::Refused(why) => AppendError::Refused(refused::from_wire(&why)?),
        Outcome::NotTaken(not_taken) => {
            let reason = not_taken.reason.clone();
            match not_taken.cause() {
                Cause::Busy => AppendError::Busy,
                Cause::OpenRounds => {
                    let most = reason.parse().map_err(|_| Malformed::Field("not_taken.reason"))?;
                    AppendError::OpenRounds { most }
                }
                Cause::Full => AppendError::Full { reason },
                Cause::Unavailable => AppendError::Unavailable { reason },
                Cause::Damaged => AppendError::Damaged { reason },
                Cause::Unknown => AppendError::Unknown { reason },
                Cause::Late => AppendError::Late,
                Cause::Closing => AppendError::Closing,
                Cause::NotAllowed => {
                    let (code, reason) = reason.split_once(": ").ok_or(Malformed::Field("not_taken.reason"))?;
                    AppendError::NotAllowed { code: code.into(), reason: reason.to_owned() }
                }
                Cause::Unspecified => return Err(Malformed::Field("not_taken.cause")),
            }
        }
    };
    Ok(Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_runtime::Reason;
    use motherlode_state::{Currency, Event, Minor, Refused, StreamId};

    #[test]
    fn pl_12_every_reason_of_the_log_comes_back_as_it_was() {
        let reason = || "why".to_owned();
        for error in [
            AppendError::Conflict { version: 7 },
            AppendError::RequestIdReused { request_id: "r".into() },
            AppendError::RequestCancelled { request_id: "r".into() },
            AppendError::Refused(Refused::RoundOpen { round: 3 }),
            AppendError::Busy,
            AppendError::OpenRounds { most: 7 },
            AppendError::Full { reason: reason() },
            AppendError::Unavailable { reason: reason() },
            AppendError::Damaged { reason: reason() },
            AppendError::Unknown { reason: reason() },
            AppendError::Archived { position: 3, first: 9 },
            AppendError::Late,
            AppendError::Closing,
            AppendError::not_allowed(Reason::KindNotAllowed, "why"),
        ] {
            assert_eq!(outcome_from_wire(Some(error_to_wire(&error))), Ok(Err(error)));
        }
        assert_eq!(outcome_from_wire(Some(Outcome::Position(9))), Ok(Ok(9)));
        let unsaid = Outcome::NotTaken(v1::NotTaken::default());
        assert!(outcome_from_wire(Some(unsaid)).is_err());
        assert!(outcome_from_wire(None).is_err());
    }

    #[test]
    fn pl_11_a_proposal_comes_back_as_it_was() {
        for expected_version in [None, Some(0), Some(9)] {
            let proposal = Proposal {
                stream: StreamId::player("acme", "alice"),
                expected_version,
                request_id: "r-1".into(),
                fingerprint: [7; 16],
                events: vec![Event::Deposited { currency: Currency::EUR, amount: Minor(500) }],
            };
            assert_eq!(proposal_from_wire(proposal_to_wire(1, &proposal)), Ok(proposal));
        }
        let bad = v1::Proposal { stream: "player/a b".to_owned(), ..v1::Proposal::default() };
        assert_eq!(proposal_from_wire(bad), Err(Malformed::Field("stream")));
    }
}
