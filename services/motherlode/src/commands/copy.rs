//! `copy`: a log from one place to another, record by record, byte for byte: from a folder to a stream, back, or from one
//! folder to another; all its partitions.
//!
//! The target must hold a prefix of the source, so that an interrupted copy is resumed, and no other log
//! is ever added to. The source is only read, verified as by the audit, and a service may go on writing it. Each append
//! is read back from the target and compared. Followed and then cut over: copy with `--follow` while the service
//! runs, stop the service, stop the copy, serve the target. Exit code 1 when something is not as it should be.
//!
//! Of a log that is being written, what a copy ends with fits together: home is copied first, the others only as far as what
//! they copy of home is there; and what home was told of them was there before.

use super::{Failure, say};
use crate::place::{Place, Records};
use motherlode_books::HOME;
use motherlode_log::{Hash, Position, Record, Store, genesis, hash};
use motherlode_proto::convert::{play::hex, record};
use motherlode_runtime::stop;
use std::{
    collections::VecDeque,
    fmt::Write as _,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// How long a followed source is left alone at its end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The arguments of `copy`.
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

/// What the copy of a partition came to.
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
    let copied = thread::scope(|threads| {
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
    let mut text = format!("{from}\n  to {to}: ");
    for (partition, Copied { before, end, head }) in copied.iter().enumerate() {
        if copied.len() > 1 {
            let _ = write!(text, "\n  partition {partition}: ");
        }
        let records = end - before;
        let _ = write!(text, "{records} records copied and read back; it ends at position {end}\n  head {}", hex(head));
    }
    say(&(text + "\n"))
}

/// Copies what the target hasn't got, and while `follow`ing what comes, until it's `stopped`. What each partition's copy came
/// to, in their order.
///
/// # Errors
/// As [`run`].
pub fn copy(from: &Place, to: &Place, follow: bool, stopped: &AtomicBool) -> Result<Vec<Copied>, Failure> {
    let partitions = from.count()?;
    to.check_partitions(partitions, &(0..partitions).collect()).map_err(Failure::found)?;
    // From the last to the first, as they are made: where partition 0 is there, all are.
    let copies = (0..partitions).rev().map(|partition| Copying::begin(from, to, partition));
    let mut copies = copies.collect::<Result<Vec<_>, _>>()?;
    copies.reverse();
    let mut over = false;
    loop {
        let mut home_end = Position::MAX;
        for copying in &mut copies {
            let wanted = || follow || !stopped.load(Ordering::Acquire);
            copying.go_on(home_end, wanted)?;
            if copying.partition == HOME {
                home_end = copying.target.end();
            }
        }
        if over || !follow {
            return Ok(copies.iter().map(Copying::copied).collect());
        }
        thread::sleep(LOOK_EVERY);
        // What was there when it was stopped is copied yet.
        over = stopped.load(Ordering::Acquire);
    }
}

/// A partition being copied.
struct Copying {
    partition: u32,
    source: Records,
    /// Read from the source and not yet copied.
    waiting: VecDeque<Record>,
    target: Box<dyn Store>,
    before: Position,
}

impl Copying {
    /// Goes along source and target as far as the target reaches, which must have the same.
    fn begin(from: &Place, to: &Place, partition: u32) -> Result<Self, Failure> {
        let mut source = from.existing(partition)?;
        // The target may end within what is one append of the source.
        let mut same = (0, genesis(partition));
        for held in to.records(partition)?.into_iter().flatten() {
            let (held, found) = (held?, source.next().transpose()?);
            if found.as_ref() != Some(&held) {
                let how = found.map_or("the source ends before", |_| "the source has another record there");
                let position = held.position;
                return Err(Failure::found(format!(
                    "{to} is no beginning of the source: at position {position} {how}"
                )));
            }
            same = (held.position, hash(&held.bytes));
        }
        let target = to.open(partition).map_err(Failure::found)?;
        if (target.end(), target.head()) != same {
            return Err(Failure::found(format!("{to}: somebody else writes there")));
        }
        let before = target.end();
        Ok(Self { partition, source, waiting: VecDeque::new(), target, before })
    }

    /// Copies to the source's end as it is now at the earliest, up to what names a position past home's end, or until it's
    /// not wanted any more.
    fn go_on(&mut self, home_end: Position, wanted: impl Fn() -> bool) -> Result<(), Failure> {
        // What was read of the source before may be older than home's end.
        let mut at_old_end = true;
        loop {
            if self.waiting.is_empty() {
                self.waiting.extend(self.source.batch()?);
            }
            if self.waiting.is_empty() && at_old_end {
                at_old_end = false;
                self.source.resume().map_err(Failure::found)?;
                continue;
            }
            let fits = |record: &&Record| self.partition == HOME || copies(record) <= home_end;
            let batch: Vec<_> = self.waiting.iter().take_while(fits).cloned().collect();
            self.append(&batch)?;
            self.waiting.drain(..batch.len());
            if batch.is_empty() || !wanted() {
                return Ok(());
            }
        }
    }

    /// Appends some records and reads them back.
    fn append(&mut self, mut batch: &[Record]) -> Result<(), Failure> {
        let bytes: Vec<_> = batch.iter().map(|record| record.bytes.clone()).collect();
        self.target.append(self.target.end(), &bytes).map_err(Failure::found)?;
        let reader = self.target.reader();
        while let Some(first) = batch.first() {
            let read = reader.read(first.position, batch.len(), usize::MAX).map_err(Failure::found)?;
            if read.is_empty() || !batch.starts_with(&read) {
                let position = first.position;
                return Err(Failure::found(format!("position {position} is read back otherwise than written")));
            }
            batch = &batch[read.len()..];
        }
        Ok(())
    }

    fn copied(&self) -> Copied {
        Copied { before: self.before, end: self.target.end(), head: self.target.head() }
    }
}

/// The position at home that a record of another partition copies; 0 for none. What is no commit is for the audit to find.
fn copies(record: &Record) -> Position {
    record::decode(&record.bytes).ok().and_then(|logged| logged.commit.copies()).unwrap_or_default()
}
