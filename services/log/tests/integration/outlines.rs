//! A log opened with outlines must equal the fully verified log, and the same damage outside full segments must be
//! detected.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use motherlode_log::{Options, ReadError, SegmentStore, Store, hash, scan_after};
use motherlode_testkit::conformance::{read_all, records};
use tempfile::TempDir;

const SMALL: Options = Options { segment_bytes: 8 * 1024, zero_bytes: 1024 };

fn log(salt: u8) -> (TempDir, Vec<Bytes>) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SegmentStore::open(dir.path(), 3, SMALL).unwrap();
    let mut all = vec![];
    for round in 0..60_u8 {
        let payloads: [&[u8]; 3] = [&[round ^ salt; 300], b"", &[round; 400]];
        let records = records(store.head(), payloads);
        store.append(store.end(), &records).unwrap();
        store.tend().unwrap();
        all.extend(records);
    }
    (dir, all)
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

fn open(dir: &TempDir) -> SegmentStore {
    SegmentStore::open_by_outlines(dir.path(), 3, SMALL).unwrap()
}

fn first(file: &Path) -> u64 {
    file.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

#[test]
fn an_opening_by_outlines_knows_the_same_and_goes_on() {
    let (dir, mut all) = log(0);
    let segments = files(dir.path(), "log");
    assert!(segments.len() > 4);
    assert_eq!(files(dir.path(), "outline").len(), segments.len() - 1);
    let head = SegmentStore::open(dir.path(), 3, SMALL).unwrap().head();
    for _ in 0..30 {
        let mut store = open(&dir);
        assert_eq!(
            store.unread() + 1,
            first(files(dir.path(), "log").last().unwrap()),
            "only the last segment may be read"
        );
        assert_eq!((store.end(), read_all(&*store.reader(), 1)), (all.len() as u64, all.clone()));
        for position in (1..=store.end()).step_by(7) {
            let read = store.reader().read(position, 1, 0).unwrap();
            assert_eq!(read[0].bytes, all[usize::try_from(position).unwrap() - 1]);
        }
        let records = records(store.head(), [&[7; 500]]);
        store.append(store.end(), &records).unwrap();
        store.tend().unwrap();
        all.extend(records);
    }
    assert!(files(dir.path(), "log").len() > segments.len(), "the log must have started new segments");
    let store = SegmentStore::open(dir.path(), 3, SMALL).unwrap();
    assert_eq!((store.unread(), read_all(&*store.reader(), 1)), (0, all));
    assert_ne!(store.head(), head);
}

#[test]
fn uf_10_an_outline_that_is_missing_garbled_or_of_another_log_is_not_used() {
    let (dir, all) = log(0);
    let (other, _) = log(0x40);
    let outlines = files(dir.path(), "outline");
    for (at, outline) in outlines.iter().enumerate() {
        let sound = fs::read(outline).unwrap();
        let garbled = sound.iter().map(|byte| byte ^ 1).collect();
        let of_another = fs::read(&files(other.path(), "outline")[at]).unwrap();
        let of_a_neighbour = fs::read(&outlines[(at + 1) % outlines.len()]).unwrap();
        for bytes in [vec![], sound[..sound.len() - 1].to_vec(), garbled, of_another, of_a_neighbour] {
            fs::write(outline, bytes).unwrap();
            let store = open(&dir);
            assert_eq!((store.end(), read_all(&*store.reader(), 1)), (all.len() as u64, all.clone()));
        }
        fs::remove_file(outline).unwrap();
        assert_eq!(read_all(&*open(&dir).reader(), 1), all);
        fs::write(outline, sound).unwrap();
    }
    for again in [SegmentStore::settle, SegmentStore::tend] {
        outlines.iter().for_each(|outline| fs::remove_file(outline).unwrap());
        let mut store = open(&dir);
        assert_eq!(store.unread(), 0);
        assert_eq!(files(dir.path(), "outline").len(), 0, "opening must not write outlines");
        again(&mut store).unwrap();
        drop(store);
        assert_eq!(files(dir.path(), "outline"), outlines);
        assert!(open(&dir).unread() > 0);
    }
}

#[test]
fn a_missing_cut_or_foreign_segment_is_refused_by_outlines_too() {
    let (dir, _) = log(0);
    let (other, _) = log(0x40);
    let segments = files(dir.path(), "log");
    for (at, segment) in segments.iter().enumerate().take(segments.len() - 1) {
        let sound = fs::read(segment).unwrap();
        fs::remove_file(segment).unwrap();
        assert!(SegmentStore::open_by_outlines(dir.path(), 3, SMALL).is_err(), "{at} is missing");
        for bytes in [&sound[..70], &sound[..1_000], &fs::read(&files(other.path(), "log")[at]).unwrap()] {
            fs::write(segment, bytes).unwrap();
            let opened = SegmentStore::open_by_outlines(dir.path(), 3, SMALL);
            assert!(opened.is_err() || (at == 0 && bytes.len() > 1_000), "{at}: {} bytes", bytes.len());
        }
        fs::write(segment, sound).unwrap();
    }
    let mut last = fs::read(segments.last().unwrap()).unwrap();
    last[100] ^= 1;
    fs::write(segments.last().unwrap(), last).unwrap();
    assert!(SegmentStore::open_by_outlines(dir.path(), 3, SMALL).is_err(), "the last segment must be verified");
}

#[test]
fn at_a8_stray_bytes_behind_a_full_segments_last_block_are_found_without_an_opening_that_reads_all() {
    let (dir, _) = log(0);
    let segments = files(dir.path(), "log");
    let store = open(&dir);
    store.reader().check_rest(store.unread()).unwrap();
    drop(store);
    for segment in &segments[..segments.len() - 1] {
        let sound = fs::read(segment).unwrap();
        let mut stray = sound.clone();
        match stray.last() {
            Some(0) => *stray.last_mut().unwrap() = 7,
            _ => stray.push(7),
        }
        fs::write(segment, stray).unwrap();
        assert!(SegmentStore::open(dir.path(), 3, SMALL).is_err());
        let store = open(&dir);
        let found = store.reader().check_rest(store.unread()).unwrap_err();
        assert!(matches!(&found, ReadError::Damaged(damage) if damage.file == *segment), "{found}");
        store.reader().check_rest(first(segment) - 1).unwrap();
        drop(store);
        fs::write(segment, sound).unwrap();
    }
}

#[test]
fn what_was_not_read_at_the_opening_is_verified_when_it_is_read() {
    let (dir, _) = log(0);
    let segment = files(dir.path(), "log").into_iter().nth(1).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[2_000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    assert!(SegmentStore::open(dir.path(), 3, SMALL).is_err());
    let store = open(&dir);
    assert!(store.unread() > first(&segment));
    let mut position = first(&segment);
    let damage = loop {
        match store.reader().read(position, 1, 0) {
            Ok(_) => position += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(damage, ReadError::Damaged(found) if found.file == segment), "at {position}");
}

#[test]
fn at_a3_a_scan_after_a_position_needs_nothing_that_stands_before_it() {
    let (dir, all) = log(0);
    let segments = files(dir.path(), "log");
    let after = |position: usize| {
        let scan = scan_after(dir.path(), 3, position as u64, hash(&all[position - 1])).unwrap();
        scan.map(|record| record.map(|record| record.bytes)).collect::<Result<Vec<_>, _>>()
    };
    for position in 1..=all.len() {
        assert_eq!(after(position).unwrap(), all[position..], "{position}");
    }
    let begins = usize::try_from(first(&segments[2])).unwrap();
    fs::remove_file(&segments[0]).unwrap();
    fs::write(&segments[1], b"nothing").unwrap();
    let mut bytes = fs::read(&segments[2]).unwrap();
    bytes[..100].fill(0xFF);
    fs::write(&segments[2], bytes).unwrap();
    for position in begins + 2..=all.len() {
        assert_eq!(after(position).unwrap(), all[position..], "{position}");
    }
    assert!(
        scan_after(dir.path(), 3, begins as u64, hash(&all[begins - 1])).is_err(),
        "the block with the position is damaged"
    );
    let (_, other) = log(1);
    for position in [begins + 3, begins + 4] {
        let found = scan_after(dir.path(), 3, position as u64, hash(&other[position - 1]));
        assert!(found.and_then(Iterator::collect::<Result<Vec<_>, _>>).is_err(), "{position}");
    }
}
