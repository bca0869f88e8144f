//! Failure of the store, with its retries.

use crate::{append::AppendError, requests::Name};
use std::time::{Duration, Instant};

/// First and longest pause before the store is tried again.
const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Failure of the store.
pub(crate) struct Trouble {
    /// Time of the next attempt.
    pub(crate) again: Instant,
    pause: Duration,
    /// Error of appends; `None` if only the maintenance between appends fails.
    refusal: Option<AppendError>,
    /// Requests that may be in the log although their append failed, until the store works again.
    in_doubt: Vec<Name>,
}

impl Trouble {
    /// Adds one more failure, with a longer pause.
    pub(crate) fn after(before: Option<Self>) -> Self {
        let pause = before.as_ref().map_or(RETRY_MIN, |trouble| (trouble.pause * 2).min(RETRY_MAX));
        let again = Instant::now() + pause;
        match before {
            Some(trouble) => Self { again, pause, ..trouble },
            None => Self { again, pause, refusal: None, in_doubt: vec![] },
        }
    }

    /// Refuses appends until the next attempt. Requests in `in_doubt` may be in the log.
    pub(crate) fn refusing(self, refusal: AppendError, in_doubt: Vec<Name>) -> Self {
        let mut doubt = self.in_doubt;
        doubt.extend(in_doubt);
        Self { refusal: Some(refusal), in_doubt: doubt, ..self }
    }

    /// Returns the error of appends before the next attempt.
    pub(crate) fn refusal(&self) -> Option<&AppendError> {
        self.refusal.as_ref().filter(|_| Instant::now() < self.again)
    }

    /// Returns whether a request may be in the log although its append failed.
    pub(crate) fn has_in_doubt(&self, name: Name) -> bool {
        self.in_doubt.contains(&name)
    }

    /// Returns the error of a request that was not appended: `Unknown` if an earlier append of it is in doubt.
    pub(crate) fn of(&self, name: Name, failure: &AppendError) -> AppendError {
        match failure {
            AppendError::Full { reason } | AppendError::Unavailable { reason } if self.has_in_doubt(name) => {
                AppendError::Unknown { reason: reason.clone() }
            }
            failure => failure.clone(),
        }
    }
}
