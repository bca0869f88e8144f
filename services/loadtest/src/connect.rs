use crate::{options::Options, retry::ANSWER_MAX};
use motherlode_runtime::{
    Reason,
    connect::{ConnectError, Connection},
};
use tonic::Status;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Unusable(String),
    #[error("no service answers at {target}: {reason}")]
    Connect { target: String, reason: String },
    #[error("{what}: {}: {}{}", crate::retry::reason(.status), .status.message(), step(.status))]
    Setup { what: &'static str, status: Box<Status> },
    #[error("cannot create names for the players: {0}")]
    Entropy(getrandom::Error),
    #[error(
        "cannot read the resource usage of process {pid}: {source}\n--pid must be the id of the service's process, on this machine"
    )]
    Usage { pid: u32, source: std::io::Error },
}

fn step(status: &Status) -> String {
    let reason = Reason::from_name(&crate::retry::reason(status));
    reason.map_or_else(String::new, |reason| format!("\n{}", reason.doc()))
}

impl Error {
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

pub(crate) async fn connect(options: &Options) -> Result<Vec<Connection>, Error> {
    let mut connections = Vec::with_capacity(options.connections);
    for _ in 0..options.connections {
        let connection = motherlode_runtime::connect::connect(&options.target, &options.credentials, Some(ANSWER_MAX));
        connections.push(connection.await?);
    }
    Ok(connections)
}
