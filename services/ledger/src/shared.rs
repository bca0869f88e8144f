//! What the writer, the projector and all handles of one partition share.

use crate::{
    AppendError,
    index::{Held, Index, Seen, request_key},
};
use motherlode_books::{Books, Stage, StreamId};
use motherlode_log::{Position, Reader};
use motherlode_proto::convert::record::Logged;
use parking_lot::RwLock;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// Gives Unix milliseconds. The only clock of the ledger; tests bring their own.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Commits kept decoded for followers; older ones are read from the log.
const RECENT_MAX: usize = 16_384;

/// What the writer hands to the projector.
pub(crate) struct Projection {
    pub(crate) logged: Vec<Arc<Logged>>,
    pub(crate) held: Held,
}

pub(crate) struct Shared {
    pub(crate) partition: u32,
    /// Durable state, and nothing else.
    pub(crate) books: RwLock<Books>,
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) index: Index,
    pub(crate) recent: RwLock<Recent>,
    /// The last durable record.
    pub(crate) head: watch::Sender<Held>,
    pub(crate) writable: AtomicBool,
    pub(crate) clock: Clock,
    pub(crate) answer_wait_max: Option<Duration>,
}

/// What is durable but perhaps not yet in the index, and the newest commits decoded.
#[derive(Default)]
pub(crate) struct Recent {
    /// By [`request_key`].
    pub(crate) requests: HashMap<Vec<u8>, Seen>,
    /// The newest commits, dense, in order.
    pub(crate) commits: VecDeque<Arc<Logged>>,
}

impl Shared {
    /// Makes a durable group visible.
    pub(crate) fn publish(&self, stage: Stage, logged: &[Arc<Logged>], requests: HashMap<Vec<u8>, Seen>, held: Held) {
        {
            let mut recent = self.recent.write();
            recent.requests.extend(requests);
            recent.commits.extend(logged.iter().cloned());
            let excess = recent.commits.len().saturating_sub(RECENT_MAX);
            recent.commits.drain(..excess);
        }
        self.books.write().absorb(stage);
        self.head.send_replace(held);
    }

    /// The commit that a request made, if it made one.
    pub(crate) fn seen(&self, stream: &StreamId, request_id: &str, key: &[u8]) -> Result<Option<Seen>, AppendError> {
        if let Some(seen) = self.recent.read().requests.get(key) {
            return Ok(Some(*seen));
        }
        // Without the index nobody can know: a request that may be a repetition is not applied.
        self.index.request(stream, request_id).map_err(|error| AppendError::Unknown { reason: error.to_string() })
    }

    /// Forgets what the index holds now.
    pub(crate) fn indexed(&self, logged: &[Arc<Logged>]) {
        let mut recent = self.recent.write();
        for Logged { commit, .. } in logged.iter().map(AsRef::as_ref) {
            recent.requests.remove(&request_key(&commit.stream, &commit.request_id));
        }
    }

    pub(crate) fn durable(&self) -> Position {
        self.head.borrow().position
    }

    /// No appends from here on; reads go on.
    pub(crate) fn fail(&self) {
        self.writable.store(false, Ordering::Release);
    }
}
