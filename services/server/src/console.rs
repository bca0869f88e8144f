//! The console of a process that serves everything: a client of its services, which it calls without a socket, through the
//! same layers as everybody.

use crate::{error::ServeError, setup::bind_at, transport::console_tls};
use http::{Request, Response};
use motherlode_console::{Backend, Bounds, Console};
use motherlode_ledger::Ledgers;
use motherlode_runtime::{Config, Stop, config};
use std::{convert::Infallible, net::SocketAddr, sync::Arc};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::body::Body;
use tower::Service;

/// Starts it in front of the services, where the configuration wants one.
///
/// # Errors
/// The address that was asked for cannot be bound, or TLS cannot be set up.
pub(crate) fn start<S>(
    config: &Config,
    service: S,
    ledgers: &Ledgers,
    stop: &Stop,
) -> Result<Option<(SocketAddr, JoinHandle<()>)>, ServeError>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    let Some(listener) = listen(&config.console)? else { return Ok(None) };
    let tls = config.tls.as_ref().map(console_tls).transpose()?;
    let unbound = |source| ServeError::Bind { address: config::Console::USUAL, source };
    let listener = TcpListener::from_std(listener).map_err(unbound)?;
    let address = listener.local_addr().map_err(unbound)?;
    let clock = ledgers.clone();
    let console = Console::new(
        Backend::one(service),
        Arc::new(move || clock.clock_ms()),
        Bounds::default(),
        address,
        &config.console.hosts,
        tls,
        config.limits.message_bytes_max,
    );
    Ok(Some((address, tokio::spawn(console.serve(listener, stop.clone())))))
}

/// The address that was asked for, or the usual one if nobody else listens there.
fn listen(console: &config::Console) -> Result<Option<std::net::TcpListener>, ServeError> {
    match console.listen {
        Some(address) => bind_at(address).map(Some),
        None if !console.usual => Ok(None),
        None => match bind_at(config::Console::USUAL) {
            Ok(listener) => Ok(Some(listener)),
            Err(error) => {
                tracing::info!(%error, "no console: another one listens there; --console names another address");
                Ok(None)
            }
        },
    }
}
