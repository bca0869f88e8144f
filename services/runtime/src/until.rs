//! Deadline of a task, which applies to the task's calls to other processes.

use crate::{reason::Reason, refusal::Refusal};
use std::future::Future;
use tokio::{task_local, time::Instant};

task_local! {
    static UNTIL: Instant;
}

pub async fn within<F: Future>(until: Instant, task: F) -> F::Output {
    UNTIL.scope(until, task).await
}

#[must_use]
pub fn until() -> Option<Instant> {
    UNTIL.try_with(|until| *until).ok()
}

#[must_use]
pub fn time_is_up() -> Refusal {
    let message =
        "the deadline has passed, and it is unknown whether the call had an effect: retry with the same request id";
    Refusal::new(Reason::DeadlineExceeded, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn what_a_task_awaits_knows_until_when() {
        let then = Instant::now() + Duration::from_secs(3);
        assert_eq!(within(then, async { until() }).await, Some(then));
        assert_eq!(until(), None);
    }
}
