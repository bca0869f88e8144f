//! Profiles: the permissions and limits of a jurisdiction, an operator or a player, and the strictest of several (PL-08,
//! PL-26).
//!
//! A profile is data, read from files; [`Profile::default`] restricts nothing. An open round is played to its end by the
//! profile of its bet.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// Permissions and limits. Times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// Rounds may play themselves (PL-07).
    pub autoplay: bool,
    /// A feature may be bought (ME-18).
    pub buy_feature: bool,
    /// Wins may be gambled (BW-22, ME-14).
    pub gamble: bool,
    /// The client may show rounds faster than usual (WF's turbo mode, stopping the reels). The service has no reels to
    /// speed up: it passes this on to the client, and keeps the time between rounds itself.
    pub turbo: bool,
    /// A game with a progressive jackpot may be played. Where it may not, such a game is refused whole: the return that
    /// its rules promise includes the jackpot (BW-21), so without it it would be another game.
    pub jackpot: bool,
    /// The most that a round may cost, the price of a bought feature included, in whole EUR, converted at the rate of the bet.
    pub bet_eur_max: Option<NonZeroU32>,
    /// The least time from one bet of a player to the next, over all games and both kinds of money.
    pub round_ms_min: u32,
    /// Time without an action after which a session expires (BW-26).
    pub idle_ms_max: Option<NonZeroU32>,
    /// Time in a session, or played in sessions that follow each other, after which no bet is taken until the player has
    /// acknowledged it.
    pub reality_check_ms: Option<NonZeroU32>,
    /// Time in a session, or played in the sessions of a day, after which no bet is taken.
    pub session_ms_max: Option<NonZeroU32>,
    /// The most that may be lost in a day, in whole EUR, converted at the rate of the bet.
    pub loss_eur_max: Option<NonZeroU32>,
    /// The player sets the length of each session and its loss limit before it begins.
    pub limits_by_player: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            autoplay: true,
            buy_feature: true,
            gamble: true,
            turbo: true,
            jackpot: true,
            bet_eur_max: None,
            round_ms_min: 0,
            idle_ms_max: None,
            reality_check_ms: None,
            session_ms_max: None,
            loss_eur_max: None,
            limits_by_player: false,
        }
    }
}

impl Profile {
    /// Allows what both allow, within the stricter of each limit.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        let least = |one: Option<NonZeroU32>, other: Option<NonZeroU32>| one.into_iter().chain(other).min();
        Self {
            autoplay: self.autoplay && other.autoplay,
            buy_feature: self.buy_feature && other.buy_feature,
            gamble: self.gamble && other.gamble,
            turbo: self.turbo && other.turbo,
            jackpot: self.jackpot && other.jackpot,
            bet_eur_max: least(self.bet_eur_max, other.bet_eur_max),
            round_ms_min: self.round_ms_min.max(other.round_ms_min),
            idle_ms_max: least(self.idle_ms_max, other.idle_ms_max),
            reality_check_ms: least(self.reality_check_ms, other.reality_check_ms),
            session_ms_max: least(self.session_ms_max, other.session_ms_max),
            loss_eur_max: least(self.loss_eur_max, other.loss_eur_max),
            limits_by_player: self.limits_by_player || other.limits_by_player,
        }
    }

    /// Whether it has limits that hold in a session only, so that a bet needs one.
    #[must_use]
    pub fn needs_session(&self) -> bool {
        self.reality_check_ms.is_some()
            || self.session_ms_max.is_some()
            || self.loss_eur_max.is_some()
            || self.limits_by_player
    }
}
