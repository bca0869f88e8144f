//! Publishes each record once and in order to a NATS subject for external readers.
//!
//! Each message states its expected predecessor, so the server refuses a message if its predecessor was lost, delayed or
//! repeated. The headers of the last message have the positions and hashes after which publication continues. The hashes
//! reveal whether the log was replaced by an older copy.

use crate::{
    failure::Failure,
    link::{REQUEST_WAIT, answered, options},
};
use async_nats::{Client, HeaderMap, Request, Subscriber};
use bytes::Bytes;
use data_encoding::BASE64;
use futures_util::StreamExt;
use motherlode_log::Position;
use motherlode_runtime::config::Store as Config;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Display};
use tokio::time::timeout;

const POSITIONS: &str = "Motherlode-Positions";
const RECORDS: &str = "Motherlode-Records";
const WRONG_LAST: [u64; 3] = [10_070, 10_071, 10_164];
const NO_MESSAGE: u64 = 10_037;
const SUBJECT_MAX: usize = 255;

#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    #[error("{0}")]
    Unusable(String),
    #[error("cannot connect to {servers}: {cause}")]
    Unreachable { servers: String, cause: String },
    #[error("{0}")]
    Refused(String),
    /// Temporary failure; the message may have been stored.
    #[error("{0}")]
    Passing(String),
}

impl From<Failure> for FeedError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused { code, .. } if WRONG_LAST.contains(&code) => {
                Self::Passing(format!("another client published after the feed read the stream's end: {failure}"))
            }
            Failure::Refused { .. } => Self::Refused(failure.to_string()),
            Failure::Unknown(_) => Self::Passing(failure.to_string()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub partition: u32,
    pub position: Position,
    pub sha256: String,
    pub payload: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Last {
    pub position: Position,
    pub sha256: Option<String>,
}

#[derive(Debug)]
pub struct Feed {
    client: Client,
    subject: String,
    stream: String,
    begin: BTreeMap<u32, Last>,
    held: Option<StreamEnd>,
}

#[derive(Debug)]
struct StreamEnd {
    last: u64,
    /// Sequence number of the subject's last message; stated only in the feed's first message.
    of_subject: Option<u64>,
    after: BTreeMap<u32, Last>,
}

impl Feed {
    /// Opens the feed and returns each partition's last published record. A partition without a published record starts
    /// after its position in `begin` or, if it has none there, at its first record.
    pub async fn open(
        config: &Config,
        subject: &str,
        begin: Option<BTreeMap<u32, Last>>,
    ) -> Result<(Self, BTreeMap<u32, Last>), FeedError> {
        if !is_subject(subject) {
            return Err(FeedError::Unusable(format!("{subject:?} is not a valid subject")));
        }
        let servers = config.servers();
        let cannot =
            |error: &dyn Display| FeedError::Unreachable { servers: servers.join(", "), cause: error.to_string() };
        let options = options(config).await.map_err(|error| cannot(&error))?;
        let client = options.connect(servers.clone()).await.map_err(|error| cannot(&error))?;
        let names = api(&client, "STREAM.NAMES", &json!({ "subject": subject })).await?;
        let Some(stream) = names["streams"][0].as_str() else {
            return Err(FeedError::Unusable(format!(
                "no JetStream stream captures the subject {subject}: create a stream"
            )));
        };
        let is_begun = begin.is_some();
        let (subject, stream) = (subject.to_owned(), stream.to_owned());
        let mut feed = Self { client, subject, stream, begin: begin.unwrap_or_default(), held: None };
        let info = feed.info().await?;
        feed.check(&info["config"])?;
        let held = feed.look().await?;
        if held.of_subject == Some(0) && held.last > 0 && !is_begun {
            let Self { stream, subject, .. } = feed;
            let fault = format!(
                "stream {stream} has had messages, but none with subject {subject} remain: state where the feed should begin"
            );
            return Err(FeedError::Unusable(fault));
        }
        let after = held.after.clone();
        feed.held = Some(held);
        Ok((feed, after))
    }

    /// Waits until the records are stored. After [`FeedError::Passing`], the caller publishes the same records again.
    pub async fn publish(&mut self, entries: &[Entry]) -> Result<(), FeedError> {
        let mut held = match self.held.take() {
            Some(held) => held,
            None => self.look().await?,
        };
        let had = |entry: &Entry| held.after.get(&entry.partition);
        for entry in entries {
            let here = had(entry).filter(|last| last.position == entry.position);
            if let Some(sha256) = here.and_then(|last| last.sha256.as_ref()).filter(|sha256| **sha256 != entry.sha256) {
                return Err(other_log(entry.partition, entry.position, sha256, &entry.sha256));
            }
        }
        let has = |entry: &&Entry| had(entry).is_some_and(|last| last.position >= entry.position);
        let missing: Vec<_> = entries.iter().skip_while(has).collect();
        if !missing.is_empty() {
            self.send(&missing, &mut held).await?;
        }
        self.held = Some(held);
        Ok(())
    }

    async fn send(&self, entries: &[&Entry], held: &mut StreamEnd) -> Result<(), FeedError> {
        let inbox = self.client.new_inbox();
        let mut answers = self.client.subscribe(inbox.clone()).await.map_err(unknown)?;
        let mut before: Option<String> = None;
        for (follows, entry) in (held.last..).zip(entries.iter().copied()) {
            let Entry { partition, position, sha256, payload } = entry;
            held.after.insert(*partition, Last { position: *position, sha256: Some(sha256.clone()) });
            let mut headers = HeaderMap::new();
            let id = format!("{partition}-{position}");
            headers.insert("Nats-Msg-Id", id.as_str());
            // The expected sequence number may be the number of another publisher's message, so the server also checks the
            // predecessor's id.
            if let Some(before) = before.replace(id) {
                headers.insert("Nats-Expected-Last-Msg-Id", before);
            }
            headers.insert("Nats-Expected-Last-Sequence", follows.to_string());
            if let Some(of_subject) = held.of_subject.take() {
                headers.insert("Nats-Expected-Last-Subject-Sequence", of_subject.to_string());
            }
            headers.insert(POSITIONS, written(&held.after, |last| Some(last.position)));
            headers.insert(RECORDS, written(&held.after, |last| last.sha256.as_ref()));
            let (subject, inbox, payload) = (self.subject.clone(), inbox.clone(), payload.clone());
            let sent = self.client.publish_with_reply_and_headers(subject, inbox, headers, payload).await;
            sent.map_err(|error| match error.kind() {
                async_nats::client::PublishErrorKind::MaxPayloadExceeded => {
                    FeedError::Refused(format!("cannot publish position {position} of partition {partition}: {error}"))
                }
                _ => unknown(error),
            })?;
        }
        for _ in entries {
            let stored = stored(&mut answers).await?;
            if stored != held.last + 1 {
                // If the message id was used before, the server returns the sequence number of the earlier message.
                return Err(FeedError::Passing(format!(
                    "the record was stored as message {stored} instead of {}",
                    held.last + 1
                )));
            }
            held.last = stored;
        }
        Ok(())
    }

    async fn info(&self) -> Result<Value, FeedError> {
        Ok(api(&self.client, &format!("STREAM.INFO.{}", self.stream), &json!({})).await?)
    }

    fn check(&self, config: &Value) -> Result<(), FeedError> {
        let fault = |fault: &str| Err(FeedError::Unusable(format!("stream {}: {fault}", self.stream)));
        match config {
            _ if config["retention"] != "limits" => {
                fault("the stream's retention must be `limits`, so that messages are not removed after a read")
            }
            _ if config["no_ack"] == true => fault("the stream must acknowledge messages (no_ack must be off)"),
            _ if !config["subject_transform"].is_null() => {
                fault("the stream must not change the subjects of messages (subject_transform)")
            }
            _ => Ok(()),
        }
    }

    async fn look(&self) -> Result<StreamEnd, FeedError> {
        let info = self.info().await?;
        let last = info["state"]["last_seq"]
            .as_u64()
            .ok_or_else(|| unknown("the stream's state in JetStream's answer has no last sequence number"))?;
        let wanted = json!({ "last_by_subj": self.subject });
        let message = match api(&self.client, &format!("STREAM.MSG.GET.{}", self.stream), &wanted).await {
            Ok(mut answer) => answer["message"].take(),
            Err(Failure::Refused { code: NO_MESSAGE, .. }) => {
                return Ok(StreamEnd { last, of_subject: Some(0), after: self.begin.clone() });
            }
            Err(failure) => return Err(failure.into()),
        };
        let of_subject =
            message["seq"].as_u64().ok_or_else(|| unknown("a message in JetStream's answer has no sequence number"))?;
        let published = message["hdrs"].as_str().and_then(last_records).ok_or_else(|| {
            let (stream, subject) = (&self.stream, &self.subject);
            FeedError::Unusable(format!(
                "message {of_subject} of stream {stream} is the last message with subject {subject}, but the \
                 message names no log position, so no feed published it"
            ))
        })?;
        let mut after = self.begin.clone();
        after.extend(published);
        Ok(StreamEnd { last, of_subject: Some(of_subject), after })
    }
}

fn is_subject(text: &str) -> bool {
    let is_token = |token: &str| {
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'*' | b'>'))
    };
    text.len() <= SUBJECT_MAX && !text.starts_with('$') && text.split('.').all(is_token)
}

fn other_log(partition: u32, position: Position, had: &str, has: &str) -> FeedError {
    FeedError::Unusable(format!(
        "the feed was made from another log, or from this log before a restore: its record at position {position} of partition \
         {partition} has the SHA-256 {had}, but this log's record has {has}"
    ))
}

fn written<'a, T: Display>(after: &'a BTreeMap<u32, Last>, of: impl Fn(&'a Last) -> Option<T>) -> String {
    let parts = after.iter().filter_map(|(partition, last)| Some(format!("{partition}:{}", of(last)?)));
    parts.collect::<Vec<_>>().join(",")
}

fn last_records(headers: &str) -> Option<BTreeMap<u32, Last>> {
    let headers = String::from_utf8(BASE64.decode(headers.as_bytes()).ok()?).ok()?;
    let value = |name: &str| {
        let of = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim().to_owned());
        headers.lines().find_map(of)
    };
    let parts = |value: &str| {
        let one = |part: &str| {
            let (partition, of) = part.split_once(':')?;
            Some((partition.parse().ok()?, of.to_owned()))
        };
        value.split(',').map(one).collect::<Option<BTreeMap<u32, String>>>()
    };
    let mut records = match value(RECORDS).filter(|records| !records.is_empty()) {
        Some(records) => parts(&records)?,
        None => BTreeMap::new(),
    };
    let last = |(partition, position): (u32, String)| {
        Some((partition, Last { position: position.parse().ok()?, sha256: records.remove(&partition) }))
    };
    parts(&value(POSITIONS)?)?.into_iter().map(last).collect()
}

async fn stored(answers: &mut Subscriber) -> Result<u64, FeedError> {
    let answer = timeout(REQUEST_WAIT, answers.next()).await.map_err(unknown)?;
    let answer = answered(&answer.ok_or_else(|| unknown("the connection to NATS has ended"))?)?;
    answer["seq"].as_u64().ok_or_else(|| unknown("JetStream's answer to a publish has no sequence number"))
}

async fn api(client: &Client, call: &str, body: &Value) -> Result<Value, Failure> {
    let request = Request::new().payload(body.to_string().into()).timeout(Some(REQUEST_WAIT));
    let answer = client.send_request(format!("$JS.API.{call}"), request).await;
    answered(&answer.map_err(|error| Failure::Unknown(error.to_string()))?)
}

fn unknown(error: impl ToString) -> FeedError {
    Failure::Unknown(error.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_records_are_read_as_they_are_written() {
        let last = |position, sha256: Option<&str>| Last { position, sha256: sha256.map(str::to_owned) };
        let of = BTreeMap::from([(0, last(17, Some("9f86"))), (1, last(9, None)), (12, last(u64::MAX, Some("60")))]);
        let positions = written(&of, |last| Some(last.position));
        let records = written(&of, |last| last.sha256.as_ref());
        assert_eq!((&*positions, &*records), (&*format!("0:17,1:9,12:{}", u64::MAX), "0:9f86,12:60"));
        let read = |headers: String| last_records(&BASE64.encode(headers.as_bytes()));
        let said = format!("NATS/1.0\r\nNats-Msg-Id: 0-17\r\n{POSITIONS}: {positions}\r\n");
        assert_eq!(read(format!("{said}{RECORDS}: {records}\r\n\r\n")), Some(of.clone()));
        let untied = of.keys().zip(of.values()).map(|(partition, of)| (*partition, last(of.position, None)));
        assert_eq!(read(said), Some(untied.collect()), "headers of older versions must be readable");
        for bad in ["", "NATS/1.0\r\n\r\n", "Motherlode-Positions: x\r\n", "Motherlode-Positions: 0:1,\r\n"] {
            assert_eq!(read(bad.to_owned()), None, "{bad:?}");
        }
        assert_eq!(last_records("no base64"), None);
    }

    #[test]
    fn subjects_have_tokens_and_no_wildcards() {
        assert!(is_subject("feed") && is_subject("motherlode.changes.1"));
        for bad in ["", ".", "a.", ".a", "a..b", "a.*", ">", "a b", "$JS.API", "a\r\nPUB b"] {
            assert!(!is_subject(bad), "{bad:?}");
        }
    }
}
