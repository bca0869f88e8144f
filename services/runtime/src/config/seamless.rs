//! An operator's own wallet in the configuration (PL-31): where it is, and how long it's waited for.

use crate::connect::Credentials;
use http::Uri;
use motherlode_books::is_text;
use serde::{Deserialize, Serialize};
use std::{fs, io, net::IpAddr, path::PathBuf};

/// Who keeps the money of an operator's players.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WalletKind {
    /// Motherlode: money is deposited, and withdrawn.
    #[default]
    Transfer,
    /// The operator: each bet is debited, and each win credited, by a call to its wallet.
    Seamless,
}

/// The protocol that an operator's wallet is called by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WalletProtocol {
    /// gRPC, with a token.
    #[default]
    Grpc,
    /// JSON over HTTP, each request signed.
    Json,
}

/// Credentials of the calls to a wallet, as read from their files.
#[derive(Clone, Default)]
pub struct WalletCredentials {
    /// The token, and the root that is trusted.
    pub shown: Credentials,
    /// The key that requests in JSON are signed with; none for gRPC.
    pub signing_key: Option<Vec<u8>>,
}

/// The wallet of an operator that keeps its players' money.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Seamless {
    /// Its address, such as `https://wallet.acme.example:443`.
    pub url: String,
    /// The protocol that it's called by.
    #[serde(default)]
    pub protocol: WalletProtocol,
    /// File with the key that each request in JSON is signed with, of 32 characters or more.
    pub signing_key_file: Option<PathBuf>,
    /// File with the token that it's shown, by gRPC.
    pub token_file: Option<PathBuf>,
    /// Root of its certificate (PEM), for https; without it, those that the system trusts.
    pub ca: Option<PathBuf>,
    /// Milliseconds that an answer may take; then nobody knows, and it's asked again.
    #[serde(default = "answer_ms_max")]
    pub answer_ms_max: u64,
    /// Milliseconds after its asking that a debit waits for its bet; then it's rolled back.
    #[serde(default = "debit_ms_max")]
    pub debit_ms_max: u64,
    /// Milliseconds that anything may be under way; then it's reported as a significant event.
    #[serde(default = "overdue_ms")]
    pub overdue_ms: u64,
    /// Bets of the operator that wait for it at the same time; one more is refused.
    #[serde(default = "bets_max")]
    pub bets_max: usize,
    /// Players of the operator and a partition that are credited, or whose debits are rolled back, at the same time.
    #[serde(default = "credits_max")]
    pub credits_max: usize,
    /// Whether `CloseRound` reports ends of rounds without a credit, such as lost ones (PL-39).
    #[serde(default = "close_rounds")]
    pub close_rounds: bool,
    /// Whether `OpenFreeRound` opens free rounds before they are played.
    #[serde(default)]
    pub open_free_rounds: bool,
    /// Name of this installation in each call, at most 64 characters; by default motherlode.
    pub provider: Option<String>,
    /// Brand of the operator in each call, at most 64 characters; by default the operator's id.
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

/// Whether requests to a target are private: by TLS, or because the target is this machine.
pub(super) fn is_private(target: &str) -> bool {
    let Ok(uri) = target.parse::<Uri>() else { return true };
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = address.map_or_else(|_| host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback());
    // Another scheme is refused as no address at all.
    is_here || !uri.scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"))
}

impl Seamless {
    /// Whether nobody on the way can read what it's told: by TLS, or since it's on this machine.
    #[must_use]
    pub fn is_private(&self) -> bool {
        is_private(&self.url)
    }

    /// Reads what the wallet is shown from its files.
    ///
    /// # Errors
    /// The file that cannot be read, with the reason.
    pub fn credentials(&self) -> Result<WalletCredentials, String> {
        let read = |path: &PathBuf| fs::read(path).map_err(|error: io::Error| format!("{}: {error}", path.display()));
        let token = self.token_file.as_ref().map(read).transpose()?;
        let signing_key = self.signing_key_file.as_ref().map(read).transpose()?;
        let shown = Credentials {
            token: token.map(|token| String::from_utf8_lossy(&token).trim().to_owned()),
            ca: self.ca.as_ref().map(read).transpose()?,
            ..Credentials::default()
        };
        // As `token new` writes it: a line.
        Ok(WalletCredentials { shown, signing_key: signing_key.map(|key| key.trim_ascii().to_vec()) })
    }

    /// Why its credentials don't go with its protocol; none where they do.
    #[must_use]
    pub fn mismatch(&self) -> Option<&'static str> {
        if [&self.provider, &self.brand].into_iter().flatten().any(|name| !is_text(name, 64)) {
            return Some("provider and brand of its wallet must be 1 to 64 visible characters");
        }
        match (self.protocol, &self.token_file, &self.signing_key_file) {
            (WalletProtocol::Grpc, _, Some(_)) => Some("signing_key_file is for protocol = \"json\""),
            (WalletProtocol::Json, Some(_), _) => Some("token_file is for protocol = \"grpc\""),
            (WalletProtocol::Json, None, None) => Some("protocol = \"json\" needs signing_key_file"),
            _ => None,
        }
    }
}
