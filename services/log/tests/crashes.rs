//! Kills and power cuts at every operation: what was acknowledged is there, byte for byte, and nothing else but
//! the one append that was under way, whole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use motherlode_log::{
    AppendError, OpenError, Options, SegmentStore, Store,
    conformance::{read_all, records},
    genesis, hash, scan_on,
    sim::SimDisk,
};
use proptest::prelude::*;

const SMALL: Options = Options { segment_bytes: 6 * 1024, zero_bytes: 1536 };

fn open(disk: &SimDisk) -> Result<SegmentStore, OpenError> {
    SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 3, SMALL)
}

/// The appends' records, chained through.
fn chained(appends: &[Vec<Vec<u8>>]) -> Vec<Vec<Bytes>> {
    let mut head = genesis(3);
    let chain = |payloads: &Vec<Vec<u8>>| {
        let records = records(head, payloads);
        head = hash(records.last().unwrap());
        records
    };
    appends.iter().map(chain).collect()
}

/// Appends what of `appends` isn't there yet; answers how many appends were acknowledged.
fn run(disk: &SimDisk, appends: &[Vec<Bytes>], present: usize) -> usize {
    let Ok(mut store) = open(disk) else { return present };
    let mut acknowledged = present;
    for append in &appends[present..] {
        if store.append(store.end(), append).is_err() {
            break;
        }
        acknowledged += 1;
    }
    acknowledged
}

/// What is there must be the first so many appends, whole: `least` or one more. Answers how many.
fn check(disk: &SimDisk, appends: &[Vec<Bytes>], least: usize, when: &str) -> usize {
    let store = open(disk).unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let found = read_all(&*store.reader(), 1);
    let most = (least + 1).min(appends.len());
    let whole = (least..=most).find(|n| appends[..*n].concat() == found);
    let present = whole.unwrap_or_else(|| panic!("{when}: {} records for {least} appends", found.len()));
    let scanned: Vec<_> = scan_on(Arc::new(disk.clone()), Path::new("p")).unwrap().map(|r| r.unwrap().bytes).collect();
    assert_eq!(scanned, found, "{when}: the scan and the store agree");
    present
}

/// Another append than the interrupted one is taken: nothing of that one is left behind it.
fn check_another_way(disk: &SimDisk, when: &str) {
    let disk = disk.after_kill();
    let mut store = open(&disk).unwrap();
    let other = records(store.head(), [b"other"]);
    store.append(store.end(), &other).unwrap();
    let expected = read_all(&*store.reader(), 1);
    drop(store);
    let store = open(&disk).unwrap_or_else(|error| panic!("{when}, then another append: {error:?}"));
    assert_eq!(read_all(&*store.reader(), 1), expected, "{when}, then another append");
}

/// Payloads of the kinds that are hard for a log: none, long runs of zeros and of other bytes, and noise.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let fill = prop_oneof![Just(0_u8), Just(0xFF), any::<u8>()];
    prop_oneof![
        (fill, 0_usize..2000).prop_map(|(byte, length)| vec![byte; length]),
        prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn appends() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    prop::collection::vec(prop::collection::vec(payload(), 1..4), 1..6)
        .prop_filter("an append fits a segment", |appends| {
            appends.iter().all(|append| append.iter().map(|payload| payload.len() + 50).sum::<usize>() < 5500)
        })
}

/// The disks that a stop at `operation` may leave.
fn left_behind(stopped: &SimDisk, operation: u64) -> Vec<(String, SimDisk)> {
    let cuts = [0, 1, 2 + 4 * operation, 3 + 4 * operation, 6 + 4 * operation];
    let cut = |seed| (format!("power cut {seed} at operation {operation}"), stopped.after_power_cut(seed));
    let kill = (format!("kill at operation {operation}"), stopped.after_kill());
    std::iter::once(kill).chain(cuts.map(cut)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_acknowledged_survives_a_stop_at_every_operation(appends in appends(), write_limit in 1_usize..3000) {
        let appends = chained(&appends);
        let whole = SimDisk::new();
        whole.set_write_limit((write_limit > 500).then_some(write_limit));
        prop_assert_eq!(run(&whole, &appends, 0), appends.len());
        for operation in 0..whole.operations() {
            let disk = SimDisk::new();
            disk.set_write_limit((write_limit > 500).then_some(write_limit));
            disk.stop_at(operation);
            let acknowledged = run(&disk, &appends, 0);
            for (when, left) in left_behind(&disk, operation) {
                check_another_way(&left, &when);
                let present = check(&left, &appends, acknowledged, &when);
                prop_assert_eq!(run(&left, &appends, present), appends.len(), "{}: the log goes on", when);
                prop_assert_eq!(check(&left, &appends, appends.len(), &when), appends.len());
            }
        }
    }

    /// The recovery is interrupted as well, at each of its operations, and what it then leaves recovered again.
    #[test]
    fn an_interrupted_recovery_loses_nothing(appends in appends(), at in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let appends = chained(&appends);
        let whole = SimDisk::new();
        run(&whole, &appends, 0);
        let disk = SimDisk::new();
        disk.stop_at(at.index(usize::try_from(whole.operations()).unwrap()) as u64);
        let acknowledged = run(&disk, &appends, 0);
        let left = disk.after_power_cut(seed);
        for operation in 0.. {
            let again = left.after_kill();
            again.stop_at(operation);
            if open(&again).is_ok() {
                break;
            }
            for (when, left) in left_behind(&again, operation) {
                check(&left, &appends, acknowledged, &format!("recovery: {when}"));
            }
        }
    }

    /// Once an opening has answered that a record is there, it stays there.
    #[test]
    fn what_an_opening_found_survives_the_next_power_cut(appends in appends(), at in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let appends = chained(&appends);
        let whole = SimDisk::new();
        run(&whole, &appends, 0);
        let disk = SimDisk::new();
        disk.stop_at(at.index(usize::try_from(whole.operations()).unwrap()) as u64);
        let acknowledged = run(&disk, &appends, 0);
        let killed = disk.after_kill();
        let present = check(&killed, &appends, acknowledged, "kill");
        for seed in [0, seed] {
            let left = killed.after_power_cut(seed);
            prop_assert_eq!(check(&left, &appends, present, "cut after the opening"), present);
        }
    }

    #[test]
    fn a_full_disk_refuses_an_append_and_takes_it_when_there_is_room(appends in appends(), room in 0_u64..20_000) {
        let appends = chained(&appends);
        let disk = SimDisk::new();
        let mut store = open(&disk).unwrap();
        disk.set_room(Some(room));
        for (n, append) in appends.iter().enumerate() {
            let before = (store.end(), store.head());
            if let Err(error) = store.append(store.end(), append) {
                prop_assert!(matches!(error, AppendError::Full(_)), "{:?}", error);
                prop_assert_eq!((store.end(), store.head()), before);
                prop_assert_eq!(read_all(&*store.reader(), 1), appends[..n].concat(), "reads go on");
                check(&disk.after_kill(), &appends, n, "kill with a full disk");
                check(&disk.after_power_cut(room), &appends, n, "power cut with a full disk");
                disk.set_room(None);
                store.append(store.end(), append).unwrap();
            }
        }
        prop_assert_eq!(read_all(&*store.reader(), 1), appends.concat());
        drop(store);
        check(&disk.after_power_cut(0), &appends, appends.len(), "at the end");
    }
}

#[test]
fn a_failed_sync_ends_appending_until_the_log_is_opened_again() {
    let appends = chained(&[vec![vec![1; 100]], vec![vec![2; 900]], vec![vec![3; 100]]]);
    let disk = SimDisk::new();
    let mut store = open(&disk).unwrap();
    store.append(0, &appends[0]).unwrap();
    disk.set_syncs_fail(true);
    let failed = store.append(1, &appends[1]);
    assert!(matches!(failed, Err(AppendError::Failed { .. })), "{failed:?}");
    disk.set_syncs_fail(false);
    let refused = store.append(1, &appends[1]);
    assert!(matches!(refused, Err(AppendError::Failed { .. })), "a later sync would say nothing of this one");
    assert_eq!((store.end(), store.head()), (1, hash(&appends[0][0])));
    assert_eq!(read_all(&*store.reader(), 1), appends[0], "reads go on, without the record in doubt");

    // The kernel has dropped the unsynced block, but still shows it: the next process must not believe it.
    let next = disk.after_kill();
    let present = check(&next, &appends, 1, "reopened");
    assert_eq!(present, 2, "the simulated kernel shows the block");
    assert_eq!(check(&next.after_power_cut(0), &appends, 2, "power cut after reopening"), 2);
}

#[test]
fn a_failed_sync_of_new_zeros_ends_appending_with_nothing_written() {
    let appends = chained(&[vec![vec![1; 100]]]);
    let disk = SimDisk::new();
    let mut store = open(&disk).unwrap();
    disk.set_syncs_fail(true);
    assert!(matches!(store.append(0, &appends[0]), Err(AppendError::Failed { .. })));
    assert_eq!(store.end(), 0);
    assert_eq!(run(&disk.after_kill(), &appends, 0), 1, "the log goes on after reopening");
}
