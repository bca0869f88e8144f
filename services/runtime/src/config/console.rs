//! `[console]` in the configuration: the pages for people.

use super::error::ConfigError;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// The console.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Console {
    /// Address to listen on by HTTP, with TLS where the service has it. Without one, `serve` takes [`Console::USUAL`] if nobody
    /// else listens there.
    pub listen: Option<SocketAddr>,
    /// Names by which people reach it beside the address itself, such as `console.example.com`. A request with another `Host` is
    /// refused where it listens on loopback, and everywhere once there are some.
    pub hosts: Vec<String>,
    /// Where the role `console` finds the spin service, such as "https://spin:50051"; with the ledger's (`[ledger] targets`) where it's
    /// not said, as behind a gateway. Its certificate is of the same root.
    pub spin: Option<String>,
    /// The same of the jackpot service.
    pub jackpot: Option<String>,
    /// Whether an address is looked for where none is named; not for the file.
    #[serde(skip)]
    pub usual: bool,
}

impl Console {
    /// The usual address.
    pub const USUAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 50080);

    /// Beyond loopback it needs operators, without exception, and TLS or leave by name to do without.
    pub(super) fn check_exposure(&self, operators: bool, secured: bool) -> Result<(), ConfigError> {
        let Some(listen) = self.listen.filter(|listen| !listen.ip().is_loopback()) else { return Ok(()) };
        match (operators, secured) {
            (true, true) => Ok(()),
            (false, _) => Err(ConfigError::OpenConsole { listen }),
            (true, false) => {
                Err(ConfigError::Exposed { listen, how: "and without TLS all is said in the clear", key: "plaintext" })
            }
        }
    }
}
