//! Views that another crate computes from the commits, such as reports. The views' tables are stored in the partition's
//! checkpoints.
//!
//! A checkpoint names the view's latest tables, which contain no commits after the checkpoint's position.

use motherlode_log::{Hash, Position};
use motherlode_views::{Checkpoint, Keyspace, KeyspaceTables, Run, Store, ViewError};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock, mpsc::SyncSender};

const OWN: [&str; 6] = ["requests", "players", "rounds", "awards", "hashes", "names"];

pub trait FollowerView: Send + Sync {
    /// Number of commits missing from the view's tables; `u64::MAX` demands an immediate write.
    fn unwritten(&self) -> u64;

    /// Writes the view's tables, which may contain published commits only. If a table is missing, the next start
    /// replays the log.
    fn write(&self, store: &Store) -> Result<Vec<KeyspaceTables>, ViewError>;
}

pub struct FollowerViews {
    store: Arc<Store>,
    named: Mutex<Vec<KeyspaceTables>>,
    view: OnceLock<Arc<dyn FollowerView>>,
    wake: OnceLock<SyncSender<()>>,
}

impl FollowerViews {
    pub(crate) fn new(store: &Arc<Store>, checkpoint: Option<&Checkpoint>) -> Self {
        let all = checkpoint.into_iter().flat_map(|of| &of.keyspaces);
        let named = all.filter(|of| !OWN.contains(&&*of.keyspace)).cloned().collect();
        Self { store: Arc::clone(store), named: Mutex::new(named), view: OnceLock::new(), wake: OnceLock::new() }
    }

    /// Opens the runs of a keyspace, oldest first. Returns an empty list if the runs are missing or have another
    /// version.
    pub fn open(&self, keyspace: &'static Keyspace) -> Result<Vec<Run>, ViewError> {
        let named = self.named.lock();
        let of = named.iter().find(|of| of.keyspace == keyspace.name && of.version == keyspace.version);
        let runs = of.into_iter().flat_map(|of| &of.runs);
        runs.map(|named| self.store.run(named, keyspace, u64::MAX)).collect()
    }

    /// Sets the view, whose tables are included in later checkpoints. If a view is already set, the call has no effect.
    pub fn set(&self, view: Arc<dyn FollowerView>) {
        let _ = self.view.set(view);
    }

    pub(crate) fn store(&self) -> Arc<Store> {
        Arc::clone(&self.store)
    }

    pub fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            let _ = wake.try_send(());
        }
    }

    pub(crate) fn wake_by(&self, wake: SyncSender<()>) {
        let _ = self.wake.set(wake);
    }

    pub(crate) fn unwritten(&self) -> u64 {
        self.view.get().map_or(0, |view| view.unwritten())
    }

    pub(crate) fn write(&self) -> Result<(), ViewError> {
        if let Some(view) = self.view.get().filter(|view| view.unwritten() > 0) {
            let tables = view.write(&self.store)?;
            *self.named.lock() = tables;
        }
        Ok(())
    }

    pub(crate) fn tables(&self) -> Vec<KeyspaceTables> {
        self.named.lock().clone()
    }

    pub(crate) fn to(&self) -> Position {
        let named = self.named.lock();
        named.iter().flat_map(|of| &of.runs).map(|run| run.to).max().unwrap_or_default()
    }

    pub(crate) fn ids(&self) -> Vec<Hash> {
        let named = self.named.lock();
        named.iter().flat_map(|of| &of.runs).flat_map(|run| &run.tables).copied().collect()
    }
}
