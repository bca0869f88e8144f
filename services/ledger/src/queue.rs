//! Queued proposals and their verdicts.

use crate::{
    append::{AppendError, Proposal},
    options::Options,
    requests::Name,
};
use motherlode_books::{Quota, SettledRound, SmolStr, StreamId};
use motherlode_log::Position;
use motherlode_proto::convert::record::{Logged, Proposer};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

/// Item of a replica's queue.
#[allow(clippy::large_enum_variant, reason = "all but one are proposals")]
pub(crate) enum Message {
    Append(Proposed),
    /// Close the ledger after answering earlier items.
    Close,
}

/// Result of a proposal: its commit, made now or by an earlier call with the same request id.
pub type Verdict = Result<Arc<Logged>, AppendError>;

/// Verdicts with their tickets, delivered together.
pub type Verdicts = Vec<(u64, Verdict)>;

/// Proposal with the receiver of its verdict.
pub(crate) struct Proposed {
    pub(crate) proposal: Proposal,
    /// Name of the request.
    pub(crate) name: Name,
    /// Position up to which the request has no commit.
    pub(crate) checked_to: Position,
    /// Settled round that it voids.
    pub(crate) recalled: Option<Box<SettledRound>>,
    /// Proposing process; `None` for this one.
    pub(crate) proposer: Option<Arc<Proposer>>,
    /// Caller's deadline; an expired proposal is dropped.
    pub(crate) until: Option<Instant>,
    /// Trace context of a replica's proposal.
    pub(crate) traceparent: Option<Box<str>>,
    /// Slot in the queue.
    pub(crate) slot: QueueSlot,
    pub(crate) reply: Reply,
}

/// Receiver of a verdict. A disconnected caller retries with the same request id.
pub(crate) enum Reply {
    /// Receiver of one verdict.
    One(oneshot::Sender<Verdict>),
    /// Receiver of many verdicts, identified by tickets.
    Many(u64, mpsc::UnboundedSender<Verdicts>),
}

/// Answers a group. Consecutive verdicts for the same receiver are sent together, with one wake-up.
pub(crate) fn answer(replies: impl Iterator<Item = (Reply, Verdict)>) {
    let mut together: Option<(mpsc::UnboundedSender<Verdicts>, Verdicts)> = None;
    for (reply, verdict) in replies {
        match (reply, &mut together) {
            (Reply::One(waiter), _) => drop(waiter.send(verdict)),
            (Reply::Many(ticket, waiter), Some((same, verdicts))) if same.same_channel(&waiter) => {
                verdicts.push((ticket, verdict));
            }
            (Reply::Many(ticket, waiter), _) => {
                if let Some((other, verdicts)) = together.replace((waiter, vec![(ticket, verdict)])) {
                    let _ = other.send(verdicts);
                }
            }
        }
    }
    if let Some((last, verdicts)) = together {
        let _ = last.send(verdicts);
    }
}

/// Returns the answer to a repeated request.
///
/// # Errors
/// [`AppendError::RequestIdReused`] for another request with this id; [`AppendError::RequestCancelled`] for a
/// cancellation.
pub(crate) fn repeated(logged: Arc<Logged>, fingerprint: [u8; 16]) -> Verdict {
    let request_id = || logged.commit.request_id.clone();
    if logged.commit.fingerprint == fingerprint {
        return Ok(logged);
    }
    Err(match logged.commit.is_cancelled() {
        true => AppendError::RequestCancelled { request_id: request_id() },
        false => AppendError::RequestIdReused { request_id: request_id() },
    })
}

/// Owner of the slots for other processes' proposals that concern no player. No operator can have this name.
const NODES: &str = "(nodes)";

/// Slots of the queue, shared by operators.
#[derive(Clone)]
pub(crate) struct QueueSlots {
    quota: Arc<Mutex<Quota>>,
    /// Maximum number of open rounds per operator.
    pub(crate) open_rounds_max: usize,
}

impl QueueSlots {
    pub(crate) fn new(options: &Options) -> Self {
        let quota = Arc::new(Mutex::new(Quota::new(options.queue_length_max, options.operators)));
        Self { quota, open_rounds_max: options.open_rounds_max }
    }

    /// Takes a slot for a proposal that concerns a player or comes from another process; other proposals need no slot.
    /// Returns `None` if the queue is full.
    pub(crate) fn take(&self, stream: &StreamId, is_remote: bool) -> Option<QueueSlot> {
        let holder = match stream {
            StreamId::Player { operator, .. } => operator.clone(),
            _ if is_remote => SmolStr::new_static(NODES),
            _ => return Some(QueueSlot(None)),
        };
        self.quota.lock().take(&holder).then(|| QueueSlot(Some((self.clone(), holder))))
    }
}

/// Slot of the queue, released when dropped.
pub(crate) struct QueueSlot(Option<(QueueSlots, SmolStr)>);

impl Drop for QueueSlot {
    fn drop(&mut self) {
        if let Some((slots, operator)) = &self.0 {
            slots.quota.lock().give(operator);
        }
    }
}
