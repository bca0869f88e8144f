use crate::{append::AppendError, requests::Name};
use std::time::{Duration, Instant};

const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);

pub(crate) struct Trouble {
    pub(crate) again: Instant,
    pause: Duration,
    /// Error with which proposals are refused; `None` if only maintenance between appends fails.
    refusal: Option<AppendError>,
    in_doubt: Vec<Name>,
}

impl Trouble {
    pub(crate) fn after(before: Option<Self>) -> Self {
        let pause = before.as_ref().map_or(RETRY_MIN, |trouble| (trouble.pause * 2).min(RETRY_MAX));
        let again = Instant::now() + pause;
        match before {
            Some(trouble) => Self { again, pause, ..trouble },
            None => Self { again, pause, refusal: None, in_doubt: vec![] },
        }
    }

    pub(crate) fn refusing(self, refusal: AppendError, in_doubt: Vec<Name>) -> Self {
        let mut doubt = self.in_doubt;
        doubt.extend(in_doubt);
        Self { refusal: Some(refusal), in_doubt: doubt, ..self }
    }

    pub(crate) fn refusal(&self) -> Option<&AppendError> {
        self.refusal.as_ref().filter(|_| Instant::now() < self.again)
    }

    pub(crate) fn has_in_doubt(&self, name: Name) -> bool {
        self.in_doubt.contains(&name)
    }

    /// Returns `failure`, or `Unknown` if an earlier append with the same request had an unknown outcome.
    pub(crate) fn failure(&self, name: Name, failure: &AppendError) -> AppendError {
        match failure {
            AppendError::Full { reason } | AppendError::Unavailable { reason } if self.has_in_doubt(name) => {
                AppendError::Unknown { reason: reason.clone() }
            }
            failure => failure.clone(),
        }
    }
}
