//! A seat is the logged state of a player's latest session of a game (PL-16, BW-27). Other processes read seats from
//! the log. A seat expires without an event.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::{SessionName, SessionOpened};

const SEATS_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    pub game: SmolStr,
    pub real: bool,
    pub session: SessionName,
    opened_ms: i64,
    idle_ms: i64,
    /// Start (Unix ms) and length (ms) of the period in which the player cannot open another session of the game.
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

    #[must_use]
    pub fn opened_ms(&self) -> i64 {
        self.opened_ms
    }

    fn is_for(&self, session: SessionName) -> bool {
        self.session == session && self.held.is_none()
    }

    #[must_use]
    pub fn is_live(&self, acted_ms: Option<i64>, now_ms: i64) -> bool {
        let since = acted_ms.map_or(self.opened_ms, |acted| acted.max(self.opened_ms));
        self.held.is_none() && now_ms.saturating_sub(since) < self.idle_ms
    }

    #[must_use]
    pub fn held_ms(&self, now_ms: i64) -> Option<i64> {
        let (since, hold_ms) = self.held?;
        let left = since.saturating_add(hold_ms).saturating_sub(now_ms);
        (left > 0).then_some(left.min(hold_ms))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seats(Option<Arc<Vec<Seat>>>);

impl Seats {
    pub fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.0.iter().flat_map(|seats| seats.iter())
    }

    pub fn sit(&mut self, opened: &SessionOpened, time_ms: i64) {
        let seats = Arc::make_mut(self.0.get_or_insert_default());
        seats.retain(|seat| seat.game != opened.game || seat.real != opened.currency.is_real());
        if seats.len() >= SEATS_MAX {
            seats.remove(0);
        }
        seats.push(Seat::new(opened, time_ms));
    }

    /// Ends the session. For `hold_ms`, the player cannot open another session of the game. Returns false if the session
    /// has no seat.
    pub fn stand(&mut self, session: SessionName, hold_ms: i64, time_ms: i64) -> bool {
        let Some(seats) = &mut self.0 else { return false };
        let Some(index) = seats.iter().position(|seat| seat.is_for(session)) else { return false };
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

    pub fn find(&self, session: SessionName) -> Option<&Seat> {
        self.iter().find(|seat| seat.is_for(session))
    }
}
