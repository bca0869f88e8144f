//! Replica: a [`Handle`] of a log that another process writes.
//!
//! A replica loads its own checkpoint or copies the writer's (`fetch`), applies the later records after verifying them,
//! and then follows the log. Proposals are forwarded to the writer ([`forward`]). If the log contradicts the replica's
//! state, the replica stops.

mod fetch;
mod follow;
mod forward;
mod link;
mod reach;
mod reader;

use crate::{
    error::OpenError,
    handle::{Handle, Way},
    options::Options,
    recovery::{Recovered, recover, spawn},
    upstream::{Asking, Upstream},
};
use fetch::fetch;
use follow::Follower;
use forward::Forwarder;
use futures_util::future::BoxFuture;
pub use link::Origin;
use link::{Head, Link};
use motherlode_log::genesis;
use reach::Bounds;
use reader::Remote;
use std::{
    panic::resume_unwind,
    path::Path,
    pin::pin,
    sync::{Arc, atomic::AtomicU64},
};
use tokio::{
    runtime::{self, Runtime},
    sync::mpsc,
    task::JoinSet,
};

pub fn join(
    origin: Origin,
    partition: u32,
    index_folder: &Path,
    options: Options,
) -> BoxFuture<'_, Result<Handle, OpenError>> {
    Box::pin(async move {
        if origin.targets.is_empty() {
            return Err(OpenError::Origin("[ledger] targets names no writer of the log".to_owned()));
        }
        let failed = |source: std::io::Error| OpenError::Thread("replica", source);
        let runtime =
            runtime::Builder::new_multi_thread().worker_threads(1).thread_name("replica").enable_all().build();
        let runtime = Background(Some(runtime.map_err(failed)?));
        let (here, link) = (origin.partitions, Arc::new(Link::new(origin, partition)));
        let (asking, folder) = (Arc::clone(&link), index_folder.to_owned());
        let head = runtime.handle().spawn(async move {
            let head = asking.head().await;
            if head.partitions != here {
                return head;
            }
            fetch(&asking, &folder, head.chain.position).await;
            // The log's end is read again, because the checkpoint may be ahead of the end that was read earlier.
            asking.head().await
        });
        let Head { chain: head, partitions } = head.await.map_err(|error| OpenError::Origin(error.to_string()))?;
        if partitions != here {
            return Err(OpenError::Origin(format!(
                "the writer's log has {partitions} partitions, but this process is configured for {here}"
            )));
        }
        let end = Arc::new(AtomicU64::new(head.position));
        let reader = Arc::new(Remote::new(runtime.handle(), Arc::clone(&link), Arc::clone(&end)));
        let (folder, opening) = (index_folder.to_owned(), options.clone());
        let settle = || Ok(());
        let recovering = move || recover(partition, reader, head, Some(genesis(partition)), &folder, &opening, settle);
        let recovered = tokio::task::spawn_blocking(recovering).await;
        let recovered = recovered.map_err(|error| OpenError::Origin(error.to_string()))??;
        tracing::info!(position = head.position, "opened the replica");
        start(runtime, link, end, recovered, &options)
    })
}

fn start(
    runtime: Background,
    link: Arc<Link>,
    end: Arc<AtomicU64>,
    recovered: Recovered,
    options: &Options,
) -> Result<Handle, OpenError> {
    let Recovered { applier, keeping } = recovered;
    let shared = Arc::clone(&applier.shared);
    let (sender, inbox) = mpsc::channel(options.queue_length_max);
    let (asking, asked) = mpsc::unbounded_channel();
    let (linked, ahead_max) = (Arc::clone(&link), options.ahead_max);
    let follower = Follower { applier, link: linked, end, ahead_max };
    let forwarder = Forwarder::new(Arc::clone(&shared), Arc::clone(&link), inbox, options.queue_length_max);
    let watching = reach::watch(Arc::clone(&link), Arc::clone(&shared), Bounds::new(options));
    let threads = shared.threads.clone();
    let running = spawn(&threads, "replica", move || {
        runtime.block_on(async move {
            let mut others = JoinSet::new();
            others.spawn(follower.run());
            others.spawn(heads(link, asked));
            others.spawn(watching);
            let mut forwarding = pin!(forwarder.run());
            loop {
                tokio::select! {
                    () = &mut forwarding => break,
                    Some(ended) = others.join_next(), if !others.is_empty() => {
                        if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
                            resume_unwind(panic);
                        }
                    }
                }
            }
            // The tasks hold references to the ledger, which can close only after the tasks have ended.
            others.shutdown().await;
        });
    })?;
    let way = Way::There { inbox: sender, upstream: Upstream::new(asking) };
    Ok(Handle::new(shared, way, options, vec![running, keeping]))
}

async fn heads(link: Arc<Link>, mut asked: mpsc::UnboundedReceiver<Asking>) {
    let mut waiting = vec![];
    while asked.recv_many(&mut waiting, usize::MAX).await > 0 {
        let head = link.head().await.chain;
        for asking in waiting.drain(..) {
            let _ = asking.send(head.position);
        }
    }
}

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
