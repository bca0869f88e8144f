//! Presence: signs of life of a log's writer, so that another process knows when to take the log over.
//!
//! It does not keep two writers apart: epochs do that, and they need no clock. It only says when to try. The writer
//! answers on a subject outside its streams; a standby asks there, and takes over after a silence. The writer asks
//! there too, and asks the leader of each partition's stream for the latest epoch: a writer that cannot be heard, or
//! whose epoch in any partition is over, steps down from all of them, so that no call is answered from an outdated
//! state.
//!
//! Each answer of a leader that is in contact with a majority of the stream's servers confirms the writer's
//! [`Authority`], which bounds the age of the state that reads are answered from.

use crate::{
    expected::Expected,
    failure::Failure,
    link::{Link, answered, options},
    message::{Message, epoch_subject},
    open::{OpenError, STREAM_NOT_FOUND, Stream},
    reader::Shared,
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

/// From one question to the next.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// A writer that was silent for so long is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(3);
/// A writer that did not hear itself for so long steps down: before another one takes it for dead.
const UNHEARD_MAX: Duration = Duration::from_millis(2_500);

/// How long a writer that leaves waits until it has said so.
const LEAVE_MAX: Duration = Duration::from_secs(1);

/// JetStream's error for a message that there is not.
const NO_MESSAGE: u64 = 10_037;

/// The subject on which the writer of a stream answers. It's not one of the stream itself: that would be stored.
fn subject(stream: &str) -> String {
    format!("{stream}-writer")
}

/// The subject on which a leaving writer announces it. The announcement alone hands nothing over: a standby then sends the writer one
/// more request, and takes the log over if there is no answer.
fn vacated_subject(stream: &str) -> String {
    format!("{stream}-vacated")
}

/// How a writer leaves its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    /// It doesn't.
    No,
    /// It's to answer no more.
    Asked,
    /// It answers no more, and has said so.
    Said,
}

/// The presence of a log's writer.
#[derive(Debug, Clone)]
pub struct Presence {
    /// The stream whose writer it answers as.
    stream: Stream,
    /// All streams that it writes.
    taken: Vec<Taken>,
    /// A stream that has no leader for so long is one that this process is cut from: an election takes less.
    leaderless_max: Duration,
    leaving: Arc<watch::Sender<Leaving>>,
}

/// A stream that a writer has.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub stream: Stream,
    /// The partition that it has.
    pub partition: u32,
    /// The number of the message by which it was taken.
    pub epoch: u64,
    /// State shared by its writer and its readers.
    pub shared: Arc<Shared>,
    /// The stream as it was found.
    pub expected: Arc<Expected>,
    /// How lately this writer was confirmed.
    pub authority: Arc<Authority>,
}

impl Presence {
    /// Makes the presence of a writer of these streams, which answers as that of the first.
    pub(crate) fn new(first: Taken, others: impl Iterator<Item = Taken>, leaderless_max: Duration) -> Self {
        let (stream, taken) = (first.stream.clone(), [first].into_iter().chain(others).collect());
        Self { stream, taken, leaderless_max, leaving: Arc::new(watch::Sender::new(Leaving::No)) }
    }

    /// Hands the streams over at once: no longer answers as their writer, and announces that to the standbys. The writer must have
    /// stopped appending, and [`hold`](Self::hold) must still be held. If the announcement is lost, the standby waits out the silence.
    pub fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.leaving.send_replace(Leaving::Asked);
            let mut leaving = self.leaving.subscribe();
            let said = leaving.wait_for(|leaving| *leaving == Leaving::Said);
            if timeout(LEAVE_MAX, said).await.is_err() {
                tracing::warn!(
                    "failed to announce to the standbys that this process leaves: they take over after its silence"
                );
            }
        })
    }

    /// The streams that it writes, by partition.
    pub(crate) fn streams(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.taken.iter().map(|taken| (taken.partition, &taken.stream))
    }

    /// Number of messages that no writer of the log has published and that were skipped since the epoch before this writer's
    /// began, by partition.
    pub fn foreign(&self) -> impl Iterator<Item = (u32, u64)> {
        self.taken.iter().map(|taken| (taken.partition, taken.shared.foreign()))
    }

    /// Answers for the writer until this is dropped; ends when it must step down, with the reason. It runs on the
    /// link's own thread: a replay or a check that keeps the caller's runtime busy for longer than a silence must not
    /// look like a death.
    pub fn hold(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let Some(thread) = self.stream.link.handle() else { return "the link is closed".to_owned() };
            let held = self.clone();
            let mut holding = JoinSet::new();
            holding.spawn_on(async move { held.hold_here().await }, &thread);
            match holding.join_next().await {
                Some(Ok(why)) => why,
                _ => "the thread of the link has ended".to_owned(),
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
                            // Before the announcement: the servers process both in this order.
                            drop(asked);
                            let _ = client.publish(vacated_subject(&self.stream.name), "".into()).await;
                            let _ = client.flush().await;
                            self.leaving.send_replace(Leaving::Said);
                            return pending().await;
                        }
                    };
                    let Some(question) = question else { break };
                    if let Some(reply) = question.reply {
                        // The sender of the request repeats it.
                        let _ = client.publish(reply, "".into()).await;
                    }
                }
            }
            sleep(ASK_EVERY).await;
        }
    }

    /// Asks as another process would, and ends when another process would hear nothing.
    async fn hear(&self, client: &Client) -> String {
        let mut heard = Instant::now();
        loop {
            let asked = client.request(subject(&self.stream.name), "".into());
            if let Ok(Ok(_)) = timeout(ASK_EVERY, asked).await {
                heard = Instant::now();
            }
            // Checked after the request: a process that was frozen sends one more, and stays if no other has taken the log.
            if heard.elapsed() >= UNHEARD_MAX {
                break;
            }
            sleep(ASK_EVERY).await;
        }
        format!("no server of stream {} has carried a message of this writer for {UNHEARD_MAX:?}", self.stream.name)
    }

    /// Ends when a stream has another writer, has changed, or has no leader for too long.
    async fn confirm(&self, client: &Client, taken: &Taken) -> String {
        let name = &taken.stream.name;
        let mut confirmed = Instant::now();
        taken.authority.confirm(uptime());
        // All epochs up to this message are judged.
        let mut judged = taken.epoch;
        while confirmed.elapsed() < self.leaderless_max {
            let asked = uptime();
            let latest = latest_epoch(client, name).await;
            if let Some(latest) = latest
                && let Some(epoch) = epoch_of_another(client, &taken.stream, &mut judged, latest).await
            {
                return format!("message {epoch} of stream {name} has begun another's epoch");
            }
            let is_judged = latest.is_some_and(|latest| latest <= judged);
            // The answer covers all messages acknowledged before the question.
            let (last, informed) = (taken.shared.last(), uptime());
            let deviation = match api(client, &format!("STREAM.INFO.{name}"), &json!({})).await {
                Ok(info) => {
                    if let Some(silence) = quorum_silence(&info).filter(|_| is_judged) {
                        // A leader that has a majority after the request had no successor when it was sent.
                        taken.authority.confirm(asked.min(informed.saturating_sub(silence)));
                        confirmed = Instant::now();
                    }
                    taken.expected.deviation(&info, last)
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

/// Time since a stream's leader was last in contact with a majority of the stream's servers, itself included, by its own
/// information; `None` without a majority.
fn quorum_silence(info: &Value) -> Option<Duration> {
    let followers = info["cluster"]["replicas"].as_array().map(Vec::as_slice).unwrap_or_default();
    let silence = |follower: &Value| match follower["offline"] == true {
        true => None,
        false => follower["active"].as_u64().map(Duration::from_nanos),
    };
    let mut silences: Vec<_> = followers.iter().map(silence).collect();
    silences.sort_unstable_by_key(|silence| silence.unwrap_or(Duration::MAX));
    // Followers that make a majority with the leader: 1 of 2, 2 of 4; a single server needs none.
    match silences.len().div_ceil(2) {
        0 => Some(Duration::ZERO),
        needed => silences[needed - 1],
    }
}

/// The number of the last message of a stream that looks like the begin of an epoch, as its leader has it.
async fn latest_epoch(client: &Client, stream: &str) -> Option<u64> {
    let body = json!({ "last_by_subj": epoch_subject(stream) });
    api(client, &format!("STREAM.MSG.GET.{stream}"), &body).await.ok()?["message"]["seq"].as_u64()
}

/// Judges the messages after `judged` that look like the begin of an epoch. Returns the first that is; foreign ones are
/// passed over.
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

/// Sends a request of JetStream's interface and returns its answer.
async fn api(client: &Client, call: &str, body: &Value) -> Result<Value, Failure> {
    let unknown = |error: &dyn std::fmt::Display| Failure::Unknown(error.to_string());
    let asked = timeout(SILENCE_MAX, client.request(format!("$JS.API.{call}"), body.to_string().into())).await;
    answered(&asked.map_err(|error| unknown(&error))?.map_err(|error| unknown(&error))?)
}

/// Waits until partitions' streams have no writer that answers, for the time of a silence or since it has left; `silent` is set while it
/// does not answer. Silence because this process itself is cut off does not count. The writer of the first partition has all of them.
/// Returns the latest epoch of each as of the silence, 0 without one; a stream that cannot be read is left out.
///
/// # Errors
/// It cannot connect.
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
            // A closed subscription yields nothing more.
            tokio::select! {
                Some(_) = vacated.next() => has_left = Some(Instant::now()),
                () = sleep(ASK_EVERY.saturating_sub(asked.elapsed())) => {}
            }
        }
        Ok(last_epochs)
    })
}

/// The latest epochs of partitions' streams, which may not exist yet: 0 without one. A stream that cannot be read is left out.
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

/// Whether the servers still carry this process's messages, to itself.
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
        assert_eq!(quorum_silence(&json!({})), Some(Duration::ZERO), "one server, without a cluster");
        assert_eq!(of(json!([])), Some(Duration::ZERO));
        let silent = json!([{ "active": minute }, { "active": second }]);
        assert_eq!(of(silent), Some(Duration::from_secs(1)), "two of three");
        let down = json!([{ "active": 0, "offline": true }, { "active": second }]);
        assert_eq!(of(down), Some(Duration::from_secs(1)));
        assert_eq!(of(json!([{ "active": 0, "offline": true }, { "active": 0, "offline": true }])), None);
        let of_five = json!([{ "active": minute }, { "active": 3 }, { "offline": true }, { "active": second }]);
        assert_eq!(of(of_five), Some(Duration::from_secs(1)), "three of five");
        assert_eq!(of(json!([{ "active": 5 }])), Some(Duration::from_nanos(5)), "two of two");
    }
}
