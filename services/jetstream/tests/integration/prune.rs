use crate::parts::{Acknowledged, append, payloads};
use bytes::Bytes;
use motherlode_jetstream::{Following, JetStreamStore, OpenError, PruneError, scan};
use motherlode_log::{AppendError, LogStart, Position, ReadError, Store, hash};
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::{
    conformance::{a_log_that_starts_later, read_all},
    nats::{Cluster, Node},
};
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

const APPENDS: usize = 300;
const MARGIN: Duration = Duration::from_secs(3);
const WITHOUT_UPDATES: &str = "no_auth_user: ledger
authorization { users: [{ user: ledger, password: x, permissions { publish { deny: \"$JS.API.STREAM.UPDATE.>\" } } }] }";

fn open(config: &Config) -> JetStreamStore {
    JetStreamStore::open(config, 0).unwrap()
}

fn written(config: &Config) -> (JetStreamStore, Vec<Bytes>) {
    let (mut store, mut all) = (open(config), Acknowledged::new());
    for n in 0..APPENDS {
        append(&mut store, &payloads("a", n), &mut all).unwrap();
    }
    let begun = Instant::now();
    while begun.elapsed() < MARGIN + Duration::from_secs(1) {
        append(&mut store, &payloads("b", 0), &mut all).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    for n in 0..APPENDS {
        append(&mut store, &payloads("c", n), &mut all).unwrap();
    }
    (store, all.into_values().collect())
}

fn place(records: &[Bytes]) -> Position {
    (records.len() - APPENDS) as Position
}

fn api(node: &Node, call: &str, body: &Value) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let answer: Value = serde_json::from_str(&node.ask(&format!("$JS.API.{call}"), &body.to_string())).unwrap();
        // 503: the cluster has no leader at present.
        if answer["error"]["code"] != 503 || Instant::now() > until {
            assert!(answer["error"].is_null(), "{answer}");
            return answer;
        }
    }
}

fn info(node: &Node) -> Value {
    api(node, "STREAM.INFO.S_0", &json!({}))
}

fn state(node: &Node) -> [u64; 3] {
    let info = info(node);
    ["first_seq", "last_seq", "messages"].map(|key| info["state"][key].as_u64().unwrap())
}

fn has_limit(node: &Node) -> bool {
    info(node)["config"]["max_age"] != 0
}

fn limit(node: &Node, age: Duration) {
    let mut config = info(node)["config"].clone();
    let age = u64::try_from(age.as_nanos()).unwrap();
    (config["max_age"], config["duplicate_window"]) = (json!(age), json!(age));
    api(node, "STREAM.UPDATE.S_0", &config);
}

fn kept(records: &[Bytes], start: LogStart) -> &[Bytes] {
    let (before, kept) = records.split_at(usize::try_from(start.first - 1).unwrap());
    assert_eq!(start.previous, hash(before.last().unwrap()));
    kept
}

fn scanned(config: &Config) -> Vec<Bytes> {
    scan(config, 0).unwrap().map(|record| record.unwrap().bytes).collect()
}

#[test]
fn pl_37_a_pruned_stream_starts_later_for_its_writer_its_followers_and_every_new_process() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), "");
    let config = node.config("S");
    let (mut store, mut records) = written(&config);
    let mut following = Following::find(&config, 0).unwrap();
    while following.more().unwrap() {}
    let (place, mut removed) = (place(&records), 1);
    store.record_start(place).unwrap();
    let before = state(&node);
    let error = store.remove_before_start(Duration::ZERO).unwrap_err().to_string();
    assert!(error.contains("nothing was removed") && !has_limit(&node), "{error}");
    assert_eq!(state(&node), before, "no message is removed if the margin leaves no time");
    for (before, margin) in [(place, 3_600), (place, 3), (120, 3), (place + 5, 3)] {
        let start = store.record_start(before).unwrap();
        assert!(start.first <= before.max(place) && start.first + 4 > before, "{start:?}");
        store.remove_before_start(Duration::from_secs(margin)).unwrap();
        let [first, last, messages] = state(&node);
        assert_eq!(messages, last + 1 - first);
        assert!((removed == 1) == (margin == 3_600) || first >= removed, "{margin} s: message {first} is the first");
        assert!(!has_limit(&node));
        removed = first;
    }
    assert!(removed > APPENDS as u64, "the messages before the margin are removed: {removed}");
    let start = store.start();
    while following.more().unwrap() {}
    let reader = following.reader();
    assert_eq!((reader.first(), reader.identity().unwrap()), (start.first, Some(hash(&records[0]))));
    assert!(
        matches!(reader.read(start.first - 1, 1, 0), Err(ReadError::Archived { first, .. }) if first == start.first)
    );
    assert_eq!(read_all(&*reader, start.first), kept(&records, start));
    drop(store);

    let mut store = open(&config);
    assert_eq!((store.start(), store.reader().identity().unwrap()), (start, Some(hash(&records[0]))));
    a_log_that_starts_later(&mut store, kept(&records, start));
    records.truncate(usize::try_from(start.first - 1).unwrap());
    records.extend(scanned(&config));
    assert_eq!((scan(&config, 0).unwrap().start(), records.len() as Position), (start, store.end()));
    let start = store.record_start(place + 200).unwrap();
    store.remove_before_start(MARGIN).unwrap();
    assert_eq!(scanned(&config), kept(&records, start));
}

#[test]
fn pl_37_a_prune_reports_that_messages_after_the_start_reached_the_maximum_age() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), "");
    let config = node.config("S");
    let (mut store, records) = written(&config);
    store.record_start(place(&records)).unwrap();
    let last = state(&node)[1];
    limit(&node, Duration::from_millis(100));
    let until = Instant::now() + Duration::from_secs(60);
    while state(&node)[0] <= last {
        assert!(Instant::now() < until, "the messages are still there");
    }
    let error = store.remove_before_start(Duration::from_secs(3_600)).unwrap_err().to_string();
    assert!(error.contains("removed records that must stay"), "{error}");
}

#[test]
fn pl_37_the_next_writer_removes_the_limit_of_a_prune_that_was_killed_between_its_updates() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = Node::start(&folder.path().join("node"), "");
    let config = node.config("S");
    let (mut store, mut records) = written(&config);
    let start = store.record_start(place(&records)).unwrap();
    drop(store);
    let age = Duration::from_secs(3_600);
    limit(&node, age);
    node.restart();
    assert!(has_limit(&node));
    assert_eq!(scanned(&config), kept(&records, start), "readers accept the limit, but do not remove it");
    assert!(has_limit(&node));

    node.restart_with(WITHOUT_UPDATES);
    let refused = JetStreamStore::open(&config, 0).unwrap_err();
    assert!(
        matches!(&refused, OpenError::Limited { .. }) && refused.to_string().contains("STREAM.UPDATE"),
        "{refused}"
    );
    node.restart();
    assert!(has_limit(&node));
    let (mut store, mut more) = (open(&config), Acknowledged::new());
    assert!(!has_limit(&node), "the limit must be removed before the first append");
    for n in 0..100 {
        append(&mut store, &payloads("d", n), &mut more).unwrap();
    }
    records.extend(more.into_values());
    assert_eq!((store.record_start(start.first).unwrap(), state(&node)[0]), (start, 1));
    store.remove_before_start(MARGIN).unwrap();
    assert!(state(&node)[0] > APPENDS as u64);
    assert_eq!(scanned(&config), kept(&records, start));
}

#[test]
fn pl_37_a_limit_without_a_recorded_start_is_refused_and_an_old_writer_records_no_start() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), "");
    let config = node.config("S");
    let (mut old, records) = written(&config);
    let _new = open(&config);
    let refused = old.record_start(300).unwrap_err();
    assert!(matches!(refused, PruneError::Append(AppendError::Fenced { .. })), "{refused}");
    assert_eq!(scanned(&config), records);
    limit(&node, Duration::from_secs(3_600));
    match JetStreamStore::open(&config, 0) {
        Err(OpenError::Stream { fault, .. }) => assert!(fault.starts_with("max_age is"), "{fault}"),
        other => panic!("{other:?}"),
    }
    assert!(has_limit(&node));
    limit(&node, MARGIN);
    while state(&node)[0] == 1 {
        thread::yield_now();
    }
    match JetStreamStore::open(&config, 0) {
        Err(OpenError::Stream { fault, .. }) => assert!(!fault.is_empty()),
        other => panic!("{other:?}"),
    }
    assert!(scan(&config, 0).unwrap().next().unwrap().is_err(), "the lost records are damage");
}

#[test]
fn pl_37_three_servers_prune_alike_and_no_prune_begins_while_one_is_down() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path());
    let config = Config { append_ms_max: 60_000, ..cluster.config("S") };
    let (mut store, mut records) = written(&config);
    let start = store.record_start(place(&records)).unwrap();
    cluster.nodes[2].kill();
    let refused = loop {
        let before = state(&cluster.nodes[0])[0];
        assert_eq!(before, 1);
        match store.remove_before_start(Duration::from_secs(3_600)) {
            Ok(()) => thread::sleep(Duration::from_millis(50)),
            Err(refused) => break refused,
        }
    };
    assert!(matches!(&refused, PruneError::Behind { server, .. } if server == "node3"), "{refused}");
    cluster.nodes[2].restart();
    cluster.nodes.iter().for_each(Node::catch_up);
    while let Err(refused) = store.remove_before_start(MARGIN) {
        assert!(matches!(refused, PruneError::Behind { .. }), "{refused}");
        thread::sleep(Duration::from_millis(50));
    }
    let mut more = Acknowledged::new();
    for n in 0..50 {
        append(&mut store, &payloads("d", n), &mut more).unwrap();
    }
    records.extend(more.into_values());
    for victim in 0..3 {
        cluster.nodes.iter().for_each(Node::catch_up);
        cluster.nodes[victim].kill();
        assert_eq!(scanned(&config), kept(&records, start));
        cluster.nodes[victim].restart();
    }
    cluster.nodes.iter().for_each(Node::catch_up);
    let store = open(&config);
    assert_eq!((store.start(), store.end()), (start, records.len() as Position));
}
