use crate::commands::{Failure, config_file::LogAccess, say};
use motherlode_archive::{Archive, compare, needed_from, restore};
use motherlode_ledger::{PruneLimit, Recovered};
use motherlode_log::{LogStart, Position, Reader};
use motherlode_proofs::{Files, of_partition, proofs_folder};
use motherlode_runtime::stop;
use motherlode_state::{HOME, StreamId};
use motherlode_tiles::VerifierKey;
use std::{
    fmt::Write as _,
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    time::{SystemTime, UNIX_EPOCH},
};

const DAY_MS: i64 = 86_400_000;

/// Removes records that are older than a confirmed base (digest of the state) and already archived. If the command is
/// stopped, the next run resumes.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Log to prune: the data folder of a stopped service, or nats://host:port,... For nats://, the command uses the
    /// data folder in the --config file: stop the ledger process with this folder. Other processes may serve the log.
    #[arg(value_name = "LOG")]
    pub(super) log: String,
    /// Archive of this log: a folder, or s3://BUCKET/PREFIX. Each record is compared with its archived copy before it
    /// is removed.
    #[arg(long, value_name = "PLACE")]
    pub(super) archive: String,
    /// Number of days for which records are kept. A retry of a request from these days returns the original answer, and
    /// rounds from these days can be shown and voided.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(super) keep_days: u32,
    /// Public key of the log. If given, the whole archive and its signed checkpoints are also verified.
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<VerifierKey>,
    /// On JetStream, also keep the messages of the N seconds before the first kept record. The prune sets a maximum age
    /// of messages. A server that applies it more than N seconds late, after an outage, also removes kept records.
    #[arg(long, value_name = "N", default_value_t = 86_400)]
    pub(super) margin_seconds: u64,
    /// Only print the limits; remove nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) access: LogAccess,
}

pub(super) struct Limits {
    pub(super) partition: u32,
    pub(super) reader: Arc<dyn Reader>,
    pub(super) limits: Vec<PruneLimit>,
}

impl Limits {
    pub(super) fn floor(&self) -> Position {
        self.limits.iter().map(|limit| limit.first).min().unwrap_or_default().max(self.reader.first())
    }

    pub(super) fn add(&mut self, name: &'static str, first: Position) {
        self.limits.push(PruneLimit { name, first });
    }

    pub(super) fn text(&self) -> String {
        let (number, first, end, floor) = (self.partition, self.reader.first(), self.reader.end(), self.floor());
        let mut text = format!("partition {number}: positions {first} to {end}\n");
        for PruneLimit { name, first } in &self.limits {
            let decides = if *first <= floor { "  (this limit decides)" } else { "" };
            match *first {
                Position::MAX => writeln!(text, "  {name}: no limit"),
                first => writeln!(text, "  {name}: records from position {first} must stay{decides}"),
            }
            .unwrap_or_default();
        }
        text
    }
}

pub(super) fn say_start(partition: u32, start: LogStart) -> Result<(), Failure> {
    say(&format!("  partition {partition} now starts at position {}\n", start.first))
}

pub(super) struct Limiter<'a> {
    data: &'a Path,
    kept_from_ms: i64,
    decisions: Vec<(StreamId, Position)>,
    uncopied: Position,
    found: Vec<Limits>,
}

impl<'a> Limiter<'a> {
    pub(super) fn new(args: &Args, data: &'a Path) -> Result<Self, Failure> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Failure::found)?.as_millis();
        let kept_ms = i64::from(args.keep_days) * DAY_MS;
        let kept_from_ms = i64::try_from(now_ms).unwrap_or(i64::MAX).saturating_sub(kept_ms);
        Ok(Self { data, kept_from_ms, decisions: vec![], uncopied: Position::MAX, found: vec![] })
    }

    pub(super) fn add(&mut self, recovered: &Recovered, reader: Arc<dyn Reader>) -> Result<(), Failure> {
        let partition = recovered.partition();
        if partition == HOME {
            self.decisions = recovered.copied_decisions().map_err(Failure::found)?;
        } else {
            let uncopied = recovered.first_uncopied(&self.decisions).map_err(Failure::found)?;
            self.uncopied = uncopied.unwrap_or(Position::MAX).min(self.uncopied);
        }
        let limits = recovered.prune_limits(self.kept_from_ms).map_err(Failure::found)?.ok_or_else(|| {
            Failure::found(format!("partition {partition} has no confirmed base, which a prune requires"))
                .with_step("Take a base with `base take`, and confirm it with `base confirm`: see docs/how-to/backup-and-restore.md")
        })?;
        let signed = Files::unverified_checkpoint(&proofs_folder(self.data, partition)).map_err(Failure::found)?;
        let mut found = Limits { partition, reader, limits };
        found.add("signed checkpoint", signed.map_or(1, |(checkpoint, _)| checkpoint.size));
        self.found.push(found);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Vec<Limits> {
        if let Some(home) = self.found.first_mut() {
            home.add("exchange rates and switched-off games not yet copied to other partitions", self.uncopied);
        }
        self.found
    }
}

async fn verify(args: &Args, archive: &Archive, found: &mut [Limits], done: &AtomicU64) -> Result<(), Failure> {
    archive.check_partitions(found.len()).await?;
    for limits in found {
        let number = limits.partition;
        limits.add("archive", needed_from(archive, number).await?);
        if let Some(key) = &args.key {
            let key = of_partition(key, number).map_err(Failure::unusable)?;
            restore(archive, number, None, Position::MAX, Some(&key), done).await?;
        }
        compare(archive, number, &*limits.reader, limits.floor(), done).await?;
    }
    Ok(())
}

pub(super) async fn verify_until_signalled(
    args: &Args,
    archive: &Archive,
    found: &mut [Limits],
    done: &AtomicU64,
) -> Result<(), Failure> {
    let signalled = stop::signalled().map_err(Failure::found)?;
    tokio::select! {
        verified = verify(args, archive, found, done) => verified,
        _ = signalled => Err(Failure::found("stopped before any record was removed").with_step("Repeat the command")),
    }
}
