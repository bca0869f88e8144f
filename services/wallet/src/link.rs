//! HTTP/1.1 connections to a wallet: plaintext on this machine, otherwise TLS.

use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use motherlode_runtime::https;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::rustls::RootCertStore;
use tower::{BoxError, timeout::Timeout, util::BoxCloneSyncService};

const CONNECT_MAX: Duration = Duration::from_secs(3);

pub(crate) type Connector = BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<TcpStream>>, BoxError>;

pub(crate) fn connector(roots: RootCertStore) -> Result<Connector, String> {
    let https = https::connector(roots, CONNECT_MAX).map_err(|error| error.to_string())?;
    Ok(BoxCloneSyncService::new(Timeout::new(https, CONNECT_MAX)))
}
