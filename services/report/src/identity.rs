//! The program's identity, and the self-check (PL-29; NJ 13:69O-1.5(c)).

use crate::{figures::Figures, follower::Follower, returns::ReturnFilter};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use motherlode_ledger::{AppendError, Handle, Proposal};
use motherlode_proto::{
    convert::play::hex,
    report::v1::{self as wire, r#return::Weighting},
};
use motherlode_runtime::{apart, program};
use motherlode_slots::games;
use motherlode_state::{Event, InternalRequest, PoolState, StreamId};
use parking_lot::{Mutex, RwLock};
use sha2::{Digest, Sha256};
use std::{sync::Arc, thread, time::Duration};
use tokio::task::spawn_blocking;

const EVERY_MS: i64 = 24 * 3_600_000;
const LOOK: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Identity {
    version: &'static str,
    configuration: Arc<RwLock<String>>,
    test_build: bool,
}

impl Identity {
    /// Opens the executable, so that the running program's file is hashed even if another file replaces it.
    /// `configuration` is in canonical form.
    #[must_use]
    pub fn new(version: &'static str, configuration: &str, test_build: bool) -> Self {
        program::open();
        Self { version, configuration: Arc::new(RwLock::new(Self::digest(configuration))), test_build }
    }

    #[must_use]
    pub fn digest(configuration: &str) -> String {
        hex(&Sha256::digest(configuration))
    }

    #[must_use]
    pub fn configuration(&self) -> String {
        self.configuration.read().clone()
    }

    pub fn reconfigure(&self, digest: &str) {
        digest.clone_into(&mut self.configuration.write());
    }

    pub(crate) fn to_wire(&self) -> wire::GetIdentityResponse {
        let model = |game: &&'static dyn motherlode_slots::Game| wire::Model {
            game: game.name().to_owned(),
            rules_version: game.rules_version().to_owned(),
            model_sha256: hex(&game.model_hash()),
        };
        wire::GetIdentityResponse {
            version: self.version.to_owned(),
            executable_sha256: program::digest().map(|digest| hex(&digest)).unwrap_or_default(),
            configuration_sha256: self.configuration(),
            test_build: self.test_build,
            models: games().iter().map(model).collect(),
            caller: None,
        }
    }

    pub fn announce(&self) {
        let identity = self.clone();
        let said = thread::Builder::new().name("identity".to_owned()).spawn(move || identity.say());
        if let Err(error) = said {
            tracing::warn!(%error, "failed to start a thread that hashes the executable");
        }
    }

    fn say(&self) {
        let wire::GetIdentityResponse { version, executable_sha256, configuration_sha256, test_build, models, .. } =
            self.to_wire();
        tracing::info!(version, executable_sha256, configuration_sha256, test_build, "program identity");
        for wire::Model { game, rules_version, model_sha256 } in models {
            tracing::info!(game, rules_version, model_sha256, "game model");
        }
    }
}

/// Self-check, which runs on demand and every 24 hours by the ledger's clock.
#[derive(Clone)]
pub struct SelfCheck {
    pub(crate) identity: Arc<Identity>,
    follower: Follower,
    under_way: Arc<Mutex<Option<RunningCheck>>>,
}

type RunningCheck = Shared<BoxFuture<'static, Arc<[String]>>>;

impl SelfCheck {
    #[must_use]
    pub fn new(identity: Identity, follower: Follower) -> Self {
        Self { identity: Arc::new(identity), follower, under_way: Arc::default() }
    }

    pub fn run(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut last_ms = None;
            loop {
                last_ms = self.if_due(last_ms).await;
                self.alert().await;
                self.clock().await;
                tokio::time::sleep(LOOK).await;
            }
        })
    }

    /// Records a significant event for each return outside its expected band, at most once per hour (PL-23).
    pub async fn alert(&self) {
        let wanted = ReturnFilter { game: String::new(), operator: None, out_of_band_only: true, days: false };
        let Ok((returns, _)) = self.follower.returns().await else { return };
        let Ok(returns) = apart("reports", move || returns.report(&wanted)).await else { return };
        for of in returns.levels.into_iter().chain(returns.totals) {
            let bets = match (&of.bet, of.weighting()) {
                (Some(bet), _) => format!("at a bet of {} {} minor units", bet.amount_minor, bet.currency_code),
                (None, Weighting::Round) => {
                    format!("over all bets in {}, each round counted once,", of.currency_code)
                }
                (None, _) => format!("over all bets in {}", of.currency_code),
            };
            let finding = format!("{} {} {bets} has an RTP outside its statistical band", of.game, of.rules_version);
            let (rounds, rtp, band) = (of.rounds, of.rtp, of.band);
            match log(self.follower.ledgers().home(), "return", &finding).await {
                Ok(true) => {
                    tracing::warn!(finding, rounds, rtp, band, "a game's return is outside its statistical band")
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::error!(%error, finding, rounds, rtp, band, "failed to record that a game's return is outside its statistical band")
                }
            }
        }
    }

    pub async fn clock(&self) {
        let ledgers = self.follower.ledgers();
        let skews: Vec<_> = ledgers.all().filter_map(Handle::take_skew).collect();
        let Some(by_ms) = skews.into_iter().max_by_key(|by_ms| by_ms.unsigned_abs()) else { return };
        let proposal = Proposal {
            stream: StreamId::System,
            expected_version: None,
            request_id: InternalRequest::LogClock { now_ms: ledgers.now_ms(), by_ms }.to_string().into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events: vec![Event::ClockSkewed { by_ms }],
        };
        if let Err(error) = ledgers.home().append(proposal).await {
            tracing::error!(%error, by_ms, "failed to record the significant event ClockSkewed");
        }
    }

    pub async fn if_due(&self, last_ms: Option<i64>) -> Option<i64> {
        let now_ms = self.follower.ledgers().now_ms();
        if last_ms.is_some_and(|last| now_ms < last + EVERY_MS) {
            return last_ms;
        }
        let failures = self.join_or_begin(last_ms.is_none()).await;
        tracing::info!(failures = failures.len(), "self-check finished");
        Some(now_ms)
    }

    pub async fn check(&self) -> Arc<[String]> {
        self.join_or_begin(false).await
    }

    async fn join_or_begin(&self, at_start: bool) -> Arc<[String]> {
        let check = self.under_way.lock().get_or_insert_with(|| self.begin(at_start)).clone();
        check.await
    }

    /// Begins a check in a separate task, which finishes even if no caller waits for the result.
    fn begin(&self, at_start: bool) -> RunningCheck {
        let (check, done) = (self.clone(), Arc::clone(&self.under_way));
        let task = tokio::spawn(async move {
            let found = tokio::spawn(async move { check.look(at_start).await }).await;
            done.lock().take();
            found.unwrap_or_else(|error| vec![format!("the self-check was aborted: {error}")])
        });
        let ended = |found: Result<_, _>| {
            Arc::from(
                found.unwrap_or_else(|_| vec!["the self-check did not finish because the service stopped".to_owned()]),
            )
        };
        task.map(ended).boxed().shared()
    }

    async fn look(&self, at_start: bool) -> Vec<String> {
        let mut failures = vec![];
        if spawn_blocking(move || program::is_replaced(at_start)).await.unwrap_or_default() {
            failures.push("the executable file differs from the program that was started".to_owned());
        }
        let ledgers = self.follower.ledgers();
        if !ledgers.writable() {
            failures.push("the log cannot be written".to_owned());
        }
        failures.extend(ledgers.all().flat_map(books));
        for _ in 0..100 {
            match self.disagreements().await {
                None => tokio::task::yield_now().await,
                Some(found) => {
                    failures.extend(found);
                    break;
                }
            }
        }
        for failure in &failures {
            tracing::error!(failure, "the self-check failed");
            if let Err(error) = log(ledgers.home(), "self-check", failure).await {
                tracing::error!(%error, "failed to record the self-check's failure");
            }
        }
        failures
    }

    async fn disagreements(&self) -> Option<Vec<String>> {
        let home = self.follower.ledgers().home();
        let compare = |figures: &[&Figures]| {
            home.books(|books| {
                let of = |pool: &PoolState| Some((pool.name.to_string(), figures.first()?.pools.agrees(pool)?));
                books.pools().map(of).collect::<Option<Vec<_>>>()
            })
        };
        let (compared, _) = self.follower.read(compare).await.ok()?;
        let wrong = compared?.into_iter().filter(|(_, agrees)| !agrees);
        Some(
            wrong
                .map(|(pool, _)| format!("the reports' totals of pool {pool} differ from the ledger's totals"))
                .collect(),
        )
    }
}

fn books(ledger: &Handle) -> Vec<String> {
    ledger.books(|books| {
        let balanced = books.trial_balance().is_empty();
        let trial = (!balanced).then(|| "the trial balance is not zero".to_owned());
        let pools = books.pools().filter(|pool| !pool.is_balanced());
        trial.into_iter().chain(pools.map(|pool| format!("pool {} is not balanced", pool.name))).collect()
    })
}

/// Records a failed check at most once per hour (PL-22). Returns whether this call recorded the failure.
pub async fn log(ledger: &Handle, check: &str, finding: &str) -> Result<bool, AppendError> {
    let before = ledger.durable();
    let hour = ledger.now_ms().div_euclid(3_600_000);
    let digest: [u8; 32] = Sha256::digest(finding).into();
    let proposal = Proposal {
        stream: StreamId::System,
        expected_version: None,
        request_id: InternalRequest::LogIntegrity { check, hour, finding: &hex(&digest[..8]) }.to_string().into(),
        fingerprint: InternalRequest::FINGERPRINT,
        events: vec![Event::IntegrityFailed { check: check.to_owned(), finding: finding.to_owned() }],
    };
    ledger.append(proposal).await.map(|logged| logged.commit.position > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pl_22_a_finding_is_logged_and_told_once_an_hour() {
        let folder = tempfile::tempdir().unwrap();
        let store = motherlode_log::MemoryStore::new(0);
        let options = motherlode_ledger::Options::on_clock(|| 1_700_000_000_000);
        let ledger = motherlode_ledger::open(Box::new(store), folder.path(), options).unwrap();
        assert!(log(&ledger, "return", "too much").await.unwrap());
        assert!(!log(&ledger, "return", "too much").await.unwrap());
        assert!(log(&ledger, "return", "too little").await.unwrap());
        assert_eq!(ledger.durable(), 2);
        ledger.close().await;
    }
}
