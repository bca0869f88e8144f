use crate::{
    figures::Figures,
    returns::Returns,
    view::ReportView,
    void_days::{VoidShare, of_days},
};
use futures_util::future::{BoxFuture, join_all};
use motherlode_ledger::{FetchError, Handle, Ledgers, rounds};
use motherlode_log::ReadError;
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::{Caller, Reason, Refusal, apart, config::Report};
use motherlode_state::date;
use parking_lot::RwLockReadGuard;
use std::{collections::BTreeMap, ops::Deref, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

const BATCH: usize = 512;
const GATHER_FOR: Duration = Duration::from_millis(10);
const PAUSE: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Follower {
    ledgers: Ledgers,
    partitions: Arc<[Partition]>,
    grown: Arc<watch::Sender<()>>,
}

struct Partition {
    ledger: Handle,
    view: Arc<ReportView>,
    wanted: Notify,
}

impl Follower {
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>, config: &Report) -> Self {
        let ledgers = ledgers.into();
        let partition = |ledger: &Handle| Partition {
            ledger: ledger.clone(),
            view: ReportView::open(ledger, config),
            wanted: Notify::new(),
        };
        let partitions = ledgers.all().map(partition).collect();
        Self { ledgers, partitions, grown: Arc::new(watch::Sender::new(())) }
    }

    pub fn run(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let following = (0..self.partitions.len()).map(|at| {
                let follower = self.clone();
                async move {
                    follower.fold_past(at).await;
                    follower.follow(at).await;
                }
            });
            join_all(following).await;
        })
    }

    async fn fold_past(&self, at: usize) {
        let waiting = Arc::new(());
        let (follower, waits) = (self.clone(), Arc::downgrade(&waiting));
        let folding = move || {
            let Follower { partitions, grown, .. } = &follower;
            let partition = &partitions[at];
            while waits.strong_count() > 0 && partition.view.position() < partition.view.past {
                let (from, count) = partition.next();
                match partition.ledger.read(from, count) {
                    Ok(commits) if !commits.is_empty() && partition.fold(&commits, grown).is_ok() => {}
                    _ => break,
                }
                if partition.view.figures.read().significant.events.are_many() {
                    partition.ledger.follower_views().wake();
                }
            }
            partition.ledger.follower_views().wake();
        };
        if let Err(error) = apart("reports", folding).await {
            tracing::warn!(%error, "the thread that computes the reports of the existing log failed; \
                 the reports are now computed in the background");
        }
    }

    async fn follow(&self, at: usize) {
        let partition = &self.partitions[at];
        let mut head = partition.ledger.head();
        loop {
            match partition.catch_up(&self.grown).await {
                Ok(()) => {
                    let _ = timeout(GATHER_FOR, partition.wanted.notified()).await;
                    tokio::select! {
                        changed = head.changed() => match changed {
                            Ok(()) => {}
                            Err(_) => return,
                        },
                        // The loop continues at once, because a report call may wait for damaged tables to be rebuilt.
                        () = partition.wanted.notified() => {}
                    }
                }
                Err(error @ FetchError::Read(ReadError::Archived { .. })) => {
                    tracing::error!(%error, "cannot compute the reports, because the log's first records are missing");
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, "failed to compute the reports from the log: the reports are behind the log");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    pub(crate) fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// Reads figures that include all commits durable at the time of the call. Fails with REPORT_BEHIND if the figures do
    /// not catch up within a bounded wait, and with PARTITION_ELSEWHERE if this process does not load all partitions.
    pub(crate) async fn read<T>(&self, read: impl FnOnce(&[&Figures]) -> T) -> Result<(T, u64), Refusal> {
        self.catch_up().await?;
        Ok(self.now(|figures, position| (read(figures), position)))
    }

    pub(crate) async fn read_apart<T: Send + 'static>(
        &self,
        caller: &Caller,
        read: impl FnOnce(&[&Figures]) -> T + Send + 'static,
    ) -> Result<(T, u64), Refusal> {
        self.catch_up().await?;
        let follower = self.clone();
        let read = move || follower.now(|figures, position| (read(figures), position));
        self.ledgers.reads().run(caller, read).await
    }

    async fn catch_up(&self) -> Result<(), Refusal> {
        self.ledgers.whole()?;
        let archived = self.partitions.iter().find_map(Partition::archived);
        archived.map_or(Ok(()), |archived| Err(Refusal::from(FetchError::Read(archived))))?;
        let behind = || Refusal::new(Reason::ReportBehind, "the report does not include the latest log records yet");
        let caught_up = join_all(self.partitions.iter().map(Partition::caught_up));
        let caught_up = timeout(WAIT_MAX, caught_up).await.map_err(|_| behind())?;
        if caught_up.contains(&false) { Err(behind()) } else { Ok(()) }
    }

    pub(crate) fn now<T>(&self, read: impl FnOnce(&[&Figures], u64) -> T) -> T {
        let figures: Vec<_> = self.partitions.iter().map(|partition| partition.view.figures.read()).collect();
        let position = self.partitions.first().map_or(0, |home| home.view.position());
        let figures: Vec<_> = figures.iter().map(RwLockReadGuard::deref).collect();
        read(&figures, position)
    }

    pub(crate) fn grown(&self) -> watch::Receiver<()> {
        self.grown.subscribe()
    }
}

impl Partition {
    fn next(&self) -> (u64, usize) {
        let position = self.view.position();
        let published = self.ledger.durable().saturating_sub(position);
        (position + 1, usize::try_from(published).unwrap_or(usize::MAX).min(BATCH))
    }

    async fn catch_up(&self, grown: &watch::Sender<()>) -> Result<(), FetchError> {
        self.view.reset_damaged();
        loop {
            let (from, count) = self.next();
            let commits = if count == 0 { vec![] } else { self.ledger.read_apart(from, count).await? };
            if commits.is_empty() {
                return Ok(());
            }
            self.fold(&commits, grown)?;
            tokio::task::yield_now().await;
        }
    }

    /// Reads the bets of rounds that are no longer in memory from the log. After an error, the commits before the
    /// failed commit remain added.
    fn fold(&self, commits: &[Arc<Logged>], grown: &watch::Sender<()>) -> Result<(), FetchError> {
        let (mut rest, mut known) = (commits, BTreeMap::new());
        while !rest.is_empty() {
            let taken = {
                let mut figures = self.view.figures.write();
                let taken = rest.iter().take_while(|logged| figures.take(logged, &known).is_ok()).count();
                if let Some(last) = rest[..taken].last() {
                    self.view.position.send_replace(last.commit.position);
                }
                taken
            };
            if taken > 0 {
                grown.send_replace(());
            }
            rest = &rest[taken..];
            if let Some(next) = rest.first() {
                known = rounds::bets_before(&self.ledger, next)?;
            }
        }
        Ok(())
    }

    fn archived(&self) -> Option<ReadError> {
        let (position, first) = (self.view.position() + 1, self.ledger.first());
        (position < first).then_some(ReadError::Archived { position, first })
    }

    async fn caught_up(&self) -> bool {
        let wanted = self.ledger.durable();
        self.wanted.notify_one();
        self.view.position.subscribe().wait_for(|position| *position >= wanted).await.is_ok()
    }
}

/// `rounds` and `significant` are empty until the commits from before the start are read, so that the rates of these
/// metrics exclude past events.
#[derive(Debug, Clone)]
pub struct Counts {
    pub positions: Vec<u64>,
    pub open: u64,
    pub rounds: Vec<(String, u64)>,
    pub voids: Vec<(String, VoidShare)>,
    /// Significant events by kind. Kinds without events are listed with a count of zero, so that the rate of the metric
    /// includes the first event.
    pub significant: Vec<(String, u64)>,
}

impl Follower {
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.now(|figures, _| {
            let positions: Vec<_> = self.partitions.iter().map(|partition| partition.view.position()).collect();
            let open = figures.iter().map(|figures| figures.open_rounds()).sum();
            let (rounds, significant) = match self.partitions.iter().zip(&positions).all(|(of, at)| *at >= of.view.past)
            {
                true => (
                    sums(figures.iter().flat_map(|figures| figures.returns.rounds())),
                    sums(figures.iter().flat_map(|figures| figures.significant.counts())),
                ),
                false => (vec![], vec![]),
            };
            let today = date::day_of(self.ledgers().now_ms());
            let voids = of_days(figures, today, today);
            let voids = voids.into_iter().map(|((_, operator), share)| (operator.to_string(), share)).collect();
            Counts { positions, open, rounds, voids, significant }
        })
    }

    pub(crate) async fn returns(&self) -> Result<(Returns, u64), Refusal> {
        self.read(|figures| Returns::of_all(figures.iter().map(|figures| &figures.returns))).await
    }
}

fn sums(counts: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums = BTreeMap::new();
    for (of, count) in counts {
        *sums.entry(of).or_default() += count;
    }
    sums.into_iter().collect()
}
