//! Follows the writer during standby, with one thread per partition, so that a takeover reads only the latest commits.

use super::replica::Replica;
use crate::{error::ServeError, setup::ledger_options};
use futures_util::future::try_join_all;
use motherlode_ledger::Options;
use motherlode_runtime::Config;
use motherlode_spin::Dealer;
use std::{
    sync::mpsc::{Sender, channel},
    thread,
    time::Duration,
};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

const END_MAX: Duration = Duration::from_secs(20);

pub(super) struct CatchUp {
    config: Config,
    options: Options,
    port: u16,
    stops: Vec<Sender<()>>,
    following: Option<JoinHandle<Result<Replica, ServeError>>>,
}

impl CatchUp {
    pub(super) fn start(
        config: &Config,
        options: Options,
        dealer: &Dealer,
        port: u16,
        free: impl Future<Output = Result<(), ServeError>> + Send + 'static,
    ) -> Self {
        let options = ledger_options(config, options, dealer);
        let mut catch_up = Self { config: config.clone(), options, port, stops: vec![], following: None };
        let config = config.clone();
        catch_up.follow(async move {
            free.await?;
            Ok(Replica::new(&config)?)
        });
        catch_up
    }

    pub(super) fn resume(&mut self, replica: Replica) {
        self.follow(std::future::ready(Ok(replica)));
    }

    fn follow(&mut self, replica: impl Future<Output = Result<Replica, ServeError>> + Send + 'static) {
        let (stops, told): (Vec<_>, Vec<_>) = self.config.write_partitions().into_iter().map(|_| channel()).unzip();
        let (config, options, port) = (self.config.clone(), self.options.clone(), self.port);
        self.stops = stops;
        self.following = Some(tokio::spawn(async move {
            let mut replica = replica.await?;
            let following = replica.partitions.drain(..).zip(told).map(|(partition, stop)| {
                let (config, options) = (config.clone(), options.clone());
                on_a_thread(move || partition.follow(&config, &options, port, &stop))
            });
            let following: Vec<_> = following.collect();
            replica.partitions = try_join_all(following).await?;
            Ok(replica)
        }));
    }

    pub(super) async fn ended(&mut self) -> Result<Replica, ServeError> {
        let Some(following) = &mut self.following else { return std::future::pending().await };
        let ended = following.await;
        self.following = None;
        ended.unwrap_or_else(|error| Err(ServeError::interrupted(error)))
    }

    pub(super) async fn stop(&mut self) -> Result<Replica, ServeError> {
        self.stops.clear();
        self.ended().await
    }

    pub(super) async fn close(mut self) {
        if self.following.is_none() {
            return;
        }
        match timeout(END_MAX, self.stop()).await {
            Ok(Ok(replica)) => drop(spawn_blocking(move || replica.close()).await),
            Ok(Err(error)) => tracing::warn!(%error, "the standby's replica failed and was not closed"),
            Err(_) => tracing::warn!("the replica was not closed in time: the next start replays more of the log"),
        }
    }
}

fn on_a_thread<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, ServeError>> {
    let (done, result) = oneshot::channel();
    let started = thread::Builder::new().name("standby".to_owned()).spawn(move || drop(done.send(body())));
    async move {
        started.map_err(ServeError::interrupted)?;
        result.await.map_err(|_| ServeError::interrupted("a thread that follows the log ended in a panic"))
    }
}
