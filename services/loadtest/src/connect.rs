//! Connections to the service, and why a load test could not be run.

use crate::{options::Options, retry::ANSWER_MAX};
use motherlode_runtime::{
    Reason,
    connect::{ConnectError, Connection},
};
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
    #[error("{what}: {}: {}{}", crate::retry::reason(.status), .status.message(), step(.status))]
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
    #[error(
        "the use of process {pid} cannot be read: {source}\n--pid must be the id of the service's process, on this machine"
    )]
    Usage {
        /// The process's id.
        pid: u32,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// The next step after a refusal, on a line of its own; empty if it has no reason of the table.
fn step(status: &Status) -> String {
    let reason = Reason::from_name(&crate::retry::reason(status));
    reason.map_or_else(String::new, |reason| format!("\n{}", reason.doc()))
}

impl Error {
    /// Whether the input is at fault, not the service.
    #[must_use]
    pub fn is_unusable_input(&self) -> bool {
        matches!(self, Self::Unusable(_) | Self::Usage { .. })
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
