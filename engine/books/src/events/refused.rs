//! Refusals of commits, which have no effect.
//!
//! The first fault is reported: place in log and stream, then events in order. A bet is checked for switches, account,
//! amount, round, rate, campaign or money, contribution.

use smol_str::SmolStr;

use super::campaign::CampaignOver;
use super::pool::{Award, PoolStatus};
use crate::values::{Currency, Minor, MoneyError, Nano, Switch};

/// Invariant that a commit breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields say in the message what they are")]
pub enum Refused {
    /// Not the next position.
    #[error("position {found}, expected {expected}")]
    WrongPosition { expected: u64, found: u64 },
    /// Stale version (VERSION_CONFLICT).
    #[error("stream version {found}, expected {expected}")]
    WrongVersion { expected: u64, found: u64 },
    /// The stream is in another partition.
    #[error("stream of partition {expected} in partition {found}")]
    WrongPartition { expected: u32, found: u32 },
    /// Wrong link to the previous commit.
    #[error("previous commit {found}, expected {expected}")]
    WrongPrevious { expected: u64, found: u64 },
    /// Time before the last commit.
    #[error("time {found} before {latest}")]
    TimeRanBack { latest: i64, found: i64 },
    /// The commit has no events.
    #[error("commit without events")]
    Empty,
    /// Malformed stream name.
    #[error("stream name is not well formed")]
    BadStream,
    /// Event of another stream.
    #[error("event does not belong on this stream")]
    WrongStream,

    /// Unknown account.
    #[error("no {currency} account")]
    UnknownAccount { currency: Currency },
    /// The account exists.
    #[error("{currency} account exists")]
    AccountExists { currency: Currency },
    /// The player has no account yet.
    #[error("unknown player")]
    UnknownPlayer,
    /// A cancelled request has other events.
    #[error("the cancellation of a request has no other events")]
    NotCancelled,
    /// Invalid amount.
    #[error("amount {amount} not allowed")]
    BadAmount { amount: Minor },
    /// Play money can only be given, bet or won (PL-17).
    #[error("play money is neither deposited nor withdrawn nor granted, and adds to no pool")]
    PlayMoney,
    /// Insufficient funds (BW-29, PL-10).
    #[error("balance {balance}, {needed} needed")]
    InsufficientFunds { currency: Currency, balance: Minor, needed: Minor },

    /// Seamless wallets have no deposits and withdrawals, and are final (PL-31).
    #[error("the operator's wallet has this player's money")]
    SeamlessWallet,
    /// Only seamless wallets have debits and credits.
    #[error("the player has a transfer wallet")]
    TransferWallet,
    /// The player has an open debit.
    #[error("a debit of this player is open")]
    DebitOpen,
    /// No such open debit.
    #[error("there is no matching open debit")]
    NoSuchDebit,
    /// The confirmed debit does not match its round.
    #[error("the debit differs from the cost of the round")]
    DebitUnused,
    /// Not the next credit due.
    #[error("this is not the next credit due")]
    NoSuchDue,
    /// Too many credits are due for another round.
    #[error("{most} credits are due to the operator's wallet, the maximum")]
    DuesWaiting { most: usize },

    /// Switched off (PL-25).
    #[error("{switch} is switched off: {reason}")]
    SwitchedOff { switch: Switch, reason: String },
    /// Malformed switch.
    #[error("switch is not well formed")]
    BadSwitch,
    /// The switch already has this state.
    #[error("{switch} already has this state")]
    SwitchUnchanged { switch: Switch },

    /// Invalid proposal.
    #[error("not a change that can be proposed")]
    BadChange,
    /// Too many pending changes.
    #[error("{most} changes are pending already, the maximum")]
    TooManyChanges { most: usize },
    /// No such pending change.
    #[error("no pending change {change}")]
    NoSuchChange { change: u64 },
    /// The change has lapsed.
    #[error("change {change} has lapsed")]
    ChangeLapsed { change: u64 },
    /// The proposer cannot approve (PL-27).
    #[error("{actor} proposed change {change}: another actor must approve it")]
    SameActor { change: u64, actor: String },
    /// Not the proposed change.
    #[error("not the change that was proposed")]
    NotAsProposed,

    /// The game has an open round (PL-20).
    #[error("round {round} of the game is open")]
    RoundOpen { round: u64 },
    /// Round numbers are contiguous.
    #[error("round {found}, expected {expected}")]
    WrongRound { expected: u64, found: u64 },
    /// No such open round.
    #[error("no open round {round}")]
    NoSuchRound { round: u64 },
    /// The round is voided.
    #[error("round {round} is void already")]
    AlreadyVoided { round: u64 },
    /// The settled round must be recalled.
    #[error("round {round} is not open: its settlement must be recalled from the log")]
    RecallNeeded { round: u64 },
    /// Not the next step.
    #[error("step {found}, expected {expected}")]
    WrongStep { expected: u32, found: u32 },
    /// The round has no step.
    #[error("round {round} has no step")]
    NothingResolved { round: u64 },
    /// Step without a sealed draw, or with a seed too.
    #[error("a step without the player's next draw, {number}")]
    DrawMissing { number: u64 },
    /// Not the next draw.
    #[error("draw {found}, expected {expected}")]
    WrongDraw { expected: u64, found: u64 },
    /// Wrong sealing record.
    #[error("draw {number} was not sealed in the record that the step names")]
    SealedElsewhere { number: u64 },
    /// A draw was sealed without need.
    #[error("draw {number} must not be sealed for this reason")]
    SealUnfounded { number: u64 },
    /// The client seed is too long.
    #[error("a client seed of {bytes} bytes is too long")]
    ClientSeedTooLong { bytes: usize },
    /// Seal of another generation (PL-40).
    #[error("draw {number} is sealed in generation {found} where {expected} is current")]
    SealOfOtherGeneration { number: u64, expected: u64, found: u64 },
    /// Revoked seal (PL-40).
    #[error("the seal of draw {number} was revoked, with generation {generation}")]
    SealEnded { number: u64, generation: u64 },
    /// Invalid generation (PL-40).
    #[error("generation {number} of draws cannot begin here")]
    BadGeneration { number: u64 },
    /// A round ended without its reveal.
    #[error("round {round} ends and its draws are not revealed")]
    RevealMissing { round: u64 },
    /// Wrong dealt value.
    #[error("the dealt value of sealed step {step} of round {round} does not match its seal")]
    RevealWrong { round: u64, step: u32 },
    /// Reveal without need, or loss without a void.
    #[error("draws of round {round} must not be revealed here")]
    RevealUnfounded { round: u64 },
    /// Amount differs from the log.
    #[error("amount {found} but the log requires {expected}")]
    WrongAmount { expected: Minor, found: Minor },
    /// The currency has no rate.
    #[error("no rate of {currency}")]
    NoRate { currency: Currency },
    /// Not the rate at this position.
    #[error("rate of {currency} is not the current one")]
    WrongRate { currency: Currency },

    /// Invalid campaign.
    #[error("campaign not allowed: {reason}")]
    BadCampaign { reason: String },
    /// The campaign exists.
    #[error("campaign {campaign} exists")]
    CampaignExists { campaign: SmolStr },
    /// Unknown campaign.
    #[error("no campaign {campaign}")]
    UnknownCampaign { campaign: SmolStr },
    /// The campaign has no round left.
    #[error("campaign {campaign} is {over}")]
    CampaignOver { campaign: SmolStr, over: CampaignOver },
    /// The campaign has begun.
    #[error("a round of campaign {campaign} has begun")]
    CampaignBegun { campaign: SmolStr },
    /// Not a round of its campaign.
    #[error("the round differs from the terms of campaign {campaign}")]
    NotOfCampaign { campaign: SmolStr },
    /// A free round cannot contribute.
    #[error("free round {round} contributes to a pool")]
    FreeRoundPooled { round: u64 },

    /// No such pool.
    #[error("unknown pool {pool}")]
    UnknownPool { pool: SmolStr },
    /// The pool exists.
    #[error("pool exists")]
    PoolExists,
    /// The pool has another status.
    #[error("pool is {status:?}")]
    PoolStatus { status: PoolStatus },
    /// Outdated terms.
    #[error("terms {found} of the pool, expected {expected}")]
    WrongTerms { expected: u32, found: u32 },
    /// Invalid terms, or another base coin.
    #[error("pool terms not allowed: {reason}")]
    BadTerms { reason: String },
    /// Wrong contribution.
    #[error("contribution {found} but the bet requires {expected}")]
    ContributionWrong { expected: Nano, found: Nano },
    /// Missing contribution to the active pool.
    #[error("the bet does not contribute to the active pool {pool}")]
    ContributionMissing { pool: SmolStr },
    /// Coin above the base coin.
    #[error("coin worth more than the pool's base coin")]
    CoinTooLarge,
    /// Not the game's latest live session.
    #[error("no such session, or it has ended")]
    NoSuchSession,
    /// Bet above the day's bet or loss limit (PL-26).
    #[error("a bet of {bet} {currency} minor units exceeds the player's limit of {limit}")]
    PastLimit { currency: Currency, limit: Minor, bet: Minor },
    /// Hit without its step or contribution.
    #[error("hit of round {round} without a step or a contribution to the pool")]
    HitUnfounded { round: u64 },
    /// More than one hit, void or report.
    #[error("a commit holds at most one hit, void or report of a pool")]
    SecondDecision,

    /// Wrong partition for the event.
    #[error("a pool is decided at home, and mirrored elsewhere")]
    DecidedAtHome,
    /// Invalid report of a partition.
    #[error("report of a partition not allowed: {reason}")]
    BadReport { reason: String },
    /// The mirror has this home position.
    #[error("mirror of position {found}, expected {expected} or later")]
    StaleMirror { expected: u64, found: u64 },

    /// Not the next stretch.
    #[error("stretch starts at {found}, expected {expected}")]
    WrongStretch { expected: u64, found: u64 },
    /// The stretch is not durable, or not reported.
    #[error("stretch to {to} ends after the durable end {end}")]
    NotDurable { to: u64, end: u64 },
    /// An earlier decision is pending.
    #[error("position {position} must be decided first")]
    DecisionWaits { position: u64 },
    /// No such pending decision.
    #[error("nothing to decide at position {position}")]
    NothingToDecide { position: u64 },
    /// Pool figure differs from the log.
    #[error("pool figure {found} but the log requires {expected}")]
    WrongFigure { expected: Nano, found: Nano },
    /// Not the hit's price.
    #[error("award is not the price of the hit")]
    AwardWrong { expected: Box<Award>, found: Box<Award> },
    /// No such unpaid award.
    #[error("no unpaid award of the hit at {hit}")]
    NoSuchAward { hit: u64 },
    /// The void needs the platform's approval (PL-38).
    #[error("the void of round {round}, which hit the jackpot, is not approved")]
    VoidUnapproved { round: u64 },
    /// The void treats the awards wrongly.
    #[error("the void of round {round} states an effect on its awards that differs from the log")]
    VoidedJackpotWrong { round: u64 },
    /// The void lacks its settled round, or has a wrong one.
    #[error("the void of round {round} states no settled round, or one that differs from the log")]
    VoidFactsWrong { round: u64 },
    /// The hit is not priced yet.
    #[error("the award of the hit at {hit} is not priced yet")]
    AwardPending { hit: u64 },
    /// A proposed void holds the award.
    #[error("the award of the hit at {hit} is held: the void of its round is proposed")]
    AwardHeld { hit: u64 },
    /// The void was proposed before.
    #[error("the void of round {round} was proposed before")]
    VoidProposedBefore { round: u64 },
    /// Invalid incident.
    #[error("incident not allowed: {reason}")]
    BadIncident { reason: String },
    /// The incident exists.
    #[error("an incident named {id} exists")]
    IncidentExists { id: SmolStr },
    /// Unknown incident, or other events in its commit.
    #[error("no incident named {id} to return contributions for")]
    UnknownIncident { id: SmolStr },
    /// Too many incidents of the pool.
    #[error("the pool has {most} incidents")]
    TooManyIncidents { most: usize },
    /// The pool has outstanding entries.
    #[error("pool has rounds, contributions or decisions outstanding")]
    PoolOutstanding,
    /// No such pending transfer.
    #[error("no transfer from {pool}")]
    NoSuchTransfer { pool: SmolStr },

    /// Amount above the ceiling.
    #[error("{amount} minor units of {currency} are more than the {ceiling} of one amount")]
    AmountAboveCeiling { currency: Currency, amount: Minor, ceiling: Minor },
    /// Balance above the ceiling.
    #[error("the {currency} balance of {balance} leaves no room: the maximum is {ceiling} minor units")]
    BalanceAboveCeiling { currency: Currency, balance: Minor, ceiling: Minor },
    /// The rate would overflow figures.
    #[error("the rate of {currency} is out of bounds: a minor unit is worth 10^-9 to 10^4 EUR")]
    RateOutOfBounds { currency: Currency },
    /// The award can be paid.
    #[error("the award of the hit at {hit} can be paid")]
    AwardPayable { hit: u64 },
    /// The platform's switch.
    #[error("{switch} was switched off by the platform")]
    PlatformsSwitch { switch: Switch },
    /// Actors of another operator.
    #[error("change {change} must be approved by another operator's actors")]
    OtherActors { change: u64 },

    /// Campaigns above their cap (PL-36).
    #[error("open campaigns can cost {open} EUR and this one {highest} EUR: together above the cap of {cap} EUR")]
    LiabilityAboveCap { open: Nano, highest: Nano, cap: Nano },

    /// A figure overflows.
    #[error(transparent)]
    Money(#[from] MoneyError),
    /// Unbalanced postings, a bug.
    #[error("postings in {currency} are off by {by}")]
    Unbalanced { currency: Currency, by: Nano },
}
