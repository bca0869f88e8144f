//! Removes the messages before the position at which the log now starts (PL-37). The stream forbids purges, so the
//! writer temporarily sets a maximum message age. If the writer stops before it removes this limit, the next writer
//! removes it before it appends. A server that was down applies the limit late and then also removes messages that have
//! reached this age meanwhile, so a margin of messages before the start is kept.

use crate::{
    check::count,
    failure::Failure,
    key::Kind,
    link::{PAUSE, insist},
    message::Walk,
    open::{ANSWER_WAIT, OpenError, Stream},
    start::Start,
    store::JetStreamStore,
};
use motherlode_log::{AppendError, LogStart, Position, Store};
use prost_types::Timestamp;
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant, SystemTime},
};

const REMOVAL_MAX: Duration = Duration::from_secs(600);
const AGE_MIN: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Stream(#[from] OpenError),
    #[error("server {server} of stream {stream} is down or behind")]
    Behind { stream: String, server: String },
}

impl JetStreamStore {
    /// Moves the log's start to the last message whose first record is at or before the position. Has no effect if the
    /// log already starts there or later.
    pub fn record_start(&mut self, before: Position) -> Result<LogStart, PruneError> {
        let old = self.shared().start();
        let walk = self.shared().walk_to(before).map_err(OpenError::from)?;
        let Some(walk) = walk.filter(|walk| walk.next > old.log.first) else { return Ok(old.log) };
        let log = LogStart { first: walk.next, previous: walk.head };
        let identity = self.reader().identity().map_err(OpenError::from)?;
        let start = Start { sequence: walk.sequence, epoch: walk.epoch, log, identity };
        self.publish(Kind::Start, &start.encode(), |walk| Walk { start, ..walk })?;
        Ok(log)
    }

    /// Removes the messages published more than `margin` before the message with which the log starts. Fails if the
    /// servers take longer than most of `margin`, because messages after the start would then reach the maximum age.
    pub fn remove_before_start(&self, margin: Duration) -> Result<(), PruneError> {
        let (stream, until) = (self.shared().stream(), Instant::now() + REMOVAL_MAX.min(margin - margin / 8));
        let info = stream.found()?;
        are_current(stream, &info)?;
        let start = self.shared().start().sequence;
        has_start(stream, &info, start)?;
        let (first, time) = oldest_kept(stream, start, margin)?;
        if count(&info["state"], "first_seq") >= first {
            return Ok(());
        }
        let age = server_time(stream, &info)?.duration_since(time).unwrap_or_default();
        if Instant::now() >= until {
            return Err(
                fault(stream, "the servers answered too slowly for this margin, and nothing was removed").into()
            );
        }
        self.expected().expect_limit();
        let removed = stream.limit(&info, age.max(AGE_MIN)).and_then(|_| removed(stream, first, until));
        let info = stream.limit(&stream.found()?, Duration::ZERO)?;
        has_start(stream, &info, start)?;
        removed?;
        are_current(stream, &info)
    }
}

fn has_start(stream: &Stream, info: &Value, start: u64) -> Result<(), OpenError> {
    match count(&info["state"], "first_seq") > start {
        true => Err(fault(stream, "the servers removed records that must stay: restore the log from the archive")),
        false => Ok(()),
    }
}

fn oldest_kept(stream: &Stream, start: u64, margin: Duration) -> Result<(u64, SystemTime), OpenError> {
    let request = |request: Value| {
        let found = insist(Instant::now() + ANSWER_WAIT, || stream.link.first_time(&stream.name, request.clone()));
        found.map_err(|failure| stream.api_error(failure))
    };
    let (_, time) = request(json!({ "seq": start }))?;
    let spared = Timestamp::from(time.checked_sub(margin).unwrap_or(SystemTime::UNIX_EPOCH));
    request(json!({ "start_time": spared.to_string() }))
}

fn server_time(stream: &Stream, info: &Value) -> Result<SystemTime, OpenError> {
    let time = info["ts"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    let time = time.and_then(|time| SystemTime::try_from(time).ok());
    time.ok_or_else(|| stream.api_error(Failure::Unknown("JetStream's answer has no timestamp".into())))
}

fn fault(stream: &Stream, fault: &str) -> OpenError {
    OpenError::Stream { stream: stream.name.clone(), fault: fault.into() }
}

fn removed(stream: &Stream, first: u64, until: Instant) -> Result<(), OpenError> {
    loop {
        thread::sleep(PAUSE);
        let info = stream.found()?;
        if count(&info["state"], "first_seq") >= first {
            return Ok(());
        }
        if info["config"]["max_age"] == 0 {
            let lifted =
                "another process removed the limit on the age of messages before all old messages were removed";
            return Err(fault(stream, lifted));
        }
        if Instant::now() >= until {
            return Err(fault(stream, "the servers did not remove the messages in time"));
        }
    }
}

fn are_current(stream: &Stream, info: &Value) -> Result<(), PruneError> {
    let replicas = info["cluster"]["replicas"].as_array().into_iter().flatten();
    let behind = replicas.filter(|replica| replica["current"] != true || replica["offline"] == true);
    let server = behind.filter_map(|replica| replica["name"].as_str()).next();
    server.map_or(Ok(()), |server| Err(PruneError::Behind { stream: stream.name.clone(), server: server.to_owned() }))
}
