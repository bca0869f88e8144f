//! Where a player sits, as far as the log tells: the latest session of each game (PL-16, BW-27).
//!
//! A session lives in the memory of one process; its opening and its end are in the log, so that every process knows that a
//! player has one. How long it lives without an action isn't said there: it's over when the player has done nothing with its
//! kind of money for as long as it waits. Each player has few seats, whatever is logged.

use core::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::play::sessions::SessionName;
use crate::state::day::DayLimits;
use crate::state::player::PlayerState;
use crate::values::currency::Currency;

/// Seats that a player has at the most; the one opened first gives way.
const SEATS_MAX: usize = 32;

/// A session was opened (see [`Event::SessionOpened`](crate::Event::SessionOpened)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// Its name.
    pub session: SessionName,
    /// The game that it binds.
    pub game: String,
    /// The currency that it binds.
    pub currency: Currency,
    /// The jurisdiction that it binds; empty for the one that restricts nothing.
    pub jurisdiction: String,
    /// Milliseconds without an action after which it's over.
    pub idle_ms: NonZeroU32,
    /// What holds from here to the end of the player's day, whatever sessions come.
    pub limits: DayLimits,
}

/// The latest session of a game, with real money or with play money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The game.
    pub game: String,
    /// Whether it's played with real money.
    pub real: bool,
    /// The session.
    pub session: SessionName,
    opened_ms: i64,
    idle_ms: i64,
    /// Of one that ended with a dropped connection: when, and for how long the game is held.
    held: Option<(i64, i64)>,
}

impl Seat {
    fn new(opened: &SessionOpened, time_ms: i64) -> Self {
        Self {
            game: opened.game.clone(),
            real: opened.currency.is_real(),
            session: opened.session,
            opened_ms: time_ms,
            idle_ms: opened.idle_ms.get().into(),
            held: None,
        }
    }

    /// Whether its session is live.
    #[must_use]
    pub fn is_live(&self, acted_ms: Option<i64>, now_ms: i64) -> bool {
        let since = acted_ms.map_or(self.opened_ms, |acted| acted.max(self.opened_ms));
        self.held.is_none() && now_ms.saturating_sub(since) < self.idle_ms
    }

    /// Milliseconds for which the game is still held; no more than it's held at all, whatever the times say.
    #[must_use]
    pub fn held_ms(&self, now_ms: i64) -> Option<i64> {
        let (since, hold_ms) = self.held?;
        let left = since.saturating_add(hold_ms).saturating_sub(now_ms);
        (left > 0).then_some(left.min(hold_ms))
    }
}

impl PlayerState {
    /// The seat at a game.
    #[must_use]
    pub fn seat(&self, game: &str, currency: Currency) -> Option<&Seat> {
        self.seats
            .iter()
            .flat_map(|seats| seats.iter())
            .find(|seat| seat.game == game && seat.real == currency.is_real())
    }

    /// A live session of the player's with real money, or with play money, at whatever game.
    #[must_use]
    pub fn live_seat(&self, currency: Currency, now_ms: i64) -> Option<&Seat> {
        let acted_ms = self.day(currency).acted_ms();
        let mut seats = self.seats.iter().flat_map(|seats| seats.iter());
        seats.find(|seat| seat.real == currency.is_real() && seat.is_live(acted_ms, now_ms))
    }

    pub(crate) fn sit(&mut self, opened: &SessionOpened, time_ms: i64) {
        let seats = Arc::make_mut(self.seats.get_or_insert_default());
        seats.retain(|seat| seat.game != opened.game || seat.real != opened.currency.is_real());
        if seats.len() >= SEATS_MAX {
            seats.remove(0);
        }
        seats.push(Seat::new(opened, time_ms));
    }

    /// Ends a session and holds its game for a while, or not; false where it isn't the latest of its game, or ended before.
    pub(crate) fn stand(&mut self, session: SessionName, hold_ms: i64, time_ms: i64) -> bool {
        let Some(seats) = &mut self.seats else { return false };
        let Some(index) = seats.iter().position(|seat| seat.session == session && seat.held.is_none()) else {
            return false;
        };
        let seats = Arc::make_mut(seats);
        if hold_ms > 0 {
            seats[index].held = Some((time_ms, hold_ms));
        } else {
            seats.remove(index);
        }
        if seats.is_empty() {
            self.seats = None;
        }
        true
    }

    /// Whether a session with real money, or with play money, is one that hasn't ended as far as the log tells.
    pub(crate) fn sits(&self, session: SessionName) -> Option<&Seat> {
        let mut seats = self.seats.iter().flat_map(|seats| seats.iter());
        seats.find(|seat| seat.session == session && seat.held.is_none())
    }
}
