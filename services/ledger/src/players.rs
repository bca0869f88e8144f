//! Players' states as of the latest [snapshot](crate::snapshot), in a keyspace of the store of views.
//!
//! Each snapshot adds a sorted file ("run") with the players that changed since the previous snapshot. A player's
//! current state is in the newest run that contains the player.

#[cfg(test)]
mod tests;

use motherlode_log::{Hash, Position};
use motherlode_state::{Books, Frozen, Hand, PlayerState, StreamId};
use motherlode_views::{Checkpoint, Keyspace, KeyspaceTables, Run, Store, ViewError, Writer, filter_hash, merge};
use parking_lot::{Mutex, RwLock};
use std::{
    ops::{ControlFlow, Deref},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// Version of the state in a snapshot. A build uses only snapshots with its own version; without such a snapshot, it
/// replays the log.
///
/// Raise the version by 1 for a change that gives the same log a different state: an event is applied differently, or
/// an amount or a field has another value. Raise it too for a change that gives the same state a different encoding: a
/// field or variant of the books, of a player's state, or of the key of request names was added, removed, moved or
/// given another type.
///
/// No new version is needed for moved code, new kinds of events or stricter refusals. The tests `state_version_*`
/// compute the states of test logs with every kind of event and compare their digests with stored digests.
pub(crate) const STATE_VERSION: u32 = 9;

pub(crate) static PLAYERS: Keyspace =
    Keyspace { name: "players", version: STATE_VERSION, widths: None, filtered: u16::MAX };

const AT_ONCE: usize = 16;
/// Maximum number of players visited during one lock of the books, because the writer may be waiting for this lock.
pub(crate) const LOOKED_AT: usize = 64;
const BATCH: usize = 1 << 17;

pub(crate) struct Players {
    store: Arc<Store>,
    runs: RwLock<Arc<[Run]>>,
    players_max: usize,
    hand: Mutex<Hand>,
    read: AtomicU64,
    pub(crate) failure: watch::Sender<Option<String>>,
}

pub(crate) type Changed = (Vec<u8>, Arc<PlayerState>);

#[derive(Default)]
pub(crate) struct Written(Vec<Run>);

impl Players {
    pub(crate) fn new(store: &Arc<Store>, players_max: usize) -> Self {
        Self {
            store: Arc::clone(store),
            runs: RwLock::new(Arc::default()),
            players_max,
            hand: Mutex::default(),
            read: AtomicU64::new(0),
            failure: watch::Sender::default(),
        }
    }

    pub(crate) fn open(store: &Arc<Store>, checkpoint: &Checkpoint, players_max: usize) -> Result<Self, ViewError> {
        let players = Self::new(store, players_max);
        let missing = ViewError::Entry { keyspace: PLAYERS.name, reason: "its version is not this build's" };
        let named = checkpoint.runs(&PLAYERS).ok_or(missing)?;
        let runs = named.iter().map(|run| store.run(run, &PLAYERS, u64::MAX)).collect::<Result<_, ViewError>>()?;
        *players.runs.write() = runs;
        Ok(players)
    }

    pub(crate) fn fixed(&self) -> FixedPlayers {
        FixedPlayers(Arc::clone(&self.runs.read()))
    }

    pub(crate) fn tables(&self, written: &Written) -> KeyspaceTables {
        let runs: Vec<_> = self.runs.read().iter().chain(&written.0).cloned().collect();
        KeyspaceTables::new(&PLAYERS, &runs)
    }

    pub(crate) fn ids(&self) -> Vec<Hash> {
        self.runs.read().iter().flat_map(Run::ids).collect()
    }

    pub(crate) fn may_contain(&self, stream: &StreamId) -> bool {
        let Some(key) = stream_key(stream) else { return false };
        let hash = filter_hash(&key);
        self.runs.read().iter().any(|run| run.may_contain(&key, hash))
    }

    /// On failure, the snapshot is removed, so that the next start replays the log.
    pub(crate) fn find(&self, stream: &StreamId) -> Result<Option<PlayerState>, ViewError> {
        let found = self.fixed().find(stream).inspect_err(|error| self.give_up(error))?;
        self.read.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
        Ok(found)
    }

    pub(crate) fn after(
        &self,
        operator: &str,
        prefix: &str,
        after: &str,
        players_max: usize,
    ) -> Result<Vec<(String, PlayerState)>, ViewError> {
        self.fixed().after(operator, prefix, after, players_max).inspect_err(|error| self.give_up(error))
    }

    pub(crate) fn player_reloads(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn give_up(&self, error: &ViewError) {
        let partition = self.store.partition();
        let is_first = self.failure.send_if_modified(|failure| {
            let is_first = failure.is_none();
            if is_first {
                *failure = Some(format!("partition {partition}: failed to read a player's state: {error}"));
            }
            is_first
        });
        if is_first {
            tracing::error!(partition, %error, folder = %self.store.folder().display(),
                "failed to read a player's state: the snapshot is removed, so that the next start folds the log");
            self.remove_snapshot();
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    pub(crate) fn remove_snapshot(&self) {
        if let Err(error) = self.store.forget() {
            tracing::error!(%error, "failed to remove the snapshot");
        }
    }

    pub(crate) fn forget(&self) {
        self.remove_snapshot();
        *self.runs.write() = Arc::default();
        *self.hand.lock() = Hand::default();
        self.failure.send_replace(None);
    }

    pub(crate) fn wants_snapshot(&self, books: &Books) -> bool {
        books.players_in_memory() > self.players_max && books.players_changed() > self.players_max / 2
    }

    pub(crate) fn load(&self, books: &mut Books, stream: &StreamId, state: PlayerState) {
        self.make_room(books, AT_ONCE);
        books.load(stream, state);
    }

    /// Evicts players if the maximum number is in memory. Visits at most `places` players, and returns whether players
    /// remain to be visited.
    pub(crate) fn make_room(&self, books: &mut Books, places: usize) -> bool {
        if books.players_in_memory() < self.players_max {
            return false;
        }
        let mut hand = self.hand.lock();
        let recent = books.players_in_memory() > self.players_max.saturating_add(self.players_max / 8);
        !books.evict(&mut hand, places, recent)
    }

    /// During a replay, writes the changed players to disk and evicts players from memory. `others` are the digests of
    /// other tables that must not be removed.
    pub(crate) fn unload(&self, books: &mut Books, position: Position, others: &[Hash]) -> Result<(), ViewError> {
        let (mut frozen, mut written) = (books.freeze(), Written::default());
        each_once(&mut frozen);
        let done = self.write_frozen(&frozen, position, || &*books, &mut written);
        if done.is_ok() {
            self.take(written);
        }
        drop(books.thaw(done.is_err().then_some(frozen)));
        done?;
        if self.merge()? {
            self.store.collect(&[&self.ids(), others].concat());
        }
        for _ in 0..2 {
            while self.make_room(books, LOOKED_AT) {}
        }
        Ok(())
    }

    /// [`each_once`] must first sort `frozen` and remove duplicates.
    pub(crate) fn write_frozen<B: Deref<Target = Books>>(
        &self,
        frozen: &Frozen,
        position: Position,
        books: impl Fn() -> B,
        written: &mut Written,
    ) -> Result<(), ViewError> {
        let mut changed = vec![];
        for (operator, places) in frozen {
            for some in places.chunks(LOOKED_AT) {
                let books = books();
                for place in some {
                    let players = books.frozen(operator, *place);
                    changed.extend(players.map(|(player, state)| (key(operator, player), Arc::clone(state))));
                }
                drop(books);
                if changed.len() >= BATCH {
                    self.write(std::mem::take(&mut changed), position, written)?;
                }
            }
        }
        if changed.is_empty() { Ok(()) } else { self.write(changed, position, written) }
    }

    pub(crate) fn write(
        &self,
        mut changed: Vec<Changed>,
        position: Position,
        written: &mut Written,
    ) -> Result<(), ViewError> {
        changed.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let from = self.runs.read().last().map_or(0, Run::to);
        let mut writer = Writer::new(&self.store, &PLAYERS, (from, position), u64::MAX);
        for (key, state) in changed {
            let wrong = |_| ViewError::Entry { keyspace: PLAYERS.name, reason: "the entry cannot be encoded" };
            writer.put(&key, &postcard::to_allocvec(&*state).map_err(wrong)?)?;
        }
        written.0.push(writer.finish()?);
        Ok(())
    }

    pub(crate) fn take(&self, written: Written) {
        let mut runs = self.runs.write();
        *runs = runs.iter().cloned().chain(written.0).collect();
    }

    /// Returns whether any runs were merged. Their files stay until a snapshot names the new run.
    pub(crate) fn merge(&self) -> Result<bool, ViewError> {
        let runs = Arc::clone(&self.runs.read());
        let Some(range) = motherlode_views::mergeable(&runs) else { return Ok(false) };
        let merged = Writer::merge(&self.store, &PLAYERS, &runs[range.clone()], u64::MAX);
        let merged = merged.inspect_err(|error| {
            if error.is_damage() {
                self.give_up(error);
            }
        })?;
        let mut runs = runs.to_vec();
        runs.splice(range, [merged]);
        *self.runs.write() = runs.into();
        Ok(true)
    }
}

/// Immutable set of runs. The runs stay readable after their files are removed, because the files are open.
pub(crate) struct FixedPlayers(Arc<[Run]>);

impl FixedPlayers {
    pub(crate) fn find(&self, stream: &StreamId) -> Result<Option<PlayerState>, ViewError> {
        let Some(key) = stream_key(stream) else { return Ok(None) };
        for run in self.0.iter().rev() {
            if let Some(state) = run.get(&key)? {
                return decode(&state).map(Some);
            }
        }
        Ok(None)
    }

    pub(crate) fn each(&self, mut each: impl FnMut(StreamId, PlayerState)) -> Result<(), ViewError> {
        merge(self.0.iter().map(Run::cursor).collect(), |key, state| {
            let name = std::str::from_utf8(key).ok().and_then(|name| name.split_once('\0'));
            let wrong = ViewError::Entry { keyspace: PLAYERS.name, reason: "its name is malformed" };
            let (operator, player) = name.ok_or(wrong)?;
            each(StreamId::player(operator, player), decode(state)?);
            Ok::<_, ViewError>(ControlFlow::Continue(()))
        })
    }

    /// Returns up to `players_max` players whose names follow `after`, sorted by name.
    pub(crate) fn after(
        &self,
        operator: &str,
        prefix: &str,
        after: &str,
        players_max: usize,
    ) -> Result<Vec<(String, PlayerState)>, ViewError> {
        let (begin, mut found) = (key(operator, prefix), vec![]);
        let next = [&key(operator, after)[..], &[0]].concat();
        let from = if after < prefix { &begin } else { &next };
        let cursors = self.0.iter().map(|run| run.cursor_from(from)).collect::<Result<_, _>>()?;
        merge(cursors, |key, state| {
            if found.len() == players_max || !key.starts_with(&begin) {
                return Ok::<_, ViewError>(ControlFlow::Break(()));
            }
            let name = key.get(operator.len() + 1..).and_then(|name| std::str::from_utf8(name).ok());
            let wrong = ViewError::Entry { keyspace: PLAYERS.name, reason: "its name is malformed" };
            found.push((name.ok_or(wrong)?.to_owned(), decode(state)?));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}

fn decode(state: &[u8]) -> Result<PlayerState, ViewError> {
    let wrong = |_| ViewError::Entry { keyspace: PLAYERS.name, reason: "the entry cannot be decoded" };
    postcard::from_bytes(state).map_err(wrong)
}

/// A zero byte separates the two names, because names contain no zero byte.
pub(crate) fn key(operator: &str, player: &str) -> Vec<u8> {
    [operator.as_bytes(), &[0], player.as_bytes()].concat()
}

fn stream_key(stream: &StreamId) -> Option<Vec<u8>> {
    match stream {
        StreamId::Player { operator, player } => Some(key(operator, player)),
        _ => None,
    }
}

pub(crate) fn each_once(frozen: &mut Frozen) {
    for (_, places) in frozen {
        places.sort_unstable();
        places.dedup();
    }
}
