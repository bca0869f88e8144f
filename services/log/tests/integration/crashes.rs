//! Simulates kills and power cuts at every disk operation. After each kill or power cut, the log must contain the whole
//! interrupted append or nothing of it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use motherlode_log::{AppendError, Disk, OpenError, Options, SegmentStore, Store, Tail, genesis, hash, scan_on};
use motherlode_testkit::{
    conformance::{read_all, records},
    sim::SimDisk,
};
use proptest::prelude::*;

const SMALL: Options = Options { segment_bytes: 6 * 1024, zero_bytes: 1536 };

fn open(disk: &SimDisk) -> Result<SegmentStore, OpenError> {
    SegmentStore::open_on(Arc::new(disk.clone()), Path::new("p"), 3, SMALL)
}

fn chained(appends: &[Vec<Vec<u8>>]) -> Vec<Vec<Bytes>> {
    let mut head = genesis(3);
    let chain = |payloads: &Vec<Vec<u8>>| {
        let records = records(head, payloads);
        head = hash(records.last().unwrap());
        records
    };
    appends.iter().map(chain).collect()
}

fn run(disk: &SimDisk, appends: &[Vec<Bytes>], present: usize) -> usize {
    let Ok(mut store) = open(disk) else { return present };
    let mut acknowledged = present;
    for append in &appends[present..] {
        if store.append(store.end(), append).is_err() {
            break;
        }
        acknowledged += 1;
        if store.tend().is_err() {
            break;
        }
    }
    acknowledged
}

fn check(disk: &SimDisk, appends: &[Vec<Bytes>], least: usize, when: &str) -> usize {
    let store = open(disk).unwrap_or_else(|error| panic!("{when}: {error:?}"));
    let found = read_all(&*store.reader(), 1);
    let most = (least + 1).min(appends.len());
    let whole = (least..=most).find(|n| appends[..*n].concat() == found);
    let present =
        whole.unwrap_or_else(|| panic!("{when}: {} records found, but {least} appends were acknowledged", found.len()));
    let scanned: Vec<_> = scan_on(Arc::new(disk.clone()), Path::new("p")).unwrap().map(|r| r.unwrap().bytes).collect();
    assert_eq!(scanned, found, "{when}: the scan must match the store");
    present
}

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

fn payload() -> impl Strategy<Value = Vec<u8>> {
    let fill = prop_oneof![Just(0_u8), Just(0xFF), any::<u8>()];
    prop_oneof![
        (fill, 0_usize..2000).prop_map(|(byte, length)| vec![byte; length]),
        prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn appends() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    prop::collection::vec(prop::collection::vec(payload(), 1..4), 1..6)
        .prop_filter("an append must fit into a segment", |appends| {
            appends.iter().all(|append| append.iter().map(|payload| payload.len() + 50).sum::<usize>() < 5500)
        })
}

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
                prop_assert_eq!(run(&left, &appends, present), appends.len(), "{}: appends must succeed again", when);
                prop_assert_eq!(check(&left, &appends, appends.len(), &when), appends.len());
            }
        }
    }

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
                prop_assert_eq!(read_all(&*store.reader(), 1), appends[..n].concat(), "reads must still succeed");
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
fn uf_10_an_append_whose_sync_failed_is_unknown_until_the_log_is_mended_and_then_not_there() {
    let appends = chained(&[vec![vec![1; 100]], vec![vec![2; 900]], vec![vec![3; 100]]]);
    let disk = SimDisk::new();
    let mut store = open(&disk).unwrap();
    store.append(0, &appends[0]).unwrap();
    disk.set_syncs_fail(true);
    let failed = store.append(1, &appends[1]);
    assert!(matches!(failed, Err(AppendError::Unknown(_))), "{failed:?}");
    for _ in 0..2 {
        let refused = store.append(1, &appends[1]);
        assert!(
            matches!(refused, Err(AppendError::Unavailable(_))),
            "the append must be refused without a write: {refused:?}"
        );
    }
    assert_eq!((store.end(), store.head()), (1, hash(&appends[0][0])));
    assert_eq!(read_all(&*store.reader(), 1), appends[0], "reads must succeed, without the record in doubt");
    check(&disk.after_kill(), &appends, 1, "killed while in doubt");
    for seed in 0..8 {
        check(&disk.after_power_cut(seed), &appends, 1, "power cut while in doubt");
    }

    disk.set_syncs_fail(false);
    store.settle().unwrap();
    let gone = [disk.after_kill(), disk.after_power_cut(0), disk.after_power_cut(1), disk.after_power_cut(7)];
    for left in gone {
        assert_eq!(check(&left, &appends[..1], 1, "mended"), 1, "the append in doubt must not be in the log");
    }
    let other = records(store.head(), [b"other"]);
    store.append(1, &other).unwrap();
    let found = [&appends[0][..], &other].concat();
    drop(store);
    assert_eq!(read_all(&*open(&disk.after_power_cut(0)).unwrap().reader(), 1), found);
}

#[test]
fn uf_10_a_failed_sync_of_new_zeros_is_no_append_and_heals() {
    let appends = chained(&[vec![vec![1; 100]], vec![vec![2; 100]]]);
    let disk = SimDisk::new();
    let mut store = open(&disk).unwrap();
    disk.set_syncs_fail(true);
    for _ in 0..2 {
        let refused = store.append(0, &appends[0]);
        assert!(matches!(refused, Err(AppendError::Unavailable(_))), "{refused:?}");
        assert_eq!(store.end(), 0);
    }
    assert!(store.tend().is_err(), "the disk space for the failed append is still missing");
    assert_eq!(run(&disk.after_kill(), &appends, 0), 2, "appends must succeed after reopening");
    disk.set_syncs_fail(false);
    store.tend().unwrap();
    assert_eq!(run(&disk.after_power_cut(0), &appends, 0), 2);
    store.append(0, &appends[0]).unwrap();
    store.append(1, &appends[1]).unwrap();
    drop(store);
    assert_eq!(check(&disk.after_power_cut(0), &appends, 2, "healed"), 2);
}

#[test]
fn uf_10_an_opening_that_is_not_settled_changes_nothing() {
    let appends = chained(&[vec![vec![1; 100]], vec![vec![2; 900]]]);
    let torn = |operation: u64| {
        let disk = SimDisk::new();
        disk.stop_at(operation);
        (run(&disk, &appends, 0), disk.after_power_cut(2 + 4 * operation))
    };
    let mut tails = 0;
    for (acknowledged, left) in (0..40).map(torn) {
        let found: Vec<_> = names(&left).into_iter().map(|name| left.bytes(&name)).collect();
        let before = left.operations();
        let open = || SegmentStore::open_unchanged_on(Arc::new(left.clone()), Path::new("p"), 3, SMALL).unwrap();
        let store = open();
        tails += u64::from(matches!(store.recovered(), Tail::Torn { .. }));
        drop(store);
        assert_eq!(left.operations(), before, "opening must write nothing");
        let after: Vec<_> = names(&left).into_iter().map(|name| left.bytes(&name)).collect();
        assert_eq!(after, found);
        let mut store = open();
        let end = read_all(&*store.reader(), 1);
        store.settle().unwrap();
        drop(store);
        let settled = check(&left.after_power_cut(0), &appends, acknowledged, "settled");
        assert_eq!(appends[..settled].concat(), end, "the records found must be durable");
    }
    assert!(tails > 0, "some logs must have a torn tail");
}

fn names(disk: &SimDisk) -> Vec<PathBuf> {
    let mut names = disk.list(Path::new("p")).unwrap();
    names.sort();
    names.into_iter().map(|name| Path::new("p").join(name)).collect()
}

#[test]
fn uf_02_the_next_segment_is_there_before_it_is_needed() {
    let appends = chained(&(0..12).map(|n| vec![vec![n; 1200]]).collect::<Vec<_>>());
    let disk = SimDisk::new();
    let mut store = open(&disk).unwrap();
    for append in &appends {
        disk.set_no_descriptors(true);
        let refused = store.append(store.end(), append);
        if store.end() == 0 {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, AppendError::Unavailable(_)), "{refused:?}");
            disk.set_no_descriptors(false);
            store.append(0, append).unwrap();
        } else {
            refused.unwrap();
        }
        disk.set_no_descriptors(false);
        store.tend().unwrap();
    }
    assert!(names(&disk).len() > 3, "the log must have several segments");
    drop(store);
    assert_eq!(check(&disk.after_power_cut(0), &appends, 12, "at the end"), 12);
}

#[test]
fn uf_02_a_roll_without_descriptors_is_refused_and_heals() {
    let appends = chained(&(0..12).map(|n| vec![vec![n; 1200]]).collect::<Vec<_>>());
    let disk = SimDisk::new();
    let mut store = open(&disk).unwrap();
    store.append(0, &appends[0]).unwrap();
    disk.set_no_descriptors(true);
    let mut refused = 0;
    for append in &appends[1..] {
        if let Err(error) = store.append(store.end(), append) {
            assert!(matches!(error, AppendError::Unavailable(_)), "{error:?}");
            assert!(store.tend().is_err(), "the disk space it needs is still missing");
            refused += 1;
            disk.set_no_descriptors(false);
            store.tend().unwrap();
            store.append(store.end(), append).unwrap();
            disk.set_no_descriptors(true);
        }
    }
    assert!(refused > 1);
    disk.set_no_descriptors(false);
    drop(store);
    assert_eq!(check(&disk.after_power_cut(0), &appends, 12, "at the end"), 12);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// An append must be in the log if it was acknowledged, and must be absent if it was refused. An append whose outcome
    /// is unknown may be in the log or absent.
    #[test]
    fn uf_10_random_faults_lose_and_double_nothing_and_heal(
        payloads in prop::collection::vec(prop::collection::vec(payload(), 1..3), 4..24),
        percent in 1_usize..40,
        seed in any::<u64>(),
    ) {
        let payloads: Vec<_> = payloads.into_iter().filter(|append| {
            append.iter().map(|payload| payload.len() + 50).sum::<usize>() < 5500
        }).collect();
        let disk = SimDisk::new();
        let mut store = open(&disk).unwrap();
        let mut acknowledged: Vec<Bytes> = vec![];
        let mut doubtful: Option<Vec<Bytes>> = None;
        disk.set_faults(percent, seed);
        for (n, append) in payloads.iter().enumerate() {
            let records = records(store.head(), append);
            match store.append(store.end(), &records) {
                Ok(()) => {
                    acknowledged.extend(records);
                    doubtful = None;
                }
                Err(AppendError::Unknown(_)) => doubtful = Some(records),
                Err(AppendError::Full(_) | AppendError::Unavailable(_)) => {}
                Err(other) => prop_assert!(false, "{:?}", other),
            }
            if n % 3 == 0 && store.tend().is_ok() {
                doubtful = None;
            }
            prop_assert_eq!(&read_all(&*store.reader(), 1), &acknowledged, "reads must still succeed");
            let with_doubtful: Vec<_> = acknowledged.iter().chain(doubtful.iter().flatten()).cloned().collect();
            for left in [disk.after_kill(), disk.after_power_cut(seed ^ n as u64), disk.after_power_cut(0)] {
                let found = read_all(&*open(&left).unwrap().reader(), 1);
                prop_assert!(found == acknowledged || found == with_doubtful, "{} of {}", found.len(), acknowledged.len());
            }
        }
        disk.set_faults(0, 0);
        store.tend().unwrap();
        let last = records(store.head(), [b"last"]);
        store.append(store.end(), &last).unwrap();
        acknowledged.extend(last);
        drop(store);
        for left in [disk.after_kill(), disk.after_power_cut(seed), disk.after_power_cut(0)] {
            prop_assert_eq!(&read_all(&*open(&left).unwrap().reader(), 1), &acknowledged);
        }
    }
}
