use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::events::DayLimits;
use crate::values::date::{DAY_MS, day_of};
use crate::values::{Currency, Minor, Rates, exchange};

pub const BREAK_MS: i64 = 30 * 60_000;

/// A player's figures for one UTC day, either in real money or in play money (PL-17). A loss counts towards the day of
/// the bet. Time played is the sum of the intervals between actions; those longer than [`BREAK_MS`] count as breaks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    number: i64,
    acted_ms: Option<i64>,
    played_ms: u32,
    /// Time played in ms since the player last acknowledged a reality check, possibly on an earlier day.
    unseen_ms: u32,
    /// Wins minus bets, in the currency of the day's first bet.
    net: Option<(Currency, i128)>,
    more: Option<Arc<Vec<(Currency, i128)>>>,
    limits: Option<Arc<DayLimits>>,
}

impl Day {
    pub(crate) const NONE: &Self =
        &Self { number: 0, acted_ms: None, played_ms: 0, unseen_ms: 0, net: None, more: None, limits: None };

    pub(crate) fn act(&mut self, time_ms: i64) {
        self.roll(time_ms);
        let pause = self.pause(time_ms);
        let add = |to: u32, ms: i64| to.saturating_add(u32::try_from(ms).unwrap_or(u32::MAX));
        self.unseen_ms = add(self.unseen_ms, pause);
        self.played_ms = add(self.played_ms, pause.min(time_ms.rem_euclid(DAY_MS)));
        self.acted_ms = Some(time_ms);
    }

    pub(crate) fn see(&mut self, time_ms: i64) {
        self.act(time_ms);
        self.unseen_ms = 0;
    }

    pub(crate) fn bet(&mut self, currency: Currency, amount: Minor) {
        *self.net_mut(currency) -= i128::from(amount.0);
    }

    pub(crate) fn back(&mut self, currency: Currency, amount: Minor, placed_ms: i64) {
        if day_of(placed_ms) == self.number {
            *self.net_mut(currency) += i128::from(amount.0);
        }
    }

    pub(crate) fn restrict(&mut self, limits: &DayLimits, time_ms: i64) {
        self.roll(time_ms);
        if *limits != DayLimits::default() {
            Arc::make_mut(self.limits.get_or_insert_default()).restrict(limits);
        }
    }

    #[must_use]
    pub fn number(&self) -> i64 {
        self.number
    }

    #[must_use]
    pub fn limits(&self, now_ms: i64) -> Option<&DayLimits> {
        self.limits.as_deref().filter(|_| self.is_for(now_ms))
    }

    #[must_use]
    pub fn played_ms(&self, now_ms: i64) -> i64 {
        let before = if self.is_for(now_ms) { i64::from(self.played_ms) } else { 0 };
        before.saturating_add(self.pause(now_ms).min(now_ms.rem_euclid(DAY_MS)))
    }

    #[must_use]
    pub fn unseen_ms(&self, now_ms: i64) -> i64 {
        i64::from(self.unseen_ms).saturating_add(self.pause(now_ms))
    }

    /// Returns wins minus bets in minor units. Figures in other currencies are converted; a net loss is rounded up, and a
    /// net win down. Jackpots and voids of settled rounds are excluded.
    #[must_use]
    pub fn net(&self, currency: Currency, rates: Rates<'_>, now_ms: i64) -> i128 {
        let all = self.net.iter().chain(self.more.iter().flat_map(|more| more.iter()));
        let all = all.filter(|_| self.is_for(now_ms));
        all.filter_map(|(of, net)| exchange(*net, *of, currency, rates)).sum()
    }

    #[must_use]
    pub fn acted_ms(&self) -> Option<i64> {
        self.acted_ms
    }

    fn is_for(&self, time_ms: i64) -> bool {
        day_of(time_ms) == self.number
    }

    fn roll(&mut self, time_ms: i64) {
        if !self.is_for(time_ms) {
            self.number = day_of(time_ms);
            self.played_ms = 0;
            (self.net, self.more, self.limits) = (None, None, None);
        }
    }

    fn pause(&self, time_ms: i64) -> i64 {
        let since = self.acted_ms.map_or(0, |acted| time_ms.saturating_sub(acted));
        if (0..=BREAK_MS).contains(&since) { since } else { 0 }
    }

    fn net_mut(&mut self, currency: Currency) -> &mut i128 {
        let first = self.net.get_or_insert((currency, 0));
        if first.0 == currency {
            return &mut first.1;
        }
        let more = Arc::make_mut(self.more.get_or_insert_default());
        let index = more.iter().position(|(of, _)| *of == currency).unwrap_or_else(|| {
            more.push((currency, 0));
            more.len() - 1
        });
        &mut more[index].1
    }
}
