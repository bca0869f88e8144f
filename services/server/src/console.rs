//! Console: a client of the services in this process or in other processes. Its threads have a lower priority than the
//! threads that handle bets.

use crate::{
    error::ServeError,
    setup::{Phase, bind_at},
    transport::{admission, console_tls},
};
use http::{Request, Response};
use motherlode_console::{Backend, Bounds, Console};
use motherlode_ledger::{Ledgers, Options};
use motherlode_runtime::{
    Clock, Config, Operators, Stop, config,
    connect::{Credentials, connect_lazily},
    connections::{Acceptor, Admission},
    lower_priority, stop,
};
use std::{convert::Infallible, net::SocketAddr, sync::Arc};
use tokio::{
    net::TcpListener,
    runtime::{self, Runtime},
    task::JoinHandle,
};
use tonic::body::Body;
use tower::Service;

const BLOCKING_MAX: usize = 8;

pub(crate) fn start<S>(
    config: &Config,
    service: S,
    ledgers: &Ledgers,
    tls: Option<Acceptor>,
    admission: Admission,
    stop: &Stop,
) -> Result<Option<(SocketAddr, JoinHandle<()>)>, ServeError>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    let Some(listener) = listen(&config.console)? else { return Ok(None) };
    let clock = ledgers.clone();
    begin(config, listener, Backend::one(service), Arc::new(move || clock.clock_ms()), tls, admission, stop).map(Some)
}

pub(crate) async fn serve(
    config: &Config,
    signalled: impl Future<Output = &'static str>,
    phase: impl Fn(Phase<'_>),
) -> Result<(), ServeError> {
    let credentials = Credentials { token: None, identity: None, ..config.ledger.credentials()? };
    let ledger = config.ledger.targets.first().map_or("", String::as_str);
    let to = |target: &str| connect_lazily(target, &credentials).map_err(ServeError::Console);
    let at = |other: &Option<String>| to(other.as_deref().unwrap_or(ledger));
    let backend = Backend::apart(at(&config.console.spin)?, to(ledger)?, at(&config.console.jackpot)?);
    let asked =
        config::Console { listen: config.console.listen.or(Some(config::Console::USUAL)), ..config.console.clone() };
    let Some(listener) = listen(&asked)? else { return Ok(()) };
    let (stopper, stop) = stop::channel();
    let (clock, tls) = (Options::default().clock, config.tls.as_ref().map(console_tls).transpose()?);
    let (address, pages) =
        begin(config, listener, backend, clock, tls, admission(config, Operators::default()), &stop)?;
    phase(Phase::Console(address));
    let signal = signalled.await;
    tracing::info!(signal, "stopping");
    stopper.stop();
    pages.await.map_err(ServeError::interrupted)
}

fn begin(
    config: &Config,
    listener: std::net::TcpListener,
    backend: Backend,
    clock: Clock,
    tls: Option<Acceptor>,
    admission: Admission,
    stop: &Stop,
) -> Result<(SocketAddr, JoinHandle<()>), ServeError> {
    let unbound = |source| ServeError::Bind { address: config::Console::USUAL, source };
    let threads = Threads::start().map_err(ServeError::Threads)?;
    let listener = {
        let _within = threads.enter();
        TcpListener::from_std(listener).map_err(unbound)?
    };
    let address = listener.local_addr().map_err(unbound)?;
    let bytes_max = config.limits.message_bytes_max;
    let console = Console::new(backend, clock, Bounds::default(), address, &config.console, tls, bytes_max);
    let serving = console.serve(listener, admission, stop.clone());
    Ok((address, tokio::spawn(async move { threads.run(serving).await })))
}

struct Threads(Option<Runtime>);

impl Threads {
    fn start() -> std::io::Result<Self> {
        let mut threads = runtime::Builder::new_multi_thread();
        threads.worker_threads(1).max_blocking_threads(BLOCKING_MAX).thread_name("console");
        threads.on_thread_start(lower_priority).enable_all().build().map(Some).map(Self)
    }

    fn enter(&self) -> Option<runtime::EnterGuard<'_>> {
        self.0.as_ref().map(Runtime::enter)
    }

    async fn run(&self, serving: impl Future<Output = ()> + Send + 'static) {
        if let Some(threads) = &self.0 {
            let _ = threads.spawn(serving).await;
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

fn listen(console: &config::Console) -> Result<Option<std::net::TcpListener>, ServeError> {
    match console.listen {
        Some(address) => bind_at(address).map(Some),
        None if !console.usual => Ok(None),
        None => match bind_at(config::Console::USUAL) {
            Ok(listener) => Ok(Some(listener)),
            Err(error) => {
                tracing::info!(%error, "the console is not served because its default address is in use; choose another address with --console");
                Ok(None)
            }
        },
    }
}
