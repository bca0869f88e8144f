//! The steward: the process manager that keeps the pools up to date with the logs of all partitions.
//!
//! A pool is decided at partition 0, its home. The steward reports to it the contributions of other partitions' bets,
//! mirrors its decisions back, and has each award paid where the winner plays
//! ([`motherlode_books::Books::partition_report`], [`pool_mirror`](motherlode_books::Books::pool_mirror)). Each step
//! follows from durable state alone, so a restart repeats none and misses none. A partition that takes no commits at
//! the moment does not hold up the others.
//!
//! A proposal that the books refuse delays nothing else: other pools and awards go on, and so does a start of the
//! service. The refusal is logged as a failed integrity check (PL-22) and the proposal is tried again each time. An
//! award that its account has no room for is set aside.

use crate::{copies::Copies, proposal::proposal};
use futures_util::future::{BoxFuture, select_all};
use motherlode_books::{
    Books, CoinValue, CollisionShare, Event, InternalRequest, Nano, PoolStatus, PoolTerms, Refused, StreamId,
    UnpaidAward,
};
use motherlode_ledger::{AppendError, Handle, Ledgers, Proposal};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::{Instant, timeout_at};

/// Contributions without a hit are pooled this often: one commit for all bets of the time between.
pub const POOL_EVERY: Duration = Duration::from_millis(200);

/// Waits after an append that failed.
const PAUSE: Duration = Duration::from_millis(100);

/// The published terms (BW-11, BW-12, BW-14, BW-17): 0.5 % of every bet, a seed of 20,000 EUR for a coin of 10 EUR.
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

/// Keeps the pools up with the logs. Several may run by mistake: every append names the version it rests on.
pub struct Steward {
    ledgers: Ledgers,
    copies: Copies,
    /// The faults that this steward has reported.
    reported: BTreeSet<String>,
}

/// Something that the books refuse, and that waits alone.
struct Fault {
    what: String,
    why: Refused,
}

impl Steward {
    /// A steward of all pools of the ledgers.
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>) -> Self {
        Self { ledgers: ledgers.into(), copies: Copies::default(), reported: BTreeSet::new() }
    }

    /// Opens a pool with the standard terms where it was never opened.
    ///
    /// # Errors
    /// When the ledger takes no appends.
    pub fn ensure_pool<'a>(&'a self, pool: &'a str) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move {
            if self.ledgers.home().books(|books| books.pool(pool).is_some()) {
                return Ok(());
            }
            let opened = Event::PoolOpened { pool: pool.into(), terms: standard_terms() };
            let stream = StreamId::pool(pool);
            match self.ledgers.append(proposal(stream, Some(0), InternalRequest::OpenPool, vec![opened])).await {
                Ok(_) => {
                    tracing::info!(pool, "opened with the standard terms");
                    Ok(())
                }
                // Somebody else has opened it meanwhile.
                Err(AppendError::Conflict { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    /// Runs for as long as it's polled.
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
                        tracing::warn!(%error, "the pools are behind the log");
                        tokio::time::sleep(PAUSE).await;
                    }
                    // Either something comes to decide on, or it's time to pool what has come so far.
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

    /// Brings all partitions up to date: copies home's decisions, decides every waiting hit and void, pays every award,
    /// and pools all contributions when that is due. Returns the first error, after everything else was done. Proposals
    /// that the books refuse are no error: they are reported, and wait.
    ///
    /// # Errors
    /// When a ledger takes no appends.
    pub async fn keep_up(&mut self, pool_all: bool) -> Result<(), AppendError> {
        let (mut result, mut faults) = (Ok(()), vec![]);
        let mut note = |what: String, done: Result<(), AppendError>| match done {
            Err(AppendError::Refused(why)) => faults.push(Fault { what, why }),
            done if result.is_ok() => result = done,
            _ => {}
        };
        let home = self.ledgers.home();
        for other in self.ledgers.others() {
            note(format!("copies/{}", other.partition()), self.copies.bring_to(home, other).await);
        }
        let pools = home.books(|books| books.pools().map(|pool| pool.name.to_string()).collect::<Vec<_>>());
        for pool in &pools {
            for other in self.ledgers.others() {
                note(format!("report/{pool}/{}", other.partition()), self.report(pool, other, pool_all).await);
            }
            note(format!("pool/{pool}"), self.decide(pool, pool_all).await);
            for other in self.ledgers.others() {
                note(format!("mirror/{pool}/{}", other.partition()), self.mirror(pool, other).await);
            }
            note(format!("hand-over/{pool}"), self.hand_over(pool).await);
        }
        let mut faults_of_awards = vec![];
        for ledger in self.ledgers.all() {
            let mut refused = vec![];
            note(String::new(), pay(ledger, &mut refused).await);
            faults_of_awards.append(&mut refused);
        }
        faults.append(&mut faults_of_awards);
        for fault in faults {
            self.report_fault(fault).await;
        }
        result
    }

    /// Reports once, in the log and to whoever watches, what the books refuse.
    async fn report_fault(&mut self, fault: Fault) {
        let Fault { what, why } = fault;
        let finding = format!("{what}: {why}");
        if !self.reported.insert(finding.clone()) {
            return;
        }
        tracing::error!(what, %why, "the books refuse what follows from the log; it waits, all else goes on");
        let failed = Event::IntegrityFailed { check: "jackpots".to_owned(), finding: finding.clone() };
        let request = InternalRequest::LogRefusal { finding: &finding };
        // A log that takes nothing now is reported elsewhere, and the next process tries again.
        let _ = self.ledgers.append(proposal(StreamId::System, None, request, vec![failed])).await;
    }

    /// Reports a partition's contributions to a pool, up to its last hit or void; to its end when all is to be pooled.
    async fn report(&self, pool: &str, other: &Handle, all: bool) -> Result<(), AppendError> {
        let (home, partition) = (self.ledgers.home(), other.partition());
        let mut again = all;
        loop {
            let (version, reported_to, report) = home.books(|books| {
                let report = other.books(|other| books.partition_report(pool, partition, other));
                let (version, to) =
                    books.pool(pool).map_or((0, 0), |pool| (pool.head.version, pool.reported_to(partition)));
                (version, to, report)
            });
            let waits =
                other.books(|books| books.pending_decisions(pool).any(|decision| decision.position() > reported_to));
            let joins = || other.books(|books| books.pool(pool).is_none());
            let Some(report) = report.filter(|_| again || waits || joins()) else { return Ok(()) };
            again = false;
            let request = InternalRequest::ReportPartition { pool, partition, to: report.to };
            let reported = vec![Event::PartitionReported(report.into())];
            match home.append(proposal(StreamId::pool(pool), Some(version), request, reported)).await {
                // Somebody changed the pool meanwhile: what to say next is asked again.
                Err(AppendError::Conflict { .. }) => again = all,
                done => done.map(|_| ())?,
            }
        }
    }

    /// Decides the hits and voids that wait for a pool; pools each partition's contributions when that is due.
    async fn decide(&self, pool: &str, pool_all: bool) -> Result<(), AppendError> {
        let decides = || self.ledgers.home().books(|books| books.pending_decisions(pool).next().is_some());
        let mut left = if pool_all { self.ledgers.count() } else { 0 };
        while (left > 0 || decides()) && self.step(pool).await? {
            left = left.saturating_sub(1);
        }
        Ok(())
    }

    /// Appends a pool's next step; false when nothing waited.
    async fn step(&self, pool: &str) -> Result<bool, AppendError> {
        let home = self.ledgers.home();
        let (version, events) =
            home.books(|books| (books.pool(pool).map_or(0, |pool| pool.head.version), books.pool_step(pool)));
        let Some(events) = events.map_err(motherlode_books::Refused::from)? else { return Ok(false) };
        let request = InternalRequest::PoolStep { version: version + 1 };
        match home.append(proposal(StreamId::pool(pool), Some(version), request, events)).await {
            // Somebody changed the pool meanwhile: what to say next is asked again.
            Ok(_) | Err(AppendError::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Mirrors a pool into a partition, where that lacks something of it.
    async fn mirror(&self, pool: &str, other: &Handle) -> Result<(), AppendError> {
        let partition = other.partition();
        let (version, mirrored) = self.ledgers.home().books(|books| {
            other.books(|other| (other.head(&StreamId::pool(pool)).version, books.pool_mirror(pool, partition, other)))
        });
        let Some(mirrored) = mirrored else { return Ok(()) };
        let request = InternalRequest::MirrorPool { pool, home_position: mirrored.home_position };
        let mirrored = vec![Event::PoolMirrored(mirrored.into())];
        match other.append(proposal(StreamId::pool(pool), Some(version), request, mirrored)).await {
            // Another steward was there first.
            Ok(_) | Err(AppendError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Hands a retired pool's money to the pool that gets it (BW-20); done before, it changes nothing.
    async fn hand_over(&self, pool: &str) -> Result<(), AppendError> {
        let status = self.ledgers.home().books(|books| books.pool(pool).map(|pool| pool.status.clone()));
        let Some(PoolStatus::Retired { into, increments, reserve }) = status else { return Ok(()) };
        let request = InternalRequest::ReceivePool { from: pool };
        let stream = StreamId::pool(into);
        if self.ledgers.home().find_position(&stream, &request.to_string())?.is_some() {
            return Ok(());
        }
        let received = Event::PoolReceived { from: pool.into(), increments, reserve };
        self.ledgers.append(proposal(stream, None, request, vec![received])).await.map(|_| ())
    }
}

/// Pays the awards that wait in a partition, in the order of their hits. An award that its account has no room for is
/// set aside, and paid once there is room, so that it delays no other. Other refusals are returned.
///
/// # Errors
/// When the ledger takes no appends.
async fn pay(ledger: &Handle, refused: &mut Vec<Fault>) -> Result<(), AppendError> {
    let unpaid: Vec<(u32, u64, UnpaidAward)> = ledger
        .books(|books| books.unpaid_awards().map(|(partition, hit, award)| (partition, hit, award.clone())).collect());
    let mut busy = Ok(());
    for (partition, hit, award) in unpaid {
        // An award whose player can't be read waits, and delays no other.
        if award.set_aside && !ledger.books_of(&award.stream, |books| in_the_way(books, &award) == 0).unwrap_or(false) {
            continue;
        }
        let done = match ledger.append(payment(partition, hit, &award, None)).await {
            Ok(_) => {
                tracing::info!(partition, hit, pool = %award.pool, amount = %award.amount.to_decimal(award.currency),
                    currency = %award.currency, "a jackpot was paid");
                Ok(())
            }
            Err(AppendError::Refused(Refused::Money(error))) if !award.set_aside => {
                tracing::error!(%error, partition, hit, pool = %award.pool, "an award is set aside");
                ledger.append(setting_aside(partition, hit, &award, error.to_string())).await.map(|_| ())
            }
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => {}
            Err(AppendError::Refused(why)) => {
                refused.push(Fault { what: format!("award/{}/{partition}/{hit}", award.pool), why });
            }
            // The winner's operator has no place in the queue: others have.
            Err(AppendError::Busy) => busy = Err(AppendError::Busy),
            Err(error) => return Err(error),
        }
    }
    busy
}

/// Minor units that must be withdrawn before an award can be paid.
pub(crate) fn in_the_way(books: &Books, award: &UnpaidAward) -> i64 {
    let balance = books.player(&award.stream).and_then(|player| player.balance(award.currency)).unwrap_or_default();
    award.amount.0.saturating_sub(i64::MAX - balance.0.max(0)).max(0)
}

/// The payment of an award, under the name that makes it come once.
pub(crate) fn payment(partition: u32, hit: u64, award: &UnpaidAward, acted: Option<Event>) -> Proposal {
    let UnpaidAward { round, amount, currency, .. } = *award;
    let paid = Event::JackpotPaid { round, pool: award.pool.to_string().into(), hit, amount, currency };
    let request = InternalRequest::PayAward { pool: &award.pool, partition, hit };
    proposal(award.stream.clone(), None, request, [paid].into_iter().chain(acted).collect())
}

fn setting_aside(partition: u32, hit: u64, award: &UnpaidAward, reason: String) -> Proposal {
    let UnpaidAward { round, amount, currency, .. } = *award;
    let request = InternalRequest::SetAwardAside { pool: &award.pool, partition, hit };
    let waits = Event::AwardSetAside { round, pool: award.pool.to_string().into(), hit, amount, currency, reason };
    proposal(award.stream.clone(), None, request, vec![waits])
}
