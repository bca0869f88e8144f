//! Sessions: who is at which game, and for how long (BW-26, BW-27, PL-16).
//!
//! A session binds a player, a currency, a game, a jurisdiction and limits for its whole life. It ends when it's closed,
//! when nothing is done in it for too long, or when its connection drops; after a drop nobody can open the same game for
//! the player for a while. Bets are refused while a reality check is due, and when its time is up (PL-26).
//! This table is not in the log. The log keeps the play, and the next session continues it.
//!
//! Promises: time is an argument; at most one live session a player and game, and one more in play money; never more
//! entries than allowed, since every call drops those that have expired. Cost: a few tree operations a call.

use core::num::NonZeroU32;
use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::profile::Profile;
use super::quota::Quota;
use crate::values::{Currency, Minor, StreamId};

/// The limits of sessions: how long they last, and how many there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Milliseconds without an action after which a session expires (BW-26).
    pub idle_ms_max: i64,
    /// Milliseconds after a dropped connection in which no session is opened again (BW-27).
    pub hold_ms: i64,
    /// Sessions and holds at one time.
    pub count_max: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { idle_ms_max: 30 * 60_000, hold_ms: 30_000, count_max: 100_000 }
    }
}

/// Names a session. Whoever knows it can use the session, so it must be drawn from a cryptographic generator.
pub type SessionId = u128;

/// The terms of a session, unchangeable (PL-16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOf {
    /// The player, and with it the operator.
    pub stream: StreamId,
    /// The currency of the account; play money is demo mode.
    pub currency: Currency,
    /// The game.
    pub game: SmolStr,
    /// The jurisdiction's name.
    pub jurisdiction: SmolStr,
    /// Its permissions and limits: the strictest of jurisdiction, operator and player.
    pub profile: Profile,
    /// The most that may be lost in it, in minor units of the currency, where the player has set a limit.
    pub loss_max: Option<Minor>,
    /// The most that a round may cost, in minor units of the currency, where the player or the operator has set a limit.
    pub bet_max: Option<Minor>,
    /// The operator's own session reference; empty for none (PL-39).
    pub operator_session: SmolStr,
}

/// Why a session is not given or not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefused {
    /// The player has a live session of the game, or the session has a keeper.
    #[error("the session is in use")]
    InUse,
    /// The connection dropped a short while ago (BW-27).
    #[error("the connection was dropped; a session can be opened again in {left_ms} ms")]
    Held {
        /// Milliseconds until it's possible.
        left_ms: i64,
    },
    /// It has expired, was closed or dropped, or never was: who asks about another's session learns nothing else.
    #[error("the session is over")]
    Expired,
    /// It's the player's, but of another game or currency.
    #[error("the session is bound to another game or currency")]
    Mismatch,
    /// The request that opened the live session named another currency.
    #[error("the request id was used for a different session")]
    RequestIdReused,
    /// The player has not acknowledged the time played (PL-26).
    #[error("a reality check is due: it must be acknowledged before the next bet")]
    RealityCheckDue,
    /// The session has lasted as long as it may; open rounds go on (PL-26).
    #[error("the session's time is up: no bet is taken in it")]
    TimeUp,
    /// There is no room for one more: of all, or of the operator.
    #[error("there are too many sessions")]
    Full,
}

/// The sessions. `K` is the handle by which a session keeps its connection. It's dropped when the session ends, and so the
/// connection learns of the end.
#[derive(Debug)]
pub struct Sessions<K> {
    limits: SessionLimits,
    /// Places by operator.
    quota: Quota,
    entries: BTreeMap<SessionId, Entry<K>>,
    /// The entry of a place.
    by_seat: BTreeMap<SeatKey, SessionId>,
    /// When each entry passes, the next first.
    deadlines: BTreeSet<(i64, SessionId)>,
}

/// Where there is one session at most: a player and a game, for real money or for play money (PL-17).
type SeatKey = (StreamId, SmolStr, bool);

fn seat_key(of: &SessionOf) -> SeatKey {
    (of.stream.clone(), of.game.clone(), of.currency.is_real())
}

/// The operator of a player.
fn operator(stream: &StreamId) -> &str {
    match stream {
        StreamId::Player { operator, .. } => operator,
        _ => "",
    }
}

#[derive(Debug)]
struct Entry<K> {
    of: SessionOf,
    request_id: SmolStr,
    opened_ms: i64,
    /// When the time played was acknowledged; at first, when it was opened.
    acknowledged_ms: i64,
    /// When a live session expires or a hold ends.
    deadline_ms: i64,
    state: State<K>,
}

#[derive(Debug)]
enum State<K> {
    /// With its keeper, where its connection is kept.
    Live(Option<K>),
    /// Over by a dropped connection.
    Held,
}

impl<K> Sessions<K> {
    /// No sessions.
    #[must_use]
    pub fn new(limits: SessionLimits) -> Self {
        let quota = Quota::new(limits.count_max, 1);
        Self { limits, quota, entries: BTreeMap::new(), by_seat: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    /// Shares the places between a number of operators, so that none takes all (see [`Quota`]). Called before a session is
    /// opened.
    #[must_use]
    pub fn shared_by(self, operators: usize) -> Self {
        Self { quota: Quota::new(self.limits.count_max, operators), ..self }
    }

    /// Opens a session under a fresh id. The request that opened a live session gets its id again.
    ///
    /// # Errors
    /// [`SessionRefused::InUse`], [`SessionRefused::Held`], [`SessionRefused::RequestIdReused`] or
    /// [`SessionRefused::Full`].
    pub fn open(
        &mut self,
        of: SessionOf,
        request_id: &str,
        fresh: SessionId,
        now_ms: i64,
    ) -> Result<SessionId, SessionRefused> {
        self.expire(now_ms);
        let place = seat_key(&of);
        if let Some((id, entry)) = self.by_seat.get(&place).and_then(|id| Some((*id, self.entries.get(id)?))) {
            return match entry.state {
                State::Held => Err(SessionRefused::Held { left_ms: entry.deadline_ms.saturating_sub(now_ms) }),
                State::Live(_) if entry.request_id != request_id => Err(SessionRefused::InUse),
                State::Live(_) if entry.of != of => Err(SessionRefused::RequestIdReused),
                State::Live(_) => Ok(id),
            };
        }
        if self.entries.len() >= self.limits.count_max || !self.quota.take(operator(&of.stream)) {
            return Err(SessionRefused::Full);
        }
        let deadline_ms = now_ms.saturating_add(self.idle_ms_max(&of));
        let entry = Entry {
            of,
            request_id: request_id.into(),
            opened_ms: now_ms,
            acknowledged_ms: now_ms,
            deadline_ms,
            state: State::Live(None),
        };
        self.entries.insert(fresh, entry);
        self.by_seat.insert(place, fresh);
        self.deadlines.insert((deadline_ms, fresh));
        Ok(fresh)
    }

    /// An action in a session: it must be live and, as far as `game` is known, bound to it; it's idle from now on.
    ///
    /// # Errors
    /// [`SessionRefused::Expired`], also for another player's session, or [`SessionRefused::Mismatch`].
    pub fn act(
        &mut self,
        id: SessionId,
        stream: &StreamId,
        game: Option<(&str, Currency)>,
        now_ms: i64,
    ) -> Result<(), SessionRefused> {
        self.expire(now_ms);
        let entry = self.live(id)?;
        if entry.of.stream != *stream {
            return Err(SessionRefused::Expired);
        }
        if game.is_some_and(|(game, currency)| entry.of.game != game || entry.of.currency != currency) {
            return Err(SessionRefused::Mismatch);
        }
        self.acted(id, now_ms);
        Ok(())
    }

    /// A bet in a session: an action that is refused while a reality check is due and when the time is up. Returns the
    /// session's terms.
    ///
    /// # Errors
    /// As [`Sessions::act`], [`SessionRefused::TimeUp`] or [`SessionRefused::RealityCheckDue`].
    pub fn bet(
        &mut self,
        id: SessionId,
        stream: &StreamId,
        game: (&str, Currency),
        now_ms: i64,
    ) -> Result<&SessionOf, SessionRefused> {
        self.act(id, stream, Some(game), now_ms)?;
        let entry = self.live(id)?;
        let passed = |since: i64, limit: Option<NonZeroU32>| {
            limit.is_some_and(|limit| now_ms.saturating_sub(since) >= i64::from(limit.get()))
        };
        if passed(entry.opened_ms, entry.of.profile.session_ms_max) {
            return Err(SessionRefused::TimeUp);
        }
        if passed(entry.acknowledged_ms, entry.of.profile.reality_check_ms) {
            return Err(SessionRefused::RealityCheckDue);
        }
        Ok(&entry.of)
    }

    /// The player has seen how long the session has lasted: an action, and the reality check's interval begins anew.
    /// Returns the session's terms, and its milliseconds so far.
    ///
    /// # Errors
    /// [`SessionRefused::Expired`].
    pub fn acknowledge(&mut self, id: SessionId, now_ms: i64) -> Result<(&SessionOf, i64), SessionRefused> {
        self.expire(now_ms);
        self.live(id)?;
        self.acted(id, now_ms);
        let entry = self.live(id)?;
        entry.acknowledged_ms = now_ms;
        Ok((&entry.of, now_ms.saturating_sub(entry.opened_ms)))
    }

    /// The terms of a live session.
    pub fn of(&mut self, id: SessionId, now_ms: i64) -> Option<&SessionOf> {
        self.expire(now_ms);
        self.live(id).ok().map(|entry| &entry.of)
    }

    /// Milliseconds without an action after which a session expires: the service's limit or its profile's (BW-26).
    #[must_use]
    pub fn idle_ms_max(&self, of: &SessionOf) -> i64 {
        let profile = of.profile.idle_ms_max.map_or(i64::MAX, |limit| limit.get().into());
        self.limits.idle_ms_max.min(profile)
    }

    /// Ties a live session to a connection. It's no action.
    ///
    /// # Errors
    /// [`SessionRefused::Expired`], or [`SessionRefused::InUse`] while another connection keeps it.
    pub fn keep(&mut self, id: SessionId, keeper: K, now_ms: i64) -> Result<(), SessionRefused> {
        self.expire(now_ms);
        match &mut self.live(id)?.state {
            State::Live(kept @ None) => {
                *kept = Some(keeper);
                Ok(())
            }
            _ => Err(SessionRefused::InUse),
        }
    }

    /// The connection of a kept session dropped: the session is over, and the game is held for the player (BW-27).
    /// Without effect on one that is over already.
    pub fn drop_connection(&mut self, id: SessionId, now_ms: i64) {
        self.expire(now_ms);
        if let Ok(entry) = self.live(id) {
            entry.state = State::Held;
            self.move_deadline(id, now_ms.saturating_add(self.limits.hold_ms));
        }
    }

    /// Milliseconds for which a game is held after a dropped connection.
    #[must_use]
    pub fn hold_ms(&self) -> u32 {
        u32::try_from(self.limits.hold_ms.max(0)).unwrap_or(u32::MAX)
    }

    /// Closes a session and gives back its keeper. Without effect on one that is over: a hold goes on.
    pub fn close(&mut self, id: SessionId, now_ms: i64) -> Option<K> {
        self.expire(now_ms);
        self.live(id).ok()?;
        match self.remove(id)?.state {
            State::Live(keeper) => keeper,
            State::Held => None,
        }
    }

    /// Milliseconds that a live session has left without an action; `None` when it's over.
    pub fn left_ms(&mut self, id: SessionId, now_ms: i64) -> Option<i64> {
        self.expire(now_ms);
        self.live(id).ok().map(|entry| entry.deadline_ms.saturating_sub(now_ms))
    }

    /// Live sessions and holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Drops sessions that have expired and holds that are over.
    fn expire(&mut self, now_ms: i64) {
        while let Some((deadline_ms, id)) = self.deadlines.first().copied()
            && deadline_ms <= now_ms
        {
            self.remove(id);
        }
    }

    fn live(&mut self, id: SessionId) -> Result<&mut Entry<K>, SessionRefused> {
        let entry = self.entries.get_mut(&id).ok_or(SessionRefused::Expired)?;
        if matches!(entry.state, State::Live(_)) { Ok(entry) } else { Err(SessionRefused::Expired) }
    }

    fn acted(&mut self, id: SessionId, now_ms: i64) {
        if let Some(idle_ms_max) = self.entries.get(&id).map(|entry| self.idle_ms_max(&entry.of)) {
            self.move_deadline(id, now_ms.saturating_add(idle_ms_max));
        }
    }

    fn move_deadline(&mut self, id: SessionId, deadline_ms: i64) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.deadlines.remove(&(entry.deadline_ms, id));
            self.deadlines.insert((deadline_ms, id));
            entry.deadline_ms = deadline_ms;
        }
    }

    fn remove(&mut self, id: SessionId) -> Option<Entry<K>> {
        let entry = self.entries.remove(&id)?;
        self.deadlines.remove(&(entry.deadline_ms, id));
        self.by_seat.remove(&seat_key(&entry.of));
        self.quota.give(operator(&entry.of.stream));
        Some(entry)
    }
}
