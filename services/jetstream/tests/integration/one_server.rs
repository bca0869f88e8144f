use crate::parts::{Acknowledged, append, holds, payloads};
use motherlode_jetstream::{JetStreamStore, OpenError, scan};
use motherlode_log::{AppendError, Store};
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::{conformance, nats::Node};
use std::{sync::Arc, thread};

fn server(more: &str) -> (tempfile::TempDir, Node) {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), more);
    (folder, node)
}

fn open(config: &Config) -> JetStreamStore {
    JetStreamStore::open(config, 0).unwrap()
}

#[test]
fn the_store_conforms() {
    let (_folder, node) = server("");
    let config = node.config("CONFORMANCE");
    let mut partition = 0;
    conformance::suite(&mut || {
        partition += 1;
        Box::new(JetStreamStore::open(&config, partition).unwrap())
    });
}

#[test]
fn an_opening_finds_everything_and_goes_on() {
    let (_folder, node) = server("");
    let config = node.config("S");
    let mut all = Acknowledged::new();
    for opening in 0..3 {
        let mut store = open(&config);
        assert_eq!(store.end(), all.len() as u64);
        let early = store.reader();
        for n in 0..150 {
            append(&mut store, &payloads(&format!("opening {opening}"), n), &mut all).unwrap();
        }
        for reader in [early, store.reader()] {
            let wanted: Vec<_> = all.values().cloned().collect();
            assert_eq!(conformance::read_all(&*reader, 1), wanted);
            for (position, bytes) in &all {
                let read = reader.read(*position, 1, 1).unwrap();
                assert_eq!((read.len(), read[0].position, &read[0].bytes), (1, *position, bytes));
            }
        }
    }
    assert_eq!(holds(&config, &all), all.len() as u64);
}

#[test]
fn whoever_opens_takes_over_and_the_one_before_appends_nothing_more() {
    let (_folder, node) = server("");
    let config = node.config("S");
    let mut all = Acknowledged::new();
    let mut first = open(&config);
    append(&mut first, &payloads("first", 1), &mut all).unwrap();
    let mut second = open(&config);
    for n in 0..2 {
        let refused = append(&mut first, &payloads("first", 2), &mut all);
        assert!(matches!(refused, Err(AppendError::Fenced { .. })), "try {n}: {refused:?}");
    }
    append(&mut second, &payloads("second", 1), &mut all).unwrap();
    let refused = append(&mut first, &payloads("first", 2), &mut all);
    assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    assert_eq!(conformance::read_all(&*first.reader(), 1).len(), 2, "a fenced writer must still read its own records");
    assert_eq!(holds(&config, &all), 4);
}

#[test]
fn an_append_of_another_writer_is_never_taken_for_ones_own() {
    let (_folder, node) = server("");
    let config = node.config("S");
    let (mut first, mut all) = (open(&config), Acknowledged::new());
    let mut second = open(&config);
    append(&mut second, &payloads("same", 1), &mut all).unwrap();
    let refused = append(&mut first, &payloads("same", 1), &mut Acknowledged::new());
    assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    assert_eq!(holds(&config, &all), 2);
}

#[test]
fn writers_that_race_never_both_append() {
    const APPENDS: usize = 40;
    let (_folder, node) = server("");
    let config = Arc::new(node.config("S"));
    let race = |name: &'static str| {
        let config = Arc::clone(&config);
        thread::spawn(move || {
            let (mut store, mut all, mut fenced) = (open(&config), Acknowledged::new(), 0);
            for n in 0..APPENDS {
                while let Err(refused) = append(&mut store, &payloads(name, n), &mut all) {
                    assert!(matches!(refused, AppendError::Fenced { .. }), "{refused:?}");
                    fenced += 1;
                    store = open(&config);
                }
                if n % 8 == 7 {
                    store = open(&config);
                }
            }
            (all, fenced)
        })
    };
    let racing = ["a", "b"].map(race);
    let mut all = Acknowledged::new();
    for writer in racing {
        let (acknowledged, _) = writer.join().unwrap();
        let count = all.len() + acknowledged.len();
        all.extend(acknowledged);
        assert_eq!(all.len(), count, "two appends were acknowledged for one position");
    }
    assert_eq!(holds(&config, &all), all.len() as u64, "only acknowledged appends may be stored");
}

#[test]
fn a_scan_follows_a_stream_that_is_written() {
    let (_folder, node) = server("");
    let config = node.config("S");
    assert!(matches!(scan(&config, 0), Err(OpenError::Missing { .. })), "a scan must not create a stream");
    let (mut store, mut all) = (open(&config), Acknowledged::new());
    let mut following = scan(&config, 0).unwrap();
    for n in 0..5 {
        assert!(following.next().is_none());
        append(&mut store, &payloads("a", n), &mut all).unwrap();
        let read = following.by_ref().count();
        assert_eq!(read, n % 4 + 1);
        assert_eq!(following.verified(), (store.end(), store.head()));
    }
}

#[test]
fn a_server_without_room_refuses_appends_whole_and_takes_what_fits() {
    let folder = tempfile::tempdir().unwrap();
    let limit = "accounts { A { jetstream { max_file: 300KB }, users: [{ user: u, password: p }] } }\nno_auth_user: u";
    let node = Node::start(folder.path(), limit);
    let config = node.config("S");
    let (mut store, mut all) = (open(&config), Acknowledged::new());
    let large = vec![vec![7; 40_000]];
    let refused = loop {
        if let Err(refused) = append(&mut store, &large, &mut all) {
            break refused;
        }
    };
    assert!(matches!(refused, AppendError::Full(_)), "{refused:?}");
    assert!(!all.is_empty());
    assert_eq!((store.end(), holds(&config, &all)), (all.len() as u64, all.len() as u64));
    append(&mut store, &[vec![7; 100]], &mut all).unwrap();
    assert_eq!(holds(&config, &all), all.len() as u64);
}

#[test]
fn an_append_that_no_message_holds_is_refused_and_a_large_one_is_not() {
    let (_folder, node) = server("");
    let (mut store, mut all) = (open(&node.config("S")), Acknowledged::new());
    let refused = append(&mut store, &[vec![1; 8 << 20]], &mut all);
    assert!(matches!(refused, Err(AppendError::TooLarge { .. })), "{refused:?}");
    append(&mut store, &[vec![1; 4 << 20], vec![2; 3 << 20]], &mut all).unwrap();
    assert_eq!(holds(&node.config("S"), &all), 2);
    let read = store.reader().read(1, 10, usize::MAX).unwrap();
    assert_eq!(read.len(), 2);
}

#[test]
fn a_server_that_is_killed_leaves_what_was_acknowledged_and_perhaps_one_append_more() {
    let (_folder, mut node) = server("");
    let config = Config { append_ms_max: 1_000, ..node.config("S") };
    let (mut store, mut all) = (open(&config), Acknowledged::new());
    for n in 0..20 {
        append(&mut store, &payloads("a", n), &mut all).unwrap();
    }
    node.kill();
    let failed = append(&mut store, &payloads("a", 3), &mut all);
    assert!(matches!(failed, Err(AppendError::Failed { .. })), "{failed:?}");
    let failed = append(&mut store, &payloads("a", 3), &mut all);
    assert!(
        matches!(failed, Err(AppendError::Failed { .. })),
        "appends must fail until the log is opened again: {failed:?}"
    );
    node.restart();
    let config = node.config("S");
    let mut store = open(&config);
    assert!([all.len(), all.len() + 4].contains(&usize::try_from(store.end()).unwrap()));
    append(&mut store, &payloads("b", 0), &mut all).unwrap();
    holds(&config, &all);
}

#[test]
fn an_append_outlasts_a_restart_of_the_server() {
    let (_folder, mut node) = server("");
    let config = node.config("S");
    let (mut store, mut all) = (open(&config), Acknowledged::new());
    for n in 0..3 {
        append(&mut store, &payloads("up", n), &mut all).unwrap();
        node.kill();
        let restarting = thread::spawn(move || {
            node.restart();
            node
        });
        append(&mut store, &payloads("down", n), &mut all).unwrap();
        node = restarting.join().unwrap();
    }
    assert_eq!(holds(&config, &all), all.len() as u64);
}
