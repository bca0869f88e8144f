//! The ledger's input and output: proposals and their verdicts.

use crate::{
    error::FetchError,
    fields::{self, campaign_over, unknown_account, unknown_campaign},
};
use motherlode_books::{Event, HOME, InternalRequest, Refused, SmolStr, StreamId};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::{Reason, Refusal, config::PLATFORM};
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

/// Another request whose commit refuses a proposal (PL-42).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Barrier {
    pub(crate) stream: StreamId,
    pub(crate) request_id: SmolStr,
    /// Only a cancellation refuses, no other commit of that name.
    cancelled_only: bool,
}

impl Barrier {
    /// The error of the proposal, if this commit of the other request refuses it.
    pub(crate) fn refusal(&self, logged: &Logged) -> Option<AppendError> {
        let request_id = self.request_id.clone();
        match logged.commit.is_cancelled() {
            true => Some(AppendError::RequestCancelled { request_id }),
            false if self.cancelled_only => None,
            false => Some(AppendError::RequestIdReused { request_id }),
        }
    }
}

impl Proposal {
    /// The request that must not have a commit: that of which this is a part. On home's rates and pools, the cancellation of the
    /// same id on the system's stream, where requests on all streams that operators share are cancelled.
    pub(crate) fn barrier(&self, partition: u32) -> Option<Barrier> {
        if let Some(request_id) = Event::part_of(&self.events) {
            let (stream, request_id) = (self.stream.clone(), request_id.clone());
            return Some(Barrier { stream, request_id, cancelled_only: false });
        }
        let is_shared = partition == HOME && matches!(self.stream, StreamId::Rates | StreamId::Pool(_));
        (is_shared && InternalRequest::is_callers(&self.request_id)).then(|| Barrier {
            stream: StreamId::System,
            request_id: self.request_id.clone(),
            cancelled_only: true,
        })
    }

    /// The operator whose round begins and stays open; a debit may become such a round.
    pub(crate) fn leaves_open(&self) -> Option<&str> {
        let StreamId::Player { operator, .. } = &self.stream else { return None };
        let has = |wanted: fn(&Event) -> bool| self.events.iter().any(wanted);
        // After the wallet's confirmation the limit no longer applies: it was checked when the debit was proposed.
        let is_paid = has(|event| matches!(event, Event::DebitConfirmed { .. }));
        let begins = has(|event| matches!(event, Event::RoundStarted(_) | Event::DebitAsked { .. }));
        let ends = has(|event| matches!(event, Event::RoundSettled { .. }));
        (begins && !is_paid && !ends).then_some(operator)
    }

    /// Bytes of its record, about: for shares of the log.
    pub(crate) fn bytes(&self) -> usize {
        let event = |event: &Event| match event {
            Event::StepResolved(step) => 128 + step.choice.len() + step.outcome.len(),
            _ => 64,
        };
        256 + self.events.iter().map(event).sum::<usize>()
    }
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
    /// The operator has as many open rounds as it may. Nothing was written.
    #[error("the operator has {most} open rounds, as many as it may: finish or close some of them")]
    OpenRounds {
        /// The bound, `limits.open_rounds_per_operator_max`.
        most: usize,
    },
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
    /// The log is damaged. Nothing was written.
    #[error(
        "the log is damaged, so it takes no writes, and nothing was written: {reason}. Stop the service and repair the log: \
         docs/how-to/backup-and-restore.md, \"Repair a damaged log\""
    )]
    Damaged {
        /// The damage and its place.
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
    pub(crate) fn not_allowed(code: Reason, reason: impl Into<String>) -> Self {
        Self::NotAllowed { code: SmolStr::new_static(code.name()), reason: reason.into() }
    }
}

impl From<AppendError> for Refusal {
    fn from(error: AppendError) -> Self {
        let message = error.to_string();
        match error {
            AppendError::Conflict { version } => {
                Refusal::new(Reason::VersionConflict, message).with("version", version)
            }
            AppendError::RequestIdReused { request_id } => Refusal::request_id_reused(&request_id),
            AppendError::RequestCancelled { .. } => Refusal::new(Reason::RequestCancelled, message),
            AppendError::Refused(refused) => refused_by_books(&refused),
            AppendError::Busy => Refusal::busy(),
            AppendError::Full { .. } => Refusal::new(Reason::LogFull, message),
            AppendError::Unavailable { .. } => Refusal::new(Reason::LogUnavailable, message),
            AppendError::Damaged { .. } => Refusal::new(Reason::LogDamaged, message),
            AppendError::Unknown { .. } => Refusal::new(Reason::OutcomeUnknown, message),
            AppendError::OpenRounds { most } => {
                Refusal::new(Reason::OpenRoundsFull, message).with("open_rounds_per_operator_max", most)
            }
            AppendError::Late => {
                let refusal = Refusal::new(Reason::OutcomeUnknown, message).with_code(Code::DeadlineExceeded);
                refusal.retry_after(Duration::from_secs(1))
            }
            AppendError::Closing => Refusal::new(Reason::Closing, message),
            AppendError::NotAllowed { .. } => Refusal::new(Reason::ProposalNotAllowed, message),
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
        Refused::UnknownPool { .. } => Refusal::new(Reason::PoolUnknown, message),
        Refused::AccountExists { .. } => Refusal::new(Reason::AccountExists, message),
        Refused::PoolExists => Refusal::new(Reason::PoolExists, message),
        Refused::InsufficientFunds { currency, balance, needed } => Refusal::new(Reason::InsufficientFunds, message)
            .with("balance_minor", balance)
            .with("needed_minor", needed)
            .with("currency_code", currency),
        Refused::AmountAboveCeiling { currency, ceiling, .. } => fields::above_limit(*currency, *ceiling),
        Refused::BalanceAboveCeiling { currency, balance, ceiling } => Refusal::new(Reason::BalanceAboveLimit, message)
            .with("balance_minor", balance)
            .with("limit_minor", ceiling)
            .with("currency_code", currency),
        Refused::RateOutOfBounds { currency } => {
            Refusal::new(Reason::RateOutOfBounds, message).with("currency_code", currency)
        }
        Refused::PoolStatus { .. } => Refusal::new(Reason::PoolStatus, message),
        Refused::WrongFigure { .. } => Refusal::new(Reason::PoolFigureStale, message),
        Refused::AwardPending { .. } => Refusal::new(Reason::AwardPending, message),
        Refused::AwardHeld { .. } => Refusal::new(Reason::AwardHeld, message),
        Refused::VoidProposedBefore { .. } => Refusal::new(Reason::VoidProposedBefore, message),
        Refused::VoidUnapproved { .. } => Refusal::new(Reason::VoidUnapproved, message),
        Refused::AlreadyVoided { .. } => Refusal::new(Reason::AlreadyVoided, message),
        Refused::BadIncident { .. } => Refusal::new(Reason::InvalidIncident, message),
        Refused::IncidentExists { .. } => Refusal::new(Reason::IncidentExists, message),
        Refused::TooManyIncidents { most } => {
            Refusal::new(Reason::TooManyIncidents, message).with("incidents_max", most)
        }
        Refused::PoolOutstanding => Refusal::new(Reason::PoolOutstanding, message),
        Refused::PlayMoney => Refusal::new(Reason::PlayMoney, message),
        Refused::SeamlessWallet => Refusal::new(Reason::SeamlessWallet, message),
        Refused::DuesWaiting { .. } => Refusal::new(Reason::DuesWaiting, message),
        Refused::DebitOpen | Refused::NoSuchDebit => Refusal::new(Reason::DebitOpen, message),
        Refused::UnknownCampaign { campaign } => unknown_campaign(campaign),
        Refused::CampaignOver { campaign, over } => campaign_over(campaign, *over),
        Refused::CampaignExists { .. } => Refusal::new(Reason::CampaignExists, message),
        Refused::CampaignBegun { .. } => Refusal::new(Reason::CampaignBegun, message),
        Refused::BadCampaign { .. } => Refusal::new(Reason::InvalidCampaign, message),
        Refused::LiabilityAboveCap { open, highest, cap } => Refusal::new(Reason::CampaignLiabilityAboveCap, message)
            .with("open_liability_eur", open)
            .with("highest_liability_eur", highest)
            .with("cap_eur", cap),
        Refused::SwitchUnchanged { .. } => Refusal::new(Reason::SwitchUnchanged, message),
        Refused::NoSuchSession => Refusal::new(Reason::SessionExpired, message),
        Refused::PastLimit { currency, limit, bet } => Refusal::new(Reason::LossLimit, message)
            .with("limit_minor", limit)
            .with("bet_minor", bet)
            .with("currency_code", currency),
        Refused::BadTerms { .. } => Refusal::new(Reason::InvalidTerms, message),
        Refused::Money(_) => Refusal::new(Reason::AmountOutOfRange, message),
        _ => refused_change(refused).unwrap_or_else(|| Refusal::new(Reason::Refused, message)),
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
            Refusal::new(Reason::ChangeUnknown, "no such change waits").with("change_id", change)
        }
        Refused::ChangeLapsed { change } => Refusal::new(Reason::ChangeLapsed, message).with("change_id", change),
        Refused::SameActor { change, actor } => {
            Refusal::new(Reason::SameActor, message).with("change_id", change).with("actor", actor)
        }
        Refused::PlatformsSwitch { .. } => Refusal::new(Reason::RoleMissing, message).with("operator", PLATFORM),
        Refused::OtherActors { change } => Refusal::new(Reason::OtherActors, message).with("change_id", change),
        Refused::TooManyChanges { most } => Refusal::new(Reason::TooManyChanges, message).with("changes_max", most),
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
