//! Requests of services. Their ids contain all parameters, so each has one effect after any crash. They have a slash,
//! which callers' ids cannot have, and never change, since logs contain them.

use core::fmt;

use super::session::SessionName;
use crate::values::{Currency, is_id, number};

/// Request of a service; `Display` gives its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalRequest<'a> {
    /// Pays an award, on the winner's stream.
    PayAward {
        /// Pool.
        pool: &'a str,
        /// Partition of the hit.
        partition: u32,
        /// Position of the hit.
        hit: u64,
    },
    /// Sets an award aside, on the winner's stream.
    SetAwardAside {
        /// Pool.
        pool: &'a str,
        /// Partition of the hit.
        partition: u32,
        /// Position of the hit.
        hit: u64,
    },
    /// Opens a pool, on its stream.
    OpenPool,
    /// Appends a pool's next step at home.
    PoolStep {
        /// Version of the stream after it.
        version: u64,
    },
    /// Moves a retired pool's money, on the receiver's stream.
    ReceivePool {
        /// Retired pool.
        from: &'a str,
    },
    /// Reports contributions, on the pool's stream at home.
    ReportPartition {
        /// Pool.
        pool: &'a str,
        /// Partition.
        partition: u32,
        /// Last reported position.
        to: u64,
    },
    /// Mirrors a pool into a partition.
    MirrorPool {
        /// Pool.
        pool: &'a str,
        /// Mirrored position of home.
        home_position: u64,
    },
    /// Copies home's rates or system stream into another partition.
    CopyHome {
        /// Position at home.
        position: u64,
    },
    /// Resolves a step automatically.
    AutomaticStep {
        /// Round number.
        round: u64,
        /// Step.
        step: u32,
    },
    /// Collects a win in an Autospin series.
    CollectInSeries {
        /// Round number.
        round: u64,
        /// Step.
        step: u32,
    },
    /// Begins a generation of draws (PL-40).
    BeginGeneration {
        /// Number of the generation.
        number: u64,
    },
    /// Seals a draw outside a step.
    SealDraw {
        /// Number of the draw.
        number: u64,
    },
    /// Opens a session, with the caller's fingerprint.
    OpenSession {
        /// Caller's request id.
        request_id: &'a str,
    },
    /// Requests a debit (PL-31); also the wallet's transaction id.
    AskDebit {
        /// Id of the bet's request.
        request_id: &'a str,
    },
    /// Requests a debit's rollback.
    AskRollback {
        /// Id of the bet's request.
        request_id: &'a str,
    },
    /// Records a paid credit; also the wallet's transaction id.
    PayCredit {
        /// Request that made it due, possibly internal.
        request_id: &'a str,
        /// Currency of the account.
        currency: Currency,
    },
    /// Logs overdue debits or credits.
    LogOverdue {
        /// Operator.
        operator: &'a str,
        /// Partition of the players.
        partition: u32,
        /// Hours since 1970.
        hour: i64,
    },
    /// Logs an event of a session.
    LogSession {
        /// Session.
        session: SessionName,
        /// Kind of event: open, seen, end.
        moment: &'static str,
        /// Version of the stream before it.
        version: u64,
    },
    /// Logs a step of the clock.
    LogClock {
        /// Log time, Unix ms.
        now_ms: i64,
        /// Step in milliseconds.
        by_ms: i64,
    },
    /// Logs a failed check hourly.
    LogIntegrity {
        /// Check.
        check: &'a str,
        /// Hours since 1970.
        hour: i64,
        /// Digest of the finding, hexadecimal.
        finding: &'a str,
    },
    /// Logs that the log is damaged.
    LogDamage {
        /// End of the log.
        end: u64,
    },
    /// Logs a verified log.
    LogVerified {
        /// Last verified position.
        to: u64,
    },
    /// Logs a refused proposal of the steward.
    LogRefusal {
        /// Proposal and reason.
        finding: &'a str,
    },
    /// Operator's request on a shared stream, with the caller's fingerprint.
    OfOperator {
        /// Operator.
        operator: &'a str,
        /// Caller's request id.
        request_id: &'a str,
    },
}

impl InternalRequest<'_> {
    /// Fingerprint of internal requests.
    pub const FINGERPRINT: [u8; 16] = [0; 16];

    /// Returns whether an id on a shared stream is a caller's, directly or as [`OfOperator`](Self::OfOperator).
    #[must_use]
    pub fn is_callers(request_id: &str) -> bool {
        is_id(request_id) || request_id.starts_with("of/")
    }

    /// Returns the home position of a [`CopyHome`](Self::CopyHome).
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
            Self::SealDraw { number } => write!(f, "seal/{number}"),
            Self::OpenSession { request_id } => write!(f, "open-session/{request_id}"),
            Self::AskDebit { request_id } => write!(f, "debit/{request_id}"),
            Self::AskRollback { request_id } => write!(f, "rollback/{request_id}"),
            Self::PayCredit { request_id, currency } => write!(f, "credit/{currency}/{request_id}"),
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
            (InternalRequest::SealDraw { number: 1 }, "seal/1"),
            (InternalRequest::OpenSession { request_id: "r-1" }, "open-session/r-1"),
            (InternalRequest::AskDebit { request_id: "r-1" }, "debit/r-1"),
            (InternalRequest::AskRollback { request_id: "r-1" }, "rollback/r-1"),
            (
                InternalRequest::PayCredit { request_id: "award/bewitched/2/70", currency: Currency::SEK },
                "credit/SEK/award/bewitched/2/70",
            ),
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
