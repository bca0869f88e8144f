//! `[console]`: web pages.

use super::error::ConfigError;
use http::Uri;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// Web pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Console {
    /// HTTP address of the console, served with the service's TLS if configured. Default: [`Console::USUAL`]; if it is
    /// in use, the console is not served.
    pub listen: Option<SocketAddr>,
    /// Accepted `Host` names, such as `console.example.com`, besides the listening address and, on loopback,
    /// `localhost`. Other names are refused, unless the list is empty and the address is not on loopback.
    pub hosts: Vec<String>,
    /// Address of the spin service for a `console` process, such as "https://spin:50051"; default: `[ledger] targets`.
    pub spin: Option<String>,
    /// Address of the jackpot service for a `console` process; default: `[ledger] targets`.
    pub jackpot: Option<String>,
    /// Public address of the pages of finished rounds, such as `https://check.example.com`; default: no pages. Set this
    /// key in the console process, and in processes that write the log, which then return a link with each finished
    /// round. At this host name, the console serves only these pages.
    pub check_url: Option<String>,
    /// Whether to try the default listening address. The configuration file cannot set this field.
    #[serde(skip)]
    pub usual: bool,
}

fn address(url: &str) -> Option<Uri> {
    url.parse().ok()
}

impl Console {
    pub const USUAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50080);

    #[must_use]
    pub fn check_host(&self) -> Option<String> {
        Some(address(self.check_url.as_deref()?)?.host()?.to_ascii_lowercase())
    }

    /// Requires TLS for a `check_url` beyond loopback: links to rounds' pages contain secret keys, and browsers run the
    /// pages' cryptography only in a secure context.
    pub(super) fn check_links(&self) -> Result<(), ConfigError> {
        let Some(url) = &self.check_url else { return Ok(()) };
        let is_public = |of: &Uri| match (of.scheme_str(), of.host()) {
            (Some("https"), Some(host)) => !host.is_empty(),
            (Some("http"), Some(host)) => ["localhost", "127.0.0.1", "[::1]"].contains(&host),
            _ => false,
        };
        let bare = |of: &Uri| of.path() == "/" && of.query().is_none() && !url.contains(['@', '#']);
        match address(url).is_some_and(|of| is_public(&of) && bare(&of)) {
            true => Ok(()),
            false => Err(ConfigError::CheckUrl { url: url.clone() }),
        }
    }

    /// Checks that operators, and TLS or `plaintext`, are configured for addresses beyond loopback.
    pub(super) fn check_exposure(&self, operators: bool, secured: bool) -> Result<(), ConfigError> {
        let Some(listen) = self.listen.filter(|listen| !listen.ip().is_loopback()) else { return Ok(()) };
        match (operators, secured) {
            (true, true) => Ok(()),
            (false, _) => Err(ConfigError::OpenConsole { listen }),
            (true, false) => {
                Err(ConfigError::Exposed { listen, how: "without TLS: pages are not encrypted", key: "plaintext" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_28_links_have_a_public_address_with_tls() {
        let console = |url: &str| Console { check_url: Some(url.to_owned()), ..Console::default() };
        for (good, host) in [
            ("https://check.example.com", "check.example.com"),
            ("https://Check.Example.com:8443/", "check.example.com"),
            ("http://127.0.0.1:50080", "127.0.0.1"),
            ("http://localhost", "localhost"),
        ] {
            assert!(console(good).check_links().is_ok(), "{good}");
            assert_eq!(console(good).check_host().as_deref(), Some(host));
        }
        for bad in [
            "",
            "check.example.com",
            "http://check.example.com",
            "https://",
            "https://check.example.com/pages",
            "https://check.example.com?a=b",
            "https://check.example.com#a",
            "https://user@check.example.com",
            "ftp://check.example.com",
            "http://localhost.example.com",
        ] {
            assert!(console(bad).check_links().is_err(), "{bad}");
        }
        assert!(Console::default().check_links().is_ok());
    }
}
