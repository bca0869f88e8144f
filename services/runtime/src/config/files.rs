//! Checks the files named in the configuration, before `serve` or `config` opens any of them.

use super::{Config, ConfigError, Role};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, absolute},
};

impl Config {
    /// Checks that this process can read the files that its role needs; draw keys and keys in the data folder may be
    /// missing, because the process creates missing keys.
    pub fn check_files(&self) -> Result<(), ConfigError> {
        let named = self.tls.iter().flat_map(|tls| {
            [
                ("tls.certificate", Some(&tls.certificate)),
                ("tls.key", Some(&tls.key)),
                ("tls.client_ca", tls.client_ca.as_ref()),
            ]
        });
        let (log, store, of) = (self.role.has_log(), &self.store, &self.ledger);
        let stream = log && store.url.is_some();
        let tls = store.tls.iter().filter(|_| stream).flat_map(|tls| {
            [
                ("store.tls.ca", tls.ca.as_ref()),
                ("store.tls.certificate", tls.certificate.as_ref()),
                ("store.tls.key", tls.key.as_ref()),
            ]
        });
        let others = [
            ("store.credentials", store.credentials.as_ref().filter(|_| stream)),
            ("store.key_file", store.key_file.as_ref().filter(|_| stream)),
            ("proofs.key_file", self.proofs.key_file.as_ref().filter(|_| log)),
            ("telemetry.otlp_ca", self.telemetry.otlp_ca.as_ref()),
        ];
        let calls = !of.targets.is_empty() && self.role != Role::All;
        let ledger = [
            ("ledger.token_file", of.token_file.as_ref().filter(|_| self.role != Role::Console)),
            ("ledger.ca", of.ca.as_ref()),
            ("ledger.certificate", of.certificate.as_ref().filter(|_| self.role != Role::Console)),
            ("ledger.key", of.key.as_ref().filter(|_| self.role != Role::Console)),
        ];
        let ledger = ledger.into_iter().filter(|_| calls);
        let wallets = self.operators.iter().filter_map(|operator| operator.seamless.as_ref()).flat_map(|wallet| {
            [
                ("operators.seamless.token_file", wallet.token_file.as_ref()),
                ("operators.seamless.signing_key_file", wallet.signing_key_file.as_ref()),
                ("operators.seamless.ca", wallet.ca.as_ref()),
            ]
        });
        let mut files = named.chain(tls).chain(others).chain(ledger).chain(wallets);
        files.try_for_each(|(key, path)| path.map_or(Ok(()), |path| readable(key, path)))
    }
}

fn readable(key: &'static str, path: &Path) -> Result<(), ConfigError> {
    let read = File::open(path).and_then(|mut file| file.read(&mut [0]));
    read.map(drop).map_err(|source: io::Error| {
        let path = absolute(path).unwrap_or_else(|_| path.to_owned());
        ConfigError::File { key, path, source }
    })
}
