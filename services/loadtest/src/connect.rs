//! Connections to the service, and why a load test could not be run.

use crate::retry::ANSWER_MAX;
use std::time::Duration;
use tonic::{
    Status,
    transport::{Channel, Endpoint},
};

/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// Why a load test could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option is out of its range, or the target is no URL.
    #[error("{0}")]
    Unusable(String),
    /// Nobody answers.
    #[error("no service answers at {target}: {reason}")]
    Connect {
        /// The target.
        target: String,
        /// What the system said.
        reason: String,
    },
    /// The players could not be opened and funded, or their first round not be played.
    #[error("{what}: {}: {}", crate::retry::reason(.status), .status.message())]
    Setup {
        /// What was asked for.
        what: &'static str,
        /// The refusal.
        status: Box<Status>,
    },
    /// The operating system gives no random bytes.
    #[error("no names for the players: {0}")]
    Entropy(getrandom::Error),
}

impl Error {
    /// Whether the input is at fault, not the service.
    #[must_use]
    pub fn is_unusable_input(&self) -> bool {
        matches!(self, Self::Unusable(_))
    }

    pub(crate) fn setup(what: &'static str) -> impl FnOnce(Status) -> Self {
        move |status| Self::Setup { what, status: Box::new(status) }
    }
}

/// Opens so many connections.
///
/// # Errors
/// The target is no URL of plain HTTP/2, or nobody answers.
pub(crate) async fn connect(target: &str, connections: usize) -> Result<Vec<Channel>, Error> {
    let malformed = || Error::Unusable(format!("--target {target}: must be a URL such as http://127.0.0.1:50051"));
    let endpoint = Endpoint::from_shared(target.to_owned()).map_err(|_| malformed())?;
    let uri = endpoint.uri();
    if uri.scheme_str() != Some("http") || uri.host().is_none_or(str::is_empty) {
        return Err(malformed());
    }
    let endpoint = endpoint.connect_timeout(CONNECT_MAX).timeout(ANSWER_MAX).tcp_nodelay(true);
    let mut channels = Vec::with_capacity(connections);
    for _ in 0..connections {
        let channel = endpoint.connect().await.map_err(|error| {
            let reason = cause(&error);
            Error::Connect { target: target.to_owned(), reason }
        })?;
        channels.push(channel);
    }
    Ok(channels)
}

/// The innermost cause: "Connection refused" says more than "transport error".
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_target_that_is_no_url_is_unusable_input() {
        for bad in ["127.0.0.1:50051", "https://localhost:1", "http://", "http://a b"] {
            let error = connect(bad, 1).await.err().unwrap();
            assert!(error.is_unusable_input(), "{error}");
            assert!(error.to_string().contains(bad), "{error}");
        }
    }

    #[tokio::test]
    async fn nobody_at_the_target_is_said_with_the_systems_reason() {
        // A port that was free a moment ago, and is bound by nobody.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let error = connect(&target, 1).await.err().unwrap();
        assert!(!error.is_unusable_input());
        assert!(error.to_string().contains("Connection refused"), "{error}");
    }
}
