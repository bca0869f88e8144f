//! All services in one process: the log, the ledger, spin and jackpot behind one port.
//!
//! Starting: the log is opened and verified, the ledger replayed, the port bound, and only then is anything served.
//! Stopping: no new calls, streams end, calls under way are answered, the ledger closes behind them. What was
//! acknowledged is durable whether or not there is time for all that.

use crate::{
    deadline::Deadline,
    measured::Measured,
    metrics,
    place::{Place, PlaceError},
};
use motherlode_books::{Minor, SessionLimits, StreamId};
use motherlode_jackpot::{JackpotApi, Steward};
use motherlode_ledger::{Handle, LedgerApi, Ledgers, OpenError, Options, Stores};
use motherlode_proto::{
    FILE_DESCRIPTOR_SET,
    jackpot::v1::jackpot_service_server::{self, JackpotServiceServer},
    ledger::v1::ledger_service_server::{self, LedgerServiceServer},
    report::v1::report_service_server::{self, ReportServiceServer},
    spin::v1::spin_service_server::{self, SpinServiceServer},
};
use motherlode_report::{Follower, Identity as Program, ReportApi, SelfCheck};
use motherlode_runtime::{
    Config, ConfigError, Profiles,
    access::Access,
    config::Tls,
    stop::{self, Stop, Stopper},
};
use motherlode_spin::{Dealer, SpinApi, Sweeper, UnknownName, Waits};
use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::transport::{Certificate, Identity, Server as Grpc, ServerTlsConfig, server::TcpIncoming};
use tonic_health::ServingStatus;
use tower::util::option_layer;

/// Games whose bets are pooled: each has a pool of its own name.
const POOLED_GAMES: [&str; 1] = ["bewitched"];

/// What health is told for: the process as a whole, and each service.
const SERVICES: [&str; 5] = [
    "",
    spin_service_server::SERVICE_NAME,
    ledger_service_server::SERVICE_NAME,
    jackpot_service_server::SERVICE_NAME,
    report_service_server::SERVICE_NAME,
];

/// Why the service could not start, or did not stop well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log does not open: it is damaged, in use, cannot be read, or its servers' settings are unsafe.
    #[error(transparent)]
    Log(#[from] PlaceError),
    /// The log does not replay.
    #[error(transparent)]
    Ledger(#[from] OpenError),
    /// A file of the TLS configuration cannot be read.
    #[error("{file}: {source}")]
    Tls {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
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
    /// The configuration contradicts itself, or lets others reach the service in a way that it does not allow.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration names a game or a jurisdiction that there is not.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// The reflection service refuses the descriptors.
    #[error("reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] tonic::transport::Error),
}

/// A running service.
pub struct Server {
    address: SocketAddr,
    ledgers: Ledgers,
    stopper: Stopper,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
    grace: Duration,
    sweeper: Sweeper,
    check: SelfCheck,
    background: [JoinHandle<()>; 5],
}

/// Opens the log that a configuration names, all partitions of it: in its data folder, or on JetStream.
///
/// # Errors
/// See [`ServeError::Log`].
pub fn open_stores(config: &Config) -> Result<Stores, ServeError> {
    Ok(Place::of(config).open_all(&config.data, config.partitions)?)
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
    /// Starts everything on the stores of all partitions, with the dealer that seeds every step: one of the operating system's entropy
    /// ([`Dealer::new`]), but in tests.
    ///
    /// # Errors
    /// [`ServeError`]; nothing is served then.
    pub async fn start(
        config: &Config,
        stores: impl Into<Stores>,
        options: Options,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        let waits = Waits::new(&config.interruption, &Profiles::new(&config.jurisdictions)?)?;
        config.check_exposure()?;
        let tls = config.tls.as_ref().map(tls).transpose()?;
        let answer_wait_max = Duration::from_millis(config.limits.request_ms_max);
        let change_lapse_ms = i64::try_from(config.limits.change_lapse_ms).unwrap_or(i64::MAX);
        let options = Options { answer_wait_max: Some(answer_wait_max), change_lapse_ms, ..options };
        let index = |partition| index_folder(&config.data, partition);
        let ledgers = Ledgers::open(stores.into(), index, &options)?;
        let steward = Steward::new(ledgers.clone());
        for pool in POOLED_GAMES {
            let opened = steward.ensure_pool(pool).await;
            opened.map_err(|source| ServeError::Pool { pool: StreamId::pool(pool).to_string(), source })?;
        }
        let bind = |source| ServeError::Bind { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let (stopper, stop) = stop::channel();
        let sweeper = Sweeper::new(ledgers.clone(), dealer.clone(), waits.clone());
        let follower = Follower::new(ledgers.clone(), &config.report);
        if config.telemetry.otlp_endpoint.is_some() {
            metrics::observe(&ledgers, &follower);
        }
        let check = SelfCheck::new(identity(config), follower.clone());
        let spin = spin(config, &ledgers, &dealer, waits, stop.clone())?;
        let report = ReportApi::new(follower.clone(), check.clone(), stop.clone());
        let serving = tokio::spawn(serve(config, tls, listener, &ledgers, spin, report, stop)?);
        let background = [
            tokio::spawn(steward.run()),
            tokio::spawn(dealer.reseed_periodically(ledgers.home().clone())),
            tokio::spawn(sweeper.clone().run(Duration::from_millis(config.interruption.sweep_ms))),
            tokio::spawn(follower.run()),
            tokio::spawn(check.clone().run()),
        ];
        // No call takes longer than this; what does is a stream that nobody ends.
        let award_wait_max = Duration::from_millis(config.limits.award_wait_ms_max);
        let grace = answer_wait_max + award_wait_max + Duration::from_secs(1);
        Ok(Self { address, ledgers, stopper, serving, grace, sweeper, check, background })
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

    /// The sweeper, which sweeps by itself as often as configured.
    #[must_use]
    pub fn sweeper(&self) -> &Sweeper {
        &self.sweeper
    }

    /// The self-check, which runs by itself every 24 hours.
    #[must_use]
    pub fn self_check(&self) -> &SelfCheck {
        &self.check
    }

    /// Stops in order.
    ///
    /// # Errors
    /// When the transport failed meanwhile.
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
        drop(self.check);
        self.ledgers.close().await;
        match served {
            Ok(Ok(served)) => Ok(served?),
            Ok(Err(error)) => {
                tracing::error!(%error, "the server's task ended");
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }
}

/// What TLS needs, read from its files. Clients need no certificate: a token may do, which is for the layer to say.
fn tls(files: &Tls) -> Result<ServerTlsConfig, ServeError> {
    let read =
        |path: &Path| fs::read(path).map_err(|source| ServeError::Tls { file: path.display().to_string(), source });
    let identity = Identity::from_pem(read(&files.certificate)?, read(&files.key)?);
    let tls = ServerTlsConfig::new().identity(identity);
    Ok(match &files.client_ca {
        Some(roots) => tls.client_ca_root(Certificate::from_pem(read(roots)?)).client_auth_optional(true),
        None => tls,
    })
}

/// What this program is, with the whole configuration but for where it listens and keeps its data and its log: what decides how it
/// plays is the same on every machine.
fn identity(config: &Config) -> Program {
    let here = Config::default();
    let everywhere = Config { listen: here.listen, data: here.data, store: here.store, ..config.clone() };
    let identity =
        Program::new(env!("CARGO_PKG_VERSION"), &format!("{everywhere:?}"), cfg!(feature = "forced-outcomes"));
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
        .with_sessions(sessions, Profiles::new(&config.jurisdictions)?)
        .with_waits(waits)
        .with_demo_balance(Minor(i64::try_from(config.demo.balance_minor).unwrap_or(i64::MAX))))
}

/// The server's future: runs until the stop.
fn serve(
    config: &Config,
    tls: Option<ServerTlsConfig>,
    listener: TcpListener,
    ledgers: &Ledgers,
    spin: SpinApi,
    report: ReportApi,
    stop: Stop,
) -> Result<impl Future<Output = Result<(), tonic::transport::Error>> + Send + use<>, ServeError> {
    let limits = &config.limits;
    let bytes = limits.message_bytes_max;
    let spin = SpinServiceServer::new(spin).max_decoding_message_size(bytes);
    let wallet =
        LedgerServiceServer::new(LedgerApi::new(ledgers.clone(), stop.clone())).max_decoding_message_size(bytes);
    let jackpot = JackpotServiceServer::new(JackpotApi::new(ledgers.clone(), stop.clone()));
    let jackpot = jackpot.max_decoding_message_size(bytes);
    let report = ReportServiceServer::new(report).max_decoding_message_size(bytes);
    let descriptors = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let (mut reporter, health) = tonic_health::server::health_reporter();
    let mut builder = Grpc::builder();
    if let Some(tls) = tls {
        builder = builder.tls_config(tls)?;
    }
    let clock = ledgers.clone();
    let access = Access::new(&config.operators, Arc::new(move || clock.now_ms()));
    let mut router = builder
        // The first is the outermost. Who calls is known before anything else is looked at.
        .layer(option_layer(config.telemetry.otlp_endpoint.as_ref().map(|_| Measured::new())))
        .layer(access)
        .layer(Deadline)
        .concurrency_limit_per_connection(limits.concurrent_requests_max as usize)
        .max_concurrent_streams(limits.concurrent_requests_max)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .add_service(health)
        .add_service(spin)
        .add_service(wallet)
        .add_service(jackpot)
        .add_service(report);
    if config.reflection {
        // Clients that are still on the older version of reflection: Python's, for one.
        router = router.add_service(descriptors().build_v1()?).add_service(descriptors().build_v1alpha()?);
    }
    Ok(async move {
        for service in SERVICES {
            reporter.set_service_status(service, ServingStatus::Serving).await;
        }
        let stopped = async move {
            stop.requested().await;
            for service in SERVICES {
                reporter.set_service_status(service, ServingStatus::NotServing).await;
            }
            // Those who watch get the news and then the end of their stream, which else would never come.
            for service in SERVICES {
                reporter.clear_service_status(service).await;
            }
        };
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        router.serve_with_incoming_shutdown(incoming, stopped).await
    })
}
