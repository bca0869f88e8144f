//! Reactions to a damaged log, or to state that differs from a replay of the log. A significant event (PL-22) is recorded,
//! and the partition accepts no more proposals. Reads continue, so that the damage can be investigated.

use futures_util::future::{join, join_all};
use motherlode_ledger::{Handle, Ledgers, Proposal};
use motherlode_proofs::Proofs;
use motherlode_report::log_finding;
use motherlode_state::{Books, Event, InternalRequest, StreamId};
use std::{future::pending, time::Duration};

const EVENT_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn watch(ledgers: Ledgers) {
    let written = ledgers.all().filter(|ledger| !ledger.is_replica());
    let logs = join_all(written.map(|ledger| join(watch_one(ledger), watch_players(&ledgers, ledger))));
    join(logs, join_all(ledgers.all().map(|ledger| watch_state(&ledgers, ledger)))).await;
    pending().await
}

async fn watch_state(ledgers: &Ledgers, ledger: &Handle) {
    let mut difference = ledger.state_difference();
    let found = difference.wait_for(Option::is_some).await;
    let Some(finding) = found.ok().and_then(|found| found.clone()) else { return };
    note(ledgers.home(), "state", &finding).await;
    ledger.distrust(&finding);
}

/// Records a significant event if a player's state cannot be read. This player cannot play until the process restarts.
async fn watch_players(ledgers: &Ledgers, ledger: &Handle) {
    let mut failure = ledger.unreadable_players();
    let failed = failure.wait_for(Option::is_some).await;
    let Some(finding) = failed.ok().and_then(|failed| failed.clone()) else { return };
    if let Err(error) = log_finding(ledgers.home(), "players", &finding).await {
        tracing::error!(finding, %error, "failed to record the significant event that a player's state is unreadable");
    }
}

/// Waits until a log contradicts its checkpoint or is shorter than a checkpoint cosigned by a witness.
pub(crate) async fn watch_proofs(ledgers: Ledgers, proofs: Proofs) {
    let (partition, finding) = proofs.failed().await;
    if let Some(ledger) = ledgers.all().find(|ledger| ledger.partition() == partition) {
        note(ledgers.home(), "proofs", &finding).await;
        ledger.distrust_log(&finding);
    }
    pending().await
}

async fn watch_one(ledger: &Handle) {
    let mut verification = ledger.verification();
    let failed = verification.wait_for(|verification| verification.failure.is_some()).await;
    let Some(finding) = failed.ok().and_then(|failed| failed.failure.clone()) else { return };
    // The event is written to the damaged log, so that the next start verifies the whole log.
    let event = Event::IntegrityFailed { check: Event::CHECK_OF_LOG.to_owned(), finding: finding.clone() };
    let request = InternalRequest::LogDamage { end: ledger.durable() };
    let committed = tokio::time::timeout(EVENT_MAX, ledger.append(proposal(&request, event))).await;
    if !matches!(committed, Ok(Ok(_))) {
        tracing::error!(finding, "failed to record the significant event that the log is damaged");
    }
    ledger.distrust_log(&finding);
}

fn proposal(request: &InternalRequest<'_>, event: Event) -> Proposal {
    Proposal {
        stream: StreamId::System,
        expected_version: None,
        request_id: request.to_string().into(),
        fingerprint: InternalRequest::FINGERPRINT,
        events: vec![event],
    }
}

async fn note(home: &Handle, check: &str, finding: &str) {
    let event = tokio::time::timeout(EVENT_MAX, log_finding(home, check, finding)).await;
    if !matches!(event, Ok(Ok(_))) {
        tracing::error!(finding, "failed to record the significant event that the log is damaged");
    }
}

pub(crate) async fn commit_verified(ledger: &Handle) {
    if !ledger.books(Books::is_log_damaged) {
        return;
    }
    let (partition, to) = (ledger.partition(), ledger.durable());
    match ledger.append(proposal(&InternalRequest::LogVerified { to }, Event::LogVerified { to })).await {
        Ok(_) => tracing::info!(partition, to, "the log was verified and is not damaged"),
        Err(error) => tracing::error!(partition, %error, "failed to record that the log was verified"),
    }
}
