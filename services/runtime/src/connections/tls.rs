use parking_lot::RwLock;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::{
    Accept, TlsAcceptor,
    rustls::{
        self, RootCertStore, ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
        server::{VerifierBuilderError, WebPkiClientVerifier},
    },
};

#[derive(Clone)]
pub struct Acceptor(Arc<RwLock<TlsAcceptor>>);

impl Acceptor {
    pub fn replace(&self, other: &Self) {
        let other = other.0.read().clone();
        *self.0.write() = other;
    }

    pub fn accept(&self, stream: TcpStream) -> Accept<TcpStream> {
        let acceptor = self.0.read().clone();
        acceptor.accept(stream)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate file contains no certificate in PEM")]
    NoCertificate,
    #[error("the certificate and key files must be PEM: {0}")]
    Pem(#[from] pem::Error),
    #[error("the certificate and its key do not match: {0}")]
    Rustls(#[from] rustls::Error),
    #[error("{0}")]
    Roots(#[from] VerifierBuilderError),
}

/// With `client_roots`, a client certificate is requested but not required. `protocol` is the ALPN name.
pub fn acceptor(
    certificate: &[u8],
    key: &[u8],
    client_roots: Option<&[u8]>,
    protocol: &[u8],
) -> Result<Acceptor, TlsError> {
    let certificates = |pem| CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match client_roots {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(pem)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build()?)
        }
    };
    let chain = certificates(certificate)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate);
    }
    let mut config = builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(key)?)?;
    config.alpn_protocols.push(protocol.to_vec());
    Ok(Acceptor(Arc::new(RwLock::new(TlsAcceptor::from(Arc::new(config))))))
}
