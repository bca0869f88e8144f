//! Reasons for refusing a commit, which then has no effect.
//!
//! The first fault is reported: place in the log and stream (in the order of the first variants), then events in order.
//! A bet is checked for switches, account and amount, open round and round number, rate, campaign or money,
//! contribution.

use smol_str::SmolStr;

use super::campaign::CampaignOver;
use super::pool::{Award, PoolStatus};
use crate::values::{Currency, Minor, MoneyError, Nano, Switch};

/// Invariant that a commit breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields say in the message what they are")]
pub enum Refused {
    /// The position does not follow the last one.
    #[error("position {found} where {expected} comes next")]
    WrongPosition { expected: u64, found: u64 },
    /// The expected version of the stream is stale (VERSION_CONFLICT).
    #[error("version {found} of the stream where {expected} comes next")]
    WrongVersion { expected: u64, found: u64 },
    /// The stream is in another partition.
    #[error("stream of partition {expected} in partition {found}")]
    WrongPartition { expected: u32, found: u32 },
    /// The link to the stream's previous commit is wrong.
    #[error("previous commit given as {found}, is {expected}")]
    WrongPrevious { expected: u64, found: u64 },
    /// The time is before the last commit.
    #[error("time {found} before {latest}")]
    TimeRanBack { latest: i64, found: i64 },
    /// No events.
    #[error("commit without events")]
    Empty,
    /// Malformed stream name.
    #[error("stream name is not well formed")]
    BadStream,
    /// The event does not belong on this stream.
    #[error("event does not belong on this stream")]
    WrongStream,

    /// No account in this currency.
    #[error("no {currency} account")]
    UnknownAccount { currency: Currency },
    /// The account exists.
    #[error("{currency} account exists")]
    AccountExists { currency: Currency },
    /// The player has no account yet.
    #[error("unknown player")]
    UnknownPlayer,
    /// A cancelled request has other events.
    #[error("a cancelled request does nothing else")]
    NotCancelled,
    /// Amount not above zero, or negative win.
    #[error("amount {amount} not allowed")]
    BadAmount { amount: Minor },
    /// Play money can only be given, bet and won (PL-17).
    #[error("play money is neither deposited nor withdrawn nor granted, and adds to no pool")]
    PlayMoney,
    /// Insufficient funds (BW-29, PL-10).
    #[error("balance {balance}, {needed} needed")]
    InsufficientFunds { currency: Currency, balance: Minor, needed: Minor },

    /// Deposits and withdrawals need a transfer wallet, and the choice of a seamless wallet is final (PL-31).
    #[error("the operator's own wallet keeps this player's money")]
    SeamlessWallet,
    /// Debits and credits need a seamless wallet.
    #[error("this player's money is kept here")]
    TransferWallet,
    /// The player has an open debit.
    #[error("a debit of this player is under way")]
    DebitOpen,
    /// No open debit in the required state.
    #[error("no debit waits for this")]
    NoSuchDebit,
    /// A confirmed debit must pay exactly the round of its commit.
    #[error("the debit is not what the round costs")]
    DebitUnused,
    /// This is not the next credit due.
    #[error("no such credit is due next")]
    NoSuchDue,
    /// Too many credits are due to the operator's wallet for another round.
    #[error("{most} credits wait for the operator's wallet")]
    DuesWaiting { most: usize },

    /// New rounds of this part of the service are switched off (PL-25).
    #[error("{switch} is switched off: {reason}")]
    SwitchedOff { switch: Switch, reason: String },
    /// Malformed switch, or version without a game.
    #[error("switch is not well formed")]
    BadSwitch,
    /// The switch already has this state.
    #[error("{switch} is switched so already")]
    SwitchUnchanged { switch: Switch },

    /// Proposal without an actor, already lapsed, or not a change of that stream.
    #[error("not a change that can be proposed")]
    BadChange,
    /// Too many pending changes.
    #[error("{most} changes wait already")]
    TooManyChanges { most: usize },
    /// No such pending change.
    #[error("no change {change} waits")]
    NoSuchChange { change: u64 },
    /// The change was not approved in time.
    #[error("change {change} has lapsed")]
    ChangeLapsed { change: u64 },
    /// Another actor than the proposer must approve (PL-27).
    #[error("{actor} proposed change {change}: another actor must approve it")]
    SameActor { change: u64, actor: String },
    /// The event after an approval is not the proposed change.
    #[error("not the change that was proposed")]
    NotAsProposed,

    /// The player has an open round of this game (PL-20).
    #[error("round {round} of the game is open")]
    RoundOpen { round: u64 },
    /// Round numbers are contiguous.
    #[error("round {found} where {expected} comes next")]
    WrongRound { expected: u64, found: u64 },
    /// No such open round.
    #[error("no open round {round}")]
    NoSuchRound { round: u64 },
    /// The round is voided.
    #[error("round {round} is void already")]
    AlreadyVoided { round: u64 },
    /// The void of a settled round needs the round from the log.
    #[error("round {round} is not open: its settlement must be recalled from the log")]
    RecallNeeded { round: u64 },
    /// Step numbers are contiguous within a round.
    #[error("step {found} where {expected} comes next")]
    WrongStep { expected: u32, found: u32 },
    /// The round has no step.
    #[error("round {round} has no step")]
    NothingResolved { round: u64 },
    /// Step without the player's sealed draw, or with a seed in addition.
    #[error("a step without the player's next draw, {number}")]
    DrawMissing { number: u64 },
    /// Not the player's next draw, or another key.
    #[error("draw {found} where {expected} comes next")]
    WrongDraw { expected: u64, found: u64 },
    /// The draw was sealed in another record.
    #[error("draw {number} was not sealed in the record that the step names")]
    SealedElsewhere { number: u64 },
    /// A draw is sealed although one is pending, or replaced although none is.
    #[error("draw {number} is not to be sealed for this reason")]
    SealUnfounded { number: u64 },
    /// The client seed is too long.
    #[error("a client seed of {bytes} bytes")]
    ClientSeedTooLong { bytes: usize },
    /// Seal of another generation than the current one, as from a process of a former writer (PL-40).
    #[error("draw {number} is sealed in generation {found} where {expected} is current")]
    SealOfOtherGeneration { number: u64, expected: u64, found: u64 },
    /// The step uses a revoked seal (PL-40).
    #[error("the seal of draw {number} ended unused with generation {generation}")]
    SealEnded { number: u64, generation: u64 },
    /// Not the next generation, or unused seals kept without evidence (PL-40).
    #[error("generation {number} of draws can't begin here")]
    BadGeneration { number: u64 },
    /// A round with sealed draws ended without their reveal.
    #[error("round {round} ends and its draws are not revealed")]
    RevealMissing { round: u64 },
    /// The dealt value does not match its seal.
    #[error("the dealt value of sealed step {step} of round {round} does not match its seal")]
    RevealWrong { round: u64, step: u32 },
    /// Reveal of a round that did not just end with sealed draws, or loss without a void.
    #[error("draws of round {round} are not to be revealed here")]
    RevealUnfounded { round: u64 },
    /// The win, refund or payment differs from the log.
    #[error("amount {found} where the log makes it {expected}")]
    WrongAmount { expected: Minor, found: Minor },
    /// The currency has no rate.
    #[error("no rate of {currency}")]
    NoRate { currency: Currency },
    /// Not the rate at this position.
    #[error("rate of {currency} is not the current one")]
    WrongRate { currency: Currency },

    /// Invalid name, bet, number of rounds or expiry.
    #[error("campaign not allowed: {reason}")]
    BadCampaign { reason: String },
    /// The player has a campaign of this name.
    #[error("campaign {campaign} exists")]
    CampaignExists { campaign: SmolStr },
    /// The player has no campaign of this name.
    #[error("no campaign {campaign}")]
    UnknownCampaign { campaign: SmolStr },
    /// The campaign has no round left.
    #[error("campaign {campaign} is {over}")]
    CampaignOver { campaign: SmolStr, over: CampaignOver },
    /// A round of the campaign has begun.
    #[error("campaign {campaign} is begun")]
    CampaignBegun { campaign: SmolStr },
    /// The free round differs from its campaign in game, currency, bet or coin.
    #[error("the round is not as campaign {campaign} grants it")]
    NotOfCampaign { campaign: SmolStr },
    /// A free round cannot contribute.
    #[error("free round {round} adds to a pool")]
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
    /// The bet refers to other terms than the current ones.
    #[error("terms {found} of the pool where {expected} are current")]
    WrongTerms { expected: u32, found: u32 },
    /// Invalid terms, or another base coin.
    #[error("pool terms not allowed: {reason}")]
    BadTerms { reason: String },
    /// Wrong contribution.
    #[error("contribution {found} where the bet makes it {expected}")]
    ContributionWrong { expected: Nano, found: Nano },
    /// The bet lacks its contribution to the active pool.
    #[error("the bet adds nothing to the active pool {pool}")]
    ContributionMissing { pool: SmolStr },
    /// The coin is worth more than the base coin.
    #[error("coin worth more than the pool's base coin")]
    CoinTooLarge,
    /// The session is not the latest of its game, has ended, or has no game.
    #[error("no such session, or not any more")]
    NoSuchSession,
    /// The bet exceeds the bet limit, or could exceed the loss limit, of the day's sessions (PL-26).
    #[error("a bet of {bet} {currency} minor units is past the player's limit of {limit}")]
    PastLimit { currency: Currency, limit: Minor, bet: Minor },
    /// Hit without its step in the same commit, or without a contribution.
    #[error("hit of round {round} without a step or a contribution to the pool")]
    HitUnfounded { round: u64 },
    /// At most one hit, void or report per commit.
    #[error("a commit holds at most one hit, void or report of a pool")]
    SecondDecision,

    /// The event is only allowed at home, or only in a mirror.
    #[error("a pool is decided at home, and mirrored elsewhere")]
    DecidedAtHome,
    /// Invalid report of a partition.
    #[error("report of a partition not allowed: {reason}")]
    BadReport { reason: String },
    /// The mirror has copied this position of home before.
    #[error("mirror of position {found} where {expected} or later comes next")]
    StaleMirror { expected: u64, found: u64 },

    /// The stretch is not the next one, or splits a reported one.
    #[error("stretch starts at {found} where {expected} comes next")]
    WrongStretch { expected: u64, found: u64 },
    /// The stretch exceeds the durable log, or the last report.
    #[error("stretch to {to} past the durable end {end}")]
    NotDurable { to: u64, end: u64 },
    /// An earlier hit or void must be decided first.
    #[error("position {position} must be decided first")]
    DecisionWaits { position: u64 },
    /// No such hit or void to decide next.
    #[error("nothing to decide at position {position}")]
    NothingToDecide { position: u64 },
    /// The pool figure differs from the log.
    #[error("pool figure {found} where the log makes it {expected}")]
    WrongFigure { expected: Nano, found: Nano },
    /// The award is not the hit's price.
    #[error("award is not the price of the hit")]
    AwardWrong { expected: Box<Award>, found: Box<Award> },
    /// No such unpaid award of this player.
    #[error("no unpaid award of the hit at {hit}")]
    NoSuchAward { hit: u64 },
    /// The void of a round that hit the jackpot needs the platform's approval (PL-38).
    #[error("the void of round {round}, which hit the jackpot, is not approved")]
    VoidUnapproved { round: u64 },
    /// The void's treatment of the round's awards differs from the log.
    #[error("the void of round {round} states another effect on its awards than the log makes it")]
    VoidedJackpotWrong { round: u64 },
    /// The void's settled round differs from the log, or is missing.
    #[error("the void of round {round} does not state the settled round as the log has it")]
    VoidFactsWrong { round: u64 },
    /// The round's hit is not priced yet.
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
    /// No such incident, or other events in its commit.
    #[error("no incident named {id} to return contributions for")]
    UnknownIncident { id: SmolStr },
    /// Too many incidents of the pool.
    #[error("the pool has {most} incidents")]
    TooManyIncidents { most: usize },
    /// The pool has outstanding rounds, contributions or decisions.
    #[error("pool has rounds, contributions or decisions outstanding")]
    PoolOutstanding,
    /// No such pending transfer.
    #[error("no transfer from {pool}")]
    NoSuchTransfer { pool: SmolStr },

    /// The amount exceeds the ceiling of one call.
    #[error("{amount} minor units of {currency} are more than the {ceiling} that one amount can be")]
    AmountAboveCeiling { currency: Currency, amount: Minor, ceiling: Minor },
    /// The balance exceeds the ceiling of deposits or bets.
    #[error("the {currency} balance of {balance} leaves no room: it can be {ceiling} minor units")]
    BalanceAboveCeiling { currency: Currency, balance: Minor, ceiling: Minor },
    /// The rate would overflow figures.
    #[error("the rate of {currency} is out of bounds: a minor unit is worth 10^-9 to 10^4 EUR")]
    RateOutOfBounds { currency: Currency },
    /// The award can be paid, so it is not set aside.
    #[error("the award of the hit at {hit} can be paid")]
    AwardPayable { hit: u64 },
    /// An operator cannot revert a switch of the platform.
    #[error("{switch} was switched off by the platform")]
    PlatformsSwitch { switch: Switch },
    /// Only actors of the same operator, or of the platform, can approve.
    #[error("change {change} is for another operator's actors to approve")]
    OtherActors { change: u64 },

    /// The operator's open campaigns would exceed their cap (PL-36).
    #[error("open campaigns can cost {open} EUR and this one {highest} EUR: together at most {cap} EUR")]
    LiabilityAboveCap { open: Nano, highest: Nano, cap: Nano },

    /// A figure overflows.
    #[error(transparent)]
    Money(#[from] MoneyError),
    /// The postings do not sum to zero: a bug in the books.
    #[error("postings in {currency} are off by {by}")]
    Unbalanced { currency: Currency, by: Nano },
}
