use super::limits::{Args, Limiter, say_start, verify_until_signalled};
use crate::commands::{Failure, progress::shown, say};
use motherlode_archive::Archive;
use motherlode_ledger::{ChainHead, Options, Recovered};
use motherlode_log::{SegmentStore, Store};
use motherlode_server::{index_folder, log_folder};
use motherlode_state::HOME;
use std::path::Path;

const RESTORE: &str = "If the service starts, stop it and repeat the command. If not, restore \
                       the log from its archive with `motherlode restore`";

pub(super) fn run(args: &Args, data: &Path, count: u32, archive: &Archive) -> Result<(), Failure> {
    let opened = (HOME..count).map(|number| {
        let folder = log_folder(data, number);
        SegmentStore::open_by_outlines(&folder, number, motherlode_log::Options::default()).map_err(Failure::found)
    });
    let mut stores = opened.collect::<Result<Vec<_>, Failure>>()?;
    let mut limiter = Limiter::new(args, data)?;
    for store in &mut stores {
        let recovered = recovered(data, store)?;
        let added = limiter.add(&recovered, store.reader());
        recovered.close();
        added?;
    }
    let mut found = limiter.finish();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    shown("records compared with the archive", |done| {
        runtime.block_on(verify_until_signalled(args, archive, &mut found, done))
    })?;
    for (store, limits) in stores.into_iter().zip(found) {
        say(&limits.text())?;
        if !args.dry_run {
            say_start(limits.partition, store.prune(limits.floor()).map_err(Failure::found)?)?;
        }
    }
    Ok(())
}

/// Recovers the state as at startup: checks the snapshot, and writes a new one at the log's end.
fn recovered(data: &Path, store: &mut SegmentStore) -> Result<Recovered, Failure> {
    store.settle().map_err(Failure::found)?;
    let (number, end) = (store.partition(), ChainHead { position: store.end(), hash: store.head() });
    let options = Options { snapshot_commits: 1, ..Options::default() };
    let recovered = Recovered::recover(number, store.reader(), end, &index_folder(data, number), &options);
    recovered.map_err(|error| Failure::found(error).with_step(RESTORE))
}
