//! A ledger without the log: a replica of the one that has it, behind the same [`Handle`].
//!
//! It replays the log as another process of the installation sends it, verifying the chain from the first record on, and
//! then follows it: the same fold, the same index, the same requests as where the log is. Proposals go to the process that
//! writes the log ([`forward`]); each verdict is handed on when the replica has taken up what it rests on, so that a
//! service reads its own writes.
//!
//! **Reads are as of now** after [`Handle::current`]: it asks where the log ends, once for all who wait, and waits until
//! the replica is there. So whoever was answered by one process is not refused by another for what that one doesn't know
//! yet. Cost: a round trip a call, shared by the calls of that moment.
//!
//! When the link is lost, another is made, to whichever process writes the log by then; proposals without a verdict are
//! proposed again with the same request ids. A log that does not continue what the replica has taken up stops it for good.

mod follow;
mod forward;
mod link;
mod reader;

use crate::{
    Handle, OpenError, Options, Standing,
    handle::Places,
    loaded::Loaded,
    open::{load, spawn},
    shared::Shared,
};
use follow::Follower;
use forward::Forwarder;
use link::{Head, Link};
use motherlode_log::{Position, genesis};
use motherlode_runtime::{Refusal, connect::Credentials};
use reader::Remote;
use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};
use tokio::{
    runtime::{self, Runtime},
    sync::{mpsc, oneshot},
};
use tonic::Code;

/// How long reads wait to be current, where answers wait for as long as it takes.
const CURRENT_WAIT_MAX: Duration = Duration::from_secs(10);

/// The processes that have the log, of which one writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Their addresses, `https://ledger-0:50051`; one at least.
    pub targets: Vec<String>,
    /// The credentials that they ask for: of the platform's role `node`.
    pub credentials: Credentials,
    /// How many partitions their log has.
    pub partitions: u32,
}

/// Makes a replica of a partition, with its index in a folder as [`open`](crate::open) has it. It takes as long as it takes
/// until one of the ledgers answers and its log is replayed.
///
/// # Errors
/// [`OpenError`] says what and where.
pub async fn join(origin: Origin, partition: u32, index_folder: &Path, options: Options) -> Result<Handle, OpenError> {
    if origin.targets.is_empty() {
        return Err(OpenError::Origin("no process is named that has the log".to_owned()));
    }
    let failed = |source: std::io::Error| OpenError::Thread("replica", source);
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).thread_name("replica").enable_all().build();
    let runtime = Background(Some(runtime.map_err(failed)?));
    let (here, link) = (origin.partitions, Arc::new(Link::new(origin, partition)));
    let asking = Arc::clone(&link);
    let head = runtime.handle().spawn(async move { asking.head().await }).await;
    let Head { held: head, partitions } = head.map_err(|error| OpenError::Origin(error.to_string()))?;
    if partitions != here {
        return Err(OpenError::Origin(format!("its log has {partitions} partitions, not {here} as configured here")));
    }
    let end = Arc::new(AtomicU64::new(head.position));
    let reader = Arc::new(Remote::new(runtime.handle(), Arc::clone(&link), Arc::clone(&end)));
    let (folder, loading) = (index_folder.to_owned(), options.clone());
    // There is nothing to make durable here.
    let settle = || Ok(());
    let load = move || load(partition, reader, head, Some(genesis(partition)), &folder, &loading, settle);
    let loaded = tokio::task::spawn_blocking(load).await;
    let loaded = loaded.map_err(|error| OpenError::Origin(error.to_string()))??;
    tracing::info!(position = head.position, "the replica is open");
    start(runtime, link, end, loaded, &options)
}

fn start(
    runtime: Background,
    link: Arc<Link>,
    end: Arc<AtomicU64>,
    loaded: Loaded,
    options: &Options,
) -> Result<Handle, OpenError> {
    let Loaded { uptake, projecting } = loaded;
    let shared = Arc::clone(&uptake.shared);
    let (sender, inbox) = mpsc::channel(options.queue_length_max);
    let (asking, asked) = mpsc::unbounded_channel();
    let (linked, ahead_max) = (Arc::clone(&link), options.ahead_max);
    let follower = Follower { uptake, link: linked, end, ahead_max };
    let forwarder = Forwarder::new(Arc::clone(&shared), Arc::clone(&link), inbox, options.queue_length_max);
    let running = spawn("replica", move || {
        runtime.block_on(async move {
            let others = [tokio::spawn(follower.run()), tokio::spawn(heads(link, asked))];
            forwarder.run().await;
            for other in others {
                other.abort();
                // What it holds is let go of before the ledger is closed.
                let _ = other.await;
            }
        });
    })?;
    Ok(Handle::new(shared, sender, Places::new(options), [running, projecting], Some(Upstream(asking))))
}

/// One who waits to know where the log ends.
type Asking = oneshot::Sender<Position>;

/// Asks for the log's end: once for all who wait at the time.
async fn heads(link: Arc<Link>, mut asked: mpsc::UnboundedReceiver<Asking>) {
    let mut waiting = vec![];
    while asked.recv_many(&mut waiting, usize::MAX).await > 0 {
        let head = link.head().await.held;
        for asking in waiting.drain(..) {
            // Whoever has gone away needs no answer.
            let _ = asking.send(head.position);
        }
    }
}

/// Where a replica's log is written.
#[derive(Clone)]
pub(crate) struct Upstream(mpsc::UnboundedSender<Asking>);

impl Upstream {
    /// Waits until the replica holds all that is durable now.
    pub(crate) async fn current(&self, shared: &Shared) -> Result<(), Refusal> {
        let reached = async {
            let (asking, end) = oneshot::channel();
            self.0.send(asking).ok()?;
            let end = end.await.ok()?;
            let mut head = shared.head.subscribe();
            head.wait_for(|held| held.position >= end).await.ok().map(drop)
        };
        let wait = shared.answer_wait_max.unwrap_or(CURRENT_WAIT_MAX);
        match tokio::time::timeout(wait, reached).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(not_current("the ledger is closing")),
            Err(_) => Err(not_current("no process that writes the log has answered in time")),
        }
    }
}

/// The refusal of a replica that can't know whether what it holds is still true.
pub(crate) fn not_current(why: impl Into<String>) -> Refusal {
    Refusal::new(Code::Unavailable, "NOT_CURRENT", why).retry_after(Duration::from_secs(1))
}

/// A runtime that may be let go of within another one, where nothing may wait for its end.
struct Background(Option<Runtime>);

impl Background {
    fn handle(&self) -> runtime::Handle {
        match &self.0 {
            Some(runtime) => runtime.handle().clone(),
            None => runtime::Handle::current(),
        }
    }

    fn block_on(mut self, future: impl Future<Output = ()>) {
        if let Some(runtime) = self.0.take() {
            runtime.block_on(future);
            runtime.shutdown_background();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Stops a replica for good: the records that it was sent don't continue those that it has.
fn doubt(shared: &Shared, why: &str) {
    tracing::error!(why, "what the ledger sends is no continuation of what this replica holds: it stops");
    shared.fail(Standing::Failed(why.to_owned()));
}
