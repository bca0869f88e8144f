//! A session in the log: its name, its opening, and the limits that it sets for the player's day (PL-16, PL-26).

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor, Nano, Rates, exchange};

/// Names a session in the log, where everybody may read it: a digest of its id.
pub type SessionName = [u8; 16];

/// A session was opened (see [`Event::SessionOpened`](crate::Event::SessionOpened)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// Its name.
    pub session: SessionName,
    /// The game that it binds.
    pub game: SmolStr,
    /// The currency that it binds.
    pub currency: Currency,
    /// The jurisdiction that it binds; empty for the one that restricts nothing.
    pub jurisdiction: SmolStr,
    /// Milliseconds without an action after which it's over.
    pub idle_ms: NonZeroU32,
    /// Limits from here to the end of the player's day, whatever sessions follow.
    pub limits: DayLimits,
}

/// The limits that hold for the rest of a player's day: the strictest of every session that was opened in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLimits {
    /// Time played after which no bet is taken until the player has acknowledged it.
    pub reality_check_ms: Option<NonZeroU32>,
    /// Time played in the day after which no bet is taken.
    pub time_ms_max: Option<NonZeroU32>,
    /// The most that may be lost in the day, in whole EUR at the rate of the bet.
    pub loss_eur_max: Option<NonZeroU32>,
    /// The most that may be lost in the day over all currencies. Each entry holds.
    pub losses_max: Vec<(Currency, Minor)>,
    /// The most that a round may cost. Each entry holds, converted to the currency of the bet.
    pub bets_max: Vec<(Currency, Minor)>,
}

impl DayLimits {
    /// Keeps the stricter of each.
    pub fn restrict(&mut self, other: &Self) {
        let least = |one: &mut Option<NonZeroU32>, other: Option<NonZeroU32>| {
            *one = one.iter().copied().chain(other).min();
        };
        least(&mut self.reality_check_ms, other.reality_check_ms);
        least(&mut self.time_ms_max, other.time_ms_max);
        least(&mut self.loss_eur_max, other.loss_eur_max);
        for (one, other) in [(&mut self.losses_max, &other.losses_max), (&mut self.bets_max, &other.bets_max)] {
            for (currency, limit) in other {
                match one.iter_mut().find(|(of, _)| of == currency) {
                    Some((_, known)) => *known = (*known).min(*limit),
                    None => one.push((*currency, *limit)),
                }
            }
        }
    }

    /// The most that a round may cost in a currency; `None` for no limit.
    #[must_use]
    pub fn bet_max(&self, currency: Currency, rates: Rates<'_>) -> Option<Minor> {
        self.bets_max
            .iter()
            .filter_map(|(of, limit)| exchange(i128::from(limit.0), *of, currency, rates))
            .min()
            .map(clamp)
    }

    /// The most that may be lost in the day, counted in a currency; `None` for no limit.
    #[must_use]
    pub fn loss_max(&self, currency: Currency, rates: Rates<'_>) -> Option<Minor> {
        let eur = self
            .loss_eur_max
            .and_then(|eur| rates(currency)?.minor_within(Nano(i128::from(eur.get()) * 1_000_000_000), currency).ok());
        let own = self.losses_max.iter().filter_map(|(of, limit)| exchange(i128::from(limit.0), *of, currency, rates));
        own.map(clamp).chain(eur).min()
    }
}

fn clamp(amount: i128) -> Minor {
    Minor(i64::try_from(amount).unwrap_or(i64::MAX))
}
