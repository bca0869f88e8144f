//! Why a request to the servers got no good answer.

use std::io;

/// Why a request got no good answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Failure {
    /// JetStream refused the request. Nothing was done.
    #[error("{description} (JetStream error {code})")]
    Refused {
        /// The `err_code` of the answer.
        code: u64,
        /// The `description` of the answer.
        description: String,
    },
    /// No answer, or none that can be understood: whether something was done is unknown.
    #[error("no answer: {0}")]
    Unknown(String),
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        Self::other(failure)
    }
}
