use super::{stream::Wire, table::Connection};
use std::{net::IpAddr, sync::Arc};
use tokio_rustls::rustls::pki_types::CertificateDer;

/// Client of a connection; stored as an extension of each request on the connection.
pub struct Peer {
    address: IpAddr,
    certificate: Option<CertificateDer<'static>>,
    connection: Option<Arc<Connection>>,
}

impl Peer {
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self { address, certificate: None, connection: None }
    }

    pub(super) fn new(address: IpAddr, wire: &Wire, connection: Arc<Connection>) -> Self {
        let certificate = match wire {
            Wire::Plain(_) => None,
            Wire::Tls(stream) => stream.get_ref().1.peer_certificates().and_then(|certificates| certificates.first()),
        };
        let certificate = certificate.map(|certificate| certificate.clone().into_owned());
        Self { address, certificate, connection: Some(connection) }
    }

    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    #[must_use]
    pub fn certificate(&self) -> Option<&[u8]> {
        self.certificate.as_deref()
    }

    #[must_use]
    pub fn connection(&self) -> Option<&Arc<Connection>> {
        self.connection.as_ref()
    }
}
