//! A log copied from one place to another, record by record, byte for byte: from a folder to a stream, back, or from one
//! folder to another; all its partitions.
//!
//! The target must be a prefix of the source, so that a copy that was interrupted is gone on with, and no other log
//! is ever added to. The source is only read, verified as by the audit, and a service may go on writing it. Each append
//! is read back from the target and compared.
//!
//! Of a log that is being written, what a copy ends with fits together: home is copied first, the others only as far as what
//! they copy of home is there; and what home was told of them was there before.

use super::{
    location::{LogError, LogLocation},
    records::{Records, RecordsError},
};
use motherlode_books::HOME;
use motherlode_log::{AppendError, Hash, Position, ReadError, Record, Store, genesis, hash};
use motherlode_proto::convert::record;
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

/// How long a followed source is left alone at its end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The outcome of a partition's copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Records that the target had before.
    pub before: Position,
    /// Records that both have now.
    pub end: Position,
    /// The hash of the last one.
    pub head: Hash,
}

/// Why a log could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source or the target cannot be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The target does not open, or has other partitions.
    #[error(transparent)]
    Target(#[from] LogError),
    /// The source doesn't begin with the records of the target.
    #[error("{target} is no beginning of the source: at position {position} {}", differs(*.ends))]
    NoPrefix {
        /// The target.
        target: Box<LogLocation>,
        /// Where they differ.
        position: Position,
        /// Whether the source ends before.
        ends: bool,
    },
    /// The target has grown since it was compared.
    #[error("{0}: somebody else writes there")]
    Written(Box<LogLocation>),
    /// The target takes no record.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Appended records cannot be read back.
    #[error(transparent)]
    ReadBack(#[from] ReadError),
    /// An appended record is read back otherwise.
    #[error("position {0} is read back otherwise than written")]
    Altered(Position),
}

fn differs(ends: bool) -> &'static str {
    if ends { "the source ends before" } else { "the source has another record there" }
}

/// Copies what the target hasn't got, and while `follow`ing what comes, until it's `stopped`; `copied` counts the records. What
/// each partition's copy came to, in their order.
///
/// # Errors
/// A log cannot be read or written, is damaged, or the target is no prefix of the source.
pub fn copy(
    from: &LogLocation,
    to: &LogLocation,
    follow: bool,
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    let partitions = from.existing_count()?;
    to.check_partitions(partitions, &(0..partitions).collect())?;
    // From the last to the first, as they are made: where partition 0 is there, all are.
    let copies = (0..partitions).rev().map(|partition| Copying::begin(from, to, partition));
    let mut copies = copies.collect::<Result<Vec<_>, _>>()?;
    copies.reverse();
    let mut over = false;
    loop {
        let mut home_end = Position::MAX;
        for copying in &mut copies {
            let wanted = || follow || !stopped.load(Ordering::Acquire);
            copying.go_on(home_end, wanted, copied)?;
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
    fn begin(from: &LogLocation, to: &LogLocation, partition: u32) -> Result<Self, CopyError> {
        let mut source = from.existing(partition)?;
        // The target may end within what is one append of the source.
        let mut same = (0, genesis(partition));
        for held in to.records(partition)?.into_iter().flatten() {
            let (held, found) = (held?, source.next().transpose()?);
            if found.as_ref() != Some(&held) {
                let (target, position) = (Box::new(to.clone()), held.position);
                return Err(CopyError::NoPrefix { target, position, ends: found.is_none() });
            }
            same = (held.position, hash(&held.bytes));
        }
        let target = to.open(partition)?;
        if (target.end(), target.head()) != same {
            return Err(CopyError::Written(Box::new(to.clone())));
        }
        let before = target.end();
        Ok(Self { partition, source, waiting: VecDeque::new(), target, before })
    }

    /// Copies to the source's end as it is now at the earliest, up to what names a position past home's end, or until it's
    /// not wanted any more.
    fn go_on(&mut self, home_end: Position, wanted: impl Fn() -> bool, copied: &AtomicU64) -> Result<(), CopyError> {
        // What was read of the source before may be older than home's end.
        let mut at_old_end = true;
        loop {
            if self.waiting.is_empty() {
                self.waiting.extend(self.source.batch()?);
            }
            if self.waiting.is_empty() && at_old_end {
                at_old_end = false;
                self.source.resume()?;
                continue;
            }
            let fits = |record: &&Record| self.partition == HOME || copies(record) <= home_end;
            let batch: Vec<_> = self.waiting.iter().take_while(fits).cloned().collect();
            self.append(&batch)?;
            copied.fetch_add(batch.len() as u64, Ordering::Relaxed);
            self.waiting.drain(..batch.len());
            if batch.is_empty() || !wanted() {
                return Ok(());
            }
        }
    }

    /// Appends some records and reads them back.
    fn append(&mut self, mut batch: &[Record]) -> Result<(), CopyError> {
        let bytes: Vec<_> = batch.iter().map(|record| record.bytes.clone()).collect();
        self.target.append(self.target.end(), &bytes)?;
        let reader = self.target.reader();
        while let Some(first) = batch.first() {
            let read = reader.read(first.position, batch.len(), usize::MAX)?;
            if read.is_empty() || !batch.starts_with(&read) {
                return Err(CopyError::Altered(first.position));
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
