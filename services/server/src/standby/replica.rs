//! A standby's replica of the writer's log, read from JetStream, verified and replayed ([`Recovered`]). If a stream with
//! another log replaces this stream, the replica starts again.

use crate::log::{layout::index_folder, location::LogError};
use motherlode_jetstream::{self as jetstream, Absent, Following, JetStreamStore, Presence};
use motherlode_ledger::{self as ledger, ChainHead, Options, Recovered, Stores};
use motherlode_log::{Disk, LockGuard, OsDisk, ReadError, Reader, Store};
use motherlode_runtime::{Config, config};
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::{Duration, Instant},
};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const TELL_EVERY: Duration = Duration::from_secs(1);
const RETRY_AFTER: Duration = Duration::from_secs(1);
const ANEW_AFTER: Duration = Duration::from_secs(60);

pub(super) struct Replica {
    pub(super) config: config::Store,
    lock: Option<LockGuard>,
    pub(super) partitions: Vec<PartitionReplica>,
}

impl Replica {
    pub(super) fn new(config: &Config) -> Result<Self, LogError> {
        let failed = |source| LogError::Index { folder: config.data.clone(), source };
        OsDisk.create_dir(&config.data).map_err(failed)?;
        let lock = OsDisk.lock(&config.data.join("lock")).map_err(failed)?;
        let lock = lock.ok_or_else(|| failed(io::Error::other("the folder is in use by another process")))?;
        let partitions =
            config.write_partitions().into_iter().map(|number| PartitionReplica::new(config, number)).collect();
        Ok(Self { config: config.log_store(), lock: Some(lock), partitions })
    }

    /// Takes over all partitions, unless another process has begun a later epoch than `last_epochs`. After an error,
    /// the replicas can still follow the log.
    pub(super) fn open(&mut self, last_epochs: &BTreeMap<u32, u64>) -> Result<(Stores, Option<Presence>), LogError> {
        // Partitions are opened from the last to the first, so that the process that opens the first partition has already
        // opened all others.
        let last_epoch = |partition: &PartitionReplica| last_epochs.get(&partition.number).copied();
        let opened =
            self.partitions.iter_mut().rev().map(|partition| partition.open(&self.config, last_epoch(partition)));
        let mut opened = opened.collect::<Result<Vec<_>, _>>()?;
        opened.reverse();
        let presence = opened.split_first().map(|(first, others)| first.presence(others));
        let mut stores: Vec<Box<dyn Store>> = vec![];
        for store in opened {
            stores.push(match self.lock.take() {
                Some(lock) => Box::new(store.with_lock(lock)),
                None => Box::new(store),
            });
        }
        let recovered = self.partitions.iter_mut().filter_map(|partition| partition.ledger.take()).collect();
        Ok((Stores { stores, recovered }, presence))
    }

    pub(super) fn close(self) {
        self.partitions.into_iter().for_each(|mut partition| partition.let_go());
    }
}

pub(super) struct PartitionReplica {
    number: u32,
    /// Evidence that the log already existed; `None` allows creating a new stream.
    evidence: Option<String>,
    stream: Option<Following>,
    ledger: Option<Recovered>,
}

impl PartitionReplica {
    fn new(config: &Config, number: u32) -> Self {
        let index = index_folder(&config.data, number);
        let made = [index.with_extension("views"), index].into_iter().find(|folder| folder.exists());
        let evidence = made.map(|folder| format!("{} contains data from this stream", folder.display()));
        Self { number, evidence, stream: None, ledger: None }
    }

    pub(super) fn open(
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
                tracing::error!(partition = self.number, %error, "the replica does not belong to this log and will be loaded again");
                self.let_go();
            }
        })
    }

    pub(super) fn follow(mut self, config: &Config, options: &Options, port: u16, stop: &Receiver<()>) -> Self {
        let (mut pause, mut said, mut telling) = (Duration::ZERO, false, Telling { port, last: None });
        while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let Err(why) = self.catch_up(config, options, &mut telling, stop) else {
                (pause, said) = (LOOK_EVERY, false);
                continue;
            };
            pause = RETRY_AFTER;
            if why.is_doubt() {
                tracing::error!(partition = self.number, %why, "the replica does not belong to this log and will be loaded again");
                self.let_go();
                pause = ANEW_AFTER;
            } else if !said {
                tracing::warn!(partition = self.number, %why, "failed to follow the log; retrying");
                said = true;
            }
        }
        self
    }

    fn catch_up(
        &mut self,
        config: &Config,
        options: &Options,
        telling: &mut Telling,
        stop: &Receiver<()>,
    ) -> Result<(), CatchUpError> {
        while stop.try_recv() != Err(TryRecvError::Disconnected) {
            let any = self.advance(config, options)?;
            self.stream.iter().for_each(|following| telling.tell(following));
            if !any {
                break;
            }
        }
        Ok(())
    }

    /// Makes one request for new messages and replays them; returns false if there are none.
    pub(super) fn advance(&mut self, config: &Config, options: &Options) -> Result<bool, CatchUpError> {
        let following = match &mut self.stream {
            Some(following) => following,
            none => match Following::find(&config.log_store(), self.number) {
                Err(jetstream::OpenError::Missing { .. }) => return Ok(false),
                found => none.insert(found?),
            },
        };
        self.evidence.get_or_insert_with(|| "this process has already read the missing stream".to_owned());
        let any = following.more()?;
        match &self.ledger {
            Some(ledger) => ledger.catch_up()?,
            None if following.has_all_found() => {
                let (position, hash) = following.verified();
                let (end, folder) = (ChainHead { position, hash }, index_folder(&config.data, self.number));
                self.ledger = Some(Recovered::recover(self.number, following.reader(), end, &folder, options)?);
                tracing::info!(partition = self.number, position, "the log was loaded");
            }
            None => {}
        }
        Ok(any)
    }

    pub(super) fn is_missing(&self) -> bool {
        self.stream.is_none()
    }

    pub(super) fn find_last(&mut self) -> Result<(), jetstream::OpenError> {
        self.stream.as_mut().map_or(Ok(()), Following::find_last)
    }

    pub(super) fn has_caught_up(&self) -> bool {
        self.ledger.is_some() && self.stream.as_ref().is_some_and(Following::has_all_found)
    }

    pub(super) fn loaded(&self) -> Option<(&Recovered, Arc<dyn Reader>)> {
        Some((self.ledger.as_ref()?, self.stream.as_ref()?.reader()))
    }

    fn let_go(&mut self) {
        self.stream = None;
        if let Some(ledger) = self.ledger.take() {
            ledger.close();
        }
    }
}

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

#[derive(Debug, thiserror::Error)]
pub enum CatchUpError {
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Ledger(#[from] ledger::OpenError),
}

impl CatchUpError {
    fn is_doubt(&self) -> bool {
        match self {
            Self::Stream(error) => is_doubt(error),
            Self::Read(error) | Self::Ledger(ledger::OpenError::Read(error)) => !matches!(error, ReadError::Io(_)),
            Self::Ledger(error) => !matches!(error, ledger::OpenError::Archived(_)),
        }
    }
}

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
        | Open::Limited { .. }
        | Open::Key { .. } => false,
    }
}
