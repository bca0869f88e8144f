use rustls_pki_types::{CertificateDer, pem::PemObject};
use x509_parser::parse_x509_certificate;

/// Returns the earliest expiry of a chain in PEM, in Unix seconds; `None` if no certificate is readable.
#[must_use]
pub fn expiry(pem: &[u8]) -> Option<i64> {
    let chain = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
    let expiries = chain.filter_map(|certificate| {
        let (_, parsed) = parse_x509_certificate(&certificate).ok()?;
        Some(parsed.validity().not_after.timestamp())
    });
    expiries.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    #[test]
    fn the_first_certificate_of_a_chain_to_expire_counts() {
        let made = |year| {
            let mut params = CertificateParams::new(["motherlode".to_owned()]).unwrap();
            params.not_after = date_time_ymd(year, 2, 1);
            params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
        };
        assert_eq!(expiry(made(2030).as_bytes()), Some(1_896_134_400));
        assert_eq!(expiry((made(2040) + &made(2030)).as_bytes()), Some(1_896_134_400));
        assert_eq!(expiry(b"no certificate"), None);
        assert_eq!(expiry(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), None);
    }
}
