//! Connections to the service, and why a load test could not be run.

use crate::{options::Options, retry::ANSWER_MAX};
use motherlode_runtime::connect::{ConnectError, Connection};
use tonic::Status;

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
        /// The operating system's error.
        reason: String,
    },
    /// The players could not be opened and funded, or their first round not be played.
    #[error("{what}: {}: {}", crate::retry::reason(.status), .status.message())]
    Setup {
        /// The setup step that failed, for people.
        what: &'static str,
        /// The refusal.
        status: Box<Status>,
    },
    /// The operating system gives no random bytes.
    #[error("no names for the players: {0}")]
    Entropy(getrandom::Error),
    /// The use of the service's process cannot be read.
    #[error("what the service's process uses cannot be read: {0}")]
    Usage(std::io::Error),
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

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Unusable(said) => Self::Unusable(said),
            ConnectError::Nobody { target, reason } => Self::Connect { target, reason },
        }
    }
}

/// Opens so many connections.
///
/// # Errors
/// The target or the credentials are unusable, or nobody answers.
pub(crate) async fn connect(options: &Options) -> Result<Vec<Connection>, Error> {
    let mut connections = Vec::with_capacity(options.connections);
    for _ in 0..options.connections {
        let connection = motherlode_runtime::connect::connect(&options.target, &options.credentials, Some(ANSWER_MAX));
        connections.push(connection.await?);
    }
    Ok(connections)
}
