use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use std::{sync::Arc, time::Duration};
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore, crypto::ring::default_provider};

pub type Connector = HttpsConnector<HttpConnector>;

pub fn connector(roots: RootCertStore, connect_max: Duration) -> Result<Connector, Error> {
    // All TLS connections of the process use this provider, regardless of crate features.
    let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let tls = tls.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_max));
    Ok(HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp))
}
