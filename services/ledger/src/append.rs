//! The ledger's input and output: proposals and their verdicts.

use crate::{
    error::FetchError,
    fields::{self, campaign_over, unknown_account, unknown_campaign},
};
use motherlode_books::{Event, Refused, SmolStr, StreamId};
use motherlode_runtime::{Refusal, config::PLATFORM};
use prost::Message;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tonic::Code;

/// One decision, proposed for one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The stream that it belongs to.
    pub stream: StreamId,
    /// The stream's version that the decision was made on; `None` where any will do, as for a deposit.
    pub expected_version: Option<u64>,
    /// Names the request on this stream for ever.
    pub request_id: SmolStr,
    /// A digest of the request's content.
    pub fingerprint: [u8; 16],
    /// The events to be logged.
    pub events: Vec<Event>,
}

/// Why a proposal was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The stream has moved on: decide again on its present state, with the same request id.
    #[error("the stream is at version {version}")]
    Conflict {
        /// Where the stream is.
        version: u64,
    },
    /// The request id names another request.
    #[error("request id {request_id} was used for a different request")]
    RequestIdReused {
        /// The id.
        request_id: SmolStr,
    },
    /// The request was cancelled: it's never applied (PL-33).
    #[error("request {request_id} was cancelled")]
    RequestCancelled {
        /// The id.
        request_id: SmolStr,
    },
    /// The books refuse it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The queue is full.
    #[error("the partition's queue is full")]
    Busy,
    /// There is no room on the disk. Nothing was written.
    #[error("no room for the log: {reason}")]
    Full {
        /// The operating system's reason.
        reason: String,
    },
    /// The log cannot be written for now. Nothing was written.
    #[error("the log cannot be written for now: {reason}")]
    Unavailable {
        /// The operating system's reason.
        reason: String,
    },
    /// Whether it was applied is unknown: ask again with the same request id once the service is back.
    #[error("whether it was applied is unknown: {reason}")]
    Unknown {
        /// The failure.
        reason: String,
    },
    /// The log did not answer in time. Whether it was applied is unknown yet: ask again with the same request id.
    #[error("the log did not answer in time")]
    Late,
    /// The ledger is closing. Nothing was written.
    #[error("the ledger is closing")]
    Closing,
    /// The proposing process may not make this commit, or the commit does not follow from the log (PL-44).
    #[error("{code}: {reason}")]
    NotAllowed {
        /// The reason in UPPER_SNAKE.
        code: SmolStr,
        /// The reason in words.
        reason: String,
    },
}

impl AppendError {
    /// Refuses a proposal of another process.
    pub(crate) fn not_allowed(code: &'static str, reason: impl Into<String>) -> Self {
        Self::NotAllowed { code: SmolStr::new_static(code), reason: reason.into() }
    }
}

impl From<AppendError> for Refusal {
    fn from(error: AppendError) -> Self {
        let message = error.to_string();
        match error {
            AppendError::Conflict { version } => Refusal::new(Code::Aborted, "VERSION_CONFLICT", message)
                .with("version", version)
                .retry_after(Duration::from_millis(10)),
            AppendError::RequestIdReused { request_id } => Refusal::request_id_reused(&request_id),
            AppendError::RequestCancelled { .. } => Refusal::precondition("REQUEST_CANCELLED", message),
            AppendError::Refused(refused) => refused_by_books(&refused),
            AppendError::Busy => Refusal::busy(),
            AppendError::Full { .. } => {
                Refusal::new(Code::Unavailable, "LOG_FULL", message).retry_after(Duration::from_secs(5))
            }
            AppendError::Unavailable { .. } => {
                Refusal::new(Code::Unavailable, "LOG_UNAVAILABLE", message).retry_after(Duration::from_secs(1))
            }
            AppendError::Unknown { .. } => {
                Refusal::new(Code::Unavailable, "OUTCOME_UNKNOWN", message).retry_after(Duration::from_secs(5))
            }
            AppendError::Late => {
                Refusal::new(Code::DeadlineExceeded, "OUTCOME_UNKNOWN", message).retry_after(Duration::from_secs(1))
            }
            AppendError::Closing => {
                Refusal::new(Code::Unavailable, "CLOSING", message).retry_after(Duration::from_secs(1))
            }
            AppendError::NotAllowed { .. } => Refusal::new(Code::PermissionDenied, "PROPOSAL_NOT_ALLOWED", message),
        }
    }
}

/// The status of what the books refuse. Services check most of it before they propose; what they leave to the books
/// gets its own reason here, the rest is somebody's fault.
fn refused_by_books(refused: &Refused) -> Refusal {
    let message = refused.to_string();
    match refused {
        // In the same words as everywhere: they must not tell whose it is that is not there.
        Refused::UnknownAccount { .. } | Refused::UnknownPlayer => unknown_account(),
        Refused::UnknownPool { .. } => Refusal::not_found("POOL_UNKNOWN", message),
        Refused::AccountExists { .. } => Refusal::new(Code::AlreadyExists, "ACCOUNT_EXISTS", message),
        Refused::PoolExists => Refusal::new(Code::AlreadyExists, "POOL_EXISTS", message),
        Refused::InsufficientFunds { currency, balance, needed } => {
            Refusal::precondition("INSUFFICIENT_FUNDS", message)
                .with("balance_minor", balance)
                .with("needed_minor", needed)
                .with("currency_code", currency)
        }
        Refused::AmountAboveCeiling { currency, ceiling, .. } => fields::above_limit(*currency, *ceiling),
        Refused::BalanceAboveCeiling { currency, balance, ceiling } => {
            Refusal::precondition("BALANCE_ABOVE_LIMIT", message)
                .with("balance_minor", balance)
                .with("limit_minor", ceiling)
                .with("currency_code", currency)
        }
        Refused::RateOutOfBounds { currency } => {
            Refusal::precondition("RATE_OUT_OF_BOUNDS", message).with("currency_code", currency)
        }
        Refused::PoolStatus { .. } => Refusal::precondition("POOL_STATUS", message),
        Refused::WrongFigure { .. } => Refusal::new(Code::Aborted, "POOL_FIGURE_STALE", message),
        Refused::AwardPending { .. } => {
            Refusal::new(Code::Unavailable, "AWARD_PENDING", message).retry_after(Duration::from_secs(1))
        }
        Refused::AwardHeld { .. } => Refusal::precondition("AWARD_HELD", message),
        Refused::VoidProposedBefore { .. } => Refusal::precondition("VOID_PROPOSED_BEFORE", message),
        Refused::VoidUnapproved { .. } => Refusal::precondition("VOID_UNAPPROVED", message),
        Refused::AlreadyVoided { .. } => Refusal::precondition("ALREADY_VOIDED", message),
        Refused::BadIncident { .. } => Refusal::new(Code::InvalidArgument, "INVALID_INCIDENT", message),
        Refused::IncidentExists { .. } => Refusal::new(Code::AlreadyExists, "INCIDENT_EXISTS", message),
        Refused::TooManyIncidents { most } => {
            Refusal::new(Code::ResourceExhausted, "TOO_MANY_INCIDENTS", message).with("incidents_max", most)
        }
        Refused::PoolOutstanding => Refusal::precondition("POOL_OUTSTANDING", message),
        Refused::PlayMoney => Refusal::precondition("PLAY_MONEY", message),
        Refused::SeamlessWallet => Refusal::precondition("SEAMLESS_WALLET", message),
        Refused::DuesWaiting { .. } => {
            Refusal::new(Code::Unavailable, "DUES_WAITING", message).retry_after(Duration::from_secs(1))
        }
        Refused::DebitOpen | Refused::NoSuchDebit => {
            Refusal::new(Code::Aborted, "DEBIT_OPEN", message).retry_after(Duration::from_secs(1))
        }
        Refused::UnknownCampaign { campaign } => unknown_campaign(campaign),
        Refused::CampaignOver { campaign, over } => campaign_over(campaign, *over),
        Refused::CampaignExists { .. } => Refusal::new(Code::AlreadyExists, "CAMPAIGN_EXISTS", message),
        Refused::CampaignBegun { .. } => Refusal::precondition("CAMPAIGN_BEGUN", message),
        Refused::BadCampaign { .. } => Refusal::new(Code::InvalidArgument, "INVALID_CAMPAIGN", message),
        Refused::LiabilityAboveCap { open, highest, cap } => {
            Refusal::precondition("CAMPAIGN_LIABILITY_ABOVE_CAP", message)
                .with("open_liability_eur", open)
                .with("highest_liability_eur", highest)
                .with("cap_eur", cap)
        }
        Refused::SwitchUnchanged { .. } => Refusal::precondition("SWITCH_UNCHANGED", message),
        Refused::NoSuchSession => Refusal::precondition("SESSION_EXPIRED", message),
        Refused::PastLimit { currency, limit, bet } => Refusal::precondition("LOSS_LIMIT", message)
            .with("limit_minor", limit)
            .with("bet_minor", bet)
            .with("currency_code", currency),
        Refused::BadTerms { .. } => Refusal::new(Code::InvalidArgument, "INVALID_TERMS", message),
        Refused::Money(_) => Refusal::new(Code::OutOfRange, "AMOUNT_OUT_OF_RANGE", message),
        _ => refused_change(refused).unwrap_or_else(|| Refusal::precondition("REFUSED", message)),
    }
}

/// A proposal on a player's stream can't be judged while the player can't be read: nothing was written.
impl From<FetchError> for AppendError {
    fn from(error: FetchError) -> Self {
        Self::Unavailable { reason: error.to_string() }
    }
}

/// The status of what the books refuse about a change.
fn refused_change(refused: &Refused) -> Option<Refusal> {
    let message = refused.to_string();
    Some(match refused {
        Refused::NoSuchChange { change } => {
            Refusal::not_found("CHANGE_UNKNOWN", "no such change waits").with("change_id", change)
        }
        Refused::ChangeLapsed { change } => Refusal::precondition("CHANGE_LAPSED", message).with("change_id", change),
        Refused::SameActor { change, actor } => {
            Refusal::new(Code::PermissionDenied, "SAME_ACTOR", message).with("change_id", change).with("actor", actor)
        }
        Refused::PlatformsSwitch { .. } => {
            Refusal::new(Code::PermissionDenied, "ROLE_MISSING", message).with("operator", PLATFORM)
        }
        Refused::OtherActors { change } => {
            Refusal::new(Code::PermissionDenied, "OTHER_ACTORS", message).with("change_id", change)
        }
        Refused::TooManyChanges { most } => {
            Refusal::new(Code::ResourceExhausted, "TOO_MANY_CHANGES", message).with("changes_max", most)
        }
        _ => return None,
    })
}

/// The fingerprint of a request: first 16 bytes of the SHA-256 of the method's name and the message.
#[must_use]
pub fn fingerprint(method: &str, message: &impl Message) -> [u8; 16] {
    let mut hasher = Sha256::new();
    hasher.update(method.as_bytes());
    hasher.update([0]);
    hasher.update(message.encode_to_vec());
    let digest: [u8; 32] = hasher.finalize().into();
    let mut fingerprint = [0; 16];
    fingerprint.copy_from_slice(&digest[..16]);
    fingerprint
}
