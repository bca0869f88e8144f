//! The events: everything that can ever have happened, and nothing derived.
//!
//! Events of old logs are read for ever, so a variant or field, once released, keeps its meaning; what is new gets a new one.

use crate::events::partition::{PartitionReported, PoolMirrored};
use crate::play::sessions::SessionName;
use crate::state::campaign::Campaign;
use crate::state::changes::ChangeProposed;
use crate::state::seat::SessionOpened;
use crate::state::switches::Switch;
use crate::values::currency::Currency;
use crate::values::money::{CoinValue, Minor, Nano};
use crate::values::rate::FxRate;
use crate::values::stream::StreamId;
use serde::{Deserialize, Serialize};

/// Who acts where there are no operators, so that nobody can be told apart (PL-27). No credential is called so.
pub const ANYONE: &str = "(anyone)";

/// One thing that happened. The comments name the stream that it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Player: an account in a currency exists from here on, with balance 0 (PL-15).
    AccountOpened {
        /// The account's currency; one account a currency.
        currency: Currency,
    },
    /// Player: money came in. The transaction id is the commit's request id (PL-15).
    Deposited {
        /// Of the account.
        currency: Currency,
        /// Above 0.
        amount: Minor,
    },
    /// Player: money went out (PL-15).
    Withdrawn {
        /// Of the account.
        currency: Currency,
        /// Above 0, at most the balance.
        amount: Minor,
    },
    /// Player: the account of play money was filled by so much, for demo play (PL-17).
    PlayMoneyGiven {
        /// Above 0, in [`Currency::PLAY`].
        amount: Minor,
    },
    /// Player: what the player has gathered, unlocked or picked in a game: crystals, potions, the witch (BW-05).
    CollectionChanged {
        /// The game's name.
        game: String,
        /// The bet level that the collection belongs to; empty when it belongs to all.
        scope: String,
        /// Key and new value; 0 removes the key.
        changes: Vec<(String, i64)>,
    },
    /// Player: a bet was accepted and the round is open (PL-02).
    RoundStarted(RoundStarted),
    /// Player: one resolution inside an open round.
    StepResolved(StepResolved),
    /// Player: the step before it in this commit won the jackpot (BW-15). At most one a commit.
    JackpotHit {
        /// The player's round.
        round: u64,
        /// The pool that the round contributed to.
        pool: String,
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
    /// Player: malfunction; the round counts as not played (PL-04, BW-28). A jackpot that it hit stands, awarded or not yet,
    /// and is taken back only by a recorded decision of its own (BW-19).
    RoundVoided {
        /// The player's round, open or settled.
        round: u64,
        /// Why, for support and the regulator.
        reason: String,
        /// By whom.
        actor: String,
        /// The bet, given back; 0 for a free round, which goes back to its campaign (PL-18).
        refund: Minor,
        /// The win, of an open round what was credited of it (ME-16), as far as the balance with the refund gives it back
        /// (PL-09: never negative).
        win_taken_back: Minor,
    },
    /// Player: an award reached the player's account.
    JackpotPaid {
        /// The player's round.
        round: u64,
        /// The pool.
        pool: String,
        /// Position of the hit, in this stream's partition.
        hit: u64,
        /// The award's amount.
        amount: Minor,
        /// The award's currency.
        currency: Currency,
    },
    /// Player: an award can't be paid for now, since the account has no room for it. It's still owed: it's paid once there is.
    AwardSetAside {
        /// The player's round.
        round: u64,
        /// The pool.
        pool: String,
        /// Position of the hit, in this stream's partition.
        hit: u64,
        /// The award's amount.
        amount: Minor,
        /// The award's currency.
        currency: Currency,
        /// Why it can't be paid.
        reason: String,
    },
    /// Any stream: who made the commit that it ends (PL-22, PL-27). It changes nothing.
    ActedBy {
        /// The authenticated credential: its name for the platform, `operator/name` for an operator, [`ANYONE`] where there are
        /// no operators.
        actor: String,
        /// What the caller said of itself, in its own words: on whose behalf, a ticket's number. Nobody has checked it.
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
    /// Player: the player has seen how long was played, and what it came to (PL-26).
    RealityCheckAcknowledged {
        /// The session in which it was shown.
        session: SessionName,
    },
    /// Player: the operator grants free rounds (PL-18).
    CampaignGranted(Campaign),
    /// Player: the operator takes a campaign back of which no round was begun (PL-18).
    CampaignCancelled {
        /// Its name.
        campaign: String,
        /// Why.
        reason: String,
        /// By whom.
        actor: String,
    },
    /// Rates: the rate of a currency from here on.
    RateSet {
        /// Any but EUR, whose rate is 1, and play money, which has none.
        currency: Currency,
        /// EUR for one major unit.
        rate: FxRate,
        /// Where it was read.
        source: String,
    },
    /// Pool: the pool exists and is active from here on.
    PoolOpened {
        /// Its name, as in the stream.
        pool: String,
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
    /// Pool: a hit was priced (BW-16, BW-17).
    JackpotAwarded(Award),
    /// Pool: other terms, from the next cycle on (BW-20).
    PoolTermsChanged {
        /// The terms to come; their version is one above the latest.
        terms: PoolTerms,
    },
    /// Pool: no bet adds to it or can win it from here on (BW-20).
    PoolSuspended {
        /// Why.
        reason: String,
        /// By whom.
        actor: String,
    },
    /// Pool: active again, with the same figures (BW-20).
    PoolResumed {
        /// By whom.
        actor: String,
    },
    /// Pool: closed for ever; its money goes to another pool (BW-20).
    PoolRetired {
        /// The pool that receives.
        into: String,
        /// All of the increments.
        increments: Nano,
        /// All of the reserve.
        reserve: Nano,
        /// By whom.
        actor: String,
    },
    /// Pool: the money of a retired pool arrived (BW-20).
    PoolReceived {
        /// The retired pool.
        from: String,
        /// As in its retirement; joins the increments.
        increments: Nano,
        /// As in its retirement; joins the reserve.
        reserve: Nano,
    },
    /// Pool, at home: what a stretch of another partition leaves for the pool.
    PartitionReported(PartitionReported),
    /// Pool, in another partition: what was decided at home, the only event there.
    PoolMirrored(PoolMirrored),
    /// System: the master generator took fresh entropy (PL-28).
    GeneratorReseeded,
    /// System: a part of the service takes no new rounds from here on, or takes them again (PL-25).
    SwitchSet {
        /// Which part.
        switch: Switch,
        /// Whether it takes new rounds; never what it was.
        on: bool,
        /// Why.
        reason: String,
        /// By whom.
        actor: String,
    },
    /// System: the program, its books or a game's return are found not to be as they must be (PL-22, PL-23, PL-29).
    IntegrityFailed {
        /// What was checked.
        check: String,
        /// What was found.
        finding: String,
    },
    /// System: a machine's clock was set, or was found behind the log (PL-22). The log's own time never runs back.
    ClockSkewed {
        /// Milliseconds, ahead or (below zero) back.
        by_ms: i64,
    },
    /// System: an actor asks for a change that needs a second one (PL-27). Its position names it.
    ChangeProposed(ChangeProposed),
    /// Pool or system: a second actor approves a proposed change, which is the next event of this commit (PL-27).
    ChangeApproved {
        /// Position of the proposal.
        change: u64,
        /// Who proposed it.
        proposed_by: String,
        /// Who approves it: somebody else.
        actor: String,
    },
    /// System: a proposed change will not be made: another actor rejects it, or the one who proposed it takes it back (PL-27).
    ChangeRejected {
        /// Position of the proposal.
        change: u64,
        /// By whom.
        actor: String,
        /// Why.
        reason: String,
    },
}

/// A bet was accepted (see [`Event::RoundStarted`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStarted {
    /// The player's rounds count 1, 2, 3 over all games.
    pub round: u64,
    /// The game's name.
    pub game: String,
    /// The rules that the round is played by, to its end (PL-01).
    pub rules_version: String,
    /// SHA-256 of the game's model.
    pub model_hash: [u8; 32],
    /// Of the account that pays, and that the win goes to.
    pub currency: Currency,
    /// What is staked, above 0; of a free round by the operator.
    pub bet: Minor,
    /// The worth of a coin, for the jackpot's price.
    pub coin_value: CoinValue,
    /// The stake as the game wrote it; opaque here.
    pub stake: Vec<u8>,
    /// The rate of the currency at this place in the log; 1 for play money, so that limits in EUR count its units.
    pub rate: FxRate,
    /// What the bet adds to a pool; none while it is suspended, in games without one, for free rounds (PL-18) and play money
    /// (PL-17).
    pub contribution: Option<Contribution>,
    /// The session that it was bet in, if any (PL-16, PL-21).
    pub session: Option<SessionName>,
    /// The jurisdiction that it was bet under; empty for the one that restricts nothing (PL-26).
    pub jurisdiction: String,
    /// The campaign that it's a free round of, if any (PL-18).
    pub campaign: Option<String>,
}

impl RoundStarted {
    /// What the player pays for the round: the bet, or nothing for a free round.
    #[must_use]
    pub fn charged(&self) -> Minor {
        if self.campaign.is_some() { Minor::ZERO } else { self.bet }
    }
}

/// What a bet adds to a pool (BW-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// The pool.
    pub pool: String,
    /// The pool's terms that it was computed by.
    pub terms_version: u32,
    /// In EUR.
    pub amount: Nano,
}

/// One resolution inside a round (see [`Event::StepResolved`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResolved {
    /// The player's round.
    pub round: u64,
    /// 1, 2, 3 within the round.
    pub step: u32,
    /// What the step was drawn from (PL-06).
    pub seed: [u8; 32],
    /// The choice as the game wrote it; opaque here.
    pub choice: Vec<u8>,
    /// The outcome as the game wrote it; opaque here.
    pub outcome: Vec<u8>,
    /// The round's win as of this step, jackpot excluded; it can fall (a lost double).
    pub win: Minor,
    /// On whose word the game's rule chose; none where the player chose.
    pub automatic: Option<Automatic>,
}

/// Why a step was chosen by the rule of its game instead of by the player (PL-03).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Automatic {
    /// The player skipped to the round's result (DM-21).
    Skipped,
    /// The game's time was over (ME-20).
    TimeOver,
    /// The operator closed the round (PL-20).
    Closed {
        /// By whom.
        actor: String,
        /// Why.
        reason: String,
    },
}

/// A pool's parameters, versioned like rules (BW-12, BW-17, BW-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTerms {
    /// 1, 2, 3 within the pool.
    pub version: u32,
    /// Parts per million of a bet that a contribution is: 5,000 is 0.5 %.
    pub contribution_ppm: u32,
    /// What the pool shows after a win, in EUR: 20,000.
    pub seed: Nano,
    /// The coin value, in EUR, whose jackpot is the whole pool: 10. The same in all terms of a pool.
    pub base_coin: CoinValue,
    /// The counter is refreshed at multiples of this in Unix time, milliseconds: 3,000.
    pub refresh_ms: u32,
    /// What a second win within one refresh gets.
    pub collision_share: CollisionShare,
}

/// What a win gets that follows another within one refresh (BW-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollisionShare {
    /// The minimum of its coin value plus the whole of the increments since.
    Full,
    /// Plain BW-16.
    Proportional,
}

/// The price of a hit (BW-16, BW-17). Figures without a currency are EUR.
///
/// `increments + seed_from_reserve + seed_from_house = paid + part of a cent left`, and
/// `to_reserve = rest of the increments + part of a cent left`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Award {
    /// Position of the hit.
    pub hit: u64,
    /// Partition of the hit.
    pub partition: u32,
    /// The winner.
    pub stream: StreamId,
    /// The winner's round.
    pub round: u64,
    /// The cycle that it ends: 1, 2, 3 within the pool.
    pub cycle: u64,
    /// Whether it was priced as a second win within one refresh.
    pub collision: bool,
    /// Of the bet, and of the amount.
    pub currency: Currency,
    /// Of the bet.
    pub coin_value: CoinValue,
    /// Of the bet.
    pub rate: FxRate,
    /// What the player gets, in the player's currency.
    pub amount: Minor,
    /// Share out of the increments.
    pub increments: Nano,
    /// Share of the seed out of the reserve.
    pub seed_from_reserve: Nano,
    /// Share of the seed that the house pays.
    pub seed_from_house: Nano,
    /// What goes to the reserve.
    pub to_reserve: Nano,
    /// What is booked as paid: the amount in EUR at the bet's rate.
    pub paid: Nano,
}
