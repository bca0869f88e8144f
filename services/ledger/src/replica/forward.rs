//! Forwards a replica's proposals to the writer. A proposal is sent again with the same request id if the connection
//! was lost or the outcome is unknown.

use super::link::{Client, Link, status_text};
use crate::{
    append::{AppendError, Proposal},
    core::{LedgerCore, is_by},
    queue::{Message, Proposed, Reply, Verdict, answer},
    standing::Standing,
    wire::{outcome_from_wire, proposal_to_wire},
};
use motherlode_log::Position;
use motherlode_proto::log::v1::{self, ProposeRequest, ProposeResponse, Verdict as WireVerdict};
use prost::Message as _;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep},
};
use tokio_stream::wrappers::ReceiverStream;

/// Maximum number of proposals per message; [`BYTES_MAX`] limits their total size. A proposal above [`BYTES_MAX`] is
/// sent alone.
const TOGETHER_MAX: usize = 256;
const BYTES_MAX: usize = 256 << 10;
const PAUSE: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(250);

type Unanswered = (Proposal, Reply, Result<(), AppendError>);

pub(super) struct Forwarder {
    shared: Arc<LedgerCore>,
    link: Arc<Link>,
    inbox: mpsc::Receiver<Message>,
    outstanding_max: usize,
    outstanding: BTreeMap<u64, Proposed>,
    tickets: u64,
    unsent: VecDeque<u64>,
    /// Committed proposals, by the position of the commit. A proposal is answered after the replica has applied the
    /// proposal's commit.
    decided: BTreeMap<Position, Vec<Unanswered>>,
}

enum Over {
    Closed,
    Lost(String),
}

impl Forwarder {
    pub(super) fn new(
        shared: Arc<LedgerCore>,
        link: Arc<Link>,
        inbox: mpsc::Receiver<Message>,
        outstanding_max: usize,
    ) -> Self {
        let (outstanding, unsent, decided) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Self { shared, link, inbox, outstanding_max, outstanding, tickets: 0, unsent, decided }
    }

    pub(super) async fn run(mut self) {
        loop {
            let link = Arc::clone(&self.link);
            let (number, client) = tokio::select! {
                linked = link.client() => linked,
                () = self.gather() => break,
            };
            let forwarded = tokio::select! {
                over = self.forward(client) => over,
                () = link.gone(number) => Over::Lost("the writer does not answer".to_owned()),
            };
            match forwarded {
                Over::Closed => break,
                Over::Lost(why) => self.link.lost(number, &why).await,
            }
            sleep(PAUSE).await;
        }
        let left = std::mem::take(&mut self.outstanding).into_values();
        answer(left.map(|left| (left.reply, Err(AppendError::Closing))));
    }

    async fn gather(&mut self) {
        let mut look = interval(LOOK_EVERY);
        let mut messages = Vec::with_capacity(TOGETHER_MAX);
        loop {
            tokio::select! {
                count = self.inbox.recv_many(&mut messages, TOGETHER_MAX) => {
                    if !self.take(&mut messages, count) {
                        return;
                    }
                }
                _ = look.tick() => self.give_up_late(),
            }
        }
    }

    async fn forward(&mut self, mut client: Client) -> Over {
        let (sender, receiver) = mpsc::channel(4);
        let opened = tokio::select! {
            opened = client.propose(ReceiverStream::new(receiver)) => opened,
            () = self.gather() => return Over::Closed,
        };
        let mut verdicts = match opened {
            Ok(verdicts) => verdicts.into_inner(),
            Err(status) => return Over::Lost(status_text(&status)),
        };
        self.unsent = self.outstanding.keys().copied().collect();
        let mut head = self.shared.head.subscribe();
        // Commits may have been applied while there was no connection, so their verdicts are sent now.
        self.release();
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut messages = Vec::with_capacity(TOGETHER_MAX);
        loop {
            tokio::select! {
                biased;
                message = verdicts.message() => match message {
                    Ok(Some(message)) => {
                        if let Err(why) = self.hear(message) {
                            return Over::Lost(why);
                        }
                        self.release();
                    }
                    Ok(None) => return Over::Lost("the writer closed the stream of its answers".to_owned()),
                    Err(status) => return Over::Lost(status_text(&status)),
                },
                changed = head.changed(), if !self.decided.is_empty() => match changed {
                    Ok(()) => self.release(),
                    Err(_) => return Over::Closed,
                },
                permit = sender.reserve(), if !self.unsent.is_empty() => match permit {
                    Ok(permit) => permit.send(self.next_message()),
                    Err(_) => return Over::Lost("the stream to the writer was closed".to_owned()),
                },
                count = self.inbox.recv_many(&mut messages, TOGETHER_MAX), if self.unsent.len() < TOGETHER_MAX => {
                    if !self.take(&mut messages, count) {
                        return Over::Closed;
                    }
                }
                _ = look.tick() => self.give_up_late(),
            }
        }
    }

    fn take(&mut self, messages: &mut Vec<Message>, count: usize) -> bool {
        let mut open = count > 0;
        for message in messages.drain(..) {
            match message {
                Message::Append(proposed) if self.outstanding.len() < self.outstanding_max => {
                    let most = self.shared.answer_wait_max.map(|wait| Instant::now() + wait);
                    let until = proposed.until.into_iter().chain(most).min();
                    self.tickets += 1;
                    self.outstanding.insert(self.tickets, Proposed { until, ..proposed });
                    self.unsent.push_back(self.tickets);
                }
                Message::Append(Proposed { reply, .. }) => answer([(reply, Err(AppendError::Busy))].into_iter()),
                Message::Close => open = false,
            }
        }
        open
    }

    fn next_message(&mut self) -> ProposeRequest {
        let (mut proposals, mut bytes, now) = (vec![], 0, Instant::now());
        while proposals.len() < TOGETHER_MAX && bytes < BYTES_MAX {
            let Some(ticket) = self.unsent.pop_front() else { break };
            let Some(outstanding) = self.outstanding.get(&ticket) else { continue };
            let left = outstanding.until.map(|until| until.saturating_duration_since(now).as_millis().max(1));
            let proposal = v1::Proposal {
                wait_ms: left.map_or(0, |left| u32::try_from(left).unwrap_or(u32::MAX)),
                traceparent: outstanding.traceparent.clone().unwrap_or_default().into(),
                ..proposal_to_wire(ticket, &outstanding.proposal)
            };
            bytes += proposal.encoded_len();
            proposals.push(proposal);
        }
        ProposeRequest { partition: self.shared.partition, proposals }
    }

    fn hear(&mut self, message: ProposeResponse) -> Result<(), String> {
        for WireVerdict { ticket, outcome } in message.verdicts {
            let decided = outcome_from_wire(outcome).map_err(|error| error.to_string())?;
            let (rests_on, verdict) = match decided {
                Ok(position) => (position, Ok(())),
                Err(AppendError::Unknown { reason }) => return Err(reason),
                Err(AppendError::Closing) => return Err(AppendError::Closing.to_string()),
                Err(error) => (message.position, Err(error)),
            };
            if let Some(Proposed { proposal, reply, .. }) = self.outstanding.remove(&ticket) {
                let proposal = Proposal { events: vec![], ..proposal };
                self.decided.entry(rests_on).or_default().push((proposal, reply, verdict));
            }
        }
        Ok(())
    }

    fn release(&mut self) {
        let durable = self.shared.durable();
        let later = self.decided.split_off(&(durable + 1));
        let ready = std::mem::replace(&mut self.decided, later);
        let commit = |position, proposal: Proposal| -> Verdict {
            let commit = self.shared.fetch(position).map_err(AppendError::unread)?;
            if !is_by(&commit, &proposal.stream, &proposal.request_id) {
                let reason =
                    format!("position {position} belongs to different requests in the writer's log and in the replica");
                self.shared.diverged(&reason);
                return Err(AppendError::Unknown { reason });
            }
            Ok(commit)
        };
        let commit = &commit;
        answer(ready.into_iter().flat_map(|(position, all)| {
            all.into_iter()
                .map(move |(proposal, reply, verdict)| (reply, verdict.and_then(|()| commit(position, proposal))))
        }));
    }

    fn give_up_late(&mut self) {
        let (now, is_cut) = (Instant::now(), matches!(*self.shared.standings.borrow(), Standing::Unconfirmed(_)));
        let late =
            self.outstanding.extract_if(.., |_, waiting| is_cut || waiting.until.is_some_and(|until| until <= now));
        let late: Vec<_> = late.map(|(_, late)| (late.reply, Err(AppendError::Late))).collect();
        answer(late.into_iter());
    }
}
