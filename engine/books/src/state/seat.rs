//! Where a player sits, as far as the log tells: the latest session of each game (PL-16, BW-27).
//!
//! A session lives in the memory of one process; its opening and its end are in the log, so that every process knows that a
//! player has one. The log has no event when it expires: it's over when the player has done nothing with its kind of
//! money for as long as it waits. The number of a player's seats is bounded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::{SessionName, SessionOpened};

/// The most seats that a player has; the oldest gives way.
const SEATS_MAX: usize = 32;

/// The latest session of a game, with real money or with play money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The game.
    pub game: SmolStr,
    /// Whether it's played with real money.
    pub real: bool,
    /// The session.
    pub session: SessionName,
    opened_ms: i64,
    idle_ms: i64,
    /// The hold that a dropped connection left: its start and its length, ms.
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

    /// Time of the session's opening, Unix ms.
    #[must_use]
    pub fn opened_ms(&self) -> i64 {
        self.opened_ms
    }

    /// Whether a session holds it, as far as the log tells.
    fn is_of(&self, session: SessionName) -> bool {
        self.session == session && self.held.is_none()
    }

    /// Whether its session is live.
    #[must_use]
    pub fn is_live(&self, acted_ms: Option<i64>, now_ms: i64) -> bool {
        let since = acted_ms.map_or(self.opened_ms, |acted| acted.max(self.opened_ms));
        self.held.is_none() && now_ms.saturating_sub(since) < self.idle_ms
    }

    /// Milliseconds for which the game is still held; never more than the whole hold, even where the clock ran back.
    #[must_use]
    pub fn held_ms(&self, now_ms: i64) -> Option<i64> {
        let (since, hold_ms) = self.held?;
        let left = since.saturating_add(hold_ms).saturating_sub(now_ms);
        (left > 0).then_some(left.min(hold_ms))
    }
}

/// The seats of a player, in the order of their sessions' openings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seats(Option<Arc<Vec<Seat>>>);

impl Seats {
    pub fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.0.iter().flat_map(|seats| seats.iter())
    }

    /// Takes a session's seat; an earlier session of the game, with the same kind of money, loses it.
    pub fn sit(&mut self, opened: &SessionOpened, time_ms: i64) {
        let seats = Arc::make_mut(self.0.get_or_insert_default());
        seats.retain(|seat| seat.game != opened.game || seat.real != opened.currency.is_real());
        if seats.len() >= SEATS_MAX {
            seats.remove(0);
        }
        seats.push(Seat::new(opened, time_ms));
    }

    /// Ends a session and holds its game for `hold_ms`; 0 holds nothing. False for a session that isn't the latest of its
    /// game, or that ended before.
    pub fn stand(&mut self, session: SessionName, hold_ms: i64, time_ms: i64) -> bool {
        let Some(seats) = &mut self.0 else { return false };
        let Some(index) = seats.iter().position(|seat| seat.is_of(session)) else { return false };
        let seats = Arc::make_mut(seats);
        if hold_ms > 0 {
            seats[index].held = Some((time_ms, hold_ms));
        } else {
            seats.remove(index);
        }
        if seats.is_empty() {
            self.0 = None;
        }
        true
    }

    /// The seat of a session that hasn't ended as far as the log tells.
    pub fn of(&self, session: SessionName) -> Option<&Seat> {
        self.iter().find(|seat| seat.is_of(session))
    }
}
