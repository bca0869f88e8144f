//! Reads and verifies a partition's stream, which may be in use by a writer. At the end of the stream, `next` looks for
//! newer messages.

use crate::{
    failure::Failure,
    link::insist,
    message::{Message, Walk},
    open::{ANSWER_WAIT, OpenError, Stream},
};
use bytes::Bytes;
use motherlode_log::{Hash, LogStart, Position, ReadError, Record};
use motherlode_runtime::config::Store as Config;
use std::{collections::VecDeque, time::Instant, vec};

const MESSAGES: u64 = 1024;
const BYTES: u64 = 4 << 20;

pub fn scan(config: &Config, partition: u32) -> Result<Scan, OpenError> {
    let steps = Steps::new(Stream::find_damaged(config, partition)?)?;
    let start = steps.walk.start;
    Ok(Scan { steps, start: start.log, first: start.log.first, records: vec![].into_iter() })
}

#[derive(Debug)]
pub struct Scan {
    steps: Steps,
    start: LogStart,
    first: Position,
    records: vec::IntoIter<Bytes>,
}

impl Scan {
    #[must_use]
    pub fn start(&self) -> LogStart {
        self.start
    }

    #[must_use]
    pub fn verified(&self) -> (Position, Hash) {
        (self.steps.walk.next - 1, self.steps.walk.head)
    }
}

impl Iterator for Scan {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.records.len() == 0 {
            match self.steps.step() {
                Ok(step) => {
                    let Step { before, records, .. } = step?;
                    (self.first, self.records) = (before.next, records.into_iter());
                }
                Err(error) => return Some(Err(error)),
            }
        }
        let bytes = self.records.next()?;
        let position = self.first;
        self.first += 1;
        Some(Ok(Record { position, bytes }))
    }
}

#[derive(Debug)]
pub(crate) struct Step {
    pub before: Walk,
    pub records: Vec<Bytes>,
    pub bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Steps {
    pub stream: Stream,
    pub walk: Walk,
    last: u64,
    fetched: VecDeque<Message>,
}

impl Steps {
    pub(crate) fn new(stream: Stream) -> Result<Self, OpenError> {
        let walk = Walk::from_start(stream.start()?);
        Ok(Self { stream, walk, last: 0, fetched: VecDeque::new() })
    }

    pub(crate) fn step(&mut self) -> Result<Option<Step>, ReadError> {
        let sequence = self.walk.sequence;
        if self.fetched.is_empty() {
            if sequence > self.last {
                self.last = self.stream.last().map_err(std::io::Error::from)?;
            }
            if sequence > self.last {
                return Ok(None);
            }
            self.fetched = fetch(&self.stream, sequence, (self.last + 1 - sequence).min(MESSAGES), BYTES)?.into();
        }
        let before = self.walk.clone();
        let message = self.fetched.pop_front();
        let message = message
            .ok_or_else(|| std::io::Error::other(format!("the NATS server did not return message {sequence}")))?;
        match self.walk.step(&self.stream.trust, &message) {
            Ok(records) => {
                self.walk.report_foreign(&before, &self.stream.name);
                Ok(Some(Step { before, records, bytes: message.payload.len() }))
            }
            Err(damage) => {
                self.fetched.push_front(message);
                Err(damage.into())
            }
        }
    }

    pub(crate) fn look(&mut self) -> Result<bool, ReadError> {
        if self.fetched.is_empty() {
            let (link, sequence) = (&self.stream.link, self.walk.sequence);
            let fetched = link.fetch(&self.stream.name, sequence, MESSAGES, BYTES).map_err(std::io::Error::from)?;
            self.fetched = fetched.into();
        }
        Ok(self.is_at_hand())
    }

    pub(crate) fn is_at_hand(&self) -> bool {
        !self.fetched.is_empty()
    }
}

/// Fetches messages. The first message of the range exists, so if the server does not return it, the server lags behind
/// and the request is retried.
pub(crate) fn fetch(stream: &Stream, sequence: u64, messages: u64, bytes: u64) -> Result<Vec<Message>, ReadError> {
    let attempt = || match stream.link.fetch(&stream.name, sequence, messages, bytes)? {
        fetched if fetched.is_empty() => {
            Err(Failure::Unknown(format!("the NATS server did not return message {sequence}")))
        }
        fetched => Ok(fetched),
    };
    Ok(insist(Instant::now() + ANSWER_WAIT, attempt).map_err(std::io::Error::from)?)
}
