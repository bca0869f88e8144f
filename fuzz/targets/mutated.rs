//! Damages a log. If the log can still be opened, it must contain a prefix of the original records. After a simulated crash,
//! it must also contain all acknowledged records.
#![cfg_attr(feature = "libfuzzer", no_main)]

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use motherlode_fuzz::fuzz_target;
use motherlode_fuzz::golden;
use motherlode_log::{Options, SegmentStore, Store, genesis, hash, scan_on};
use motherlode_testkit::{
    conformance::{read_all, records},
    sim::SimDisk,
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

const OPTIONS: Options = Options { segment_bytes: 6 << 10, zero_bytes: 1 << 10 };

static APPENDS: LazyLock<Vec<Vec<Bytes>>> = LazyLock::new(|| {
    let all = golden::records(golden::LOGS[0]);
    let (mut head, mut rest, mut appends) = (genesis(3), &all[..all.len().min(24)], vec![]);
    while !rest.is_empty() {
        let (some, more) = rest.split_at((appends.len() % 4 + 1).min(rest.len()));
        let append = records(head, some);
        head = hash(append.last().expect("an append has a record"));
        appends.push(append);
        rest = more;
    }
    appends
});

fn open(disk: &SimDisk) -> std::result::Result<SegmentStore, motherlode_log::OpenError> {
    SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 3, OPTIONS)
}

fn files(disk: &SimDisk) -> Vec<PathBuf> {
    let names = motherlode_log::Disk::list(disk, Path::new("p")).expect("a folder");
    let mut logs: Vec<_> = names.into_iter().filter(|name| name.extension().is_some_and(|end| end == "log")).collect();
    logs.sort();
    logs.into_iter().map(|name| Path::new("p").join(name)).collect()
}

fn write(disk: &SimDisk) -> usize {
    let Ok(mut store) = open(disk) else { return 0 };
    let mut acknowledged = 0;
    for append in &*APPENDS {
        if store.append(store.end(), append).is_err() {
            break;
        }
        acknowledged += append.len();
    }
    acknowledged
}

fn run(choose: &mut Unstructured<'_>) -> Result<()> {
    let disk = SimDisk::new();
    if choose.arbitrary()? {
        disk.stop_at(choose.int_in_range(0..=120)?);
    }
    let acknowledged = write(&disk);
    let disk = if choose.arbitrary()? { disk.after_kill() } else { disk.after_power_cut(choose.arbitrary()?) };
    let all = APPENDS.concat();
    let sound = |records: &[Bytes]| all.starts_with(records);
    {
        let store = open(&disk).expect("a log can be opened after a crash");
        let found = read_all(&*store.reader(), 1);
        assert!(sound(&found) && found.len() >= acknowledged, "{} of {acknowledged}", found.len());
    }
    for _ in 0..choose.int_in_range(1..=4u8)? {
        let files = files(&disk);
        if files.is_empty() {
            break;
        }
        let file = choose.choose(&files)?;
        let mut bytes = disk.bytes(file).expect("it was listed");
        if bytes.is_empty() {
            continue;
        }
        let at = choose.int_in_range(0..=bytes.len() - 1)?;
        match choose.int_in_range(0..=5u8)? {
            0 => bytes[at] ^= choose.int_in_range(1..=255u8)?,
            1 => bytes.truncate(at),
            2 => bytes[at..].fill(0),
            3 => bytes.extend_from_slice(choose.bytes(choose.len().min(40))?),
            4 => {
                let from = choose.int_in_range(0..=bytes.len() - 1)?;
                let moved: Vec<_> = bytes[from..].iter().copied().take(256).collect();
                let end = (at + moved.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&moved[..end - at]);
            }
            _ => {
                let other = disk.bytes(choose.choose(&files)?).expect("it was listed");
                bytes = other;
            }
        }
        disk.put(file, bytes);
    }
    let scanned: Vec<_> =
        scan_on(Arc::new(disk.clone()), Path::new("p")).into_iter().flatten().map_while(|found| found.ok()).collect();
    let scanned: Vec<_> = scanned.into_iter().map(|record| record.bytes).collect();
    assert!(sound(&scanned), "a record was invented");
    if let Ok(store) = open(&disk) {
        assert_eq!(read_all(&*store.reader(), 1), scanned);
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(&mut Unstructured::new(bytes));
});
