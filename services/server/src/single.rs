//! The service on one machine: one process, the log in its data folder, all services behind one port.
//!
//! The log is opened and verified, the ledgers are replayed, the pools opened, and only then is anything served, until the
//! signal. What else a process can be is in other modules: [`serve`](crate::serve) says which.

use crate::{
    error::ServeError,
    server::Server,
    services::Services,
    setup::{Phase, bind, ledger_options, open_ledgers, open_log, open_pools, open_proofs},
};
use motherlode_ledger::{Ledgers, Options, Stores};
use motherlode_runtime::Config;
use motherlode_spin::Dealer;
use std::{net::TcpListener, pin::pin};

/// Serves until the signal.
///
/// # Errors
/// [`ServeError`] says what can't be bound, opened or replayed.
pub(crate) async fn serve(
    config: Config,
    options: Options,
    dealer: Dealer,
    signalled: impl Future<Output = &'static str>,
    phase: impl Fn(Phase<'_>),
) -> Result<(), ServeError> {
    let listener = bind(&config)?;
    // A task of its own: it takes as long as the log is long, and the signal ends the wait for it.
    let starting = tokio::spawn(async move {
        let stores = open_log(&config).await?;
        start(listener, &config, stores, options, dealer).await
    });
    let mut signalled = pin!(signalled);
    let server = tokio::select! {
        started = starting => started.map_err(ServeError::interrupted)??,
        _ = &mut signalled => return Ok(()),
    };
    phase(Phase::Serving(&server));
    let failure = tokio::select! {
        signal = signalled => {
            tracing::info!(signal, "stopping");
            None
        }
        failure = server.task_failed() => Some(failure),
    };
    server.stop().await?;
    failure.map_or(Ok(()), Err)
}

/// Starts all services on the logs of all partitions.
///
/// # Errors
/// [`ServeError`]; nothing is served then.
pub(crate) async fn start(
    listener: TcpListener,
    config: &Config,
    stores: Stores,
    options: Options,
    dealer: Dealer,
) -> Result<Server, ServeError> {
    stores.check_whole(config.partitions)?;
    let written = open_ledgers(config, stores, ledger_options(config, options, &dealer)).await?;
    let ledgers = Ledgers::new(written, config.partitions)?;
    let proofs = open_proofs(config, ledgers.all(), dealer.keys()).await?;
    let ledgers = open_pools(ledgers).await?;
    Services::new(config, ledgers, &dealer)?
        .spin(dealer)?
        .wallet()
        .jackpot()
        .steward()
        .report()
        .jobs()
        .log()
        .proofs(proofs)?
        .serve(listener)
}
