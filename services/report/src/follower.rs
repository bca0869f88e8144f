//! Computes the figures of the reports from the partitions' logs.

use crate::{
    events::files::EventFiles,
    figures::Figures,
    kept,
    returns::Returns,
    void_days::{VoidShare, of_days},
};
use futures_util::future::{BoxFuture, join_all};
use motherlode_ledger::{FetchError, Handle, Ledgers, rounds};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::{Caller, Reason, Refusal, apart, config::Report};
use motherlode_state::date;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::{
    collections::BTreeMap,
    io,
    ops::Deref,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

/// Number of commits after the stored figures that a start must fold before it stores figures again.
const KEEP_AT_START: u64 = 10_000;
const KEEP_EVERY: u64 = 200_000;
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
    past: u64,
    figures: RwLock<Figures>,
    position: watch::Sender<u64>,
    wanted: Notify,
    config: Report,
    file: PathBuf,
    kept: AtomicU64,
    events: Mutex<EventFiles>,
}

impl Follower {
    /// Creates a follower that continues from each partition's `file`, such as `0.reports`.
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>, config: &Report, file: impl Fn(u32) -> PathBuf) -> Self {
        let ledgers = ledgers.into();
        let partition = |ledger: &Handle| Partition::new(ledger.clone(), config, file(ledger.partition()));
        let partitions = ledgers.all().map(partition).collect();
        Self { ledgers, partitions, grown: Arc::new(watch::Sender::new(())) }
    }

    pub fn run(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let following = (0..self.partitions.len()).map(|at| {
                let follower = self.clone();
                async move {
                    follower.fold_past(at).await;
                    follower.keep(at, KEEP_AT_START).await;
                    follower.follow(at).await;
                }
            });
            join_all(following).await;
        })
    }

    /// Folds earlier commits on a separate thread, up to a position. Later commits are folded afterwards.
    async fn fold_past(&self, at: usize) {
        let waiting = Arc::new(());
        let (follower, waits) = (self.clone(), Arc::downgrade(&waiting));
        let folding = move || {
            let Follower { partitions, grown, .. } = &follower;
            let partition = &partitions[at];
            while waits.strong_count() > 0 && *partition.position.borrow() < partition.past {
                let from = *partition.position.borrow() + 1;
                match partition.ledger.read(from, BATCH) {
                    Ok(commits) if !commits.is_empty() => match partition.fold(&commits, grown) {
                        Ok(()) => partition.put_away(),
                        Err(_) => break,
                    },
                    _ => break,
                }
            }
        };
        if let Err(error) = apart("reports", folding).await {
            tracing::warn!(%error, "failed to fold the existing log on a separate thread: folding it in the background");
        }
    }

    async fn follow(&self, at: usize) {
        let partition = &self.partitions[at];
        let mut head = partition.ledger.head();
        loop {
            match partition.catch_up(&self.grown).await {
                Ok(()) => {
                    self.put_away(at).await;
                    self.keep(at, KEEP_EVERY).await;
                    let _ = timeout(GATHER_FOR, partition.wanted.notified()).await;
                    if head.changed().await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "failed to fold the log: the reports are behind");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn put_away(&self, at: usize) {
        if !self.partitions[at].figures.read().significant.events.are_many() {
            return;
        }
        let follower = self.clone();
        if let Err(error) = apart("reports", move || follower.partitions[at].put_away()).await {
            tracing::warn!(%error, "failed to write significant events to files: they stay in memory");
        }
    }

    async fn keep(&self, at: usize, commits: u64) {
        let partition = &self.partitions[at];
        if *partition.position.borrow() < partition.kept.load(Ordering::Relaxed).saturating_add(commits) {
            return;
        }
        let follower = self.clone();
        if let Err(error) = apart("reports", move || follower.partitions[at].keep()).await {
            tracing::warn!(%error, "failed to store the figures of reports");
        }
    }

    #[cfg(test)]
    pub(crate) fn keep_now(&self) {
        self.partitions.iter().for_each(Partition::keep);
    }

    #[cfg(test)]
    pub(crate) async fn end(self) {
        while Arc::strong_count(&self.partitions) > 1 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// Reads figures that are no older than the logs' ends at the call. Fails with REPORT_BEHIND after a bounded wait,
    /// and with PARTITION_ELSEWHERE if this process lacks partitions.
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
        let behind = || Refusal::new(Reason::ReportBehind, "the report has not read the log to its end yet");
        let caught_up = join_all(self.partitions.iter().map(Partition::caught_up));
        let caught_up = timeout(WAIT_MAX, caught_up).await.map_err(|_| behind())?;
        if caught_up.contains(&false) { Err(behind()) } else { Ok(()) }
    }

    pub(crate) fn now<T>(&self, read: impl FnOnce(&[&Figures], u64) -> T) -> T {
        let figures: Vec<_> = self.partitions.iter().map(|partition| partition.figures.read()).collect();
        // The position is set after the figures, so this lock keeps position and figures consistent.
        let position = self.partitions.first().map_or(0, |home| *home.position.borrow());
        let figures: Vec<_> = figures.iter().map(RwLockReadGuard::deref).collect();
        read(&figures, position)
    }

    pub(crate) fn grown(&self) -> watch::Receiver<()> {
        self.grown.subscribe()
    }
}

impl Partition {
    fn new(ledger: Handle, config: &Report, file: PathBuf) -> Self {
        let (past, mut files) = (ledger.durable(), EventFiles::new(&file));
        let kept = kept::read(&file, &ledger, config);
        let kept =
            kept.and_then(|(position, mut figures)| figures.read_events(&mut files).then_some((position, figures)));
        let (position, figures) = kept.unwrap_or_else(|| {
            if let Err(error) = files.delete() {
                tracing::warn!(%error, "failed to rebuild the files of significant events");
            }
            (0, Figures::new(config))
        });
        let (figures, kept, events) = (RwLock::new(figures), AtomicU64::new(position), Mutex::new(files));
        let (position, wanted) = (watch::Sender::new(position), Notify::new());
        Self { ledger, past, figures, position, wanted, config: config.clone(), file, kept, events }
    }

    /// Moves events to the files. After a failure, waits for more events.
    fn put_away(&self) {
        let Some((first, events)) = self.figures.read().significant.events.to_put_away() else { return };
        match self.events.lock().append(first, &events) {
            Ok((away, files)) => self.figures.write().significant.events.put_away(away, files),
            Err(error) => {
                tracing::warn!(%error, "failed to write significant events to files: they stay in memory");
                self.figures.write().significant.events.wait_for_more();
            }
        }
    }

    fn keep(&self) {
        if !self.events.lock().are_sound() {
            return;
        }
        let (position, figures) = {
            let figures = self.figures.read();
            // The folding task waits for this lock, so the position is that of the figures.
            (*self.position.borrow(), postcard::to_allocvec(&*figures))
        };
        let written = figures
            .map_err(io::Error::other)
            .and_then(|figures| kept::write(&self.file, &self.ledger, &self.config, position, &figures));
        self.kept.store(position, Ordering::Relaxed);
        match written {
            Ok(()) => tracing::info!(position, "stored the figures of reports"),
            Err(error) => tracing::warn!(%error, "failed to store the figures of reports"),
        }
    }

    async fn catch_up(&self, grown: &watch::Sender<()>) -> Result<(), FetchError> {
        loop {
            let from = *self.position.borrow() + 1;
            let commits = self.ledger.read_apart(from, BATCH).await?;
            if commits.is_empty() {
                return Ok(());
            }
            self.fold(&commits, grown)?;
            tokio::task::yield_now().await;
        }
    }

    /// Folds commits, after reading the bets of dropped rounds from the log. After an error, the commits before it are
    /// folded.
    fn fold(&self, commits: &[Arc<Logged>], grown: &watch::Sender<()>) -> Result<(), FetchError> {
        let (mut rest, mut known) = (commits, BTreeMap::new());
        while !rest.is_empty() {
            let taken = {
                let mut figures = self.figures.write();
                rest.iter().take_while(|logged| figures.take(logged, &known).is_ok()).count()
            };
            let (folded, left) = rest.split_at(taken);
            if let Some(last) = folded.last() {
                self.position.send_replace(last.commit.position);
                grown.send_replace(());
            }
            rest = left;
            if let Some(next) = rest.first() {
                known = rounds::bets_before(&self.ledger, next)?;
            }
        }
        Ok(())
    }

    async fn caught_up(&self) -> bool {
        let wanted = self.ledger.durable();
        self.wanted.notify_one();
        self.position.subscribe().wait_for(|position| *position >= wanted).await.is_ok()
    }
}

/// Counts of a process. Counts since the log's start are empty until the existing log is read, so that rates exclude past
/// events.
#[derive(Debug, Clone)]
pub struct Counts {
    pub positions: Vec<u64>,
    pub open: u64,
    pub rounds: Vec<(String, u64)>,
    pub voids: Vec<(String, VoidShare)>,
    /// Significant events by kind. Kinds without events are listed with zero, so that rates include the first event.
    pub significant: Vec<(String, u64)>,
}

impl Follower {
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.now(|figures, _| {
            let positions: Vec<_> = self.partitions.iter().map(|partition| *partition.position.borrow()).collect();
            let open = figures.iter().map(|figures| figures.open_rounds()).sum();
            let (rounds, significant) = match self.partitions.iter().zip(&positions).all(|(of, at)| *at >= of.past) {
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
