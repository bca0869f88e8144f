use crate::{
    check::MAX_PAYLOAD_MIN,
    expected::Expected,
    failure::Failure,
    following::Following,
    key::Kind,
    link::{NO_ROOM, PAUSE},
    message::{self, Message, Walk},
    open::{ANSWER_WAIT, Absent, Checked, OpenError, Stream},
    presence::{Presence, Taken},
    reader::StreamReader,
};
use bytes::Bytes;
use motherlode_log::{AppendError, Authority, Chained, Hash, LockGuard, LogStart, Position, Reader, Store, block};
use motherlode_runtime::config::Store as Config;
use std::{
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

const FOREIGN_MESSAGES: u64 = 1024;
const FOREIGN_BYTES: u64 = 4 << 20;
const HEADERS: u64 = 1024;

#[derive(Debug)]
pub struct JetStreamStore {
    partition: u32,
    shared: Arc<StreamReader>,
    walk: Walk,
    epoch: u64,
    expected: Arc<Expected>,
    authority: Arc<Authority>,
    append_wait: Duration,
    block_limit: u64,
    failed: Option<Failed>,
    full: Option<String>,
    _lock: Option<LockGuard>,
}

#[derive(Debug, Clone)]
enum Failed {
    Unknown(String),
    Fenced(String),
}

impl From<Failed> for AppendError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unknown(reason) => Self::Failed { reason },
            Failed::Fenced(reason) => Self::Fenced { reason },
        }
    }
}

#[derive(Debug)]
enum Published {
    Stands,
    Other(Message),
    /// The server had no space for the message, so the sequence number is still unused.
    NoRoom(io::Error),
    Unknown(String),
}

impl JetStreamStore {
    /// Opens the log: creates a missing stream, verifies all messages, and fences the previous writer.
    pub fn open(config: &Config, partition: u32) -> Result<Self, OpenError> {
        Self::open_or(config, partition, Absent::Create, None)
    }

    /// Like [`open`](Self::open), but fails with [`OpenError::Taken`] if an epoch began after `last_epoch`.
    pub fn open_or(
        config: &Config,
        partition: u32,
        absent: Absent<'_>,
        last_epoch: Option<u64>,
    ) -> Result<Self, OpenError> {
        let stream = Stream::open(config, partition, absent)?;
        let expected = stream.check(config)?.expected;
        Self::take(&mut Following::new(stream)?, config, expected, last_epoch)
    }

    /// Takes over the log that `following` has read. After an error, `following` can still be used. Fails with
    /// [`OpenError::Stream`] if the stream became shorter.
    pub fn take_over(following: &mut Following, config: &Config, last_epoch: Option<u64>) -> Result<Self, OpenError> {
        let Checked { last, expected } = following.shared().stream().check(config)?;
        let read = following.walk().sequence - 1;
        if last < read {
            let fault = format!("the stream's last message is number {last}, but message {read} was already read");
            return Err(OpenError::Stream { stream: following.shared().stream().name.clone(), fault });
        }
        Self::take(following, config, expected, last_epoch)
    }

    fn take(
        following: &mut Following,
        config: &Config,
        expected: Expected,
        last_epoch: Option<u64>,
    ) -> Result<Self, OpenError> {
        let shared = Arc::clone(following.shared());
        let stream = shared.stream();
        let nonce = nonce(stream)?;
        let until = Instant::now() + ANSWER_WAIT;
        loop {
            following.catch_up()?;
            let (sequence, epoch) = (following.walk().sequence, following.walk().epoch);
            if last_epoch.is_some_and(|last| epoch > last) {
                return Err(OpenError::Taken { stream: stream.name.clone(), epoch });
            }
            let epoch = Publish { stream, kind: Kind::Epoch, epoch: None, payload: &nonce };
            match epoch.at(sequence, Instant::now() + ANSWER_WAIT) {
                Published::Stands => break,
                Published::Other(_) if Instant::now() < until => {}
                Published::Other(_) => return Err(OpenError::Contended { stream: stream.name.clone() }),
                Published::NoRoom(source) => return Err(OpenError::Api { stream: stream.name.clone(), source }),
                Published::Unknown(why) => return Err(stream.api_error(Failure::Unknown(why))),
            }
        }
        let epoch = following.walk().sequence;
        shared.count_foreign(following.walk().foreign);
        following.begin_epoch(nonce.len());
        tracing::info!(
            stream = stream.name,
            epoch,
            position = shared.end(),
            "opened the log on JetStream as its writer"
        );
        let payload = (stream.link.server().max_payload as u64).min(MAX_PAYLOAD_MIN);
        Ok(Self {
            partition: following.partition(),
            walk: following.walk().clone(),
            shared: Arc::clone(&shared),
            epoch,
            expected: Arc::new(expected),
            authority: Arc::default(),
            append_wait: Duration::from_millis(config.append_ms_max),
            block_limit: payload.saturating_sub(HEADERS).min(block::MAX),
            failed: None,
            full: None,
            _lock: None,
        })
    }

    #[must_use]
    pub fn with_lock(self, lock: LockGuard) -> Self {
        Self { _lock: Some(lock), ..self }
    }

    #[must_use]
    pub fn presence(&self, others: &[Self]) -> Presence {
        Presence::new(self.taken(), others.iter().map(Self::taken), self.append_wait)
    }

    fn taken(&self) -> Taken {
        Taken {
            stream: self.shared.stream().clone(),
            partition: self.partition,
            epoch: self.epoch,
            shared: Arc::clone(&self.shared),
            expected: Arc::clone(&self.expected),
            authority: Arc::clone(&self.authority),
        }
    }

    pub(crate) fn shared(&self) -> &StreamReader {
        &self.shared
    }

    pub(crate) fn expected(&self) -> &Expected {
        &self.expected
    }

    pub(crate) fn publish(
        &mut self,
        kind: Kind,
        payload: &Bytes,
        advance: impl FnOnce(Walk) -> Walk,
    ) -> Result<(), AppendError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone().into());
        }
        let (shared, until) = (Arc::clone(&self.shared), Instant::now() + self.append_wait);
        let append = Publish { stream: shared.stream(), kind, epoch: Some(self.epoch), payload };
        loop {
            match append.at(self.walk.sequence, until) {
                Published::Stands => {
                    let before = self.walk.clone();
                    self.walk = Walk { sequence: before.sequence + 1, ..advance(before.clone()) };
                    self.shared.publish(&before, &self.walk, payload.len());
                    self.full = None;
                    return Ok(());
                }
                Published::Other(other) => {
                    self.skip_foreign(other)?;
                    if Instant::now() >= until {
                        let why = "every attempt to append failed because another NATS client's message took the \
                             sequence number";
                        return Err(AppendError::Unavailable(io::Error::other(why)));
                    }
                }
                Published::NoRoom(error) => {
                    self.full = Some(error.to_string());
                    return Err(AppendError::Full(error));
                }
                Published::Unknown(why) => return Err(self.fail(Failed::Unknown(why))),
            }
        }
    }

    fn skip_foreign(&mut self, first: Message) -> Result<(), AppendError> {
        let shared = Arc::clone(&self.shared);
        let stream = shared.stream();
        let mut messages = vec![first];
        while !messages.is_empty() {
            for message in messages {
                let mut walk = self.walk.clone();
                let stepped = walk.step(&stream.trust, &message);
                if stepped.is_err() || !walk.skipped(&self.walk) {
                    let fenced = format!("message {} of the stream is from another writer", message.sequence);
                    return Err(self.fail(Failed::Fenced(fenced)));
                }
                walk.report_foreign(&self.walk, &stream.name);
                shared.publish(&self.walk, &walk, message.payload.len());
                self.walk = walk;
            }
            // If the server does not return the latest messages yet, the next publication detects them.
            let next = stream.link.fetch(&stream.name, self.walk.sequence, FOREIGN_MESSAGES, FOREIGN_BYTES);
            messages = next.unwrap_or_default();
        }
        Ok(())
    }

    fn fail(&mut self, failed: Failed) -> AppendError {
        self.failed = Some(failed.clone());
        failed.into()
    }
}

impl Store for JetStreamStore {
    fn partition(&self) -> u32 {
        self.partition
    }

    fn start(&self) -> LogStart {
        self.shared.start().log
    }

    fn end(&self) -> Position {
        self.walk.next - 1
    }

    fn head(&self) -> Hash {
        self.walk.head
    }

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone().into());
        }
        let end = self.end();
        if after != end {
            return Err(AppendError::Conflict { end });
        }
        chained.verify_after(after, self.walk.head)?;
        let (records, head) = (chained.records(), chained.head());
        if records.is_empty() {
            return Ok(());
        }
        let (bytes, limit) = (block::bytes(records), self.block_limit);
        if bytes > limit {
            return Err(AppendError::TooLarge { bytes, limit });
        }
        let count = records.len() as Position;
        self.publish(Kind::Block, &block::encode(after + 1, records), |walk| Walk {
            next: walk.next + count,
            head,
            ..walk
        })
    }

    fn tend(&mut self) -> Result<(), AppendError> {
        match &self.full {
            Some(full) => Err(AppendError::Full(io::Error::new(io::ErrorKind::StorageFull, full.clone()))),
            None => Ok(()),
        }
    }

    fn authority(&self) -> Option<Arc<Authority>> {
        Some(Arc::clone(&self.authority))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::clone(&self.shared) as Arc<dyn Reader>
    }
}

struct Publish<'a> {
    stream: &'a Stream,
    kind: Kind,
    epoch: Option<u64>,
    payload: &'a Bytes,
}

impl Publish<'_> {
    /// Publishes until the outcome is certain or `until` has passed. Only an acknowledgement or the stored message
    /// proves the outcome. The server may report a wrong predecessor by mistake (error 10164) or because an earlier
    /// attempt was stored, so message `sequence` is read. If it does not exist, the append is published again; the
    /// server stores at most one attempt.
    fn at(&self, sequence: u64, until: Instant) -> Published {
        let mut unanswered = false;
        let (subject, headers, message) = self.message(sequence);
        loop {
            let failure = match self.stream.link.publish(&subject, &headers, self.payload, sequence - 1) {
                Ok(stored) if stored == sequence => return Published::Stands,
                Ok(stored) => {
                    return Published::Unknown(format!(
                        "the append was stored as message {stored} instead of {sequence}"
                    ));
                }
                Err(Failure::Refused { code, description }) if NO_ROOM.contains(&code) && !unanswered => {
                    return Published::NoRoom(io::Error::new(io::ErrorKind::StorageFull, description));
                }
                Err(failure) => failure,
            };
            unanswered |= matches!(failure, Failure::Unknown(_));
            tracing::warn!(%failure, sequence, "an append was not acknowledged: reading the message at its sequence number");
            let there = self.stream.link.fetch(&self.stream.name, sequence, 1, 1).unwrap_or_default();
            match there.into_iter().next() {
                Some(there) if there == message => return Published::Stands,
                Some(other) => return Published::Other(other),
                None if Instant::now() < until => thread::sleep(PAUSE),
                None => return Published::Unknown(failure.to_string()),
            }
        }
    }

    fn message(&self, sequence: u64) -> (String, Vec<(&'static str, String)>, Message) {
        let Self { stream, kind, epoch, payload } = *self;
        let mac = stream.trust.mac(sequence, kind, epoch, payload);
        let subject = match kind {
            Kind::Epoch => message::epoch_subject(&stream.name),
            Kind::Start => message::start_subject(&stream.name),
            Kind::Block | Kind::Other => message::block_subject(&stream.name),
        };
        let epoch_header = epoch.map(|epoch| (message::EPOCH, epoch.to_string()));
        let mac_header = mac.clone().map(|mac| (message::MAC, mac));
        let headers = epoch_header.into_iter().chain(mac_header).collect();
        (subject, headers, Message { sequence, kind, epoch, mac, payload: payload.clone() })
    }
}

fn nonce(stream: &Stream) -> Result<Bytes, OpenError> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| stream.api_error(Failure::Unknown(error.to_string())))?;
    Ok(nonce.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}
