use crate::{
    console,
    error::ServeError,
    log::location::LogLocation,
    process_metrics, roles,
    setup::{Phase, check},
    standby,
    telemetry_port::TelemetryPort,
};
use futures_util::future::{BoxFuture, LocalBoxFuture};
use motherlode_ledger::{Options, Stores};
use motherlode_runtime::{Config, config::Role};
use motherlode_spin::Dealer;

/// Runs the process. `phase` is called when the process begins to serve or to stand by.
pub fn serve<'a>(
    config: &'a Config,
    dealer: Dealer,
    signalled: BoxFuture<'a, &'static str>,
    phase: &'a dyn Fn(Phase<'_>),
) -> LocalBoxFuture<'a, Result<(), ServeError>> {
    Box::pin(async move {
        check(config)?;
        let options = Options {
            queue_length_max: config.limits.queue_length_max,
            batch_commits_max: config.limits.batch_commits_max,
            players_max: (config.limits.players_in_memory / config.partitions.max(1) as usize).max(1),
            ..Options::default()
        };
        let port = TelemetryPort::bind(config)?;
        if config.telemetry.measures() {
            process_metrics::start(config, port.is_ready());
        }
        let noted = |reached: Phase<'_>| {
            port.note(&reached);
            phase(reached);
        };
        let served = run(config.clone(), options, dealer, signalled, &noted);
        tokio::select! {
            served = served => served,
            failed = port.serve(config) => failed,
        }
    })
}

fn run<'a>(
    config: Config,
    options: Options,
    dealer: Dealer,
    signalled: BoxFuture<'a, &'static str>,
    phase: &'a dyn Fn(Phase<'_>),
) -> LocalBoxFuture<'a, Result<(), ServeError>> {
    Box::pin(async move {
        match (config.role, LogLocation::from_config(&config)) {
            (Role::Console, _) => console::serve(&config, signalled, phase).await,
            (Role::All | Role::Ledger, LogLocation::Folder { .. }) | (Role::Spin | Role::Jackpot, _) => {
                roles::serve(config, options, dealer, signalled, phase).await
            }
            (Role::All | Role::Ledger, LogLocation::Stream(_)) => {
                if config.role.spins() && config.draws.key_file.is_none() {
                    tracing::warn!(
                        "[draws] key_file is not set: a standby that takes over this log has different draw keys, so it revokes all outstanding draws, \
                        and open rounds can only be voided. Configure the same key file for all processes"
                    );
                }
                if config.proofs.key_file.is_none() {
                    tracing::warn!(
                        "[proofs] key_file is not set: a standby that takes over this log ends, because it cannot sign the log. Configure the same key file for all processes"
                    );
                }
                standby::serve(config, options, dealer, signalled, phase).await
            }
        }
    })
}

pub fn open_stores(config: &Config) -> Result<Stores, ServeError> {
    match LogLocation::from_config(config) {
        location @ LogLocation::Folder { .. } => Ok(location.open_written(config)?.into()),
        LogLocation::Stream(_) => Ok(standby::open(config)?.0),
    }
}
