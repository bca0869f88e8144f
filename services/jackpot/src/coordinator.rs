//! Partition 0 decides on jackpot hits and voids. The coordinator reports other partitions' contributions to partition
//! 0, copies partition 0's decisions to the other partitions, and pays awards in the winner's partition. If the writer
//! refuses a proposal of the coordinator, the coordinator logs a failed integrity check (PL-22), retries the proposal,
//! and continues with other pools and awards.

use crate::{
    copies::Copies,
    payments::{Fault, pay},
    proposal::{append_there, proposal},
};
use futures_util::future::{BoxFuture, select_all};
use motherlode_ledger::{AppendError, Handle, Ledgers};
use motherlode_state::{CoinValue, CollisionShare, Event, InternalRequest, Nano, PoolStatus, PoolTerms, StreamId};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::{Instant, timeout_at};

/// Interval between commits that pool contributions, while no bet hits the jackpot. Each commit pools the contributions
/// of all bets since the previous commit.
pub const POOL_EVERY: Duration = Duration::from_millis(200);

const REPORTS_MAX: usize = 64;

const PAUSE: Duration = Duration::from_millis(100);

#[must_use]
pub fn standard_terms() -> PoolTerms {
    PoolTerms {
        version: 1,
        contribution_ppm: 5_000,
        seed: Nano(20_000 * 1_000_000_000),
        base_coin: CoinValue(10_000_000),
        refresh_ms: 3_000,
        collision_share: CollisionShare::Full,
    }
}

/// Several coordinators may run concurrently, because every append states the expected stream version.
pub struct PoolCoordinator {
    ledgers: Ledgers,
    copies: Copies,
    left: bool,
    reported: BTreeSet<String>,
}

impl PoolCoordinator {
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>) -> Self {
        Self { ledgers: ledgers.into(), copies: Copies::default(), left: false, reported: BTreeSet::new() }
    }

    pub fn ensure_pool<'a>(&'a self, pool: &'a str) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move {
            if self.ledgers.home().books(|books| books.pool(pool).is_some()) {
                return Ok(());
            }
            let opened = Event::PoolOpened { pool: pool.into(), terms: standard_terms() };
            let stream = StreamId::pool(pool);
            match self.ledgers.append(proposal(stream, Some(0), InternalRequest::OpenPool, vec![opened])).await {
                Ok(_) => {
                    tracing::info!(pool, "opened a pool with the standard terms");
                    Ok(())
                }
                Err(AppendError::Conflict { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    pub fn run(mut self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut decisions: Vec<_> = self.ledgers.all().map(Handle::decisions).collect();
            let mut next_pooling = Instant::now();
            loop {
                for waiting in &mut decisions {
                    waiting.mark_unchanged();
                }
                let due = Instant::now() >= next_pooling;
                let kept_up = self.keep_up(due).await;
                if due {
                    next_pooling = Instant::now() + POOL_EVERY;
                }
                match kept_up {
                    Err(error) => {
                        tracing::warn!(%error, "failed to update the pools; retrying");
                        tokio::time::sleep(PAUSE).await;
                    }
                    Ok(()) if self.left => {}
                    Ok(()) => {
                        let changed = select_all(decisions.iter_mut().map(|waiting| Box::pin(waiting.changed())));
                        if let Ok((Err(_), ..)) = timeout_at(next_pooling, changed).await {
                            return;
                        }
                    }
                }
            }
        })
    }

    /// Copies decisions to all partitions, decides pending jackpot hits and pending voids of rounds, and pays awards.
    /// With `pool_all`, also pools all contributions.
    pub async fn keep_up(&mut self, pool_all: bool) -> Result<(), AppendError> {
        let mut notes = Notes { result: Ok(()), faults: vec![] };
        let mut note = |what: String, done: Result<(), AppendError>| notes.add(what, done);
        self.left = false;
        let home = self.ledgers.home();
        for other in self.ledgers.others() {
            note(format!("copies/{}", other.partition()), self.copies.bring_to(home, other).await);
        }
        let pools = home.books(|books| books.pools().map(|pool| pool.name.to_string()).collect::<Vec<_>>());
        for pool in &pools {
            for other in self.ledgers.others() {
                let reported = self.report(pool, other, pool_all).await;
                self.left |= matches!(reported, Ok(true));
                note(format!("report/{pool}/{}", other.partition()), reported.map(|_| ()));
            }
            note(format!("pool/{pool}"), self.decide(pool, pool_all).await);
            if pool_all {
                note(format!("incidents/{pool}"), self.return_contributions(pool).await);
            }
            for other in self.ledgers.others() {
                note(format!("mirror/{pool}/{}", other.partition()), self.mirror(pool, other).await);
            }
            note(format!("hand-over/{pool}"), self.hand_over(pool).await);
        }
        for ledger in self.ledgers.all() {
            let paid = pay(ledger, &mut notes.faults).await;
            self.left |= matches!(paid, Ok(true));
            notes.add(String::new(), paid.map(|_| ()));
        }
        for fault in notes.faults {
            self.report_fault(fault).await;
        }
        notes.result
    }

    pub async fn prepare(&mut self) -> Result<(), AppendError> {
        let home = self.ledgers.home();
        let pools = home.books(|books| books.pools().map(|pool| pool.name.to_string()).collect::<Vec<_>>());
        let mut notes = Notes { result: Ok(()), faults: vec![] };
        for other in self.ledgers.others() {
            notes.add(format!("copies/{}", other.partition()), self.copies.bring_to(home, other).await);
            for pool in &pools {
                notes.add(format!("join/{pool}/{}", other.partition()), self.join(pool, other).await);
                notes.add(format!("mirror/{pool}/{}", other.partition()), self.mirror(pool, other).await);
            }
        }
        for fault in notes.faults {
            self.report_fault(fault).await;
        }
        notes.result
    }

    async fn report_fault(&mut self, fault: Fault) {
        let Fault { what, why } = fault;
        let finding = format!("{what}: {why}");
        if !self.reported.insert(finding.clone()) {
            return;
        }
        tracing::error!(what, %why, "the ledger's checks refused a jackpot record, which will be computed again");
        let failed = Event::IntegrityFailed { check: "jackpots".to_owned(), finding: finding.clone() };
        let request = InternalRequest::LogRefusal { finding: &finding };
        let _ = self.ledgers.append(proposal(StreamId::System, None, request, vec![failed])).await;
    }

    async fn join(&self, pool: &str, other: &Handle) -> Result<(), AppendError> {
        let (home, partition) = (self.ledgers.home(), other.partition());
        let (version, report) = home.books(|books| {
            let report = other.books(|other| books.partition_report(pool, partition, other));
            (books.pool(pool).map_or(0, |pool| pool.head.version), report)
        });
        let Some(report) = report.filter(|report| report.to == 0) else { return Ok(()) };
        let request = InternalRequest::ReportPartition { pool, partition, to: 0 };
        let reported = vec![Event::PartitionReported(report.into())];
        match append_there(home, proposal(StreamId::pool(pool), Some(version), request, reported)).await {
            Ok(()) | Err(AppendError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Appends the sums of `other`'s contributions to the pool's stream: of all contributions if `all` is set,
    /// otherwise only up to the last jackpot hit or voided round. Returns whether some contributions remain unreported.
    async fn report(&self, pool: &str, other: &Handle, all: bool) -> Result<bool, AppendError> {
        let (home, partition) = (self.ledgers.home(), other.partition());
        let mut again = all;
        for _ in 0..REPORTS_MAX {
            let (version, reported_to, report) = home.books(|books| {
                let report = other.books(|other| books.partition_report(pool, partition, other));
                let (version, to) =
                    books.pool(pool).map_or((0, 0), |pool| (pool.head.version, pool.reported_to(partition)));
                (version, to, report)
            });
            let waits =
                other.books(|books| books.pending_decisions(pool).any(|decision| decision.position() > reported_to));
            let joins = || other.books(|books| books.pool(pool).is_none());
            let Some(report) = report.filter(|_| again || waits || joins()) else { return Ok(false) };
            again = false;
            let request = InternalRequest::ReportPartition { pool, partition, to: report.to };
            let reported = vec![Event::PartitionReported(report.into())];
            match append_there(home, proposal(StreamId::pool(pool), Some(version), request, reported)).await {
                Err(AppendError::Conflict { .. }) => again = all,
                done => done?,
            }
        }
        Ok(true)
    }

    async fn decide(&self, pool: &str, pool_all: bool) -> Result<(), AppendError> {
        let decides = || self.ledgers.home().books(|books| books.pending_decisions(pool).next().is_some());
        let mut left = if pool_all { self.ledgers.count() } else { 0 };
        while (left > 0 || decides()) && self.step(pool).await? {
            left = left.saturating_sub(1);
            self.pay_between(pool).await;
        }
        Ok(())
    }

    async fn pay_between(&self, pool: &str) {
        for other in self.ledgers.others() {
            let awards = self
                .ledgers
                .home()
                .books(|books| books.pool(pool).is_some_and(|pool| pool.awards_for(other.partition())));
            if awards && let Err(error) = self.mirror(pool, other).await {
                tracing::warn!(%error, pool, partition = other.partition(), "failed to copy a pool to a partition; the awards of this pool in the partition are delayed");
            }
        }
        for ledger in self.ledgers.all() {
            if let Err(error) = pay(ledger, &mut vec![]).await {
                tracing::warn!(%error, partition = ledger.partition(), "failed to pay a partition's awards; retrying later");
            }
        }
    }

    async fn return_contributions(&self, pool: &str) -> Result<(), AppendError> {
        let home = self.ledgers.home();
        loop {
            let (version, returned) =
                home.books(|books| (books.pool(pool).map_or(0, |pool| pool.head.version), books.pool_return(pool)));
            let Some(returned) = returned else { return Ok(()) };
            let request = InternalRequest::PoolStep { version: version + 1 };
            match home.append(proposal(StreamId::pool(pool), Some(version), request, vec![returned])).await {
                Ok(_) | Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn step(&self, pool: &str) -> Result<bool, AppendError> {
        let home = self.ledgers.home();
        let (version, events) =
            home.books(|books| (books.pool(pool).map_or(0, |pool| pool.head.version), books.pool_step(pool)));
        let Some(events) = events.map_err(motherlode_state::Refused::from)? else { return Ok(false) };
        let request = InternalRequest::PoolStep { version: version + 1 };
        match home.append(proposal(StreamId::pool(pool), Some(version), request, events)).await {
            Ok(_) | Err(AppendError::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    async fn mirror(&self, pool: &str, other: &Handle) -> Result<(), AppendError> {
        let partition = other.partition();
        let (version, mirrored) = self.ledgers.home().books(|books| {
            other.books(|other| (other.head(&StreamId::pool(pool)).version, books.pool_mirror(pool, partition, other)))
        });
        let Some(mirrored) = mirrored else { return Ok(()) };
        let request = InternalRequest::MirrorPool { pool, home_position: mirrored.home_position };
        let mirrored = vec![Event::PoolMirrored(mirrored.into())];
        match append_there(other, proposal(StreamId::pool(pool), Some(version), request, mirrored)).await {
            Ok(_) | Err(AppendError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Moves a retired pool's money into its successor, at most once (BW-20).
    async fn hand_over(&self, pool: &str) -> Result<(), AppendError> {
        let status = self.ledgers.home().books(|books| books.pool(pool).map(|pool| pool.status.clone()));
        let Some(PoolStatus::Retired { into, increments, reserve }) = status else { return Ok(()) };
        let request = InternalRequest::ReceivePool { from: pool };
        let stream = StreamId::pool(into);
        match self.ledgers.home().find_position(&stream, &request.to_string()) {
            Ok(None) => {}
            Ok(Some(_)) | Err(AppendError::Archived { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        let received = Event::PoolReceived { from: pool.into(), increments, reserve };
        self.ledgers.append(proposal(stream, None, request, vec![received])).await.map(|_| ())
    }
}

struct Notes {
    result: Result<(), AppendError>,
    faults: Vec<Fault>,
}

impl Notes {
    fn add(&mut self, what: String, done: Result<(), AppendError>) {
        match done {
            Err(AppendError::Refused(why)) => self.faults.push(Fault { what, why }),
            done if self.result.is_ok() => self.result = done,
            _ => {}
        }
    }
}
