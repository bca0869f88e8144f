//! Process with its log on JetStream. The process alternates between writer and standby. If two standbys take over at once,
//! the standby whose epoch message is stored first becomes the writer.

mod catch_up;
mod foreign;
mod heard;
pub mod prune;
mod replica;

use crate::{
    error::ServeError,
    log::location::{LogError, LogLocation},
    not_serving::NotServing,
    roles::names,
    server::Server,
    setup::{Phase, bind},
    tasks::Kind,
};
use catch_up::CatchUp;
use motherlode_jetstream::{Presence, vacant};
use motherlode_ledger::{Options, Standing, Stores};
use motherlode_runtime::{Config, config::Role};
use motherlode_spin::Dealer;
use replica::Replica;
use std::{
    collections::BTreeMap,
    future::pending,
    net::TcpListener,
    pin::{Pin, pin},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::sleep,
};

const PAUSE: Duration = Duration::from_secs(1);

type Opened = (Stores, Option<Presence>);

enum Turn {
    Signalled,
    Lost(Option<JoinHandle<Result<(), ServeError>>>),
}

struct Candidate {
    config: Config,
    options: Options,
    dealer: Dealer,
    listener: TcpListener,
}

/// Serves or stands by until the process is stopped. Errors of the first start end the process; later errors delay the next
/// attempt.
pub(crate) async fn serve(
    config: Config,
    options: Options,
    dealer: Dealer,
    signalled: impl Future<Output = &'static str>,
    phase: impl Fn(Phase<'_>),
) -> Result<(), ServeError> {
    let candidate = Candidate { listener: bind(&config)?, config, options, dealer };
    let mut signalled = pin!(signalled);
    let mut leaving = None;
    let mut opened = match candidate.config.role {
        Role::All => tokio::select! {
            opened = candidate.open() => Some(opened?),
            _ = signalled.as_mut() => return Ok(()),
        },
        _ => None,
    };
    loop {
        let log = match opened.take() {
            Some(log) => log,
            None => match candidate.stand_by(leaving.take(), signalled.as_mut(), &phase).await? {
                Some(log) => log,
                None => return Ok(()),
            },
        };
        match candidate.write(log, signalled.as_mut(), &phase).await? {
            Turn::Signalled => return Ok(()),
            Turn::Lost(serving) => leaving = serving,
        }
    }
}

pub(crate) fn open(config: &Config) -> Result<Opened, LogError> {
    let mut replica = Replica::new(config)?;
    LogLocation::from_config(config).check_partitions(config.partitions, &config.write_partitions())?;
    replica.open(&BTreeMap::new())
}

impl Candidate {
    /// Returns the listening port, which distinguishes standbys on one machine.
    fn port(&self) -> u16 {
        self.listener.local_addr().map_or(self.config.listen.port(), |address| address.port())
    }

    async fn open(&self) -> Result<Opened, ServeError> {
        let config = self.config.clone();
        Ok(spawn_blocking(move || open(&config)).await.map_err(ServeError::interrupted)??)
    }

    async fn stand_by(
        &self,
        leaving: Option<JoinHandle<Result<(), ServeError>>>,
        signalled: Pin<&mut impl Future<Output = &'static str>>,
        phase: &impl Fn(Phase<'_>),
    ) -> Result<Option<Opened>, ServeError> {
        let answering = NotServing::start(&self.listener, &self.config, &names(self.config.role), &[]).await?;
        phase(Phase::Standby(&self.listener));
        let mut catch_up =
            CatchUp::start(&self.config, self.options.clone(), &self.dealer, self.port(), closed(leaving));
        let opened = tokio::select! {
            opened = self.take_over(&mut catch_up, &answering.takes_over) => opened?,
            _ = signalled => {
                catch_up.close().await;
                return Ok(None);
            }
        };
        answering.stop();
        Ok(Some(opened))
    }

    async fn take_over(&self, catch_up: &mut CatchUp, silent: &AtomicBool) -> Result<Opened, ServeError> {
        let writes: Vec<_> = self.config.write_partitions().into_iter().collect();
        loop {
            let last_epochs = tokio::select! {
                vacant = vacant(&self.config.store, &writes, silent) => match vacant {
                    Ok(last_epochs) => last_epochs,
                    Err(error) => {
                        tracing::warn!(%error, "failed to check whether the log has a writer; retrying");
                        sleep(PAUSE).await;
                        continue;
                    }
                },
                ended = catch_up.ended() => {
                    catch_up.resume(ended?);
                    continue;
                }
            };
            let (mut replica, config) = (catch_up.stop().await?, self.config.clone());
            let opening = spawn_blocking(move || {
                let checked =
                    LogLocation::from_config(&config).check_partitions(config.partitions, &config.write_partitions());
                let opened = checked.and_then(|()| replica.open(&last_epochs));
                (replica, opened)
            });
            let (replica, opened) = opening.await.map_err(ServeError::interrupted)?;
            match opened {
                Ok(opened) => return Ok(opened),
                Err(error) => tracing::warn!(%error, "failed to take over the log; retrying"),
            }
            silent.store(false, Ordering::Relaxed);
            catch_up.resume(replica);
            sleep(PAUSE).await;
        }
    }

    async fn write(
        &self,
        (stores, presence): Opened,
        mut signalled: Pin<&mut impl Future<Output = &'static str>>,
        phase: &impl Fn(Phase<'_>),
    ) -> Result<Turn, ServeError> {
        let mut starting = self.start(stores);
        // A long replay can let another standby take over, so the authority to write is also checked meanwhile.
        let mut lost = pin!(async {
            match &presence {
                Some(presence) => presence.hold().await,
                None => pending().await,
            }
        });
        let mut server = tokio::select! {
            started = &mut starting => match started.map_err(ServeError::interrupted)? {
                Ok(server) => server,
                Err(error @ (ServeError::Pool { .. } | ServeError::Behind(_))) => {
                    tracing::error!(%error, "this process lost the log to another writer before it served calls");
                    return Ok(Turn::Lost(None));
                }
                Err(error) => return Err(error),
            },
            why = &mut lost => {
                tracing::error!(why, "this process lost the log to another writer before it served calls");
                return Ok(Turn::Lost(Some(tokio::spawn(give_up(starting, why)))));
            }
            _ = &mut signalled => return Ok(Turn::Signalled),
        };
        if let Some(presence) = &presence {
            let (heard, ledgers) = (presence.clone(), server.ledgers().clone());
            server.tasks.spawn(Kind::Standbys, move || heard::list(heard.clone(), ledgers.clone()));
            let (looked, ledgers) = (presence.clone(), server.ledgers().clone());
            server.tasks.spawn(Kind::ForeignMessages, move || foreign::report(looked.clone(), ledgers.clone()));
        }
        phase(Phase::Serving(&server));
        let ledgers = server.ledgers().clone();
        let why = tokio::select! {
            biased;
            signal = signalled => {
                tracing::info!(signal, "stopping");
                let stopped = server.stop().await;
                leave(presence.as_ref()).await;
                return stopped.map(|()| Turn::Signalled);
            }
            standing @ (Standing::Failed(_) | Standing::Fenced(_)) = ledgers.replica_failed() => {
                server.stop().await?;
                return Err(ServeError::Replica(standing));
            }
            failure = server.task_failed() => {
                server.stop().await?;
                leave(presence.as_ref()).await;
                return Err(failure);
            }
            why = lost => why,
            Standing::Failed(why) | Standing::Damaged(why) | Standing::Fenced(why) = server.failed() => why,
        };
        tracing::error!(why, "this process stopped writing the log and is now a standby");
        server.step_down(&why);
        Ok(Turn::Lost(Some(tokio::spawn(server.stop()))))
    }

    fn start(&self, stores: Stores) -> JoinHandle<Result<Server, ServeError>> {
        let (listener, config) = (self.listener.try_clone(), self.config.clone());
        let (options, dealer) = (self.options.clone(), self.dealer.clone());
        tokio::spawn(async move {
            let listener = listener.map_err(|source| ServeError::Bind { address: config.listen, source })?;
            Server::start_on(listener, &config, stores, options, dealer).await
        })
    }
}

async fn leave(presence: Option<&Presence>) {
    if let Some(presence) = presence {
        presence.leave().await;
    }
}

async fn closed(leaving: Option<JoinHandle<Result<(), ServeError>>>) -> Result<(), ServeError> {
    match leaving {
        Some(leaving) => leaving.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a panic interrupted the server's shutdown");
            Ok(())
        }),
        None => Ok(()),
    }
}

async fn give_up(starting: JoinHandle<Result<Server, ServeError>>, why: String) -> Result<(), ServeError> {
    let Ok(Ok(server)) = starting.await else { return Ok(()) };
    server.step_down(&why);
    server.stop().await
}
