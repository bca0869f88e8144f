//! Events of the log. They contain no data that can be derived from other events. A released variant or field never
//! changes its meaning, so that old logs stay readable.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::campaign::{Campaign, LiabilityReserved};
use super::draw::{DrawSealed, GenerationBegun};
use super::partition::{PartitionReported, PoolMirrored};
use super::pool::{Award, PoolTerms};
use super::round::{RoundStarted, StepResolved};
use super::session::{SessionName, SessionOpened};
use super::void::{Incident, SettledRound, VoidedJackpot};
use super::wallet::{DebitAsked, WalletAnswer};
use crate::values::{Currency, Dealt, Epoch, FxRate, Minor, Nano, StreamId, Switch, operator_of};

/// Event. Each variant's doc begins with its stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Player: an account was opened (PL-15).
    AccountOpened { currency: Currency },
    /// Player: money was deposited (PL-15).
    Deposited {
        currency: Currency,
        /// Above 0.
        amount: Minor,
    },
    /// Player: money was withdrawn (PL-15).
    Withdrawn {
        currency: Currency,
        /// Above 0, at most the balance.
        amount: Minor,
    },
    /// Player: play money was given (PL-17).
    PlayMoneyGiven {
        /// Above 0, in [`Currency::PLAY`].
        amount: Minor,
    },
    /// Player: a collection changed, such as crystals or the chosen witch (BW-05).
    CollectionChanged {
        game: SmolStr,
        /// Bet level; empty for all levels.
        scope: SmolStr,
        /// New values; 0 removes the key.
        changes: Vec<(SmolStr, i64)>,
    },
    /// Player: a bet started a round (PL-02).
    RoundStarted(Arc<RoundStarted>),
    /// Player: a step of an open round was resolved.
    StepResolved(Box<StepResolved>),
    /// Player: the previous step of this commit won the jackpot; at most one per commit (BW-15).
    JackpotHit { round: u64, pool: SmolStr },
    /// Player: a draw was sealed outside a step.
    DrawSealed(DrawSealed),
    /// Player: draws were revealed, directly after the round's settlement or void.
    DrawsRevealed {
        round: u64,
        /// Dealt values in the order of the sealed steps.
        dealt: Vec<Dealt>,
    },
    /// Player: a voided round's draws cannot be revealed because the key is lost; directly after the void.
    DrawsLost { round: u64 },
    /// Player: a secured part of an open round's win was credited, directly after its step (ME-16).
    WinCredited {
        round: u64,
        /// Credited amount, above 0. The sum of all credits is at most the latest step's win.
        amount: Minor,
    },
    /// Player: a round ended, and the uncredited part of its win was credited.
    RoundSettled {
        round: u64,
        /// Last step's win, without the jackpot.
        win: Minor,
    },
    /// Player: a round was voided (PL-04, BW-28). If it hit the jackpot, its approval precedes this event (PL-38).
    RoundVoided {
        /// Number of the round, open or settled.
        round: u64,
        reason: String,
        actor: String,
        /// Refunded amount; 0 for a free round, which is returned to its campaign (PL-18).
        refund: Minor,
        /// Win taken back (ME-16), up to the balance after the refund (PL-09).
        win_taken_back: Minor,
        jackpot: VoidedJackpot,
        /// Facts of a settled round (PL-37); `None` for an open round and in older logs.
        settled: Option<Box<SettledRound>>,
    },
    /// Player: a void of a round that hit the jackpot was proposed. Unpaid awards are held until the platform
    /// decides, for at most [`VOID_HOLD_MS`](crate::VOID_HOLD_MS) (PL-38). The commit's position is the proposal's
    /// id.
    VoidProposed {
        /// Number of the round, open or settled.
        round: u64,
        reason: String,
        actor: String,
    },
    /// Player: an award was paid.
    JackpotPaid {
        round: u64,
        pool: SmolStr,
        /// Position of the hit.
        hit: u64,
        amount: Minor,
        currency: Currency,
    },
    /// Player: an award was set aside because the account has no room; it remains a debt.
    AwardSetAside { round: u64, pool: SmolStr, hit: u64, amount: Minor, currency: Currency, reason: String },
    /// Any stream: actor of the commit, as its last event (PL-22, PL-27).
    ActedBy {
        /// `operator/name`, a platform credential, or [`ANYONE`](crate::ANYONE).
        actor: String,
        /// Caller's remark, which is not verified.
        reference: String,
    },
    /// Player: a session was opened, and replaces the player's earlier session in the game (PL-16).
    SessionOpened(SessionOpened),
    /// Player: a session was closed or disconnected (BW-27). Idle sessions expire without an event.
    SessionEnded {
        session: SessionName,
        /// Time for which the game is held, in ms; 0 for a closed session.
        hold_ms: u32,
    },
    /// Player: a reality check was acknowledged (PL-26).
    RealityCheckAcknowledged { session: SessionName },
    /// Player: a campaign was granted (PL-18).
    CampaignGranted(Campaign),
    /// Player: a campaign was cancelled before its first round (PL-18).
    CampaignCancelled { campaign: SmolStr, reason: String, actor: String },
    /// Player, or the home partition's system stream for shared streams: the request, or its remaining commits
    /// (PL-42), are never applied (PL-33). Only [`ActedBy`](Self::ActedBy) can follow in the commit.
    RequestCancelled,
    /// Player or system: the commit is part of a larger request on its stream, such as an Autospin series (PL-42),
    /// and is refused once that request is cancelled.
    PartOf { request_id: SmolStr },
    /// Player: the player has a seamless wallet; in the commit that opens the first real-money account (PL-31).
    SeamlessChosen,
    /// Player: a debit is requested. It is sent to the operator's wallet once this event is durable (PL-31).
    DebitAsked(DebitAsked),
    /// Player: the wallet confirmed a debit, and this commit starts its round.
    DebitConfirmed {
        amount: Minor,
        /// Balance reported by the wallet; only forwarded to the caller.
        reported_balance: Minor,
        /// Other parts of the wallet's answer.
        answer: Option<Box<WalletAnswer>>,
    },
    /// Player: the wallet refused a debit.
    DebitRefused {
        reason: String,
        /// Number in `motherlode.wallet.v1.ReasonCode`; 0 for none.
        code: u32,
    },
    /// Player: a debit must be rolled back, whatever the wallet answers.
    RollbackAsked { request_id: SmolStr, reason: String },
    /// Player: the wallet acknowledged a rollback.
    DebitRolledBack,
    /// Player: the wallet acknowledged a credit.
    CreditPaid {
        request_id: SmolStr,
        currency: Currency,
        amount: Minor,
        /// Balance reported by the wallet; 0 if none, and in older logs.
        reported_balance: Minor,
        /// Other parts of the wallet's answer.
        answer: Option<Box<WalletAnswer>>,
    },
    /// Player: the end of a round was reported with `CloseRound` (PL-39).
    CloseReported {
        request_id: SmolStr,
        currency: Currency,
        round: u64,
        /// Whether the call was skipped because the operator's settings no longer enable it.
        skipped: bool,
    },
    /// Player: the wallet refused a call that it must accept; the call is held until an operator releases it.
    WalletCallHeld {
        request_id: SmolStr,
        currency: Currency,
        /// Round of a round-end report; 0 for a credit.
        close: u64,
        reason: String,
        /// Number in `motherlode.wallet.v1.ReasonCode`; 0 for none.
        code: u32,
    },
    /// Player: a held call was released, and is retried.
    WalletCallReleased {
        request_id: SmolStr,
        currency: Currency,
        /// Round of a round-end report; 0 for a credit.
        close: u64,
    },
    /// Player: round-end reports were switched on or off for later rounds.
    RoundReportsChosen { rounds: bool },
    /// Player: the operator's session reference, which must not be a secret. It does not affect the state.
    OperatorSession { session: SmolStr },
    /// System: calls to an operator's wallet are overdue (PL-32).
    WalletOverdue {
        operator: SmolStr,
        partition: u32,
        players: u64,
        /// Time of the oldest overdue call in Unix ms.
        oldest_ms: i64,
    },
    /// System, in the home partition: cost of a campaign was reserved (PL-36).
    LiabilityReserved(LiabilityReserved),
    /// Rates: an exchange rate was set.
    RateSet {
        currency: Currency,
        /// EUR per major unit.
        rate: FxRate,
        source: String,
    },
    /// Pool: a pool was opened.
    PoolOpened { pool: SmolStr, terms: PoolTerms },
    /// Pool: contributions were added to the increments (BW-11).
    ContributionsPooled {
        partition: u32,
        from: u64,
        /// Last position; it is before any undecided hit or void.
        to: u64,
        /// Sum of the contributions in EUR.
        amount: Nano,
    },
    /// Pool: the contribution of a voided round was taken back (BW-19).
    ContributionTakenBack {
        partition: u32,
        /// Position of the void.
        position: u64,
        /// Contribution in EUR, which is the sum of the next three fields.
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        /// Part taken from the seed funding.
        from_house: Nano,
    },
    /// Pool: the award of a voided round was reversed (PL-38).
    AwardReversed {
        partition: u32,
        /// Position of the void.
        position: u64,
        /// Amount in EUR.
        amount: Nano,
        to_house: Nano,
        operator: SmolStr,
    },
    /// Pool: an incident was declared (PL-38).
    IncidentDeclared(Box<Incident>),
    /// Pool: contributions of an incident's voids in one partition were returned; the only event of its commit.
    ContributionsReturned {
        incident: SmolStr,
        partition: u32,
        voids: u64,
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        /// Part taken from the seed funding.
        from_house: Nano,
    },
    /// Pool: hits up to this position may be awarded although the pool is suspended (BW-20).
    HitsReleased { reason: String, actor: String },
    /// Pool: a jackpot was awarded (BW-16, BW-17).
    JackpotAwarded(Box<Award>),
    /// Pool: new terms were set, which apply from the next cycle on (BW-20).
    PoolTermsChanged { terms: PoolTerms },
    /// Pool: the pool was suspended (BW-20).
    PoolSuspended { reason: String, actor: String },
    /// Pool: the pool was resumed (BW-20).
    PoolResumed { actor: String },
    /// Pool: the pool was retired, and its money moves to another pool (BW-20).
    PoolRetired { into: SmolStr, increments: Nano, reserve: Nano, actor: String },
    /// Pool: the pool received the money of a retired pool (BW-20).
    PoolReceived { from: SmolStr, increments: Nano, reserve: Nano },
    /// Pool, in the home partition: another partition reported a stretch of its log.
    PartitionReported(Box<PartitionReported>),
    /// Pool, in another partition: decisions of the home partition were copied.
    PoolMirrored(Box<PoolMirrored>),
    /// System: the draw key changed (PL-28).
    GeneratorReseeded {
        /// Name of the new key; `None` in older logs.
        key: Option<Epoch>,
    },
    /// System: a generation of draws began (PL-40).
    GenerationBegun(Box<GenerationBegun>),
    /// System: new rounds were switched off or on for an operator, game or version (PL-25).
    SwitchSet { switch: Switch, on: bool, reason: String, actor: String },
    /// System: a check of the program, the books or a game's return failed (PL-22, PL-23, PL-29).
    IntegrityFailed { check: String, finding: String },
    /// System: a restart verified the log after an [`IntegrityFailed`](Event::IntegrityFailed).
    LogVerified {
        /// Last verified position.
        to: u64,
    },
    /// System: the clock was set (PL-22).
    ClockSkewed {
        /// Size of the step in ms, negative for a step back.
        by_ms: i64,
    },
    /// System: a change was proposed (PL-27). The commit's position is the change's id.
    ChangeProposed(ChangeProposed),
    /// Approves the next event on the stream of a pool or of the system (PL-27), or the next void on a player's
    /// stream (PL-38).
    ChangeApproved {
        /// Position of the proposal.
        change: u64,
        proposed_by: String,
        /// Actor that approved; it must differ from the proposer.
        actor: String,
    },
    /// Rejects or withdraws a proposed change on the system's stream (PL-27), or a proposed void on a player's stream
    /// (PL-38).
    ChangeRejected {
        /// Position of the proposal.
        change: u64,
        actor: String,
        reason: String,
    },
    /// Player: the part of a voided seamless round's win that must be taken back from the operator's wallet (PL-39).
    ReversalDue {
        /// Number of the round, which this commit voids.
        round: u64,
        /// Win less `win_taken_back`, above 0.
        amount: Minor,
    },
    /// Player: the wallet acknowledged a reversal.
    ReversalTaken {
        /// Request id of the void.
        request_id: SmolStr,
        round: u64,
        currency: Currency,
        amount: Minor,
        /// Balance reported by the wallet; 0 if none.
        reported_balance: Minor,
        /// Other parts of the wallet's answer.
        answer: Option<Box<WalletAnswer>>,
    },
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

    /// Returns the id of the whole request.
    #[must_use]
    pub fn series(events: &[Self]) -> Option<&SmolStr> {
        events.iter().find_map(|event| match event {
            Self::PartOf { request_id } => Some(request_id),
            _ => None,
        })
    }

    /// Returns the change without figures that depend on its place.
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

    /// Returns whether one actor is enough: a stop (PL-25).
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
