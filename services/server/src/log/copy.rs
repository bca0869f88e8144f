//! Copies all partitions of a log between folders and streams.
//!
//! The target may already contain the source's first records, so an interrupted copy can be resumed. Appended records
//! are read back and compared.

use super::{
    location::{LogError, LogLocation},
    records::{Records, RecordsError},
};
use motherlode_log::{AppendError, Hash, Position, ReadError, Record, Store, genesis, hash};
use motherlode_proto::convert::record;
use motherlode_state::HOME;
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    pub before: Position,
    pub end: Position,
    pub head: Hash,
}

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Target(#[from] LogError),
    #[error("{target} is not a prefix of the source: at position {position}, {}", differs(*.ends))]
    NoPrefix { target: Box<LogLocation>, position: Position, ends: bool },
    #[error("cannot copy to {0}: another process is writing there")]
    Written(Box<LogLocation>),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    ReadBack(#[from] ReadError),
    #[error(
        "the record at position {0} of the target differs from the record that was written: check the target's storage"
    )]
    Altered(Position),
}

fn differs(ends: bool) -> &'static str {
    if ends {
        "the source has fewer records than the target"
    } else {
        "the source has a different record than the target"
    }
}

/// Completes a copy. Skips records that the target already has, because these may be damaged in the source. The source must
/// be a folder.
pub fn copy_rest(
    from: &LogLocation,
    to: &LogLocation,
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    copy_by(from, to, (Source::Rest, false, Position::MAX), stopped, copied)
}

/// Copies the missing records, up to the first damaged record. With `follow`, continues with new records until
/// `stopped` is set. Counts the copied records in `copied`.
pub fn copy(
    from: &LogLocation,
    to: &LogLocation,
    follow: bool,
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    copy_by(from, to, (Source::Whole, follow, Position::MAX), stopped, copied)
}

/// Copies the records of partition 0 up to a position. The copy of each other partition ends before the first record
/// that refers to a later record of partition 0.
pub fn copy_to_position(
    from: &LogLocation,
    to: &LogLocation,
    position: Position,
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    copy_by(from, to, (Source::Whole, false, position), stopped, copied)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Whole,
    Rest,
}

fn copy_by(
    from: &LogLocation,
    to: &LogLocation,
    (part, follow, position): (Source, bool, Position),
    stopped: &AtomicBool,
    copied: &AtomicU64,
) -> Result<Vec<Copied>, CopyError> {
    let partitions = from.existing_count()?;
    to.check_partitions(partitions, &(0..partitions).collect())?;
    // Partition 0 is created last, so if it exists, all others exist.
    let copies = (0..partitions).rev().map(|partition| match part {
        Source::Whole => Copying::begin(from, to, partition),
        Source::Rest => Copying::begin_after(from, to, partition),
    });
    let mut copies = copies.collect::<Result<Vec<_>, _>>()?;
    copies.reverse();
    let mut over = false;
    loop {
        let (mut home_end, mut failed) = (position, None);
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
        over = stopped.load(Ordering::Acquire);
    }
}

struct Copying {
    partition: u32,
    source: Records,
    waiting: VecDeque<Record>,
    fault: Option<RecordsError>,
    target: Box<dyn Store>,
    before: Position,
}

impl Copying {
    fn begin(from: &LogLocation, to: &LogLocation, partition: u32) -> Result<Self, CopyError> {
        let mut source = from.kept_records(partition)?.ok_or_else(|| from.missing(partition))?;
        // If the source lacks the log's first records, the target must already have them.
        let (first, start) = (source.first(), source.verified());
        let no_prefix = |position, ends| CopyError::NoPrefix { target: Box::new(to.clone()), position, ends };
        let mut same = (0, genesis(partition));
        for held in to.records(partition)?.into_iter().flatten() {
            let held = held?;
            if held.position < first {
                same = (held.position, hash(&held.bytes));
                if same.0 == start.0 && same != start {
                    return Err(no_prefix(held.position, false));
                }
                continue;
            }
            let found = source.next().transpose()?;
            if found.as_ref() != Some(&held) {
                return Err(no_prefix(held.position, found.is_none()));
            }
            same = (held.position, hash(&held.bytes));
        }
        if same.0 < start.0 {
            return Err(from.archived(partition, first).into());
        }
        let target = to.open(partition)?;
        if (target.end(), target.head()) != same {
            return Err(CopyError::Written(Box::new(to.clone())));
        }
        Ok(Self::new(partition, source, target))
    }

    fn begin_after(from: &LogLocation, to: &LogLocation, partition: u32) -> Result<Self, CopyError> {
        let target = to.open(partition)?;
        let source = from.records_after(partition, target.end(), target.head())?;
        Ok(Self::new(partition, source, target))
    }

    fn new(partition: u32, source: Records, target: Box<dyn Store>) -> Self {
        let before = target.end();
        Self { partition, source, waiting: VecDeque::new(), fault: None, target, before }
    }

    fn go_on(&mut self, home_end: Position, wanted: impl Fn() -> bool, copied: &AtomicU64) -> Result<(), CopyError> {
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
            let fits = |record: &&Record| match self.partition {
                HOME => record.position <= home_end,
                _ => home_position(record) <= home_end,
            };
            let batch: Vec<_> = self.waiting.iter().take_while(fits).cloned().collect();
            self.append(&batch)?;
            copied.fetch_add(batch.len() as u64, Ordering::Relaxed);
            self.waiting.drain(..batch.len());
            if batch.is_empty() || !wanted() {
                return Ok(());
            }
        }
    }

    /// If the source returns records and an error, the next call returns the error.
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

/// Returns the position in partition 0 of the commit that the record copies; 0 if it copies none or is malformed (the
/// audit reports malformed records).
#[must_use]
pub fn home_position(record: &Record) -> Position {
    record::decode(&record.bytes).ok().and_then(|logged| logged.commit.copies()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use motherlode_log::{LogStart, previous_hash};
    use motherlode_testkit::conformance::{records, start_file};
    use std::fs;

    #[test]
    fn pl_37_a_copy_to_a_position_has_the_records_up_to_it() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = |data: &std::path::Path| LogLocation::Folder { data: data.into(), segment_bytes: 1 << 20 };
        let (from, to) = (place(source.path()), place(target.path()));
        let all = records(genesis(HOME), [b"record one", b"record two", b"record six"]);
        from.open(HOME).unwrap().append(0, &all).unwrap();
        for (position, end) in [(2, 2), (1, 2), (9, 3)] {
            let copied = copy_to_position(&from, &to, position, &AtomicBool::new(false), &AtomicU64::new(0)).unwrap();
            assert_eq!(copied[0].end, end, "up to {position}");
            let kept: Vec<_> = to.existing(HOME).unwrap().map(|record| record.unwrap().bytes).collect();
            assert_eq!(kept, all[..usize::try_from(end).unwrap()]);
        }
    }

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
            assert_eq!(kept, all[..1], "exactly the records before the damage are copied");
        }
    }

    #[test]
    fn pl_37_a_log_whose_first_records_are_archived_is_not_copied() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = |data: &std::path::Path| LogLocation::Folder { data: data.into(), segment_bytes: 4 << 10 };
        let (from, to) = (place(source.path()), place(target.path()));
        let mut store = from.open(HOME).unwrap();
        for byte in 0..8_u8 {
            let records = records(store.head(), [[byte; 1_000]]);
            store.append(store.end(), &records).unwrap();
        }
        let (first, folder) = (4, super::super::layout::log_folder(source.path(), HOME));
        let previous = previous_hash(&store.reader().read(first, 1, 0).unwrap()[0].bytes).unwrap();
        drop(store);
        let (name, bytes) = start_file(HOME, LogStart { first, previous });
        fs::write(folder.join(name), bytes).unwrap();
        fs::remove_file(folder.join("00000000000000000001.log")).unwrap();
        let refused = copy(&from, &to, false, &AtomicBool::new(false), &AtomicU64::new(0)).unwrap_err();
        assert!(matches!(refused, CopyError::Records(RecordsError::Archived { first: 4, .. })), "{refused}");
        assert!(from.existing(HOME).is_err(), "a read of the whole log fails, too");
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "no file is created");
    }

    #[test]
    fn pl_37_a_log_without_its_first_records_continues_a_copy_that_has_them() {
        let place = |data: &std::path::Path, segment_bytes| LogLocation::Folder { data: data.into(), segment_bytes };
        let whole = tempfile::tempdir().unwrap();
        let from = place(whole.path(), 4 << 10);
        let mut store = from.open(HOME).unwrap();
        for byte in 0..8_u8 {
            let records = records(store.head(), [[byte; 1_000]]);
            store.append(store.end(), &records).unwrap();
        }
        let read = |position| store.reader().read(position, 1, 0).unwrap().remove(0).bytes;
        let all: Vec<_> = (1..=8).map(read).collect();
        drop(store);
        let (first, folder) = (4, super::super::layout::log_folder(whole.path(), HOME));
        let previous = previous_hash(&all[3]).unwrap();
        let (name, bytes) = start_file(HOME, LogStart { first, previous });
        fs::write(folder.join(name), bytes).unwrap();
        fs::remove_file(folder.join("00000000000000000001.log")).unwrap();
        let copied = |held: &[Bytes]| {
            let target = tempfile::tempdir().unwrap();
            let to = place(target.path(), 1 << 20);
            let mut store = to.open(HOME).unwrap();
            held.iter().for_each(|record| store.append(store.end(), std::slice::from_ref(record)).unwrap());
            drop(store);
            let done = copy(&from, &to, false, &AtomicBool::new(false), &AtomicU64::new(0));
            (done, to.existing(HOME).unwrap().map(|record| record.unwrap().bytes).collect::<Vec<_>>())
        };
        for held in 3..=8 {
            let (done, now) = copied(&all[..held]);
            assert_eq!((done.unwrap()[0].end, &now), (8, &all), "{held} records");
        }
        for held in [1, 2] {
            let (refused, now) = copied(&all[..held]);
            assert!(matches!(refused, Err(CopyError::Records(RecordsError::Archived { first: 4, .. }))), "{refused:?}");
            assert_eq!(now, all[..held]);
        }
        let others = records(genesis(HOME), [[90; 1_000], [91; 1_000], [92; 1_000], [93; 1_000]]);
        for held in [3, 4] {
            let (refused, now) = copied(&others[..held]);
            assert!(matches!(refused, Err(CopyError::NoPrefix { position: 3, ends: false, .. })), "{refused:?}");
            assert_eq!(now, others[..held]);
        }
    }
}
