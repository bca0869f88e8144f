//! Restores the log to the folder `restoring`, which is renamed at the end, so that an incomplete log is never served.

use super::{Failure, config_file, progress::shown, say};
use motherlode_archive::{Archive, ArchiveError, Restored, restore};
use motherlode_log::Store;
use motherlode_proofs::of_partition;
use motherlode_proto::convert::play::hex;
use motherlode_runtime::{Config, stop};
use motherlode_server::LogLocation;
use motherlode_state::HOME;
use motherlode_tiles::VerifierKey;
use std::{
    fmt::Write as _,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::AtomicU64,
};

/// Restores a log from an archive to its end, or verifies the archive. If the command is stopped, the next run continues.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Archive: a folder, or s3://BUCKET/PREFIX, as in `motherlode archive`.
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Data folder without a log.
    #[arg(long, value_name = "FOLDER", required_unless_present = "check")]
    to: Option<PathBuf>,
    /// Only verify the archive.
    #[arg(long, conflicts_with = "to")]
    check: bool,
    /// Public key of the log, to verify the signatures of the archived checkpoints.
    #[arg(long, value_name = "KEY")]
    key: Option<VerifierKey>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let archive = Archive::open(&args.from)?;
    let target = args.to.as_deref().map(Target::new).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let restored = shown("records verified", |done| {
        runtime.block_on(async {
            let signalled = stop::signalled().map_err(Failure::found)?;
            tokio::select! {
                restored = all(args, &archive, target.as_ref(), done) => restored,
                _ = signalled => Err(Failure::found("stopped before the whole archive was read").with_step("Repeat the command to continue")),
            }
        })
    })?;
    if let Some(target) = &target {
        target.finish().map_err(|error| Failure::unwritable(&target.data, &error, "Repeat the command"))?;
    }
    say(&text(args, &archive, &restored))
}

/// Restores partition 0 last. The archive may grow during the restore, and the other partitions may refer only to
/// restored records of partition 0.
async fn all(
    args: &Args,
    archive: &Archive,
    target: Option<&Target>,
    done: &AtomicU64,
) -> Result<Vec<Restored>, Failure> {
    let ends = archive.ends().await?.ok_or_else(|| ArchiveError::Incomplete(archive.to_string()))?;
    let mut restored = vec![];
    for (partition, end) in (HOME..).zip(ends) {
        let key = args.key.as_ref().map(|key| of_partition(key, partition)).transpose().map_err(Failure::unusable)?;
        let mut store = target.map(|target| target.open(partition)).transpose()?;
        let store = store.as_mut().map(|store| &mut **store as &mut dyn Store);
        restored.push(restore(archive, partition, store, end, key.as_ref(), done).await?);
    }
    Ok(restored)
}

struct Target {
    data: PathBuf,
    location: LogLocation,
}

impl Target {
    fn new(data: &Path) -> Result<Self, Failure> {
        if data.join("log").exists() {
            let what = format!("{} already contains a log", data.display());
            return Err(Failure::unusable(what).with_step("With --to, name a data folder that contains no log"));
        }
        let location = config_file::location(&data.join("restoring").to_string_lossy(), &Config::default())?;
        Ok(Self { data: data.to_owned(), location })
    }

    fn open(&self, partition: u32) -> Result<Box<dyn Store>, Failure> {
        self.location.open(partition).map_err(|error| Failure::from(motherlode_server::CopyError::Target(error)))
    }

    fn finish(&self) -> io::Result<()> {
        let restoring = self.data.join("restoring");
        File::open(restoring.join("log"))?.sync_all()?;
        fs::rename(restoring.join("log"), self.data.join("log"))?;
        fs::remove_dir(&restoring)?;
        File::open(&self.data)?.sync_all()
    }
}

fn text(args: &Args, archive: &Archive, restored: &[Restored]) -> String {
    let mut text = match &args.to {
        Some(to) => format!("archive {archive}\n  to {}:\n", to.display()),
        None => format!("archive {archive}:\n"),
    };
    for (partition, Restored { end, head, segments, signed, .. }) in restored.iter().enumerate() {
        let _ = writeln!(
            text,
            "  partition {partition}: {end} records in {segments} segments verified\n    head {}",
            hex(head)
        );
        let _ = match (signed, &args.key) {
            (Some(signed), Some(_)) => {
                writeln!(text, "    checkpoint of {} for {} records verified", signed.origin, signed.size)
            }
            (Some(signed), None) => writeln!(
                text,
                "    checkpoint of {} for {} records: signature not verified without --key",
                signed.origin, signed.size
            ),
            (None, _) => writeln!(text, "    no signed checkpoint"),
        };
    }
    if args.to.is_some() {
        text +=
            "Copy keys/draws and proofs.key back, run `motherlode audit`, and start once with `serve --restored`.\n";
    }
    text
}
