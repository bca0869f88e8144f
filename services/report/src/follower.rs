//! The follower: reads the logs once from their starts, then as they grow, and folds what the reports are made of.
//!
//! Each partition's log is folded by itself, so that what comes of it depends on nothing but that log.

use crate::{
    events::files::EventFiles,
    figures::Figures,
    kept,
    returns::Returns,
    void_days::{VoidShare, of_days},
};
use futures_util::future::{BoxFuture, join_all};
use motherlode_books::date;
use motherlode_ledger::{FetchError, Handle, Ledgers, rounds};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::{Caller, Reason, Refusal, apart, config::Report};
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

/// Commits past the kept figures that make it worth keeping them again: when a start has come to the log's end, and then.
const KEEP_AT_START: u64 = 10_000;
const KEEP_EVERY: u64 = 200_000;
/// Commits read at once.
const BATCH: usize = 512;
/// How long what has become durable waits for more, unless somebody asks: this is woken once for many groups.
const GATHER_FOR: Duration = Duration::from_millis(10);
/// Waits after a read that failed.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a call waits for the follower to be where the log is.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Follows the logs of all partitions; clones share what was folded.
#[derive(Clone)]
pub struct Follower {
    ledgers: Ledgers,
    /// By partition.
    partitions: Arc<[Partition]>,
    /// Sent when more has been folded.
    grown: Arc<watch::Sender<()>>,
}

/// Follows one partition's log.
struct Partition {
    ledger: Handle,
    /// How far the log went at the start.
    past: u64,
    figures: RwLock<Figures>,
    position: watch::Sender<u64>,
    /// Somebody waits for what is durable now.
    wanted: Notify,
    config: Report,
    /// Keeps the figures.
    file: PathBuf,
    /// As of here they're kept.
    kept: AtomicU64,
    /// Have the events that are not among the latest.
    events: Mutex<EventFiles>,
}

impl Follower {
    /// A follower that begins at the figures that are kept in a file of each partition, `0.reports` say.
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>, config: &Report, file: impl Fn(u32) -> PathBuf) -> Self {
        let ledgers = ledgers.into();
        let partition = |ledger: &Handle| Partition::new(ledger.clone(), config, file(ledger.partition()));
        let partitions = ledgers.all().map(partition).collect();
        Self { ledgers, partitions, grown: Arc::new(watch::Sender::new(())) }
    }

    /// Follows for as long as it's polled.
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

    /// Folds what a partition's log has at the start, apart from the threads that answer. What it doesn't come to, because the log can't
    /// be read or nobody waits for it any more, is folded later.
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
            tracing::warn!(%error, "the reports fold the log behind the service");
        }
    }

    /// Follows a partition's log as it grows.
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
                    tracing::error!(%error, "the reports are behind the log");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Puts a partition's significant events away where there are many in memory, apart from the threads that answer.
    async fn put_away(&self, at: usize) {
        if !self.partitions[at].figures.read().significant.events.are_many() {
            return;
        }
        let follower = self.clone();
        if let Err(error) = apart("reports", move || follower.partitions[at].put_away()).await {
            tracing::warn!(%error, "significant events stay in memory");
        }
    }

    /// Keeps a partition's figures where so many commits have come since, apart from the threads that answer.
    async fn keep(&self, at: usize, commits: u64) {
        let partition = &self.partitions[at];
        if *partition.position.borrow() < partition.kept.load(Ordering::Relaxed).saturating_add(commits) {
            return;
        }
        let follower = self.clone();
        if let Err(error) = apart("reports", move || follower.partitions[at].keep()).await {
            tracing::warn!(%error, "the figures of reports were not kept");
        }
    }

    #[cfg(test)]
    pub(crate) fn keep_now(&self) {
        self.partitions.iter().for_each(Partition::keep);
    }

    /// Waits until what it runs has let go of its files; its task has ended.
    #[cfg(test)]
    pub(crate) async fn end(self) {
        while Arc::strong_count(&self.partitions) > 1 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// Reads what is folded of each partition, with the position of the home partition that it holds for: no earlier
    /// than the logs' ends when it was asked.
    ///
    /// # Errors
    /// REPORT_BEHIND where that takes too long; PARTITION_ELSEWHERE where not all partitions are held here.
    pub(crate) async fn read<T>(&self, read: impl FnOnce(&[&Figures]) -> T) -> Result<(T, u64), Refusal> {
        self.catch_up().await?;
        Ok(self.now(|figures, position| (read(figures), position)))
    }

    /// The same where a lot is looked at: apart from the threads that answer.
    ///
    /// # Errors
    /// As [`read`](Self::read), or READS_BUSY.
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

    /// Waits until all is folded that is durable now.
    ///
    /// # Errors
    /// REPORT_BEHIND; or PARTITION_ELSEWHERE, since a report is of the whole log.
    async fn catch_up(&self) -> Result<(), Refusal> {
        self.ledgers.whole()?;
        let behind = || Refusal::new(Reason::ReportBehind, "the log is still being read");
        let caught_up = join_all(self.partitions.iter().map(Partition::caught_up));
        let caught_up = timeout(WAIT_MAX, caught_up).await.map_err(|_| behind())?;
        if caught_up.contains(&false) { Err(behind()) } else { Ok(()) }
    }

    /// Reads what is folded by now, with the position of the home partition that it holds for.
    pub(crate) fn now<T>(&self, read: impl FnOnce(&[&Figures], u64) -> T) -> T {
        let figures: Vec<_> = self.partitions.iter().map(|partition| partition.figures.read()).collect();
        // Under the lock, so that both are of one moment: the position is set after the figures.
        let position = self.partitions.first().map_or(0, |home| *home.position.borrow());
        let figures: Vec<_> = figures.iter().map(RwLockReadGuard::deref).collect();
        read(&figures, position)
    }

    /// A way to wait until more has been folded.
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
            // Events of other figures are none of these.
            if let Err(error) = files.delete() {
                tracing::warn!(%error, "the files of significant events cannot be made anew");
            }
            (0, Figures::new(config))
        });
        let (figures, kept, events) = (RwLock::new(figures), AtomicU64::new(position), Mutex::new(files));
        let (position, wanted) = (watch::Sender::new(position), Notify::new());
        Self { ledger, past, figures, position, wanted, config: config.clone(), file, kept, events }
    }

    /// Puts events into files where so many are in memory; where that fails, they stay, and it's tried again when there are more.
    fn put_away(&self) {
        let Some((first, events)) = self.figures.read().significant.events.to_put_away() else { return };
        // Nobody else puts any away: whoever folds waits for this.
        match self.events.lock().append(first, &events) {
            Ok((away, files)) => self.figures.write().significant.events.put_away(away, files),
            Err(error) => {
                tracing::warn!(%error, "significant events stay in memory");
                self.figures.write().significant.events.wait_for_more();
            }
        }
    }

    /// Keeps the figures as they are; where that fails, the next start folds more of the log, and nothing else is different.
    fn keep(&self) {
        if !self.events.lock().are_sound() {
            return;
        }
        let (position, figures) = {
            let figures = self.figures.read();
            // Whoever folds has it kept, and waits for that: the position is that of the figures.
            (*self.position.borrow(), postcard::to_allocvec(&*figures))
        };
        let written = figures
            .map_err(io::Error::other)
            .and_then(|figures| kept::write(&self.file, &self.ledger, &self.config, position, &figures));
        // Also where it failed: it's tried again as late.
        self.kept.store(position, Ordering::Relaxed);
        match written {
            Ok(()) => tracing::info!(position, "the figures of reports were kept"),
            Err(error) => tracing::warn!(%error, "the figures of reports were not kept"),
        }
    }

    /// Folds up to the end of the log.
    async fn catch_up(&self, grown: &watch::Sender<()>) -> Result<(), FetchError> {
        loop {
            let from = *self.position.borrow() + 1;
            let commits = self.ledger.read_apart(from, BATCH).await?;
            if commits.is_empty() {
                return Ok(());
            }
            self.fold(&commits, grown)?;
            // Others come first.
            tokio::task::yield_now().await;
        }
    }

    /// Folds the next commits. What only the log knows any more of a round, its bet, is read before.
    ///
    /// # Errors
    /// It can't be read; the commits before are folded.
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

    /// Waits until everything is folded that is durable now; false when it never will be.
    async fn caught_up(&self) -> bool {
        let wanted = self.ledger.durable();
        self.wanted.notify_one();
        self.position.subscribe().wait_for(|position| *position >= wanted).await.is_ok()
    }
}

/// How much there is, by now. What is counted from the log's beginning is there when the log was read as far as it went at the
/// start: a rate must not take the past for news.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The position that it holds for, by partition.
    pub positions: Vec<u64>,
    /// Rounds that wait for their players.
    pub open: u64,
    /// Rounds settled, by game.
    pub rounds: Vec<(String, u64)>,
    /// Rounds and voids of today, by operator.
    pub voids: Vec<(String, VoidShare)>,
    /// Significant events, by kind, also of kinds of which there was none yet: a rate begins at nothing.
    pub significant: Vec<(String, u64)>,
}

impl Follower {
    /// How much there is, as far as the log has been read.
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

    /// The returns of all partitions. To report on them takes its time: not for a thread that answers.
    pub(crate) async fn returns(&self) -> Result<(Returns, u64), Refusal> {
        self.read(|figures| Returns::of_all(figures.iter().map(|figures| &figures.returns))).await
    }
}

/// Adds the counts of several partitions up.
fn sums(counts: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums = BTreeMap::new();
    for (of, count) in counts {
        *sums.entry(of).or_default() += count;
    }
    sums.into_iter().collect()
}
