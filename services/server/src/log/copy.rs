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

/// Completes a copy from a source that is damaged before the copy's end: as [`copy`], but the source is read after the target's end only.
/// Each record names the hash of the one before, so a source that is another log adds nothing.
///
/// # Errors
/// As [`copy`]; the source is a stream, or does not reach the target's end.
pub fn copy_rest(
    from: &LogLocation,
    to: &LogLocation,
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    copy_by(from, to, (Source::Rest, false), stopped, copied)
}

/// Copies what the target hasn't got, and while `follow`ing what comes, until it's `stopped`; `copied` counts the records. What
/// each partition's copy came to, in their order.
///
/// # Errors
/// A log cannot be read or written, is damaged, or the target is no prefix of the source. The records before the first
/// damage of each partition are in the target then.
pub fn copy(
    from: &LogLocation,
    to: &LogLocation,
    follow: bool,
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    copy_by(from, to, (Source::Whole, follow), stopped, copied)
}

/// The part of a source that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// All of it.
    Whole,
    /// Records after the target's end.
    Rest,
}

fn copy_by(
    from: &LogLocation,
    to: &LogLocation,
    (part, follow): (Source, bool),
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    let partitions = from.existing_count()?;
    to.check_partitions(partitions, &(0..partitions).collect())?;
    // From the last to the first, as they are made: where partition 0 is there, all are.
    let copies = (0..partitions).rev().map(|partition| match part {
        Source::Whole => Copying::begin(from, to, partition),
        Source::Rest => Copying::begin_after(from, to, partition),
    });
    let mut copies = copies.collect::<Result<Vec<_>, _>>()?;
    copies.reverse();
    let mut over = false;
    loop {
        let (mut home_end, mut failed) = (Position::MAX, None);
        for copying in &mut copies {
            let wanted = || follow || !stopped.load(Ordering::Acquire);
            if let Err(error) = copying.go_on(home_end, wanted, copied) {
                failed.get_or_insert(error);
            }
            if copying.partition == HOME {
                home_end = copying.target.end();
            }
        }
        if let Some(error) = failed {
            return Err(error);
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
    /// Error that ended the last batch; returned once `waiting` is copied.
    fault: Option<RecordsError>,
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
        Ok(Self::of(partition, source, target))
    }

    /// Goes on after the target's end, whatever the source has before.
    fn begin_after(from: &LogLocation, to: &LogLocation, partition: u32) -> Result<Self, CopyError> {
        let target = to.open(partition)?;
        let source = from.records_after(partition, target.end(), target.head())?;
        Ok(Self::of(partition, source, target))
    }

    fn of(partition: u32, source: Records, target: Box<dyn Store>) -> Self {
        let before = target.end();
        Self { partition, source, waiting: VecDeque::new(), fault: None, target, before }
    }

    /// Copies to the source's end as it is now at the earliest, up to what names a position past home's end, or until it's
    /// not wanted any more.
    fn go_on(&mut self, home_end: Position, wanted: impl Fn() -> bool, copied: &AtomicU64) -> Result<(), CopyError> {
        // What was read of the source before may be older than home's end.
        let mut at_old_end = true;
        loop {
            if self.waiting.is_empty() {
                self.read()?;
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

    /// Reads the next batch. An error after the first record is returned by the next call, so that no record before a
    /// damage is dropped.
    fn read(&mut self) -> Result<(), RecordsError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let (batch, fault) = self.source.batch();
        self.waiting.extend(batch);
        match fault {
            Some(fault) if self.waiting.is_empty() => Err(fault),
            fault => {
                self.fault = fault;
                Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_testkit::conformance::records;
    use std::fs;

    #[test]
    fn mf_e4_a_copy_of_a_damaged_log_keeps_the_records_before_the_damage() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = |data: &std::path::Path| LogLocation::Folder { data: data.into(), segment_bytes: 1 << 20 };
        let (from, to) = (place(source.path()), place(target.path()));
        let all = records(genesis(HOME), [b"record one", b"record two", b"record six"]);
        let mut store = from.open(HOME).unwrap();
        for (after, record) in all.iter().enumerate() {
            store.append(after as Position, std::slice::from_ref(record)).unwrap();
        }
        drop(store);
        let folder = super::super::layout::log_folder(source.path(), HOME);
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let segment = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "log")).unwrap();
        let mut bytes = fs::read(&segment).unwrap();
        let second = bytes.windows(10).position(|bytes| bytes == b"record two").unwrap();
        bytes[second] ^= 1;
        fs::write(&segment, bytes).unwrap();
        for _ in 0..2 {
            let copied = AtomicU64::new(0);
            let failed = copy(&from, &to, false, &AtomicBool::new(false), &copied).unwrap_err();
            assert!(matches!(failed, CopyError::Records(RecordsError::Files(_))), "{failed}");
            let kept: Vec<_> = to.existing(HOME).unwrap().map(|record| record.unwrap().bytes).collect();
            assert_eq!(kept, all[..1], "the records before the damage are copied, and no other");
        }
    }
}
