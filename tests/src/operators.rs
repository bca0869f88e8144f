use crate::{Client, Server, config, fresh, start_with};
use motherlode_ledger::Options;
use motherlode_runtime::{
    Config,
    access::digest,
    connect::{Credentials, connect},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

pub const NEW_YEAR_MS: i64 = 1_798_761_600_000;

/// In-memory service whose clock starts an hour before the new year.
pub struct Service {
    pub server: Server,
    pub clock: Arc<AtomicI64>,
    _data: tempfile::TempDir,
}

impl Service {
    pub async fn start(text: &str) -> Self {
        let data = tempfile::tempdir().expect("a folder can be made");
        let clock = Arc::new(AtomicI64::new(NEW_YEAR_MS - 3_600_000));
        let time = Arc::clone(&clock);
        let options = Options::on_clock(move || time.load(Ordering::SeqCst));
        let config = known(data.path(), text);
        let server = start_with(&config, fresh(&config), options).await;
        Self { server, clock, _data: data }
    }

    pub async fn client(&self, shown: &str) -> Client {
        self.with(&token(shown)).await
    }

    pub async fn with(&self, credentials: &Credentials) -> Client {
        let target = format!("http://{}", self.server.address());
        Client::on(connect(&target, credentials, None).await.expect("the service answers"))
    }
}

fn known(data: &Path, text: &str) -> Config {
    let Config { operators, tls, console, .. } = Config::parse(text).expect("a configuration");
    Config { operators, tls, console, ..config(data) }
}

#[must_use]
pub fn operator(id: &str, tokens: &[(&str, &str)]) -> String {
    let mut text = format!("[[operators]]\nid = \"{id}\"\n");
    for (number, (token, roles)) in tokens.iter().enumerate() {
        let digest = digest(token.as_bytes());
        text +=
            &format!("[[operators.credentials]]\nname = \"c{number}\"\ntoken_sha256 = \"{digest}\"\nroles = {roles}\n");
    }
    text
}

#[must_use]
pub fn token(token: &str) -> Credentials {
    Credentials { token: Some(token.to_owned()), ..Credentials::default() }
}

pub struct Certificates {
    pub root: String,
    pub client: (String, String),
    pub client_sha256: String,
    pub stranger: (String, String),
}

impl Certificates {
    #[must_use]
    pub fn make(folder: &Path) -> Self {
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(root, key()).expect("the root certificate is self-signed");
        let signed = |purpose| {
            let mut params =
                CertificateParams::new(vec!["localhost".to_owned()]).expect("the name is a valid DNS name");
            params.extended_key_usages = vec![purpose];
            let key = key();
            let certificate = params.signed_by(&key, &root).expect("the root signs the certificate");
            (certificate, key.serialize_pem())
        };
        let (service, service_key) = signed(ExtendedKeyUsagePurpose::ServerAuth);
        let (client, client_key) = signed(ExtendedKeyUsagePurpose::ClientAuth);
        let (stranger, stranger_key) = signed(ExtendedKeyUsagePurpose::ClientAuth);
        for (name, text) in [("root.pem", root.pem()), ("service.pem", service.pem()), ("service.key", service_key)] {
            fs::write(folder.join(name), text).expect("the folder can be written");
        }
        Self {
            root: root.pem(),
            client_sha256: digest(client.der()).to_string(),
            client: (client.pem(), client_key),
            stranger: (stranger.pem(), stranger_key),
        }
    }

    #[must_use]
    pub fn section(folder: &Path) -> String {
        let path = |name: &str| folder.join(name).display().to_string();
        format!(
            "[tls]\ncertificate = \"{}\"\nkey = \"{}\"\nclient_ca = \"{}\"\n",
            path("service.pem"),
            path("service.key"),
            path("root.pem")
        )
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("the system gives random bytes")
}
