//! Refusals of requests, as `google.rpc.Status` with details (PL-12). A refused request had no effect, unless its
//! reason states that the outcome is unknown.
//!
//! Each refusal has an `ErrorInfo`. Refusals of invalid fields have a `BadRequest`. If a retry can help, the refusal
//! has a `RetryInfo`. Text from the caller is shortened by [`excerpt`].

use crate::reason::Reason;
use motherlode_state::is_visible;
use std::{collections::HashMap, fmt::Write as _, time::Duration};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

pub const DOMAIN: &str = "motherlode";

pub const EXCERPT: usize = 512;

/// Escapes invisible characters; truncates a long text and appends its original length.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(EXCERPT));
    for (number, letter) in text.chars().enumerate() {
        if number == EXCERPT {
            let _ = write!(shown, "... ({} bytes)", text.len());
            break;
        }
        match is_visible(letter) {
            true => shown.push(letter),
            false => shown.extend(letter.escape_unicode()),
        }
    }
    shown
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    code: Code,
    reason: Reason,
    message: String,
    metadata: Vec<(&'static str, String)>,
    fields: Vec<(String, String)>,
    retry_after: Option<Duration>,
    names: Option<Box<Names>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Names {
    request_id: String,
    player: String,
}

impl Refusal {
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        let message = excerpt(&message.into());
        let (code, retry_after) = (reason.code(), reason.retry().wait());
        Self { code, reason, message, metadata: vec![], fields: vec![], retry_after, names: None }
    }

    #[must_use]
    pub fn with_code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Creates INVALID_ARGUMENT, INVALID_FIELD.
    pub fn field(field: impl Into<String>, fault: impl Into<String>) -> Self {
        let (field, fault) = (excerpt(&field.into()), excerpt(&fault.into()));
        let mut refusal = Refusal::new(Reason::InvalidField, format!("{field}: {fault}"));
        refusal.fields.push((field, fault));
        refusal
    }

    pub fn request_id_reused(request_id: &str) -> Self {
        Refusal::new(Reason::RequestIdReused, "this request id was used for a different request")
            .with("request_id", request_id)
    }

    pub fn busy() -> Self {
        Refusal::new(Reason::QueueFull, "the partition's queue is full")
    }

    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.metadata.push((key, excerpt(&value.to_string())));
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    #[must_use]
    pub fn of_request(mut self, request_id: &str) -> Self {
        self.names.get_or_insert_default().request_id = excerpt(request_id);
        self
    }

    pub fn request_id(&self) -> &str {
        self.names.as_ref().map_or("", |names| &names.request_id)
    }

    #[must_use]
    pub fn of_player(mut self, player: &str) -> Self {
        self.names.get_or_insert_default().player = excerpt(player);
        self
    }

    pub fn player(&self) -> &str {
        self.names.as_ref().map_or("", |names| &names.player)
    }

    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(of, _)| *of == key).map(|(_, value)| value.as_str())
    }

    pub fn reason(&self) -> Reason {
        self.reason
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn code(&self) -> Code {
        self.code
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let metadata: HashMap<String, String> =
            refusal.metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut details = ErrorDetails::with_error_info(refusal.reason.name(), DOMAIN, metadata);
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
    fn uf_09_whatever_a_caller_wrote_a_refusal_is_short_and_plain() {
        let long = "x".repeat(60_000);
        for written in [long.as_str(), "\u{202e}abc\u{2028}", "\u{1b}[31m", &"\u{10ffff}".repeat(60_000)] {
            let refusals = [
                Refusal::new(Reason::GameUnknown, written).with("game", written).with("rules_version", written),
                Refusal::field(written, written),
                Refusal::request_id_reused(written),
            ];
            for refusal in refusals {
                let status: Status = refusal.into();
                let (message, details) = (status.message().to_owned(), status.get_error_details());
                let info = details.error_info().unwrap();
                let violations =
                    details.bad_request().map(|fields| fields.field_violations.clone()).unwrap_or_default();
                let texts = info.metadata.values().cloned().chain([message]);
                let texts = texts.chain(violations.into_iter().flat_map(|of| [of.field, of.description]));
                for text in texts {
                    assert!(text.len() < 6_000 && text.chars().all(is_visible), "{text}");
                }
            }
        }
        assert_eq!(excerpt("Walze 3 \u{202e}x"), "Walze 3 \\u{202e}x");
        assert!(excerpt(&long).ends_with("x... (60000 bytes)"));
    }

    #[test]
    fn pl_12_a_full_queue_says_when_to_try_again() {
        let status: Status = Refusal::busy().into();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(status.get_error_details().retry_info().unwrap().retry_delay, Some(Duration::from_millis(100)));
    }
}
