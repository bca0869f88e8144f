use crate::{
    files::{Files, proofs_folder},
    growing::{Contradiction, GrowError, Growing, is_sound},
    key::{KeyError, key_file, load_or_make, origin},
    start,
};
use futures_util::future::{BoxFuture, join_all, pending, select_all};
use motherlode_ledger::{ChainHead, DrawKeys, FetchError, Handle};
use motherlode_log::Position;
use motherlode_runtime::{Config, apart};
use motherlode_tiles::{Checkpoint, Hash, Malformed, Note, Signature, SignerKey, VerifierKey};
use parking_lot::Mutex;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, time::sleep};

const EVERY: Duration = Duration::from_secs(1);
const COSIGNATURES_MAX: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum ProofsError {
    #[error("proofs: {0}")]
    Key(#[from] KeyError),
    #[error("proofs: {0}")]
    Name(#[from] Malformed),
    #[error(
        "proofs: {found}. Two versions of one log must never be signed, so the service does not start. Restore the signed log from a copy, a \
         replica or the old disk. If no copy of the signed log exists, continue the log of this folder under a new key: move the key file {} \
         to another folder{}. Then start once with `serve --restored --new-log-key`, which revokes unused draws", key.display(), if *named { ", and specify a new key file in [proofs]" } else { "" }
    )]
    Contradiction { found: Contradiction, key: PathBuf, named: bool },
    #[error("proofs: cannot open the Merkle tree in {}: {error}", folder.display())]
    Files { folder: PathBuf, error: String },
    #[error("proofs: witness {url}: {fault}")]
    Witness { url: String, fault: String },
}

#[derive(Debug, Clone)]
pub(crate) struct Signed {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) note: Note,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Published {
    pub(crate) last: Option<Arc<Signed>>,
    pub(crate) cosigned: Option<Arc<Signed>>,
    pub(crate) failed: Option<Arc<str>>,
}

pub(crate) struct Partition {
    pub(crate) ledger: Handle,
    pub(crate) verifier: VerifierKey,
    pub(crate) files: Arc<Files>,
    key: SignerKey,
    draws: DrawKeys,
    growing: Mutex<Growing>,
    /// Size of the tree, readable while the tree grows.
    grown: AtomicU64,
    /// Whether the process is shutting down; work that can wait is then left to the next start.
    ending: AtomicBool,
    mark_failed: AtomicBool,
    published: watch::Sender<Published>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub partition: u32,
    pub grown: Position,
    pub signed: Position,
    pub cosigned: Option<Position>,
}

#[derive(Clone)]
pub struct Proofs(Arc<[Arc<Partition>]>);

impl Proofs {
    /// Opens the trees. The caller must open the trees before the first append, so that a log that contradicts its
    /// checkpoint stays unchanged. A damaged checkpoint file is renamed to `checkpoint.damaged`.
    pub fn open<'a>(
        config: &Config,
        ledgers: impl IntoIterator<Item = &'a Handle>,
        draws: &DrawKeys,
    ) -> Result<Self, ProofsError> {
        let written: Vec<_> = ledgers.into_iter().filter(|ledger| !ledger.is_replica()).collect();
        let key = load_or_make(config, written.iter().map(|ledger| ledger.durable()).max().unwrap_or_default())?;
        let mut partitions = vec![];
        for ledger in written {
            let key = key.named(&origin(key.verifier().name(), ledger.partition(), ledger.restores().current()))?;
            partitions.push(Arc::new(Partition::open(config, ledger.clone(), key, draws.clone())?));
        }
        Ok(Self(partitions.into()))
    }

    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.0.iter().map(|of| {
            let published = of.published.borrow();
            let size = |signed: &Option<Arc<Signed>>| signed.as_ref().map(|signed| signed.checkpoint.size);
            let (signed, cosigned) = (size(&published.last).unwrap_or_default(), size(&published.cosigned));
            Extent { partition: of.ledger.partition(), grown: of.grown.load(Ordering::Relaxed), signed, cosigned }
        })
    }

    #[must_use]
    pub fn link_secret(&self) -> Option<[u8; 32]> {
        self.0.first().map(|of| of.key.derived("motherlode/link-secret/v1"))
    }

    pub(crate) fn partitions(&self) -> &[Arc<Partition>] {
        &self.0
    }

    pub(crate) fn partition(&self, partition: u32) -> Option<&Arc<Partition>> {
        self.0.iter().find(|of| of.ledger.partition() == partition)
    }

    pub fn run(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            join_all(self.0.iter().map(|partition| partition.run())).await;
        })
    }

    pub fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.0.iter().for_each(|partition| partition.ending.store(true, Ordering::Release));
            join_all(self.0.iter().map(|partition| partition.grow(partition.ledger.durable()))).await;
            self.0.iter().for_each(|partition| partition.mark(*partition.ledger.head().borrow(), true));
        })
    }

    pub async fn failed(&self) -> (u32, String) {
        let mut each = vec![];
        for partition in &*self.0 {
            let mut published = partition.published.subscribe();
            each.push(Box::pin(async move {
                let failed = published.wait_for(|published| published.failed.is_some()).await;
                let why = failed.ok().and_then(|published| published.failed.clone())?;
                Some((partition.ledger.partition(), why.to_string()))
            }));
        }
        while !each.is_empty() {
            let (failed, _, rest) = select_all(each).await;
            if let Some(failed) = failed {
                return failed;
            }
            each = rest;
        }
        pending().await
    }
}

impl Partition {
    fn open(config: &Config, ledger: Handle, key: SignerKey, draws: DrawKeys) -> Result<Self, ProofsError> {
        let folder = proofs_folder(&config.data, ledger.partition());
        let verifier = key.verifier().clone();
        let opened = Growing::open(&folder, &ledger, &verifier, config.proofs.accept_new_key);
        let (growing, signed) = match opened.and_then(|opened| start::resume(opened, &ledger)) {
            Ok(opened) => opened,
            Err(GrowError::Contradiction(found)) => {
                let (key, named) = (key_file(config), config.proofs.name.is_some());
                return Err(ProofsError::Contradiction { found, key, named });
            }
            Err(GrowError::OtherKey(checkpoint)) => {
                return Err(KeyError::Other { path: key_file(config), checkpoint }.into());
            }
            Err(error) => return Err(ProofsError::Files { folder, error: error.to_string() }),
        };
        let last = signed.map(|(checkpoint, note)| Arc::new(Signed { checkpoint, note }));
        let files = Arc::clone(&growing.files);
        let _ = std::fs::remove_file(folder.join("sorted"));
        let published = watch::Sender::new(Published { last, ..Published::default() });
        Ok(Self {
            ledger,
            verifier,
            files,
            key,
            draws,
            grown: AtomicU64::new(growing.size()),
            growing: Mutex::new(growing),
            ending: AtomicBool::new(false),
            mark_failed: AtomicBool::new(false),
            published,
        })
    }

    /// Writes the mark file, which records the log's end (PL-40). Only the first of consecutive failures is logged,
    /// because every write fails if the folder is read-only.
    fn mark(&self, held: ChainHead, stopped: bool) {
        let written = self.draws.mark(&self.ledger, held, stopped);
        let failed_before = self.mark_failed.swap(written.is_err(), Ordering::Relaxed);
        if let (Err(error), false) = (written, failed_before) {
            let partition = self.ledger.partition();
            tracing::warn!(partition, %error, "failed to write the mark file, which records the log's end: \
                 after a restart of the machine, lost records may remain undetected");
        }
    }

    pub(crate) fn published(&self) -> watch::Receiver<Published> {
        self.published.subscribe()
    }

    fn check_now(&self) -> bool {
        let size = self.growing.lock().size();
        if is_sound(&self.files, size, || self.ending.load(Ordering::Acquire)) {
            return true;
        }
        tracing::warn!(partition = self.ledger.partition(), size, "the tree's files are damaged: rebuilding them");
        let mut growing = self.growing.lock();
        let last = self.published.borrow().last.clone();
        growing.begin_anew(last.map(|last| last.checkpoint.clone()));
        self.grown.store(growing.size(), Ordering::Relaxed);
        false
    }

    pub(crate) fn find(&self, hash: &Hash) -> Result<Option<Position>, FetchError> {
        for position in self.ledger.with_hash(hash)? {
            let records = self.ledger.records(position, 1, usize::MAX)?;
            if records.first().is_some_and(|record| motherlode_log::hash(&record.bytes) == *hash) {
                return Ok(Some(position));
            }
        }
        Ok(None)
    }

    async fn run(self: &Arc<Self>) {
        tokio::join!(self.check(), self.follow());
    }

    async fn check(self: &Arc<Self>) {
        let partition = Arc::clone(self);
        match apart("proofs", move || partition.check_now()).await {
            Ok(true) => {}
            // Rebuilds the tree. If the tree cannot grow, `follow` logs the failure and tries again as the log grows.
            Ok(false) => drop(self.grow(self.ledger.durable()).await),
            Err(error) => tracing::error!(%error, "failed to check the files of the Merkle tree"),
        }
    }

    async fn follow(self: &Arc<Self>) {
        let mut head = self.ledger.head();
        let mut said = false;
        loop {
            let to = head.borrow_and_update().position;
            match self.grow(to).await {
                Ok(()) => {
                    said = false;
                    sleep(EVERY).await;
                    if self.is_behind(head.borrow().position) {
                        continue;
                    }
                    if head.changed().await.is_err() {
                        return;
                    }
                }
                Err(GrowError::Contradiction(_)) => return,
                Err(error) => {
                    if !said {
                        tracing::error!(%error, partition = self.ledger.partition(), "failed to add records to the Merkle tree, which is now behind the log; retrying");
                    }
                    said = true;
                    sleep(EVERY).await;
                }
            }
        }
    }

    fn is_behind(&self, end: Position) -> bool {
        self.growing.lock().size() < end
    }

    async fn grow(self: &Arc<Self>, to: Position) -> Result<(), GrowError> {
        let partition = Arc::clone(self);
        apart("proofs", move || partition.grow_now(to)).await?
    }

    fn grow_now(&self, to: Position) -> Result<(), GrowError> {
        let mut growing = self.growing.lock();
        if self.published.borrow().failed.is_some() {
            return Ok(());
        }
        loop {
            let grown = growing.grow(&self.ledger, to);
            self.grown.store(growing.size(), Ordering::Relaxed);
            match grown {
                Ok(true) => {}
                Ok(false) => break,
                Err(GrowError::Contradiction(contradiction)) => {
                    tracing::error!(%contradiction, "the log contradicts its signed checkpoint: no further checkpoints are signed");
                    let why = contradiction.to_string().into();
                    self.published.send_modify(|published| published.failed = Some(why));
                    return Err(contradiction.into());
                }
                Err(error) => return Err(error),
            }
        }
        let signed = self.published.borrow().last.as_ref().map(|last| last.checkpoint.size);
        if !growing.is_whole() || growing.size() == 0 || signed == Some(growing.size()) {
            return Ok(());
        }
        let checkpoint = growing.checkpoint(self.verifier.name());
        let Ok(note) = checkpoint.sign(&self.key) else { return Ok(()) };
        growing.files.keep(&note)?;
        self.mark(ChainHead { position: growing.size(), hash: *growing.head() }, false);
        self.published.send_modify(|published| published.last = Some(Arc::new(Signed { checkpoint, note })));
        Ok(())
    }

    /// Ends signing if a witness has cosigned more records than the log contains, unless `serve --restored` or
    /// `motherlode restore` accepted the loss.
    pub(crate) fn lost(&self, witness: &str, cosigned: u64) {
        let (partition, end) = (self.ledger.partition(), self.ledger.durable());
        if cosigned <= end.max(self.ledger.generations().lost_to()) {
            return;
        }
        let what = format!("the witness {witness} has cosigned {cosigned} records, but the log ends at position {end}");
        tracing::error!(partition, what, "the log has lost records: no new rounds start");
        let why = Contradiction { partition, position: cosigned, what }.to_string().into();
        self.published.send_modify(|published| published.failed = Some(why));
    }

    pub(crate) fn cosigned(&self, of: &Signed, signature: Signature) {
        self.published.send_if_modified(|published| {
            let newest = published.cosigned.as_ref().filter(|newest| newest.checkpoint.size >= of.checkpoint.size);
            let mut signed = match newest {
                Some(newest) if newest.checkpoint == of.checkpoint => Signed::clone(newest),
                Some(_) => return false,
                None => of.clone(),
            };
            let twice = |other: &Signature| (&other.name, other.id) == (&signature.name, signature.id);
            if signed.note.signatures.iter().any(twice) || signed.note.signatures.len() > COSIGNATURES_MAX {
                return false;
            }
            signed.note.signatures.push(signature);
            published.cosigned = Some(Arc::new(signed));
            true
        });
    }
}
