//! A refusal: why a request changed nothing, as `google.rpc.Status` with machine-readable details (PL-12).
//!
//! Every refusal carries an `ErrorInfo` (domain [`DOMAIN`], a reason in UPPER_SNAKE, metadata); faults of single fields
//! add a `BadRequest`, and where the same call can succeed later a `RetryInfo` says when to try.

use std::{collections::HashMap, time::Duration};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// The `ErrorInfo` domain of every refusal.
pub const DOMAIN: &str = "motherlode";

/// Why a request changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    code: Code,
    reason: &'static str,
    message: String,
    metadata: Vec<(&'static str, String)>,
    fields: Vec<(String, String)>,
    retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal with a status code, a reason in UPPER_SNAKE and a sentence for people.
    pub fn new(code: Code, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), metadata: vec![], fields: vec![], retry_after: None }
    }

    /// A field that is missing or malformed: INVALID_ARGUMENT, reason INVALID_FIELD.
    pub fn field(field: impl Into<String>, fault: impl Into<String>) -> Self {
        let (field, fault) = (field.into(), fault.into());
        let mut refusal = Self::new(Code::InvalidArgument, "INVALID_FIELD", format!("{field}: {fault}"));
        refusal.fields.push((field, fault));
        refusal
    }

    /// Something that does not exist, or is not the caller's: NOT_FOUND.
    pub fn not_found(reason: &'static str, what: impl Into<String>) -> Self {
        Self::new(Code::NotFound, reason, what)
    }

    /// A state that forbids the request: FAILED_PRECONDITION.
    pub fn precondition(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, reason, message)
    }

    /// The same request id with another content (PL-11): ALREADY_EXISTS, reason REQUEST_ID_REUSED.
    pub fn request_id_reused(request_id: &str) -> Self {
        Self::new(Code::AlreadyExists, "REQUEST_ID_REUSED", "this request id was used for a different request")
            .with("request_id", request_id)
    }

    /// The queue is full: RESOURCE_EXHAUSTED, to be tried again soon.
    pub fn busy() -> Self {
        Self::new(Code::ResourceExhausted, "QUEUE_FULL", "the partition's queue is full")
            .retry_after(Duration::from_millis(100))
    }

    /// Adds a metadata entry to the `ErrorInfo`.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.metadata.push((key, value.to_string()));
        self
    }

    /// Says when the same request can be tried again, with the same request id.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// A metadata entry.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(of, _)| *of == key).map(|(_, value)| value.as_str())
    }

    /// The reason in UPPER_SNAKE.
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// The status code.
    pub fn code(&self) -> Code {
        self.code
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let metadata: HashMap<String, String> =
            refusal.metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut details = ErrorDetails::with_error_info(refusal.reason, DOMAIN, metadata);
        for (field, fault) in refusal.fields {
            details.add_bad_request_violation(field, fault);
        }
        if let Some(wait) = refusal.retry_after {
            details.set_retry_info(Some(wait));
        }
        Status::with_error_details(refusal.code, refusal.message, details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_12_a_refusal_becomes_a_status_with_details() {
        let status: Status = Refusal::field("stake.lines", "must be 1 to 15").with("lines_max", 15).into();
        assert_eq!(status.code(), Code::InvalidArgument);
        let details = status.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!((info.domain.as_str(), info.reason.as_str()), ("motherlode", "INVALID_FIELD"));
        assert_eq!(info.metadata["lines_max"], "15");
        let violation = &details.bad_request().unwrap().field_violations[0];
        assert_eq!((violation.field.as_str(), violation.description.as_str()), ("stake.lines", "must be 1 to 15"));
    }

    #[test]
    fn pl_12_a_full_queue_says_when_to_try_again() {
        let status: Status = Refusal::busy().into();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(status.get_error_details().retry_info().unwrap().retry_delay, Some(Duration::from_millis(100)));
    }
}
