//! A process whose log is on JetStream: writing it, or standing by while another process does.
//!
//! Another process can write the log from one message to the next, so this one goes round: it stands by with a replica of the
//! log until no writer is heard, takes the log over, which makes it the writer, and serves until it must step down. Of two that
//! stand by and find no writer at the same time, the one with the first epoch takes the log; the other keeps standing by.

mod catch_up;
mod foreign;
mod heard;
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

/// Before a log that did not open is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// A log that was opened, with what tells other processes that this one writes it.
type Opened = (Stores, Option<Presence>);

/// How a turn as the writer ended.
enum Turn {
    /// By the signal: the process ends.
    Signalled,
    /// By another writer: what was served is on its way to its end.
    Lost(Option<JoinHandle<Result<(), ServeError>>>),
}

/// A process that writes the log in turns.
struct Candidate {
    config: Config,
    options: Options,
    dealer: Dealer,
    listener: TcpListener,
}

/// Serves until the signal; `phase` is told when the process begins to serve or to stand by.
///
/// # Errors
/// [`ServeError`] of the first start; later on the process stands by and tries again.
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
    // A process with all roles is alone, unless it's told otherwise by one that takes its log.
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

/// Opens the partitions that a process writes, taking them from whoever wrote them.
///
/// # Errors
/// See [`LogError`].
pub(crate) fn open(config: &Config) -> Result<Opened, LogError> {
    let mut replica = Replica::new(config)?;
    LogLocation::of(config).check_partitions(config.partitions, &config.writes())?;
    replica.open(&BTreeMap::new())
}

impl Candidate {
    /// The port that it answers at, by which the writer tells standbys of one machine apart.
    fn port(&self) -> u16 {
        self.listener.local_addr().map_or(self.config.listen.port(), |address| address.port())
    }

    async fn open(&self) -> Result<Opened, ServeError> {
        let config = self.config.clone();
        Ok(spawn_blocking(move || open(&config)).await.map_err(ServeError::interrupted)??)
    }

    /// Stands by until the log was taken over; `None` when the signal comes first. What this process served before is closed
    /// before its data folder is used again.
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

    /// Waits until the log has no writer, and takes it over. What stops that for now is tried again.
    async fn take_over(&self, catch_up: &mut CatchUp, silent: &AtomicBool) -> Result<Opened, ServeError> {
        let writes: Vec<_> = self.config.writes().into_iter().collect();
        loop {
            let last_epochs = tokio::select! {
                vacant = vacant(&self.config.store, &writes, silent) => match vacant {
                    Ok(last_epochs) => last_epochs,
                    Err(error) => {
                        tracing::warn!(%error, "whether the log has a writer can't be found out");
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
                let checked = LogLocation::of(&config).check_partitions(config.partitions, &config.writes());
                let opened = checked.and_then(|()| replica.open(&last_epochs));
                (replica, opened)
            });
            let (replica, opened) = opening.await.map_err(ServeError::interrupted)?;
            match opened {
                Ok(opened) => return Ok(opened),
                Err(error) => tracing::warn!(%error, "the log can't be taken over"),
            }
            silent.store(false, Ordering::Relaxed);
            catch_up.resume(replica);
            sleep(PAUSE).await;
        }
    }

    /// Serves on a log that this process has taken, until the signal or until it must step down.
    async fn write(
        &self,
        (stores, presence): Opened,
        mut signalled: Pin<&mut impl Future<Output = &'static str>>,
        phase: &impl Fn(Phase<'_>),
    ) -> Result<Turn, ServeError> {
        let mut starting = self.start(stores);
        // The writer is heard from the moment that it has the log: replaying may take longer than a silence.
        let mut lost = pin!(async {
            match &presence {
                Some(presence) => presence.hold().await,
                None => pending().await,
            }
        });
        let mut server = tokio::select! {
            started = &mut starting => match started.map_err(ServeError::interrupted)? {
                Ok(server) => server,
                // Its first append came too late: another took the log meanwhile.
                Err(error @ (ServeError::Pool { .. } | ServeError::Behind(_))) => {
                    tracing::error!(%error, "the log was lost before it was served");
                    return Ok(Turn::Lost(None));
                }
                Err(error) => return Err(error),
            },
            why = &mut lost => {
                tracing::error!(why, "the log was lost before it was served");
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
            // In this order: `failed` looks at replicas too, and standing by mends none.
            biased;
            signal = signalled => {
                tracing::info!(signal, "stopping");
                let stopped = server.stop().await;
                leave(presence.as_ref()).await;
                return stopped.map(|()| Turn::Signalled);
            }
            // Whoever starts this process again has it replay, and judge, from the beginning.
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
        tracing::error!(why, "this process writes the log no more: it stands by");
        server.step_down(&why);
        Ok(Turn::Lost(Some(tokio::spawn(server.stop()))))
    }

    /// Replays and serves, on a task where that may take as long as it takes.
    fn start(&self, stores: Stores) -> JoinHandle<Result<Server, ServeError>> {
        let (listener, config) = (self.listener.try_clone(), self.config.clone());
        let (options, dealer) = (self.options.clone(), self.dealer.clone());
        tokio::spawn(async move {
            let listener = listener.map_err(|source| ServeError::Bind { address: config.listen, source })?;
            Server::start_on(listener, &config, stores, options, dealer).await
        })
    }
}

/// Hands the log over to a standby: nothing more is appended.
async fn leave(presence: Option<&Presence>) {
    if let Some(presence) = presence {
        presence.leave().await;
    }
}

async fn closed(leaving: Option<JoinHandle<Result<(), ServeError>>>) -> Result<(), ServeError> {
    match leaving {
        Some(leaving) => leaving.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the server's stop ended in a panic");
            Ok(())
        }),
        None => Ok(()),
    }
}

/// Ends a server that comes to serve a log which this process has lost.
async fn give_up(starting: JoinHandle<Result<Server, ServeError>>, why: String) -> Result<(), ServeError> {
    let Ok(Ok(server)) = starting.await else { return Ok(()) };
    server.step_down(&why);
    server.stop().await
}
