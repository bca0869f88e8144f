use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use motherlode_log::{LogStart, OpenError, Options, ScanError, SegmentStore, Store, hash, scan};
use motherlode_testkit::conformance::{self, records, start_file};
use tempfile::TempDir;

const SMALL: Options = Options { segment_bytes: 8 * 1024, zero_bytes: 1024 };
const PARTITION: u32 = 3;

fn log() -> (TempDir, Vec<Bytes>) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SegmentStore::open(dir.path(), PARTITION, SMALL).unwrap();
    let mut all = vec![];
    for round in 0..40_u8 {
        let records = records(store.head(), [&[round; 300][..], b"", &[round; 400]]);
        store.append(store.end(), &records).unwrap();
        store.tend().unwrap();
        all.extend(records);
    }
    (dir, all)
}

fn segments(dir: &Path) -> Vec<(u64, PathBuf)> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|found| found == "log"));
    let mut logs: Vec<_> =
        logs.map(|path| (path.file_stem().unwrap().to_str().unwrap().parse().unwrap(), path)).collect();
    logs.sort();
    logs
}

fn starting(all: &[Bytes], first: u64) -> LogStart {
    LogStart { first, previous: hash(&all[usize::try_from(first).unwrap() - 2]) }
}

fn record(dir: &Path, partition: u32, start: LogStart) -> Vec<u8> {
    let (name, bytes) = start_file(partition, start);
    fs::write(dir.join(name), &bytes).unwrap();
    bytes
}

fn refused(dir: &Path, what: &str) {
    for open in [SegmentStore::open_unchanged, SegmentStore::open_by_outlines, SegmentStore::open] {
        let opened = open(dir, PARTITION, SMALL);
        assert!(matches!(opened, Err(OpenError::Scan(ScanError::Damaged(_)))), "{what}: {opened:?}");
    }
    let found = scan(dir).and_then(|mut scan| scan.find_map(Result::err).map_or(Ok(()), Err));
    assert!(matches!(found, Err(ScanError::Damaged(_))), "{what}: {found:?}");
}

#[test]
fn pl_37_a_log_that_starts_later_opens_reads_and_goes_on_as_its_folder_records() {
    let (dir, all) = log();
    let segments = segments(dir.path());
    assert!(segments.len() > 4);
    let first = segments[2].0;
    let kept = &all[usize::try_from(first).unwrap() - 1..];
    record(dir.path(), PARTITION, starting(&all, first));
    for (_, removed) in [None, segments.first(), segments.get(1)].into_iter().flatten() {
        fs::remove_file(removed).unwrap();
    }
    let mut read = scan(dir.path()).unwrap();
    assert_eq!((read.first(), read.verified()), (first, (first - 1, hash(&all[usize::try_from(first).unwrap() - 2]))));
    assert!(read.by_ref().map(|record| record.unwrap().bytes).eq(kept.iter().cloned()));
    assert_eq!(read.partition_number(), Some(PARTITION));
    let mut kept = kept.to_vec();
    for open in [SegmentStore::open, SegmentStore::open_by_outlines] {
        let mut store = open(dir.path(), PARTITION, SMALL).unwrap();
        conformance::a_log_that_starts_later(&mut store, &kept);
        kept = conformance::read_all(&*store.reader(), first);
    }
    let mut resumed = scan(dir.path()).unwrap();
    resumed.resume().unwrap();
    assert_eq!(resumed.map(Result::unwrap).count(), kept.len());
}

#[test]
fn pl_37_segments_left_below_a_recorded_start_are_not_read() {
    let (dir, all) = log();
    let segments = segments(dir.path());
    let first = segments[2].0;
    record(dir.path(), PARTITION, starting(&all, first));
    for removed in [0, 1] {
        let store = SegmentStore::open(dir.path(), PARTITION, SMALL).unwrap();
        assert_eq!((store.start().first, store.reader().first(), store.end()), (first, first, all.len() as u64));
        drop(store);
        fs::remove_file(&segments[removed].1).unwrap();
    }
}

#[test]
fn pl_37_a_missing_first_segment_without_a_recorded_start_is_damage() {
    let (dir, _) = log();
    for (_, segment) in segments(dir.path()).into_iter().take(2) {
        fs::remove_file(segment).unwrap();
        refused(dir.path(), "no start of the log is recorded");
    }
}

#[test]
fn pl_37_a_start_that_the_segments_do_not_confirm_is_damage() {
    let (dir, all) = log();
    let segments = segments(dir.path());
    let (first, next) = (segments[1].0, segments[2].0);
    fs::remove_file(&segments[0].1).unwrap();
    let sound = starting(&all, first);
    for (what, partition, start) in [
        ("another partition", 4, sound),
        ("another hash", PARTITION, LogStart { previous: [9; 32], ..sound }),
        ("no segment begins at the start", PARTITION, starting(&all, first + 1)),
        ("its segment is missing", PARTITION, starting(&all, segments[0].0 + 1)),
        ("position 0", PARTITION, LogStart { first: 0, ..sound }),
        ("a start at the genesis, without the first segment", PARTITION, LogStart::genesis(PARTITION)),
    ] {
        let bytes = record(dir.path(), partition, start);
        if partition == PARTITION {
            refused(dir.path(), what);
        } else {
            let opened = SegmentStore::open(dir.path(), PARTITION, SMALL);
            assert!(matches!(opened, Err(OpenError::Scan(ScanError::Damaged(_)))), "{what}: {opened:?}");
        }
        assert_eq!(fs::read(dir.path().join("start")).unwrap(), bytes, "{what}: the file must not be changed");
    }
    let bytes = record(dir.path(), PARTITION, sound);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(dir.path().join("start"), flipped).unwrap();
        assert!(SegmentStore::open_by_outlines(dir.path(), PARTITION, SMALL).is_err(), "bit {bit}");
    }
    for bytes in [&bytes[..0], &bytes[..bytes.len() - 1], &[&bytes[..], b"x"].concat()] {
        fs::write(dir.path().join("start"), bytes).unwrap();
        refused(dir.path(), "the file was cut or extended");
    }
    record(dir.path(), PARTITION, sound);
    SegmentStore::open(dir.path(), PARTITION, SMALL).unwrap();
    fs::remove_file(segments.iter().find(|(first, _)| *first == next).map(|(_, path)| path).unwrap()).unwrap();
    refused(dir.path(), "a segment is missing");
}

#[test]
fn pl_37_a_prune_removes_whole_segments_and_keeps_the_logs_identity() {
    let (dir, all) = log();
    let before = segments(dir.path());
    let open = || SegmentStore::open_by_outlines(dir.path(), PARTITION, SMALL).unwrap();
    let (third, fourth) = (before[2].0, before[3].0);
    for (upto, first) in [(0, 1), (1, 1), (third + 1, third), (third, third), (2, third), (fourth - 1, third)] {
        let start = open().prune(upto).unwrap();
        assert_eq!(start.first, first, "up to {upto}");
        assert_eq!(segments(dir.path())[0].0, first, "up to {upto}");
        let reader = open().reader();
        assert_eq!((reader.first(), reader.identity().unwrap()), (first, Some(hash(&all[0]))));
        assert!(conformance::read_all(&*reader, first) == all[usize::try_from(first).unwrap() - 1..]);
    }
    fs::write(&before[0].1, "left over by a prune that was stopped").unwrap();
    assert_eq!(open().prune(u64::MAX).unwrap().first, before.last().unwrap().0);
    assert_eq!(segments(dir.path()).len(), 1, "the last segment stays");
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let outlines = names.filter(|name| name.ends_with(".outline")).count();
    assert!(outlines <= 1, "{outlines} outlines of removed segments");
    assert_eq!(open().end(), all.len() as u64);
}
