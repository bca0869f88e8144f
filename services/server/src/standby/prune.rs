//! Prune of a log on JetStream (PL-37) by a standby that takes the log over, removes old messages and steps down.

use super::replica::{CatchUpError, PartitionReplica, Replica};
use crate::log::location::LogError;
use motherlode_jetstream::{JetStreamStore, Presence, PruneError as StreamError};
use motherlode_ledger::{OpenError, Options, Recovered};
use motherlode_log::{LogStart, Position, Reader};
use motherlode_runtime::Config;
use std::{sync::Arc, time::Duration};

#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Follow(#[from] CatchUpError),
    #[error(transparent)]
    Ledger(#[from] OpenError),
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error("a partition's stream was deleted")]
    Missing,
    #[error("another process took over the log before any record was removed")]
    Lost,
}

pub struct Pruner {
    config: Config,
    options: Options,
    replica: Replica,
    stores: Vec<JetStreamStore>,
}

impl Pruner {
    pub fn new(config: Config) -> Result<Self, LogError> {
        let replica = Replica::new(&config)?;
        let options = Options { snapshot_commits: 1, ..Options::default() };
        Ok(Self { config, options, replica, stores: vec![] })
    }

    /// Reads each stream only up to its current end, because the log may grow continuously.
    pub fn catch_up(&mut self) -> Result<(), PruneError> {
        for partition in &mut self.replica.partitions {
            partition.find_last().map_err(CatchUpError::from)?;
            while !partition.has_caught_up() {
                partition.advance(&self.config, &self.options)?;
                if partition.is_missing() {
                    return Err(PruneError::Missing);
                }
            }
        }
        Ok(())
    }

    pub fn partitions(&self) -> impl Iterator<Item = (&Recovered, Arc<dyn Reader>)> {
        self.replica.partitions.iter().filter_map(PartitionReplica::loaded)
    }

    /// Becomes the writer. The caller must run [`Presence::hold`] until [`Presence::leave`] returns.
    pub fn take_over(&mut self) -> Result<Option<Presence>, PruneError> {
        let Self { replica: Replica { config, partitions, .. }, .. } = self;
        let opened = partitions.iter_mut().rev().map(|partition| partition.open(config, None));
        let mut stores = opened.collect::<Result<Vec<_>, _>>().map_err(LogError::from)?;
        stores.reverse();
        self.stores = stores;
        self.partitions().try_for_each(|(recovered, _)| recovered.catch_up())?;
        Ok(self.stores.split_first().map(|(first, others)| first.presence(others)))
    }

    /// Moves the start of each partition's log forward, at most to its position in `before`, and removes the messages
    /// before the start.
    pub fn prune(
        &mut self,
        before: &[Position],
        margin: Duration,
        is_held: impl Fn() -> bool,
    ) -> Result<Vec<LogStart>, PruneError> {
        let recorded = self.stores.iter_mut().zip(before).map(|(store, before)| store.record_start(*before));
        let starts = recorded.collect::<Result<Vec<_>, _>>()?;
        for store in &self.stores {
            if !is_held() {
                return Err(PruneError::Lost);
            }
            store.remove_before_start(margin)?;
        }
        Ok(starts)
    }

    pub fn close(self) {
        self.replica.close();
    }
}
