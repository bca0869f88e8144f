//! The writer: one message, published to follow the last one that is known.

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
    reader::Shared,
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

/// Messages and bytes read at once while skipping foreign messages.
const FOREIGN_MESSAGES: u64 = 1024;
const FOREIGN_BYTES: u64 = 4 << 20;
/// Room for a message's headers, bytes, besides its block.
const HEADERS: u64 = 1024;

/// A partition on JetStream: its writer.
#[derive(Debug)]
pub struct JetStreamStore {
    partition: u32,
    shared: Arc<Shared>,
    /// Up to the last durable message.
    walk: Walk,
    /// The number of the message by which this writer took the stream.
    epoch: u64,
    /// The stream as it was found.
    expected: Arc<Expected>,
    authority: Arc<Authority>,
    append_wait: Duration,
    /// The largest block that a message holds, bytes.
    block_limit: u64,
    /// Why no more appends are taken.
    failed: Option<Failed>,
    /// Why the last append found no room, if it found none.
    full: Option<String>,
    /// Released with the store.
    _lock: Option<LockGuard>,
}

/// Why a store takes no more appends.
#[derive(Debug, Clone)]
enum Failed {
    /// It is unknown whether the last append is durable.
    Unknown(String),
    /// Another writer took the stream.
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

/// The outcome of publishing a message.
#[derive(Debug)]
enum Published {
    /// It stands at its place.
    Stands,
    /// Another one does.
    Other(Message),
    /// There is no room, and nothing stands there.
    NoRoom(io::Error),
    /// It could not be found out in time: it may yet come to stand there.
    Unknown(String),
}

impl JetStreamStore {
    /// Opens `partition`: makes its stream if it is missing, verifies everything in it, and takes it over. Whoever wrote
    /// before appends nothing any more.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(config: &Config, partition: u32) -> Result<Self, OpenError> {
        Self::open_or(config, partition, Absent::Create, None)
    }

    /// Opens `partition`; `absent` decides what happens without a stream. With `last_epoch`, the opening fails if another process
    /// has begun an epoch after that message.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::Deleted`], [`OpenError::Taken`].
    pub fn open_or(
        config: &Config,
        partition: u32,
        absent: Absent<'_>,
        last_epoch: Option<u64>,
    ) -> Result<Self, OpenError> {
        let stream = Stream::open(config, partition, absent)?;
        let expected = stream.check(config)?.expected;
        Self::take(&mut Following::of(stream, partition), config, expected, last_epoch)
    }

    /// Takes over a stream that was followed: only the messages since are read. If this fails, following can go on.
    /// `last_epoch` is as in [`open_or`](Self::open_or).
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::Stream`] if the stream ends before the last message that was read: then it is
    /// another stream.
    pub fn take_over(following: &mut Following, config: &Config, last_epoch: Option<u64>) -> Result<Self, OpenError> {
        let Checked { last, expected } = following.shared().stream().check(config)?;
        let read = following.walk().sequence - 1;
        if last < read {
            let fault = format!("it ends with message {last}, and {read} were read of it");
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
        tracing::info!(stream = stream.name, epoch, position = shared.end(), "the log is open");
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

    /// Keeps a lock for as long as the store is open: of a folder that goes with it, say.
    #[must_use]
    pub fn with_lock(self, lock: LockGuard) -> Self {
        Self { _lock: Some(lock), ..self }
    }

    /// The presence of this writer, which has these partitions too, for other processes to see that it lives.
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

    /// Skips the message in the place of an append and those after it, if all are foreign.
    ///
    /// # Errors
    /// One of them is another writer's.
    fn skip_foreign(&mut self, first: Message) -> Result<(), AppendError> {
        let shared = Arc::clone(&self.shared);
        let stream = shared.stream();
        let mut messages = vec![first];
        while !messages.is_empty() {
            for message in messages {
                let mut walk = self.walk.clone();
                let stepped = walk.step(&stream.trust, &message);
                if stepped.is_err() || !walk.skipped(&self.walk) {
                    let fenced = format!("message {} of the stream is of another writer", message.sequence);
                    return Err(self.fail(Failed::Fenced(fenced)));
                }
                walk.report_foreign(&self.walk, &stream.name);
                shared.publish(&self.walk, &walk, message.payload.len());
                self.walk = walk;
            }
            // An unreachable or lagging server returns no messages: the next attempt to publish finds the rest.
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

    /// A stream is whole: one whose first messages are missing is refused.
    fn start(&self) -> LogStart {
        LogStart::genesis(self.partition)
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
        let payload = block::encode(after + 1, records);
        let (shared, until) = (Arc::clone(&self.shared), Instant::now() + self.append_wait);
        let (kind, epoch) = (Kind::Block, Some(self.epoch));
        let append = Publish { stream: shared.stream(), kind, epoch, payload: &payload };
        loop {
            match append.at(self.walk.sequence, until) {
                Published::Stands => {
                    let before = self.walk.clone();
                    let next = before.next + records.len() as Position;
                    self.walk = Walk { sequence: before.sequence + 1, next, head, ..before };
                    self.shared.publish(&before, &self.walk, payload.len());
                    self.full = None;
                    return Ok(());
                }
                // Its number was given to another message: this one is stored nowhere.
                Published::Other(other) => {
                    self.skip_foreign(other)?;
                    if Instant::now() >= until {
                        let why = "messages that no writer of the log has published take each next place";
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

    /// Reports a full stream: only another append can show that there is room again.
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

/// A message that is to stand at a certain place.
struct Publish<'a> {
    stream: &'a Stream,
    kind: Kind,
    epoch: Option<u64>,
    payload: &'a Bytes,
}

impl Publish<'_> {
    /// Publishes the message to stand at `sequence`, until it's certain which message does.
    ///
    /// An answer that says so is one way to be certain; the other is what stands there, since it never changes. A refusal
    /// for a wrong last number may be false (10164), or the answer to a try of which the first one was stored: so it
    /// leads to a look, and with nothing there, to another try. All tries are of one message for one place, and only one
    /// of them can be stored.
    fn at(&self, sequence: u64, until: Instant) -> Published {
        let mut unanswered = false;
        let (subject, headers, message) = self.message(sequence);
        loop {
            let failure = match self.stream.link.publish(&subject, &headers, self.payload, sequence - 1) {
                Ok(stored) if stored == sequence => return Published::Stands,
                Ok(stored) => return Published::Unknown(format!("stored as message {stored} instead of {sequence}")),
                Err(Failure::Refused { code, description }) if NO_ROOM.contains(&code) && !unanswered => {
                    return Published::NoRoom(io::Error::new(io::ErrorKind::StorageFull, description));
                }
                Err(failure) => failure,
            };
            unanswered |= matches!(failure, Failure::Unknown(_));
            tracing::warn!(%failure, sequence, "a message was not acknowledged: checking which message stands in its place");
            // A server that cannot be asked, or has nothing there yet, decides nothing.
            let there = self.stream.link.fetch(&self.stream.name, sequence, 1, 1).unwrap_or_default();
            match there.into_iter().next() {
                Some(there) if there == message => return Published::Stands,
                Some(other) => return Published::Other(other),
                None if Instant::now() < until => thread::sleep(PAUSE),
                None => return Published::Unknown(failure.to_string()),
            }
        }
    }

    /// The message to store at `sequence`, with its subject and its headers. The epoch identifies a block, the nonce an
    /// epoch, and with a key the MAC both: a copy without it is not this message.
    fn message(&self, sequence: u64) -> (String, Vec<(&'static str, String)>, Message) {
        let Self { stream, kind, epoch, payload } = *self;
        let mac = stream.trust.mac(sequence, kind, epoch, payload);
        let subject = match kind {
            Kind::Epoch => message::epoch_subject(&stream.name),
            Kind::Block | Kind::Other => message::block_subject(&stream.name),
        };
        let epoch_header = epoch.map(|epoch| (message::EPOCH, epoch.to_string()));
        let mac_header = mac.clone().map(|mac| (message::MAC, mac));
        let headers = epoch_header.into_iter().chain(mac_header).collect();
        (subject, headers, Message { sequence, kind, epoch, mac, payload: payload.clone() })
    }
}

/// Draws a nonce, which tells one epoch's message from every other.
fn nonce(stream: &Stream) -> Result<Bytes, OpenError> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| stream.api_error(Failure::Unknown(error.to_string())))?;
    Ok(nonce.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}
