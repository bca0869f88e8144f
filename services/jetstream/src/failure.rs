use std::io;

#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Failure {
    /// The server refused the request, which had no effect.
    #[error("{description} (JetStream error {code})")]
    Refused { code: u64, description: String },
    /// The request may or may not have taken effect.
    #[error("no valid answer from JetStream: {0}")]
    Unknown(String),
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        Self::other(failure)
    }
}
