use crate::follower::Follower;
use motherlode_ledger::{Handle, LogReader, ReaderKind, fields::timestamp};
use motherlode_proto::report::v1 as wire;
use parking_lot::Mutex;
use std::{
    array,
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::sleep;

const SECONDS: usize = 60;
const EVERY: Duration = Duration::from_secs(1);
/// Number of latency classes: four per power of two microseconds, up to a minute.
const CLASSES: usize = 104;

#[derive(Debug, Clone)]
pub struct CallCounters(Arc<[AtomicU64; CLASSES]>);

impl Default for CallCounters {
    fn default() -> Self {
        Self(Arc::new(array::from_fn(|_| AtomicU64::new(0))))
    }
}

impl CallCounters {
    pub fn add(&self, took: Duration) {
        if let Some(class) = self.0.get(class(took)) {
            class.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn now(&self) -> [u64; CLASSES] {
        array::from_fn(|class| self.0[class].load(Ordering::Relaxed))
    }
}

fn class(took: Duration) -> usize {
    let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(4);
    let power = us.ilog2();
    let quarter = us >> (power - 2) & 3;
    (power as usize * 4 + usize::try_from(quarter).unwrap_or_default()).min(CLASSES - 1)
}

fn bound_us(class: usize) -> u64 {
    let (power, quarter) = (class / 4, class as u64 % 4);
    (quarter + 5) << power >> 2
}

/// Returns a percentile as the upper bound of its class; 0 without calls.
fn within_us(calls: &[u64; CLASSES], hundredths: u64) -> u64 {
    let wanted = (calls.iter().sum::<u64>() * hundredths).div_ceil(100);
    let mut sum = 0;
    let found = calls.iter().position(|count| {
        sum += count;
        wanted > 0 && sum >= wanted
    });
    found.map_or(0, bound_us)
}

#[derive(Clone)]
struct Look {
    time_ms: i64,
    rounds: u64,
    calls: [u64; CLASSES],
}

#[derive(Clone)]
pub struct ServiceStatus {
    follower: Follower,
    calls: CallCounters,
    looks: Arc<Mutex<VecDeque<Look>>>,
}

impl ServiceStatus {
    #[must_use]
    pub fn new(follower: Follower, calls: CallCounters) -> Self {
        Self { follower, calls, looks: Arc::default() }
    }

    pub async fn run(self) {
        loop {
            let look = Look {
                time_ms: self.follower.ledgers().now_ms(),
                rounds: self.follower.counts().rounds.iter().map(|(_, count)| count).sum(),
                calls: self.calls.now(),
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
        let (first, last) = (looks.first(), looks.last());
        let calls: [u64; CLASSES] = match (first, last) {
            (Some(first), Some(last)) => array::from_fn(|class| last.calls[class] - first.calls[class]),
            _ => [0; CLASSES],
        };
        let partitions = self.follower.ledgers().all().zip(&counts.positions);
        wire::GetServiceStatusResponse {
            seconds: looks.windows(2).map(second).collect(),
            latency_p50_us: within_us(&calls, 50),
            latency_p99_us: within_us(&calls, 99),
            open_rounds: counts.open,
            partitions: partitions.map(|(ledger, reports)| of_partition(ledger, *reports)).collect(),
        }
    }
}

fn second(looks: &[Look]) -> wire::Second {
    let [before, after] = looks else { return wire::Second::default() };
    let calls = |look: &Look| look.calls.iter().sum::<u64>();
    wire::Second {
        time: Some(timestamp(after.time_ms)),
        rounds: if before.rounds == 0 { 0 } else { after.rounds.saturating_sub(before.rounds) },
        calls: calls(after) - calls(before),
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
    fn a_calls_time_is_within_a_quarter_of_its_class() {
        for us in [0, 1, 4, 5, 7, 8, 100, 215, 1_000, 4_999, 5_000, 1_000_000, 59_000_000] {
            let bound = bound_us(class(Duration::from_micros(us)));
            assert!(bound > us && (us < 8 || bound <= us + us / 4 + 1), "{us}: {bound}");
        }
        assert_eq!(class(Duration::from_secs(10_000)), CLASSES - 1);
    }

    #[test]
    fn a_share_of_calls_is_told_by_the_bound_of_its_class() {
        let calls = CallCounters::default();
        assert_eq!(within_us(&calls.now(), 99), 0);
        for _ in 0..98 {
            calls.add(Duration::from_micros(200));
        }
        calls.add(Duration::from_millis(9));
        calls.add(Duration::from_millis(9));
        let (half, most) = (within_us(&calls.now(), 50), within_us(&calls.now(), 99));
        assert!((201..=256).contains(&half) && (9_001..=10_240).contains(&most), "{half} {most}");
    }

    #[test]
    fn a_second_has_what_came_in_it_and_not_what_was_read_again() {
        let look = |rounds, count| Look {
            time_ms: 5_000,
            rounds,
            calls: array::from_fn(|class| if class == 9 { count } else { 0 }),
        };
        let told = second(&[look(70, 5), look(75, 12)]);
        assert_eq!((told.rounds, told.calls), (5, 7));
        assert_eq!(second(&[look(0, 0), look(1_000_000, 1)]).rounds, 0);
    }
}
