use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use motherlode_log::{Damage, OpenError, Options, Position, ReadError, ScanError, SegmentStore, Store, Tail, scan_on};
use motherlode_testkit::{
    conformance::{read_all, records},
    sim::SimDisk,
};

const SMALL: Options = Options { segment_bytes: 4 * 1024, zero_bytes: 1024 };
const DIR: &str = "p";

struct Log {
    disk: SimDisk,
    blocks: Vec<(PathBuf, Range<usize>, Position)>,
    end: Position,
}

impl Log {
    fn new() -> Self {
        Self::beginning_with(b"one")
    }

    fn beginning_with(first: &[u8; 3]) -> Self {
        let appends: &[&[&[u8]]] = &[
            &[first],
            &[b"two", b"three"],
            &[&[0; 1800]],
            &[&[7; 1300]],
            &[&[0xAB; 2000]],
            &[b"six"],
            &[&[1; 1200]],
            &[&[2; 900]],
            &[b"nine"],
            &[&[3; 1200]],
        ];
        let disk = SimDisk::new();
        let mut store = open(&disk).unwrap();
        let mut blocks: Vec<(PathBuf, Range<usize>, Position)> = Vec::new();
        for payloads in appends {
            let first = store.end() + 1;
            store.append(store.end(), &records(store.head(), *payloads)).unwrap();
            let bytes: usize =
                payloads.iter().map(|p| 4 + 36 + usize::from(p.len() > 127) + p.len()).sum::<usize>() + 40;
            let bytes = bytes.next_multiple_of(32);
            let previous = blocks.last().filter(|(_, range, _)| range.end + bytes <= 4096);
            let (path, start) = match previous {
                Some((path, range, _)) => (path.clone(), range.end),
                None => (Path::new(DIR).join(format!("{first:020}.log")), 64),
            };
            blocks.push((path, start..start + bytes, first));
        }
        Self { disk, blocks, end: store.end() }
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = self.blocks.iter().map(|(path, ..)| path.clone()).collect();
        files.dedup();
        files
    }

    fn changed(&self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
        let disk = self.disk.after_kill();
        let mut bytes = disk.bytes(file).unwrap();
        change(&mut bytes);
        disk.put(file, bytes);
        disk
    }
}

fn open(disk: &SimDisk) -> Result<SegmentStore, OpenError> {
    SegmentStore::open_on(Arc::new(disk.clone()), Path::new(DIR), 3, SMALL)
}

fn found(disk: &SimDisk, what: &str) -> Damage {
    match scan_on(Arc::new(disk.clone()), Path::new(DIR)).unwrap().find_map(Result::err) {
        Some(ScanError::Damaged(found)) => found,
        other => panic!("{what}: the scan found {other:?}"),
    }
}

fn damage(disk: &SimDisk, what: &str) -> Damage {
    let found = found(disk, what);
    let before = disk.operations();
    match open(disk) {
        Err(OpenError::Scan(ScanError::Damaged(refused))) => assert_eq!(refused, found, "{what}"),
        other => panic!("{what}: opening returned {other:?}"),
    }
    assert_eq!(disk.operations(), before, "{what}: a refused opening must not change the log");
    found
}

#[test]
fn the_log_of_these_tests_lies_where_they_say() {
    let log = Log::new();
    assert_eq!((log.files().len(), log.end), (3, 11));
    for (path, range, _) in &log.blocks {
        let bytes = log.disk.bytes(path).unwrap();
        assert_eq!((&bytes[range.start..][..4], &bytes[range.end - 8..range.end]), (&b"BLCK"[..], &b"BLOCKEND"[..]));
    }
    assert_eq!(scan_on(Arc::new(log.disk), Path::new(DIR)).unwrap().map(Result::unwrap).count(), 11);
}

#[test]
fn every_flipped_byte_is_found() {
    let log = Log::new();
    let header = |file: &PathBuf| (file.clone(), 0..64, 0);
    let parts: Vec<_> = log.files().iter().map(header).chain(log.blocks.clone()).collect();
    for (file, range, first) in parts {
        let bytes = log.disk.bytes(&file).unwrap();
        for at in range.clone() {
            for mask in [0x01, 0x80, bytes[at]] {
                if mask == 0 {
                    continue;
                }
                let what = format!("byte {at} of {} changed by {mask:#x}", file.display());
                let disk = log.changed(&file, |bytes| bytes[at] ^= mask);
                let found = if mask == 0x01 { damage(&disk, &what) } else { found(&disk, &what) };
                assert_eq!((&found.file, found.offset), (&file, range.start as u64), "{what}");
                assert!(first == 0 || found.position == first, "{what}: {found}");
            }
        }
    }
}

#[test]
fn every_stray_byte_behind_the_blocks_is_found() {
    let log = Log::new();
    for file in log.files() {
        let used = log.blocks.iter().filter(|(path, ..)| *path == file).map(|(_, range, _)| range.end).max().unwrap();
        let length = log.disk.bytes(&file).unwrap().len();
        for at in used..length {
            for byte in [0x01, 0xFF] {
                let what = format!("byte {at} of {} is {byte:#x}", file.display());
                let found = damage(&log.changed(&file, |bytes| bytes[at] = byte), &what);
                assert_eq!((&found.file, found.offset), (&file, used as u64), "{what}");
            }
        }
    }
}

#[test]
fn a_lost_sector_is_a_torn_append_in_the_last_block_only() {
    let log = Log::new();
    let last = log.blocks.len() - 1;
    for (n, (file, range, first)) in log.blocks.iter().enumerate() {
        let mut start = range.start;
        while start < range.end {
            let end = (start / 512 * 512 + 512).min(range.end);
            let what = format!("bytes {start} to {end} of block {n} are lost");
            let disk = log.changed(file, |bytes| bytes[start..end].fill(0));
            if n == last {
                let store = open(&disk).unwrap_or_else(|error| panic!("{what}: {error:?}"));
                let Tail::Torn { file: torn, offset, .. } = store.recovered() else { panic!("{what}: no tail") };
                assert_eq!((torn, *offset), (file, range.start as u64), "{what}");
                assert_eq!(store.end(), first - 1);
                assert_eq!(read_all(&*store.reader(), 1).len() as u64, first - 1);
            } else {
                assert_eq!(damage(&disk, &what).position, *first, "{what}");
            }
            start = end;
        }
    }
}

#[test]
fn a_block_that_stops_anywhere_is_a_torn_append() {
    let log = Log::new();
    let (file, range, first) = log.blocks.last().unwrap();
    for written in 1..range.len() {
        let what = format!("{written} bytes of the block are written");
        let disk = log.changed(file, |bytes| bytes[range.start + written..].fill(0));
        if written == range.len() - 1 {
            assert_eq!(damage(&disk, &what).position, *first);
            continue;
        }
        let mut store = open(&disk).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(store.end(), first - 1, "{what}");
        let Tail::Torn { offset, .. } = store.recovered() else { panic!("{what}: no tail") };
        assert_eq!(*offset, range.start as u64, "{what}");
        store.append(store.end(), &records(store.head(), [b"next"])).unwrap();
        drop(store);
        assert_eq!(open(&disk).unwrap_or_else(|error| panic!("{what}: {error:?}")).end(), *first, "{what}");
    }
}

#[test]
fn a_torn_append_is_reported_by_a_scan_which_leaves_it_alone() {
    let log = Log::new();
    let (file, range, first) = log.blocks.last().unwrap();
    let disk = log.changed(file, |bytes| bytes[range.end - 8..].fill(0));
    let before = disk.bytes(file);
    let mut scan = scan_on(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    assert_eq!(scan.by_ref().map(Result::unwrap).count() as u64, first - 1);
    let Tail::Torn { file: torn, offset, bytes } = scan.tail() else { panic!("no tail") };
    assert_eq!((torn, *offset), (file, range.start as u64));
    assert!(*bytes <= range.len() as u64 - 8);
    assert_eq!(disk.bytes(file), before);
}

#[test]
fn a_missing_renamed_cut_or_foreign_segment_is_found() {
    let log = Log::new();
    let files = log.files();
    let all: Vec<_> = files.iter().map(|file| log.disk.bytes(file).unwrap()).collect();
    let with = |named: &[(&PathBuf, &Vec<u8>)]| {
        let disk = SimDisk::new();
        named.iter().for_each(|(file, bytes)| disk.put(file, (*bytes).clone()));
        disk
    };
    let found = damage(&with(&[(&files[0], &all[0]), (&files[2], &all[2])]), "the middle segment is missing");
    assert_eq!((&found.file, found.offset), (&files[2], 0));
    damage(&with(&[(&files[1], &all[1]), (&files[2], &all[2])]), "the first segment is missing");
    damage(&with(&[(&files[0], &all[0]), (&files[1], &all[2])]), "a segment has another segment's name");
    let cut = all[0][..64 + 96].to_vec();
    damage(&with(&[(&files[0], &cut), (&files[1], &all[1])]), "the first segment is cut after its first block");
    damage(&with(&[(&files[0], &Vec::new())]), "an empty file");
    let last = &log.blocks.last().unwrap().1;
    let short = all[2][..last.end - 1].to_vec();
    damage(
        &with(&[(&files[0], &all[0]), (&files[1], &all[1]), (&files[2], &short)]),
        "the last block is cut by a byte",
    );
    let mut twice = all[2].clone();
    twice.resize(last.end, 0);
    twice.extend_from_within(last.clone());
    damage(&with(&[(&files[0], &all[0]), (&files[1], &all[1]), (&files[2], &twice)]), "the last block occurs twice");
}

#[test]
fn a_header_that_names_another_history_is_found() {
    let log = Log::new();
    let empty = SimDisk::new();
    let mut store = SegmentStore::open_on(Arc::new(empty.clone()), Path::new(DIR), 3, SMALL).unwrap();
    store.append(0, &records(store.head(), [b"one"])).unwrap();
    let mut header = empty.bytes(&Path::new(DIR).join("00000000000000000001.log")).unwrap();
    header[24] ^= 1;
    let crc = crc32c::crc32c(&header[..60]);
    header[60..64].copy_from_slice(&crc.to_le_bytes());
    let file = &log.files()[0];
    let found = damage(
        &log.changed(file, |bytes| bytes[..64].copy_from_slice(&header[..64])),
        "a segment with another history",
    );
    assert_eq!((&found.file, found.offset), (file, 0));
}

#[test]
fn a_segment_of_another_history_is_found() {
    let log = Log::new();
    let file = &log.files()[1];
    let foreign = Log::beginning_with(b"eno").disk.bytes(file).unwrap();
    let disk = log.disk.after_kill();
    disk.put(file, foreign);
    assert_eq!(&damage(&disk, "a segment of another history").file, file);
}

#[test]
fn a_read_of_damaged_bytes_is_an_error_and_never_an_answer() {
    let disk = SimDisk::new();
    let mut store = open(&disk).unwrap();
    store.append(0, &records(store.head(), [[1; 100]])).unwrap();
    store.append(1, &records(store.head(), [[2; 3900]])).unwrap();
    let file = Path::new(DIR).join("00000000000000000001.log");
    let mut bytes = disk.bytes(&file).unwrap();
    bytes[150] ^= 1;
    disk.put(&file, bytes);
    let reader = store.reader();
    match reader.read(1, 10, 10_000) {
        Err(ReadError::Damaged(damage)) => assert_eq!((damage.file, damage.offset, damage.position), (file, 64, 1)),
        other => panic!("the read returned {other:?}"),
    }
    assert_eq!(reader.read(2, 10, 10_000).unwrap().len(), 1, "undamaged records must be returned");
}
