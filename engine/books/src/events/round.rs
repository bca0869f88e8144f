//! The parts of a round in the log: its bet, its steps, and why a step was automatic.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::draw::Draw;
use super::session::SessionName;
use crate::values::{CoinValue, Currency, FxRate, Minor, Nano};

/// A bet was accepted (see [`Event::RoundStarted`](crate::Event::RoundStarted)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStarted {
    /// The player's rounds count 1, 2, 3 over all games.
    pub round: u64,
    /// The game's name.
    pub game: SmolStr,
    /// The rules that the round is played by, to its end (PL-01).
    pub rules_version: SmolStr,
    /// SHA-256 of the game's model.
    pub model_hash: [u8; 32],
    /// The currency of the account that pays, and that the win goes to.
    pub currency: Currency,
    /// The stake, above 0. The operator pays the stake of a free round.
    pub bet: Minor,
    /// The worth of a coin, for the jackpot's price.
    pub coin_value: CoinValue,
    /// Its further terms.
    pub stake: LoggedTerms,
    /// The rate of the currency at this place in the log; 1 for play money, so that limits in EUR count its units.
    pub rate: FxRate,
    /// The contribution to a pool; none while the pool is suspended, in games without one, for free rounds (PL-18) and play money
    /// (PL-17).
    pub contribution: Option<Contribution>,
    /// The session that it was bet in, if any (PL-16, PL-21).
    pub session: Option<SessionName>,
    /// The jurisdiction that it was bet under; empty for the one that restricts nothing (PL-26).
    pub jurisdiction: SmolStr,
    /// The campaign that it's a free round of, if any (PL-18).
    pub campaign: Option<SmolStr>,
}

impl RoundStarted {
    /// The player's own cost of the round: the bet, or nothing for a free round.
    #[must_use]
    pub fn charged(&self) -> Minor {
        if self.campaign.is_some() { Minor::ZERO } else { self.bet }
    }
}

/// The terms of a round, as logged with its bet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoggedTerms {
    /// As the game took it.
    Terms(RoundTerms),
    /// Bytes that are no terms: no game opens a round with them, and the log keeps them as they are.
    Unreadable(Vec<u8>),
}

impl LoggedTerms {
    /// The terms, where it has any.
    #[must_use]
    pub fn terms(&self) -> Option<&RoundTerms> {
        match self {
            Self::Terms(terms) => Some(terms),
            Self::Unreadable(_) => None,
        }
    }
}

/// The terms that the outcomes depend on beside the bet. With them a round replays from its own commits alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTerms {
    /// Pay lines.
    pub lines: u32,
    /// Coins a line.
    pub coins_per_line: u32,
    /// Whether the jackpot can be won.
    pub jackpot: bool,
    /// Whether the gamble is offered.
    pub double: bool,
    /// Whether the feature was bought (ME-18).
    pub buy_feature: bool,
    /// The limit of the gamble in minor units; 0 where none is offered (ME-14, ME-15).
    pub gamble_max_minor: u64,
    /// The figures that the player carried when the round opened, in the order of the game's figures.
    pub carried: Vec<i64>,
    /// The number of the witch who accompanies the player (BW-05); 0 for none.
    pub witch: u32,
}

/// The contribution of a bet to a pool (BW-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// The pool.
    pub pool: SmolStr,
    /// The pool's terms that it was computed by.
    pub terms_version: u32,
    /// In EUR.
    pub amount: Nano,
}

/// One resolution inside a round (see [`Event::StepResolved`](crate::Event::StepResolved)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResolved {
    /// The player's round.
    pub round: u64,
    /// 1, 2, 3 within the round.
    pub step: u32,
    /// The seed of the step's draws (PL-06), where it was logged: in older logs. Newer ones have `draw`.
    pub seed: Option<[u8; 32]>,
    /// The choice as the game wrote it; opaque here.
    pub choice: Vec<u8>,
    /// The outcome as the game wrote it; opaque here.
    pub outcome: Vec<u8>,
    /// The round's win as of this step, jackpot excluded; it can fall (a lost double).
    pub win: Minor,
    /// On whose word the game's rule chose; none where the player chose.
    pub automatic: Option<Automatic>,
    /// The sealed draw that the seed follows from; none where the seed was logged.
    pub draw: Option<Draw>,
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
        /// The actor.
        actor: String,
        /// The reason.
        reason: String,
    },
}
