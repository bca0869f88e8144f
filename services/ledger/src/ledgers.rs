//! All commits of a player are in one partition. Partition 0, which every process loads, contains the decisions
//! that apply to all partitions.

use crate::{
    append::{AppendError, Proposal},
    archived::ArchivedReads,
    error::{FetchError, OpenError},
    handle::Handle,
    open::{open, take_over},
    options::Options,
    queue::{Verdict, Verdicts},
    recovery::Recovered,
    replica::{Origin, join},
    standing::Standing,
};
use futures_util::future::{select_all, try_join_all};
use motherlode_log::{Position, ReadError, Store};
use motherlode_runtime::{Caller, Operators, Reads, Reason, Refusal};
use motherlode_state::{HOME, InternalRequest, StreamId};
use std::{collections::BTreeMap, future::pending, path::PathBuf, sync::Arc, thread, time::Duration};
use tokio::{sync::mpsc, time::Instant};

const SPREAD_WAIT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Ledgers(Arc<Partitions>);

struct Partitions {
    home: Handle,
    others: Vec<Handle>,
    count: u32,
    reads: Reads,
    operators: Operators,
    archived: Option<ArchivedReads>,
}

pub struct Stores {
    pub stores: Vec<Box<dyn Store>>,
    pub recovered: Vec<Recovered>,
}

impl Stores {
    pub fn check_whole(&self, partitions: u32) -> Result<(), OpenError> {
        let mut found: Vec<_> = self.stores.iter().map(|store| store.partition()).collect();
        found.sort_unstable();
        match found.iter().copied().eq(0..partitions) {
            true => Ok(()),
            false => Err(OpenError::Partitions { found }),
        }
    }
}

impl From<Vec<Box<dyn Store>>> for Stores {
    fn from(stores: Vec<Box<dyn Store>>) -> Self {
        Self { stores, recovered: vec![] }
    }
}

impl From<Box<dyn Store>> for Stores {
    fn from(home: Box<dyn Store>) -> Self {
        vec![home].into()
    }
}

impl<S: Store + 'static> From<Box<S>> for Stores {
    fn from(home: Box<S>) -> Self {
        (home as Box<dyn Store>).into()
    }
}

impl Ledgers {
    pub fn new(mut loaded: Vec<Handle>, count: u32, operators: Operators) -> Result<Self, OpenError> {
        loaded.sort_unstable_by_key(Handle::partition);
        let found: Vec<_> = loaded.iter().map(Handle::partition).collect();
        let fits = found.is_sorted_by(|one, next| one < next) && found.last().is_some_and(|last| *last < count);
        let mut loaded = loaded.into_iter();
        let home = loaded.next().filter(|home| fits && home.partition() == HOME);
        let home = home.ok_or(OpenError::Partitions { found })?;
        Ok(Self(Arc::new(Partitions {
            home,
            others: loaded.collect(),
            count,
            reads: Reads::default(),
            operators,
            archived: None,
        })))
    }

    /// Sets how archived records are read. Has no effect while clones of this value exist.
    #[must_use]
    pub fn with_archive(mut self, archived: Option<ArchivedReads>) -> Self {
        if let Some(partitions) = Arc::get_mut(&mut self.0) {
            partitions.archived = archived;
        }
        self
    }

    /// Runs a read; if it needs archived records, fetches them and repeats the read.
    pub async fn read_round<T: Send + 'static>(
        &self,
        caller: &Caller,
        ledger: &Handle,
        read: impl Fn(&Handle) -> Result<T, FetchError> + Clone + Send + 'static,
    ) -> Result<T, Refusal> {
        let (of, first) = (ledger.clone(), read.clone());
        let done = self.reads().run(caller, move || first(&of)).await?;
        let missing = match &done {
            Err(FetchError::Read(ReadError::Archived { position, .. })) => Some(*position),
            _ => None,
        };
        match (missing, &self.0.archived) {
            (Some(position), Some(archived)) => archived.read((self.reads(), ledger), caller, position, read).await,
            _ => Ok(done?),
        }
    }

    pub fn open(stores: Stores, index_folder: impl Fn(u32) -> PathBuf, options: &Options) -> Result<Self, OpenError> {
        let opened = open_all(stores, index_folder, options)?;
        let count = u32::try_from(opened.len()).unwrap_or(u32::MAX);
        Self::new(opened, count, options.configured.clone())
    }

    #[must_use]
    pub fn operators(&self) -> &Operators {
        &self.0.operators
    }

    pub async fn current(&self) -> Result<(), Refusal> {
        match self.is_replica() || !self.0.others.is_empty() {
            true => try_join_all(self.all().map(Handle::current)).await.map(drop),
            false => self.0.home.current().await,
        }
    }

    pub async fn current_here(&self) -> Result<(), Refusal> {
        try_join_all(self.all().filter(|ledger| !ledger.is_replica()).map(Handle::current)).await.map(drop)
    }

    #[must_use]
    pub fn is_current(&self) -> bool {
        self.all().all(Handle::is_current)
    }

    pub fn written(&self) -> Result<(), Refusal> {
        self.all().filter(|ledger| !ledger.is_replica()).try_for_each(Handle::written)
    }

    #[must_use]
    pub fn is_replica(&self) -> bool {
        self.all().any(Handle::is_replica)
    }

    pub fn step_down(&self, why: &str) {
        self.all().for_each(|ledger| ledger.step_down(why));
    }

    pub async fn failed(&self) -> Standing {
        select_all(self.all().map(|ledger| Box::pin(ledger.failed()))).await.0
    }

    pub async fn thread_ended(&self) -> String {
        select_all(self.all().map(|ledger| Box::pin(ledger.thread_ended()))).await.0
    }

    pub fn distrust(&self, why: &str) {
        self.all().for_each(|ledger| ledger.distrust(why));
    }

    pub async fn replica_failed(&self) -> Standing {
        let replicas: Vec<_> = self.all().filter(|ledger| ledger.is_replica()).collect();
        match replicas.is_empty() {
            true => pending().await,
            false => select_all(replicas.into_iter().map(|ledger| Box::pin(ledger.failed()))).await.0,
        }
    }

    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.count
    }

    #[must_use]
    pub fn home(&self) -> &Handle {
        &self.0.home
    }

    /// Fails with PARTITION_ELSEWHERE if this process has not loaded the stream's partition.
    pub fn for_stream(&self, stream: &StreamId) -> Result<&Handle, Refusal> {
        self.loaded(stream.partition(self.count()))
    }

    pub fn deciding(&self, stream: &StreamId) -> Result<&Handle, AppendError> {
        self.for_stream(stream).map_err(|refusal| not_held(&refusal))
    }

    pub fn loaded(&self, partition: u32) -> Result<&Handle, Refusal> {
        self.partition(partition).ok_or_else(|| self.elsewhere(partition))
    }

    #[must_use]
    pub fn partition(&self, partition: u32) -> Option<&Handle> {
        match partition {
            HOME => Some(&self.0.home),
            _ => self.0.others.iter().find(|other| other.partition() == partition),
        }
    }

    pub fn whole(&self) -> Result<(), Refusal> {
        (HOME..self.count()).try_for_each(|partition| self.loaded(partition).map(drop))
    }

    fn elsewhere(&self, partition: u32) -> Refusal {
        Refusal::new(
            Reason::PartitionElsewhere,
            format!("partition {partition} is loaded by another process: send the call to that process"),
        )
        .with("partition", partition)
        .with("partitions", self.count())
    }

    pub fn all(&self) -> impl Iterator<Item = &Handle> {
        [&self.0.home].into_iter().chain(self.others())
    }

    pub fn others(&self) -> impl Iterator<Item = &Handle> {
        self.0.others.iter()
    }

    pub async fn append(&self, proposal: Proposal) -> Verdict {
        self.deciding(&proposal.stream)?.append(proposal).await
    }

    pub fn propose(
        &self,
        proposals: impl IntoIterator<Item = (u64, Proposal, Option<Instant>)>,
        verdicts: &mpsc::UnboundedSender<Verdicts>,
    ) {
        if self.count() == 1 {
            return self.0.home.propose(proposals, verdicts);
        }
        let mut batches: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for (ticket, proposal, until) in proposals {
            let partition = proposal.stream.partition(self.count());
            batches.entry(partition).or_default().push((ticket, proposal, until));
        }
        for (partition, batch) in batches {
            match self.partition(partition) {
                Some(ledger) => ledger.propose(batch, verdicts),
                None => {
                    let refused = not_held(&self.elsewhere(partition));
                    let refused = batch.into_iter().map(|(ticket, ..)| (ticket, Err(refused.clone())));
                    let _ = verdicts.send(refused.collect());
                }
            }
        }
    }

    /// Waits until the partitions that this process writes have copied a decision of partition 0, or until a
    /// timeout. Returns the partitions that lack the decision.
    pub async fn spread(&self, stream: &StreamId, position: Position) -> Result<Vec<u32>, AppendError> {
        let all = async {
            for there in self.others() {
                let mut head = there.head();
                while self.lacks(there, stream, position)? && head.changed().await.is_ok() {}
            }
            Ok::<_, AppendError>(())
        };
        let wait = self.home().answer_wait_max().unwrap_or(SPREAD_WAIT);
        if let Ok(spread) = tokio::time::timeout(wait, all).await {
            spread?;
        }
        self.lacking(stream, position)
    }

    pub fn lacking(&self, stream: &StreamId, position: Position) -> Result<Vec<u32>, AppendError> {
        let mut lacking = vec![];
        for partition in HOME + 1..self.count() {
            let has = match self.partition(partition) {
                Some(there) => !self.lacks(there, stream, position)?,
                None => false,
            };
            if !has {
                lacking.push(partition);
            }
        }
        Ok(lacking)
    }

    /// A partition lacks a decision on a pool while its copy of the pool's terms or status differs from the home
    /// partition's.
    fn lacks(&self, there: &Handle, stream: &StreamId, position: Position) -> Result<bool, AppendError> {
        let StreamId::Pool(pool) = stream else {
            return match there.find_position(stream, &InternalRequest::CopyHome { position }.to_string()) {
                Err(AppendError::Archived { .. }) => Ok(false),
                found => Ok(found?.is_none()),
            };
        };
        let known = |ledger: &Handle| {
            ledger.books(|books| books.pool(pool).map(|pool| (pool.terms.clone(), pool.status.clone())))
        };
        Ok(known(self.home()) != known(there))
    }

    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.0.reads
    }

    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.0.home.now_ms()
    }

    #[must_use]
    pub fn clock_ms(&self) -> i64 {
        self.0.home.clock_ms()
    }

    #[must_use]
    pub fn ticks_ms(&self) -> i64 {
        self.0.home.ticks_ms()
    }

    #[must_use]
    pub fn writable(&self) -> bool {
        self.all().all(Handle::writable)
    }

    pub async fn close(self) {
        let all: Vec<_> = match Arc::try_unwrap(self.0) {
            Ok(Partitions { home, others, .. }) => [home].into_iter().chain(others).collect(),
            Err(shared) => Self(shared).all().cloned().collect(),
        };
        for ledger in all {
            ledger.close().await;
        }
    }
}

impl From<Handle> for Ledgers {
    fn from(home: Handle) -> Self {
        let (reads, operators) = (Reads::default(), Operators::default());
        Self(Arc::new(Partitions { home, others: vec![], count: 1, reads, operators, archived: None }))
    }
}

fn not_held(refusal: &Refusal) -> AppendError {
    AppendError::Unavailable { reason: refusal.message().to_owned() }
}

pub fn open_all(
    stores: Stores,
    index_folder: impl Fn(u32) -> PathBuf,
    options: &Options,
) -> Result<Vec<Handle>, OpenError> {
    let Stores { stores, mut recovered } = stores;
    thread::scope(|scope| {
        let opening = stores.into_iter().map(|store| {
            let partition = store.partition();
            let folder = index_folder(partition);
            let recovered = recovered.extract_if(.., |state| state.partition() == partition).next();
            let opened = move || {
                let opened = match recovered {
                    Some(recovered) => take_over(store, recovered, &folder, options.clone()),
                    None => open(store, &folder, options.clone()),
                };
                opened.map_err(OpenError::in_partition(partition))
            };
            thread::Builder::new().spawn_scoped(scope, opened).map_err(|source| OpenError::Thread("replay", source))
        });
        let opening = opening.collect::<Result<Vec<_>, _>>()?;
        let panicked = |_| Err(OpenError::Thread("replay", std::io::Error::other("the replay panicked")));
        opening.into_iter().map(|opening| opening.join().unwrap_or_else(panicked)).collect()
    })
}

pub async fn join_all(
    origin: &Origin,
    partitions: impl IntoIterator<Item = u32>,
    index_folder: impl Fn(u32) -> PathBuf,
    options: &Options,
) -> Result<Vec<Handle>, OpenError> {
    let joining = partitions.into_iter().map(|partition| {
        let (origin, folder, options) = (origin.clone(), index_folder(partition), options.clone());
        async move { join(origin, partition, &folder, options).await.map_err(OpenError::in_partition(partition)) }
    });
    try_join_all(joining).await
}
