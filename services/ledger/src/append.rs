use crate::{
    error::{FetchError, archived},
    fields::{self, campaign_over, unknown_account, unknown_campaign},
};
use motherlode_log::{Position, ReadError};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::{Reason, Refusal, config::PLATFORM};
use motherlode_state::{Event, HOME, InternalRequest, Refused, SmolStr, StreamId};
use prost::Message;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tonic::Code;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub stream: StreamId,
    pub expected_version: Option<u64>,
    pub request_id: SmolStr,
    pub fingerprint: [u8; 16],
    pub events: Vec<Event>,
}

/// Request whose commit on `stream` would make the writer refuse a proposal (PL-42).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Barrier {
    pub(crate) stream: StreamId,
    pub(crate) request_id: SmolStr,
    cancelled_only: bool,
}

impl Barrier {
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
    pub(crate) fn barrier(&self, partition: u32) -> Option<Barrier> {
        if let Some(request_id) = Event::series(&self.events) {
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

    pub(crate) fn leaves_open(&self) -> Option<&SmolStr> {
        let StreamId::Player { operator, .. } = &self.stream else { return None };
        let has = |wanted: fn(&Event) -> bool| self.events.iter().any(wanted);
        // For a bet paid from the operator's wallet, the limit of open rounds was checked with the debit.
        let is_paid = has(|event| matches!(event, Event::DebitConfirmed { .. }));
        let begins = has(|event| matches!(event, Event::RoundStarted(_) | Event::DebitAsked { .. }));
        let ends = has(|event| matches!(event, Event::RoundSettled { .. }));
        (begins && !is_paid && !ends).then_some(operator)
    }

    pub(crate) fn bytes(&self) -> usize {
        let event = |event: &Event| match event {
            Event::StepResolved(step) => 128 + step.choice.len() + step.outcome.len(),
            _ => 64,
        };
        256 + self.events.iter().map(event).sum::<usize>()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    #[error(
        "the stream has changed since the read and is at version {version}: read it again and retry with the same request id"
    )]
    Conflict { version: u64 },
    #[error("request id {request_id} was already used for a different request: use a new id")]
    RequestIdReused { request_id: SmolStr },
    #[error("request {request_id} was cancelled: use a new request id")]
    RequestCancelled { request_id: SmolStr },
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the partition's proposal queue is full: retry later")]
    Busy,
    #[error("the operator has reached its limit of {most} open rounds: finish or close some of its rounds")]
    OpenRounds { most: usize },
    #[error("no space to append to the log: {reason}")]
    Full { reason: String },
    #[error("the log is temporarily not writable, retry later: {reason}")]
    Unavailable { reason: String },
    #[error(
        "the log is damaged and accepts no writes; this request was not applied: {reason}. Stop the service and repair the log: \
         docs/how-to/backup-and-restore.md, \"Repair a damaged log\""
    )]
    Damaged { reason: String },
    #[error("the outcome of the request is unknown, retry with the same request id: {reason}")]
    Unknown { reason: String },
    #[error(
        "cannot determine whether the request was applied earlier: position {position} is archived, and the log starts at position {first}"
    )]
    Archived { position: Position, first: Position },
    #[error("the log did not confirm the request in time: retry with the same request id")]
    Late,
    #[error("the ledger is shutting down: retry with the same request id")]
    Closing,
    /// The proposing process may not make this commit, or the commit contradicts the log (PL-44).
    #[error("{code}: {reason}")]
    NotAllowed { code: SmolStr, reason: String },
}

impl AppendError {
    pub(crate) fn unread(error: FetchError) -> Self {
        match error.into() {
            Self::Unavailable { reason } => Self::Unknown { reason },
            archived => archived,
        }
    }

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
            AppendError::Archived { first, .. } => archived(message, first),
            AppendError::Late => {
                let refusal = Refusal::new(Reason::OutcomeUnknown, message).with_code(Code::DeadlineExceeded);
                refusal.retry_after(Duration::from_secs(1))
            }
            AppendError::Closing => Refusal::new(Reason::Closing, message),
            AppendError::NotAllowed { code, .. } if code == Reason::PlayerIdNotOpaque.name() => fields::not_opaque(),
            AppendError::NotAllowed { .. } => Refusal::new(Reason::ProposalNotAllowed, message),
        }
    }
}

fn refused_by_books(refused: &Refused) -> Refusal {
    let message = refused.to_string();
    match refused {
        // The message must not reveal whether another operator has the account.
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
        Refused::LiabilityAboveCap { open, max_liability, cap } => {
            Refusal::new(Reason::CampaignLiabilityAboveCap, message)
                .with("open_liability_eur", open)
                .with("highest_liability_eur", max_liability)
                .with("cap_eur", cap)
        }
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

impl From<FetchError> for AppendError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Read(ReadError::Archived { position, first }) => Self::Archived { position, first },
            error => Self::Unavailable { reason: error.to_string() },
        }
    }
}

fn refused_change(refused: &Refused) -> Option<Refusal> {
    let message = refused.to_string();
    Some(match refused {
        Refused::NoSuchChange { change } => {
            Refusal::new(Reason::ChangeUnknown, "there is no pending change with this id").with("change_id", change)
        }
        Refused::ChangeLapsed { change } => Refusal::new(Reason::ChangeLapsed, message).with("change_id", change),
        Refused::SameActor { change, actor } => {
            Refusal::new(Reason::SameActor, message).with("change_id", change).with("actor", actor)
        }
        Refused::BadBase { position } => Refusal::new(Reason::BaseMismatch, message).with("position", position),
        Refused::PlatformsSwitch { .. } => Refusal::new(Reason::RoleMissing, message).with("operator", PLATFORM),
        Refused::OtherActors { change } => Refusal::new(Reason::OtherActors, message).with("change_id", change),
        Refused::TooManyChanges { most } => Refusal::new(Reason::TooManyChanges, message).with("changes_max", most),
        _ => return None,
    })
}

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
