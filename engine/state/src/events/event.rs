//! Events of the log, without derivable data. A released variant or field keeps its meaning: old logs must stay
//! readable.

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

/// Variant docs begin with the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Player (PL-15).
    AccountOpened { currency: Currency },
    /// Player (PL-15).
    Deposited {
        currency: Currency,
        /// Above 0.
        amount: Minor,
    },
    /// Player (PL-15).
    Withdrawn {
        currency: Currency,
        /// Above 0, at most the balance.
        amount: Minor,
    },
    /// Player (PL-17).
    PlayMoneyGiven {
        /// Above 0, in [`Currency::PLAY`].
        amount: Minor,
    },
    /// Player: changed collection, such as crystals or the picked witch (BW-05).
    CollectionChanged {
        game: SmolStr,
        /// Bet level; empty for all.
        scope: SmolStr,
        /// New values; 0 removes the key.
        changes: Vec<(SmolStr, i64)>,
    },
    /// Player (PL-02).
    RoundStarted(Arc<RoundStarted>),
    /// Player.
    StepResolved(Box<StepResolved>),
    /// Player: jackpot won by the previous step of this commit; at most one (BW-15).
    JackpotHit { round: u64, pool: SmolStr },
    /// Player, outside a step.
    DrawSealed(DrawSealed),
    /// Player: directly after the settlement or void.
    DrawsRevealed {
        round: u64,
        /// Dealt values in the order of the sealed steps.
        dealt: Vec<Dealt>,
    },
    /// Player: directly after a void, whose draws cannot be revealed without the key.
    DrawsLost { round: u64 },
    /// Player: secured part of an open round's win, after its step (ME-16).
    WinCredited {
        round: u64,
        /// Credited amount, above 0. The sum of all credits is at most the latest step's win.
        amount: Minor,
    },
    /// Player: credits the rest of the win.
    RoundSettled {
        round: u64,
        /// Last step's win, without the jackpot.
        win: Minor,
    },
    /// Player (PL-04, BW-28). If it hit the jackpot, the approval comes first (PL-38).
    RoundVoided {
        /// Open or settled.
        round: u64,
        reason: String,
        actor: String,
        /// Refunded amount; 0 for a free round, which returns to its campaign (PL-18).
        refund: Minor,
        /// Wins taken back (ME-16), as far as the balance after the refund allows (PL-09).
        win_taken_back: Minor,
        jackpot: VoidedJackpot,
        /// Facts of a settled round (PL-37); `None` for an open round and in older logs.
        settled: Option<Box<SettledRound>>,
    },
    /// Player: void of a round that hit the jackpot. It holds unpaid awards until the platform decides, at most
    /// [`VOID_HOLD_MS`](crate::VOID_HOLD_MS) (PL-38). The position is its id.
    VoidProposed {
        /// Open or settled.
        round: u64,
        reason: String,
        actor: String,
    },
    /// Player.
    JackpotPaid {
        round: u64,
        pool: SmolStr,
        /// Position of the hit.
        hit: u64,
        amount: Minor,
        currency: Currency,
    },
    /// Player: the account has no room for the award, which remains a debt.
    AwardSetAside { round: u64, pool: SmolStr, hit: u64, amount: Minor, currency: Currency, reason: String },
    /// Any stream: the commit's actor, as its last event (PL-22, PL-27).
    ActedBy {
        /// `operator/name`, a platform credential, or [`ANYONE`](crate::ANYONE).
        actor: String,
        /// Caller's remark, unverified.
        reference: String,
    },
    /// Player: a session was opened, and replaces an earlier one of the game (PL-16).
    SessionOpened(SessionOpened),
    /// Player: a session was closed or disconnected (BW-27). Idle sessions expire without an event.
    SessionEnded {
        session: SessionName,
        /// 0 for a closed session.
        hold_ms: u32,
    },
    /// Player (PL-26).
    RealityCheckAcknowledged { session: SessionName },
    /// Player (PL-18).
    CampaignGranted(Campaign),
    /// Player: before the first round (PL-18).
    CampaignCancelled { campaign: SmolStr, reason: String, actor: String },
    /// Player, or system at home for shared streams: the request (PL-33), or its remainder (PL-42), is never applied.
    /// Only [`ActedBy`](Self::ActedBy) can follow in the commit.
    RequestCancelled,
    /// Player or system: the commit is a part of a larger request on its stream, such as an Autospin series (PL-42),
    /// and is refused after that request's cancellation.
    PartOf { request_id: SmolStr },
    /// Player: the operator keeps the money; in the commit of the first real-money account (PL-31).
    SeamlessChosen,
    /// Player: a debit, which is sent to the operator's wallet once this event is durable (PL-31).
    DebitAsked(DebitAsked),
    /// Player: the debit's round is in the commit.
    DebitConfirmed {
        amount: Minor,
        /// Balance reported by the wallet; forwarded only.
        reported_balance: Minor,
        /// Other logged parts of the answer.
        answer: Option<Box<WalletAnswer>>,
    },
    /// Player.
    DebitRefused {
        reason: String,
        /// `motherlode.wallet.v1.ReasonCode`; 0 for none.
        code: u32,
    },
    /// Player: the debit must be rolled back, whatever the answer.
    RollbackAsked { request_id: SmolStr, reason: String },
    /// Player.
    DebitRolledBack,
    /// Player.
    CreditPaid {
        request_id: SmolStr,
        currency: Currency,
        amount: Minor,
        /// Reported balance; 0 for none and in older logs.
        reported_balance: Minor,
        /// Other logged parts of the answer.
        answer: Option<Box<WalletAnswer>>,
    },
    /// Player: the end of a round was reported by `CloseRound` (PL-39).
    CloseReported {
        request_id: SmolStr,
        currency: Currency,
        round: u64,
        /// Whether the call was left out, because the operator's settings no longer have it.
        skipped: bool,
    },
    /// Player: the wallet refused a mandatory call, which is kept until an operator releases it.
    WalletCallHeld {
        request_id: SmolStr,
        currency: Currency,
        /// Round of a report; 0 for a credit.
        close: u64,
        reason: String,
        /// `motherlode.wallet.v1.ReasonCode`; 0 for none.
        code: u32,
    },
    /// Player: a held call must be repeated.
    WalletCallReleased {
        request_id: SmolStr,
        currency: Currency,
        /// Round of a report; 0 for a credit.
        close: u64,
    },
    /// Player: whether ends of rounds are reported from here on.
    RoundReportsChosen { rounds: bool },
    /// Player: the operator's session reference, not a secret. Without effect.
    OperatorSession { session: SmolStr },
    /// System (PL-32).
    WalletOverdue {
        operator: SmolStr,
        partition: u32,
        players: u64,
        /// Unix ms.
        oldest_ms: i64,
    },
    /// System, at home (PL-36).
    LiabilityReserved(LiabilityReserved),
    /// Rates.
    RateSet {
        currency: Currency,
        /// EUR per major unit.
        rate: FxRate,
        source: String,
    },
    /// Pool.
    PoolOpened { pool: SmolStr, terms: PoolTerms },
    /// Pool: added to the increments (BW-11).
    ContributionsPooled {
        partition: u32,
        from: u64,
        /// Last position, before any pending hit or void.
        to: u64,
        /// EUR.
        amount: Nano,
    },
    /// Pool: for a voided round (BW-19).
    ContributionTakenBack {
        partition: u32,
        /// Position of the void.
        position: u64,
        /// Contribution in EUR, split into three parts.
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        /// Seed funding.
        from_house: Nano,
    },
    /// Pool: for a voided round (PL-38).
    AwardReversed {
        partition: u32,
        /// Position of the void.
        position: u64,
        /// EUR.
        amount: Nano,
        to_house: Nano,
        operator: SmolStr,
    },
    /// Pool (PL-38).
    IncidentDeclared(Box<Incident>),
    /// Pool: contributions of an incident's voids in one partition were returned; the only event of its commit.
    ContributionsReturned {
        incident: SmolStr,
        partition: u32,
        voids: u64,
        amount: Nano,
        from_increments: Nano,
        from_reserve: Nano,
        /// Seed funding.
        from_house: Nano,
    },
    /// Pool: hits up to here may be awarded despite the suspension (BW-20).
    HitsReleased { reason: String, actor: String },
    /// Pool (BW-16, BW-17).
    JackpotAwarded(Box<Award>),
    /// Pool: from the next cycle on (BW-20).
    PoolTermsChanged { terms: PoolTerms },
    /// Pool (BW-20).
    PoolSuspended { reason: String, actor: String },
    /// Pool (BW-20).
    PoolResumed { actor: String },
    /// Pool: its money moves to another (BW-20).
    PoolRetired { into: SmolStr, increments: Nano, reserve: Nano, actor: String },
    /// Pool: from a retired one (BW-20).
    PoolReceived { from: SmolStr, increments: Nano, reserve: Nano },
    /// Pool, at home.
    PartitionReported(Box<PartitionReported>),
    /// Pool, in another partition: a copy of home's decisions.
    PoolMirrored(Box<PoolMirrored>),
    /// System: new draw key (PL-28).
    GeneratorReseeded {
        /// `None` in older logs.
        key: Option<Epoch>,
    },
    /// System (PL-40).
    GenerationBegun(Box<GenerationBegun>),
    /// System: new rounds of a part of the service are switched off or on (PL-25).
    SwitchSet { switch: Switch, on: bool, reason: String, actor: String },
    /// System: a check of the program, the books or a game's return failed (PL-22, PL-23, PL-29).
    IntegrityFailed { check: String, finding: String },
    /// System: a start verified the log after an [`IntegrityFailed`](Event::IntegrityFailed).
    LogVerified {
        /// Last verified position.
        to: u64,
    },
    /// System (PL-22).
    ClockSkewed {
        /// Milliseconds, negative for a step back.
        by_ms: i64,
    },
    /// System (PL-27). The position is its id.
    ChangeProposed(ChangeProposed),
    /// Approves the next event, on a pool's or the system's stream (PL-27), or the next void, on a player's (PL-38).
    ChangeApproved {
        /// Position of the proposal.
        change: u64,
        proposed_by: String,
        /// Another actor than the proposer.
        actor: String,
    },
    /// Rejects or withdraws a proposed change, on the system's stream (PL-27), or a proposed void, on a player's (PL-38).
    ChangeRejected {
        /// Position of the proposal.
        change: u64,
        actor: String,
        reason: String,
    },
    /// Player: rest of a voided seamless round's win, to be taken back from the operator's wallet (PL-39).
    ReversalDue {
        /// Voided in this commit.
        round: u64,
        /// Win less `win_taken_back`, above 0.
        amount: Minor,
    },
    /// Player.
    ReversalTaken {
        /// Request of the void.
        request_id: SmolStr,
        round: u64,
        currency: Currency,
        amount: Minor,
        /// Reported balance; 0 for none.
        reported_balance: Minor,
        /// Other logged parts of the answer.
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
