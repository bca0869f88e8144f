//! In-memory table of sessions (BW-26, BW-27, PL-16).
//!
//! A session ends when it is closed, idle or disconnected. Bets are refused while a reality check is due, and after the
//! player has reached the time limit (PL-26). For each game, a player has at most one live session with real money and
//! one with play money.

use core::num::NonZeroU32;
use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::profile::Profile;
use super::quota::Quota;
use crate::values::{Currency, Minor, StreamId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    pub idle_ms_max: i64,
    /// Time in ms after a disconnection during which the player cannot open another session of the game (BW-27).
    pub hold_ms: i64,
    /// Maximum sum of live sessions and disconnected sessions whose game is still reserved.
    pub count_max: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { idle_ms_max: 30 * 60_000, hold_ms: 30_000, count_max: 100_000 }
    }
}

pub type SessionId = u128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOf {
    pub stream: StreamId,
    pub currency: Currency,
    pub game: SmolStr,
    pub jurisdiction: SmolStr,
    pub profile: Profile,
    pub loss_max: Option<Minor>,
    /// Maximum bet per round in minor units, if the player or the operator set a limit.
    pub bet_max: Option<Minor>,
    pub operator_session: SmolStr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefused {
    #[error("the player is already playing this game in another session or connection")]
    InUse,
    #[error("the connection was dropped; a session can be opened again in {left_ms} ms")]
    Held { left_ms: i64 },
    #[error("the session is over")]
    Expired,
    #[error("the session belongs to a different game or currency")]
    Mismatch,
    #[error("the request id was already used to open a different session")]
    RequestIdReused,
    #[error("a reality check is due: it must be acknowledged before the next bet")]
    RealityCheckDue,
    #[error("the session's time limit is reached: the session accepts no more bets")]
    TimeUp,
    #[error("the process cannot open more sessions for this operator; close a session, or retry later")]
    Full,
}

/// Sessions of a process. A session holds a `K`, the handle of its connection, until the session ends.
#[derive(Debug)]
pub struct Sessions<K> {
    limits: SessionLimits,
    quota: Quota,
    entries: BTreeMap<SessionId, Entry<K>>,
    by_seat: BTreeMap<SeatKey, SessionId>,
    deadlines: BTreeSet<(i64, SessionId)>,
}

/// Player, game, and whether the session is for real money (PL-17).
type SeatKey = (StreamId, SmolStr, bool);

fn seat_key(of: &SessionOf) -> SeatKey {
    (of.stream.clone(), of.game.clone(), of.currency.is_real())
}

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
    acknowledged_ms: i64,
    deadline_ms: i64,
    state: State<K>,
}

#[derive(Debug)]
enum State<K> {
    Live(Option<K>),
    Held,
}

impl<K> Sessions<K> {
    #[must_use]
    pub fn new(limits: SessionLimits) -> Self {
        let quota = Quota::new(limits.count_max, 1);
        Self { limits, quota, entries: BTreeMap::new(), by_seat: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    #[must_use]
    pub fn shared_by(self, operators: usize) -> Self {
        Self { quota: Quota::new(self.limits.count_max, operators), ..self }
    }

    /// If the same request already opened a session that is still live, returns that session's id.
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

    pub fn acknowledge(&mut self, id: SessionId, now_ms: i64) -> Result<(&SessionOf, i64), SessionRefused> {
        self.expire(now_ms);
        self.live(id)?;
        self.acted(id, now_ms);
        let entry = self.live(id)?;
        entry.acknowledged_ms = now_ms;
        Ok((&entry.of, now_ms.saturating_sub(entry.opened_ms)))
    }

    pub fn get(&mut self, id: SessionId, now_ms: i64) -> Option<&SessionOf> {
        self.expire(now_ms);
        self.live(id).ok().map(|entry| &entry.of)
    }

    #[must_use]
    pub fn idle_ms_max(&self, of: &SessionOf) -> i64 {
        let profile = of.profile.idle_ms_max.map_or(i64::MAX, |limit| limit.get().into());
        self.limits.idle_ms_max.min(profile)
    }

    pub fn keep(&mut self, id: SessionId, guard: K, now_ms: i64) -> Result<(), SessionRefused> {
        self.expire(now_ms);
        match &mut self.live(id)?.state {
            State::Live(kept @ None) => {
                *kept = Some(guard);
                Ok(())
            }
            _ => Err(SessionRefused::InUse),
        }
    }

    pub fn drop_connection(&mut self, id: SessionId, now_ms: i64) {
        self.expire(now_ms);
        if let Ok(entry) = self.live(id) {
            entry.state = State::Held;
            self.move_deadline(id, now_ms.saturating_add(self.limits.hold_ms));
        }
    }

    #[must_use]
    pub fn hold_ms(&self) -> u32 {
        u32::try_from(self.limits.hold_ms.max(0)).unwrap_or(u32::MAX)
    }

    pub fn close(&mut self, id: SessionId, now_ms: i64) -> Option<K> {
        self.expire(now_ms);
        self.live(id).ok()?;
        match self.remove(id)?.state {
            State::Live(guard) => guard,
            State::Held => None,
        }
    }

    pub fn left_ms(&mut self, id: SessionId, now_ms: i64) -> Option<i64> {
        self.expire(now_ms);
        self.live(id).ok().map(|entry| entry.deadline_ms.saturating_sub(now_ms))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

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
