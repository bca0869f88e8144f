use crate::{
    admin::AdminApi,
    console,
    direct::DirectPlay,
    distrust,
    error::ServeError,
    health::{self, Readiness},
    layers::{Layers, State, call_metrics::CallMetrics},
    log::layout::log_folder,
    metrics::{Metrics, Source},
    names::{ADMIN, JACKPOT, JOB, LOG, PROOF, REPORT, SPIN, WALLET},
    reload::Reloader,
    server::Server,
    setup::bind_at,
    tasks::{Kind, Supervisor},
    transport::{admission, buffers, console_tls, tls},
};
use motherlode_jackpot::{JackpotApi, PoolCoordinator};
use motherlode_jobs::{AuditOptions, JobApi, Jobs};
use motherlode_ledger::{
    Actors, CampaignCosts, Handle, LedgerApi, Ledgers, LogApi, PROPOSAL_BYTES_MAX, Persons, RoundLinks,
    SupersededRules, Terms, fields::timestamp, offer,
};
use motherlode_proofs::{ProofApi, Proofs, Witnesses, serve_tiles};
use motherlode_proto::{
    FILE_DESCRIPTOR_SET,
    calls::{
        AdminServiceCalls, JackpotServiceCalls, JobServiceCalls, LedgerServiceCalls, LogServiceCalls,
        ProofServiceCalls, ReportServiceCalls, SpinServiceCalls,
    },
    report::v1::WalletStatus,
};
use motherlode_report::{CallCounters, Disk, Follower, Identity, ReportApi, SelfCheck, ServiceStatus};
use motherlode_runtime::{
    Config, Operators, Profiles,
    access::Access,
    config::Role,
    connections::{self, Acceptor, Admission, Workers},
    refusals,
    stop::{self, Stop, Stopper},
};
use motherlode_slots::Ladders;
use motherlode_spin::{AbandonedRounds, Dealer, SpinApi, Waits, highest_cost};
use motherlode_state::{Minor, SessionLimits};
use motherlode_wallet::{WalletOutbox, WalletState, Wallets};
use rustix::fs::statvfs;
use std::{
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};
use tokio::net::TcpListener;
use tonic::service::{Routes, RoutesBuilder};
use tonic_health::{ServingStatus, server::HealthReporter};

pub(crate) struct Services<'a> {
    config: &'a Config,
    ledgers: Ledgers,
    identity: Identity,
    actors: Option<Actors>,
    ladders: Arc<Ladders>,
    profiles: Profiles,
    wallets: Wallets,
    stopper: Stopper,
    stop: Stop,
    admission: Admission,
    names: Vec<&'static str>,
    routes: RoutesBuilder,
    tasks: Supervisor,
    spin: Option<SpinApi>,
    abandoned_rounds: Option<AbandonedRounds>,
    calls: CallCounters,
    reports: Option<(Follower, SelfCheck)>,
    proofs: Option<Proofs>,
    tiles: Option<SocketAddr>,
    links: Option<RoundLinks>,
}

impl<'a> Services<'a> {
    pub(crate) fn new(config: &'a Config, ledgers: Ledgers, dealer: &Dealer) -> Result<Self, ServeError> {
        let (stopper, stop) = stop::channel();
        // The canonical configuration is equal on all machines, because it omits addresses and folders.
        let identity = Identity::new(env!("CARGO_PKG_VERSION"), &config.canonical(), dealer.is_scripted());
        Ok(Self {
            admission: admission(config, ledgers.operators().clone()),
            config,
            ledgers,
            identity,
            actors: Actors::new(&config.operators),
            ladders: offer::offered(&config.currencies)?,
            profiles: Profiles::new(&config.jurisdictions)?,
            wallets: Wallets::of_config(config)?,
            stopper,
            names: vec![],
            routes: Routes::builder(),
            tasks: Supervisor::new(stop.clone()),
            stop,
            spin: None,
            abandoned_rounds: None,
            calls: CallCounters::default(),
            reports: None,
            proofs: None,
            tiles: None,
            links: None,
        })
    }

    pub(crate) fn spin(mut self, dealer: Dealer) -> Result<Self, ServeError> {
        let (config, limits) = (self.config, &self.config.limits);
        let waits = Waits::new(&config.interruption, &self.profiles)?;
        let sessions = SessionLimits {
            idle_ms_max: i64::try_from(limits.session_idle_ms_max).unwrap_or(i64::MAX),
            hold_ms: i64::try_from(limits.session_hold_ms).unwrap_or(i64::MAX),
            count_max: limits.sessions_max,
        };
        let award_wait = Duration::from_millis(limits.award_wait_ms_max);
        let spin = SpinApi::new(self.ledgers.clone(), dealer.clone(), award_wait, self.stop.clone())
            .with_sessions(sessions, config.sharing(), self.profiles.clone())
            .with_waits(waits.clone())
            .with_ladders(self.ladders.clone())
            .with_superseded(SupersededRules::new(&config.rules)?)
            .with_wallets(self.wallets.clone())
            .with_demo_balance(Minor(i64::try_from(config.demo.balance_minor).unwrap_or(i64::MAX)));
        self.names.push(SPIN);
        self.routes.add_service(SpinServiceCalls::new(spin.clone(), limits.message_bytes_max));
        self.spin = Some(spin);
        let abandoned_rounds = AbandonedRounds::new(self.ledgers.clone(), dealer.clone(), waits);
        let home = self.ledgers.home().clone();
        self.tasks.spawn(Kind::DrawKeys, move || dealer.clone().renew_periodically(home.clone()));
        let (abandoned, sweep_every) = (abandoned_rounds.clone(), Duration::from_millis(config.interruption.sweep_ms));
        self.tasks.spawn(Kind::AbandonedRounds, move || abandoned.clone().run(sweep_every));
        self.abandoned_rounds = Some(abandoned_rounds);
        Ok(self)
    }

    /// Without `proofs`, answers contain no links to public round pages: the links' secret derives from the log's
    /// signing key.
    pub(crate) fn wallet(mut self, proofs: Option<&Proofs>) -> Self {
        let secret = proofs.and_then(Proofs::link_secret);
        self.links =
            self.config.console.check_url.as_deref().zip(secret).map(|(url, secret)| RoundLinks::new(url, &secret));
        let wallet = LedgerApi::new(self.ledgers.clone(), self.stop.clone()).with_ladders(self.ladders.clone());
        let config = self.config;
        let is_whole = config.store.url.is_none() && config.write_partitions().len() == config.partitions as usize;
        let persons = is_whole.then(|| Persons::new(config.data.join("persons")));
        let wallet = wallet.with_links(self.links.clone()).with_persons(persons);
        let (ledgers, wallets) = (self.ledgers.clone(), self.wallets.clone());
        self.tasks.spawn(Kind::WalletOutboxes, move || WalletOutbox::run_all(ledgers.clone(), wallets.clone()));
        let bytes = self.config.limits.message_bytes_max;
        self.names.push(WALLET);
        self.routes.add_service(LedgerServiceCalls::new(wallet, bytes));
        self
    }

    /// Only processes of the roles `all` and `ledger` may change pools (PL-44).
    pub(crate) fn jackpot(mut self) -> Self {
        let jackpot = JackpotApi::new(self.ledgers.clone(), self.stop.clone()).with_ladders(self.ladders.clone());
        let jackpot = if self.config.role.has_log() { jackpot } else { jackpot.without_changes() };
        let bytes = self.config.limits.message_bytes_max;
        self.names.push(JACKPOT);
        self.routes.add_service(JackpotServiceCalls::new(jackpot, bytes));
        self
    }

    pub(crate) fn pool_coordinator(mut self) -> Self {
        let ledgers = self.ledgers.clone();
        self.tasks.spawn(Kind::PoolCoordinator, move || PoolCoordinator::new(ledgers.clone()).run());
        self
    }

    pub(crate) fn report(mut self) -> Self {
        let follower = Follower::new(self.ledgers.clone(), &self.config.report);
        let check = SelfCheck::new(self.identity.clone(), follower.clone());
        let (wallets, clock) = (self.wallets.clone(), self.ledgers.clone());
        let states = move || wallets.all().iter().map(|wallet| wallet_status(wallet.state(), clock.now_ms())).collect();
        let data = self.config.data.clone();
        let disk = move || {
            let found = statvfs(&data).ok()?;
            let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
            Some(Disk { free_bytes: bytes(found.f_bavail), total_bytes: bytes(found.f_blocks) })
        };
        let status = ServiceStatus::new(follower.clone(), self.calls.clone()).with_wallets(states);
        let status = status.with_history(self.config.data.join("history"), disk);
        let report = ReportApi::new(follower.clone(), check.clone(), status.clone(), self.stop.clone());
        let bytes = self.config.limits.message_bytes_max;
        self.names.push(REPORT);
        self.routes.add_service(ReportServiceCalls::new(report, bytes));
        let (following, checking) = (follower.clone(), check.clone());
        self.tasks.spawn(Kind::Reports, move || following.clone().run());
        self.tasks.spawn(Kind::SelfCheck, move || checking.clone().run());
        self.tasks.spawn(Kind::ServiceStatus, move || status.clone().run());
        self.reports = Some((follower, check));
        self
    }

    pub(crate) fn jobs(mut self) -> Self {
        let clock = self.ledgers.clone();
        let jobs = Jobs::new(Arc::new(move || clock.now_ms()));
        let of = |partition| AuditOptions {
            log: log_folder(&self.config.data, partition),
            partition,
            ..AuditOptions::default()
        };
        let whole =
            self.config.store.url.is_none() && self.config.write_partitions().len() == self.ledgers.count() as usize;
        let parts = if whole { self.config.write_partitions().into_iter().map(of).collect() } else { vec![] };
        let api = JobApi::new(jobs.clone(), self.ledgers.clone(), parts);
        self.names.push(JOB);
        self.routes.add_service(JobServiceCalls::new(api, self.config.limits.message_bytes_max));
        let stop = self.stop.clone();
        self.tasks.spawn(Kind::Jobs, move || jobs.clone().run(stop.clone()));
        self
    }

    pub(crate) fn log(mut self) -> Self {
        self.names.push(LOG);
        self.routes.add_service(log_service(
            self.ledgers.all(),
            self.config,
            (self.ledgers.operators(), self.actors.clone()),
            self.stop.clone(),
        ));
        self
    }

    pub(crate) fn proofs(mut self, proofs: Proofs) -> Result<Self, ServeError> {
        let config = self.config;
        let witnesses = Witnesses::from_config(config)?;
        if let Some(address) = config.proofs.listen {
            let unbound = |source| ServeError::Bind { address, source };
            let listener = bind_at(address)?;
            self.tiles = Some(listener.local_addr().map_err(unbound)?);
            let (stop, served, admission) = (self.stop.clone(), proofs.clone(), self.admission.clone());
            self.tasks.spawn(Kind::Tiles, move || {
                let listener = listener.try_clone().and_then(TcpListener::from_std);
                let (stop, served, admission) = (stop.clone(), served.clone(), admission.clone());
                async move {
                    match listener {
                        Ok(listener) => serve_tiles(listener, admission, served, stop).await,
                        Err(error) => {
                            tracing::error!(%error, "failed to listen on the address in [proofs] listen: checkpoints and tiles are not served")
                        }
                    }
                }
            });
        }
        let api =
            ProofApi::new(self.ledgers.clone(), proofs.clone(), !witnesses.is_empty()).with_links(self.links.take());
        self.names.push(PROOF);
        self.routes.add_service(ProofServiceCalls::new(api, config.limits.message_bytes_max));
        let grown = proofs.clone();
        self.tasks.spawn(Kind::Trees, move || grown.clone().run());
        if !witnesses.is_empty() {
            let cosigned = proofs.clone();
            self.tasks.spawn(Kind::Witnesses, move || witnesses.clone().run(cosigned.clone()));
        }
        let (ledgers, watched) = (self.ledgers.clone(), proofs.clone());
        self.tasks.spawn(Kind::TreeDistrust, move || distrust::watch_proofs(ledgers.clone(), watched.clone()));
        self.proofs = Some(proofs);
        Ok(self)
    }

    fn admin(&mut self, access: &Access, tls: &Option<Acceptor>, console_tls: &Option<Acceptor>) -> Reloader {
        let reloader = Reloader {
            config: Arc::new(tokio::sync::Mutex::new(self.config.clone())),
            source: Arc::default(),
            ledgers: self.ledgers.clone(),
            access: access.clone(),
            operators: self.ledgers.operators().clone(),
            profiles: self.profiles.clone(),
            admission: self.admission.clone(),
            wallets: self.wallets.clone(),
            actors: self.actors.clone(),
            tls: tls.clone(),
            console_tls: console_tls.clone(),
            identity: self.identity.clone(),
        };
        let api = AdminApi { reloader: reloader.clone() };
        self.names.push(ADMIN);
        self.routes.add_service(AdminServiceCalls::new(api, self.config.limits.message_bytes_max));
        reloader
    }

    pub(crate) fn serve(mut self, listener: StdListener) -> Result<Server, ServeError> {
        let (config, limits) = (self.config, &self.config.limits);
        let console_tls = config.tls.as_ref().map(console_tls).transpose()?;
        let tls = config.tls.as_ref().map(tls).transpose()?;
        let unbound = |source| ServeError::Bind { address: config.listen, source };
        let listener = TcpListener::from_std(listener).map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        let clock = self.ledgers.clone();
        let access = Access::new(&config.operators, Arc::new(move || clock.clock_ms()));
        let reloader = self.admin(&access, &tls, &console_tls);
        let reporter = HealthReporter::new();
        self.routes.add_service(health::Answers::new(&reporter, &self.ledgers));
        if config.reflection {
            let descriptors = || {
                let all = tonic_reflection::server::Builder::configure()
                    .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
                    .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
                    .with_service_name("grpc.health.v1.Health");
                self.names.iter().fold(all, |some, name| some.with_service_name(*name))
            };
            self.routes.add_service(descriptors().build_v1()?).add_service(descriptors().build_v1alpha()?);
        }
        let readiness = Readiness::new(&self.ledgers);
        let exports = config.telemetry.measures();
        let metrics = CallMetrics::new(self.calls, exports);
        refusals::start();
        let sessions =
            self.spin.as_ref().map(|api| -> Box<dyn Fn() -> usize + Send + Sync> { Box::new(api.session_counter()) });
        let state = State::Serving(self.ledgers.clone());
        let layers = Layers { metrics: Some(metrics.clone()), access: Some(access), buffers: buffers(config), state };
        let layers = Arc::new(layers);
        let direct = self.spin.map(|api| {
            let (ledgers, layers) = (self.ledgers.clone(), Arc::clone(&layers));
            let (api, message_bytes_max) = (Arc::new(api), limits.message_bytes_max);
            DirectPlay { api, ledgers, layers, message_bytes_max, metrics }.direct()
        });
        let service = layers.around(self.routes.routes());
        let console = match config.role {
            Role::All => {
                let admission = self.admission.clone();
                console::start(config, service.clone(), &self.ledgers, console_tls, admission, &self.stop)?
            }
            _ => None,
        };
        let (console, pages) = console.unzip();
        let workers = Workers::start(config.threads()).map_err(ServeError::Threads)?;
        self.ledgers.all().for_each(|ledger| ledger.publish_on(workers.next()));
        let told: Vec<_> = self.names.into_iter().chain([""]).collect();
        let (counted, admission, ledgers, stop) =
            (self.admission.clone(), self.admission, self.ledgers.clone(), self.stop);
        let (tasks, ready) = (self.tasks.subscribe(), readiness.clone());
        let serving = self.tasks.spawn_once(Kind::Calls, async move {
            for service in told.iter().copied() {
                reporter.set_service_status(service, ServingStatus::Serving).await;
            }
            let (stopper, told_all) = stop::channel();
            let stopped = async move {
                health::report(reporter, ready, told, ledgers, tasks, stop).await;
                stopper.stop();
            };
            let pages = async {
                if let Some(pages) = pages {
                    let _ = pages.await;
                }
            };
            tokio::join!(
                stopped,
                connections::serve(listener, tls, workers, admission, service, direct, told_all),
                pages
            );
        });
        let ledgers = self.ledgers.clone();
        self.tasks.spawn(Kind::LogDistrust, move || distrust::watch(ledgers.clone()));
        let ledgers = self.ledgers.clone();
        self.tasks.spawn(Kind::Ledgers, move || {
            let ledgers = ledgers.clone();
            async move {
                let why = ledgers.thread_ended().await;
                ledgers.distrust(&why);
            }
        });
        let (follower, check) = self.reports.unzip();
        Ok(Server {
            address,
            readiness,
            identity: self.identity,
            tiles: self.tiles,
            console,
            metrics: exports.then(|| {
                Metrics::start(Source {
                    ledgers: self.ledgers.clone(),
                    follower,
                    proofs: self.proofs.clone(),
                    data: config.data.clone(),
                    tasks: self.tasks.subscribe(),
                    admission: counted,
                    sessions,
                })
            }),
            ledgers: self.ledgers,
            stopper: self.stopper,
            serving,
            grace: Duration::from_millis(limits.request_ms_max + limits.award_wait_ms_max) + Duration::from_secs(1),
            abandoned_rounds: self.abandoned_rounds,
            proofs: self.proofs,
            check,
            reloader,
            tasks: self.tasks,
        })
    }
}

pub(crate) fn log_service<'a>(
    ledgers: impl IntoIterator<Item = &'a Handle>,
    config: &Config,
    (operators, actors): (&Operators, Option<Actors>),
    stop: Stop,
) -> LogServiceCalls<LogApi> {
    let ladders = offer::offered(&config.currencies).ok();
    let terms = Terms {
        actors,
        superseded: SupersededRules::new(&config.rules).unwrap_or_default(),
        operators: operators.clone(),
        campaign_costs: CampaignCosts::new(move |campaign, players, rate| {
            highest_cost(campaign, players, ladders.as_deref()?, rate)
        }),
    };
    let api = LogApi::new(ledgers, config.partitions, stop).with_terms(terms);
    LogServiceCalls::new(api, PROPOSAL_BYTES_MAX)
}

fn wallet_status(of: WalletState, now_ms: i64) -> WalletStatus {
    let since = |failing: &(Duration, String)| {
        let ms = i64::try_from(failing.0.as_millis()).unwrap_or(i64::MAX);
        timestamp(now_ms.saturating_sub(ms))
    };
    WalletStatus {
        operator_id: of.operator,
        circuit_open: of.circuit_open,
        failing_since_time: of.failing.as_ref().map(since),
        last_error: of.failing.map(|(_, why)| why).unwrap_or_default(),
        next_call_ms: of.next_call_ms,
        bets_waiting: of.bets_waiting,
        players_pending: of.players_pending,
        players_overdue: of.players_overdue,
    }
}
