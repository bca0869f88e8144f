use crate::connect::Credentials;
use http::Uri;
use motherlode_state::is_text;
use serde::{Deserialize, Serialize};
use std::{fmt, fs, io, net::IpAddr, path::PathBuf};

/// Party that holds the players' money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WalletKind {
    #[default]
    Transfer,
    /// The operator, whose wallet is called for each debit and credit.
    Seamless,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WalletProtocol {
    #[default]
    Grpc,
    Json,
}

#[derive(Clone, Default, PartialEq, Eq)]
pub struct WalletCredentials {
    pub shown: Credentials,
    pub signing_key: Option<Vec<u8>>,
}

impl fmt::Debug for WalletCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, signing key set: {}", self.shown, self.signing_key.is_some())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Seamless {
    /// Address of the wallet, such as `https://wallet.acme.example:443`.
    pub url: String,
    /// Protocol.
    #[serde(default)]
    pub protocol: WalletProtocol,
    /// File with the key that signs JSON calls, at least 32 characters.
    pub signing_key_file: Option<PathBuf>,
    /// File with the bearer token for gRPC.
    pub token_file: Option<PathBuf>,
    /// Root certificate for https, in PEM; default: the system's root certificates.
    pub ca: Option<PathBuf>,
    /// Milliseconds to wait for the wallet's answer; after that, the outcome is unknown and the call is retried.
    #[serde(default = "answer_ms_max")]
    pub answer_ms_max: u64,
    /// Maximum milliseconds between the request for a debit and the commit of its bet; after that, the debit is rolled
    /// back.
    #[serde(default = "debit_ms_max")]
    pub debit_ms_max: u64,
    /// Milliseconds before a pending call is reported as a significant event.
    #[serde(default = "overdue_ms")]
    pub overdue_ms: u64,
    /// Maximum concurrent bets of the operator's players; further bets are refused.
    #[serde(default = "bets_max")]
    pub bets_max: usize,
    /// Maximum total of concurrent credits, rollbacks and reports of round ends per partition; reports use at most half
    /// of it.
    #[serde(default = "credits_max")]
    pub credits_max: usize,
    /// Whether the wallet's method `CloseRound` is called at the end of rounds without a credit, such as lost rounds
    /// (PL-39).
    #[serde(default = "close_rounds")]
    pub close_rounds: bool,
    /// Whether the wallet's method `OpenFreeRound` is called before each free round.
    #[serde(default)]
    pub open_free_rounds: bool,
    /// Name of this installation, sent in each call, at most 64 characters; default: motherlode.
    pub provider: Option<String>,
    /// Operator's brand, sent in each call, at most 64 characters; default: the operator's id.
    pub brand: Option<String>,
}

const fn close_rounds() -> bool {
    true
}

const fn answer_ms_max() -> u64 {
    2_000
}

const fn debit_ms_max() -> u64 {
    15_000
}

const fn overdue_ms() -> u64 {
    900_000
}

const fn bets_max() -> usize {
    1_024
}

const fn credits_max() -> usize {
    64
}

pub(super) fn is_private(target: &str) -> bool {
    let Ok(uri) = target.parse::<Uri>() else { return true };
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = address.map_or_else(|_| host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback());
    is_here || !uri.scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"))
}

impl Seamless {
    #[must_use]
    pub fn new(url: &str, protocol: WalletProtocol) -> Self {
        Self {
            url: url.to_owned(),
            protocol,
            signing_key_file: None,
            token_file: None,
            ca: None,
            answer_ms_max: answer_ms_max(),
            debit_ms_max: debit_ms_max(),
            overdue_ms: overdue_ms(),
            bets_max: bets_max(),
            credits_max: credits_max(),
            close_rounds: close_rounds(),
            open_free_rounds: false,
            provider: None,
            brand: None,
        }
    }

    #[must_use]
    pub fn is_private(&self) -> bool {
        is_private(&self.url)
    }

    pub fn credentials(&self) -> Result<WalletCredentials, String> {
        let read = |path: &PathBuf| fs::read(path).map_err(|error: io::Error| format!("{}: {error}", path.display()));
        let token = self.token_file.as_ref().map(read).transpose()?;
        let signing_key = self.signing_key_file.as_ref().map(read).transpose()?;
        let shown = Credentials {
            token: token.map(|token| String::from_utf8_lossy(&token).trim().to_owned()),
            ca: self.ca.as_ref().map(read).transpose()?,
            ..Credentials::default()
        };
        Ok(WalletCredentials { shown, signing_key: signing_key.map(|key| key.trim_ascii().to_vec()) })
    }

    #[must_use]
    pub fn mismatch(&self) -> Option<&'static str> {
        if [&self.provider, &self.brand].into_iter().flatten().any(|name| !is_text(name, 64)) {
            return Some("provider and brand of the wallet must each be 1 to 64 visible characters");
        }
        match (self.protocol, &self.token_file, &self.signing_key_file) {
            (WalletProtocol::Grpc, _, Some(_)) => {
                Some("signing_key_file is only for a wallet with protocol = \"json\"")
            }
            (WalletProtocol::Json, Some(_), _) => Some("token_file is only for a wallet with protocol = \"grpc\""),
            (WalletProtocol::Json, None, None) => Some("protocol = \"json\" needs signing_key_file"),
            _ => None,
        }
    }
}
