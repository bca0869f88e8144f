use motherlode_proto::spin::v1::CloseSessionRequest;
use motherlode_runtime::{Refusal, field_bounds::OPERATOR_SESSION_MAX};
use motherlode_state::{SessionId, SessionName, SmolStr};

pub(crate) fn optional(session_id: &str) -> Result<Option<SessionId>, Refusal> {
    if session_id.is_empty() { Ok(None) } else { required(session_id).map(Some) }
}

pub(crate) fn required(session_id: &str) -> Result<SessionId, Refusal> {
    let digits = session_id.len() == 32 && session_id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let id = SessionId::from_str_radix(session_id, 16).ok().filter(|_| digits);
    id.ok_or_else(|| Refusal::field("session_id", "must be the session_id of an OpenSession response"))
}

pub(crate) fn of_operator(reference: &str) -> Result<SmolStr, Refusal> {
    if reference.is_empty() {
        return Ok(SmolStr::default());
    }
    motherlode_ledger::fields::text("operator_session", reference, OPERATOR_SESSION_MAX).map(SmolStr::from)
}

/// Name of a session in the log: a digest, since the id is secret.
pub(crate) fn name(id: SessionId) -> SessionName {
    motherlode_ledger::fingerprint("session", &CloseSessionRequest { session_id: format!("{id:032x}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_12_a_malformed_session_name_is_refused() {
        let good = format!("{:032x}", SessionId::MAX - 1);
        assert_eq!(optional(&good).unwrap(), Some(SessionId::MAX - 1));
        assert_eq!(optional("").unwrap(), None);
        for bad in ["0", &good[1..], &format!("{good}0"), &good.to_uppercase(), &format!("+{}", &good[1..])] {
            assert_eq!(optional(bad).unwrap_err().reason(), motherlode_runtime::Reason::InvalidField, "{bad}");
        }
    }
}
