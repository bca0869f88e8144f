use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

pub fn named(pem: &[u8]) -> Result<RootCertStore, String> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    store(certificates.map_err(|error| error.to_string())?)
        .ok_or_else(|| "the file contains no certificate in PEM".to_owned())
}

pub fn of_system() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let faults = || found.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    store(found.certs).ok_or_else(|| {
        let faults = faults();
        let because = if faults.is_empty() { String::new() } else { format!(": {faults}") };
        format!("the system has no trusted root certificates{because}; set ca to a file with root certificates")
    })
}

fn store(certificates: Vec<CertificateDer<'_>>) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    (!roots.is_empty()).then_some(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_root_is_said() {
        assert_eq!(named(b"x").unwrap_err(), "the file contains no certificate in PEM");
        assert!(named(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").is_err());
    }
}
