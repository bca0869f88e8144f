//! A player's day: the loss and the time played in it, and the limits that its sessions have set (PL-16, PL-26).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::events::DayLimits;
use crate::values::{Currency, Minor, Rates, exchange};

const DAY_MS: i64 = 86_400_000;

/// A longer time without an action is a break, and wasn't played.
pub const BREAK_MS: i64 = 30 * 60_000;

/// A player's day with real money, or with play money.
///
/// Folded from the log, so that it survives sessions, restarts and processes. Days are those of UTC by logged time. A
/// loss counts for the day of its bet: a win of yesterday's round lets nobody lose more today. Time played is the time
/// between a player's actions (bets, choices, acknowledged reality checks) at all games, without breaks. Play money has
/// days of its own (PL-17).
///
/// Cost: a few additions an action, and no memory of its own for a player of one currency without limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Days since 1970.
    number: i64,
    /// Time of the latest action.
    acted_ms: Option<i64>,
    /// Milliseconds played in the day.
    played_ms: u32,
    /// Milliseconds played since the player last acknowledged them; of other days, too.
    unseen_ms: u32,
    /// Wins minus bets in the first currency of the day.
    net: Option<(Currency, i128)>,
    /// In further ones.
    more: Option<Arc<Vec<(Currency, i128)>>>,
    limits: Option<Arc<DayLimits>>,
}

impl Day {
    /// The day of a player who has done nothing yet.
    pub(crate) const NONE: &Self =
        &Self { number: 0, acted_ms: None, played_ms: 0, unseen_ms: 0, net: None, more: None, limits: None };

    /// An action of the player.
    pub(crate) fn act(&mut self, time_ms: i64) {
        self.roll(time_ms);
        let pause = self.pause(time_ms);
        let add = |to: u32, ms: i64| to.saturating_add(u32::try_from(ms).unwrap_or(u32::MAX));
        self.unseen_ms = add(self.unseen_ms, pause);
        self.played_ms = add(self.played_ms, pause.min(time_ms.rem_euclid(DAY_MS)));
        self.acted_ms = Some(time_ms);
    }

    /// The player acknowledges the time played.
    pub(crate) fn see(&mut self, time_ms: i64) {
        self.act(time_ms);
        self.unseen_ms = 0;
    }

    /// Counts the cost of a bet.
    pub(crate) fn bet(&mut self, currency: Currency, amount: Minor) {
        *self.net_mut(currency) -= i128::from(amount.0);
    }

    /// Counts the win or refund of a bet that was placed at `placed_ms`.
    pub(crate) fn back(&mut self, currency: Currency, amount: Minor, placed_ms: i64) {
        if placed_ms.div_euclid(DAY_MS) == self.number {
            *self.net_mut(currency) += i128::from(amount.0);
        }
    }

    /// Limits that hold from here to the day's end.
    pub(crate) fn restrict(&mut self, limits: &DayLimits, time_ms: i64) {
        self.roll(time_ms);
        if *limits != DayLimits::default() {
            Arc::make_mut(self.limits.get_or_insert_default()).restrict(limits);
        }
    }

    /// The day that it is, since 1970: that of the player's latest action, or session.
    #[must_use]
    pub fn number(&self) -> i64 {
        self.number
    }

    /// The limits of the day of a time.
    #[must_use]
    pub fn limits(&self, now_ms: i64) -> Option<&DayLimits> {
        self.limits.as_deref().filter(|_| self.is_of(now_ms))
    }

    /// Milliseconds played in the day of a time, up to it.
    #[must_use]
    pub fn played_ms(&self, now_ms: i64) -> i64 {
        let before = if self.is_of(now_ms) { i64::from(self.played_ms) } else { 0 };
        before.saturating_add(self.pause(now_ms).min(now_ms.rem_euclid(DAY_MS)))
    }

    /// Milliseconds played up to a time since the player last acknowledged them.
    #[must_use]
    pub fn unseen_ms(&self, now_ms: i64) -> i64 {
        i64::from(self.unseen_ms).saturating_add(self.pause(now_ms))
    }

    /// Wins minus bets in the day of a time, in minor units of a currency. What was won and lost in others is converted at
    /// their rates, a loss rounded up and a win down. Jackpots don't count, nor do voids of settled rounds.
    #[must_use]
    pub fn net(&self, currency: Currency, rates: Rates<'_>, now_ms: i64) -> i128 {
        let all = self.net.iter().chain(self.more.iter().flat_map(|more| more.iter()));
        let all = all.filter(|_| self.is_of(now_ms));
        all.filter_map(|(of, net)| exchange(*net, *of, currency, rates)).sum()
    }

    /// Time of the latest action.
    #[must_use]
    pub fn acted_ms(&self) -> Option<i64> {
        self.acted_ms
    }

    fn is_of(&self, time_ms: i64) -> bool {
        time_ms.div_euclid(DAY_MS) == self.number
    }

    fn roll(&mut self, time_ms: i64) {
        if !self.is_of(time_ms) {
            self.number = time_ms.div_euclid(DAY_MS);
            self.played_ms = 0;
            (self.net, self.more, self.limits) = (None, None, None);
        }
    }

    /// Time since the latest action, as far as it was played.
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
