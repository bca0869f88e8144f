//! Reads of the log, and figures of the derived state.

use super::{Handle, Way};
use crate::{error::FetchError, index::Held};
use motherlode_books::Books;
use motherlode_log::{Hash, Position, ReadError, Record};
use motherlode_proto::convert::record::Logged;
use std::{io, sync::Arc, time::Duration};
use tokio::sync::watch;

impl Handle {
    /// Number of durable commits not yet in the index; a handful while it keeps up.
    pub fn index_behind(&self) -> u64 {
        self.durable().saturating_sub(self.shared.index.to())
    }

    /// Size of the idempotency table in memory, in bytes.
    pub fn request_bytes(&self) -> u64 {
        self.shared.requests.bytes()
    }

    /// The record of the snapshot that the start loaded: position 0 if it folded the whole log.
    pub fn rests_on(&self) -> Held {
        self.shared.rests_on
    }

    /// Players in memory.
    pub fn players_in_memory(&self) -> u64 {
        self.books(Books::players_in_memory) as u64
    }

    /// Number of players reloaded since the start from the files next to the index.
    pub fn players_read(&self) -> u64 {
        self.shared.players.players_read()
    }

    /// Why players cannot be read, once one could not be, and a way to wait for that.
    pub fn unreadable_players(&self) -> watch::Receiver<Option<String>> {
        self.shared.players.failure.subscribe()
    }

    /// The first difference between another build's state and the fold of the log, and a way to wait for one.
    pub fn state_difference(&self) -> watch::Receiver<Option<String>> {
        self.shared.provenance.failure()
    }

    /// One durable commit.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub fn fetch(&self, position: Position) -> Result<Arc<Logged>, FetchError> {
        self.shared.fetch(position)
    }

    /// Age of the oldest durable commit after a position, by the log's time; zero without one. Reads that commit.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub fn age_after(&self, position: Position) -> Result<Duration, FetchError> {
        if position >= self.durable() {
            return Ok(Duration::ZERO);
        }
        let age_ms = self.now_ms().saturating_sub(self.fetch(position + 1)?.commit.time_ms);
        Ok(Duration::from_millis(age_ms.try_into().unwrap_or_default()))
    }

    /// Age of the oldest unfinished append; zero without one, and in a process without the partition's writer.
    pub fn append_age(&self) -> Duration {
        match &self.way {
            Way::Here(desk) => desk.0.append_age().unwrap_or_default(),
            Way::There { .. } => Duration::ZERO,
        }
    }

    /// Durable commits from a position on, at most `max`; empty at the end.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub fn read(&self, from: Position, max: usize) -> Result<Vec<Arc<Logged>>, FetchError> {
        self.shared.read(from, max)
    }

    /// The same; commits not in memory are read and decoded outside the threads that answer calls.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn read_apart(&self, from: Position, max: usize) -> Result<Vec<Arc<Logged>>, FetchError> {
        if let Some(recent) = self.shared.recent(from, max) {
            return Ok(recent);
        }
        let shared = Arc::clone(&self.shared);
        let read = tokio::task::spawn_blocking(move || shared.read(from, max)).await;
        read.map_err(|error| ReadError::Io(io::Error::other(error)))?
    }

    /// Stored records from a position on, in order: at most `max` records and `bytes_max` bytes, but always one record, even a
    /// longer one; empty at the end.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn records(&self, from: Position, max: usize, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        self.shared.reader.read(from, max, bytes_max)
    }

    /// Hashes of the records from a position on, at most `max`, as they were chained when they were written here; `None` if they
    /// are no longer in memory. Some may be of records that are not durable yet.
    #[must_use]
    pub fn hashes(&self, from: Position, max: usize) -> Option<Vec<Hash>> {
        self.shared.hashes.lock().from(from, max)
    }
}
