use crate::follower::Follower;
use hdrhistogram::Histogram;
use motherlode_ledger::{Handle, LogReader, ReaderKind, fields::timestamp};
use motherlode_proto::report::v1 as wire;
use parking_lot::Mutex;
use std::{collections::VecDeque, mem, sync::Arc, time::Duration};
use tokio::time::sleep;

const SECONDS: usize = 60;
const EVERY: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Durations of calls in microseconds, rounded to one significant digit.
#[derive(Debug, Clone)]
pub struct CallCounters(Arc<Mutex<Histogram<u64>>>);

impl Default for CallCounters {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(histogram())))
    }
}

impl CallCounters {
    pub fn add(&self, took: Duration) {
        let took = u64::try_from(took.min(LONGEST).as_micros()).unwrap_or_default();
        self.0.lock().saturating_record(took);
    }

    fn take(&self) -> Histogram<u64> {
        mem::replace(&mut *self.0.lock(), histogram())
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 1).expect("these bounds are valid")
}

#[derive(Clone)]
struct Look {
    time_ms: i64,
    rounds: u64,
    calls: Histogram<u64>,
}

#[derive(Clone)]
pub struct ServiceStatus {
    follower: Follower,
    calls: CallCounters,
    looks: Arc<Mutex<VecDeque<Look>>>,
    wallets: Arc<dyn Fn() -> Vec<wire::WalletStatus> + Send + Sync>,
}

impl ServiceStatus {
    #[must_use]
    pub fn new(follower: Follower, calls: CallCounters) -> Self {
        Self { follower, calls, looks: Arc::default(), wallets: Arc::new(Vec::new) }
    }

    #[must_use]
    pub fn with_wallets(self, wallets: impl Fn() -> Vec<wire::WalletStatus> + Send + Sync + 'static) -> Self {
        Self { wallets: Arc::new(wallets), ..self }
    }

    pub async fn run(self) {
        loop {
            let look = Look {
                time_ms: self.follower.ledgers().now_ms(),
                rounds: self.follower.counts().rounds.iter().map(|(_, count)| count).sum(),
                calls: self.calls.take(),
            };
            {
                let mut looks = self.looks.lock();
                looks.push_back(look);
                if looks.len() > SECONDS + 1 {
                    looks.pop_front();
                }
            }
            sleep(EVERY).await;
        }
    }

    pub(crate) fn to_wire(&self) -> wire::GetServiceStatusResponse {
        let looks: Vec<_> = self.looks.lock().iter().cloned().collect();
        let counts = self.follower.counts();
        let mut calls = histogram();
        looks.iter().skip(1).for_each(|look| calls += &look.calls);
        let partitions = self.follower.ledgers().all().zip(&counts.positions);
        wire::GetServiceStatusResponse {
            seconds: looks.windows(2).map(second).collect(),
            latency_p50_us: calls.value_at_quantile(0.5),
            latency_p99_us: calls.value_at_quantile(0.99),
            open_rounds: counts.open,
            partitions: partitions.map(|(ledger, reports)| of_partition(ledger, *reports)).collect(),
            wallets: (self.wallets)(),
        }
    }
}

fn second(looks: &[Look]) -> wire::Second {
    let [before, after] = looks else { return wire::Second::default() };
    wire::Second {
        time: Some(timestamp(after.time_ms)),
        rounds: if before.rounds == 0 { 0 } else { after.rounds.saturating_sub(before.rounds) },
        calls: after.calls.len(),
    }
}

fn of_partition(ledger: &Handle, reports: u64) -> wire::PartitionStatus {
    let verification = ledger.verification();
    let unverified = {
        let verification = verification.borrow();
        verification.unread.saturating_sub(verification.verified)
    };
    let position = ledger.durable();
    let reader = |of: LogReader| wire::LogReader {
        name: match of.kind {
            ReaderKind::Replica => of.name,
            kind => format!("{} {}", kind.name(), of.name),
        },
        since_time: Some(timestamp(of.since_ms)),
        behind: position.saturating_sub(of.sent),
    };
    wire::PartitionStatus {
        partition: ledger.partition(),
        position,
        written_here: !ledger.is_replica(),
        writable: ledger.writable(),
        waiting: ledger.waiting() as u64,
        index_behind: ledger.index_behind(),
        reports_behind: position.saturating_sub(reports),
        unverified,
        readers: ledger.readers().into_iter().map(reader).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_calls_is_told_by_the_bound_of_its_class() {
        let calls = CallCounters::default();
        assert_eq!((calls.take().value_at_quantile(0.99), calls.take().len()), (0, 0));
        for _ in 0..98 {
            calls.add(Duration::from_micros(200));
        }
        calls.add(Duration::from_millis(9));
        calls.add(Duration::from_secs(10_000));
        let taken = calls.take();
        let [half, most, longest] = [0.5, 0.99, 1.0].map(|share| taken.value_at_quantile(share));
        assert!((200..=220).contains(&half) && (9_000..=9_900).contains(&most), "{half} {most}");
        assert!((60_000_000..=66_000_000).contains(&longest) && calls.take().is_empty(), "{longest}");
    }

    #[test]
    fn a_second_has_what_came_in_it_and_not_what_was_read_again() {
        let look = |rounds, count| {
            let mut calls = histogram();
            calls.record_n(9, count).unwrap();
            Look { time_ms: 5_000, rounds, calls }
        };
        let told = second(&[look(70, 5), look(75, 7)]);
        assert_eq!((told.rounds, told.calls), (5, 7));
        assert_eq!(second(&[look(0, 0), look(1_000_000, 1)]).rounds, 0);
    }
}
