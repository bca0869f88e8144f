use crate::common::{Tale, chained, change_outcome, options, segments, step, store};
use bytes::Bytes;
use motherlode_audit::{Options, Report, audit};
use motherlode_log::{genesis, hash};
use motherlode_proto::convert::record::{Logged, encode};
use motherlode_state::{CommonState, Event, Minor, StreamId};
use proptest::{prelude::*, sample::Index};
use std::{fs, path::Path, sync::LazyLock};

fn with(folder: &Path, threads: usize) -> Report {
    audit(&Options { threads, ..options(folder) }).unwrap()
}

fn told(report: &Report) -> String {
    match &report.divergence {
        Some(found) => format!("{found}"),
        None => format!(
            "{} {:?} {:?} {:?} {:?} {:?} {:?}",
            report.position, report.head, report.books, report.returns, report.awards, report.voids, report.seals
        ),
    }
}

#[test]
fn pl_06_an_audit_says_the_same_with_any_number_of_threads() {
    let mut tale = Tale::sealed(&["alice", "bob", "carol", "dave", "erin"]);
    for round in 0..60 {
        tale.plain_spin(["alice", "bob", "carol", "dave", "erin"][round * 3 % 5]);
    }
    tale.tend();
    let mut logs = vec![tale.log, Tale::of_everything_sealed().log, Tale::of_everything().log];
    let sound = logs[0].clone();
    let resolved = |logged: &Logged| logged.commit.events.iter().any(|event| matches!(event, Event::StepResolved(_)));
    let steps: Vec<_> = (0..sound.len()).filter(|at| resolved(&sound[*at])).collect();
    for pair in steps.windows(2).step_by(3) {
        for (outcome, balance) in [(pair[0], pair[1]), (pair[1], pair[0]), (pair[0], pair[0])] {
            let mut log = sound.clone();
            change_outcome(step(&mut log[outcome]), |outcome| outcome.round_win_coins += 1);
            log[balance].balances_after[0].1 = Minor(7);
            logs.push(log);
        }
    }
    let mut faults = 0;
    for log in &logs {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), &chained(log));
        let one = with(folder.path(), 1);
        faults += usize::from(one.divergence.is_some());
        for threads in [2, 3, 8, 0] {
            assert_eq!(told(&with(folder.path(), threads)), told(&one), "{threads} threads");
        }
    }
    assert_eq!(faults, logs.len() - 3);
}

#[derive(Debug, Clone)]
enum Damage {
    Removed(Index),
    Repeated(Index),
    Swapped(Index, Index),
    Forgotten(Index, Index),
    Replaced(Index, Index),
    Balance(Index, i64),
    Bits(Index, Index, u8),
    Renamed(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<Index>().prop_map(Damage::Removed),
        any::<Index>().prop_map(Damage::Repeated),
        any::<(Index, Index)>().prop_map(|(one, other)| Damage::Swapped(one, other)),
        any::<(Index, Index)>().prop_map(|(at, event)| Damage::Forgotten(at, event)),
        any::<(Index, Index)>().prop_map(|(at, other)| Damage::Replaced(at, other)),
        any::<(Index, i64)>().prop_map(|(at, amount)| Damage::Balance(at, amount)),
        any::<(Index, Index, u8)>().prop_map(|(at, byte, bits)| Damage::Bits(at, byte, bits)),
        any::<(Index, Index)>().prop_map(|(at, other)| Damage::Renamed(at, other)),
    ]
}

fn damaged(log: &[Logged], damages: &[Damage]) -> Vec<Bytes> {
    let mut log = log.to_vec();
    for damage in damages {
        let length = log.len();
        match damage {
            Damage::Removed(at) => _ = log.remove(at.index(length)),
            Damage::Repeated(at) => log.insert(at.index(length), log[at.index(length)].clone()),
            Damage::Swapped(one, other) => log.swap(one.index(length), other.index(length)),
            Damage::Forgotten(at, event) => {
                let events = &mut log[at.index(length)].commit.events;
                if !events.is_empty() {
                    events.remove(event.index(events.len()));
                }
            }
            Damage::Replaced(at, other) => {
                log[at.index(length)].commit.events = log[other.index(length)].commit.events.clone();
            }
            Damage::Balance(at, amount) => {
                if let Some((_, balance)) = log[at.index(length)].balances_after.first_mut() {
                    *balance = Minor(*amount);
                }
            }
            Damage::Bits(..) | Damage::Renamed(..) => {}
        }
    }
    let mut previous = genesis(0);
    let record = |(at, logged): (usize, &Logged)| {
        let mut bytes = encode(&previous, logged).to_vec();
        for damage in damages {
            match damage {
                Damage::Bits(of, byte, bits) if of.index(log.len()) == at => {
                    let byte = 34 + byte.index(bytes.len() - 34);
                    bytes[byte] ^= bits;
                }
                Damage::Renamed(of, other) if of.index(log.len()) == at => {
                    let name = log[other.index(log.len())].commit.stream.to_string();
                    bytes.extend([4 << 3 | 2, u8::try_from(name.len()).unwrap()]);
                    bytes.extend(name.bytes());
                }
                _ => {}
            }
        }
        previous = hash(&bytes);
        bytes.into()
    };
    log.iter().enumerate().map(record).collect()
}

static SOUND: LazyLock<Vec<Logged>> = LazyLock::new(|| {
    let mut log = Tale::of_everything_sealed().log;
    log.truncate(120);
    log
});

#[test]
fn pl_06_a_record_that_is_handed_out_as_a_players_and_is_none_is_told() {
    let at = SOUND.iter().position(|logged| CommonState::is_changed_by(&logged.commit)).expect("a pool is opened");
    let name = SOUND[at].commit.stream.to_string();
    let mut previous = genesis(0);
    let record = |(place, logged): (usize, &Logged)| {
        let mut logged = logged.clone();
        if place == at {
            logged.commit.stream = StreamId::player("acme", "alice");
        }
        let mut bytes = encode(&previous, &logged).to_vec();
        if place == at {
            bytes.extend([4 << 3 | 2, u8::try_from(name.len()).unwrap()]);
            bytes.extend(name.bytes());
        }
        previous = hash(&bytes);
        bytes.into()
    };
    let records: Vec<Bytes> = SOUND.iter().enumerate().map(record).collect();
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &records);
    for threads in [1, 3] {
        let found = with(folder.path(), threads).divergence.expect("a divergence");
        assert_eq!((found.position, &*found.what), (at as u64 + 1, "the record names two streams"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pl_06_an_audit_of_a_damaged_log_says_the_same_with_any_number_of_threads(
        damages in prop::collection::vec(damage(), 1..4),
        cut in any::<Option<(Index, u8)>>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), &damaged(&SOUND, &damages));
        if let Some((at, bits)) = cut {
            let file = segments(folder.path()).pop().unwrap();
            let mut bytes = fs::read(&file).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
            fs::write(&file, bytes).unwrap();
        }
        let one = told(&with(folder.path(), 1));
        for threads in [2, 3, 8] {
            prop_assert_eq!(told(&with(folder.path(), threads)), one.clone(), "{} threads", threads);
        }
    }
}
