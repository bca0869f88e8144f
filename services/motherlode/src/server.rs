//! The services of a process behind one port: all of them with the log, or those of a role.
//!
//! A process of the role `ledger` has the log, the wallet and the reports, and serves the log to those of the other roles,
//! which hold a replica of it and are else the same.
//!
//! Starting: the log is opened and verified, the ledger replayed, the port bound, and only then is anything served.
//! Stopping: no new calls, streams end, calls under way are answered, the ledger closes behind them. What was
//! acknowledged is durable whether or not there is time for all that.

use crate::{
    condition,
    current::Current,
    deadline::Deadline,
    front::{bounds, buffers, tls},
    measured::Measured,
    metrics::Observed,
    place::{Place, PlaceError},
    standby::Standby,
    traced::Traced,
};
use motherlode_books::{Minor, SessionLimits, StreamId};
use motherlode_jackpot::{JackpotApi, Steward};
use motherlode_ledger::{
    Handle, LedgerApi, Ledgers, LogApi, OpenError, Options, Origin, PROPOSAL_BYTES_MAX, Standing, Stores, join_all,
    offer, open_all,
};
use motherlode_proto::{
    FILE_DESCRIPTOR_SET,
    jackpot::v1::jackpot_service_server::{self, JackpotServiceServer},
    ledger::v1::ledger_service_server::{self, LedgerServiceServer},
    log::v1::log_service_server::{self, LogServiceServer},
    report::v1::report_service_server::{self, ReportServiceServer},
    spin::v1::spin_service_server::{self, SpinServiceServer},
};
use motherlode_report::{Follower, Identity as Program, ReportApi, SelfCheck};
use motherlode_runtime::{
    Config, ConfigError, Profiles,
    access::Access,
    config::Role,
    connections::{self, Acceptor, TlsError},
    refusal_details::RefusalDetails,
    stop::{self, Stop, Stopper},
};
use motherlode_slots::{LadderRefused, latest_games};
use motherlode_spin::{Dealer, SpinApi, Sweeper, UnknownName, Waits};
use std::{
    collections::BTreeSet,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tower::{ServiceBuilder, util::option_layer};

/// What a process serves by its role, as health and reflection name it.
pub(crate) fn services(role: Role) -> Vec<&'static str> {
    let served = [
        (role.spins(), spin_service_server::SERVICE_NAME),
        (role.has_log(), ledger_service_server::SERVICE_NAME),
        (role.keeps_pools(), jackpot_service_server::SERVICE_NAME),
        (role.has_log(), report_service_server::SERVICE_NAME),
        (role.has_log(), log_service_server::SERVICE_NAME),
    ];
    served.into_iter().filter(|(served, _)| *served).map(|(_, name)| name).collect()
}

/// Why the service could not start, or did not stop well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log does not open: it is damaged, in use, cannot be read, or its servers' settings are unsafe.
    #[error(transparent)]
    Log(#[from] PlaceError),
    /// The log does not replay.
    #[error(transparent)]
    Ledger(#[from] OpenError),
    /// What was being opened was given up.
    #[error("the opening was interrupted: {0}")]
    Interrupted(String),
    /// A partition that another process writes.
    #[error("what is written elsewhere is no continuation of what was held of it: {0}")]
    Replica(String),
    /// A file of the TLS configuration cannot be read.
    #[error("{file}: {source}")]
    Tls {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The TLS configuration's files do not make a TLS.
    #[error("TLS: {0}")]
    TlsUnusable(#[from] TlsError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A pool could not be opened.
    #[error("pool {pool}: {source}")]
    Pool {
        /// The pool.
        pool: String,
        /// Why.
        source: motherlode_ledger::AppendError,
    },
    /// The partitions could not be told of each other.
    #[error("the partitions are behind: {0}")]
    Behind(motherlode_ledger::AppendError),
    /// The configuration contradicts itself, or lets others reach the service in a way that it does not allow.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration names a game or a jurisdiction that there is not.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// A currency or a coin ladder of the configuration makes no sense, or a coin value returns what it may not.
    #[error("currencies: {0}")]
    Currencies(#[from] LadderRefused),
    /// The reflection service refuses the descriptors.
    #[error("reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// A running service.
pub struct Server {
    address: SocketAddr,
    ledgers: Ledgers,
    stopper: Stopper,
    serving: JoinHandle<()>,
    grace: Duration,
    sweeper: Option<Sweeper>,
    check: Option<SelfCheck>,
    observed: Option<Observed>,
    background: Vec<JoinHandle<()>>,
}

/// Opens the log that a configuration names, those partitions that this process writes: in its data folder, or on JetStream.
///
/// # Errors
/// See [`ServeError::Log`].
pub fn open_stores(config: &Config) -> Result<Stores, ServeError> {
    Ok(Place::of(config).open_all(config)?.0)
}

/// Where a data folder has the log of a partition.
#[must_use]
pub fn log_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("log").join(partition.to_string())
}

/// Where a folder has an operator's copy of a partition's log, as `follow` keeps it.
#[must_use]
pub fn copy_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("copy").join(partition.to_string())
}

/// Where a data folder has the index of a partition.
#[must_use]
pub fn index_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("index").join(partition.to_string())
}

impl Server {
    /// Starts everything on the stores of all partitions, or what the role `ledger` has of it, with the dealer that seeds every step: one of the
    /// operating system's entropy ([`Dealer::new`]), but in tests.
    ///
    /// # Errors
    /// [`ServeError`]; nothing is served then.
    pub async fn start(
        config: &Config,
        stores: impl Into<Stores>,
        options: Options,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        checked(config)?;
        Self::start_on(bind(config)?, config, stores, options, dealer).await
    }

    /// The same on an address that was bound before.
    ///
    /// # Errors
    /// [`ServeError`]; nothing is served then.
    pub async fn start_on(
        listener: std::net::TcpListener,
        config: &Config,
        stores: impl Into<Stores>,
        options: Options,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        let (options, stores) = (within(config, options), stores.into());
        if config.ledger.targets.is_empty() {
            // Nobody brings what is missing: it's said before anything is opened.
            stores.check_whole(config.partitions)?;
        }
        let written = open_all(stores, |partition| index_folder(&config.data, partition), &options)?;
        // Those who write the other partitions may wait for these in turn: until all is ready, these logs are given out, and
        // nothing else is answered.
        let here: BTreeSet<_> = written.iter().map(Handle::partition).collect();
        let giving = match (0..config.partitions).all(|partition| here.contains(&partition)) {
            true => None,
            false => Some(Standby::start(&listener, config, &written).await?),
        };
        let joined = join_others(config, &here, &options).await?;
        let ledgers = Ledgers::new(written.into_iter().chain(joined).collect())?;
        let prepared = prepare(&ledgers).await;
        giving.into_iter().for_each(Standby::stop);
        if let Err(error) = prepared {
            ledgers.close().await;
            return Err(error);
        }
        Self::serve(listener, config, ledgers, dealer)
    }

    /// Starts the services of a role that has no log, on a replica of the one that the configuration names. It takes as
    /// long as it takes until that one answers.
    ///
    /// # Errors
    /// [`ServeError`]; nothing is served then.
    pub async fn join(config: &Config, options: Options, dealer: Dealer) -> Result<Self, ServeError> {
        checked(config)?;
        let ledgers = Ledgers::new(join_others(config, &BTreeSet::new(), &within(config, options)).await?)?;
        Self::serve(bind(config)?, config, ledgers, dealer)
    }

    fn serve(
        listener: std::net::TcpListener,
        config: &Config,
        ledgers: Ledgers,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        let role = config.role;
        let waits = Waits::new(&config.interruption, &Profiles::new(&config.jurisdictions)?)?;
        let tls = config.tls.as_ref().map(tls).transpose()?;
        let unbound = |source| ServeError::Bind { address: config.listen, source };
        let listener = TcpListener::from_std(listener).map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        let (stopper, stop) = stop::channel();
        let program = identity(config, dealer.is_scripted());
        let mut background = vec![];
        let reports = role.has_log().then(|| {
            let follower = Follower::new(ledgers.clone(), &config.report);
            let check = SelfCheck::new(program, follower.clone());
            (follower, check)
        });
        let follower = || reports.as_ref().map(|(follower, _)| follower.clone());
        let observed = config.telemetry.otlp_endpoint.is_some().then(|| Observed::start(ledgers.clone(), follower()));
        let spinning =
            role.spins().then(|| spin(config, &ledgers, &dealer, waits.clone(), stop.clone())).transpose()?;
        let report = reports.as_ref().map(|(follower, check)| {
            background.extend([tokio::spawn(follower.clone().run()), tokio::spawn(check.clone().run())]);
            ReportApi::new(follower.clone(), check.clone(), stop.clone())
        });
        let sweeper = role.spins().then(|| Sweeper::new(ledgers.clone(), dealer.clone(), waits));
        if let Some(sweeper) = sweeper.clone() {
            background.push(tokio::spawn(dealer.reseed_periodically(ledgers.home().clone())));
            background.push(tokio::spawn(sweeper.run(Duration::from_millis(config.interruption.sweep_ms))));
        }
        if role.keeps_pools() {
            background.push(tokio::spawn(Steward::new(ledgers.clone()).run()));
        }
        let serving = tokio::spawn(serve(config, tls, listener, &ledgers, spinning, report, stop)?);
        // No call takes longer than this; what does is a stream that nobody ends.
        let award_wait_max = Duration::from_millis(config.limits.award_wait_ms_max);
        let grace = Duration::from_millis(config.limits.request_ms_max) + award_wait_max + Duration::from_secs(1);
        let check = reports.map(|(_, check)| check);
        Ok(Self { address, ledgers, stopper, serving, grace, sweeper, check, observed, background })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The ledgers behind it.
    #[must_use]
    pub fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// The home partition's ledger.
    #[must_use]
    pub fn ledger(&self) -> &Handle {
        self.ledgers.home()
    }

    /// The sweeper of a process that spins; it sweeps by itself as often as configured.
    #[must_use]
    pub fn sweeper(&self) -> Option<&Sweeper> {
        self.sweeper.as_ref()
    }

    /// The self-check of a process with reports; it runs by itself every 24 hours.
    #[must_use]
    pub fn self_check(&self) -> Option<&SelfCheck> {
        self.check.as_ref()
    }

    /// Waits until a ledger takes no more proposals, and says why.
    pub async fn failed(&self) -> Standing {
        self.ledgers.failed().await
    }

    /// Takes no more proposals and answers no more reads, since another process may write the log by now, and tells nobody of
    /// what is old from then on.
    pub fn step_down(&self, why: &str) {
        self.ledgers.step_down(why);
        if let Some(observed) = &self.observed {
            observed.end();
        }
    }

    /// Stops in order.
    ///
    /// # Errors
    /// None as yet.
    pub async fn stop(self) -> Result<(), ServeError> {
        self.stopper.stop();
        let mut serving = self.serving;
        let served = tokio::time::timeout(self.grace, &mut serving).await;
        if served.is_err() {
            tracing::warn!("some streams were not ended by their readers");
            serving.abort();
        }
        for task in self.background {
            task.abort();
            // What it was at must let go of the ledger.
            let _ = task.await;
        }
        drop((self.check, self.sweeper));
        self.ledgers.close().await;
        if let Ok(Err(error)) = served {
            tracing::error!(%error, "the server's task ended");
        }
        Ok(())
    }
}

/// Binds the address that a configuration names.
///
/// # Errors
/// [`ServeError::Bind`] says why it can't be.
pub fn bind(config: &Config) -> Result<std::net::TcpListener, ServeError> {
    let bound = std::net::TcpListener::bind(config.listen).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|source| ServeError::Bind { address: config.listen, source })
}

/// Checks what can be checked before anything is opened.
///
/// # Errors
/// [`ServeError`] names what makes no sense.
pub fn checked(config: &Config) -> Result<(), ServeError> {
    Waits::new(&config.interruption, &Profiles::new(&config.jurisdictions)?)?;
    offer::offered(&config.currencies)?;
    config.check_role()?;
    config.check_exposure()?;
    config.tls.as_ref().map(tls).transpose()?;
    Ok(())
}

/// Makes replicas of the partitions that are not written here.
async fn join_others(config: &Config, here: &BTreeSet<u32>, options: &Options) -> Result<Vec<Handle>, ServeError> {
    let (targets, partitions) = (config.ledger.targets.clone(), config.partitions);
    let origin = Origin { targets, credentials: config.ledger.credentials()?, partitions };
    let others = (0..partitions).filter(|partition| !here.contains(partition));
    Ok(join_all(&origin, others, |partition| index_folder(&config.data, partition), options).await?)
}

/// Makes what every bet rests on.
async fn prepare(ledgers: &Ledgers) -> Result<(), ServeError> {
    // Before a bet is taken anywhere: each adds to its game's pool.
    let mut steward = Steward::new(ledgers.clone());
    for pool in latest_games().iter().filter_map(|game| game.pool()) {
        let opened = steward.ensure_pool(pool).await;
        opened.map_err(|source| ServeError::Pool { pool: StreamId::pool(pool).to_string(), source })?;
    }
    // No bet is taken before its partition knows the pools, the rates and what is switched off.
    steward.keep_up(true).await.map_err(ServeError::Behind)
}

/// A ledger's options, with the limits of the configuration.
pub(crate) fn within(config: &Config, options: Options) -> Options {
    let answer_wait_max = Some(Duration::from_millis(config.limits.request_ms_max));
    let change_lapse_ms = i64::try_from(config.limits.change_lapse_ms).unwrap_or(i64::MAX);
    Options { answer_wait_max, change_lapse_ms, operators: config.sharing(), ..options }
}

/// What this program is, with the whole configuration but for its role, and where it listens and keeps its data and its log:
/// what decides how it plays is the same on every machine.
fn identity(config: &Config, scripted: bool) -> Program {
    let identity = Program::new(env!("CARGO_PKG_VERSION"), &config.canonical(), scripted);
    identity.announce();
    identity
}

/// The spin service, with the limits of the configuration.
fn spin(config: &Config, ledgers: &Ledgers, dealer: &Dealer, waits: Waits, stop: Stop) -> Result<SpinApi, ServeError> {
    let limits = &config.limits;
    let award_wait = Duration::from_millis(limits.award_wait_ms_max);
    let sessions = SessionLimits {
        idle_ms_max: i64::try_from(limits.session_idle_ms_max).unwrap_or(i64::MAX),
        hold_ms: i64::try_from(limits.session_hold_ms).unwrap_or(i64::MAX),
        count_max: limits.sessions_max,
    };
    let spin = SpinApi::new(ledgers.clone(), dealer.clone(), award_wait, stop);
    Ok(spin
        .with_sessions(sessions, config.sharing(), Profiles::new(&config.jurisdictions)?)
        .with_waits(waits)
        .with_ladders(offer::offered(&config.currencies)?)
        .with_demo_balance(Minor(i64::try_from(config.demo.balance_minor).unwrap_or(i64::MAX))))
}

/// The log service of those ledgers that are written here.
pub(crate) fn log_service<'a>(
    ledgers: impl IntoIterator<Item = &'a Handle>,
    config: &Config,
    stop: Stop,
) -> LogServiceServer<LogApi> {
    LogServiceServer::new(LogApi::new(ledgers, config.partitions, stop)).max_decoding_message_size(PROPOSAL_BYTES_MAX)
}

/// The server's future: runs until the stop.
fn serve(
    config: &Config,
    tls: Option<Acceptor>,
    listener: TcpListener,
    ledgers: &Ledgers,
    spin: Option<SpinApi>,
    report: Option<ReportApi>,
    stop: Stop,
) -> Result<impl Future<Output = ()> + Send + use<>, ServeError> {
    let ladders = offer::offered(&config.currencies)?;
    let limits = &config.limits;
    let bytes = limits.message_bytes_max;
    let role = config.role;
    let spin = spin.map(|spin| SpinServiceServer::new(spin).max_decoding_message_size(bytes));
    let wallet = role.has_log().then(|| LedgerApi::new(ledgers.clone(), stop.clone()).with_ladders(ladders.clone()));
    let wallet = wallet.map(|wallet| LedgerServiceServer::new(wallet).max_decoding_message_size(bytes));
    let log = role.has_log().then(|| log_service(ledgers.all(), config, stop.clone()));
    let jackpot =
        role.keeps_pools().then(|| JackpotApi::new(ledgers.clone(), stop.clone()).with_ladders(ladders.clone()));
    let jackpot = jackpot.map(|jackpot| JackpotServiceServer::new(jackpot).max_decoding_message_size(bytes));
    let report = report.map(|report| ReportServiceServer::new(report).max_decoding_message_size(bytes));
    let names = services(role);
    let descriptors = || {
        let all = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .with_service_name("grpc.health.v1.Health");
        names.iter().fold(all, |some, name| some.with_service_name(*name))
    };
    let (reporter, health) = tonic_health::server::health_reporter();
    let mut routes = Routes::builder();
    routes.add_service(health);
    if let Some(spin) = spin {
        routes.add_service(spin);
    }
    if let Some(wallet) = wallet {
        routes.add_service(wallet);
    }
    if let Some(jackpot) = jackpot {
        routes.add_service(jackpot);
    }
    if let Some(report) = report {
        routes.add_service(report);
    }
    if let Some(log) = log {
        routes.add_service(log);
    }
    if config.reflection {
        // Clients that are still on the older version of reflection: Python's, for one.
        routes.add_service(descriptors().build_v1()?).add_service(descriptors().build_v1alpha()?);
    }
    let clock = ledgers.clone();
    let access = Access::new(&config.operators, Arc::new(move || clock.clock_ms()));
    let exports = config.telemetry.otlp_endpoint.is_some();
    let service = ServiceBuilder::new()
        // The first is the outermost. Who calls is known before anything else is looked at.
        .layer(option_layer(exports.then(Measured::new)))
        .layer(option_layer(exports.then_some(Traced)))
        .layer(RefusalDetails)
        .layer(access)
        .layer(buffers(config))
        .layer(Deadline)
        .layer(Current(ledgers.clone()))
        .service(routes.routes().prepare());
    let bounds = bounds(config);
    let told: Vec<_> = names.iter().copied().chain([""]).collect();
    let ledgers = ledgers.clone();
    Ok(async move {
        for service in told.iter().copied() {
            reporter.set_service_status(service, ServingStatus::Serving).await;
        }
        let (stopper, told_all) = stop::channel();
        let stopped = async move {
            condition::report(reporter, told, ledgers, stop).await;
            stopper.stop();
        };
        tokio::join!(stopped, connections::serve(listener, tls, bounds, service, told_all));
    })
}
