//! Standing by warm: the log that another process writes is followed, so that taking it over costs what came since and not
//! the whole log.
//!
//! Each partition's stream is read from JetStream itself, on a thread of its own, verified, and folded into books, index and
//! requests ([`Recovered`]); the process that writes need not be there. Nothing of the log is changed. What can't be read for now
//! is read later. What proves to be no continuation is let go of, which is said, and the log is loaded anew.

use crate::{
    place::PlaceError,
    server::{ServeError, index_folder, within},
};
use futures_util::future::try_join_all;
use motherlode_jetstream::{self as jetstream, Following, JetStreamStore, Presence};
use motherlode_ledger::{self as ledger, Held, Options, Recovered, Stores};
use motherlode_log::{Disk, LockGuard, OsDisk, ReadError, Store};
use motherlode_runtime::{Config, config};
use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    thread,
    time::Duration,
};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

/// From one look for more to the next, where there was none.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Before what failed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Before a log is loaded anew, since that may be for nothing.
const ANEW_AFTER: Duration = Duration::from_secs(60);
/// How long the process's own end waits for what can't be broken off: a replay, a server that doesn't answer.
const END_MAX: Duration = Duration::from_secs(20);

/// The streams of a log's partitions as far as this process holds them, and the lock of the folder with their index.
pub(crate) struct Streams {
    config: config::Store,
    lock: Option<LockGuard>,
    /// Those that it writes once it has taken them over.
    partitions: Vec<Partition>,
}

impl Streams {
    /// Locks the data folder; nothing is held of the log yet.
    ///
    /// # Errors
    /// [`PlaceError::Index`]: another process has the folder.
    pub(crate) fn new(config: &Config) -> Result<Self, PlaceError> {
        let failed = |source| PlaceError::Index { folder: config.data.clone(), source };
        OsDisk.create_dir(&config.data).map_err(failed)?;
        let lock = OsDisk.lock(&config.data.join("lock")).map_err(failed)?;
        let lock = lock.ok_or_else(|| failed(io::Error::other("in use by another process")))?;
        let partitions = config.writes().into_iter().map(Partition::new).collect();
        Ok(Self { config: config.store.clone(), lock: Some(lock), partitions })
    }

    /// Takes all partitions over, with what is held of them. Where that fails, what is held still is, but for what proves to
    /// be of another log.
    ///
    /// # Errors
    /// See [`PlaceError`].
    pub(crate) fn open(&mut self) -> Result<(Stores, Option<Presence>), PlaceError> {
        // From the last to the first: where the first is there all are, and which there are can be seen.
        let opened = self.partitions.iter_mut().rev().map(|partition| partition.open(&self.config));
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

    fn close(self) {
        self.partitions.into_iter().for_each(|mut partition| partition.let_go());
    }
}

/// A partition, as far as it's held.
struct Partition {
    number: u32,
    /// Read and verified.
    stream: Option<Following>,
    /// Folded.
    ledger: Option<Recovered>,
}

impl Partition {
    fn new(number: u32) -> Self {
        Self { number, stream: None, ledger: None }
    }

    /// Takes it over; reads what came since, or everything where nothing is held.
    fn open(&mut self, config: &config::Store) -> Result<JetStreamStore, jetstream::OpenError> {
        let Some(following) = &mut self.stream else { return JetStreamStore::open(config, self.number) };
        let opened = JetStreamStore::take_over(following, config);
        opened.inspect_err(|error| {
            if is_doubt(error) {
                tracing::error!(partition = self.number, %error, "what is held is not of this log: it's loaded anew");
                self.let_go();
            }
        })
    }

    /// Follows until it's told to stop.
    fn follow(mut self, config: &Config, options: &Options, stop: &Receiver<()>) -> Self {
        let (mut pause, mut said) = (Duration::ZERO, false);
        while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let Err(why) = self.catch_up(config, options, stop) else {
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
    fn catch_up(&mut self, config: &Config, options: &Options, stop: &Receiver<()>) -> Result<(), Unheld> {
        let following = match &mut self.stream {
            Some(following) => following,
            none => match Following::find(&config.store, self.number) {
                // Nobody has made the log yet.
                Err(jetstream::OpenError::Missing { .. }) => return Ok(()),
                found => none.insert(found?),
            },
        };
        while stop.try_recv() != Err(TryRecvError::Disconnected) {
            let any = following.more()?;
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

/// Why a partition can't be held.
#[derive(Debug, thiserror::Error)]
enum Unheld {
    #[error(transparent)]
    Stream(#[from] jetstream::OpenError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Ledger(#[from] ledger::OpenError),
}

impl Unheld {
    /// Whether what is held is no beginning of the log that is there, as far as can be told; else it's a matter of time.
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
        Open::Connect { .. } | Open::Unsafe(_) | Open::Api { .. } | Open::Contended { .. } => false,
    }
}

/// A standby that follows.
pub(crate) struct Warm {
    config: Config,
    options: Options,
    /// Those who follow stop when these are dropped.
    stops: Vec<Sender<()>>,
    /// None once it has given what it held.
    following: Option<JoinHandle<Result<Streams, ServeError>>>,
}

impl Warm {
    /// Follows all partitions, once whoever had the data folder before in this process has let go of it.
    pub(crate) fn start(
        config: &Config,
        options: Options,
        free: impl Future<Output = Result<(), ServeError>> + Send + 'static,
    ) -> Self {
        let options = within(config, options);
        let mut warm = Self { config: config.clone(), options, stops: vec![], following: None };
        let config = config.clone();
        warm.follow(async move {
            free.await?;
            Ok(Streams::new(&config)?)
        });
        warm
    }

    /// Goes on with what was held when it was stopped.
    pub(crate) fn go_on(&mut self, streams: Streams) {
        self.follow(std::future::ready(Ok(streams)));
    }

    fn follow(&mut self, streams: impl Future<Output = Result<Streams, ServeError>> + Send + 'static) {
        let (stops, told): (Vec<_>, Vec<_>) = self.config.writes().into_iter().map(|_| channel()).unzip();
        let (config, options) = (self.config.clone(), self.options.clone());
        self.stops = stops;
        self.following = Some(tokio::spawn(async move {
            let Streams { config: store, lock, partitions } = streams.await?;
            let following = partitions.into_iter().zip(told).map(|(partition, stop)| {
                let (config, options) = (config.clone(), options.clone());
                on_a_thread(move || partition.follow(&config, &options, &stop))
            });
            Ok(Streams { config: store, lock, partitions: try_join_all(following).await? })
        }));
    }

    /// Waits until it has stopped, with what is held then.
    ///
    /// # Errors
    /// It never could: another process has the data folder, say.
    pub(crate) async fn ended(&mut self) -> Result<Streams, ServeError> {
        let Some(following) = &mut self.following else { return std::future::pending().await };
        let ended = following.await;
        self.following = None;
        ended.unwrap_or_else(|error| Err(ServeError::Interrupted(error.to_string())))
    }

    /// Stops, with what is held.
    ///
    /// # Errors
    /// As [`ended`](Self::ended).
    pub(crate) async fn stop(&mut self) -> Result<Streams, ServeError> {
        self.stops.clear();
        self.ended().await
    }

    /// Stops, and lets go of what is held: the process ends.
    pub(crate) async fn close(mut self) {
        if self.following.is_none() {
            return;
        }
        match timeout(END_MAX, self.stop()).await {
            Ok(Ok(streams)) => drop(spawn_blocking(move || streams.close()).await),
            Ok(Err(error)) => tracing::warn!(%error, "nothing was held"),
            Err(_) => tracing::warn!("the log could not be let go of in time: the next start reads more of it again"),
        }
    }
}

/// Runs a task of any length on a thread of its own, which the runtime's end does not wait for.
fn on_a_thread<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, ServeError>> {
    let (done, result) = oneshot::channel();
    let started = thread::Builder::new().name("standby".to_owned()).spawn(move || drop(done.send(body())));
    async move {
        started.map_err(|error| ServeError::Interrupted(error.to_string()))?;
        result.await.map_err(|_| ServeError::Interrupted("a thread that follows the log ended in a panic".to_owned()))
    }
}
