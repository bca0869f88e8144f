//! The events: everything that a log can say, and nothing that can be derived from it.
//!
//! Events of old logs are read for ever. So a released variant or field keeps its meaning, and a new meaning gets a new one.

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

/// One thing that happened. The comments name the stream that it stands in. Large ones are behind pointers, since events are moved
/// about; the bet is shared with the round that it opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Player: an account in a currency exists from here on, with balance 0 (PL-15).
    AccountOpened {
        /// The account's currency; one account a currency.
        currency: Currency,
    },
    /// Player: money came in. The transaction id is the commit's request id (PL-15).
    Deposited {
        /// The account's currency.
        currency: Currency,
        /// Above 0.
        amount: Minor,
    },
    /// Player: money went out (PL-15).
    Withdrawn {
        /// The account's currency.
        currency: Currency,
        /// Above 0, at most the balance.
        amount: Minor,
    },
    /// Player: the account of play money was filled by so much, for demo play (PL-17).
    PlayMoneyGiven {
        /// Above 0, in [`Currency::PLAY`].
        amount: Minor,
    },
    /// Player: a collection in a game changed: crystals, potions, unlocked features, the picked witch (BW-05).
    CollectionChanged {
        /// The game's name.
        game: SmolStr,
        /// The bet level that the collection belongs to; empty when it belongs to all.
        scope: SmolStr,
        /// Key and new value; 0 removes the key.
        changes: Vec<(SmolStr, i64)>,
    },
    /// Player: a bet was accepted and the round is open (PL-02).
    RoundStarted(Arc<RoundStarted>),
    /// Player: one resolution inside an open round.
    StepResolved(Box<StepResolved>),
    /// Player: the step before it in this commit won the jackpot (BW-15). At most one a commit.
    JackpotHit {
        /// The player's round.
        round: u64,
        /// The pool that the round contributed to.
        pool: SmolStr,
    },
    /// Player: the player's next draw, by its seal. Where there is none yet, or its key is gone; else the step that uses a draw
    /// seals the next.
    DrawSealed(DrawSealed),
    /// Player: the dealt values of a round's sealed steps, in their order; directly after the settlement or the void that ends
    /// the round.
    DrawsRevealed {
        /// The player's round.
        round: u64,
        /// One a sealed step.
        dealt: Vec<Dealt>,
    },
    /// Player: the dealt values of a voided round can't be revealed, since a draw key is gone; directly after the void.
    DrawsLost {
        /// The player's round.
        round: u64,
    },
    /// Player: a part of an open round's win, which nothing risks any more, was credited at once (ME-16). It follows the
    /// step that secured it.
    WinCredited {
        /// The player's round.
        round: u64,
        /// Above 0; with what was credited before, at most the round's win as of its latest step.
        amount: Minor,
    },
    /// Player: the round is over and its win credited, less what was credited before.
    RoundSettled {
        /// The player's round.
        round: u64,
        /// The last step's win; the jackpot is paid apart.
        win: Minor,
    },
    /// Player: malfunction; the round counts as not played (PL-04, BW-28). Where the round hit the jackpot, the approval stands
    /// before it in the commit (PL-38).
    RoundVoided {
        /// The player's round, open or settled.
        round: u64,
        /// The reason, for support and the regulator.
        reason: String,
        /// The actor.
        actor: String,
        /// The bet, given back; 0 for a free round, which goes back to its campaign (PL-18).
        refund: Minor,
        /// The win, of an open round what was credited of it (ME-16), as far as the balance with the refund gives it back
        /// (PL-09: never negative).
        win_taken_back: Minor,
        /// The effect on the pool that the round contributed to.
        jackpot: VoidedJackpot,
        /// Settled round as of the void, in place of its records (PL-37); `None` for an open round and in older logs.
        settled: Option<Box<SettledRound>>,
    },
    /// Player: the void of a round that hit the jackpot is proposed. Its unpaid awards are held until the platform approves or
    /// rejects the void, at most [`VOID_HOLD_MS`](crate::VOID_HOLD_MS) of logged time (PL-38). Its position names the proposal.
    VoidProposed {
        /// The player's round, open or settled.
        round: u64,
        /// The reason.
        reason: String,
        /// The actor.
        actor: String,
    },
    /// Player: an award reached the player's account.
    JackpotPaid {
        /// The player's round.
        round: u64,
        /// The pool.
        pool: SmolStr,
        /// Position of the hit, in this stream's partition.
        hit: u64,
        /// The award's amount.
        amount: Minor,
        /// The award's currency.
        currency: Currency,
    },
    /// Player: an award can't be paid for now, since the account has no room for it. It's still owed, and paid once there is
    /// room.
    AwardSetAside {
        /// The player's round.
        round: u64,
        /// The pool.
        pool: SmolStr,
        /// Position of the hit, in this stream's partition.
        hit: u64,
        /// The award's amount.
        amount: Minor,
        /// The award's currency.
        currency: Currency,
        /// The reason why it can't be paid.
        reason: String,
    },
    /// Any stream: who made the commit that it ends (PL-22, PL-27). It changes nothing.
    ActedBy {
        /// The authenticated credential: its name for the platform, `operator/name` for an operator, [`ANYONE`](crate::ANYONE) where there are
        /// no operators.
        actor: String,
        /// The caller's own words: on whose behalf it acts, a ticket's number. Nobody has checked them.
        reference: String,
    },
    /// Player: a session was opened; it takes the place of an earlier one of the game (PL-16).
    SessionOpened(SessionOpened),
    /// Player: a session was closed, or its connection dropped (BW-27). One that nothing was done in for too long ends without
    /// an event.
    SessionEnded {
        /// Its name.
        session: SessionName,
        /// Milliseconds for which the player can't come back to its game; 0 for one that was closed.
        hold_ms: u32,
    },
    /// Player: the player has acknowledged a reality check: the time played, and the net result (PL-26).
    RealityCheckAcknowledged {
        /// The session in which it was shown.
        session: SessionName,
    },
    /// Player: the operator grants free rounds (PL-18).
    CampaignGranted(Campaign),
    /// Player: the operator takes a campaign back of which no round was begun (PL-18).
    CampaignCancelled {
        /// Its name.
        campaign: SmolStr,
        /// The reason.
        reason: String,
        /// The actor.
        actor: String,
    },
    /// Player, or system at home for requests on streams that operators share: the commit's request was not applied, and never
    /// will be (PL-33). Of a request with several commits: no further one follows (PL-42). The commit has no other event but
    /// [`ActedBy`](Self::ActedBy).
    RequestCancelled,
    /// Player or system: the commit is a part of another request on its stream: a round of an Autospin series, its debit, an opened
    /// session, or the reservation of a campaign for many players (PL-42). The writer refuses it once that request is
    /// cancelled. It changes nothing.
    PartOf {
        /// The id of the whole request.
        request_id: SmolStr,
    },
    /// Player: the operator keeps the player's money; in the commit that opens the first account of real money (PL-31).
    SeamlessChosen,
    /// Player: a bet's debit is to be asked of the operator's wallet (PL-31). It's durable before the call goes out.
    DebitAsked(DebitAsked),
    /// Player: the wallet has confirmed the debit of this commit's request; the round that it pays is in the commit.
    DebitConfirmed {
        /// As it was asked.
        amount: Minor,
        /// The balance that the wallet told, in minor units: passed on, and believed by nobody.
        told: Minor,
        /// Other logged parts of the answer.
        answer: Option<Box<WalletAnswer>>,
    },
    /// Player: the wallet has refused the debit of this commit's request: it's never applied.
    DebitRefused {
        /// The operator's reason.
        reason: String,
        /// Number of the reason in `motherlode.wallet.v1.ReasonCode`; 0 for none.
        code: u32,
    },
    /// Player: a debit is to be rolled back, whatever the wallet says of it from here on.
    RollbackAsked {
        /// The request that bets.
        request_id: SmolStr,
        /// The reason.
        reason: String,
    },
    /// Player: the wallet has acknowledged the rollback: this commit's request is never applied.
    DebitRolledBack,
    /// Player: a credit that was due reached the operator's wallet.
    CreditPaid {
        /// The request whose commit made it due.
        request_id: SmolStr,
        /// The account's currency.
        currency: Currency,
        /// As it was due.
        amount: Minor,
        /// Balance that the wallet reported; 0 where it reported none, and in older logs.
        told: Minor,
        /// Other logged parts of the answer.
        answer: Option<Box<WalletAnswer>>,
    },
    /// Player: the end of a round was reported to the operator's wallet by `CloseRound` (PL-39).
    CloseReported {
        /// The request whose commit ended the round.
        request_id: SmolStr,
        /// Currency of the round.
        currency: Currency,
        /// The player's round.
        round: u64,
        /// Whether the operator's settings no longer have the call, which was not made.
        skipped: bool,
    },
    /// Player: the wallet refused a call that it must accept. The call is not repeated until an operator releases it; it's never
    /// dropped.
    WalletCallHeld {
        /// The request whose commit caused the call.
        request_id: SmolStr,
        /// The account's currency.
        currency: Currency,
        /// The player's round for a report of its end; 0 for a credit.
        close: u64,
        /// The operator's reason.
        reason: String,
        /// Number of the reason in `motherlode.wallet.v1.ReasonCode`; 0 for none.
        code: u32,
    },
    /// Player: a held call is to be repeated.
    WalletCallReleased {
        /// The request whose commit caused the call.
        request_id: SmolStr,
        /// The account's currency.
        currency: Currency,
        /// The player's round for a report of its end; 0 for a credit.
        close: u64,
    },
    /// Player: whether ends of rounds are reported to the operator's wallet from here on.
    RoundReportsChosen {
        /// Whether they are.
        rounds: bool,
    },
    /// Player: the operator's session reference of the opened session or of the free round in this commit. It changes nothing.
    OperatorSession {
        /// The reference, which is no secret.
        session: SmolStr,
    },
    /// System: debits or credits of an operator are under way for longer than they may be (PL-32).
    WalletOverdue {
        /// The operator.
        operator: SmolStr,
        /// The partition of the players.
        partition: u32,
        /// Players whose debit or credit is overdue.
        players: u64,
        /// Time of the oldest, Unix ms.
        oldest_ms: i64,
    },
    /// System, at home: what a campaign for many players can cost is reserved, before any of it is granted (PL-36).
    LiabilityReserved(LiabilityReserved),
    /// Rates: the rate of a currency from here on.
    RateSet {
        /// Any but EUR, whose rate is 1, and play money, which has none.
        currency: Currency,
        /// EUR for one major unit.
        rate: FxRate,
        /// The source that it was read from.
        source: String,
    },
    /// Pool: the pool exists and is active from here on.
    PoolOpened {
        /// Its name, as in the stream.
        pool: SmolStr,
        /// Its first terms.
        terms: PoolTerms,
    },
    /// Pool: contributions of a stretch of a partition were added to the increments (BW-11).
    ContributionsPooled {
        /// The partition of the bets.
        partition: u32,
        /// First position of the stretch: one after the last that was pooled.
        from: u64,
        /// Last position, never past a hit or a void that still waits.
        to: u64,
        /// Sum of the stretch's contributions to this pool.
        amount: Nano,
    },
    /// Pool: the contribution of a voided round was taken back (BW-19).
    ContributionTakenBack {
        /// The partition of the round.
        partition: u32,
        /// Position of the void.
        position: u64,
        /// The round's contribution; the three parts add up to it.
        amount: Nano,
        /// Part out of the increments.
        from_increments: Nano,
        /// Part out of the reserve.
        from_reserve: Nano,
        /// Part that the house pays as seed funding.
        from_house: Nano,
    },
    /// Pool: awards of a voided round went back to the pool (PL-38).
    AwardReversed {
        /// The partition of the round.
        partition: u32,
        /// Position of the void.
        position: u64,
        /// The money that went back, EUR.
        amount: Nano,
        /// The part of it that reduces the house's seed funding; the rest joined the reserve.
        to_house: Nano,
        /// The operator of the round.
        operator: SmolStr,
    },
    /// Pool: the platform approved an incident (PL-38).
    IncidentDeclared(Box<Incident>),
    /// Pool: the contributions of all voids of an incident in a partition were returned. The only event of its commit.
    ContributionsReturned {
        /// The incident's name.
        incident: SmolStr,
        /// The partition of the rounds.
        partition: u32,
        /// Number of voids.
        voids: u64,
        /// Sum of their contributions, EUR; the three parts add up to it.
        amount: Nano,
        /// Part out of the increments.
        from_increments: Nano,
        /// Part out of the reserve.
        from_reserve: Nano,
        /// Part that the house pays as seed funding.
        from_house: Nano,
    },
    /// Pool: the platform decided that hits so far are awarded although the pool is suspended (BW-20).
    HitsReleased {
        /// The reason.
        reason: String,
        /// The actor.
        actor: String,
    },
    /// Pool: a hit was priced (BW-16, BW-17).
    JackpotAwarded(Box<Award>),
    /// Pool: other terms, from the next cycle on (BW-20).
    PoolTermsChanged {
        /// The terms to come; their version is one above the latest.
        terms: PoolTerms,
    },
    /// Pool: no bet adds to it or can win it from here on (BW-20).
    PoolSuspended {
        /// The reason.
        reason: String,
        /// The actor.
        actor: String,
    },
    /// Pool: active again, with the same figures (BW-20).
    PoolResumed {
        /// The actor.
        actor: String,
    },
    /// Pool: closed for ever; its money goes to another pool (BW-20).
    PoolRetired {
        /// The pool that receives.
        into: SmolStr,
        /// All of the increments.
        increments: Nano,
        /// All of the reserve.
        reserve: Nano,
        /// The actor.
        actor: String,
    },
    /// Pool: the money of a retired pool arrived (BW-20).
    PoolReceived {
        /// The retired pool.
        from: SmolStr,
        /// As in its retirement; joins the increments.
        increments: Nano,
        /// As in its retirement; joins the reserve.
        reserve: Nano,
    },
    /// Pool, at home: another partition reported a stretch of its log.
    PartitionReported(Box<PartitionReported>),
    /// Pool, in another partition: the decisions at home were copied. The only event there.
    PoolMirrored(Box<PoolMirrored>),
    /// System: a fresh draw key was made (PL-28).
    GeneratorReseeded {
        /// Name of the key; none in older logs.
        key: Option<Epoch>,
    },
    /// System: a start of the writer began a generation of draws (PL-40).
    GenerationBegun(Box<GenerationBegun>),
    /// System: a part of the service takes no new rounds from here on, or takes them again (PL-25).
    SwitchSet {
        /// The part.
        switch: Switch,
        /// Whether it takes new rounds; never what it was.
        on: bool,
        /// The reason.
        reason: String,
        /// The actor.
        actor: String,
    },
    /// System: a check of the program, its books or a game's return failed (PL-22, PL-23, PL-29).
    IntegrityFailed {
        /// The check that failed.
        check: String,
        /// Its finding.
        finding: String,
    },
    /// System: a start verified the whole log after an [`IntegrityFailed`](Event::IntegrityFailed) of its bytes.
    LogVerified {
        /// Last position that was verified.
        to: u64,
    },
    /// System: a machine's clock was set, or was found behind the log (PL-22). The log's own time never runs back.
    ClockSkewed {
        /// Milliseconds, ahead or (below zero) back.
        by_ms: i64,
    },
    /// System: an actor asks for a change that needs a second one (PL-27). Its position names it.
    ChangeProposed(ChangeProposed),
    /// Pool or system: a second actor approves a proposed change, which is the next event of this commit (PL-27). Player: the
    /// platform approves a proposed void, which is the next event (PL-38).
    ChangeApproved {
        /// Position of the proposal.
        change: u64,
        /// The actor who proposed it.
        proposed_by: String,
        /// The actor who approves it: another one.
        actor: String,
    },
    /// System: a proposed change will not be made: another actor rejects it, or the one who proposed it takes it back (PL-27).
    /// Player: the same of a proposed void (PL-38).
    ChangeRejected {
        /// Position of the proposal.
        change: u64,
        /// The actor.
        actor: String,
        /// The reason.
        reason: String,
    },
}

/// A change that one actor asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeProposed {
    /// The stream that it changes: a pool's, or the system's for a switch.
    pub stream: StreamId,
    /// The event to be logged there, without the parts that depend on its place in the log (see [`Event::as_proposed`]).
    pub change: Box<Event>,
    /// The actor who asks: the name of a credential.
    pub actor: String,
    /// The time from which on nobody can approve it, Unix ms.
    pub lapses_ms: i64,
}

impl ChangeProposed {
    /// The operator whose actor asks; `None` for the platform's.
    #[must_use]
    pub fn operator(&self) -> Option<&str> {
        operator_of(&self.actor)
    }
}

impl Event {
    /// Name of the check of a log's bytes, in [`IntegrityFailed`](Self::IntegrityFailed).
    pub const CHECK_OF_LOG: &str = "log";

    /// The id of the request that a commit of these events is a part of.
    #[must_use]
    pub fn part_of(events: &[Self]) -> Option<&SmolStr> {
        events.iter().find_map(|event| match event {
            Self::PartOf { request_id } => Some(request_id),
            _ => None,
        })
    }

    /// The change without the parts that depend on its place in the log: the version of terms, the figures of a retirement.
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

    /// Whether it stops something for now: one actor is enough for that, and two start it again (PL-25).
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::SwitchSet { on: false, .. } | Self::PoolSuspended { .. })
    }

    /// Whether it's a change of the stream that needs two actors.
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
