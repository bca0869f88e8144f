//! Retries with the same request id after a lost answer, or while the service is busy (PL-11).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// Maximum wait for an answer; longer than the service's own default timeout.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(12);
const TRIES_MAX: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(20);
const WAIT_MAX: Duration = Duration::from_secs(2);

pub(crate) async fn insist<R, F>(retries: &AtomicU64, mut send: impl FnMut() -> F) -> Result<R, Status>
where
    F: Future<Output = Result<R, Status>>,
{
    let mut wait = FIRST_WAIT;
    for _ in 1..TRIES_MAX {
        match send().await {
            Err(status) if may_pass(&status) => {
                retries.fetch_add(1, Ordering::Relaxed);
                let proposed = status.get_error_details().retry_info().and_then(|info| info.retry_delay);
                tokio::time::sleep(proposed.unwrap_or(wait).min(WAIT_MAX)).await;
                wait *= 2;
            }
            answered => return answered,
        }
    }
    send().await
}

/// A broken connection appears as `Unknown`, an expired deadline as `Cancelled`.
fn may_pass(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::ResourceExhausted | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown
    )
}

pub(crate) fn reason(status: &Status) -> String {
    match status.get_error_details().error_info() {
        Some(info) if !info.reason.is_empty() => info.reason.clone(),
        _ => format!("{:?}", status.code()).to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test(start_paused = true)]
    async fn pl_11_a_lost_answer_is_asked_for_again_and_counted() {
        let (retries, sent) = (AtomicU64::new(0), Cell::new(0));
        let answer = insist(&retries, || {
            sent.set(sent.get() + 1);
            let lost = sent.get() < 3;
            async move { if lost { Err(Status::unavailable("gone")) } else { Ok(7) } }
        });
        assert_eq!(answer.await.unwrap(), 7);
        assert_eq!((retries.into_inner(), sent.get()), (2, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn asking_is_bounded_and_a_refusal_is_taken_at_once() {
        for (status, wanted) in [(Status::resource_exhausted("busy"), TRIES_MAX), (Status::not_found("none"), 1)] {
            let (retries, sent) = (AtomicU64::new(0), Cell::new(0));
            let answer = insist(&retries, || {
                sent.set(sent.get() + 1);
                let status = status.clone();
                async move { Err::<(), _>(status) }
            });
            assert_eq!(answer.await.unwrap_err().code(), status.code());
            assert_eq!(sent.get(), wanted);
        }
    }

    #[test]
    fn an_error_is_counted_by_the_services_reason_or_its_code() {
        let details =
            tonic_types::ErrorDetails::with_error_info("QUEUE_FULL", "motherlode", [("a".into(), "b".into())]);
        let busy = Status::with_error_details(Code::ResourceExhausted, "busy", details);
        assert_eq!(reason(&busy), "QUEUE_FULL");
        assert_eq!(reason(&Status::unavailable("gone")), "UNAVAILABLE");
    }
}
