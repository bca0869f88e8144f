//! Opens arbitrary segment files. If the log can be opened, it must be complete and accept appends, and all readers
//! must read the same records.
#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_log::{Options, SegmentStore, Store, scan_on};
use motherlode_testkit::{conformance::read_all, conformance::records, sim::SimDisk};
use std::{path::Path, sync::Arc};

const OPTIONS: Options = Options { segment_bytes: 64 << 10, zero_bytes: 1 << 10 };

fuzz_target!(|bytes: &[u8]| {
    let disk = SimDisk::new();
    let folder = Path::new("p");
    let (cut, bytes) = bytes.split_first_chunk::<2>().unwrap_or((&[0; 2], bytes));
    let cut = usize::from(u16::from_le_bytes(*cut)).min(bytes.len());
    let (one, other) = bytes.split_at(cut);
    disk.put(&folder.join(format!("{:020}.log", 1)), one.to_vec());
    if let Some((first, rest)) = other.split_first() {
        disk.put(&folder.join(format!("{:020}.log", u64::from(*first) + 1)), rest.to_vec());
    }
    let disk = Arc::new(disk);
    let scanned = scan_on(disk.clone(), folder).map(Iterator::collect::<Result<Vec<_>, _>>);
    let Ok(mut store) = SegmentStore::open_on(disk.clone(), folder, 3, OPTIONS) else { return };
    let found = read_all(&*store.reader(), 1);
    let scanned = scanned.expect("an opened log can be scanned").expect("an opened log is sound");
    assert_eq!(scanned.into_iter().map(|record| record.bytes).collect::<Vec<_>>(), found);
    let more = records(store.head(), [b"more"]);
    store.append(store.end(), &more).expect("an opened log accepts appends");
    drop(store);
    let store = SegmentStore::open_on(disk, folder, 3, OPTIONS).expect("the log can be opened again");
    assert_eq!(read_all(&*store.reader(), 1), [found, more].concat());
});
