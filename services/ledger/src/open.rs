use crate::{
    chain::ChainHead,
    error::OpenError,
    handle::Handle,
    options::Options,
    recovery::{Recovered, recover},
};
use motherlode_log::Store;
use std::{path::Path, sync::atomic::Ordering};

pub fn open(mut store: Box<dyn Store>, index_folder: &Path, options: Options) -> Result<Handle, OpenError> {
    let end = ChainHead { position: store.end(), hash: store.head() };
    let (partition, reader) = (store.partition(), store.reader());
    let first = (store.unread() > 0).then(|| store.start().previous);
    let settle = || store.settle().map_err(OpenError::Settle);
    recover(partition, reader, end, first, index_folder, &options, settle)?.write(store, options)
}

pub(crate) fn take_over(
    store: Box<dyn Store>,
    recovered: Recovered,
    index_folder: &Path,
    options: Options,
) -> Result<Handle, OpenError> {
    if !recovered.is_for(&*store)? {
        tracing::warn!(
            partition = store.partition(),
            "the replica's state belongs to another log: the ledger is rebuilt from the writer's log"
        );
        recovered.close();
        return open(store, index_folder, options);
    }
    let (held, position) = (recovered.position(), store.end());
    recovered.catch_up()?;
    if *recovered.applier.shared.head.borrow() != (ChainHead { position, hash: store.head() }) {
        return Err(OpenError::Chain(format!(
            "the replayed state ends at position {}, but the log ends at position {position}",
            recovered.position()
        )));
    }
    recovered.applier.shared.followed.store(true, Ordering::Relaxed);
    tracing::info!(partition = store.partition(), held, position, applied = position - held, "took over the log");
    recovered.write(store, options)
}
