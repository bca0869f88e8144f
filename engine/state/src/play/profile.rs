//! Permissions and limits of a jurisdiction, an operator or a player (PL-08, PL-26). A round keeps the profile that was
//! valid at its start.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// Whether Autospin is allowed (PL-07).
    pub autoplay: bool,
    pub buy_feature: bool,
    pub gamble: bool,
    /// Whether the client may speed up the display.
    pub turbo: bool,
    pub jackpot: bool,
    /// Maximum price of a round in whole EUR.
    pub bet_eur_max: Option<NonZeroU32>,
    /// Minimum time between any two bets of a player, even in different games.
    pub round_ms_min: u32,
    /// Idle limit of a session (BW-26).
    pub idle_ms_max: Option<NonZeroU32>,
    pub reality_check_ms: Option<NonZeroU32>,
    /// Bets are refused once the session, or the player's time played that day, reaches this length.
    pub session_ms_max: Option<NonZeroU32>,
    /// Maximum loss per day in whole EUR.
    pub loss_eur_max: Option<NonZeroU32>,
    /// Whether the player must set limits for each session.
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

    #[must_use]
    pub fn needs_session(&self) -> bool {
        self.reality_check_ms.is_some()
            || self.session_ms_max.is_some()
            || self.loss_eur_max.is_some()
            || self.limits_by_player
    }
}
