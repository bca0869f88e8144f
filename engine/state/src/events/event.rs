//! Events of the log. They contain no data that can be derived from other events. A released variant or field never changes
//! its meaning, so that old logs stay readable.

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

/// Event on a player's stream, unless its name or comment states another stream.
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
        /// Withdrawn amount, above 0 and at most the balance.
        amount: Minor,
    },
    PlayMoneyGiven {
        /// Granted amount in [`Currency::PLAY`], above 0.
        amount: Minor,
    },
    CollectionChanged {
        game: SmolStr,
        /// Bet level whose figures change; empty if levels share figures.
        scope: SmolStr,
        /// Changed keys with their new values; the value 0 removes a key.
        changes: Vec<(SmolStr, i64)>,
    },
    RoundStarted(Arc<RoundStarted>),
    StepResolved(Box<StepResolved>),
    /// Jackpot won by the previous step of this commit; a commit wins at most one jackpot (BW-15).
    JackpotHit {
        round: u64,
        pool: SmolStr,
    },
    /// Draw that was sealed outside a step.
    DrawSealed(DrawSealed),
    /// Reveals the draws of a round; directly follows its settlement or void.
    DrawsRevealed {
        round: u64,
        /// Values dealt by the draws, in the order of their steps.
        dealt: Vec<Dealt>,
    },
    /// The draws of a voided round cannot be revealed because the draw key is lost; directly follows the void.
    DrawsLost {
        round: u64,
    },
    /// Credit of the secured part of an open round's win; directly follows the step that secured it (ME-16).
    WinCredited {
        round: u64,
        /// Credited amount, above 0. The sum of the round's credits is at most the win at its latest step.
        amount: Minor,
    },
    /// Credits the uncredited part of the round's win.
    RoundSettled {
        round: u64,
        win: Minor,
    },
    /// Void (PL-04, BW-28). If the round hit the jackpot, `ChangeApproved` precedes this event (PL-38).
    RoundVoided {
        round: u64,
        reason: String,
        actor: String,
        /// Refunded amount; 0 for a free round, which is returned to its campaign (PL-18).
        refund: Minor,
        /// Part of the credited win that is taken back (ME-16), at most the balance after the refund (PL-09).
        win_taken_back: Minor,
        jackpot: VoidedJackpot,
        /// Facts of a round that was already settled (PL-37); `None` for an open round and in older logs.
        settled: Option<Box<SettledRound>>,
    },
    /// Proposed void of a round that hit the jackpot. The round's unpaid awards are held until the platform approves or
    /// rejects the void, for at most [`VOID_HOLD_MS`](crate::VOID_HOLD_MS) (PL-38). The commit's position is the proposal's
    /// id.
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
    /// The award would exceed the account's limits, so it remains a debt.
    AwardSetAside {
        round: u64,
        pool: SmolStr,
        hit: u64,
        amount: Minor,
        currency: Currency,
        reason: String,
    },
    /// Any stream: actor of the commit; always the commit's last event (PL-22, PL-27).
    ActedBy {
        /// `operator/name`, a platform credential, or [`ANYONE`](crate::ANYONE).
        actor: String,
        /// Caller's remark, not verified.
        reference: String,
    },
    /// A session was opened, and replaces the player's earlier session in the game (PL-16).
    SessionOpened(SessionOpened),
    /// A session was closed or disconnected (BW-27). Idle sessions expire without an event.
    SessionEnded {
        session: SessionName,
        /// Time for which the game stays reserved for the session; 0 if the session was closed.
        hold_ms: u32,
    },
    RealityCheckAcknowledged {
        session: SessionName,
    },
    CampaignGranted(Campaign),
    /// A campaign was cancelled before its first round (PL-18).
    CampaignCancelled {
        campaign: SmolStr,
        reason: String,
        actor: String,
    },
    /// Player or system stream: the request, or its remaining commits (PL-42), are never applied (PL-33). Only
    /// [`ActedBy`](Self::ActedBy) can follow in the commit.
    RequestCancelled,
    /// Player or system stream: the commit is part of a larger request, such as an Autospin series (PL-42), and is
    /// refused once that request is cancelled.
    PartOf {
        request_id: SmolStr,
    },
    /// The player uses a seamless wallet; part of the commit that opens the first real-money account (PL-31).
    SeamlessChosen,
    /// Requested debit, which is sent to the operator's wallet once this event is durable (PL-31).
    DebitAsked(DebitAsked),
    DebitConfirmed {
        amount: Minor,
        /// Balance reported by the wallet; only forwarded to the caller.
        reported_balance: Minor,
        answer: Option<Box<WalletAnswer>>,
    },
    DebitRefused {
        reason: String,
        /// Number in `motherlode.wallet.v1.ReasonCode`; 0 if the wallet gave no reason.
        code: u32,
    },
    /// A debit must be rolled back, whatever the wallet answers.
    RollbackAsked {
        request_id: SmolStr,
        reason: String,
    },
    DebitRolledBack,
    CreditPaid {
        request_id: SmolStr,
        currency: Currency,
        amount: Minor,
        /// Balance reported by the wallet; 0 if it reported none, and in older logs.
        reported_balance: Minor,
        answer: Option<Box<WalletAnswer>>,
    },
    /// The end of a round was reported with `CloseRound` (PL-39).
    CloseReported {
        request_id: SmolStr,
        currency: Currency,
        round: u64,
        skipped: bool,
    },
    /// The wallet refused a call that it must accept; the call is held until an operator releases it.
    WalletCallHeld {
        request_id: SmolStr,
        currency: Currency,
        /// Round whose end the held call reports; 0 if the held call is a credit.
        close: u64,
        reason: String,
        code: u32,
    },
    /// An operator released a held wallet call, so Motherlode retries it.
    WalletCallReleased {
        request_id: SmolStr,
        currency: Currency,
        close: u64,
    },
    /// Round-end reports were switched on or off for later rounds.
    RoundReportsChosen {
        rounds: bool,
    },
    /// Operator's session reference, which must not be a secret.
    OperatorSession {
        session: SmolStr,
    },
    /// System stream (PL-32).
    WalletOverdue {
        operator: SmolStr,
        partition: u32,
        players: u64,
        /// Unix ms.
        oldest_ms: i64,
    },
    /// System stream of the home partition: a campaign's cost was reserved (PL-36).
    LiabilityReserved(LiabilityReserved),
    /// Stream of exchange rates: a rate was set.
    RateSet {
        currency: Currency,
        rate: FxRate,
        source: String,
    },
    PoolOpened {
        pool: SmolStr,
        terms: PoolTerms,
    },
    /// Pool's stream: contributions are added to the increments (BW-11).
    ContributionsPooled {
        partition: u32,
        from: u64,
        /// Last position of the added contributions, before any undecided hit or void.
        to: u64,
        amount: Nano,
    },
    /// Pool's stream: the contribution of a voided round is taken back (BW-19).
    ContributionTakenBack {
        partition: u32,
        /// Position of the commit that voids the round.
        position: u64,
        /// Sum of the three amounts below, in EUR.
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        from_house: Nano,
    },
    /// Pool's stream: the award of a voided round is reversed (PL-38).
    AwardReversed {
        partition: u32,
        position: u64,
        amount: Nano,
        to_house: Nano,
        operator: SmolStr,
    },
    /// Pool's stream (PL-38).
    IncidentDeclared(Box<Incident>),
    /// Pool's stream: contributions are returned for rounds of one partition that were voided after an incident. The only
    /// event of its commit.
    ContributionsReturned {
        incident: SmolStr,
        partition: u32,
        voids: u64,
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        from_house: Nano,
    },
    /// Pool's stream: hits up to the position of this commit may be awarded despite the suspension (BW-20).
    HitsReleased {
        reason: String,
        actor: String,
    },
    /// Pool's stream: the award for a hit was computed (BW-16, BW-17).
    JackpotAwarded(Box<Award>),
    /// The pool's terms change from the next cycle on (BW-20).
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
    /// The pool's money moves to another pool (BW-20).
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
    /// Pool's stream in the home partition: report of another partition.
    PartitionReported(Box<PartitionReported>),
    /// Pool's stream in another partition: copy of the home partition's decisions.
    PoolMirrored(Box<PoolMirrored>),
    /// System stream: the draw key changed (PL-28).
    GeneratorReseeded {
        /// New draw key; `None` in older logs.
        key: Option<Epoch>,
    },
    /// System stream (PL-40).
    GenerationBegun(Box<GenerationBegun>),
    /// System stream: new rounds were switched off or on for an operator, game or version (PL-25).
    SwitchSet {
        switch: Switch,
        on: bool,
        reason: String,
        actor: String,
    },
    /// System stream: failed check of the program, the books or a game's return (PL-22, PL-23, PL-29).
    IntegrityFailed {
        check: String,
        finding: String,
    },
    /// System stream: a restart verified the log after an [`IntegrityFailed`](Event::IntegrityFailed).
    LogVerified {
        /// Last verified position.
        to: u64,
    },
    /// System stream: digest of the state at an earlier position (PL-37).
    BaseTaken(Box<BaseTaken>),
    /// System stream (PL-37).
    BaseConfirmed(Box<BaseConfirmed>),
    /// System stream: first event after a restore to an earlier position (PL-37).
    LogRestored(Box<LogRestored>),
    /// System stream (PL-22, PL-27).
    ConfigurationReloaded(Box<ConfigurationReloaded>),
    /// System stream (PL-22).
    ClockSkewed {
        /// Clock change; negative if the clock was set back.
        by_ms: i64,
    },
    /// System stream (PL-27). The commit's position is the change's id.
    ChangeProposed(ChangeProposed),
    /// Approves the next event, which is a change on a pool's or the system stream (PL-27), or a void on a player's stream
    /// (PL-38).
    ChangeApproved {
        /// Position of `ChangeProposed` or `VoidProposed`.
        change: u64,
        proposed_by: String,
        /// Approver, who must not be the proposer.
        actor: String,
    },
    /// Rejects or withdraws a proposed change (system stream, PL-27) or void (player's stream, PL-38).
    ChangeRejected {
        change: u64,
        actor: String,
        reason: String,
    },
    /// Part of a voided seamless round's win that the operator's wallet must give back (PL-39).
    ReversalDue {
        /// Round that this commit voids.
        round: u64,
        /// Win of the round less `win_taken_back`, above 0.
        amount: Minor,
    },
    ReversalTaken {
        /// Id of the request that voided the round.
        request_id: SmolStr,
        round: u64,
        currency: Currency,
        amount: Minor,
        /// Balance reported by the wallet; 0 if it reported none.
        reported_balance: Minor,
        answer: Option<Box<WalletAnswer>>,
    },
}

/// A process applied a changed configuration without a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigurationReloaded {
    /// SHA-256 of the previous configuration's canonical form, in hexadecimal.
    pub before: String,
    pub after: String,
    /// Changed keys, at most [`KEYS_MAX`](Self::KEYS_MAX).
    pub keys: Vec<SmolStr>,
    /// Number of changed keys, including those that `keys` omits.
    pub key_count: u32,
    /// Platform credential, [`ANYONE`](crate::ANYONE), or [`SIGNAL`](crate::SIGNAL).
    pub actor: String,
}

impl ConfigurationReloaded {
    pub const KEYS_MAX: usize = 100;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeProposed {
    pub stream: StreamId,
    /// See [`Event::as_proposed`].
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

    /// Returns the change, with figures that depend on its log position set to 0.
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

    /// Returns whether the change switches a part off or suspends a pool, which needs no second actor (PL-25).
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
