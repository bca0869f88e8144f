//! A refused commit has no effect.
//!
//! Only the first error of a commit is reported. Checks run in this order: the commit's positions in log and stream,
//! then its events one by one. For a bet, the order is: switches that stop bets, account, amount, round number,
//! exchange rate, balance (in a free round: campaign), contribution.

use smol_str::SmolStr;

use super::campaign::CampaignOver;
use super::pool::{Award, PoolStatus};
use crate::values::{Currency, Minor, MoneyError, Nano, Switch};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages of the variants explain the fields")]
pub enum Refused {
    #[error("the commit has position {found}, expected {expected}")]
    WrongPosition { expected: u64, found: u64 },
    #[error("the commit has stream version {found}, expected {expected}")]
    WrongVersion { expected: u64, found: u64 },
    #[error("the stream belongs to partition {expected}, not to partition {found}")]
    WrongPartition { expected: u32, found: u32 },
    #[error("the commit names {found} as the position of its stream's previous commit, expected {expected}")]
    WrongPrevious { expected: u64, found: u64 },
    #[error("the commit's time {found} is before the latest commit's time {latest}")]
    TimeRanBack { latest: i64, found: i64 },
    #[error("the commit has no events")]
    Empty,
    #[error("the stream's name is not well formed")]
    BadStream,
    #[error("the event is not allowed on this stream")]
    WrongStream,

    #[error("the player has no {currency} account")]
    UnknownAccount { currency: Currency },
    #[error("the {currency} account already exists")]
    AccountExists { currency: Currency },
    #[error("there is no such player")]
    UnknownPlayer,
    #[error("a commit that cancels a request must contain no other events")]
    NotCancelled,
    #[error("the amount {amount} is not above 0, or the round's credits would exceed its win")]
    BadAmount { amount: Minor },
    #[error("play money cannot be deposited, withdrawn or granted, and cannot contribute to a pool")]
    PlayMoney,
    #[error("the balance is {balance}, but {needed} is needed")]
    InsufficientFunds { currency: Currency, balance: Minor, needed: Minor },

    /// The call requires a transfer wallet, but the player's wallet is seamless, which cannot be changed (PL-31).
    #[error("the player has a seamless wallet: the operator keeps the money")]
    SeamlessWallet,
    #[error("the player has a transfer wallet, not a seamless wallet")]
    TransferWallet,
    #[error("a debit of this player is pending")]
    DebitOpen,
    #[error("no pending debit of the player matches the commit")]
    NoSuchDebit,
    #[error("the debit does not match the cost of a round in the same commit")]
    DebitUnused,
    #[error("the commit matches no pending call to the operator's wallet")]
    NoSuchDue,
    #[error("the operator's wallet has not confirmed {most} credits or reports of the player, the maximum")]
    DuesWaiting { most: usize },

    #[error("{switch} is switched off: {reason}")]
    SwitchedOff { switch: Switch, reason: String },
    #[error("the switch's name is not well formed")]
    BadSwitch,
    #[error("{switch} already has the requested state")]
    SwitchUnchanged { switch: Switch },

    #[error("changes of this kind cannot be proposed")]
    BadChange,
    #[error("at most {most} changes can be pending")]
    TooManyChanges { most: usize },
    #[error("there is no pending change {change}")]
    NoSuchChange { change: u64 },
    #[error("change {change} has lapsed")]
    ChangeLapsed { change: u64 },
    #[error("{actor} proposed change {change}: another actor must approve it")]
    SameActor { change: u64, actor: String },
    #[error("the approved change differs from the proposed change")]
    NotAsProposed,

    #[error("round {round} of this game is still open")]
    RoundOpen { round: u64 },
    #[error("the commit has round {found}, expected {expected}")]
    WrongRound { expected: u64, found: u64 },
    #[error("the player has no open round {round}")]
    NoSuchRound { round: u64 },
    #[error("round {round} was already voided")]
    AlreadyVoided { round: u64 },
    #[error("the void of settled round {round} lacks the logged settlement")]
    RecallNeeded { round: u64 },
    #[error("the commit has step {found}, expected {expected}")]
    WrongStep { expected: u32, found: u32 },
    #[error("round {round} cannot be settled, because it has no resolved step")]
    NothingResolved { round: u64 },
    /// `number` is 0 if the player has no sealed draw. The step, as in older logs, must then contain its seed.
    #[error("the step does not use the player's next draw, {number}")]
    DrawMissing { number: u64 },
    #[error("the commit has draw {found}, expected {expected}")]
    WrongDraw { expected: u64, found: u64 },
    #[error("the record that the step names did not seal draw {number}")]
    SealedElsewhere { number: u64 },
    #[error("draw {number} was sealed for a reason (first draw, lost key or revoked seal) that does not apply")]
    SealUnfounded { number: u64 },
    #[error("a client seed of {bytes} bytes is too long")]
    ClientSeedTooLong { bytes: usize },
    #[error(
        "the seal of draw {number} belongs to draw generation {found}, but {expected} is current: seal the draw again"
    )]
    SealOfOtherGeneration { number: u64, expected: u64, found: u64 },
    #[error("the seal of draw {number}, from draw generation {generation}, was revoked")]
    SealEnded { number: u64, generation: u64 },
    #[error(
        "the base (state digest) at position {position} cannot be recorded or confirmed: a new base must match the log \
         and follow the latest base; only the latest base can be confirmed, and only once"
    )]
    BadBase { position: u64 },
    #[error(
        "a starting writer cannot begin draw generation {number}: it needs the next number and a new salt, and must \
         revoke unused seals if the start found that records may be lost"
    )]
    BadGeneration { number: u64 },
    #[error(
        "restore {number} of the log cannot be recorded: its number must be new, and its commit must directly follow \
         the restored records and begin a draw generation"
    )]
    BadRestore { number: u64 },
    #[error("round {round} ends without revealing its draws")]
    RevealMissing { round: u64 },
    #[error("the value revealed for sealed step {step} of round {round} does not match the logged hash")]
    RevealWrong { round: u64, step: u32 },
    #[error("round {round} must reveal its draws directly after its end; only a void can record them as lost")]
    RevealUnfounded { round: u64 },
    #[error("a debit, credit, win, refund or award is {found}, but the log requires {expected}")]
    WrongAmount { expected: Minor, found: Minor },
    #[error("no exchange rate for {currency} is set")]
    NoRate { currency: Currency },
    #[error("the commit's exchange rate for {currency} is not the current rate")]
    WrongRate { currency: Currency },

    #[error("the campaign is not allowed: {reason}")]
    BadCampaign { reason: String },
    #[error("campaign {campaign} already exists")]
    CampaignExists { campaign: SmolStr },
    #[error("there is no campaign {campaign}")]
    UnknownCampaign { campaign: SmolStr },
    #[error("campaign {campaign} is {over}")]
    CampaignOver { campaign: SmolStr, over: CampaignOver },
    #[error("a round of campaign {campaign} has already begun")]
    CampaignBegun { campaign: SmolStr },
    #[error("the round does not match the terms of campaign {campaign}")]
    NotOfCampaign { campaign: SmolStr },
    #[error("free round {round} must not contribute to a pool")]
    FreeRoundPooled { round: u64 },

    #[error("there is no pool {pool}")]
    UnknownPool { pool: SmolStr },
    #[error("the pool already exists")]
    PoolExists,
    #[error("the pool is {status:?}")]
    PoolStatus { status: PoolStatus },
    #[error("the commit has version {found} of the pool's terms, expected {expected}")]
    WrongTerms { expected: u32, found: u32 },
    #[error("the pool terms are not allowed: {reason}")]
    BadTerms { reason: String },
    #[error("the contribution is {found}, but the bet requires {expected}")]
    ContributionWrong { expected: Nano, found: Nano },
    #[error("the bet must contribute to the active pool {pool}")]
    ContributionMissing { pool: SmolStr },
    #[error("the bet's coin value is above the pool's base coin value")]
    CoinTooLarge,
    #[error("the session does not exist or has ended")]
    NoSuchSession,
    /// The bet exceeds the player's bet limit, or its loss could exceed the player's loss limit of the day (PL-26).
    #[error("a bet of {bet} {currency} minor units exceeds the player's limit of {limit}")]
    PastLimit { currency: Currency, limit: Minor, bet: Minor },
    #[error("a jackpot hit of round {round} needs a step in the commit, and a contribution to the pool")]
    HitUnfounded { round: u64 },
    #[error("a commit can contain at most one jackpot hit, void or report for a pool")]
    SecondDecision,

    #[error("the event is not allowed in this partition: partition 0 and the other partitions accept different events")]
    DecidedAtHome,
    #[error("a partition's report on a pool is refused: {reason}")]
    BadReport { reason: String },
    #[error("the copy of the pool is from position {found} of partition 0, expected position {expected} or later")]
    StaleMirror { expected: u64, found: u64 },

    #[error("the reported stretch of the log starts at position {found}, expected {expected}")]
    WrongStretch { expected: u64, found: u64 },
    #[error("the reported stretch of the log ends at position {to}, after the last durable position {end}")]
    NotDurable { to: u64, end: u64 },
    #[error("the pool must first award the jackpot hit, or book the void, at position {position}")]
    DecisionWaits { position: u64 },
    #[error("the pool's next jackpot hit or void is not at position {position}")]
    NothingToDecide { position: u64 },
    #[error("the commit states the pool amount {found}, but the log requires {expected}")]
    WrongFigure { expected: Nano, found: Nano },
    #[error("the award's amount differs from the amount due for the jackpot hit")]
    AwardWrong { expected: Box<Award>, found: Box<Award> },
    #[error("the jackpot hit at position {hit} has no unpaid award")]
    NoSuchAward { hit: u64 },
    #[error("the void of round {round}, which hit the jackpot, has not been approved")]
    VoidUnapproved { round: u64 },
    #[error("the commit misstates how the void of round {round} affects jackpot awards")]
    VoidedJackpotWrong { round: u64 },
    #[error(
        "the void of round {round} must repeat the bet, jackpot hits, win and collection of the settled round as logged"
    )]
    VoidFactsWrong { round: u64 },
    #[error("the award of the jackpot hit at position {hit} is not computed yet")]
    AwardPending { hit: u64 },
    #[error("the award of the jackpot hit at position {hit} is held because a void of its round is proposed")]
    AwardHeld { hit: u64 },
    #[error("the void of round {round} was already proposed")]
    VoidProposedBefore { round: u64 },
    #[error("the incident is not allowed: {reason}")]
    BadIncident { reason: String },
    #[error("incident {id} already exists")]
    IncidentExists { id: SmolStr },
    #[error("there is no incident {id}")]
    UnknownIncident { id: SmolStr },
    #[error("a pool can have at most {most} incidents")]
    TooManyIncidents { most: usize },
    #[error(
        "the pool cannot be retired: it has open rounds, or has not recorded all contributions, hits, voids or \
         transfers"
    )]
    PoolOutstanding,
    #[error("pool {pool} did not transfer these amounts, or they were received before")]
    NoSuchTransfer { pool: SmolStr },

    #[error("an amount of {amount} {currency} minor units exceeds the maximum of {ceiling}")]
    AmountAboveCeiling { currency: Currency, amount: Minor, ceiling: Minor },
    #[error("the account has {balance} {currency} minor units; the maximum, also after a deposit, is {ceiling}")]
    BalanceAboveCeiling { currency: Currency, balance: Minor, ceiling: Minor },
    #[error("the rate of {currency} is out of bounds: a minor unit must be worth 10^-9 to 10^4 EUR")]
    RateOutOfBounds { currency: Currency },
    #[error("the award of the jackpot hit at position {hit} can be paid, so it must not be set aside")]
    AwardPayable { hit: u64 },
    #[error("{switch} was switched off by the platform")]
    PlatformsSwitch { switch: Switch },
    #[error("change {change} belongs to another operator: only that operator's actors can approve it")]
    OtherActors { change: u64 },

    #[error(
        "open campaigns can cost {open} EUR, and this campaign {max_liability} EUR: more than the cap of {cap} EUR"
    )]
    LiabilityAboveCap { open: Nano, max_liability: Nano, cap: Nano },

    #[error(transparent)]
    Money(#[from] MoneyError),
    #[error("account postings in {currency} sum to {by}, not to zero")]
    Unbalanced { currency: Currency, by: Nano },
}
