//! Events of the log. An event contains no data that can be derived from earlier events. The meaning of a released variant
//! or field never changes, so that old logs stay readable.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::base::{BaseConfirmed, BaseTaken};
use super::campaign::{Campaign, LiabilityReserved};
use super::draw::{DrawSealed, GenerationBegun};
use super::partition::{PartitionReported, PoolMirrored};
use super::pool::{Award, PoolTerms};
use super::restore::LogRestored;
use super::round::{RoundStarted, StepResolved};
use super::session::{SessionName, SessionOpened};
use super::void::{Incident, SettledRound, VoidedJackpot};
use super::wallet::{DebitAsked, WalletAnswer};
use crate::values::{Currency, Dealt, Epoch, FxRate, Minor, Nano, StreamId, Switch, operator_of};

/// Event on a player's stream, unless its name or comment names another stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    AccountOpened {
        currency: Currency,
    },
    Deposited {
        currency: Currency,
        amount: Minor,
    },
    Withdrawn {
        currency: Currency,
        amount: Minor,
    },
    PlayMoneyGiven {
        /// Granted amount in [`Currency::PLAY`], above 0.
        amount: Minor,
    },
    CollectionChanged {
        game: SmolStr,
        /// Bets to which the figures apply, such as "EUR" or "EUR 1.00"; empty for all bets.
        scope: SmolStr,
        changes: Vec<(SmolStr, i64)>,
    },
    RoundStarted(Arc<RoundStarted>),
    StepResolved(Box<StepResolved>),
    /// The step before this event in the commit hit a jackpot. A commit contains at most one hit (BW-15).
    JackpotHit {
        round: u64,
        pool: SmolStr,
    },
    /// Seal for a player's next draw, logged without a step.
    DrawSealed(DrawSealed),
    DrawsRevealed {
        round: u64,
        dealt: Vec<Dealt>,
    },
    DrawsLost {
        round: u64,
    },
    /// Credit of the part of an open round's win that the player secured in the preceding step (ME-16).
    WinCredited {
        round: u64,
        /// Credited amount, above 0; all credits of a round together are at most the round's win after its latest step.
        amount: Minor,
    },
    RoundSettled {
        round: u64,
        win: Minor,
    },
    /// Void of a round (PL-04, BW-28). If the round hit a jackpot, a `ChangeApproved` in the same commit precedes this event
    /// (PL-38).
    RoundVoided {
        round: u64,
        reason: String,
        actor: String,
        /// Refunded amount. 0 for a free round, which the campaign grants again (PL-18).
        refund: Minor,
        /// Part of the credited win that the void debits (ME-16), at most the balance after the refund (PL-09).
        win_taken_back: Minor,
        jackpot: VoidedJackpot,
        /// Only set if the round was settled before its void (PL-37); `None` in older logs.
        settled: Option<Box<SettledRound>>,
    },
    /// Proposal to void a round that hit a jackpot. The commit's position is the proposal's id. The round's unpaid awards
    /// are held (PL-38). Without a decision, they are paid after `VOID_HOLD_MS`.
    VoidProposed {
        round: u64,
        reason: String,
        actor: String,
    },
    JackpotPaid {
        round: u64,
        pool: SmolStr,
        hit: u64,
        amount: Minor,
        currency: Currency,
    },
    /// The award was not paid, because it would exceed the account's limits; it remains a debt to the player.
    AwardSetAside {
        round: u64,
        pool: SmolStr,
        hit: u64,
        amount: Minor,
        currency: Currency,
        reason: String,
    },
    /// Any stream: actor of the commit. Always the last event of the commit (PL-22, PL-27).
    ActedBy {
        /// Operator's credential (`operator/name`), platform credential, or [`ANYONE`](crate::ANYONE).
        actor: String,
        /// Caller's note; not verified.
        reference: String,
    },
    SessionOpened(SessionOpened),
    /// End of a session by closing or disconnecting (BW-27). An idle session expires without an event.
    SessionEnded {
        session: SessionName,
        hold_ms: u32,
    },
    RealityCheckAcknowledged {
        session: SessionName,
    },
    CampaignGranted(Campaign),
    CampaignCancelled {
        campaign: SmolStr,
        reason: String,
        actor: String,
    },
    /// Player or system stream: cancels the commit's request, whose further commits are refused (PL-33, PL-42). Only
    /// `ActedBy` may follow in the same commit.
    RequestCancelled,
    /// Player or system stream: the commit is one of several commits of one request, such as an Autospin series (PL-42).
    /// The commit is refused if the request was cancelled.
    PartOf {
        request_id: SmolStr,
    },
    SeamlessChosen,
    /// Request to debit the operator's wallet; Motherlode sends it once this event is durable (PL-31).
    DebitAsked(DebitAsked),
    DebitConfirmed {
        amount: Minor,
        /// Balance that the wallet reported. Motherlode only passes it on to the caller.
        reported_balance: Minor,
        answer: Option<Box<WalletAnswer>>,
    },
    DebitRefused {
        reason: String,
        code: u32,
    },
    /// Decision to roll a debit back, even if the wallet confirms the debit later.
    RollbackAsked {
        request_id: SmolStr,
        reason: String,
    },
    DebitRolledBack,
    CreditPaid {
        request_id: SmolStr,
        currency: Currency,
        amount: Minor,
        /// Balance that the wallet reported; 0 if it reported none, and in older logs.
        reported_balance: Minor,
        answer: Option<Box<WalletAnswer>>,
    },
    CloseReported {
        request_id: SmolStr,
        currency: Currency,
        round: u64,
        skipped: bool,
    },
    /// The wallet refused a call that wallets must accept. The call is held until `RetryWalletCalls` releases it.
    WalletCallHeld {
        request_id: SmolStr,
        currency: Currency,
        /// Number of the round whose end the held call reports; 0 if the held call is a credit.
        close: u64,
        reason: String,
        code: u32,
    },
    WalletCallReleased {
        request_id: SmolStr,
        currency: Currency,
        close: u64,
    },
    RoundReportsChosen {
        rounds: bool,
    },
    /// Operator's session id, which must not be a secret.
    OperatorSession {
        session: SmolStr,
    },
    /// System stream: calls to an operator's wallet are overdue (PL-32).
    WalletOverdue {
        operator: SmolStr,
        partition: u32,
        players: u64,
        /// Unix ms.
        oldest_ms: i64,
    },
    /// System stream of the home partition: a campaign's cost was reserved (PL-36).
    LiabilityReserved(LiabilityReserved),
    /// Stream of exchange rates.
    RateSet {
        currency: Currency,
        rate: FxRate,
        source: String,
    },
    PoolOpened {
        pool: SmolStr,
        terms: PoolTerms,
    },
    /// Pool's stream: the contributions of one partition were added to the pool's increments (BW-11).
    ContributionsPooled {
        partition: u32,
        from: u64,
        /// Position of the last added contribution. All jackpot hits and voids before this position are decided.
        to: u64,
        amount: Nano,
    },
    /// Pool's stream: a voided round's contribution was removed from the pool (BW-19).
    ContributionTakenBack {
        partition: u32,
        position: u64,
        /// Removed contribution in EUR, the sum of the next three fields.
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        from_house: Nano,
    },
    /// Pool's stream: the award of a voided round was returned to the pool (PL-38).
    AwardReversed {
        partition: u32,
        position: u64,
        amount: Nano,
        to_house: Nano,
        operator: SmolStr,
    },
    /// Pool's stream: an incident was declared (PL-38).
    IncidentDeclared(Box<Incident>),
    /// Pool's stream: after an incident, the contributions of one partition's voided rounds are returned to the
    /// operator's house account. A commit with this event contains no other event.
    ContributionsReturned {
        incident: SmolStr,
        partition: u32,
        voids: u64,
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        from_house: Nano,
    },
    /// Pool's stream: jackpot hits before this commit may be awarded although the pool is suspended (BW-20).
    HitsReleased {
        reason: String,
        actor: String,
    },
    /// Pool's stream: award for a jackpot hit (BW-16, BW-17).
    JackpotAwarded(Box<Award>),
    /// The pool's terms change after the next jackpot award (BW-20).
    PoolTermsChanged {
        terms: PoolTerms,
    },
    PoolSuspended {
        reason: String,
        actor: String,
    },
    PoolResumed {
        actor: String,
    },
    /// Retirement of the pool: its money moves to another pool (BW-20).
    PoolRetired {
        into: SmolStr,
        increments: Nano,
        reserve: Nano,
        actor: String,
    },
    PoolReceived {
        from: SmolStr,
        increments: Nano,
        reserve: Nano,
    },
    /// Pool's stream in the home partition: report from another partition.
    PartitionReported(Box<PartitionReported>),
    /// Pool's stream in another partition: copy of the pool's state in the home partition.
    PoolMirrored(Box<PoolMirrored>),
    /// System stream: the draw key changed (PL-28).
    GeneratorReseeded {
        /// New draw key; `None` in older logs.
        key: Option<Epoch>,
    },
    /// System stream: the writer started, and seals depend on a new salt (PL-40).
    GenerationBegun(Box<GenerationBegun>),
    /// System stream: new rounds of an operator, game or version were switched off or on (PL-25).
    SwitchSet {
        switch: Switch,
        on: bool,
        reason: String,
        actor: String,
    },
    /// System stream: a check found a fault in the program, the books or a game's return (PL-22, PL-23, PL-29).
    IntegrityFailed {
        check: String,
        finding: String,
    },
    /// System stream: after an `IntegrityFailed`, a restart checked the log successfully.
    LogVerified {
        /// Last verified position.
        to: u64,
    },
    /// System stream: digest of the state at a position before this commit (PL-37).
    BaseTaken(Box<BaseTaken>),
    /// System stream: an audit confirmed the latest `BaseTaken` (PL-37).
    BaseConfirmed(Box<BaseConfirmed>),
    /// System stream: first event after a restore to an earlier position (PL-37).
    LogRestored(Box<LogRestored>),
    /// System stream: the configuration changed without a restart (PL-22, PL-27).
    ConfigurationReloaded(Box<ConfigurationReloaded>),
    /// System stream: the clock jumped (PL-22).
    ClockSkewed {
        /// Milliseconds by which the clock changed; negative if it was set back.
        by_ms: i64,
    },
    /// System stream: proposed change (PL-27), whose id is the commit's position.
    ChangeProposed(ChangeProposed),
    /// Approval of the next event in the commit: a change on a pool's or the system stream (PL-27), or a void on a player's
    /// stream (PL-38).
    ChangeApproved {
        /// Position of the approved `ChangeProposed` or `VoidProposed`.
        change: u64,
        proposed_by: String,
        /// Credential of the approver, which must not be the proposer's.
        actor: String,
    },
    /// Rejection or withdrawal of a proposed change (system stream, PL-27) or void (player's stream, PL-38).
    ChangeRejected {
        change: u64,
        actor: String,
        reason: String,
    },
    /// Part of a voided round's win, to be taken back by the operator's wallet (PL-39).
    ReversalDue {
        round: u64,
        /// Win of the round minus the void's `win_taken_back`; above 0.
        amount: Minor,
    },
    ReversalTaken {
        request_id: SmolStr,
        round: u64,
        currency: Currency,
        amount: Minor,
        /// Balance reported by the wallet; 0 if it reported none.
        reported_balance: Minor,
        answer: Option<Box<WalletAnswer>>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigurationReloaded {
    /// SHA-256 of the previous configuration's canonical form, in hexadecimal.
    pub before: String,
    pub after: String,
    /// Changed keys, at most [`KEYS_MAX`](Self::KEYS_MAX).
    pub keys: Vec<SmolStr>,
    /// Number of changed keys, including those that `keys` omits.
    pub key_count: u32,
    /// Actor of the reload: a platform credential, [`ANYONE`](crate::ANYONE), or [`SIGNAL`](crate::SIGNAL).
    pub actor: String,
}

impl ConfigurationReloaded {
    pub const KEYS_MAX: usize = 100;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeProposed {
    pub stream: StreamId,
    /// Proposed change, in the form of [`Event::as_proposed`].
    pub change: Box<Event>,
    pub actor: String,
    pub lapses_ms: i64,
}

impl ChangeProposed {
    #[must_use]
    pub fn operator(&self) -> Option<&str> {
        operator_of(&self.actor)
    }
}

impl Event {
    pub const CHECK_OF_LOG: &str = "log";

    #[must_use]
    pub fn series(events: &[Self]) -> Option<&SmolStr> {
        events.iter().find_map(|event| match event {
            Self::PartOf { request_id } => Some(request_id),
            _ => None,
        })
    }

    /// Returns the change with 0 in each figure that is known only when the change is applied.
    #[must_use]
    pub fn as_proposed(&self) -> Self {
        let mut change = self.clone();
        match &mut change {
            Self::PoolTermsChanged { terms } => terms.version = 0,
            Self::PoolRetired { increments, reserve, .. } => (*increments, *reserve) = (Nano::ZERO, Nano::ZERO),
            _ => {}
        }
        change
    }

    /// Returns whether the change switches something off or suspends a pool. Such a change needs no second actor (PL-25).
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::SwitchSet { on: false, .. } | Self::PoolSuspended { .. })
    }

    pub(crate) fn is_change_of(&self, stream: &StreamId) -> bool {
        match (stream, self) {
            (StreamId::Pool(name), Self::PoolOpened { pool, .. }) => pool == name,
            (StreamId::Pool(_), Self::PoolTermsChanged { .. } | Self::PoolSuspended { .. }) => true,
            (StreamId::Pool(_), Self::PoolResumed { .. } | Self::PoolRetired { .. }) => true,
            (StreamId::Pool(_), Self::IncidentDeclared(_) | Self::HitsReleased { .. }) => true,
            (StreamId::System, Self::SwitchSet { .. }) => true,
            _ => false,
        }
    }
}
