//! A standby's replica: the log that another process writes, as far as this one has read and folded it.
//!
//! Each partition's stream is read from JetStream itself, verified, and folded into books, index and requests ([`Recovered`]);
//! the process that writes need not be there. Nothing of the log is changed. What proves to be of another log is let go of,
//! which is said, and the log is loaded anew.

use crate::log::{layout::index_folder, location::LogError};
use motherlode_jetstream::{self as jetstream, Absent, Following, JetStreamStore, Presence};
use motherlode_ledger::{self as ledger, Held, Options, Recovered, Stores};
use motherlode_log::{Disk, LockGuard, OsDisk, ReadError, Store};
use motherlode_runtime::{Config, config};
use std::{
    collections::BTreeMap,
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    time::{Duration, Instant},
};

/// From one look for more to the next, where there was none.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// From one word to the log's writer to the next.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Before what failed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Before a log is loaded anew, since that may be for nothing.
const ANEW_AFTER: Duration = Duration::from_secs(60);

/// The partitions of a log as far as this process holds them, and the lock of the folder with their index.
pub(super) struct Replica {
    config: config::Store,
    lock: Option<LockGuard>,
    /// Those that it writes once it has taken them over.
    pub(super) partitions: Vec<PartitionReplica>,
}

impl Replica {
    /// Locks the data folder; nothing is held of the log yet.
    ///
    /// # Errors
    /// [`LogError::Index`]: another process has the folder.
    pub(super) fn new(config: &Config) -> Result<Self, LogError> {
        let failed = |source| LogError::Index { folder: config.data.clone(), source };
        OsDisk.create_dir(&config.data).map_err(failed)?;
        let lock = OsDisk.lock(&config.data.join("lock")).map_err(failed)?;
        let lock = lock.ok_or_else(|| failed(io::Error::other("in use by another process")))?;
        let partitions = config.writes().into_iter().map(|number| PartitionReplica::new(config, number)).collect();
        Ok(Self { config: config.log_store(), lock: Some(lock), partitions })
    }

    /// Takes all partitions over, with what is held of them, unless another process has done so since `last_epochs` (by
    /// partition, as [`vacant`](jetstream::vacant) returns them). Where that fails, what is held still is, but for what proves to
    /// be of another log.
    ///
    /// # Errors
    /// See [`LogError`].
    pub(super) fn open(&mut self, last_epochs: &BTreeMap<u32, u64>) -> Result<(Stores, Option<Presence>), LogError> {
        // From the last to the first: where the first is there all are, and which there are can be seen.
        let last_epoch = |partition: &PartitionReplica| last_epochs.get(&partition.number).copied();
        let opened =
            self.partitions.iter_mut().rev().map(|partition| partition.open(&self.config, last_epoch(partition)));
        let mut opened = opened.collect::<Result<Vec<_>, _>>()?;
        opened.reverse();
        let presence = opened.split_first().map(|(first, others)| first.presence(others));
        let mut stores: Vec<Box<dyn Store>> = vec![];
        for store in opened {
            // One of them keeps the lock, for all.
            stores.push(match self.lock.take() {
                Some(lock) => Box::new(store.with_lock(lock)),
                None => Box::new(store),
            });
        }
        let recovered = self.partitions.iter_mut().filter_map(|partition| partition.ledger.take()).collect();
        Ok((Stores { stores, recovered }, presence))
    }

    /// Lets go of all that is held.
    pub(super) fn close(self) {
        self.partitions.into_iter().for_each(|mut partition| partition.let_go());
    }
}

/// A partition, as far as it's held.
pub(super) struct PartitionReplica {
    number: u32,
    /// Evidence of an earlier log; no other is created then.
    evidence: Option<String>,
    /// Read and verified.
    stream: Option<Following>,
    /// Folded.
    ledger: Option<Recovered>,
}

impl PartitionReplica {
    fn new(config: &Config, number: u32) -> Self {
        let index = index_folder(&config.data, number);
        let evidence = index.exists().then(|| format!("{} was made from its log", index.display()));
        Self { number, evidence, stream: None, ledger: None }
    }

    /// Takes it over; reads what came since, or everything where nothing is held.
    fn open(
        &mut self,
        config: &config::Store,
        last_epoch: Option<u64>,
    ) -> Result<JetStreamStore, jetstream::OpenError> {
        let Some(following) = &mut self.stream else {
            let absent = self.evidence.as_deref().map_or(Absent::Create, Absent::Refuse);
            return JetStreamStore::open_or(config, self.number, absent, last_epoch);
        };
        let opened = JetStreamStore::take_over(following, config, last_epoch);
        opened.inspect_err(|error| {
            if is_doubt(error) {
                tracing::error!(partition = self.number, %error, "what is held is not of this log: it's loaded anew");
                self.let_go();
            }
        })
    }

    /// Catches up again and again until it's told to stop, and tells the writer how far it is.
    pub(super) fn follow(mut self, config: &Config, options: &Options, port: u16, stop: &Receiver<()>) -> Self {
        let (mut pause, mut said, mut telling) = (Duration::ZERO, false, Telling { port, last: None });
        while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let Err(why) = self.catch_up(config, options, &mut telling, stop) else {
                (pause, said) = (LOOK_EVERY, false);
                continue;
            };
            pause = RETRY_AFTER;
            if why.is_doubt() {
                tracing::error!(partition = self.number, %why, "what is held is not of this log: it's loaded anew");
                self.let_go();
                pause = ANEW_AFTER;
            } else if !said {
                tracing::warn!(partition = self.number, %why, "the log can't be followed for now");
                said = true;
            }
        }
        self
    }

    /// Reads and folds what there is by now; breaks off when it's told to stop.
    fn catch_up(
        &mut self,
        config: &Config,
        options: &Options,
        telling: &mut Telling,
        stop: &Receiver<()>,
    ) -> Result<(), CatchUpError> {
        let following = match &mut self.stream {
            Some(following) => following,
            none => match Following::find(&config.log_store(), self.number) {
                // Nobody has made the log yet.
                Err(jetstream::OpenError::Missing { .. }) => return Ok(()),
                found => none.insert(found?),
            },
        };
        self.evidence.get_or_insert_with(|| "this process has read its log".to_owned());
        while stop.try_recv() != Err(TryRecvError::Disconnected) {
            let any = following.more()?;
            telling.tell(following);
            match &self.ledger {
                Some(ledger) => ledger.catch_up()?,
                None if following.has_all_found() => {
                    let (position, hash) = following.verified();
                    let (end, folder) = (Held { position, hash }, index_folder(&config.data, self.number));
                    self.ledger = Some(Recovered::recover(self.number, following.reader(), end, &folder, options)?);
                    tracing::info!(partition = self.number, position, "the log is held");
                }
                None => {}
            }
            if !any {
                break;
            }
        }
        Ok(())
    }

    fn let_go(&mut self) {
        self.stream = None;
        if let Some(ledger) = self.ledger.take() {
            ledger.close();
        }
    }
}

/// A word to the writer, once in a while.
struct Telling {
    port: u16,
    last: Option<Instant>,
}

impl Telling {
    fn tell(&mut self, following: &Following) {
        if self.last.is_none_or(|last| last.elapsed() >= TELL_EVERY) {
            following.tell(self.port);
            self.last = Some(Instant::now());
        }
    }
}

/// Why a partition can't be caught up with.
#[derive(Debug, thiserror::Error)]
enum CatchUpError {
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Ledger(#[from] ledger::OpenError),
}

impl CatchUpError {
    /// Whether what is held may be of another log. If not, trying again later is enough.
    fn is_doubt(&self) -> bool {
        match self {
            Self::Stream(error) => is_doubt(error),
            Self::Read(error) | Self::Ledger(ledger::OpenError::Read(error)) => !matches!(error, ReadError::Io(_)),
            Self::Ledger(_) => true,
        }
    }
}

/// The same of an opening.
fn is_doubt(error: &jetstream::OpenError) -> bool {
    use jetstream::OpenError as Open;
    match error {
        Open::Read(error) => !matches!(error, ReadError::Io(_)),
        Open::Missing { .. } | Open::Stream { .. } => true,
        Open::Connect { .. }
        | Open::Unsafe(_)
        | Open::Api { .. }
        | Open::Contended { .. }
        | Open::Taken { .. }
        | Open::Deleted { .. }
        | Open::Key { .. } => false,
    }
}
