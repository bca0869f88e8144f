//! Why a commit was refused. A refused commit has changed nothing.
//!
//! A commit with several faults is refused for the first of them: its place in the log and in its stream (in the order of
//! the first variants), then its events in order. A bet is checked for the switches, for its account and amount, for an
//! open round and the round's number, for the rate, for the campaign or the money, for the contribution.

use smol_str::SmolStr;

use super::campaign::CampaignOver;
use super::pool::{Award, PoolStatus};
use crate::values::{Currency, Minor, MoneyError, Nano, Switch};

/// The invariant that a commit breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields say in the message what they are")]
pub enum Refused {
    /// The position does not follow the partition's last.
    #[error("position {found} where {expected} comes next")]
    WrongPosition { expected: u64, found: u64 },
    /// The stream's expected version is stale: somebody else was faster (VERSION_CONFLICT).
    #[error("version {found} of the stream where {expected} comes next")]
    WrongVersion { expected: u64, found: u64 },
    /// The stream lives in another partition.
    #[error("stream of partition {expected} in partition {found}")]
    WrongPartition { expected: u32, found: u32 },
    /// The link to the stream's commit before is wrong.
    #[error("previous commit given as {found}, is {expected}")]
    WrongPrevious { expected: u64, found: u64 },
    /// The time lies before the partition's last commit.
    #[error("time {found} before {latest}")]
    TimeRanBack { latest: i64, found: i64 },
    /// A commit without events says nothing.
    #[error("commit without events")]
    Empty,
    /// A stream name that is not well formed.
    #[error("stream name is not well formed")]
    BadStream,
    /// An event that does not belong on this stream.
    #[error("event does not belong on this stream")]
    WrongStream,

    /// No account in this currency.
    #[error("no {currency} account")]
    UnknownAccount { currency: Currency },
    /// The account is there already.
    #[error("{currency} account exists")]
    AccountExists { currency: Currency },
    /// A player's events come after an account was opened.
    #[error("unknown player")]
    UnknownPlayer,
    /// A cancelled request that did something.
    #[error("a cancelled request does nothing else")]
    NotCancelled,
    /// An amount that must be above zero, or a win below zero.
    #[error("amount {amount} not allowed")]
    BadAmount { amount: Minor },
    /// Play money is given, bet and won; nothing else (PL-17).
    #[error("play money is neither deposited nor withdrawn nor granted, and adds to no pool")]
    PlayMoney,
    /// Not enough money (BW-29, PL-10).
    #[error("balance {balance}, {needed} needed")]
    InsufficientFunds { currency: Currency, balance: Minor, needed: Minor },

    /// The operator keeps the player's money: it's neither deposited nor withdrawn, and that is chosen once (PL-31).
    #[error("the operator's own wallet keeps this player's money")]
    SeamlessWallet,
    /// Debits and credits are of players whose money the operator keeps.
    #[error("this player's money is kept here")]
    TransferWallet,
    /// A debit of the player was asked and has not ended; a player has one at once.
    #[error("a debit of this player is under way")]
    DebitOpen,
    /// No such debit waits for this end: unknown, ended, being rolled back or not.
    #[error("no debit waits for this")]
    NoSuchDebit,
    /// A confirmed debit is for the round of its own commit, to the last unit.
    #[error("the debit is not what the round costs")]
    DebitUnused,
    /// This credit is not the next that is due.
    #[error("no such credit is due next")]
    NoSuchDue,
    /// Too much is due to the operator's wallet for another round.
    #[error("{most} credits wait for the operator's wallet")]
    DuesWaiting { most: usize },

    /// The part of the service that the bet is for takes no new rounds (PL-25).
    #[error("{switch} is switched off: {reason}")]
    SwitchedOff { switch: Switch, reason: String },
    /// A switch with a malformed name, or with a version and no game.
    #[error("switch is not well formed")]
    BadSwitch,
    /// The switch is as it should become.
    #[error("{switch} is switched so already")]
    SwitchUnchanged { switch: Switch },

    /// A proposal without an actor, of something that is no change of that stream, or that has lapsed already.
    #[error("not a change that can be proposed")]
    BadChange,
    /// The most changes that may wait are waiting.
    #[error("{most} changes wait already")]
    TooManyChanges { most: usize },
    /// No proposed change of this name waits: unknown, made or rejected.
    #[error("no change {change} waits")]
    NoSuchChange { change: u64 },
    /// The change was not approved in time.
    #[error("change {change} has lapsed")]
    ChangeLapsed { change: u64 },
    /// A change must be approved by another actor than the one who proposed it (PL-27).
    #[error("{actor} proposed change {change}: another actor must approve it")]
    SameActor { change: u64, actor: String },
    /// The event after an approval is not the change that was proposed.
    #[error("not the change that was proposed")]
    NotAsProposed,

    /// The game's last round of this player is still open (PL-20).
    #[error("round {round} of the game is open")]
    RoundOpen { round: u64 },
    /// Round numbers are dense.
    #[error("round {found} where {expected} comes next")]
    WrongRound { expected: u64, found: u64 },
    /// No open round of this number.
    #[error("no open round {round}")]
    NoSuchRound { round: u64 },
    /// The round is void already.
    #[error("round {round} is void already")]
    AlreadyVoided { round: u64 },
    /// A void of a round that is not open needs what the log says about it.
    #[error("round {round} is not open: its settlement must be recalled from the log")]
    RecallNeeded { round: u64 },
    /// Step numbers are dense within the round.
    #[error("step {found} where {expected} comes next")]
    WrongStep { expected: u32, found: u32 },
    /// The round has no step yet.
    #[error("round {round} has no step")]
    NothingResolved { round: u64 },
    /// A step without the player's sealed draw, or with a seed beside it.
    #[error("a step without the player's next draw, {number}")]
    DrawMissing { number: u64 },
    /// Another draw than the player's next: it was used, isn't sealed, or is of another key.
    #[error("draw {found} where {expected} comes next")]
    WrongDraw { expected: u64, found: u64 },
    /// A draw that is said to have been sealed in another record than the one in which it was.
    #[error("draw {number} was not sealed in the record that the step names")]
    SealedElsewhere { number: u64 },
    /// A draw that is sealed though one is out, or anew though none is.
    #[error("draw {number} is not to be sealed for this reason")]
    SealUnfounded { number: u64 },
    /// A client seed that is longer than it may be.
    #[error("a client seed of {bytes} bytes")]
    ClientSeedTooLong { bytes: usize },
    /// A seal of another generation than the current one, as from a process that follows an earlier writer (PL-40).
    #[error("draw {number} is sealed in generation {found} where {expected} is current")]
    SealOfOtherGeneration { number: u64, expected: u64, found: u64 },
    /// A step on a seal that ended unused (PL-40).
    #[error("the seal of draw {number} ended unused with generation {generation}")]
    SealEnded { number: u64, generation: u64 },
    /// Not the next generation, or unused seals are kept without evidence (PL-40).
    #[error("generation {number} of draws can't begin here")]
    BadGeneration { number: u64 },
    /// A round with sealed draws ended without their reveal.
    #[error("round {round} ends and its draws are not revealed")]
    RevealMissing { round: u64 },
    /// A dealt value that isn't the one that was sealed.
    #[error("the dealt value of sealed step {step} of round {round} does not match its seal")]
    RevealWrong { round: u64, step: u32 },
    /// A reveal of a round that didn't just end with sealed draws, or a loss where it was not voided.
    #[error("draws of round {round} are not to be revealed here")]
    RevealUnfounded { round: u64 },
    /// A win, refund or payment that is not what the log makes it.
    #[error("amount {found} where the log makes it {expected}")]
    WrongAmount { expected: Minor, found: Minor },
    /// No rate of this currency yet.
    #[error("no rate of {currency}")]
    NoRate { currency: Currency },
    /// Not the rate at this place in the log.
    #[error("rate of {currency} is not the current one")]
    WrongRate { currency: Currency },

    /// A campaign with an impossible name, bet, number of rounds or expiry.
    #[error("campaign not allowed: {reason}")]
    BadCampaign { reason: String },
    /// The player has or had a campaign of this name.
    #[error("campaign {campaign} exists")]
    CampaignExists { campaign: SmolStr },
    /// The player has no campaign of this name.
    #[error("no campaign {campaign}")]
    UnknownCampaign { campaign: SmolStr },
    /// The campaign has no round to play.
    #[error("campaign {campaign} is {over}")]
    CampaignOver { campaign: SmolStr, over: CampaignOver },
    /// A round of the campaign was begun: it can't be taken back any more.
    #[error("campaign {campaign} is begun")]
    CampaignBegun { campaign: SmolStr },
    /// A free round of another game, currency, bet or coin than its campaign's.
    #[error("the round is not as campaign {campaign} grants it")]
    NotOfCampaign { campaign: SmolStr },
    /// A free round adds to no pool.
    #[error("free round {round} adds to a pool")]
    FreeRoundPooled { round: u64 },

    /// No such pool.
    #[error("unknown pool {pool}")]
    UnknownPool { pool: SmolStr },
    /// The pool was opened before.
    #[error("pool exists")]
    PoolExists,
    /// The pool is not in the status that the event needs.
    #[error("pool is {status:?}")]
    PoolStatus { status: PoolStatus },
    /// The bet was computed by other terms of the pool than the current.
    #[error("terms {found} of the pool where {expected} are current")]
    WrongTerms { expected: u32, found: u32 },
    /// Terms that no pool can have, or that change the base coin.
    #[error("pool terms not allowed: {reason}")]
    BadTerms { reason: String },
    /// The contribution is not the bet's.
    #[error("contribution {found} where the bet makes it {expected}")]
    ContributionWrong { expected: Nano, found: Nano },
    /// A bet of a game whose pool is active adds nothing to it.
    #[error("the bet adds nothing to the active pool {pool}")]
    ContributionMissing { pool: SmolStr },
    /// The coin is worth more than the pool's base coin.
    #[error("coin worth more than the pool's base coin")]
    CoinTooLarge,
    /// The session isn't the latest of its game, has ended, or names no game.
    #[error("no such session, or not any more")]
    NoSuchSession,
    /// The bet is above, or could take the day's loss past, what a session of the day has limited it to (PL-26).
    #[error("a bet of {bet} {currency} minor units is past the player's limit of {limit}")]
    PastLimit { currency: Currency, limit: Minor, bet: Minor },
    /// A hit without its step in the same commit, or in a round that did not contribute to the pool.
    #[error("hit of round {round} without a step or a contribution to the pool")]
    HitUnfounded { round: u64 },
    /// A commit holds at most one hit or void of a pool, or one report of them.
    #[error("a commit holds at most one hit, void or report of a pool")]
    SecondDecision,

    /// An event of a pool's stream in another partition than home, or of a mirror's at home.
    #[error("a pool is decided at home, and mirrored elsewhere")]
    DecidedAtHome,
    /// A report of a partition that cannot be.
    #[error("report of a partition not allowed: {reason}")]
    BadReport { reason: String },
    /// The mirror copies a place of home that it has copied before.
    #[error("mirror of position {found} where {expected} or later comes next")]
    StaleMirror { expected: u64, found: u64 },

    /// The stretch does not start after the last one, ends before it starts, or cuts a reported one in two.
    #[error("stretch starts at {found} where {expected} comes next")]
    WrongStretch { expected: u64, found: u64 },
    /// The stretch reaches past what is durable, of another partition past what it reported.
    #[error("stretch to {to} past the durable end {end}")]
    NotDurable { to: u64, end: u64 },
    /// A hit or void before the end of the stretch must be decided first.
    #[error("position {position} must be decided first")]
    DecisionWaits { position: u64 },
    /// There is no such hit or void to decide next.
    #[error("nothing to decide at position {position}")]
    NothingToDecide { position: u64 },
    /// A pool figure that is not what the log makes it.
    #[error("pool figure {found} where the log makes it {expected}")]
    WrongFigure { expected: Nano, found: Nano },
    /// The award is not the hit's price.
    #[error("award is not the price of the hit")]
    AwardWrong { expected: Box<Award>, found: Box<Award> },
    /// No award of this hit waits to be paid: unknown, another player's, or paid before.
    #[error("no unpaid award of the hit at {hit}")]
    NoSuchAward { hit: u64 },
    /// A round that hit the jackpot is voided only with the platform's approval (PL-38).
    #[error("the void of round {round}, which hit the jackpot, is not approved")]
    VoidUnapproved { round: u64 },
    /// The void says something else about the round's awards than the log: a paid one to be charged or lost, or none.
    #[error("the void of round {round} states another effect on its awards than the log makes it")]
    VoidedJackpotWrong { round: u64 },
    /// The void states other facts of its settled round than the log, or none.
    #[error("the void of round {round} does not state the settled round as the log has it")]
    VoidFactsWrong { round: u64 },
    /// The award of the round's hit is not priced yet.
    #[error("the award of the hit at {hit} is not priced yet")]
    AwardPending { hit: u64 },
    /// The award is held, since the void of its round is proposed.
    #[error("the award of the hit at {hit} is held: the void of its round is proposed")]
    AwardHeld { hit: u64 },
    /// The void of the round is proposed already, or such a proposal was rejected or has lapsed.
    #[error("the void of round {round} was proposed before")]
    VoidProposedBefore { round: u64 },
    /// An incident that cannot be.
    #[error("incident not allowed: {reason}")]
    BadIncident { reason: String },
    /// An incident of the name was declared before.
    #[error("an incident named {id} exists")]
    IncidentExists { id: SmolStr },
    /// No incident of the name, or its commit has other events.
    #[error("no incident named {id} to return contributions for")]
    UnknownIncident { id: SmolStr },
    /// More incidents of a pool than fit.
    #[error("the pool has {most} incidents")]
    TooManyIncidents { most: usize },
    /// A pool with open rounds, contributions or decisions outstanding cannot be retired.
    #[error("pool has rounds, contributions or decisions outstanding")]
    PoolOutstanding,
    /// No such transfer, or it arrived before.
    #[error("no transfer from {pool}")]
    NoSuchTransfer { pool: SmolStr },

    /// An amount above the ceiling of one call.
    #[error("{amount} minor units of {currency} are more than the {ceiling} that one amount can be")]
    AmountAboveCeiling { currency: Currency, amount: Minor, ceiling: Minor },
    /// A balance above the ceiling of deposits, or of bets.
    #[error("the {currency} balance of {balance} leaves no room: it can be {ceiling} minor units")]
    BalanceAboveCeiling { currency: Currency, balance: Minor, ceiling: Minor },
    /// A rate that would take figures out of their range.
    #[error("the rate of {currency} is out of bounds: a minor unit is worth 10^-9 to 10^4 EUR")]
    RateOutOfBounds { currency: Currency },
    /// An award is set aside only where it can't be paid.
    #[error("the award of the hit at {hit} can be paid")]
    AwardPayable { hit: u64 },
    /// An operator switches on what its own actors have switched off.
    #[error("{switch} was switched off by the platform")]
    PlatformsSwitch { switch: Switch },
    /// Changes of an operator's are its own actors' to approve, those of the platform the platform's.
    #[error("change {change} is for another operator's actors to approve")]
    OtherActors { change: u64 },

    /// An operator's open campaigns could come to cost more than they may (PL-36).
    #[error("open campaigns can cost {open} EUR and this one {highest} EUR: together at most {cap} EUR")]
    LiabilityAboveCap { open: Nano, highest: Nano, cap: Nano },

    /// A figure that does not fit.
    #[error(transparent)]
    Money(#[from] MoneyError),
    /// The commit's postings do not sum to zero. A fault of the books themselves.
    #[error("postings in {currency} are off by {by}")]
    Unbalanced { currency: Currency, by: Nano },
}
