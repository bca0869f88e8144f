//! Refusals of commits, which have no effect.
//!
//! The first fault is reported: place in log and stream, then events in order. A bet's order: switches, account,
//! amount, round, rate, campaign or money, contribution.

use smol_str::SmolStr;

use super::campaign::CampaignOver;
use super::pool::{Award, PoolStatus};
use crate::values::{Currency, Minor, MoneyError, Nano, Switch};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields say in the message what they are")]
pub enum Refused {
    #[error("position {found}, expected {expected}")]
    WrongPosition { expected: u64, found: u64 },
    /// VERSION_CONFLICT.
    #[error("stream version {found}, expected {expected}")]
    WrongVersion { expected: u64, found: u64 },
    #[error("stream of partition {expected} in partition {found}")]
    WrongPartition { expected: u32, found: u32 },
    #[error("previous commit {found}, expected {expected}")]
    WrongPrevious { expected: u64, found: u64 },
    #[error("time {found} before {latest}")]
    TimeRanBack { latest: i64, found: i64 },
    #[error("commit without events")]
    Empty,
    #[error("stream name is not well formed")]
    BadStream,
    #[error("event does not belong on this stream")]
    WrongStream,

    #[error("no {currency} account")]
    UnknownAccount { currency: Currency },
    #[error("{currency} account exists")]
    AccountExists { currency: Currency },
    #[error("unknown player")]
    UnknownPlayer,
    #[error("the cancellation of a request must have no other events")]
    NotCancelled,
    #[error("amount {amount} not allowed")]
    BadAmount { amount: Minor },
    /// PL-17.
    #[error("play money cannot be deposited, withdrawn or granted, and cannot contribute to a pool")]
    PlayMoney,
    /// BW-29, PL-10.
    #[error("balance {balance}, {needed} needed")]
    InsufficientFunds { currency: Currency, balance: Minor, needed: Minor },

    /// PL-31; the choice is final.
    #[error("the operator's wallet has this player's money")]
    SeamlessWallet,
    #[error("the player has a transfer wallet")]
    TransferWallet,
    #[error("a debit of this player is open")]
    DebitOpen,
    #[error("there is no matching open debit")]
    NoSuchDebit,
    #[error("the debit differs from the cost of the round")]
    DebitUnused,
    #[error("this is not the next credit due")]
    NoSuchDue,
    #[error("{most} credits are due to the operator's wallet, the maximum")]
    DuesWaiting { most: usize },

    /// PL-25.
    #[error("{switch} is switched off: {reason}")]
    SwitchedOff { switch: Switch, reason: String },
    #[error("switch is not well formed")]
    BadSwitch,
    #[error("{switch} already has this state")]
    SwitchUnchanged { switch: Switch },

    #[error("not a change that can be proposed")]
    BadChange,
    #[error("{most} changes are pending already, which is the maximum")]
    TooManyChanges { most: usize },
    #[error("no pending change {change}")]
    NoSuchChange { change: u64 },
    #[error("change {change} has lapsed")]
    ChangeLapsed { change: u64 },
    /// PL-27.
    #[error("{actor} proposed change {change}: another actor must approve it")]
    SameActor { change: u64, actor: String },
    #[error("not the change that was proposed")]
    NotAsProposed,

    /// PL-20.
    #[error("round {round} of the game is open")]
    RoundOpen { round: u64 },
    #[error("round {found}, expected {expected}")]
    WrongRound { expected: u64, found: u64 },
    #[error("no open round {round}")]
    NoSuchRound { round: u64 },
    #[error("round {round} is void already")]
    AlreadyVoided { round: u64 },
    #[error("round {round} is not open: its settlement must be recalled from the log")]
    RecallNeeded { round: u64 },
    #[error("step {found}, expected {expected}")]
    WrongStep { expected: u32, found: u32 },
    #[error("round {round} has no step")]
    NothingResolved { round: u64 },
    /// The step has no draw, or both a draw and a seed.
    #[error("a step without the player's next draw, {number}")]
    DrawMissing { number: u64 },
    #[error("draw {found}, expected {expected}")]
    WrongDraw { expected: u64, found: u64 },
    #[error("draw {number} was not sealed in the record that the step names")]
    SealedElsewhere { number: u64 },
    #[error("draw {number} must not be sealed for this reason")]
    SealUnfounded { number: u64 },
    #[error("a client seed of {bytes} bytes is too long")]
    ClientSeedTooLong { bytes: usize },
    /// PL-40.
    #[error("draw {number} is sealed in generation {found} where {expected} is current")]
    SealOfOtherGeneration { number: u64, expected: u64, found: u64 },
    /// PL-40.
    #[error("the seal of draw {number} was revoked, with generation {generation}")]
    SealEnded { number: u64, generation: u64 },
    #[error("generation {number} of draws cannot begin here")]
    BadGeneration { number: u64 },
    #[error("round {round} ends without revealing its draws")]
    RevealMissing { round: u64 },
    #[error("the dealt value of sealed step {step} of round {round} does not match its seal")]
    RevealWrong { round: u64, step: u32 },
    #[error("draws of round {round} must not be revealed here")]
    RevealUnfounded { round: u64 },
    #[error("amount {found} but the log requires {expected}")]
    WrongAmount { expected: Minor, found: Minor },
    #[error("no rate of {currency}")]
    NoRate { currency: Currency },
    #[error("rate of {currency} is not the current one")]
    WrongRate { currency: Currency },

    #[error("campaign not allowed: {reason}")]
    BadCampaign { reason: String },
    #[error("campaign {campaign} exists")]
    CampaignExists { campaign: SmolStr },
    #[error("no campaign {campaign}")]
    UnknownCampaign { campaign: SmolStr },
    #[error("campaign {campaign} is {over}")]
    CampaignOver { campaign: SmolStr, over: CampaignOver },
    #[error("a round of campaign {campaign} has begun")]
    CampaignBegun { campaign: SmolStr },
    #[error("the round differs from the terms of campaign {campaign}")]
    NotOfCampaign { campaign: SmolStr },
    #[error("free round {round} contributes to a pool")]
    FreeRoundPooled { round: u64 },

    #[error("unknown pool {pool}")]
    UnknownPool { pool: SmolStr },
    #[error("pool exists")]
    PoolExists,
    #[error("pool is {status:?}")]
    PoolStatus { status: PoolStatus },
    #[error("terms {found} of the pool, expected {expected}")]
    WrongTerms { expected: u32, found: u32 },
    /// The terms are out of range, or change the base coin.
    #[error("pool terms not allowed: {reason}")]
    BadTerms { reason: String },
    #[error("the contribution is {found}, but the bet requires {expected}")]
    ContributionWrong { expected: Nano, found: Nano },
    #[error("the bet does not contribute to the active pool {pool}")]
    ContributionMissing { pool: SmolStr },
    #[error("coin worth more than the pool's base coin")]
    CoinTooLarge,
    #[error("no such session, or it has ended")]
    NoSuchSession,
    /// The bet exceeds the bet limit or the loss limit of the day (PL-26).
    #[error("a bet of {bet} {currency} minor units exceeds the player's limit of {limit}")]
    PastLimit { currency: Currency, limit: Minor, bet: Minor },
    #[error("hit of round {round} without a step or a contribution to the pool")]
    HitUnfounded { round: u64 },
    #[error("a commit can have at most one hit, void or report of a pool")]
    SecondDecision,

    #[error("a pool is decided at home, and mirrored elsewhere")]
    DecidedAtHome,
    #[error("report of a partition not allowed: {reason}")]
    BadReport { reason: String },
    #[error("mirror of position {found}, expected {expected} or later")]
    StaleMirror { expected: u64, found: u64 },

    #[error("stretch starts at {found}, expected {expected}")]
    WrongStretch { expected: u64, found: u64 },
    /// The end of the stretch is not durable yet, or not reported.
    #[error("the stretch ends at {to}, after the durable end {end}")]
    NotDurable { to: u64, end: u64 },
    #[error("position {position} must be decided first")]
    DecisionWaits { position: u64 },
    #[error("nothing to decide at position {position}")]
    NothingToDecide { position: u64 },
    #[error("pool figure {found} but the log requires {expected}")]
    WrongFigure { expected: Nano, found: Nano },
    #[error("award is not the price of the hit")]
    AwardWrong { expected: Box<Award>, found: Box<Award> },
    #[error("no unpaid award of the hit at {hit}")]
    NoSuchAward { hit: u64 },
    /// PL-38.
    #[error("the void of round {round}, which hit the jackpot, is not approved")]
    VoidUnapproved { round: u64 },
    #[error("the void of round {round} states an effect on its awards that differs from the log")]
    VoidedJackpotWrong { round: u64 },
    #[error("the void of round {round} states no settled round, or one that differs from the log")]
    VoidFactsWrong { round: u64 },
    #[error("the award of the hit at {hit} is not priced yet")]
    AwardPending { hit: u64 },
    #[error("the award of the hit at {hit} is held: the void of its round is proposed")]
    AwardHeld { hit: u64 },
    #[error("the void of round {round} was proposed before")]
    VoidProposedBefore { round: u64 },
    #[error("incident not allowed: {reason}")]
    BadIncident { reason: String },
    #[error("an incident named {id} exists")]
    IncidentExists { id: SmolStr },
    #[error("no incident named {id} to return contributions for")]
    UnknownIncident { id: SmolStr },
    #[error("the pool has {most} incidents")]
    TooManyIncidents { most: usize },
    #[error("pool has rounds, contributions or decisions outstanding")]
    PoolOutstanding,
    #[error("no transfer from {pool}")]
    NoSuchTransfer { pool: SmolStr },

    #[error("{amount} minor units of {currency} are more than the {ceiling} of one amount")]
    AmountAboveCeiling { currency: Currency, amount: Minor, ceiling: Minor },
    #[error("the {currency} balance of {balance} leaves no room: the maximum is {ceiling} minor units")]
    BalanceAboveCeiling { currency: Currency, balance: Minor, ceiling: Minor },
    #[error("the rate of {currency} is out of bounds: a minor unit is worth 10^-9 to 10^4 EUR")]
    RateOutOfBounds { currency: Currency },
    #[error("the award of the hit at {hit} can be paid")]
    AwardPayable { hit: u64 },
    #[error("{switch} was switched off by the platform")]
    PlatformsSwitch { switch: Switch },
    #[error("change {change} must be approved by another operator's actors")]
    OtherActors { change: u64 },

    /// PL-36.
    #[error("open campaigns can cost {open} EUR and this one {max_liability} EUR: together above the cap of {cap} EUR")]
    LiabilityAboveCap { open: Nano, max_liability: Nano, cap: Nano },

    #[error(transparent)]
    Money(#[from] MoneyError),
    /// A bug.
    #[error("postings in {currency} are off by {by}")]
    Unbalanced { currency: Currency, by: Nano },
}
