//! `copy`: a log from one place to another, record by record, byte for byte: from a folder to a stream, back, or from one
//! folder to another.
//!
//! What the target has must be a prefix of the source, so that a copy that was interrupted is gone on with, and no other log
//! is ever added to. The source is only read, verified as by the audit, and a service may go on writing it. Each append
//! is read back from the target and compared. Followed and then cut over: copy with `--follow` while the service
//! runs, stop the service, stop the copy, serve the target. Exit code 1 when something is not as it should be.

use super::{Failure, say};
use crate::place::{Place, Records};
use motherlode_books::HOME;
use motherlode_log::{Hash, Position, Store};
use motherlode_proto::convert::play::hex;
use motherlode_runtime::stop;
use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// How long a followed source is left alone at its end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What `copy` can be told.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The log to copy: a data folder, or nats://host:port,...
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Where to: a data folder, or nats://host:port,...
    #[arg(long, value_name = "PLACE")]
    to: String,
    /// Go on copying what a running service appends, until Ctrl-C or SIGTERM.
    #[arg(long)]
    follow: bool,
    /// Configuration file (TOML) as for serve: its [store] says how to reach nats://.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What a copy came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Records that the target had before.
    pub before: Position,
    /// Records that both have now.
    pub end: Position,
    /// The hash of the last one.
    pub head: Hash,
}

/// Copies and reports.
///
/// # Errors
/// A log cannot be read or written, is damaged, or the target is no prefix of the source.
pub fn run(args: &Args) -> Result<(), Failure> {
    let from = Place::named(&args.from, args.config.as_deref())?;
    let to = Place::named(&args.to, args.config.as_deref())?;
    let stopped = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let signalled = {
        let _entered = runtime.enter();
        stop::signalled().map_err(Failure::found)?
    };
    let Copied { before, end, head } = thread::scope(|threads| {
        let copying = threads.spawn(|| copy(&from, &to, args.follow, &stopped));
        runtime.block_on(async {
            tokio::pin!(signalled);
            while !copying.is_finished() && !stopped.load(Ordering::Acquire) {
                let signal = tokio::time::timeout(LOOK_EVERY, &mut signalled).await;
                stopped.store(signal.is_ok(), Ordering::Release);
            }
        });
        copying.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked))
    })?;
    say(&format!(
        "{from}\n  to {to}: {} records copied and read back; it ends at position {end}\n  head {}\n",
        end - before,
        hex(&head)
    ))
}

/// Copies what the target hasn't got, and while `follow`ing what comes, until it's `stopped`.
///
/// # Errors
/// As [`run`].
pub fn copy(from: &Place, to: &Place, follow: bool, stopped: &AtomicBool) -> Result<Copied, Failure> {
    let mut source = from.existing(HOME)?;
    let before = skip(&mut source, to)?;
    let mut target = to.open(HOME).map_err(Failure::found)?;
    if (target.end(), target.head()) != source.verified() {
        return Err(Failure::found(format!("{to}: somebody else writes there")));
    }
    let mut over = false;
    loop {
        while append(&mut source, &mut *target)? {
            if !follow && stopped.load(Ordering::Acquire) {
                break;
            }
        }
        if over || !follow {
            return Ok(Copied { before, end: target.end(), head: target.head() });
        }
        thread::sleep(LOOK_EVERY);
        // What was there when it was stopped is copied yet.
        over = stopped.load(Ordering::Acquire);
        source.resume().map_err(Failure::found)?;
    }
}

/// Goes along source and target as far as the target reaches, which must have the same; answers how far.
fn skip(source: &mut Records, to: &Place) -> Result<Position, Failure> {
    for held in to.records(HOME)?.into_iter().flatten() {
        let (held, found) = (held?, source.next().transpose()?);
        if found.as_ref() != Some(&held) {
            let how = found.map_or("the source ends before", |_| "the source has another record there");
            let position = held.position;
            return Err(Failure::found(format!("{to} is no beginning of the source: at position {position} {how}")));
        }
    }
    Ok(source.verified().0)
}

/// Appends some records and reads them back; false at the source's end.
fn append(source: &mut Records, target: &mut dyn Store) -> Result<bool, Failure> {
    let batch = source.batch()?;
    let bytes: Vec<_> = batch.iter().map(|record| record.bytes.clone()).collect();
    target.append(target.end(), &bytes).map_err(Failure::found)?;
    let reader = target.reader();
    let mut batch = &batch[..];
    while let Some(first) = batch.first() {
        let read = reader.read(first.position, batch.len(), usize::MAX).map_err(Failure::found)?;
        if read.is_empty() || !batch.starts_with(&read) {
            return Err(Failure::found(format!("position {} is read back otherwise than written", first.position)));
        }
        batch = &batch[read.len()..];
    }
    Ok(!bytes.is_empty())
}
