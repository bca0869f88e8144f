//! Restores the log to the folder `restoring`, which is renamed at the end, so that an incomplete log is never served.
//!
//! The number of a restore to an earlier position is in the file `restoring/request`, so that a repeated command
//! continues the same restore.

mod cut;
mod undone;

use super::{Failure, config_file, progress::shown, say};
use cut::{Cut, Cutter, To};
use motherlode_archive::{Archive, ArchiveError, Restored, checkpoint, restore, restore_while};
use motherlode_log::{Position, Store};
use motherlode_proofs::{of_partition, of_restore};
use motherlode_proto::convert::play::hex;
use motherlode_runtime::{Config, stop};
use motherlode_server::{LogLocation, log_folder};
use motherlode_state::{HOME, LogRestored};
use motherlode_tiles::{VerifierKey, without_restore};
use prost_types::Timestamp;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::AtomicU64,
};
use undone::Undone;

/// Restores a log from an archive, or verifies the archive. If the command is stopped, the next run continues.
///
/// A log restored to an earlier position is a new log, with another origin in its checkpoints. It lacks the records
/// after this position.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Archive: a folder, or s3://BUCKET/PREFIX, as in `motherlode archive`.
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Data folder to restore to; it must not contain a log.
    #[arg(long, value_name = "FOLDER", required_unless_present = "check")]
    to: Option<PathBuf>,
    /// Only verify the archive.
    #[arg(long, conflicts_with = "to")]
    check: bool,
    /// Public key of the log, to verify the signatures of the archived checkpoints.
    #[arg(long, value_name = "KEY")]
    key: Option<VerifierKey>,
    /// Restore partition 0 up to the first of these positions, partition 1 up to the second, and so on. A partition
    /// without a position ends before its first record that refers to an omitted record of partition 0.
    #[arg(long, value_name = "N,...", value_delimiter = ',', conflicts_with_all = ["check", "time"])]
    position: Vec<Position>,
    /// Restore the records up to this time, such as 2026-11-28T09:00:00Z.
    #[arg(long, value_name = "TIME", conflicts_with = "check")]
    time: Option<Timestamp>,
    /// File for the transactions of seamless wallets that the restored log lacks, as JSON Lines. The restore calls no
    /// wallet.
    #[arg(long, value_name = "FILE")]
    undone: Option<PathBuf>,
}

impl Args {
    fn to(&self) -> Result<Option<To>, Failure> {
        match (&self.time, &self.position[..]) {
            (None, []) if self.undone.is_some() => Err(Failure::unusable(
                "--undone requires a position before the archive's end: specify it with --position or --time",
            )),
            (None, []) => Ok(None),
            (Some(time), _) => {
                let ms = time.seconds.saturating_mul(1_000).saturating_add(i64::from(time.nanos) / 1_000_000);
                Ok(Some(To::Time(ms)))
            }
            (None, [0, ..]) => Err(Failure::unusable("in --position, the position of partition 0 must be above 0")),
            (None, positions) => Ok(Some(To::Positions(positions.to_vec()))),
        }
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let to = args.to()?;
    let archive = Archive::open(&args.from)?;
    let target = args.to.as_deref().map(|data| Target::new(data, to.as_ref(), &args.from)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let done = shown("records verified", |done| {
        runtime.block_on(async {
            let signalled = stop::signalled().map_err(Failure::found)?;
            let work = async {
                match (&to, &target) {
                    (Some(to), Some(target)) => earlier(args, &archive, (target, to), done).await,
                    _ => Ok(text(args, &archive, &all(args, &archive, target.as_ref(), done).await?) + last_step(args, false)),
                }
            };
            tokio::select! {
                done = work => done,
                _ = signalled => Err(Failure::found("stopped before the whole archive was read").with_step("Repeat the command to continue")),
            }
        })
    })?;
    if let Some(target) = &target {
        target.finish().map_err(|error| Failure::unwritable(&target.data, &error, "Repeat the command"))?;
    }
    say(&done)
}

async fn ends(archive: &Archive) -> Result<Vec<Position>, Failure> {
    Ok(archive.ends().await?.ok_or_else(|| ArchiveError::Incomplete(archive.to_string()))?)
}

fn key(args: &Args, partition: u32) -> Result<Option<VerifierKey>, Failure> {
    args.key.as_ref().map(|key| of_partition(key, partition)).transpose().map_err(Failure::unusable)
}

/// Restores partition 0 last, because the archive may grow meanwhile and the other partitions must refer only to
/// restored records of partition 0.
async fn all(
    args: &Args,
    archive: &Archive,
    target: Option<&Target>,
    done: &AtomicU64,
) -> Result<Vec<Restored>, Failure> {
    let mut restored = vec![];
    for (partition, end) in (HOME..).zip(ends(archive).await?) {
        let mut store = target.map(|target| target.open(partition)).transpose()?;
        let store = store.as_mut().map(|store| &mut **store as &mut dyn Store);
        restored.push(restore(archive, partition, store, end, key(args, partition)?.as_ref(), done).await?);
    }
    Ok(restored)
}

/// Restores partition 0 first, because the other partitions must refer only to its kept records.
async fn earlier(
    args: &Args,
    archive: &Archive,
    (target, to): (&Target, &To),
    done: &AtomicU64,
) -> Result<String, Failure> {
    let ends = ends(archive).await?;
    if let To::Positions(positions) = to
        && positions.len() > ends.len()
    {
        let what = format!("--position has {} positions, but the log has {} partitions", positions.len(), ends.len());
        return Err(Failure::unusable(what));
    }
    let mut undone = Undone::new(args.undone.as_deref())?;
    let (mut found, mut reports, mut home_end) = (vec![], BTreeMap::new(), 0);
    for (partition, archived) in (HOME..).zip(&ends) {
        let mut store = target.reopen(partition)?;
        let limits = (home_end, reports.get(&partition).copied().unwrap_or_default());
        let mut cutter = Cutter::new((partition, to), *archived, limits, &mut undone);
        let mut keep = |record: &motherlode_log::Record| cutter.keep(record);
        let key = key(args, partition)?;
        let restored = restore_while(archive, partition, Some(&mut *store), &mut keep, key.as_ref(), done).await?;
        let cut = cutter.finish()?;
        if partition == HOME {
            (home_end, reports) = (cut.kept.end, cut.reports.clone());
            if home_end == 0 {
                return Err(Failure::unusable("the log has no record at or before this time: specify a later --time"));
            }
        }
        found.push((restored, cut, store));
    }
    let restored: Vec<_> = found.iter().map(|(restored, ..)| restored.clone()).collect();
    let mut text = text(args, archive, &restored);
    if found.iter().zip(&ends).all(|((_, cut, _), end)| cut.kept.end == *end) {
        return Ok(text
            + "The restored log ends where the archive ends, so it is the same log.\n"
            + last_step(args, false));
    }
    let ends_text = undone.finish()?;
    for (partition, (restored, cut, mut store)) in (HOME..).zip(found) {
        let name = begin(args, archive, (target.number, partition), (&restored, &cut), &mut *store).await?;
        let _ = writeln!(
            text,
            "  partition {partition} continues after position {} as a new log, known to verifiers as {name}",
            cut.kept.end
        );
    }
    Ok(text + &ends_text + last_step(args, true))
}

async fn begin(
    args: &Args,
    archive: &Archive,
    (number, partition): (u64, u32),
    (restored, cut): (&Restored, &Cut),
    store: &mut dyn Store,
) -> Result<String, Failure> {
    let signed = checkpoint(archive, partition, key(args, partition)?.as_ref()).await?;
    let (origin, note) = signed.map_or_else(Default::default, |(signed, note)| (signed.origin, note.to_string()));
    let name = match (&args.key, origin.is_empty()) {
        (Some(key), _) => of_restore(key, partition, number).map_err(Failure::unusable)?.to_string(),
        (None, true) => format!(".../log/{partition}/r{number}"),
        (None, false) => format!("{}/r{number}", without_restore(&origin)),
    };
    let (position, record_hash) = (restored.end, restored.head);
    let event = LogRestored { number, position, record_hash, origin, checkpoint: note };
    let lost_to = cut.last.max(restored.signed.as_ref().map_or(0, |signed| signed.size));
    let first = cut.kept.restored(partition, &record_hash, event, lost_to)?;
    store.append(position, &[first.bytes]).map_err(ArchiveError::from)?;
    Ok(name)
}

struct Target {
    data: PathBuf,
    location: LogLocation,
    /// Number that identifies a restore to an earlier position; 0 for a restore of the whole log.
    number: u64,
}

impl Target {
    fn new(data: &Path, to: Option<&To>, from: &str) -> Result<Self, Failure> {
        if data.join("log").exists() {
            let what = format!("{} already contains a log", data.display());
            return Err(Failure::unusable(what).with_step("With --to, specify a data folder that contains no log"));
        }
        let derived = ["index", "proofs"].iter().map(|name| data.join(name)).find(|path| path.exists());
        if let (Some(path), Some(_)) = (derived, to) {
            let what = format!("{} belongs to another log", path.display());
            return Err(Failure::unusable(what).with_step("Specify an empty folder with --to"));
        }
        let restoring = data.join("restoring");
        let number = numbered(&restoring, to.map(|to| format!("{to:?} from {from}")));
        let number = number.map_err(|error| Failure::unwritable(&restoring, &error, "Repeat the command"))?;
        let location = config_file::location(&restoring.to_string_lossy(), &Config::default())?;
        Ok(Self { data: data.to_owned(), location, number })
    }

    fn open(&self, partition: u32) -> Result<Box<dyn Store>, Failure> {
        self.location.open(partition).map_err(|error| Failure::from(motherlode_server::CopyError::Target(error)))
    }

    /// Opens the partition. If an earlier run has already appended the restore's commit, first deletes the partition's
    /// log, which is then restored again.
    fn reopen(&self, partition: u32) -> Result<Box<dyn Store>, Failure> {
        let store = self.open(partition)?;
        let last = store.end().max(1);
        let last = store.reader().read(last, 1, usize::MAX).map_err(ArchiveError::from)?;
        if last.first().and_then(cut::number) != Some(self.number) {
            return Ok(store);
        }
        drop(store);
        let folder = log_folder(&self.data.join("restoring"), partition);
        fs::remove_dir_all(&folder).map_err(|error| Failure::unwritable(&folder, &error, "Repeat the command"))?;
        self.open(partition)
    }

    fn finish(&self) -> io::Result<()> {
        let restoring = self.data.join("restoring");
        File::open(restoring.join("log"))?.sync_all()?;
        fs::rename(restoring.join("log"), self.data.join("log"))?;
        fs::remove_dir_all(&restoring)?;
        File::open(&self.data)?.sync_all()
    }
}

/// Returns the number of an unfinished restore with the same request. Otherwise returns a random number, which is part
/// of the restored log's name and distinguishes restores of one archive. Removes an unfinished restore with a different
/// request.
fn numbered(restoring: &Path, request: Option<String>) -> io::Result<u64> {
    let path = restoring.join("request");
    let known = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let continued = known.as_deref().zip(request.as_deref()).and_then(|(known, request)| {
        let (number, of) = known.split_once(' ')?;
        number.parse().ok().filter(|_| of == request)
    });
    if let Some(number) = continued {
        return Ok(number);
    }
    if restoring.exists() && (known.is_some() || request.is_some()) {
        fs::remove_dir_all(restoring)?;
    }
    let Some(request) = request else { return Ok(0) };
    let mut random = [0; 8];
    // 48 bits: every JSON parser reads the number exactly, and later transaction ids, which contain it, stay short.
    getrandom::fill(&mut random[2..]).map_err(io::Error::other)?;
    let number = u64::from_be_bytes(random).max(1);
    fs::create_dir_all(restoring)?;
    let mut file = File::create(restoring.join("request.next"))?;
    file.write_all(format!("{number} {request}").as_bytes())?;
    file.sync_all()?;
    fs::rename(restoring.join("request.next"), path)?;
    File::open(restoring)?.sync_all()?;
    Ok(number)
}

fn text(args: &Args, archive: &Archive, restored: &[Restored]) -> String {
    let mut text = match &args.to {
        Some(to) => format!("from archive {archive}\n  restored to {}:\n", to.display()),
        None => format!("archive {archive}:\n"),
    };
    for (partition, Restored { end, head, segments, signed, .. }) in restored.iter().enumerate() {
        let _ = writeln!(
            text,
            "  partition {partition}: verified {end} records in {segments} segments\n    head hash {}",
            hex(head)
        );
        let _ = match (signed, &args.key) {
            (Some(signed), Some(_)) => {
                writeln!(text, "    verified the checkpoint of {} for {} records", signed.origin, signed.size)
            }
            (Some(signed), None) => writeln!(
                text,
                "    checkpoint of {} for {} records: without --key, its signature is not verified",
                signed.origin, signed.size
            ),
            (None, _) => writeln!(text, "    no signed checkpoint"),
        };
    }
    text
}

fn last_step(args: &Args, is_other_log: bool) -> &'static str {
    match (&args.to, is_other_log) {
        (None, _) => "",
        (Some(_), true) => {
            "Copy keys/draws and proofs.key back from a backup, run `motherlode audit`, and start the service.\n"
        }
        (Some(_), false) => {
            "Copy keys/draws and proofs.key back from a backup, run `motherlode audit`, and start once with \
             `serve --restored`.\n"
        }
    }
}
