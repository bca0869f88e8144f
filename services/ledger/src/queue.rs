//! Proposals on their way to the one that has them judged, and their verdicts back.

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

/// An item of a replica's queue, as its forwarder takes it out.
#[allow(clippy::large_enum_variant, reason = "all but one are proposals")]
pub(crate) enum Message {
    Append(Proposed),
    /// The ledger closes; what came before is answered.
    Close,
}

/// The result of a proposal: its commit, made now or by an earlier request with the same id.
pub type Verdict = Result<Arc<Logged>, AppendError>;

/// Verdicts that come together to one who waits for many, each with the ticket of its proposal.
pub type Verdicts = Vec<(u64, Verdict)>;

/// A proposal, and who waits for its verdict.
pub(crate) struct Proposed {
    pub(crate) proposal: Proposal,
    /// Of its request.
    pub(crate) name: Name,
    /// No commit up to here is of its request.
    pub(crate) checked_to: Position,
    /// The settled round that it voids.
    pub(crate) recalled: Option<Box<SettledRound>>,
    /// The proposing process; `None` for this one.
    pub(crate) proposer: Option<Arc<Proposer>>,
    /// When its caller has gone: it's not judged any more.
    pub(crate) until: Option<Instant>,
    /// Of a replica's: the trace that it's part of.
    pub(crate) traceparent: Option<Box<str>>,
    /// Of its operator's in the queue.
    pub(crate) slot: QueueSlot,
    pub(crate) reply: Reply,
}

/// Who waits for a verdict. Whoever has gone away asks again with the same request id.
pub(crate) enum Reply {
    /// One who waits for this alone.
    One(oneshot::Sender<Verdict>),
    /// One who waits for many, and tells them apart by tickets.
    Many(u64, mpsc::UnboundedSender<Verdicts>),
}

/// Answers a group. Verdicts for the same waiter that follow each other go together: it's woken once.
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

/// A request's commit as the answer to a repetition.
///
/// # Errors
/// [`AppendError::RequestIdReused`] when this is another request, [`AppendError::RequestCancelled`] when it was cancelled.
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

/// Holder of the slots of other processes' proposals about anything but a player. No operator has this name.
const NODES: &str = "(nodes)";

/// The slots of the queue, shared by operators.
#[derive(Clone)]
pub(crate) struct QueueSlots {
    quota: Arc<Mutex<Quota>>,
    /// Open rounds of one operator.
    pub(crate) open_rounds_max: usize,
}

impl QueueSlots {
    pub(crate) fn new(options: &Options) -> Self {
        let quota = Arc::new(Mutex::new(Quota::new(options.queue_length_max, options.operators)));
        Self { quota, open_rounds_max: options.open_rounds_max }
    }

    /// Takes a slot for a proposal about a player, or of another process; other proposals of this process need none. `None`
    /// if no slot is left.
    pub(crate) fn take(&self, stream: &StreamId, is_remote: bool) -> Option<QueueSlot> {
        let holder = match stream {
            StreamId::Player { operator, .. } => operator.clone(),
            _ if is_remote => SmolStr::new_static(NODES),
            _ => return Some(QueueSlot(None)),
        };
        self.quota.lock().take(&holder).then(|| QueueSlot(Some((self.clone(), holder))))
    }
}

/// A slot in the queue, given back when it's dropped.
pub(crate) struct QueueSlot(Option<(QueueSlots, SmolStr)>);

impl Drop for QueueSlot {
    fn drop(&mut self) {
        if let Some((slots, operator)) = &self.0 {
            slots.quota.lock().give(operator);
        }
    }
}
