//! `[console]`: web pages.

use super::error::ConfigError;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// Web pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Console {
    /// HTTP address, with the service's TLS if configured. By default `serve` tries [`Console::USUAL`].
    pub listen: Option<SocketAddr>,
    /// Further accepted `Host` names, such as `console.example.com`. On loopback, or if this list is not empty, other names
    /// are refused.
    pub hosts: Vec<String>,
    /// Address of the spin service for a `console` process, such as "https://spin:50051"; default: `[ledger] targets`.
    pub spin: Option<String>,
    /// Address of the jackpot service for a `console` process; default: `[ledger] targets`.
    pub jackpot: Option<String>,
    /// Whether to try the default address; not a key of the configuration file.
    #[serde(skip)]
    pub usual: bool,
}

impl Console {
    pub const USUAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50080);

    /// An address beyond loopback requires operators, and TLS or `plaintext`.
    pub(super) fn check_exposure(&self, operators: bool, secured: bool) -> Result<(), ConfigError> {
        let Some(listen) = self.listen.filter(|listen| !listen.ip().is_loopback()) else { return Ok(()) };
        match (operators, secured) {
            (true, true) => Ok(()),
            (false, _) => Err(ConfigError::OpenConsole { listen }),
            (true, false) => {
                Err(ConfigError::Exposed { listen, how: "without TLS, so pages are not encrypted", key: "plaintext" })
            }
        }
    }
}
