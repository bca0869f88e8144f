//! Removes old segments of a stopped service's log (PL-37). The start of the shortened log is durable before the first file is
//! removed, so a prune that stops at any point loses nothing.

use super::{Failure, NO_LOG, progress::shown, say};
use motherlode_archive::{Archive, compare, needed_from, restore};
use motherlode_ledger::{ChainHead, Options, PruneLimit, Recovered};
use motherlode_log::{LogStart, Position, SegmentStore, Store};
use motherlode_proofs::{Files, of_partition, proofs_folder};
use motherlode_runtime::stop;
use motherlode_server::{LogLocation, index_folder, log_folder};
use motherlode_state::HOME;
use motherlode_tiles::VerifierKey;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::atomic::AtomicU64,
    time::{SystemTime, UNIX_EPOCH},
};

const DAY_MS: i64 = 86_400_000;
const RESTORE: &str =
    "Start and stop the service once. If it does not start, restore the log from its archive with `motherlode restore`";

/// Removes records that are older than a confirmed base, and that an archive has. The service must be stopped. If the command
/// is stopped, the next run continues.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Data folder of `serve`.
    #[arg(value_name = "FOLDER")]
    data: PathBuf,
    /// Archive of this log, as in `motherlode archive`. Each record is compared with the archived record before it is removed.
    #[arg(long, value_name = "PLACE")]
    archive: String,
    /// Days for which records are kept. Requests of these days can be repeated; rounds can be shown and voided.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=36_500))]
    keep_days: u32,
    /// Public key of the log, to verify also the whole archive and its signed checkpoints.
    #[arg(long, value_name = "KEY")]
    key: Option<VerifierKey>,
    /// Only print the limits.
    #[arg(long)]
    dry_run: bool,
}

/// Partition whose lock this process has.
struct Partition {
    number: u32,
    store: SegmentStore,
    limits: Vec<PruneLimit>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let location = LogLocation::Folder { data: args.data.clone(), segment_bytes: 0 };
    let count = location.existing_count().map_err(|error| Failure::unusable(error).with_step(NO_LOG))?;
    let archive = Archive::open(&args.archive)?;
    let mut partitions =
        (HOME..count).map(|number| Partition::open(&args.data, number)).collect::<Result<Vec<_>, Failure>>()?;
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Failure::found)?.as_millis();
    let kept_from_ms = i64::try_from(now_ms).unwrap_or(i64::MAX).saturating_sub(i64::from(args.keep_days) * DAY_MS);
    limit(&args.data, &mut partitions, kept_from_ms)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    shown("records compared with the archive", |done| {
        runtime.block_on(async {
            let signalled = stop::signalled().map_err(Failure::found)?;
            tokio::select! {
                verified = verify(args, &archive, &mut partitions, done) => verified,
                _ = signalled => Err(Failure::found("stopped before any record was removed").with_step("Repeat the command")),
            }
        })
    })?;
    partitions.into_iter().try_for_each(|partition| {
        let mut text = partition.text();
        if !args.dry_run {
            let (number, before) = (partition.number, partition.floor());
            let LogStart { first, .. } = partition.store.prune(before).map_err(Failure::found)?;
            let _ = writeln!(text, "  partition {number} now starts at position {first}");
        }
        say(&text)
    })
}

impl Partition {
    fn open(data: &Path, number: u32) -> Result<Self, Failure> {
        let folder = log_folder(data, number);
        let store = SegmentStore::open_by_outlines(&folder, number, motherlode_log::Options::default());
        Ok(Self { number, store: store.map_err(Failure::found)?, limits: vec![] })
    }

    fn first(&self) -> Position {
        self.store.start().first
    }

    fn floor(&self) -> Position {
        self.limits.iter().map(|limit| limit.first).min().unwrap_or_default().max(self.first())
    }

    fn text(&self) -> String {
        let (number, first, end, floor) = (self.number, self.first(), self.store.end(), self.floor());
        let mut text = format!("partition {number}: positions {first} to {end}\n");
        for PruneLimit { name, first } in &self.limits {
            let decides = if *first <= floor { "  decides" } else { "" };
            match *first {
                Position::MAX => writeln!(text, "  {name}: no limit"),
                first => writeln!(text, "  {name}: keep from position {first}{decides}"),
            }
            .unwrap_or_default();
        }
        text
    }
}

/// Sets each partition's limits. Starts the ledger without serving, to check the snapshot and write one at the log's
/// end.
fn limit(data: &Path, partitions: &mut [Partition], kept_from_ms: i64) -> Result<(), Failure> {
    let (mut decisions, mut uncopied) = (vec![], Position::MAX);
    for partition in partitions.iter_mut() {
        let number = partition.number;
        let recovered = recovered(data, partition)?;
        let mut read = || {
            if number == HOME {
                decisions = recovered.copied_decisions()?;
            } else {
                uncopied = recovered.first_uncopied(&decisions)?.unwrap_or(Position::MAX).min(uncopied);
            }
            recovered.prune_limits(kept_from_ms)
        };
        let limits = read();
        recovered.close();
        let unconfirmed = || {
            Failure::found(format!("partition {number} has no confirmed base"))
                .with_step("Take a base, audit a copy, and confirm the base: docs/how-to/backup-and-restore.md")
        };
        partition.limits = limits.map_err(Failure::found)?.ok_or_else(unconfirmed)?;
        let signed = Files::unverified_checkpoint(&proofs_folder(data, number)).map_err(Failure::found)?;
        let first = signed.map_or(1, |(checkpoint, _)| checkpoint.size);
        partition.limits.push(PruneLimit { name: "signed checkpoint", first });
    }
    if let Some(home) = partitions.first_mut() {
        home.limits.push(PruneLimit { name: "decisions to copy to other partitions", first: uncopied });
    }
    Ok(())
}

fn recovered(data: &Path, partition: &mut Partition) -> Result<Recovered, Failure> {
    let Partition { number, store, .. } = partition;
    store.settle().map_err(Failure::found)?;
    let end = ChainHead { position: store.end(), hash: store.head() };
    let options = Options { snapshot_commits: 1, ..Options::default() };
    let recovered = Recovered::recover(*number, store.reader(), end, &index_folder(data, *number), &options);
    recovered.map_err(|error| Failure::found(error).with_step(RESTORE))
}

async fn verify(args: &Args, archive: &Archive, partitions: &mut [Partition], done: &AtomicU64) -> Result<(), Failure> {
    archive.check_partitions(partitions.len()).await?;
    for partition in partitions {
        let (number, reader) = (partition.number, partition.store.reader());
        partition.limits.push(PruneLimit { name: "archive", first: needed_from(archive, number).await? });
        if let Some(key) = &args.key {
            let key = of_partition(key, number).map_err(Failure::unusable)?;
            restore(archive, number, None, Position::MAX, Some(&key), done).await?;
        }
        compare(archive, number, &*reader, partition.floor(), done).await?;
    }
    Ok(())
}
