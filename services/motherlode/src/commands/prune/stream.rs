use super::limits::{Args, Limiter, Limits, say_start, verify_until_signalled};
use crate::commands::{Failure, progress::shown, say};
use motherlode_archive::Archive;
use motherlode_log::Position;
use motherlode_runtime::{Config, config};
use motherlode_server::{PruneError, Pruner};
use std::time::Duration;

pub(super) fn run(args: &Args, store: &config::Store, count: u32, archive: &Archive) -> Result<(), Failure> {
    let config = Config {
        partitions: count,
        store: store.clone(),
        ledger: config::LedgerTargets::default(),
        ..args.access.config()?
    };
    let data = config.data.clone();
    let limits = |pruner: &Pruner| -> Result<Vec<Limits>, Failure> {
        let mut limiter = Limiter::new(args, &data)?;
        pruner.partitions().try_for_each(|(recovered, reader)| limiter.add(recovered, reader))?;
        Ok(limiter.finish())
    };
    let mut pruner = Pruner::new(config).map_err(Failure::found)?;
    pruner.catch_up()?;
    let mut compared = limits(&pruner)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(Failure::found)?;
    shown("records compared with the archive", |done| {
        runtime.block_on(verify_until_signalled(args, archive, &mut compared, done))
    })?;
    if args.dry_run {
        pruner.close();
        return compared.iter().try_for_each(|limits| say(&limits.text()));
    }
    pruner.catch_up()?;
    let Some(presence) = pruner.take_over()? else { return Ok(()) };
    let holding = presence.clone();
    let held = runtime.spawn(async move { holding.hold().await });
    let pruned = limits(&pruner).and_then(|mut found| {
        found
            .iter_mut()
            .zip(&compared)
            .for_each(|(found, compared)| found.add("records compared with the archive", compared.floor()));
        found.iter().try_for_each(|limits| say(&limits.text()))?;
        let floors: Vec<Position> = found.iter().map(Limits::floor).collect();
        Ok(pruner.prune(&floors, Duration::from_secs(args.margin_seconds), || !held.is_finished())?)
    });
    runtime.block_on(presence.leave());
    pruner.close();
    (0..).zip(pruned?).try_for_each(|(partition, start)| say_start(partition, start))
}

impl From<PruneError> for Failure {
    fn from(error: PruneError) -> Self {
        let step = match error {
            PruneError::Stream(_) | PruneError::Lost => {
                "Repeat the command. The failed run may have left a maximum message age on the stream, which the next start of a ledger process removes"
            }
            _ => "",
        };
        Self::caused(&error).with_step(step)
    }
}
