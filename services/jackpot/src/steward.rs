//! The steward: the process manager that keeps the pools up with the log.

use motherlode_books::{CoinValue, CollisionShare, Event, Minor, Nano, PoolStatus, PoolTerms, StreamId, UnpaidAward};
use motherlode_ledger::{AppendError, Handle, Ledgers, Proposal, rounds::award_request_id};
use std::time::Duration;
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

/// Keeps the pools up with the log. Several may run by mistake: every append names the version it rests on.
pub struct Steward {
    ledger: Handle,
}

impl Steward {
    /// A steward of all pools of the ledgers.
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>) -> Self {
        Self { ledger: ledgers.into().home().clone() }
    }

    /// Opens a pool with the standard terms where it was never opened.
    ///
    /// # Errors
    /// When the ledger takes no appends.
    pub async fn ensure_pool(&self, pool: &str) -> Result<(), AppendError> {
        if self.ledger.books(|books| books.pool(pool).is_some()) {
            return Ok(());
        }
        let opened = Event::PoolOpened { pool: pool.to_owned(), terms: standard_terms() };
        let stream = StreamId::pool(pool);
        self.ledger.append(proposal(stream, Some(0), "steward/open".to_owned(), vec![opened])).await?;
        tracing::info!(pool, "opened with the standard terms");
        Ok(())
    }

    /// Runs for as long as it's polled.
    pub async fn run(self) {
        let mut decisions = self.ledger.decisions();
        let mut next_pooling = Instant::now();
        loop {
            decisions.mark_unchanged();
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
                    if let Ok(Err(_)) = timeout_at(next_pooling, decisions.changed()).await {
                        return;
                    }
                }
            }
        }
    }

    /// Decides every hit and void that waits and pays every award; pools all contributions when that is due.
    async fn keep_up(&self, pool_all: bool) -> Result<(), AppendError> {
        let pools = self.ledger.books(|books| books.pools().map(|pool| pool.name.to_string()).collect::<Vec<_>>());
        for pool in &pools {
            let decides = || self.ledger.books(|books| books.pending_decisions(pool).next().is_some());
            let mut again = pool_all || decides();
            while again {
                again = self.step(pool).await? && decides();
            }
            self.hand_over(pool).await?;
        }
        self.pay().await
    }

    /// Appends a pool's next step; false when nothing waited.
    async fn step(&self, pool: &str) -> Result<bool, AppendError> {
        let (version, events) =
            self.ledger.books(|books| (books.pool(pool).map_or(0, |pool| pool.head.version), books.pool_step(pool)));
        let Some(events) = events.map_err(motherlode_books::Refused::from)? else { return Ok(false) };
        let id = format!("steward/{}", version + 1);
        match self.ledger.append(proposal(StreamId::pool(pool), Some(version), id, events)).await {
            // Somebody changed the pool meanwhile: what to say next is asked again.
            Ok(_) | Err(AppendError::Conflict { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Pays the awards that wait, in the order of their hits.
    async fn pay(&self) -> Result<(), AppendError> {
        let unpaid: Vec<(u32, u64, UnpaidAward)> = self.ledger.books(|books| {
            books.unpaid_awards().map(|(partition, hit, award)| (partition, hit, award.clone())).collect()
        });
        for (partition, hit, award) in unpaid {
            let id = award_request_id(&award.pool, partition, hit);
            let paid = Event::JackpotPaid {
                round: award.round,
                pool: award.pool.to_string(),
                hit,
                amount: award.amount,
                currency: award.currency,
            };
            self.ledger.append(proposal(award.stream, None, id, vec![paid])).await?;
            tracing::info!(hit, pool = %award.pool, amount = %Minor::to_decimal(award.amount, award.currency),
                currency = %award.currency, "a jackpot was paid");
        }
        Ok(())
    }

    /// Hands a retired pool's money to the pool that gets it (BW-20); done before, it changes nothing.
    async fn hand_over(&self, pool: &str) -> Result<(), AppendError> {
        let status = self.ledger.books(|books| books.pool(pool).map(|pool| pool.status.clone()));
        let Some(PoolStatus::Retired { into, increments, reserve }) = status else { return Ok(()) };
        let id = format!("steward/received/{pool}");
        let stream = StreamId::pool(into);
        if self.ledger.seen(&stream, &id)?.is_some() {
            return Ok(());
        }
        let received = Event::PoolReceived { from: pool.to_owned(), increments, reserve };
        self.ledger.append(proposal(stream, None, id, vec![received])).await.map(|_| ())
    }
}

/// Proposals of the steward need no fingerprint: their ids have a slash, which no client's has.
fn proposal(stream: StreamId, expected_version: Option<u64>, request_id: String, events: Vec<Event>) -> Proposal {
    Proposal { stream, expected_version, request_id, fingerprint: [0; 16], events }
}
