//! Liveness checks of a log's writer, which decide when a standby attempts a takeover. Epochs, not liveness, ensure that
//! only one process writes.
//!
//! The writer answers standbys' requests on a subject outside its streams; if it stays silent, a standby takes over.

use crate::{
    expected::Expected,
    failure::Failure,
    link::{Link, answered, options},
    message::{Message, epoch_subject},
    open::{OpenError, STREAM_NOT_FOUND, Stream},
    reader::StreamReader,
};
use async_nats::{Client, RequestErrorKind};
use futures_util::{
    StreamExt,
    future::{BoxFuture, join_all, select_all},
};
use motherlode_log::{Authority, uptime};
use motherlode_runtime::config::Store as Config;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    future::pending,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

const ASK_EVERY: Duration = Duration::from_millis(500);
const SILENCE_MAX: Duration = Duration::from_secs(3);
/// The writer steps down if none of its own messages is delivered to it for this time. Shorter than [`SILENCE_MAX`],
/// after which a standby takes over.
const UNHEARD_MAX: Duration = Duration::from_millis(2_500);

const LEAVE_MAX: Duration = Duration::from_secs(1);

const NO_MESSAGE: u64 = 10_037;

fn subject(stream: &str) -> String {
    format!("{stream}-writer")
}

fn vacated_subject(stream: &str) -> String {
    format!("{stream}-vacated")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    Asked,
    Said,
}

#[derive(Debug, Clone)]
pub struct Presence {
    stream: Stream,
    taken: Vec<Taken>,
    /// Time without a stream leader after which the writer steps down; longer than an election.
    leaderless_max: Duration,
    leaving: Arc<watch::Sender<Leaving>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub stream: Stream,
    pub partition: u32,
    pub epoch: u64,
    pub shared: Arc<StreamReader>,
    pub expected: Arc<Expected>,
    pub authority: Arc<Authority>,
}

impl Presence {
    pub(crate) fn new(first: Taken, others: impl Iterator<Item = Taken>, leaderless_max: Duration) -> Self {
        let (stream, taken) = (first.stream.clone(), [first].into_iter().chain(others).collect());
        Self { stream, taken, leaderless_max, leaving: Arc::new(watch::Sender::new(Leaving::No)) }
    }

    /// Announces that the writer stops. Call this function after the last append, while [`hold`](Self::hold) still
    /// runs. If the announcement is lost, the takeover is only delayed.
    pub fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.leaving.send_replace(Leaving::Asked);
            let mut leaving = self.leaving.subscribe();
            let said = leaving.wait_for(|leaving| *leaving == Leaving::Said);
            if timeout(LEAVE_MAX, said).await.is_err() {
                tracing::warn!(
                    "failed to announce the writer's stop to the standbys: the standbys take over only when the \
                     writer has been silent for some time"
                );
            }
        })
    }

    pub(crate) fn streams(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.taken.iter().map(|taken| (taken.partition, &taken.stream))
    }

    pub fn foreign(&self) -> impl Iterator<Item = (u32, u64)> {
        self.taken.iter().map(|taken| (taken.partition, taken.shared.foreign()))
    }

    /// Answers standbys until the future is dropped; ends with a reason if the writer must step down. The answers are
    /// sent by the thread of the NATS connection, so the caller's load does not delay them.
    pub fn hold(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let Some(thread) = self.stream.link.handle() else { return "the connection to NATS is closed".to_owned() };
            let held = self.clone();
            let mut holding = JoinSet::new();
            holding.spawn_on(async move { held.hold_here().await }, &thread);
            match holding.join_next().await {
                Some(Ok(why)) => why,
                _ => "the thread that serves the connection to NATS has ended".to_owned(),
            }
        })
    }

    async fn hold_here(&self) -> String {
        let client = self.stream.link.client();
        let lost = select_all(self.taken.iter().map(|taken| Box::pin(self.confirm(&client, taken))));
        tokio::select! {
            why = self.answer(&client) => why,
            why = self.hear(&client) => why,
            (why, ..) = lost => why,
        }
    }

    async fn answer(&self, client: &Client) -> String {
        let mut leaving = self.leaving.subscribe();
        loop {
            if let Ok(mut asked) = client.subscribe(subject(&self.stream.name)).await {
                loop {
                    let leaves = async { leaving.wait_for(|leaving| *leaving != Leaving::No).await.is_ok() };
                    let question = tokio::select! {
                        question = asked.next() => question,
                        true = leaves => {
                            drop(asked);
                            let _ = client.publish(vacated_subject(&self.stream.name), "".into()).await;
                            let _ = client.flush().await;
                            self.leaving.send_replace(Leaving::Said);
                            return pending().await;
                        }
                    };
                    let Some(question) = question else { break };
                    if let Some(reply) = question.reply {
                        let _ = client.publish(reply, "".into()).await;
                    }
                }
            }
            sleep(ASK_EVERY).await;
        }
    }

    async fn hear(&self, client: &Client) -> String {
        let mut heard = Instant::now();
        loop {
            let asked = client.request(subject(&self.stream.name), "".into());
            if let Ok(Ok(_)) = timeout(ASK_EVERY, asked).await {
                heard = Instant::now();
            }
            if heard.elapsed() >= UNHEARD_MAX {
                break;
            }
            sleep(ASK_EVERY).await;
        }
        format!(
            "the servers of stream {} have not returned this writer's test messages for {UNHEARD_MAX:?}",
            self.stream.name
        )
    }

    /// Runs until the stream has another writer, was changed, or had no leader for too long; returns the reason.
    async fn confirm(&self, client: &Client, taken: &Taken) -> String {
        let name = &taken.stream.name;
        let mut confirmed = Instant::now();
        taken.authority.confirm(uptime());
        let mut judged = taken.epoch;
        while confirmed.elapsed() < self.leaderless_max {
            let asked = uptime();
            let latest = latest_epoch(client, name).await;
            if let Some(latest) = latest
                && let Some(epoch) = epoch_of_another(client, &taken.stream, &mut judged, latest).await
            {
                return format!("another process took over the log with message {epoch} of stream {name}");
            }
            let is_judged = latest.is_some_and(|latest| latest <= judged);
            let (start, last, informed) = (taken.shared.start().sequence, taken.shared.last(), uptime());
            let deviation = match api(client, &format!("STREAM.INFO.{name}"), &json!({})).await {
                Ok(info) => {
                    if let Some(silence) = quorum_silence(&info).filter(|_| is_judged) {
                        // The server still led the stream when it last reached a majority (`silence` ago), and had
                        // stored no takeover at `asked`. Up to the earlier time, this process was the writer.
                        taken.authority.confirm(asked.min(informed.saturating_sub(silence)));
                        confirmed = Instant::now();
                    }
                    taken.expected.deviation(&info, start, last)
                }
                Err(Failure::Refused { code: STREAM_NOT_FOUND, .. }) => Some("it was deleted".to_owned()),
                Err(_) => None,
            };
            if let Some(deviation) = deviation {
                return format!("stream {name} was changed: {deviation}");
            }
            sleep(ASK_EVERY).await;
        }
        format!("stream {name} has had no leader with a majority for {:?}", self.leaderless_max)
    }
}

fn quorum_silence(info: &Value) -> Option<Duration> {
    let followers = info["cluster"]["replicas"].as_array().map(Vec::as_slice).unwrap_or_default();
    let silence = |follower: &Value| match follower["offline"] == true {
        true => None,
        false => follower["active"].as_u64().map(Duration::from_nanos),
    };
    let mut silences: Vec<_> = followers.iter().map(silence).collect();
    silences.sort_unstable_by_key(|silence| silence.unwrap_or(Duration::MAX));
    match silences.len().div_ceil(2) {
        0 => Some(Duration::ZERO),
        needed => silences[needed - 1],
    }
}

async fn latest_epoch(client: &Client, stream: &str) -> Option<u64> {
    let body = json!({ "last_by_subj": epoch_subject(stream) });
    api(client, &format!("STREAM.MSG.GET.{stream}"), &body).await.ok()?["message"]["seq"].as_u64()
}

async fn epoch_of_another(client: &Client, stream: &Stream, judged: &mut u64, latest: u64) -> Option<u64> {
    while *judged < latest {
        let body = json!({ "seq": *judged + 1, "next_by_subj": epoch_subject(&stream.name) });
        match api(client, &format!("STREAM.MSG.GET.{}", stream.name), &body).await {
            Ok(answer) => {
                let message = Message::stored(&stream.name, &answer["message"])?;
                if stream.trust.begins_epoch(&message) {
                    return Some(message.sequence);
                }
                *judged = message.sequence;
            }
            Err(Failure::Refused { code: NO_MESSAGE, .. }) => *judged = latest,
            Err(_) => return None,
        }
    }
    None
}

async fn api(client: &Client, call: &str, body: &Value) -> Result<Value, Failure> {
    let unknown = |error: &dyn std::fmt::Display| Failure::Unknown(error.to_string());
    let asked = timeout(SILENCE_MAX, client.request(format!("$JS.API.{call}"), body.to_string().into())).await;
    answered(&asked.map_err(|error| unknown(&error))?.map_err(|error| unknown(&error))?)
}

/// Waits until the writer of all partitions has been silent for too long or has left. Returns each readable partition's
/// latest epoch, or 0 if it has none. `silent` is set while the writer is silent. Time without a connection does not
/// count as silence.
pub fn vacant<'a>(
    config: &'a Config,
    partitions: &'a [u32],
    silent: &'a AtomicBool,
) -> BoxFuture<'a, Result<BTreeMap<u32, u64>, OpenError>> {
    Box::pin(async move {
        let partition = partitions.first().copied().unwrap_or_default();
        let servers = config.servers();
        let failed = |source| OpenError::Connect { servers: servers.join(", "), source };
        let connecting = options(config).await.map_err(failed)?.connect(servers.clone()).await;
        let client = connecting.map_err(|error| failed(io::Error::other(error)))?;
        let subject = subject(&Link::stream_name(config, partition));
        let vacated = client.subscribe(vacated_subject(&Link::stream_name(config, partition))).await;
        let mut vacated = vacated.map_err(|error| failed(io::Error::other(error)))?;
        let (mut heard, mut has_left) = (Instant::now(), None::<Instant>);
        let mut last_epochs = BTreeMap::new();
        while heard.elapsed() < SILENCE_MAX {
            let asked = Instant::now();
            let is_silent = match timeout(ASK_EVERY, client.request(subject.clone(), "".into())).await {
                Ok(Ok(_)) => false,
                Ok(Err(error)) => error.kind() == RequestErrorKind::NoResponders,
                Err(_) => echoes(&client).await,
            };
            silent.store(is_silent, Ordering::Relaxed);
            if is_silent {
                if last_epochs.is_empty() {
                    last_epochs = read_last_epochs(&client, config, partitions).await;
                }
                if has_left.is_some_and(|at| at.elapsed() < SILENCE_MAX) {
                    break;
                }
            } else {
                heard = Instant::now();
                last_epochs.clear();
            }
            tokio::select! {
                Some(_) = vacated.next() => has_left = Some(Instant::now()),
                () = sleep(ASK_EVERY.saturating_sub(asked.elapsed())) => {}
            }
        }
        Ok(last_epochs)
    })
}

async fn read_last_epochs(client: &Client, config: &Config, partitions: &[u32]) -> BTreeMap<u32, u64> {
    let read = partitions.iter().map(async |partition| {
        let stream = Link::stream_name(config, *partition);
        let body = json!({ "last_by_subj": epoch_subject(&stream) });
        let epoch = match timeout(ASK_EVERY, api(client, &format!("STREAM.MSG.GET.{stream}"), &body)).await {
            Ok(Ok(answer)) => answer["message"]["seq"].as_u64(),
            Ok(Err(Failure::Refused { code: STREAM_NOT_FOUND | NO_MESSAGE, .. })) => Some(0),
            Ok(Err(_)) | Err(_) => None,
        };
        epoch.map(|epoch| (*partition, epoch))
    });
    join_all(read).await.into_iter().flatten().collect()
}

async fn echoes(client: &Client) -> bool {
    let echo = async {
        let inbox = client.new_inbox();
        let mut heard = client.subscribe(inbox.clone()).await.ok()?;
        client.publish(inbox, "".into()).await.ok()?;
        heard.next().await
    };
    matches!(timeout(ASK_EVERY, echo).await, Ok(Some(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a2_a_leader_counts_while_it_hears_a_majority_of_the_streams_servers() {
        let of = |replicas: Value| quorum_silence(&json!({ "cluster": { "leader": "a", "replicas": replicas } }));
        let (second, minute) = (1_000_000_000u64, 60_000_000_000u64);
        assert_eq!(quorum_silence(&json!({})), Some(Duration::ZERO), "a single server without a cluster");
        assert_eq!(of(json!([])), Some(Duration::ZERO));
        let silent = json!([{ "active": minute }, { "active": second }]);
        assert_eq!(of(silent), Some(Duration::from_secs(1)), "two of three servers answered");
        let down = json!([{ "active": 0, "offline": true }, { "active": second }]);
        assert_eq!(of(down), Some(Duration::from_secs(1)));
        assert_eq!(of(json!([{ "active": 0, "offline": true }, { "active": 0, "offline": true }])), None);
        let of_five = json!([{ "active": minute }, { "active": 3 }, { "offline": true }, { "active": second }]);
        assert_eq!(of(of_five), Some(Duration::from_secs(1)), "three of five servers answered");
        assert_eq!(of(json!([{ "active": 5 }])), Some(Duration::from_nanos(5)), "two of two servers answered");
    }
}
