use crate::{
    append::{AppendError, Proposal},
    options::Options,
    requests::Name,
};
use motherlode_log::Position;
use motherlode_proto::convert::record::{Logged, Proposer};
use motherlode_state::{Quota, SettledRound, SmolStr, StreamId};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

#[allow(clippy::large_enum_variant, reason = "almost all values are the large variant")]
pub(crate) enum Message {
    Append(Proposed),
    Close,
}

pub type Verdict = Result<Arc<Logged>, AppendError>;

pub type Verdicts = Vec<(u64, Verdict)>;

pub(crate) struct Proposed {
    pub(crate) proposal: Proposal,
    pub(crate) name: Name,
    /// Position up to which the log has neither the request's commit nor a commit that causes the request's refusal.
    pub(crate) checked_to: Position,
    pub(crate) recalled: Option<Box<SettledRound>>,
    pub(crate) proposer: Option<Arc<Proposer>>,
    pub(crate) until: Option<Instant>,
    pub(crate) traceparent: Option<Box<str>>,
    pub(crate) slot: QueueSlot,
    pub(crate) reply: Reply,
}

pub(crate) enum Reply {
    One(oneshot::Sender<Verdict>),
    Many(u64, mpsc::UnboundedSender<Verdicts>),
}

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

/// Proposals of other processes to streams without an operator count against the queue limit under this name.
const NODES: &str = "(nodes)";

#[derive(Clone)]
pub(crate) struct QueueSlots {
    quota: Arc<Mutex<Quota>>,
}

impl QueueSlots {
    pub(crate) fn new(options: &Options) -> Self {
        Self { quota: Arc::new(Mutex::new(Quota::new(options.queue_length_max, options.operators))) }
    }

    pub(crate) fn take(&self, stream: &StreamId, is_remote: bool) -> Option<QueueSlot> {
        let holder = match stream {
            StreamId::Player { operator, .. } => operator.clone(),
            _ if is_remote => SmolStr::new_static(NODES),
            _ => return Some(QueueSlot(None)),
        };
        self.quota.lock().take(&holder).then(|| QueueSlot(Some((self.clone(), holder))))
    }
}

pub(crate) struct QueueSlot(Option<(QueueSlots, SmolStr)>);

impl Drop for QueueSlot {
    fn drop(&mut self) {
        if let Some((slots, operator)) = &self.0 {
            slots.quota.lock().give(operator);
        }
    }
}
