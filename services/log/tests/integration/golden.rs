//! Format version 1 must not change. The file in `golden/` was written by an independent implementation of the format's
//! description.

use std::{path::Path, sync::Arc};

use motherlode_log::{Options, SegmentStore, Store, Tail, scan_on};
use motherlode_testkit::{
    conformance::{read_all, records},
    sim::SimDisk,
};

const FILE: &str = "p/00000000000000000001.log";

const APPENDS: &[&[&[u8]]] = &[&[b"first"], &[b"second", b""], &[&[0; 1200]]];

fn golden() -> Vec<u8> {
    let hex: String = include_str!("../golden/segment-v1.hex").split_whitespace().collect();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn written() -> (SimDisk, SegmentStore) {
    let disk = SimDisk::new();
    let options = Options { segment_bytes: 4096, zero_bytes: 2048 - 64 };
    let mut store = SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 7, options).unwrap();
    for payloads in APPENDS {
        store.append(store.end(), &records(store.head(), *payloads)).unwrap();
    }
    (disk, store)
}

#[test]
fn a_segment_is_written_as_version_1_says() {
    let (disk, _store) = written();
    assert_eq!(disk.bytes(Path::new(FILE)).unwrap(), golden());
}

#[test]
fn a_segment_of_version_1_is_read() {
    let disk = SimDisk::new();
    disk.put(Path::new(FILE), golden());
    let mut scan = scan_on(Arc::new(disk), Path::new("p")).unwrap();
    let found: Vec<_> = scan.by_ref().map(|record| record.unwrap().bytes).collect();
    let (_, store) = written();
    assert_eq!(found, read_all(&*store.reader(), 1));
    assert_eq!((scan.partition_number(), scan.tail(), scan.verified()), (Some(7), &Tail::Clean, (4, store.head())));
}
