//! Events of the log. They contain no derivable data.
//!
//! Old logs must stay readable, so a released variant or field keeps its meaning.

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
use super::wallet::DebitAsked;
use crate::values::{Currency, Dealt, Epoch, FxRate, Minor, Nano, StreamId, Switch, operator_of};

/// Event. The variants name their streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Player: an account is opened with balance 0 (PL-15).
    AccountOpened {
        /// Currency, one account per currency.
        currency: Currency,
    },
    /// Player: deposit; its transaction id is the commit's request id (PL-15).
    Deposited {
        /// Currency of the account.
        currency: Currency,
        /// Above 0.
        amount: Minor,
    },
    /// Player: withdrawal (PL-15).
    Withdrawn {
        /// Currency of the account.
        currency: Currency,
        /// Above 0, at most the balance.
        amount: Minor,
    },
    /// Player: play money is given for demo play (PL-17).
    PlayMoneyGiven {
        /// Above 0, in [`Currency::PLAY`].
        amount: Minor,
    },
    /// Player: a collection changes (crystals, potions, unlocked features, the picked witch) (BW-05).
    CollectionChanged {
        /// Name of the game.
        game: SmolStr,
        /// Bet level of the collection; empty for all.
        scope: SmolStr,
        /// Keys and new values; 0 removes a key.
        changes: Vec<(SmolStr, i64)>,
    },
    /// Player: a bet is accepted and its round opened (PL-02).
    RoundStarted(Arc<RoundStarted>),
    /// Player: a step of an open round.
    StepResolved(Box<StepResolved>),
    /// Player: the previous step in this commit wins the jackpot (BW-15). At most one per commit.
    JackpotHit {
        /// Round number.
        round: u64,
        /// Pool of the round's contribution.
        pool: SmolStr,
    },
    /// Player: the next draw is sealed outside a step.
    DrawSealed(DrawSealed),
    /// Player: dealt values of a round's sealed steps, directly after the settlement or void.
    DrawsRevealed {
        /// Round number.
        round: u64,
        /// Dealt values in the order of the sealed steps.
        dealt: Vec<Dealt>,
    },
    /// Player: the dealt values of a voided round cannot be revealed, since a draw key is lost; directly after the
    /// void.
    DrawsLost {
        /// Round number.
        round: u64,
    },
    /// Player: a secured part of an open round's win is credited; after the step that secured it (ME-16).
    WinCredited {
        /// Round number.
        round: u64,
        /// Above 0. All credits together are at most the win of the latest step.
        amount: Minor,
    },
    /// Player: the round ends and the rest of its win is credited.
    RoundSettled {
        /// Round number.
        round: u64,
        /// Win of the last step, without the jackpot.
        win: Minor,
    },
    /// Player: the round is voided (PL-04, BW-28). For a round that hit the jackpot, the approval comes before it in
    /// the commit (PL-38).
    RoundVoided {
        /// Round number, open or settled.
        round: u64,
        /// Reason, for support and the regulator.
        reason: String,
        /// Actor.
        actor: String,
        /// Refund of the bet; 0 for a free round, which returns to its campaign (PL-18).
        refund: Minor,
        /// Win, or credits of an open round (ME-16), taken back up to the balance after the refund (PL-09).
        win_taken_back: Minor,
        /// Effect on the pool of the contribution.
        jackpot: VoidedJackpot,
        /// Settled round, which replaces the lookup of its records (PL-37); `None` for an open round and in older logs.
        settled: Option<Box<SettledRound>>,
    },
    /// Player: a void of a round that hit the jackpot is proposed. Its unpaid awards are held until the platform
    /// approves or rejects it, at most [`VOID_HOLD_MS`](crate::VOID_HOLD_MS) (PL-38). The position is the proposal's
    /// id.
    VoidProposed {
        /// Round number, open or settled.
        round: u64,
        /// Reason.
        reason: String,
        /// Actor.
        actor: String,
    },
    /// Player: an award is paid to the player.
    JackpotPaid {
        /// Round number.
        round: u64,
        /// Pool.
        pool: SmolStr,
        /// Position of the hit in this partition.
        hit: u64,
        /// Amount of the award.
        amount: Minor,
        /// Currency of the award.
        currency: Currency,
    },
    /// Player: an award cannot be paid while the account has no room for it. It remains a debt.
    AwardSetAside {
        /// Round number.
        round: u64,
        /// Pool.
        pool: SmolStr,
        /// Position of the hit in this partition.
        hit: u64,
        /// Amount of the award.
        amount: Minor,
        /// Currency of the award.
        currency: Currency,
        /// Reason.
        reason: String,
    },
    /// Any stream: actor of the commit that it ends (PL-22, PL-27). It has no effect.
    ActedBy {
        /// Credential: its name for the platform, `operator/name` for an operator, [`ANYONE`](crate::ANYONE) without
        /// operators.
        actor: String,
        /// Caller's remark, such as a ticket's number; not verified.
        reference: String,
    },
    /// Player: a session is opened, which replaces an earlier one of the game (PL-16).
    SessionOpened(SessionOpened),
    /// Player: a session is closed, or its connection dropped (BW-27). An idle session expires without an event.
    SessionEnded {
        /// Name of the session.
        session: SessionName,
        /// Milliseconds during which the game cannot be opened again; 0 for a closed session.
        hold_ms: u32,
    },
    /// Player: a reality check is acknowledged: time played and net result (PL-26).
    RealityCheckAcknowledged {
        /// Session that showed it.
        session: SessionName,
    },
    /// Player: free rounds are granted (PL-18).
    CampaignGranted(Campaign),
    /// Player: a campaign without a begun round is cancelled (PL-18).
    CampaignCancelled {
        /// Name of the campaign.
        campaign: SmolStr,
        /// Reason.
        reason: String,
        /// Actor.
        actor: String,
    },
    /// Player, or system at home for requests on shared streams: the request is never applied (PL-33), or no further
    /// part of it (PL-42). The only other event in the commit is [`ActedBy`](Self::ActedBy).
    RequestCancelled,
    /// Player or system: the commit is a part of another request on its stream: a round of an Autospin series, its
    /// debit, an opened session, or the reservation of a bulk campaign (PL-42). The writer refuses it once that request
    /// is cancelled. It has no effect.
    PartOf {
        /// Id of the whole request.
        request_id: SmolStr,
    },
    /// Player: the operator keeps the player's money; in the commit that opens the first account of real money (PL-31).
    SeamlessChosen,
    /// Player: a bet's debit will be requested from the operator's wallet (PL-31), after this commit is durable.
    DebitAsked(DebitAsked),
    /// Player: the wallet confirmed the debit of this request, whose round is in the commit.
    DebitConfirmed {
        /// Amount as requested.
        amount: Minor,
        /// Balance reported by the wallet, in minor units; forwarded and not used.
        told: Minor,
    },
    /// Player: the wallet refused the debit of this request, which is never applied.
    DebitRefused {
        /// Operator's reason.
        reason: String,
    },
    /// Player: a debit must be rolled back, whatever the wallet still answers.
    RollbackAsked {
        /// Id of the bet's request.
        request_id: SmolStr,
        /// Reason.
        reason: String,
    },
    /// Player: the wallet acknowledged the rollback. This request is never applied.
    DebitRolledBack,
    /// Player: a credit due was paid to the operator's wallet.
    CreditPaid {
        /// Request of the commit that made it due.
        request_id: SmolStr,
        /// Currency of the account.
        currency: Currency,
        /// Amount due.
        amount: Minor,
    },
    /// System: debits or credits of an operator are overdue (PL-32).
    WalletOverdue {
        /// Operator.
        operator: SmolStr,
        /// Partition of the players.
        partition: u32,
        /// Players with an overdue debit or credit.
        players: u64,
        /// Time of the oldest, Unix ms.
        oldest_ms: i64,
    },
    /// System, at home: the highest cost of a bulk campaign is reserved before its grants (PL-36).
    LiabilityReserved(LiabilityReserved),
    /// Rates: a currency gets a rate.
    RateSet {
        /// Any currency except EUR, whose rate is 1, and play money.
        currency: Currency,
        /// EUR per major unit.
        rate: FxRate,
        /// Source of the rate.
        source: String,
    },
    /// Pool: a pool is opened.
    PoolOpened {
        /// Name, as in the stream.
        pool: SmolStr,
        /// First terms.
        terms: PoolTerms,
    },
    /// Pool: contributions of a stretch of a partition are added to the increments (BW-11).
    ContributionsPooled {
        /// Partition of the bets.
        partition: u32,
        /// First position, one after the last pooled one.
        from: u64,
        /// Last position, not beyond a pending hit or void.
        to: u64,
        /// Sum of contributions.
        amount: Nano,
    },
    /// Pool: the contribution of a voided round is taken back (BW-19).
    ContributionTakenBack {
        /// Partition of the round.
        partition: u32,
        /// Position of the void.
        position: u64,
        /// Contribution, the sum of the three parts.
        amount: Nano,
        /// Part from the increments.
        from_increments: Nano,
        /// Part from the reserve.
        from_reserve: Nano,
        /// Part from the house, as seed funding.
        from_house: Nano,
    },
    /// Pool: awards of a voided round return to the pool (PL-38).
    AwardReversed {
        /// Partition of the round.
        partition: u32,
        /// Position of the void.
        position: u64,
        /// Amount in EUR.
        amount: Nano,
        /// Part that reduces the house's seed funding; the rest joins the reserve.
        to_house: Nano,
        /// Operator of the round.
        operator: SmolStr,
    },
    /// Pool: the platform approves an incident (PL-38).
    IncidentDeclared(Box<Incident>),
    /// Pool: contributions of an incident's voids in a partition are returned. The only event of its commit.
    ContributionsReturned {
        /// Name of the incident.
        incident: SmolStr,
        /// Partition of the rounds.
        partition: u32,
        /// Number of voids.
        voids: u64,
        /// Sum of their contributions in EUR, and of the three parts.
        amount: Nano,
        /// Part from the increments.
        from_increments: Nano,
        /// Part from the reserve.
        from_reserve: Nano,
        /// Part from the house, as seed funding.
        from_house: Nano,
    },
    /// Pool: the platform allows awards of earlier hits although the pool is suspended (BW-20).
    HitsReleased {
        /// Reason.
        reason: String,
        /// Actor.
        actor: String,
    },
    /// Pool: a hit is priced (BW-16, BW-17).
    JackpotAwarded(Box<Award>),
    /// Pool: new terms from the next cycle on (BW-20).
    PoolTermsChanged {
        /// New terms, one version above the latest.
        terms: PoolTerms,
    },
    /// Pool: bets no longer contribute or win (BW-20).
    PoolSuspended {
        /// Reason.
        reason: String,
        /// Actor.
        actor: String,
    },
    /// Pool: active again, with the same figures (BW-20).
    PoolResumed {
        /// Actor.
        actor: String,
    },
    /// Pool: closed for good; its money goes to another pool (BW-20).
    PoolRetired {
        /// Receiving pool.
        into: SmolStr,
        /// All increments.
        increments: Nano,
        /// All of the reserve.
        reserve: Nano,
        /// Actor.
        actor: String,
    },
    /// Pool: the money of a retired pool arrives (BW-20).
    PoolReceived {
        /// Retired pool.
        from: SmolStr,
        /// Its increments, which join the increments.
        increments: Nano,
        /// Its reserve, which joins the reserve.
        reserve: Nano,
    },
    /// Pool, at home: another partition reports a stretch of its log.
    PartitionReported(Box<PartitionReported>),
    /// Pool, in another partition: decisions of home are copied. The only event there.
    PoolMirrored(Box<PoolMirrored>),
    /// System: a draw key was created (PL-28).
    GeneratorReseeded {
        /// Name of the key; `None` in older logs.
        key: Option<Epoch>,
    },
    /// System: a starting writer begins a generation of draws (PL-40).
    GenerationBegun(Box<GenerationBegun>),
    /// System: new rounds of a part of the service are switched off or on (PL-25).
    SwitchSet {
        /// Part of the service.
        switch: Switch,
        /// Whether it takes new rounds; always a change.
        on: bool,
        /// Reason.
        reason: String,
        /// Actor.
        actor: String,
    },
    /// System: a check of the program, its books or a game's return failed (PL-22, PL-23, PL-29).
    IntegrityFailed {
        /// Failed check.
        check: String,
        /// Finding.
        finding: String,
    },
    /// System: a start verified the whole log after an [`IntegrityFailed`](Event::IntegrityFailed) about its bytes.
    LogVerified {
        /// Last verified position.
        to: u64,
    },
    /// System: a machine's clock was set, or was behind the log (PL-22).
    ClockSkewed {
        /// Milliseconds, negative for a step back.
        by_ms: i64,
    },
    /// System: an actor proposes a change that needs a second one (PL-27). The position is its id.
    ChangeProposed(ChangeProposed),
    /// Pool or system: a second actor approves a proposed change, the next event of this commit (PL-27). Player: the
    /// platform approves a proposed void, the next event (PL-38).
    ChangeApproved {
        /// Position of the proposal.
        change: u64,
        /// Actor of the proposal.
        proposed_by: String,
        /// Approving actor, another one.
        actor: String,
    },
    /// System: a proposed change is rejected by another actor, or withdrawn (PL-27). Player: the same for a proposed
    /// void (PL-38).
    ChangeRejected {
        /// Position of the proposal.
        change: u64,
        /// Actor.
        actor: String,
        /// Reason.
        reason: String,
    },
}

/// Change proposed by an actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeProposed {
    /// Stream to change: a pool's, or the system's for a switch.
    pub stream: StreamId,
    /// Event to log, without the parts that depend on its place (see [`Event::as_proposed`]).
    pub change: Box<Event>,
    /// Actor, the name of a credential.
    pub actor: String,
    /// Time after which it cannot be approved, Unix ms.
    pub lapses_ms: i64,
}

impl ChangeProposed {
    /// Returns the operator of the actor; `None` for the platform.
    #[must_use]
    pub fn operator(&self) -> Option<&str> {
        operator_of(&self.actor)
    }
}

impl Event {
    /// Check of a log's bytes in [`IntegrityFailed`](Self::IntegrityFailed).
    pub const CHECK_OF_LOG: &str = "log";

    /// Returns the id of the whole request, if these events are a part of it.
    #[must_use]
    pub fn part_of(events: &[Self]) -> Option<&SmolStr> {
        events.iter().find_map(|event| match event {
            Self::PartOf { request_id } => Some(request_id),
            _ => None,
        })
    }

    /// Returns the change without the parts that depend on its place: the version of terms, the figures of a
    /// retirement.
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

    /// Returns whether it is a temporary stop, which one actor can make (PL-25).
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
