use super::{Failure, config_file::LogAccess, progress::shown, say};
use motherlode_archive::{Archive, Archived, Options, Upload};
use motherlode_log::{Hash, Position, Record};
use motherlode_proofs::Files;
use motherlode_proto::convert::play::hex;
use motherlode_runtime::stop;
use motherlode_server::{LogLocation, Records, RecordsError, home_position, log_folder};
use motherlode_state::HOME;
use motherlode_tiles::{Checkpoint, Note};
use std::{
    fmt::Write as _,
    fs::{self, File},
    io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

/// Archives a log to its end. The service may be running. If the command is stopped, the next run resumes.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Source log: a data folder, or nats://host:port,...
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Archive: a folder, or s3://BUCKET/PREFIX. The environment variables AWS_* set region, address and credentials.
    #[arg(long, value_name = "PLACE")]
    to: String,
    /// Size of a full segment in bytes, 4096 to 536870912.
    #[arg(
        long,
        value_name = "N",
        default_value_t = Options::default().segment_bytes,
        value_parser = clap::value_parser!(u64).range(4_096..=536_870_912)
    )]
    segment_bytes: u64,
    /// Maximum mean rate of uploads, in bytes per second. Default: no limit.
    #[arg(long, value_name = "N")]
    rate: Option<u64>,
    #[command(flatten)]
    access: LogAccess,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let from = args.access.location(&args.from)?;
    let data = args.access.data(&from)?;
    let partitions = from.existing_count()?;
    let archive = Archive::create(&args.to)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let archived = shown("records read", |done| {
        runtime.block_on(async {
            let signalled = stop::signalled().map_err(Failure::found)?;
            tokio::select! {
                archived = all(args, &archive, (&from, partitions), &data, done) => archived,
                _ = signalled => Err(Failure::found("stopped before the whole log was archived").with_step("Repeat the command to continue")),
            }
        })
    })?;
    let mut text = format!("{from}\n  archived in {archive}:\n");
    for (partition, Archived { before, end, head, signed }) in archived.iter().enumerate() {
        let (records, head) = (end - before, hex(head));
        let _ = writeln!(
            text,
            "  partition {partition}: {records} records archived; the partition ends at position {end}\n    head hash {head}"
        );
        match signed {
            Some(size) => writeln!(text, "    archived the signed checkpoint of {size} records"),
            None => writeln!(text, "    no signed checkpoint"),
        }
        .map_err(Failure::found)?;
    }
    say(&text)
}

/// Archives partition 0 first. The archive of each other partition ends before the first record that refers to an
/// unarchived record of partition 0.
async fn all(
    args: &Args,
    archive: &Archive,
    (from, partitions): (&LogLocation, u32),
    data: &Path,
    done: &AtomicU64,
) -> Result<Vec<Archived>, Failure> {
    archive.check_partitions(partitions as usize).await?;
    let (mut archived, mut home_end) = (vec![], Position::MAX);
    for partition in HOME..partitions {
        let found = one(args, archive, from, (partition, home_end), data, done).await?;
        if partition == HOME {
            home_end = found.end;
        }
        archived.push(found);
    }
    archive.complete(&archived.iter().map(|partition| partition.end).collect::<Vec<_>>()).await?;
    Ok(archived)
}

async fn one(
    args: &Args,
    archive: &Archive,
    from: &LogLocation,
    (partition, home_end): (u32, Position),
    data: &Path,
    done: &AtomicU64,
) -> Result<Archived, Failure> {
    let signed = checkpoint(data, partition)?;
    let options = Options { segment_bytes: args.segment_bytes, bytes_per_second: args.rate };
    let mut upload = Upload::begin(archive, partition, options, signed).await?;
    let (after, _) = upload.after();
    let (mut records, (mut batch, mut fault)) = open(from, partition, upload.after())?;
    while !batch.is_empty() || fault.is_some() {
        sync(from, partition)?;
        for record in batch.into_iter().filter(|record| record.position > after) {
            if partition != HOME && home_position(&record) > home_end {
                return Ok(upload.finish().await?);
            }
            upload.take(record).await?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        (batch, fault) = records.batch();
    }
    Ok(upload.finish().await?)
}

/// Syncs the records before they are archived, because the log could lose unsynced records in a power cut.
fn sync(from: &LogLocation, partition: u32) -> Result<(), Failure> {
    let LogLocation::Folder { data, .. } = from else { return Ok(()) };
    let folder = log_folder(data, partition);
    let sync = || {
        let mut segments = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        segments.retain(|path| path.extension().is_some_and(|ending| ending == "log"));
        segments.sort();
        for segment in segments.iter().rev().take(2) {
            File::open(segment)?.sync_data()?;
        }
        File::open(&folder)?.sync_all()
    };
    sync().map_err(|error: io::Error| Failure::unreadable(&folder, &error, ""))
}

type Batch = (Vec<Record>, Option<RecordsError>);

/// Opens the records after a position, and reads the first batch. If that fails, reads the log from its start, to
/// distinguish a damaged log from another log.
fn open(from: &LogLocation, partition: u32, (after, head): (Position, Hash)) -> Result<(Records, Batch), RecordsError> {
    if let LogLocation::Folder { .. } = from
        && let Ok(mut records) = from.records_after(partition, after, head)
    {
        let (batch, fault) = records.batch();
        if fault.is_none() || !batch.is_empty() {
            return Ok((records, (batch, fault)));
        }
    }
    let mut records = match from {
        LogLocation::Folder { .. } => from.existing(partition)?,
        LogLocation::Stream(_) => from.kept_after(partition, after)?,
    };
    let first = records.batch();
    Ok((records, first))
}

/// The upload compares the checkpoint's root hash with the records; only `restore --key` verifies the signature.
fn checkpoint(data: &Path, partition: u32) -> Result<Option<(Checkpoint, Note)>, Failure> {
    let read = Files::unverified_checkpoint(&motherlode_proofs::proofs_folder(data, partition));
    read.map_err(|error| Failure::found(error).with_step("Start the service: it replaces a damaged checkpoint"))
}
