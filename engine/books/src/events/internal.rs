//! The requests that services make themselves, by the ids under which they stand in the log.
//!
//! An id says all of its request, so that the request has one effect after any crash, and needs no fingerprint. Each has a
//! slash, which no caller's id can have. The ids are for ever, as logs hold them.

use core::fmt;

use super::session::SessionName;
use crate::values::{Currency, is_id, number};

/// A request that a service makes itself. Its `Display` is its request id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalRequest<'a> {
    /// Pays the award of a hit, on the winner's stream.
    PayAward {
        /// The pool.
        pool: &'a str,
        /// The hit's partition.
        partition: u32,
        /// The hit's position.
        hit: u64,
    },
    /// Sets the award of a hit aside, on the winner's stream.
    SetAwardAside {
        /// The pool.
        pool: &'a str,
        /// The hit's partition.
        partition: u32,
        /// The hit's position.
        hit: u64,
    },
    /// Opens a pool with the standard terms, on its stream.
    OpenPool,
    /// Appends a pool's next step, on its stream at home.
    PoolStep {
        /// The stream's version with it.
        version: u64,
    },
    /// Hands a retired pool's money to another pool, on that one's stream.
    ReceivePool {
        /// The retired pool.
        from: &'a str,
    },
    /// Reports a partition's contributions to a pool, on the pool's stream at home.
    ReportPartition {
        /// The pool.
        pool: &'a str,
        /// The partition.
        partition: u32,
        /// The last position that is reported.
        to: u64,
    },
    /// Mirrors a pool into a partition, on the pool's stream there.
    MirrorPool {
        /// The pool.
        pool: &'a str,
        /// The position at home that is mirrored.
        home_position: u64,
    },
    /// Copies a commit of home's rates or system stream into another partition.
    CopyHome {
        /// The commit's position at home.
        position: u64,
    },
    /// Resolves a step for the player, on the player's stream.
    AutomaticStep {
        /// The round.
        round: u64,
        /// The step.
        step: u32,
    },
    /// Collects a win for a series of autospins, on the player's stream.
    CollectInSeries {
        /// The round.
        round: u64,
        /// The step.
        step: u32,
    },
    /// Begins a generation of draws, on the system's stream (PL-40).
    BeginGeneration {
        /// Number of the generation.
        number: u64,
    },
    /// Seals a draw apart from a step, on the player's stream.
    SealDraw {
        /// The number of the draw.
        number: u64,
    },
    /// Opens a session, on the player's stream; it keeps the fingerprint of the caller's request.
    OpenSession {
        /// The caller's request id.
        request_id: &'a str,
    },
    /// Asks for a bet's debit, on the player's stream (PL-31). It names the transaction at the operator's wallet, too.
    AskDebit {
        /// The request that bets.
        request_id: &'a str,
    },
    /// Asks for the rollback of a debit, on the player's stream.
    AskRollback {
        /// The request that bets.
        request_id: &'a str,
    },
    /// Notes that a credit was paid, on the player's stream. It names the transaction at the operator's wallet, too.
    PayCredit {
        /// The request whose commit made it due; it may be an internal one.
        request_id: &'a str,
        /// The account's currency.
        currency: Currency,
    },
    /// Notes that the end of a round was reported to the operator's wallet, on the player's stream (PL-39).
    ReportClose {
        /// The request whose commit ended the round; it may be an internal one.
        request_id: &'a str,
        /// The round.
        round: u64,
    },
    /// Notes that the operator's wallet refused a call that it must accept, on the player's stream.
    HoldCall {
        /// The stream's version before it.
        version: u64,
    },
    /// Releases held calls to the operator's wallet, on the player's stream.
    ReleaseCalls {
        /// The stream's version before it.
        version: u64,
    },
    /// Logs that debits or credits are overdue, on the system's stream.
    LogOverdue {
        /// The operator.
        operator: &'a str,
        /// The partition of the players.
        partition: u32,
        /// Hours since 1970.
        hour: i64,
    },
    /// Logs an event of a session, on the player's stream.
    LogSession {
        /// The session.
        session: SessionName,
        /// The kind of event: open, seen, end.
        moment: &'static str,
        /// The stream's version before it.
        version: u64,
    },
    /// Logs that the clock was set.
    LogClock {
        /// Logged time, Unix milliseconds.
        now_ms: i64,
        /// How far the clock was set, milliseconds.
        by_ms: i64,
    },
    /// Logs a failed check of integrity, once an hour for the same finding.
    LogIntegrity {
        /// The check.
        check: &'a str,
        /// Hours since 1970.
        hour: i64,
        /// A digest of the finding, hexadecimal.
        finding: &'a str,
    },
    /// Logs that the log is damaged, found when it ended at a position.
    LogDamage {
        /// The position.
        end: u64,
    },
    /// Logs that a start verified the log up to a position.
    LogVerified {
        /// The position.
        to: u64,
    },
    /// Logs that the books refuse a proposal of the steward.
    LogRefusal {
        /// The proposal and the reason.
        finding: &'a str,
    },
    /// An operator's request on a stream that all operators share; it keeps the fingerprint of the caller's request.
    OfOperator {
        /// The operator.
        operator: &'a str,
        /// The caller's request id.
        request_id: &'a str,
    },
}

impl InternalRequest<'_> {
    /// The fingerprint of internal requests: their ids say it all.
    pub const FINGERPRINT: [u8; 16] = [0; 16];

    /// Whether a request id on a stream that operators share is a caller's: its own, or an operator's
    /// [`OfOperator`](Self::OfOperator).
    #[must_use]
    pub fn is_callers(request_id: &str) -> bool {
        is_id(request_id) || request_id.starts_with("of/")
    }

    /// The position at home that a request id copies; `None` if it is no [`CopyHome`](Self::CopyHome).
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
