use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor, Nano, Rates, exchange};

/// Public name of a session, a digest of its secret id.
pub type SessionName = [u8; 16];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOpened {
    pub session: SessionName,
    pub game: SmolStr,
    pub currency: Currency,
    /// Jurisdiction whose restrictions apply; empty for none.
    pub jurisdiction: SmolStr,
    pub idle_ms: NonZeroU32,
    /// Limits that apply to all of the player's sessions until the end of the day.
    pub limits: DayLimits,
}

/// Limits for a player's day: the strictest limits of all sessions opened on that day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLimits {
    pub reality_check_ms: Option<NonZeroU32>,
    pub time_ms_max: Option<NonZeroU32>,
    /// Loss limit for the day in whole EUR.
    pub loss_eur_max: Option<NonZeroU32>,
    /// Loss limits for the day, at most one per currency; each limit counts losses in all currencies.
    pub losses_max: Vec<(Currency, Minor)>,
    /// Limits on the bet of a round, at most one per currency; each limit is converted to the bet's currency.
    pub bets_max: Vec<(Currency, Minor)>,
}

impl DayLimits {
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

    #[must_use]
    pub fn bet_max(&self, currency: Currency, rates: Rates<'_>) -> Option<Minor> {
        self.bets_max
            .iter()
            .filter_map(|(of, limit)| exchange(i128::from(limit.0), *of, currency, rates))
            .min()
            .map(clamp)
    }

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
