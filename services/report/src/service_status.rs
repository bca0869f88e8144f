use crate::{
    follower::{Counts, Follower},
    history::{Disk, History, Point},
};
use hdrhistogram::Histogram;
use motherlode_ledger::{Handle, LogReader, ReaderKind, fields::timestamp};
use motherlode_proto::report::v1 as wire;
use motherlode_runtime::refusals;
use motherlode_state::{Currency, Minor, Nano, contribution, date};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::time::sleep;

const SECONDS: usize = 60;
const EVERY: Duration = Duration::from_secs(1);
const MINUTE_MS: i64 = 60_000;
const NANOS_PER_CENT: i128 = Nano::PER_MAJOR / 100;
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
    Histogram::new_with_bounds(1, 60_000_000, 1).expect("the histogram's bounds are valid")
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
    disk: Arc<dyn Fn() -> Option<Disk> + Send + Sync>,
    history: Arc<Mutex<History>>,
    file: Option<Arc<PathBuf>>,
}

/// Totals at the beginning of a minute. The minute's figures are the next minute's totals minus these totals.
struct Minute {
    number: i64,
    calls: Histogram<u64>,
    /// `None` until the reports have read all commits from before the start.
    rounds: Option<u64>,
    money: Money,
    refusals: BTreeMap<&'static str, u64>,
}

/// Bets and wins in minor units, by day and currency.
type Money = BTreeMap<(i64, Currency), (i128, i128)>;

impl ServiceStatus {
    #[must_use]
    pub fn new(follower: Follower, calls: CallCounters) -> Self {
        Self {
            follower,
            calls,
            looks: Arc::default(),
            wallets: Arc::new(Vec::new),
            disk: Arc::new(|| None),
            history: Arc::default(),
            file: None,
        }
    }

    /// Reads the history from a file and writes it there once per minute. `disk` returns the free and total bytes of the
    /// data folder's disk.
    #[must_use]
    pub fn with_history(self, file: PathBuf, disk: impl Fn() -> Option<Disk> + Send + Sync + 'static) -> Self {
        let history = History::read(&file).unwrap_or_else(|error| {
            tracing::warn!(%error, file = %file.display(), "cannot read the history of the console's graphs: a new \
                 history begins");
            History::default()
        });
        Self { disk: Arc::new(disk), history: Arc::new(Mutex::new(history)), file: Some(Arc::new(file)), ..self }
    }

    #[must_use]
    pub fn with_wallets(self, wallets: impl Fn() -> Vec<wire::WalletStatus> + Send + Sync + 'static) -> Self {
        Self { wallets: Arc::new(wallets), ..self }
    }

    pub async fn run(self) {
        let mut minute = self.minute(self.follower.ledgers().now_ms(), rounds(&self.follower.counts()));
        loop {
            let look = Look {
                time_ms: self.follower.ledgers().now_ms(),
                rounds: rounds(&self.follower.counts()).unwrap_or_default(),
                calls: self.calls.take(),
            };
            minute.calls += &look.calls;
            if look.time_ms.div_euclid(MINUTE_MS) != minute.number {
                let next = self.minute(look.time_ms, rounds(&self.follower.counts()));
                let point = self.point(&minute, &next);
                minute = next;
                self.keep(point).await;
            }
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

    fn minute(&self, time_ms: i64, rounds: Option<u64>) -> Minute {
        let today = date::day_of(time_ms);
        let money = self.follower.now(|figures, _| {
            let mut money = Money::new();
            for (key, sums) in figures.iter().flat_map(|of| of.revenue.of_days(today - 1, today, None)) {
                let of = money.entry((key.day, key.currency)).or_default();
                *of = (of.0 + sums.bets - sums.refunds, of.1 + sums.wins - sums.wins_taken_back);
            }
            money
        });
        let number = time_ms.div_euclid(MINUTE_MS);
        Minute { number, calls: histogram(), rounds, money, refusals: refusals::counts() }
    }

    fn point(&self, minute: &Minute, next: &Minute) -> Point {
        let books = self.follower.ledgers().home();
        let eur = |of: fn(&(i128, i128)) -> i128| {
            let sum = next.money.iter().map(|(key, after)| {
                let grown = of(after) - minute.money.get(key).map_or(0, of);
                books.books(|books| to_cents(grown, key.1, |currency| books.rate(currency)))
            });
            sum.fold(0, i64::saturating_add)
        };
        let is_counted = minute.rounds.is_some() && next.rounds.is_some();
        let grown = |(reason, after): (&&'static str, &u64)| {
            let count = after - minute.refusals.get(reason).copied().unwrap_or_default();
            (count > 0).then(|| ((*reason).to_owned(), count))
        };
        let cents = |of: Nano| i64::try_from(of.0 / NANOS_PER_CENT).unwrap_or(i64::MAX);
        Point {
            minute: minute.number,
            rounds: next.rounds.unwrap_or_default().saturating_sub(minute.rounds.or(next.rounds).unwrap_or_default()),
            stakes: if is_counted { eur(|money| money.0) } else { 0 },
            wins: if is_counted { eur(|money| money.1) } else { 0 },
            refusals: next.refusals.iter().filter_map(grown).collect(),
            p99_us: minute.calls.value_at_quantile(0.99),
            pools: books
                .books(|books| books.pools().map(|pool| (pool.name.to_string(), cents(pool.increments))).collect()),
            disk: (self.disk)().unwrap_or_default(),
        }
    }

    async fn keep(&self, point: Point) {
        self.history.lock().push(point);
        let Some(file) = self.file.clone() else { return };
        let history = self.history.lock().clone();
        let written = tokio::task::spawn_blocking(move || history.write(&file)).await;
        match written.map_err(std::io::Error::other) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => {
                tracing::warn!(%error, "failed to write the history of the console's graphs: retrying in a minute");
            }
        }
    }

    pub(crate) fn to_wire(&self) -> wire::GetServiceStatusResponse {
        let looks: Vec<_> = self.looks.lock().iter().cloned().collect();
        let counts = self.follower.counts();
        let mut calls = histogram();
        looks.iter().skip(1).for_each(|look| calls += &look.calls);
        let partitions = self.follower.ledgers().all().zip(&counts.positions);
        let ((hour, day), disk) = {
            let history = self.history.lock();
            (history.to_wire(), history.disk())
        };
        wire::GetServiceStatusResponse {
            seconds: looks.windows(2).map(second).collect(),
            latency_p50_us: calls.value_at_quantile(0.5),
            latency_p99_us: calls.value_at_quantile(0.99),
            open_rounds: counts.open,
            partitions: partitions.map(|(ledger, reports)| of_partition(ledger, *reports)).collect(),
            wallets: (self.wallets)(),
            hour,
            day,
            disk,
        }
    }
}

fn rounds(counts: &Counts) -> Option<u64> {
    let sum = counts.rounds.iter().map(|(_, count)| count).sum();
    (!counts.significant.is_empty()).then_some(sum)
}

/// Converts minor units of a currency to units of 0.01 EUR. Play money and currencies without a rate count as zero.
fn to_cents(minor: i128, currency: Currency, rate: impl Fn(Currency) -> Option<motherlode_state::FxRate>) -> i64 {
    let amount = i64::try_from(minor).ok().filter(|_| currency.is_real()).map(Minor);
    let eur =
        amount.zip(rate(currency)).and_then(|(amount, rate)| contribution(amount, currency, rate, 1_000_000).ok());
    i64::try_from(eur.unwrap_or_default().0 / NANOS_PER_CENT).unwrap_or_default()
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
