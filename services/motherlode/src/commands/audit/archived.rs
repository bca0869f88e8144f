use crate::commands::Failure;
use motherlode_archive::{Archive, restore_while};
use motherlode_log::{Options, Record, SegmentStore, Store};
use motherlode_server::{LocalLog, log_folder};
use motherlode_state::HOME;
use std::{path::PathBuf, sync::atomic::AtomicU64};
use tempfile::TempDir;

const BATCH_BYTES: usize = 1 << 20;

/// Temporary copy of a pruned log, completed with the removed records from the archive.
pub(super) struct WholeLog(TempDir);

impl WholeLog {
    pub(super) fn new(place: &str, local: &LocalLog, done: &AtomicU64) -> Result<Self, Failure> {
        let (archive, folder) = (Archive::open(place)?, tempfile::tempdir().map_err(Failure::found)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
        runtime.block_on(archive.check_partitions(local.partitions() as usize))?;
        let whole = Self(folder);
        for partition in HOME..local.partitions() {
            let mut records = motherlode_log::scan(&local.log(partition)).map_err(Failure::found)?;
            let mut store = SegmentStore::open(&whole.log(partition), partition, Options::default());
            let store = store.as_mut().map_err(|error| Failure::found(error.to_string()))?;
            let first = records.first();
            let mut keep = |record: &Record| record.position < first;
            runtime.block_on(restore_while(&archive, partition, Some(store), &mut keep, None, done))?;
            loop {
                let (mut batch, mut bytes) = (vec![], 0);
                while bytes < BATCH_BYTES
                    && let Some(record) = records.next()
                {
                    let record = record.map_err(Failure::found)?;
                    bytes += record.bytes.len();
                    batch.push(record.bytes);
                }
                if batch.is_empty() {
                    break;
                }
                store.append(store.end(), &batch).map_err(Failure::found)?;
            }
        }
        Ok(whole)
    }

    pub(super) fn log(&self, partition: u32) -> PathBuf {
        log_folder(self.0.path(), partition)
    }
}
