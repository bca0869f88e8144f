//! Requests that Motherlode's services generate. Each id contains all parameters of its request, so a retry after a crash
//! has the same id, and the request takes effect once. Unlike callers' ids, these ids contain a slash. Their format never
//! changes, because logs contain them.

use core::fmt;

use super::session::SessionName;
use crate::values::{Currency, is_id, number};

/// `Display` formats the request's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalRequest<'a> {
    PayAward {
        pool: &'a str,
        partition: u32,
        hit: u64,
    },
    SetAwardAside {
        pool: &'a str,
        partition: u32,
        hit: u64,
    },
    OpenPool,
    PoolStep {
        version: u64,
    },
    ReceivePool {
        from: &'a str,
    },
    ReportPartition {
        pool: &'a str,
        partition: u32,
        /// Last reported position.
        to: u64,
    },
    MirrorPool {
        pool: &'a str,
        home_position: u64,
    },
    CopyHome {
        position: u64,
    },
    AutomaticStep {
        round: u64,
        step: u32,
    },
    CollectInSeries {
        round: u64,
        step: u32,
    },
    BeginGeneration {
        number: u64,
    },
    /// First commit after a restore to an earlier position (PL-37).
    Restore {
        number: u64,
    },
    SealDraw {
        number: u64,
    },
    OpenSession {
        request_id: &'a str,
    },
    /// Requests a debit. The id of this request is also the debit's transaction id (PL-31).
    AskDebit {
        request_id: &'a str,
    },
    AskRollback {
        request_id: &'a str,
    },
    PayCredit {
        request_id: &'a str,
        currency: Currency,
    },
    TakeReversal {
        request_id: &'a str,
        currency: Currency,
    },
    ReportClose {
        request_id: &'a str,
        round: u64,
    },
    HoldCall {
        version: u64,
    },
    ReleaseCalls {
        version: u64,
    },
    LogOverdue {
        operator: &'a str,
        partition: u32,
        hour: i64,
    },
    LogSession {
        session: SessionName,
        moment: &'static str,
        version: u64,
    },
    LogClock {
        now_ms: i64,
        by_ms: i64,
    },
    LogIntegrity {
        check: &'a str,
        hour: i64,
        finding: &'a str,
    },
    LogDamage {
        end: u64,
    },
    LogVerified {
        /// Last verified position.
        to: u64,
    },
    LogRefusal {
        finding: &'a str,
    },
    LogReload {
        now_ms: i64,
        /// Random, so that the request ids of two configuration reloads differ.
        number: u64,
    },
    /// Request of an operator on a stream that operators share. The internal id contains the operator and the caller's
    /// request id.
    OfOperator {
        operator: &'a str,
        request_id: &'a str,
    },
}

impl InternalRequest<'_> {
    pub const FINGERPRINT: [u8; 16] = [0; 16];

    /// Returns whether a request id on a shared stream was made from a caller's request.
    #[must_use]
    pub fn is_callers(request_id: &str) -> bool {
        is_id(request_id) || request_id.starts_with("of/")
    }

    #[must_use]
    pub fn copied_position(request_id: &str) -> Option<u64> {
        number(request_id.strip_prefix("copy/")?)
    }
}

impl fmt::Display for InternalRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PayAward { pool, partition, hit } => write!(f, "award/{pool}/{partition}/{hit}"),
            Self::SetAwardAside { pool, partition, hit } => write!(f, "set-aside/{pool}/{partition}/{hit}"),
            Self::OpenPool => f.write_str("steward/open"),
            Self::PoolStep { version } => write!(f, "steward/{version}"),
            Self::ReceivePool { from } => write!(f, "steward/received/{from}"),
            Self::ReportPartition { pool, partition, to } => write!(f, "report/{pool}/{partition}/{to}"),
            Self::MirrorPool { pool, home_position } => write!(f, "mirror/{pool}/{home_position}"),
            Self::CopyHome { position } => write!(f, "copy/{position}"),
            Self::AutomaticStep { round, step } => write!(f, "auto/{round}/{step}"),
            Self::CollectInSeries { round, step } => write!(f, "series/{round}/{step}"),
            Self::BeginGeneration { number } => write!(f, "generation/{number}"),
            Self::Restore { number } => write!(f, "restored/{number}"),
            Self::SealDraw { number } => write!(f, "seal/{number}"),
            Self::OpenSession { request_id } => write!(f, "open-session/{request_id}"),
            Self::AskDebit { request_id } => write!(f, "debit/{request_id}"),
            Self::AskRollback { request_id } => write!(f, "rollback/{request_id}"),
            Self::PayCredit { request_id, currency } => write!(f, "credit/{currency}/{request_id}"),
            Self::TakeReversal { request_id, currency } => write!(f, "reversal/{currency}/{request_id}"),
            Self::ReportClose { request_id, round } => write!(f, "close/{round}/{request_id}"),
            Self::HoldCall { version } => write!(f, "held/{version}"),
            Self::ReleaseCalls { version } => write!(f, "released/{version}"),
            Self::LogOverdue { operator, partition, hour } => write!(f, "overdue/{operator}/{partition}/{hour}"),
            Self::LogSession { session, moment, version } => {
                f.write_str("session/")?;
                session.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, "/{moment}/{version}")
            }
            Self::LogClock { now_ms, by_ms } => write!(f, "clock/{now_ms}/{by_ms}"),
            Self::LogIntegrity { check, hour, finding } => write!(f, "{check}/{hour}/{finding}"),
            Self::LogDamage { end } => write!(f, "damage/{end}"),
            Self::LogVerified { to } => write!(f, "verified/{to}"),
            Self::LogRefusal { finding } => write!(f, "steward/refused/{finding}"),
            Self::LogReload { now_ms, number } => write!(f, "reload/{now_ms}/{number:016x}"),
            Self::OfOperator { operator, request_id } => write!(f, "of/{operator}/{request_id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_11_internal_request_ids_are_as_logs_have_them_and_no_callers() {
        let (pool, partition, hit) = ("bewitched", 2, 70);
        let ids = [
            (InternalRequest::PayAward { pool, partition, hit }, "award/bewitched/2/70"),
            (InternalRequest::SetAwardAside { pool, partition, hit }, "set-aside/bewitched/2/70"),
            (InternalRequest::OpenPool, "steward/open"),
            (InternalRequest::PoolStep { version: 8 }, "steward/8"),
            (InternalRequest::ReceivePool { from: pool }, "steward/received/bewitched"),
            (InternalRequest::ReportPartition { pool, partition, to: 5 }, "report/bewitched/2/5"),
            (InternalRequest::MirrorPool { pool, home_position: 9 }, "mirror/bewitched/9"),
            (InternalRequest::CopyHome { position: 3 }, "copy/3"),
            (InternalRequest::AutomaticStep { round: 7, step: 2 }, "auto/7/2"),
            (InternalRequest::CollectInSeries { round: 7, step: 2 }, "series/7/2"),
            (InternalRequest::BeginGeneration { number: 4 }, "generation/4"),
            (InternalRequest::Restore { number: 5 }, "restored/5"),
            (InternalRequest::SealDraw { number: 1 }, "seal/1"),
            (InternalRequest::OpenSession { request_id: "r-1" }, "open-session/r-1"),
            (InternalRequest::AskDebit { request_id: "r-1" }, "debit/r-1"),
            (InternalRequest::AskRollback { request_id: "r-1" }, "rollback/r-1"),
            (
                InternalRequest::PayCredit { request_id: "award/bewitched/2/70", currency: Currency::SEK },
                "credit/SEK/award/bewitched/2/70",
            ),
            (InternalRequest::TakeReversal { request_id: "r-1", currency: Currency::SEK }, "reversal/SEK/r-1"),
            (InternalRequest::ReportClose { request_id: "auto/7/2", round: 7 }, "close/7/auto/7/2"),
            (InternalRequest::HoldCall { version: 4 }, "held/4"),
            (InternalRequest::ReleaseCalls { version: 4 }, "released/4"),
            (InternalRequest::LogOverdue { operator: "acme", partition: 1, hour: 3 }, "overdue/acme/1/3"),
            (
                InternalRequest::LogSession { session: [0xab; 16], moment: "open", version: 4 },
                "session/abababababababababababababababab/open/4",
            ),
            (InternalRequest::LogClock { now_ms: 12, by_ms: -3 }, "clock/12/-3"),
            (InternalRequest::LogIntegrity { check: "self-check", hour: 1, finding: "00ff" }, "self-check/1/00ff"),
            (InternalRequest::LogDamage { end: 8 }, "damage/8"),
            (InternalRequest::LogVerified { to: 9 }, "verified/9"),
            (InternalRequest::LogRefusal { finding: "f" }, "steward/refused/f"),
            (InternalRequest::LogReload { now_ms: 12, number: 171 }, "reload/12/00000000000000ab"),
            (InternalRequest::OfOperator { operator: "acme", request_id: "r-1" }, "of/acme/r-1"),
        ];
        for (request, id) in ids {
            assert_eq!(request.to_string(), id);
            assert!(!crate::values::is_id(id), "{id}");
            let copied = matches!(request, InternalRequest::CopyHome { .. }).then_some(3);
            assert_eq!(InternalRequest::copied_position(id), copied);
        }
    }
}
