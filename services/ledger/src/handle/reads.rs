use super::{Handle, Way};
use crate::{FollowerViews, chain::ChainHead, error::FetchError};
use motherlode_log::{Hash, Position, ReadError, Record};
use motherlode_proto::convert::record::Logged;
use motherlode_state::{Books, PlayerState};
use motherlode_views::Store;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::watch;

impl Handle {
    pub fn index_behind(&self) -> u64 {
        self.shared.index.unwritten()
    }

    pub(crate) fn views(&self) -> Arc<Store> {
        self.shared.follower_views.store()
    }

    #[must_use]
    pub fn follower_views(&self) -> &FollowerViews {
        &self.shared.follower_views
    }

    pub fn request_bytes(&self) -> u64 {
        self.shared.requests.bytes()
    }

    pub fn rests_on(&self) -> ChainHead {
        self.shared.rests_on
    }

    pub fn snapshot(&self) -> Position {
        self.shared.snapshot.load(Ordering::Relaxed)
    }

    pub fn players_in_memory(&self) -> u64 {
        self.books(Books::players_in_memory) as u64
    }

    pub fn player_reloads(&self) -> u64 {
        self.shared.players.player_reloads()
    }

    pub fn unreadable_players(&self) -> watch::Receiver<Option<String>> {
        self.shared.players.failure.subscribe()
    }

    pub fn state_difference(&self) -> watch::Receiver<Option<String>> {
        self.shared.provenance.failure()
    }

    pub(crate) fn each_player(&self, mut each: impl FnMut(&PlayerState)) {
        let books = self.shared.books.read();
        books.players().for_each(|(.., player)| each(player));
        let evicted = self.shared.players.fixed().each(|stream, state| {
            if books.player(&stream).is_none() {
                each(&state);
            }
        });
        if let Err(error) = evicted {
            tracing::warn!(%error, "failed to read the players on disk: the result lacks some players");
        }
    }

    /// Returns up to `players_max` players whose names follow `after`, sorted by name. The players in memory are read
    /// before the tables, so that a player who is evicted meanwhile is not skipped.
    pub(crate) fn players_after<T>(
        &self,
        operator: &str,
        (prefix, after): (&str, &str),
        players_max: usize,
        make: impl Fn(&PlayerState) -> T,
    ) -> Result<BTreeMap<String, T>, FetchError> {
        let mut found: BTreeMap<_, _> = self.books(|books| {
            let players = books.players_after(operator, prefix, after).take(players_max);
            players.map(|(name, player)| (name.to_owned(), make(player))).collect()
        });
        for (name, player) in self.shared.players.after(operator, prefix, after, players_max)? {
            found.entry(name).or_insert_with(|| make(&player));
        }
        while found.len() > players_max {
            found.pop_last();
        }
        Ok(found)
    }

    pub fn fetch(&self, position: Position) -> Result<Arc<Logged>, FetchError> {
        match self.past_record(position) {
            Some((_, logged)) => Ok(Arc::clone(logged)),
            None => self.shared.fetch(position),
        }
    }

    pub fn age_after(&self, position: Position) -> Result<Duration, FetchError> {
        if position >= self.durable() {
            return Ok(Duration::ZERO);
        }
        let age_ms = self.now_ms().saturating_sub(self.fetch(position + 1)?.commit.time_ms);
        Ok(Duration::from_millis(age_ms.try_into().unwrap_or_default()))
    }

    pub fn append_age(&self) -> Duration {
        match &self.way {
            Way::Here(desk) => desk.0.append_age().unwrap_or_default(),
            Way::There { .. } => Duration::ZERO,
        }
    }

    pub fn read(&self, from: Position, max: usize) -> Result<Vec<Arc<Logged>>, FetchError> {
        self.shared.read(from, max)
    }

    pub async fn read_apart(&self, from: Position, max: usize) -> Result<Vec<Arc<Logged>>, FetchError> {
        if let Some(recent) = self.shared.recent(from, max) {
            return Ok(recent);
        }
        let shared = Arc::clone(&self.shared);
        let read = tokio::task::spawn_blocking(move || shared.read(from, max)).await;
        read.map_err(|error| ReadError::Io(io::Error::other(error)))?
    }

    pub fn records(&self, from: Position, max: usize, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        match self.past_record(from) {
            Some((bytes, _)) => Ok(vec![Record { position: from, bytes: bytes.clone() }]),
            None => self.shared.reader.read(from, max, bytes_max),
        }
    }

    /// First position that is not archived.
    pub fn first(&self) -> Position {
        self.shared.reader.first()
    }

    pub(crate) fn identity(&self) -> Result<Option<Hash>, ReadError> {
        if self.durable() == 0 { Ok(None) } else { self.shared.reader.identity() }
    }

    /// Returns the positions of records whose hash has the same first 8 bytes as `hash`, latest first. The caller must
    /// compare the whole hash.
    pub fn with_hash(&self, hash: &Hash) -> Result<Vec<Position>, FetchError> {
        Ok(self.shared.index.with_hash(hash)?)
    }

    /// Returns the positions of commits with this name (such as a request id) or another name with the same hash,
    /// latest first. The caller must compare the names.
    pub(crate) fn with_name(&self, operator: &str, name: &str, max: usize) -> Result<Vec<Position>, FetchError> {
        Ok(self.shared.index.with_name(operator, name, max)?)
    }

    /// Returns hashes of consecutive records. The last records may not be durable yet.
    #[must_use]
    pub fn hashes(&self, from: Position, max: usize) -> Option<Vec<Hash>> {
        self.shared.hashes.lock().from(from, max)
    }
}
