use crate::{
    error::ServeError,
    log::layout::index_folder,
    names::{ADMIN, JACKPOT, JOB, LOG, PROOF, REPORT, SPIN, WALLET},
    not_serving::NotServing,
    refused_starts::note_refused_start,
    server::Server,
    services::Services,
    setup::{Phase, bind, ledger_options, open_ledgers, open_log, open_pools, open_proofs},
};
use motherlode_ledger::{ArchivedReads, Handle, Ledgers, Options, Origin, Standing, Stores, check_keys, join_all};
use motherlode_proofs::{Proofs, ProofsError, check_log_key};
use motherlode_runtime::{Config, config::Role};
use motherlode_spin::Dealer;
use std::{collections::BTreeSet, net::TcpListener, pin::pin};

pub(crate) fn names(role: Role) -> Vec<&'static str> {
    let spin = role.spins().then_some(SPIN);
    let jackpot = (role.keeps_pools() || role.has_log()).then_some(JACKPOT);
    let [wallet, report, job, log, proof] =
        [WALLET, REPORT, JOB, LOG, PROOF].map(|name| role.has_log().then_some(name));
    [Some(ADMIN), spin, wallet, jackpot, report, job, log, proof].into_iter().flatten().collect()
}

pub(crate) async fn serve(
    config: Config,
    options: Options,
    dealer: Dealer,
    signalled: impl Future<Output = &'static str>,
    phase: impl Fn(Phase<'_>),
) -> Result<(), ServeError> {
    let failed = if config.role.has_log() { ServeError::Replica } else { ServeError::AllReplicas };
    let starting = match config.role.has_log() {
        true => {
            let listener = bind(&config)?;
            tokio::spawn(async move {
                let stores = open_log(&config).await?;
                start(listener, &config, stores, options, dealer).await
            })
        }
        false => tokio::spawn(async move { join(&config, options, dealer).await }),
    };
    let mut signalled = pin!(signalled);
    let server = tokio::select! {
        started = starting => started.map_err(ServeError::interrupted)??,
        _ = &mut signalled => return Ok(()),
    };
    phase(Phase::Serving(&server));
    let ledgers = server.ledgers().clone();
    let failure = tokio::select! {
        signal = signalled => {
            tracing::info!(signal, "stopping");
            None
        }
        standing @ (Standing::Failed(_) | Standing::Fenced(_)) = ledgers.replica_failed() => Some(failed(standing)),
        failure = server.task_failed() => Some(failure),
    };
    drop(ledgers);
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
    let options = ledger_options(config, options, &dealer);
    if config.role == Role::All || config.ledger.targets.is_empty() {
        // Fails before the stores are opened if a partition has no configured writer.
        stores.check_whole(config.partitions)?;
    }
    let end = stores.stores.iter().map(|store| store.end()).max().unwrap_or_default();
    check_log_key(config, end).map_err(ProofsError::from)?;
    let written = open_ledgers(config, stores, options.clone()).await?;
    let proofs = open_proofs(config, &written, dealer.keys()).await?;
    let here: BTreeSet<_> = written.iter().map(Handle::partition).collect();
    let giving = match (0..config.partitions).all(|partition| here.contains(&partition)) {
        true => None,
        false => Some(NotServing::start(&listener, config, &names(config.role), &written).await?),
    };
    let joined = join_others(config, &here, &options).await?;
    let written = written.into_iter().chain(joined).collect();
    let ledgers = Ledgers::new(written, config.partitions, options.configured)?
        .with_archive(ArchivedReads::from_config(&config.archive));
    let opened = open_pools(ledgers).await;
    giving.into_iter().for_each(NotServing::stop);
    serve_role(listener, config, opened?, dealer, Some(proofs))
}

pub(crate) async fn join(config: &Config, options: Options, dealer: Dealer) -> Result<Server, ServeError> {
    let options = ledger_options(config, options, &dealer);
    let joined = join_others(config, &BTreeSet::new(), &options).await?;
    let ledgers = Ledgers::new(joined, config.partitions, options.configured)?
        .with_archive(ArchivedReads::from_config(&config.archive));
    if config.role.spins() {
        if !config.draws.accept_lost_keys {
            let checked = ledgers.all().try_for_each(|ledger| check_keys(ledger, dealer.keys()));
            checked.map_err(ServeError::from).inspect_err(|error| note_refused_start(&config.data, error))?;
        }
        dealer.renew(ledgers.home()).await?;
    }
    serve_role(bind(config)?, config, ledgers, dealer, None)
}

async fn join_others(config: &Config, here: &BTreeSet<u32>, options: &Options) -> Result<Vec<Handle>, ServeError> {
    let others: Vec<_> = config.read_partitions().into_iter().filter(|partition| !here.contains(partition)).collect();
    if others.is_empty() {
        return Ok(vec![]);
    }
    let (targets, partitions) = (config.ledger.targets.clone(), config.partitions);
    let origin = Origin { targets, credentials: config.ledger.credentials()?, partitions };
    Ok(join_all(&origin, others, |partition| index_folder(&config.data, partition), options).await?)
}

fn serve_role(
    listener: TcpListener,
    config: &Config,
    ledgers: Ledgers,
    dealer: Dealer,
    proofs: Option<Proofs>,
) -> Result<Server, ServeError> {
    let role = config.role;
    let mut services = Services::new(config, ledgers, &dealer)?;
    if role.spins() {
        services = services.spin(dealer)?;
    }
    if role.has_log() {
        services = services.wallet(proofs.as_ref());
    }
    if role.keeps_pools() || role.has_log() {
        services = services.jackpot();
    }
    if role.keeps_pools() {
        services = services.pool_coordinator();
    }
    if role.has_log() {
        services = services.report().jobs().log();
    }
    if let Some(proofs) = proofs {
        services = services.proofs(proofs)?;
    }
    services.serve(listener)
}
