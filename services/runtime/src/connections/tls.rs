//! TLS of the service, from its files' contents.

use std::sync::Arc;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, RootCertStore, ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
        server::{VerifierBuilderError, WebPkiClientVerifier},
    },
};

/// Makes TLS connections of plain ones.
pub type Acceptor = TlsAcceptor;

/// Why the service's TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of the certificate has none.
    #[error("the first file has no certificate in PEM")]
    NoCertificate,
    /// A file is not PEM, or has no key in it.
    #[error("the files must be PEM: {0}")]
    Pem(#[from] pem::Error),
    /// The certificate and its key do not match, or are of a kind that is not supported.
    #[error("the certificate and its key do not fit: {0}")]
    Rustls(#[from] rustls::Error),
    /// The clients' roots cannot be used.
    #[error("{0}")]
    Roots(#[from] VerifierBuilderError),
}

/// Sets TLS up with a certificate and its key and, if there are any, the roots that clients' certificates are checked
/// against. A client may come without one: who calls is another layer's to find out. All in PEM. `protocol` is what is
/// spoken within, by its name in ALPN.
///
/// # Errors
/// [`TlsError`] says what is wrong with them.
pub fn acceptor(
    certificate: &[u8],
    key: &[u8],
    client_roots: Option<&[u8]>,
    protocol: &[u8],
) -> Result<Acceptor, TlsError> {
    let certificates = |pem| CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    // The same as in all other connections of the process, whatever features others switch on.
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
    Ok(TlsAcceptor::from(Arc::new(config)))
}
