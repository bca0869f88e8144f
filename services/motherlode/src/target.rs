use crate::commands::Failure;
use motherlode_runtime::connect::{ConnectError, Connection, Credentials, connect};
use std::{env, error::Error as _, fs, path::Path, path::PathBuf, time::Duration};
use tonic::{Code, Request};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

const DEFAULT: &str = "http://127.0.0.1:50051";
const TOKEN_VARIABLE: &str = "MOTHERLODE_TOKEN";

const PROBE_MAX: Duration = Duration::from_secs(3);
const NO_GRPC: &str = "`serve` prints the address of its gRPC services after the words `motherlode listens on`; the \
     console listens on a different port. For a service with TLS, use \
     https://";

#[derive(Debug, Clone, clap::Args)]
pub struct Target {
    /// URL of the service; https:// for TLS.
    #[arg(long = "target", value_name = "URL", default_value = DEFAULT)]
    pub url: String,
    /// File with the operator's token; default: the environment variable MOTHERLODE_TOKEN.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Root certificate that signed the service's certificate (PEM); default: the system's roots.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Client certificate (PEM) that identifies the caller.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Name in the service's certificate; default: the target's host.
    #[arg(long, value_name = "NAME", requires = "ca")]
    server_name: Option<String>,
}

impl Target {
    #[must_use]
    pub fn open(url: impl Into<String>) -> Self {
        Self { url: url.into(), token_file: None, ca: None, cert: None, key: None, server_name: None }
    }

    #[must_use]
    pub fn at(&self, url: impl Into<String>) -> Self {
        Self { url: url.into(), ..self.clone() }
    }

    pub fn credentials(&self) -> Result<Credentials, Failure> {
        let read = |path: &Path, flag: &str| {
            let step = format!("With {flag}, specify a file that the current user may read");
            fs::read(path).map_err(|error| Failure::unreadable(path, &error, &step))
        };
        let token = match &self.token_file {
            Some(path) => Some(token(&read(path, "--token-file")?).ok_or_else(|| {
                Failure::unusable(format!("{} contains no token", path.display()))
                    .with_step("Use --token-file with a file written by `motherlode token new --out FILE`")
            })?),
            None => env::var(TOKEN_VARIABLE).ok(),
        };
        let ca = self.ca.as_deref().map(|path| read(path, "--ca")).transpose()?;
        let identity = match (&self.cert, &self.key) {
            (Some(certificate), Some(key)) => Some((read(certificate, "--cert")?, read(key, "--key")?)),
            _ => None,
        };
        Ok(Credentials { token, ca, identity, server_name: self.server_name.clone() })
    }

    pub async fn connect(&self) -> Result<Connection, Failure> {
        let connected = connect(&self.url, &self.credentials()?, None).await;
        let connection = connected.map_err(|error| match error {
            ConnectError::Unusable(_) => {
                Failure::unusable(error).with_step("Correct the flag; --help lists the flags for the connection")
            }
            ConnectError::Nobody { ref reason, .. } => Failure::found(format!("{error}\n{}", self.next_step(reason))),
        })?;
        // Any server may accept the connection, so a first call checks that the server speaks gRPC.
        let mut probe = Request::new(HealthCheckRequest::default());
        probe.set_timeout(PROBE_MAX);
        match HealthClient::new(connection.clone()).check(probe).await {
            Err(status) if matches!(status.code(), Code::Unknown | Code::Internal) && status.source().is_some() => {
                Err(Failure::found(format!("the server at {} is not a gRPC service\n{NO_GRPC}", self.url)))
            }
            _ => Ok(connection),
        }
    }

    fn next_step(&self, reason: &str) -> String {
        let authority = self.url.split("://").last().unwrap_or_default().trim_end_matches('/');
        let has = |words: &str| reason.contains(words);
        if has("InvalidContentType") || has("corrupt message") {
            format!("The service's port does not use TLS, which https:// requires: use --target http://{authority}")
        } else if has("UnknownIssuer") || has("BadSignature") {
            "This machine does not trust the service's root certificate: specify its file with --ca".to_owned()
        } else if has("NotValidForName") || has("not valid for name") {
            "The service's certificate is not valid for the host in --target: specify its host with --server-name, and its root certificate's file with --ca"
                .to_owned()
        } else if has("CertificateRequired") || has("certificate required") {
            "The service requires a client certificate: specify its files with --cert and --key".to_owned()
        } else if has("Expired") || has("expired") {
            "The service's certificate has expired: renew it, or correct the clock of this machine".to_owned()
        } else if has("NotValidYet") || has("not valid yet") {
            "The service's certificate is not valid yet: check the clock of this machine".to_owned()
        } else if has("lookup address") {
            "Check the host name in --target".to_owned()
        } else {
            format!("Check the address in --target, or start a service with: motherlode serve --listen {authority}")
        }
    }
}

fn token(bytes: &[u8]) -> Option<String> {
    let token = std::str::from_utf8(bytes).ok()?.trim();
    (!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())).then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_target_that_is_no_url_is_unusable_input() {
        for bad in ["127.0.0.1:50051", "http://", "http://a b"] {
            let failure = Target::open(bad).connect().await.unwrap_err();
            assert_eq!(failure.code, 2, "{bad}");
            assert!(failure.message.contains(bad), "{}", failure.message);
        }
    }

    #[tokio::test]
    async fn nobody_at_the_target_is_said_with_the_remedy() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let failure = Target::open(format!("http://{address}")).connect().await.unwrap_err();
        assert_eq!(failure.code, 1);
        assert!(failure.message.contains("Connection refused"), "{}", failure.message);
        assert!(failure.message.contains(&format!("motherlode serve --listen {address}")), "{}", failure.message);
    }

    #[test]
    fn a_token_is_read_from_its_file_without_the_line_end_and_a_missing_file_is_unusable_input() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "secret\n").unwrap();
        let target = Target { token_file: Some(path), ..Target::open(DEFAULT) };
        assert_eq!(target.credentials().unwrap().token.as_deref(), Some("secret"));
        let target = Target { token_file: Some(folder.path().join("none")), ..Target::open(DEFAULT) };
        assert_eq!(target.credentials().unwrap_err().code, 2);
    }
}
