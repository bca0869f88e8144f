use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use motherlode_log::{
    AppendError, Disk, Hash, OpenError, Options, ScanError, SegmentStore, Store, Tail, genesis, hash, scan, scan_on,
};
use motherlode_testkit::{
    conformance::{self, read_all, records},
    sim::SimDisk,
};
use tempfile::TempDir;

const SMALL: Options = Options { segment_bytes: 8 * 1024, zero_bytes: 1024 };

fn open(dir: &TempDir) -> SegmentStore {
    SegmentStore::open(dir.path(), 3, SMALL).unwrap()
}

fn append(store: &mut SegmentStore, payloads: &[&[u8]]) -> Vec<Bytes> {
    let records = records(store.head(), payloads);
    store.append(store.end(), &records).unwrap();
    records
}

fn scanned(dir: &Path) -> Vec<Bytes> {
    scan(dir).unwrap().map(|record| record.unwrap().bytes).collect()
}

fn segments(dir: &TempDir) -> Vec<String> {
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".log")).collect();
    names.sort();
    names
}

#[test]
fn the_segment_store_conforms_on_the_real_disk() {
    let mut dirs = Vec::new();
    conformance::suite(&mut || {
        dirs.push(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        Box::new(open(dirs.last().unwrap()))
    });
}

#[test]
fn the_segment_store_conforms_on_the_simulated_disk() {
    conformance::suite(&mut || {
        let disk = Arc::new(SimDisk::new());
        Box::new(SegmentStore::open_on(disk, Path::new("p"), 3, SMALL).unwrap())
    });
}

fn files(disk: &SimDisk) -> Vec<(PathBuf, usize)> {
    let mut names = disk.list(Path::new("p")).unwrap();
    names.retain(|name| name.extension().is_some_and(|extension| extension == "log"));
    names.sort();
    let paths = names.into_iter().map(|name| Path::new("p").join(name));
    paths.map(|path| (path.clone(), disk.bytes(&path).unwrap().len())).collect()
}

#[test]
fn at_b3_an_append_finds_zeros_and_every_segment_after_the_first_has_all_of_them_from_its_start() {
    let disk = SimDisk::new();
    let mut store = SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 3, SMALL).unwrap();
    let mut all = append(&mut store, &[&[7; 100]]);
    for _ in 0..100 {
        store.tend().unwrap();
        let before = files(&disk);
        all.extend(append(&mut store, &[&[7; 100]]));
        let after = files(&disk);
        assert_eq!(after[..before.len()], before, "an append must not grow an existing file");
        assert!(after[1..].iter().all(|(_, bytes)| *bytes == 8 * 1024), "{after:?}");
    }
    assert_eq!(files(&disk)[0].1, 64 + 1024, "the first segment ends where its zeros end");
    assert!(files(&disk).len() > 3);
    assert_eq!(read_all(&*store.reader(), 1), all);
}

#[test]
fn at_b3_appends_go_on_while_a_thread_fills_the_next_segment_and_each_survives_a_power_cut() {
    let options = Options { segment_bytes: 16 * 1024, zero_bytes: 512 };
    for seed in 0..8 {
        let disk = SimDisk::new();
        disk.set_threads(true);
        let open = |disk: &SimDisk| SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 3, options).unwrap();
        let (mut store, mut all) = (open(&disk), vec![]);
        for n in 0..100_u8 {
            all.extend(append(&mut store, &[&[n; 300]]));
            let left = [disk.after_kill(), disk.after_power_cut(seed + 4 * u64::from(n))];
            assert!(left.iter().all(|left| read_all(&*open(left).reader(), 1) == all), "append {n}, seed {seed}");
            store.tend().unwrap();
        }
        drop(store);
        let mut store = open(&disk.after_power_cut(seed));
        all.extend(append(&mut store, &[b"more"]));
        assert_eq!(read_all(&*store.reader(), 1), all);
    }
}

#[test]
fn uf_10_a_full_disk_interrupts_the_filling_of_the_next_segment_which_goes_on_where_it_was() {
    let disk = SimDisk::new();
    let mut store = SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 3, SMALL).unwrap();
    let mut all = append(&mut store, &[&[7; 100]]);
    disk.set_room(Some(3000));
    let unfinished = || disk.bytes(Path::new("p/unfinished")).map(|bytes| bytes.len());
    for _ in 0..2 {
        assert!(matches!(store.tend(), Err(AppendError::Full(_))));
        assert_eq!(unfinished(), Some(3000));
    }
    let refused = loop {
        match store.append(store.end(), &records(store.head(), [[7; 100]])) {
            Ok(()) => all = read_all(&*store.reader(), 1),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, AppendError::Full(_)) && all.len() > 3, "{refused:?} after {}", all.len());
    disk.set_room(None);
    store.tend().unwrap();
    assert_eq!(unfinished(), Some(8 * 1024));
    all.extend(append(&mut store, &[&[7; 600]]));
    assert_eq!(read_all(&*store.reader(), 1), all);
}

#[test]
fn a_long_run_of_zeros_at_the_end_hides_no_damage() {
    const OPTIONS: Options = Options { segment_bytes: 600 * 1024, zero_bytes: 64 * 1024 };
    let disk = SimDisk::new();
    let path = Path::new("p/00000000000000000001.log");
    let mut store = SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 3, OPTIONS).unwrap();
    append(&mut store, &[&[7; 200_000]]);
    append(&mut store, &[&[8; 200_000]]);
    drop(store);
    let mut bytes = disk.bytes(path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    bytes.resize(600 * 1024, 0);
    let end = |bytes: &[u8]| {
        disk.put(path, bytes.to_vec());
        let mut scan = scan_on(Arc::new(disk.clone()), Path::new("p")).unwrap();
        let read = scan.by_ref().map(|record| record.is_ok()).collect::<Vec<_>>();
        (read, scan.tail().clone())
    };
    assert_eq!(end(&bytes), (vec![true; 2], Tail::Clean));
    let mut torn = bytes.clone();
    torn[used - 512 * 3..used].fill(0);
    assert!(matches!(end(&torn), (read, Tail::Torn { .. }) if read == [true]));
    for at in [used + 40, 500 * 1024, 600 * 1024 - 1] {
        let mut stray = bytes.clone();
        stray[at] = 7;
        assert_eq!(end(&stray).0, [true, true, false], "a stray byte at {at}");
    }
}

#[test]
fn a_log_goes_on_where_it_was_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for round in 0..40_u8 {
        let mut store = open(&dir);
        assert_eq!(store.recovered(), &Tail::Clean);
        assert_eq!(store.end(), all.len() as u64);
        let head: Hash = all.last().map_or(genesis(3), |last: &Bytes| hash(last));
        assert_eq!(store.head(), head);
        all.extend(append(&mut store, &[&[round; 300], b"", &[round; 700]]));
        assert_eq!(read_all(&*store.reader(), 1), all);
    }
    assert!(segments(&dir).len() > 3, "the log must have several segments: {:?}", segments(&dir));
    assert_eq!(scanned(dir.path()), all);
    for name in segments(&dir) {
        let length = fs::metadata(dir.path().join(&name)).unwrap().len();
        assert!(length <= SMALL.segment_bytes, "{name} has {length} bytes");
    }
}

#[test]
fn an_empty_log_has_no_segment_and_can_be_scanned() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir));
    assert_eq!(segments(&dir), Vec::<String>::new());
    let mut scan = scan(dir.path()).unwrap();
    assert!(scan.next().is_none());
    assert_eq!((scan.partition_number(), scan.tail()), (None, &Tail::Clean));
}

#[test]
fn a_second_opening_is_refused_while_the_first_lives() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    append(&mut store, &[b"one"]);
    assert!(matches!(SegmentStore::open(dir.path(), 3, SMALL), Err(OpenError::Locked { .. })));
    assert_eq!(scanned(dir.path()).len(), 1, "a scan must not need the lock");
    drop(store);
    assert_eq!(open(&dir).end(), 1);
}

#[test]
fn the_directory_of_another_partition_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    append(&mut open(&dir), &[b"one"]);
    let refused = SegmentStore::open(dir.path(), 4, SMALL);
    assert!(matches!(refused, Err(OpenError::Scan(ScanError::Damaged(_)))), "{refused:?}");
}

#[test]
fn an_append_longer_than_a_segment_is_too_large_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    // + 2.
    let too_large = records(store.head(), [vec![1; 8048]]);
    let refused = store.append(0, &too_large);
    assert!(matches!(refused, Err(AppendError::TooLarge { bytes: 8160, limit: 8128 })), "{refused:?}");
    assert_eq!(store.end(), 0);
    append(&mut store, &[&[1; 8047]]);
    append(&mut store, &[&[2; 8047]]);
    assert_eq!(read_all(&*store.reader(), 1).len(), 2);
}

#[test]
fn a_log_scanned_while_it_is_written_gives_a_prefix_and_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    std::thread::scope(|scope| {
        let scanner = scope.spawn(|| {
            let mut seen = 0;
            while seen < 300 {
                let scanned = scanned(dir.path());
                assert!(scanned.len() >= seen, "a scan must not return fewer records than the previous scan");
                seen = scanned.len();
            }
        });
        for n in 0..150_u8 {
            append(&mut store, &[&[n; 100], &[n; 1500]]);
        }
        scanner.join().unwrap();
    });
}

#[test]
fn what_a_running_service_is_writing_is_an_unfinished_tail_to_a_scan() {
    let disk = SimDisk::new();
    let dir = Path::new("p");
    let mut store = SegmentStore::open_on(Arc::new(disk.clone()), dir, 3, SMALL).unwrap();
    append(&mut store, &[&[1; 100]]);
    let path = dir.join("00000000000000000001.log");
    let mut bytes = disk.bytes(&path).unwrap();
    let start = 64 + 192;
    bytes[start..start + 20].copy_from_slice(&[&b"BLCK"[..], &[7; 16]].concat());
    disk.put(&path, bytes);
    let mut scan = scan_on(Arc::new(disk), dir).unwrap();
    assert_eq!(scan.by_ref().map(Result::unwrap).count(), 1);
    assert_eq!(scan.tail(), &Tail::Torn { file: path, offset: start as u64, bytes: 20 });
    assert_eq!(scan.verified(), (1, store.head()));
}

#[test]
fn any_position_can_be_read_in_any_size() {
    let options = Options { segment_bytes: 600 * 1024, zero_bytes: 64 * 1024 };
    let disk = Arc::new(SimDisk::new());
    let mut store = SegmentStore::open_on(disk.clone(), Path::new("p"), 3, options).unwrap();
    let mut all = Vec::new();
    for n in 0..300_u16 {
        let payload = vec![n.to_le_bytes()[0]; 1000 + usize::from(n)];
        all.extend(append(&mut store, &vec![&payload[..]; usize::from(n % 5) + 1]));
    }
    let written = store.reader();
    drop(store);
    let store = SegmentStore::open_on(disk, Path::new("p"), 3, options).unwrap();
    for (n, reader) in [written, store.reader()].iter().enumerate() {
        assert_eq!(reader.end(), all.len() as u64);
        for (at, expected) in all.iter().enumerate() {
            let (records, bytes) = (at % 7 + 1, at * 37 % 9000);
            let read = reader.read(at as u64 + 1, records, bytes).unwrap();
            assert_eq!(&read[0].bytes, expected, "reader {n}, position {}", at + 1);
            for (place, record) in (at..).zip(&read) {
                assert_eq!((record.position, &record.bytes), (place as u64 + 1, &all[place]));
            }
            let sum = read.iter().map(|record| record.bytes.len()).sum::<usize>();
            assert!(read.len() <= records && (read.len() == 1 || sum <= bytes), "a read must respect its limits");
        }
        assert_eq!(read_all(&**reader, 1), all);
    }
}

#[test]
fn a_record_is_read_without_what_follows_it() {
    const MARKS: u64 = 64 << 10;
    let disk = Arc::new(SimDisk::new());
    let mut store = SegmentStore::open_on(disk.clone(), Path::new("p"), 3, Options::default()).unwrap();
    for n in 0..4_000_u32 {
        append(&mut store, &[&[n.to_le_bytes(); 125].concat()]);
    }
    let (reader, length) = (store.reader(), 4_000 * 500);
    let read = |from, records| {
        let before = disk.bytes_read();
        assert_eq!(reader.read(from, records, usize::MAX).unwrap().len(), records);
        disk.bytes_read() - before
    };
    let singles: Vec<_> = (1..=store.end()).map(|position| read(position, 1)).collect();
    assert!(singles.iter().all(|bytes| *bytes <= 3 * MARKS), "{singles:?}");
    assert!(
        singles.iter().sum::<u64>() <= singles.len() as u64 * MARKS * 11 / 10,
        "at most a tenth of the reads may need a second file read"
    );
    let all = read(1, 4_000);
    assert!((length..length * 3 / 2).contains(&all), "{all} bytes for {length}");
}

#[test]
fn a_scan_that_is_resumed_goes_on_through_segments_that_are_being_written() {
    const APPENDS: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    append(&mut store, &[b"one"]);
    let mut following = scan(dir.path()).unwrap();
    std::thread::scope(|threads| {
        let writing = threads.spawn(|| {
            for n in 0..APPENDS {
                append(&mut store, &[&n.to_le_bytes(), &[7; 300]]);
            }
        });
        let mut read = vec![];
        while read.len() < 1 + 2 * usize::try_from(APPENDS).unwrap() {
            let more = following.by_ref().map(|record| record.unwrap());
            read.extend(more.map(|record| record.position));
            following.resume().unwrap();
        }
        writing.join().unwrap();
        assert!(read.into_iter().eq(1..=1 + 2 * APPENDS));
    });
    assert!(segments(&dir).len() > 5);
    assert!(following.next().is_none());
    assert_eq!(following.verified(), (store.end(), store.head()));
}

#[test]
fn uf_10_a_segment_that_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir);
    for _ in 0..40 {
        append(&mut store, &[&[7; 1000]]);
    }
    let first = segments(&dir).remove(0);
    fs::remove_file(dir.path().join(&first)).unwrap();
    let error = store.reader().read(1, 1, usize::MAX).unwrap_err().to_string();
    assert!(error.contains(&*dir.path().join(&first).to_string_lossy()), "{error}");
    assert!(error.contains("No such file"), "{error}");
}
