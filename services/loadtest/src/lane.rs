//! Connection of a worker to the service: unary calls, or a PlayStream that several workers share.
//!
//! Each stream has a task that sends the calls of its workers. If the stream breaks, pending calls get UNAVAILABLE and
//! are retried; the next call opens a new stream.

use crate::retry::ANSWER_MAX;
use motherlode_proto::spin::v1::{
    ChooseRequest, PlayStreamRequest, PlayStreamResponse, Played, SpinRequest, play_stream_request,
    play_stream_response::Answer, spin_service_client::SpinServiceClient,
};
use motherlode_runtime::connect::Connection;
use prost::Message;
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, interval},
};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status, Streaming};

pub(crate) enum Call {
    Spin(SpinRequest),
    Choose(ChooseRequest),
}

#[derive(Clone)]
pub(crate) enum Lane {
    Unary(SpinServiceClient<Connection>),
    Stream(mpsc::UnboundedSender<PendingCall>),
}

pub(crate) struct PendingCall {
    call: Call,
    reply: Reply,
}

type Reply = oneshot::Sender<Result<Box<Played>, Status>>;

const LOOK_EVERY: Duration = Duration::from_secs(1);

const TOGETHER_MAX: usize = 64;

impl Lane {
    pub(crate) fn unary(connection: Connection) -> Self {
        Self::Unary(SpinServiceClient::new(connection))
    }

    pub(crate) fn stream(connection: Connection) -> Self {
        let (asked, inbox) = mpsc::unbounded_channel();
        tokio::spawn(pump(SpinServiceClient::new(connection), inbox));
        Self::Stream(asked)
    }

    pub(crate) async fn ask(self, call: Call) -> Result<Box<Played>, Status> {
        match self {
            Self::Unary(client) => Box::pin(ask_alone(client, call)).await,
            Self::Stream(asked) => {
                let (reply, answer) = oneshot::channel();
                // If the stream's task has ended, the reply is dropped, and the caller receives an error.
                let _ = asked.send(PendingCall { call, reply });
                answer.await.unwrap_or_else(|_| Err(Status::unavailable("the stream broke")))
            }
        }
    }
}

async fn ask_alone(mut client: SpinServiceClient<Connection>, call: Call) -> Result<Box<Played>, Status> {
    let played = match call {
        Call::Spin(request) => client.spin(request).await?.into_inner().played,
        Call::Choose(request) => client.choose(request).await?.into_inner().played,
    };
    played.map(Box::new).ok_or_else(|| Status::internal("the service's answer contains no round"))
}

async fn pump(mut client: SpinServiceClient<Connection>, mut inbox: mpsc::UnboundedReceiver<PendingCall>) {
    while let Some(first) = inbox.recv().await {
        let (requests, outgoing) = mpsc::unbounded_channel();
        match client.play_stream(UnboundedReceiverStream::new(outgoing)).await {
            Ok(opened) => relay(first, &mut inbox, &requests, opened.into_inner()).await,
            Err(status) => drop(first.reply.send(Err(status))),
        }
    }
}

async fn relay(
    first: PendingCall,
    inbox: &mut mpsc::UnboundedReceiver<PendingCall>,
    requests: &mpsc::UnboundedSender<PlayStreamRequest>,
    mut answers: Streaming<PlayStreamResponse>,
) {
    let mut waiting: BTreeMap<u64, (Instant, Reply)> = BTreeMap::new();
    let mut look = interval(LOOK_EVERY);
    let mut asked = Vec::with_capacity(TOGETHER_MAX);
    asked.push(first);
    let mut tag = 0;
    loop {
        for PendingCall { call, reply } in asked.drain(..) {
            tag += 1;
            let call = match call {
                Call::Spin(request) => play_stream_request::Call::Spin(request),
                Call::Choose(request) => play_stream_request::Call::Choose(request),
            };
            waiting.insert(tag, (Instant::now(), reply));
            if requests.send(PlayStreamRequest { tag, call: Some(call) }).is_err() {
                return;
            }
        }
        tokio::select! {
            biased;
            answer = answers.message() => match answer {
                Ok(Some(PlayStreamResponse { tag, answer })) => {
                    if let Some((_, reply)) = waiting.remove(&tag) {
                        let _ = reply.send(unpack(answer));
                    }
                }
                Ok(None) | Err(_) => return,
            },
            count = inbox.recv_many(&mut asked, TOGETHER_MAX) => if count == 0 {
                return;
            },
            now = look.tick() => {
                while let Some(oldest) = waiting.first_entry()
                    && oldest.get().0 + ANSWER_MAX <= now
                {
                    let _ = oldest.remove().1.send(Err(Status::deadline_exceeded("no answer arrived on the stream in time")));
                }
            }
        }
    }
}

fn unpack(answer: Option<Answer>) -> Result<Box<Played>, Status> {
    match answer {
        Some(Answer::Played(played)) => Ok(played),
        Some(Answer::Error(error)) => {
            let details = error.encode_to_vec().into();
            Err(Status::with_details(Code::from_i32(error.code), error.message, details))
        }
        None => Err(Status::internal("the service's answer contains no round")),
    }
}
