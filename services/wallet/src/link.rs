//! HTTP/1.1 connections to a wallet: plaintext on this machine, otherwise TLS.

use http::Uri;
use hyper_rustls::{HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use std::{sync::Arc, time::Duration};
use tokio::net::TcpStream;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider};
use tower::{BoxError, timeout::Timeout, util::BoxCloneSyncService};

const CONNECT_MAX: Duration = Duration::from_secs(3);

pub(crate) type Connector = BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<TcpStream>>, BoxError>;

pub(crate) fn connector(roots: RootCertStore) -> Result<Connector, String> {
    // All TLS connections of the process use this provider, regardless of crate features.
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let https = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().wrap_connector(tcp);
    Ok(BoxCloneSyncService::new(Timeout::new(https, CONNECT_MAX)))
}
