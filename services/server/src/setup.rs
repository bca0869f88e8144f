use crate::{
    distrust::commit_verified,
    error::ServeError,
    log::{layout::index_folder, location::LogLocation},
    refused_starts::{self, note_refused_start},
    server::Server,
    transport::tls,
};
use futures_util::future::join_all;
use motherlode_archive::Archive;
use motherlode_jackpot::PoolCoordinator;
use motherlode_ledger::{
    DrawKeys, Handle, Ledgers, Options, StartPolicy, Stores, SupersededRules, judge_start, offer, open_all,
};
use motherlode_proofs::{Proofs, ProofsError, Witnesses, check_key};
use motherlode_runtime::{
    Config, Operators, Profiles,
    config::Role,
    connect::{self, ConnectError},
    memory, telemetry,
};
use motherlode_slots::latest_games;
use motherlode_spin::{Dealer, Waits};
use motherlode_state::StreamId;
use std::{
    net::{SocketAddr, TcpListener},
    time::Duration,
};
use tokio::task::spawn_blocking;

pub enum Phase<'a> {
    Serving(&'a Server),
    Standby(&'a TcpListener),
    Console(SocketAddr),
}

pub fn check(config: &Config) -> Result<(), ServeError> {
    Waits::new(&config.interruption, &Profiles::new(&config.jurisdictions)?)?;
    offer::offered(&config.currencies)?;
    SupersededRules::new(&config.rules)?;
    config.check_role()?;
    Witnesses::from_config(config)?;
    config.check_exposure()?;
    config.check_files()?;
    config.tls.as_ref().map(tls).transpose()?;
    telemetry::check(&config.telemetry)?;
    if config.role.has_log() {
        check_key(config).map_err(ProofsError::from)?;
    }
    config.archive.place.as_deref().map(Archive::check).transpose()?;
    check_targets(config)
}

fn check_targets(config: &Config) -> Result<(), ServeError> {
    let fault = |key| move |source| ServeError::Target { key, source };
    if config.role != Role::All && !config.ledger.targets.is_empty() {
        let credentials = config.ledger.credentials()?;
        let mut targets = config.ledger.targets.iter();
        targets.try_for_each(|target| connect::check(target, &credentials)).map_err(fault("ledger.targets"))?;
    }
    for wallet in config.operators.iter().filter_map(|operator| operator.seamless.as_ref()) {
        let key = "operators.seamless.url";
        let unusable = |text| ServeError::Target { key, source: ConnectError::Unusable(text) };
        let credentials = wallet.credentials().map_err(unusable)?;
        connect::check(&wallet.url, &credentials.shown).map_err(fault(key))?;
    }
    Ok(())
}

pub fn check_addresses(config: &Config) -> Result<(), ServeError> {
    let calls = (config.role != Role::Console).then_some(config.listen);
    let console = config.console.listen.filter(|_| matches!(config.role, Role::All | Role::Console));
    calls.into_iter().chain(console).chain(config.telemetry.listen).try_for_each(|address| bind_at(address).map(drop))
}

pub fn bind(config: &Config) -> Result<TcpListener, ServeError> {
    bind_at(config.listen)
}

pub(crate) fn bind_at(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|source| ServeError::Bind { address, source })
}

pub(crate) async fn open_log(config: &Config) -> Result<Stores, ServeError> {
    let config = config.clone();
    let opening = spawn_blocking(move || LogLocation::from_config(&config).open_written(&config));
    Ok(opening.await.map_err(ServeError::interrupted)??.into())
}

pub(crate) async fn open_ledgers(config: &Config, stores: Stores, options: Options) -> Result<Vec<Handle>, ServeError> {
    let data = config.data.clone();
    let opening = spawn_blocking(move || open_all(stores, |partition| index_folder(&data, partition), &options));
    Ok(opening.await.map_err(ServeError::interrupted)??)
}

pub(crate) fn ledger_options(config: &Config, options: Options, dealer: &Dealer) -> Options {
    let answer_wait_max = Some(Duration::from_millis(config.limits.request_ms_max));
    let change_lapse_ms = i64::try_from(config.limits.change_lapse_ms).unwrap_or(i64::MAX);
    let draws = dealer.keys().clone();
    let has_operators = !config.operators.is_empty();
    let configured = Operators::of_config(config);
    let open_rounds_max = config.limits.open_rounds_per_operator_max;
    let operators = config.sharing();
    Options {
        answer_wait_max,
        change_lapse_ms,
        operators,
        configured,
        open_rounds_max,
        has_operators,
        draws,
        ..options
    }
}

/// Opens the logs' Merkle trees, and checks by all evidence, such as checkpoints, that no log has lost records. Logs a
/// new salt, so that a restored log does not draw the same values again (PL-40). On an error, closes the ledgers.
pub(crate) async fn open_proofs<'a>(
    config: &Config,
    written: impl IntoIterator<Item = &'a Handle>,
    draws: &DrawKeys,
) -> Result<Proofs, ServeError> {
    let written: Vec<_> = written.into_iter().cloned().collect();
    match opened_proofs(config, &written, draws).await {
        Ok(proofs) => {
            if let Some(ledger) = written.first() {
                refused_starts::commit(ledger, &config.data).await;
            }
            join_all(written.iter().map(commit_verified)).await;
            Ok(proofs)
        }
        Err(error) => {
            note_refused_start(&config.data, &error);
            for ledger in written {
                ledger.close().await;
            }
            Err(error)
        }
    }
}

async fn opened_proofs(config: &Config, written: &[Handle], draws: &DrawKeys) -> Result<Proofs, ServeError> {
    let proofs = {
        let (config, ledgers, keys) = (config.clone(), written.to_vec(), draws.clone());
        let opening = spawn_blocking(move || Proofs::open(&config, &ledgers, &keys));
        opening.await.map_err(ServeError::interrupted)??
    };
    let reported = Witnesses::from_config(config)?.sizes(&proofs).await;
    let (config, ledgers, keys) = (config.clone(), written.to_vec(), draws.clone());
    let opening = spawn_blocking(move || -> Result<_, ServeError> {
        let policy = StartPolicy {
            reported,
            pages: memory::folder(config.draws.page_folder.as_deref()).map_err(ServeError::PageFolder)?,
            log: config.store.url.is_none().then(|| config.data.clone()),
            accept_loss: config.draws.accept_loss,
            accept_lost_keys: config.draws.accept_lost_keys,
        };
        let judged = ledgers.iter().map(|ledger| judge_start(ledger, &keys, &policy)).collect::<Result<Vec<_>, _>>()?;
        if let Some(ledger) = ledgers.first() {
            keys.renew(ledger.clock_ms())?;
        }
        Ok((judged, policy))
    });
    let (judged, policy) = opening.await.map_err(ServeError::interrupted).flatten()?;
    for start in judged.into_iter().flatten() {
        start.begin(draws, &policy).await?;
    }
    Ok(proofs)
}

/// Opens the pools of all games, and copies to each partition the pools, exchange rates and switches that bets need. On
/// an error, closes the ledgers.
pub(crate) async fn open_pools(ledgers: Ledgers) -> Result<Ledgers, ServeError> {
    let mut coordinator = PoolCoordinator::new(ledgers.clone());
    let opening = async {
        for pool in latest_games().iter().filter_map(|game| game.pool()) {
            let opened = coordinator.ensure_pool(pool).await;
            opened.map_err(|source| ServeError::Pool { pool: Box::new(StreamId::pool(pool)), source })?;
        }
        coordinator.prepare().await.map_err(ServeError::Behind)
    };
    let opened = opening.await;
    drop(coordinator);
    match opened {
        Ok(()) => Ok(ledgers),
        Err(error) => {
            ledgers.close().await;
            Err(error)
        }
    }
}
