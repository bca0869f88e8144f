//! Service on one machine, with all roles and a log in its data folder. It serves after the log is verified and replayed
//! and the pools are open.

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

pub(crate) async fn serve(
    config: Config,
    options: Options,
    dealer: Dealer,
    signalled: impl Future<Output = &'static str>,
    phase: impl Fn(Phase<'_>),
) -> Result<(), ServeError> {
    let listener = bind(&config)?;
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

pub(crate) async fn start(
    listener: TcpListener,
    config: &Config,
    stores: Stores,
    options: Options,
    dealer: Dealer,
) -> Result<Server, ServeError> {
    stores.check_whole(config.partitions)?;
    let options = ledger_options(config, options, &dealer);
    let operators = options.configured.clone();
    let ledgers = Ledgers::new(open_ledgers(config, stores, options).await?, config.partitions, operators)?;
    let proofs = open_proofs(config, ledgers.all(), dealer.keys()).await?;
    let ledgers = open_pools(ledgers).await?;
    Services::new(config, ledgers, &dealer)?
        .spin(dealer)?
        .wallet(Some(&proofs))
        .jackpot()
        .pool_coordinator()
        .report()
        .jobs()
        .log()
        .proofs(proofs)?
        .serve(listener)
}
