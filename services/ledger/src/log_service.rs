use crate::{
    append::{AppendError, Proposal},
    core::Appended,
    error::FetchError,
    handle::{Handle, not_the_writer},
    queue::{Verdict, Verdicts},
    readers::{ReaderKind, Reading},
    remote::{Guard, Node, StreamBytes, Terms, check_length},
    rounds,
    standing::Standing,
    view_files,
    wire::{error_to_wire, proposal_from_wire},
};
use futures_util::stream;
use motherlode_log::{Position, ReadError, Record};
use motherlode_proto::{
    RpcResult,
    log::v1::{self as wire, log_service_server::LogService, verdict::Outcome},
};
use motherlode_runtime::{Caller, Reason, Refusal, Stop, trace::join};
use motherlode_state::{ANYONE, Event, SettledRound};
use std::{collections::BTreeMap, io, sync::Arc, time::Duration};
use tokio::{
    sync::{broadcast, mpsc, watch},
    time::Instant,
};
use tonic::{Request, Response, Status, Streaming, codegen::BoxStream};
use tracing::Span;

/// Maximum size of a response in bytes. A larger record is sent alone.
const READ_BYTES_MAX: usize = 4 << 20;
const FOLLOW_BYTES_MAX: usize = 256 << 10;
/// Maximum number of unanswered proposals per stream. At this limit, the service stops reading from the stream.
const IN_FLIGHT_MAX: usize = 16_384;
pub const PROPOSAL_BYTES_MAX: usize = 1 << 20;

#[derive(Clone)]
pub struct LogApi {
    written: Arc<[Handle]>,
    loaded: Arc<[Handle]>,
    partitions: u32,
    guard: Guard,
    stop: Stop,
}

impl LogApi {
    #[must_use]
    pub fn new<'a>(ledgers: impl IntoIterator<Item = &'a Handle>, partitions: u32, stop: Stop) -> Self {
        let loaded: Arc<[Handle]> = ledgers.into_iter().cloned().collect();
        let written = loaded.iter().filter(|ledger| !ledger.is_replica()).cloned().collect();
        Self { written, loaded, partitions, guard: Guard::default(), stop }
    }

    #[must_use]
    pub fn with_terms(self, terms: Terms) -> Self {
        Self { guard: Guard::new(terms), ..self }
    }

    fn written_partition(&self, partition: u32) -> Result<&Handle, Refusal> {
        if partition >= self.partitions {
            return Err(
                Refusal::new(Reason::PartitionUnknown, "there is no such partition").with("partition", partition)
            );
        }
        self.written.iter().find(|ledger| ledger.partition() == partition).ok_or_else(not_the_writer)
    }
}

#[tonic::async_trait]
impl LogService for LogApi {
    async fn get_head(&self, request: Request<wire::GetHeadRequest>) -> RpcResult<wire::GetHeadResponse> {
        let head = *self.written_partition(request.get_ref().partition)?.head().borrow();
        let (position, hash, partitions) = (head.position, head.hash.to_vec(), self.partitions);
        Ok(Response::new(wire::GetHeadResponse { position, hash, partitions }))
    }

    async fn read_records(&self, request: Request<wire::ReadRecordsRequest>) -> RpcResult<wire::ReadRecordsResponse> {
        let wire::ReadRecordsRequest { partition, from_position, records_max, bytes_max } = request.into_inner();
        let ledger = self.written_partition(partition)?.clone();
        let most = |asked: u32, most: usize| match usize::try_from(asked) {
            Ok(asked @ 1..) => asked.min(most),
            _ => most,
        };
        let (records, bytes) = (most(records_max, usize::MAX), most(bytes_max, READ_BYTES_MAX));
        let read = read(ledger, from_position, records, bytes).await.map_err(Refusal::from)?;
        let records = read.into_iter().map(|record| record.bytes.to_vec()).collect();
        Ok(Response::new(wire::ReadRecordsResponse { records }))
    }

    type FollowRecordsStream = BoxStream<wire::FollowRecordsResponse>;

    async fn follow_records(
        &self,
        request: Request<wire::FollowRecordsRequest>,
    ) -> RpcResult<Self::FollowRecordsStream> {
        let ledger = self.written_partition(request.get_ref().partition)?.clone();
        let from = request.remote_addr().map_or_else(|| ANYONE.to_owned(), |address| address.to_string());
        let name = Caller::from_request(&request).actor().unwrap_or(from);
        let tail = ledger.tail();
        // The log's end is read after the subscription to new records, so that no append is missed.
        let (sent, end) = (request.get_ref().after_position, ledger.durable());
        if sent > end {
            let message = "the log is shorter than the replica's state: the replica belongs to another log or is ahead of this log";
            return Err(Refusal::new(Reason::PositionAhead, message).with("position", end).into());
        }
        let mut standing = ledger.standing();
        standing.mark_changed();
        let reading = ledger.reading(ReaderKind::Replica, name, sent);
        let follow = Follow { ledger, stop: self.stop.clone(), tail, standing, sent, end, reading };
        let answers = stream::unfold(Some(follow), |follow| async {
            let mut follow = follow?;
            match follow.next().await {
                Ok(message) => Some((Ok(message?), Some(follow))),
                Err(error) => Some((Err(Refusal::from(error).into()), None)),
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn get_view_checkpoint(
        &self,
        request: Request<wire::GetViewCheckpointRequest>,
    ) -> RpcResult<wire::GetViewCheckpointResponse> {
        let ledger = self.written_partition(request.get_ref().partition)?;
        let credential = Caller::from_request(&request).actor().unwrap_or_else(|| ANYONE.to_owned());
        let pinned = view_files::pin(ledger, &credential, request.remote_addr()).await.map_err(Refusal::from)?;
        let digest = pinned.map(|digest| digest.to_vec()).unwrap_or_default();
        Ok(Response::new(wire::GetViewCheckpointResponse { digest }))
    }

    async fn read_view_file(
        &self,
        request: Request<wire::ReadViewFileRequest>,
    ) -> RpcResult<wire::ReadViewFileResponse> {
        let wire::ReadViewFileRequest { partition, digest, offset } = request.into_inner();
        let (content, length) = view_files::read_part(self.written_partition(partition)?, digest, offset).await?;
        Ok(Response::new(wire::ReadViewFileResponse { content, length }))
    }

    type ProposeStream = BoxStream<wire::ProposeResponse>;

    async fn propose(&self, request: Request<Streaming<wire::ProposeRequest>>) -> RpcResult<Self::ProposeStream> {
        let (sender, verdicts) = mpsc::unbounded_channel();
        let node = Node::new(&Caller::from_request(&request));
        let (api, proposals) = (self.clone(), request.into_inner());
        let bytes = api.guard.budget.stream(&node.proposer.credential);
        let proposing = Proposing {
            api,
            node,
            bytes,
            ledger: None,
            proposals: Some(proposals),
            sender,
            verdicts,
            in_flight: 0,
            spans: BTreeMap::new(),
        };
        let answers = stream::unfold(Some(proposing), |proposing| async {
            let mut proposing = proposing?;
            match proposing.next().await {
                Ok(message) => Some((Ok(message?), Some(proposing))),
                Err(status) => Some((Err(status), None)),
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

async fn read(ledger: Handle, from: Position, records: usize, bytes: usize) -> Result<Vec<Record>, FetchError> {
    let read = tokio::task::spawn_blocking(move || ledger.records(from, records, bytes)).await;
    Ok(read.map_err(|error| ReadError::Io(io::Error::other(error)))??)
}

struct Follow {
    ledger: Handle,
    stop: Stop,
    tail: broadcast::Receiver<Appended>,
    standing: watch::Receiver<Standing>,
    sent: Position,
    end: Position,
    reading: Reading,
}

impl Follow {
    async fn next(&mut self) -> Result<Option<wire::FollowRecordsResponse>, FetchError> {
        loop {
            if self.standing.has_changed().unwrap_or_default() {
                return Ok(Some(self.message(self.sent + 1, vec![])));
            }
            if self.sent < self.end {
                let first = self.sent + 1;
                let most = usize::try_from(self.end - self.sent).unwrap_or(usize::MAX);
                let records = read(self.ledger.clone(), first, most, FOLLOW_BYTES_MAX).await?;
                self.sent = records.last().map(|record| record.position).ok_or(FetchError::Missing(first))?;
                let records = records.into_iter().map(|record| record.bytes.to_vec()).collect();
                return Ok(Some(self.message(first, records)));
            }
            tokio::select! {
                biased;
                () = self.stop.clone().requested() => return Ok(None),
                () = self.ledger.fenced() => return Ok(None),
                Ok(()) = self.standing.changed() => return Ok(Some(self.message(self.sent + 1, vec![]))),
                appended = self.tail.recv() => match appended {
                    Ok(appended) => {
                        if let Some(message) = self.take(appended) {
                            return Ok(Some(message));
                        }
                    }
                    Err(broadcast::error::RecvError::Lagged(_)) => self.end = self.ledger.durable(),
                    Err(broadcast::error::RecvError::Closed) => return Ok(None),
                },
            }
        }
    }

    fn take(&mut self, appended: Appended) -> Option<wire::FollowRecordsResponse> {
        let first_position = self.sent + 1;
        let (mut records, mut bytes) = (vec![], 0);
        let mut next = Some(appended);
        while let Some(Appended { first, records: group }) = next {
            let end = first + group.len() as Position - 1;
            if first > self.sent + 1 {
                self.end = end;
                break;
            }
            let skip = usize::try_from(self.sent + 1 - first).unwrap_or(usize::MAX);
            records.extend(group.iter().skip(skip).map(|record| record.to_vec()));
            bytes += group.iter().skip(skip).map(bytes::Bytes::len).sum::<usize>();
            self.sent = self.sent.max(end);
            next = if bytes < FOLLOW_BYTES_MAX { self.tail.try_recv().ok() } else { None };
        }
        (!records.is_empty()).then(|| self.message(first_position, records))
    }

    fn message(&mut self, first_position: Position, records: Vec<Vec<u8>>) -> wire::FollowRecordsResponse {
        self.reading.sent(self.sent);
        let stalled = match &*self.standing.borrow_and_update() {
            Standing::Stalled(why) | Standing::Unconfirmed(why) | Standing::Damaged(why) => why.clone(),
            // After a permanent failure the process exits, so no reason is sent.
            Standing::Takes | Standing::Failed(_) | Standing::Fenced(_) => String::new(),
        };
        wire::FollowRecordsResponse { first_position, records, stalled }
    }
}

fn recalled(ledger: &Handle, proposal: &Proposal) -> Result<Option<Box<SettledRound>>, FetchError> {
    let voided = proposal.events.iter().find_map(|event| match event {
        Event::RoundVoided { round, settled: Some(_), .. } => Some(*round),
        _ => None,
    });
    let recalled = voided.map(|round| rounds::recall(ledger, &proposal.stream, round)).transpose()?.flatten();
    Ok(recalled.map(Box::new))
}

struct Proposing {
    api: LogApi,
    node: Node,
    ledger: Option<Handle>,
    proposals: Option<Streaming<wire::ProposeRequest>>,
    sender: mpsc::UnboundedSender<Verdicts>,
    verdicts: mpsc::UnboundedReceiver<Verdicts>,
    in_flight: usize,
    bytes: StreamBytes,
    spans: BTreeMap<u64, Span>,
}

impl Proposing {
    async fn next(&mut self) -> Result<Option<wire::ProposeResponse>, Status> {
        loop {
            let (stop, ledger, reading) = (self.api.stop.clone(), self.ledger.clone(), self.proposals.is_some());
            if self.in_flight == 0 && !reading {
                return Ok(None);
            }
            let room = self.in_flight < IN_FLIGHT_MAX && self.bytes.has_room();
            let proposals = async {
                match &mut self.proposals {
                    Some(proposals) if room => proposals.message().await,
                    _ => std::future::pending().await,
                }
            };
            let fenced = async {
                match ledger {
                    Some(ledger) => ledger.fenced().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(verdicts) = self.verdicts.recv() => return Ok(Some(self.answer(verdicts))),
                () = stop.requested(), if reading => self.proposals = None,
                () = fenced => return Err(not_the_writer().into()),
                message = proposals => match message {
                    Ok(Some(message)) => self.take(message)?,
                    Ok(None) => self.proposals = None,
                    Err(status) => return Err(status),
                },
            }
        }
    }

    fn take(&mut self, message: wire::ProposeRequest) -> Result<(), Refusal> {
        let ledger = self.api.written_partition(message.partition)?.clone();
        if self.ledger.as_ref().is_some_and(|first| first.partition() != ledger.partition()) {
            return Err(Refusal::field("partition", "must not change within a stream"));
        }
        self.bytes.take(&message.proposals)?;
        let now = Instant::now();
        let mut too_long = vec![];
        let mut is_short = |proposal: &wire::Proposal| match check_length(proposal) {
            Ok(()) => true,
            Err(error) => {
                too_long.push((proposal.ticket, Err(error)));
                false
            }
        };
        let short: Vec<_> = message.proposals.into_iter().filter(|proposal| is_short(proposal)).collect();
        let parse = |proposal: wire::Proposal| {
            let (ticket, wait, traceparent) = (proposal.ticket, proposal.wait_ms, proposal.traceparent.clone());
            let until = (wait > 0).then(|| now + Duration::from_millis(wait.into()));
            let parsed = proposal_from_wire(proposal);
            let proposal = parsed.map_err(|fault| Refusal::field("proposals", fault.to_string()))?;
            Ok::<_, Refusal>((traceparent, (ticket, proposal, until)))
        };
        let parsed = short.into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        if !too_long.is_empty() {
            tracing::warn!(credential = %self.node.proposer.credential, count = too_long.len(), "refused proposals that exceed the size limit");
            self.in_flight += too_long.len();
            let _ = self.sender.send(too_long);
        }
        let mut proposals = Vec::with_capacity(parsed.len());
        for (traceparent, proposal) in parsed {
            if !traceparent.is_empty() {
                let span = tracing::debug_span!("append", partition = message.partition);
                join(&span, &traceparent);
                self.spans.insert(proposal.0, span);
            }
            self.in_flight += 1;
            let (ticket, proposal, until) = proposal;
            match self.api.guard.check(&self.node, &proposal, &ledger, (&self.api.loaded, self.api.partitions)) {
                Ok(()) => match recalled(&ledger, &proposal) {
                    Ok(recalled) => proposals.push((ticket, proposal, until, recalled)),
                    Err(error) => drop(self.sender.send(vec![(ticket, Err(error.into()))])),
                },
                Err(error) => {
                    if matches!(error, AppendError::NotAllowed { .. }) {
                        tracing::warn!(
                            credential = %self.node.proposer.credential,
                            %error,
                            "refused a proposal that the credential may not make"
                        );
                    }
                    let _ = self.sender.send(vec![(ticket, Err(error))]);
                }
            }
        }
        ledger.propose_for(Some(&self.node.proposer), proposals, &self.sender);
        self.ledger = Some(ledger);
        Ok(())
    }

    fn answer(&mut self, mut verdicts: Verdicts) -> wire::ProposeResponse {
        while let Ok(more) = self.verdicts.try_recv() {
            verdicts.extend(more);
        }
        self.in_flight -= verdicts.len();
        for (ticket, _) in &verdicts {
            self.spans.remove(ticket);
        }
        self.bytes.give_back(verdicts.iter().map(|(ticket, _)| *ticket));
        let position = self.ledger.as_ref().map_or(0, Handle::durable);
        let to_wire = |(ticket, verdict): (u64, Verdict)| {
            let outcome = match verdict {
                Ok(logged) => Outcome::Position(logged.commit.position),
                Err(error) => error_to_wire(&error),
            };
            wire::Verdict { ticket, outcome: Some(outcome) }
        };
        wire::ProposeResponse { verdicts: verdicts.into_iter().map(to_wire).collect(), position }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{open::open, options::Options};
    use futures_util::StreamExt;
    use motherlode_log::MemoryStore;
    use motherlode_state::{Currency, StreamId};

    #[tokio::test]
    async fn pl_30_who_follows_the_log_is_told_with_what_it_was_sent() {
        let index = tempfile::tempdir().unwrap();
        let ledger = open(Box::new(MemoryStore::new(0)), index.path(), Options::default()).unwrap();
        let (_asks, stop) = motherlode_runtime::stop::channel();
        let api = LogApi::new([&ledger], 1, stop);
        assert_eq!(ledger.readers(), []);
        let mut follow =
            api.follow_records(Request::new(wire::FollowRecordsRequest::default())).await.unwrap().into_inner();
        let open = |name: &str| Proposal {
            stream: StreamId::player("acme", name),
            expected_version: None,
            request_id: "o".into(),
            fingerprint: [0; 16],
            events: vec![Event::AccountOpened { currency: Currency::EUR }],
        };
        ledger.append(open("alice")).await.unwrap();
        let told: Vec<_> = ledger.readers().into_iter().map(|reader| (reader.name, reader.sent)).collect();
        assert_eq!(told, [(ANYONE.to_owned(), 0)], "the reader must be listed one record behind");
        while follow.next().await.unwrap().unwrap().records.is_empty() {}
        assert_eq!(ledger.readers()[0].sent, 1);
        drop(follow);
        assert_eq!(ledger.readers(), [], "a disconnected reader must not be listed");
        ledger.close().await;
    }

    #[tokio::test]
    async fn pl_12_what_is_judged_after_its_caller_has_gone_is_late_and_changes_nothing() {
        let index = tempfile::tempdir().unwrap();
        let ledger = open(Box::new(MemoryStore::new(0)), index.path(), Options::default()).unwrap();
        let proposal = |name: &str| Proposal {
            stream: StreamId::player("acme", name),
            expected_version: None,
            request_id: "o".into(),
            fingerprint: [0; 16],
            events: vec![Event::AccountOpened { currency: Currency::EUR }],
        };
        let (sender, mut verdicts) = mpsc::unbounded_channel();
        let now = Instant::now();
        let in_time = now + Duration::from_secs(3_600);
        let proposals =
            [(1, proposal("gone"), Some(now)), (2, proposal("waits"), Some(in_time)), (3, proposal("stays"), None)];
        ledger.propose(proposals, &sender);
        let mut came = vec![];
        while came.len() < 3 {
            came.extend(verdicts.recv().await.unwrap());
        }
        came.sort_by_key(|(ticket, _)| *ticket);
        let came: Vec<_> = came.into_iter().map(|(_, verdict)| verdict.map(|made| made.commit.position)).collect();
        assert_eq!(came, [Err(AppendError::Late), Ok(1), Ok(2)]);
        assert_eq!(ledger.durable(), 2);
        ledger.close().await;
    }
}
