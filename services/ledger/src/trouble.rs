//! Trouble with the store: what it refuses, and when it's tried again.

use crate::{append::AppendError, requests::Name};
use std::time::{Duration, Instant};

/// The pauses before a failing store is tried again: the first, and the longest.
const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// The store can't do what it should.
pub(crate) struct Trouble {
    /// When it's tried again.
    pub(crate) again: Instant,
    pause: Duration,
    /// Why appends are refused; `None` if only the work ahead of them fails.
    refusal: Option<AppendError>,
    /// Requests whose append may show at the next start, until the store is sound again.
    in_doubt: Vec<Name>,
}

impl Trouble {
    /// The trouble after one more failure: what there was, with the next try after a longer pause.
    pub(crate) fn after(before: Option<Self>) -> Self {
        let pause = before.as_ref().map_or(RETRY_MIN, |trouble| (trouble.pause * 2).min(RETRY_MAX));
        let again = Instant::now() + pause;
        match before {
            Some(trouble) => Self { again, pause, ..trouble },
            None => Self { again, pause, refusal: None, in_doubt: vec![] },
        }
    }

    /// Appends are refused until the store has been tried again; of `in_doubt` it's unknown whether they are in the log.
    pub(crate) fn refusing(self, refusal: AppendError, in_doubt: Vec<Name>) -> Self {
        let mut doubt = self.in_doubt;
        doubt.extend(in_doubt);
        Self { refusal: Some(refusal), in_doubt: doubt, ..self }
    }

    /// Why an append need not even be tried now.
    pub(crate) fn refusal(&self) -> Option<&AppendError> {
        self.refusal.as_ref().filter(|_| Instant::now() < self.again)
    }

    /// Whether an append of a request is in doubt.
    pub(crate) fn has_in_doubt(&self, name: Name) -> bool {
        self.in_doubt.contains(&name)
    }

    /// The answer to a request that was not appended. Where an earlier append of it is in doubt, the answer says so.
    pub(crate) fn of(&self, name: Name, failure: &AppendError) -> AppendError {
        match failure {
            AppendError::Full { reason } | AppendError::Unavailable { reason } if self.has_in_doubt(name) => {
                AppendError::Unknown { reason: reason.clone() }
            }
            failure => failure.clone(),
        }
    }
}
