//! A process that has the log: serving while it writes it, standing by while another one does.
//!
//! On segment files the folder's lock says who writes, and there is nothing to take over. On JetStream another process can
//! write the log from one message to the next, so this one goes round: it stands by, following the log, until no writer is
//! heard, takes the log over, which makes it the writer, and serves until it must step down. Two that begin at once end with
//! one: the later epoch's.

use crate::{
    place::Place,
    server::{ServeError, Server, bind, checked},
    standby::Standby,
    warm::Warm,
};
use motherlode_jetstream::Presence;
use motherlode_ledger::{Options, Standing, Stores};
use motherlode_runtime::{Config, config::Role};
use motherlode_spin::Dealer;
use std::{net::TcpListener, time::Duration};
use tokio::{
    task::{JoinError, JoinHandle},
    time::sleep,
};

/// Before a log that did not open is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves until the signal; `serves` is told when the process begins to serve or to stand by.
///
/// # Errors
/// What can't be opened, bound or replayed at the first start; later on the process stands by and tries again.
pub async fn write(
    config: &Config,
    options: Options,
    dealer: Dealer,
    signalled: impl Future<Output = &'static str>,
    serves: impl Fn(Stage<'_>),
) -> Result<(), ServeError> {
    checked(config)?;
    let listener = bind(config)?;
    let mut signalled = std::pin::pin!(signalled);
    // A process with all roles is alone, unless it's told otherwise by one that takes its log.
    let mut stands_by = config.role == Role::Ledger && matches!(Place::of(config), Place::Stream(_));
    let mut leaving: Option<JoinHandle<Result<(), ServeError>>> = None;
    loop {
        let (stores, presence) = if stands_by {
            let standby = Standby::start(&listener, config, &[]).await?;
            serves(Stage::StandsBy(&listener));
            // What this process had open before is closed first.
            let mut warm = Warm::start(config, options.clone(), leave(leaving.take()));
            let opened = tokio::select! {
                opened = take_over(config, &mut warm) => opened?,
                _ = &mut signalled => {
                    warm.close().await;
                    return Ok(());
                }
            };
            standby.stop();
            opened
        } else {
            open(config).await?
        };
        let mut serving = serve(&listener, config, options.clone(), dealer.clone(), stores);
        let held = async {
            match &presence {
                Some(presence) => presence.hold().await,
                None => std::future::pending().await,
            }
        };
        let mut held = std::pin::pin!(held);
        // The writer is heard from the moment that it has the log: replaying may take longer than a silence.
        let server = tokio::select! {
            server = &mut serving => match server.unwrap_or_else(|error| Err(interrupted(&error))) {
                Ok(server) => server,
                // Its first append came too late: another took the log meanwhile.
                Err(error @ (ServeError::Pool { .. } | ServeError::Behind(_))) if presence.is_some() => {
                    tracing::error!(%error, "the log was lost before it was served");
                    stands_by = true;
                    continue;
                }
                Err(error) => return Err(error),
            },
            why = &mut held => {
                tracing::error!(why, "the log was lost before it was served");
                leaving = Some(tokio::spawn(give_up(serving, why)));
                stands_by = true;
                continue;
            }
            _ = &mut signalled => return Ok(()),
        };
        serves(Stage::Serves(&server));
        let (taken_over, ledgers) = (presence.is_some(), server.ledgers().clone());
        let why = tokio::select! {
            signal = &mut signalled => {
                tracing::info!(signal, "stopping");
                return server.stop().await;
            }
            why = &mut held => why,
            standing = server.failed(), if taken_over => match standing {
                Standing::Failed(why) | Standing::Fenced(why) => why,
                Standing::Takes | Standing::Stalled(_) => continue,
            },
            // Whoever starts this process again has it replay, and judge, from the beginning.
            Standing::Failed(why) | Standing::Fenced(why) = ledgers.replica_failed() => {
                server.stop().await?;
                return Err(ServeError::Replica(why));
            }
        };
        tracing::error!(why, "this process writes the log no more: it stands by");
        server.step_down(&why);
        leaving = Some(tokio::spawn(server.stop()));
        stands_by = true;
    }
}

/// What a process has come to.
pub enum Stage<'a> {
    /// It serves.
    Serves(&'a Server),
    /// It stands by, and answers so here.
    StandsBy(&'a TcpListener),
}

/// A log that was opened.
type Opened = (Stores, Option<Presence>);

/// Waits until the log has no writer, and takes it over. What stops that for now is tried again.
async fn take_over(config: &Config, warm: &mut Warm) -> Result<Opened, ServeError> {
    let place = Place::of(config);
    loop {
        tokio::select! {
            vacant = place.vacant(config) => if let Err(error) = vacant {
                tracing::warn!(%error, "whether the log has a writer can't be found out");
                sleep(PAUSE).await;
                continue;
            },
            ended = warm.ended() => {
                warm.go_on(ended?);
                continue;
            }
        }
        let (mut streams, checked, of) = (warm.stop().await?, place.clone(), config.clone());
        let opening = tokio::task::spawn_blocking(move || {
            let opened = checked.check_partitions(of.partitions, &of.writes()).and_then(|()| streams.open());
            (streams, opened)
        });
        let (streams, opened) = opening.await.map_err(|error| interrupted(&error))?;
        match opened {
            Ok(opened) => return Ok(opened),
            Err(error) => tracing::warn!(%error, "the log can't be taken over"),
        }
        warm.go_on(streams);
        sleep(PAUSE).await;
    }
}

async fn leave(leaving: Option<JoinHandle<Result<(), ServeError>>>) -> Result<(), ServeError> {
    match leaving {
        Some(leaving) => leaving.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the server's stop ended in a panic");
            Ok(())
        }),
        None => Ok(()),
    }
}

async fn open(config: &Config) -> Result<Opened, ServeError> {
    let config = config.clone();
    let opening = tokio::task::spawn_blocking(move || Place::of(&config).open_all(&config)).await;
    Ok(opening.map_err(|error| interrupted(&error))??)
}

fn interrupted(error: &JoinError) -> ServeError {
    ServeError::Interrupted(error.to_string())
}

/// Replays and serves, on a thread where that may take as long as it takes.
fn serve(
    listener: &TcpListener,
    config: &Config,
    options: Options,
    dealer: Dealer,
    stores: Stores,
) -> JoinHandle<Result<Server, ServeError>> {
    let (listener, config) = (listener.try_clone(), config.clone());
    tokio::spawn(async move {
        let listener = listener.map_err(|source| ServeError::Bind { address: config.listen, source })?;
        Server::start_on(listener, &config, stores, options, dealer).await
    })
}

/// Ends a server that comes to serve a log which this process has lost.
async fn give_up(serving: JoinHandle<Result<Server, ServeError>>, why: String) -> Result<(), ServeError> {
    let Ok(Ok(server)) = serving.await else { return Ok(()) };
    server.step_down(&why);
    server.stop().await
}
