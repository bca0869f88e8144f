use crate::parts::{Acknowledged, append, holds, payloads};
use async_nats::HeaderMap;
use bytes::Bytes;
use motherlode_jetstream::{Absent, Following, JetStreamStore, OpenError, exists, scan};
use motherlode_log::{AppendError, Store, block};
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::{
    conformance::{read_all, records},
    nats::Node,
};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread};
use tokio::runtime::Runtime;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn server() -> (tempfile::TempDir, Node) {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), "");
    (folder, node)
}

fn key_file(folder: &Path, digit: &str) -> std::path::PathBuf {
    let path = folder.join(format!("key-{digit}"));
    fs::write(&path, digit.repeat(64)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn keyed(node: &Node, folder: &Path) -> Config {
    Config { key_file: Some(key_file(folder, "a")), ..node.config("S") }
}

fn unsigned(node: &Node) -> Config {
    let mut config = Config { key_file: None, ..node.config("S") };
    config.allow_unsafe.unsigned = true;
    config
}

struct Attacker {
    runtime: Runtime,
    client: async_nats::Client,
}

impl Attacker {
    fn new(node: &Node) -> Self {
        let runtime = runtime();
        let client = runtime.block_on(async_nats::connect(node.url().to_owned())).unwrap();
        Self { runtime, client }
    }

    fn publish(&self, subject: &'static str, epoch: Option<u64>, payload: Bytes) {
        let mut headers = HeaderMap::new();
        if let Some(epoch) = epoch {
            headers.insert("Motherlode-Epoch", epoch.to_string());
        }
        let published = self.runtime.block_on(self.client.request_with_headers(subject, headers, payload)).unwrap();
        let answer = String::from_utf8(published.payload.to_vec()).unwrap();
        assert!(answer.contains("\"seq\""), "{answer}");
    }

    fn forge(&self, store: &JetStreamStore, epoch: u64) {
        let forged = records(store.head(), [b"5000000000000000 for the attacker".to_vec()]);
        self.publish("S_0.block", Some(epoch), block::encode(store.end() + 1, &forged));
    }

    fn begin_epoch(&self) {
        self.publish("S_0.epoch", None, Bytes::from_static(b"0123456789abcdef0123456789abcdef"));
    }

    fn api(&self, call: &str, body: serde_json::Value) -> serde_json::Value {
        let request = self.client.request(format!("$JS.API.{call}"), body.to_string().into());
        let answer = self.runtime.block_on(request).unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer
    }

    fn update(&self, key: &str, value: serde_json::Value) {
        let mut config = self.api("STREAM.INFO.S_0", serde_json::json!({}))["config"].take();
        config[key] = value;
        self.api("STREAM.UPDATE.S_0", config);
    }
}

#[test]
fn mf_e4_junk_on_a_stream_without_a_key_stops_neither_the_writer_nor_the_next_start() {
    let (_folder, node) = server();
    let (config, attacker) = (unsigned(&node), Attacker::new(&node));
    let mut all = Acknowledged::new();
    for opening in 0..2 {
        let mut store = JetStreamStore::open(&config, 0).unwrap();
        append(&mut store, &payloads("before", 3), &mut all).unwrap();
        attacker.publish("S_0.block", None, "junk".into());
        attacker.publish("S_0.more.block", Some(1), "junk".into());
        attacker.publish("S_0.epoch", None, "junk".into());
        append(&mut store, &payloads("after", 3), &mut all).unwrap();
        let wanted: Vec<_> = all.values().cloned().collect();
        assert_eq!(read_all(&*store.reader(), 1), wanted, "opening {opening}");
        assert_eq!(store.presence(&[]).foreign().collect::<Vec<_>>(), [(0, if opening == 0 { 3 } else { 6 })]);
    }
    assert_eq!(holds(&config, &all), all.len() as u64);
}

#[test]
fn mf_e4_a_chained_block_with_the_current_epoch_is_not_in_the_log_without_its_mac() {
    let (folder, node) = server();
    let (config, attacker) = (keyed(&node, folder.path()), Attacker::new(&node));
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    for n in 0..40 {
        append(&mut store, &payloads("own", n), &mut all).unwrap();
        attacker.forge(&store, 1);
    }
    append(&mut store, &payloads("own", 40), &mut all).unwrap();
    assert_eq!(holds(&config, &all), all.len() as u64);
    attacker.forge(&store, 1);
    let mut next = JetStreamStore::open(&config, 0).unwrap();
    assert_eq!((next.end(), next.head()), (store.end(), store.head()));
    append(&mut next, &payloads("next", 1), &mut all).unwrap();
    for (position, bytes) in &all {
        assert_eq!(next.reader().read(*position, 1, 1).unwrap()[0].bytes, bytes, "{position}");
    }
    for other in [Config { key_file: Some(key_file(folder.path(), "b")), ..config.clone() }, unsigned(&node)] {
        assert!(matches!(JetStreamStore::open(&other, 0), Err(OpenError::Read(_))));
        assert!(scan(&other, 0).unwrap().next().unwrap().is_err());
    }
    append(&mut next, &payloads("next", 2), &mut all).unwrap();
    assert_eq!(holds(&config, &all), all.len() as u64);
}

#[test]
fn mf_e4_without_a_configured_key_a_log_gets_one_and_needs_it_from_then_on() {
    let (folder, node) = server();
    let own = |data: &str| folder.path().join(data).join("keys").join("stream");
    let at = |data: &str| Config { key_file: None, own_key_file: Some(own(data)), ..node.config("S") };
    let (config, attacker) = (at("data"), Attacker::new(&node));
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    assert_eq!(fs::metadata(own("data")).unwrap().permissions().mode() & 0o777, 0o600);
    append(&mut store, &payloads("own", 1), &mut all).unwrap();
    attacker.forge(&store, 1);
    append(&mut store, &payloads("own", 2), &mut all).unwrap();
    drop(store);
    assert_eq!(JetStreamStore::open(&config, 0).unwrap().end(), all.len() as u64);
    assert_eq!(holds(&config, &all), all.len() as u64);

    let other = at("other");
    let refused = |found: Result<(), OpenError>| match found {
        Err(OpenError::Unsafe(refused)) => assert_eq!(refused.key, "unsigned", "{refused}"),
        found => panic!("{found:?}"),
    };
    refused(JetStreamStore::open(&other, 0).map(drop));
    refused(scan(&other, 0).map(drop));
    refused(Following::find(&other, 0).map(drop));
    assert!(exists(&other, 0).unwrap() && !own("other").exists());
    fs::create_dir_all(own("other").parent().unwrap()).unwrap();
    fs::copy(own("data"), own("other")).unwrap();
    assert_eq!(JetStreamStore::open(&other, 0).unwrap().end(), all.len() as u64);

    let missing = Config { stream: "T".to_owned(), key_file: Some(folder.path().join("missing")), ..config };
    assert!(matches!(JetStreamStore::open(&missing, 0), Err(OpenError::Key { .. })));
    assert!(!exists(&missing, 0).unwrap());
}

#[test]
fn mf_e4_repeated_epochs_of_others_stop_no_writes() {
    let (folder, node) = server();
    let (config, attacker) = (keyed(&node, folder.path()), Attacker::new(&node));
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    let presence = store.presence(&[]);
    let holding = thread::spawn(move || runtime().block_on(presence.hold()));
    for n in 0..200 {
        attacker.begin_epoch();
        append(&mut store, &payloads("own", n), &mut all).unwrap();
    }
    for _ in 0..300 {
        attacker.begin_epoch();
    }
    append(&mut store, &payloads("own", 0), &mut all).unwrap();
    let next = JetStreamStore::open(&config, 0).unwrap();
    let refused = append(&mut store, &payloads("own", 1), &mut all);
    assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    let why = holding.join().unwrap();
    assert!(why.starts_with("another process took over the log with message 703 of stream S_0"), "{why}");
    assert_eq!(next.end(), all.len() as u64);
    assert_eq!(holds(&config, &all), all.len() as u64);
}

#[test]
fn mf_e4_a_stream_that_was_written_without_a_key_is_read_up_to_the_recorded_message() {
    let (folder, node) = server();
    let (config, attacker) = (keyed(&node, folder.path()), Attacker::new(&node));
    let mut all = Acknowledged::new();
    let mut old = JetStreamStore::open(&unsigned(&node), 0).unwrap();
    append(&mut old, &payloads("old", 3), &mut all).unwrap();
    append(&mut old, &payloads("old", 2), &mut all).unwrap();
    let up_to = |message| Config { unsigned_up_to: [("S_0".to_owned(), message)].into(), ..config.clone() };
    for (config, hint) in [
        (config.clone(), "[store.unsigned_up_to]"),
        (up_to(2), "[store.unsigned_up_to]"),
        (up_to(4), "after the stream's last message, 3"),
    ] {
        let refused = JetStreamStore::open(&config, 0).unwrap_err().to_string();
        assert!(refused.contains(hint), "{refused}");
    }
    let config = up_to(3);
    let mut store = JetStreamStore::open(&config, 0).unwrap();
    append(&mut store, &payloads("new", 1), &mut all).unwrap();
    attacker.forge(&store, 4);
    append(&mut store, &payloads("new", 2), &mut all).unwrap();
    drop(store);
    assert_eq!(JetStreamStore::open(&config, 0).unwrap().end(), all.len() as u64);
    assert_eq!(holds(&config, &all), all.len() as u64);
}

#[test]
fn mf_e4_a_stream_that_is_changed_or_deleted_while_it_is_written_ends_the_writers_turn() {
    for (key, value) in [
        ("max_age", serde_json::json!(3_600_000_000_000_u64)),
        ("republish", serde_json::json!({ "src": ">", "dest": "leak.>" })),
        ("subjects", serde_json::json!(["S_0.>", "others"])),
        ("max_msgs", serde_json::json!(1000)),
    ] {
        let (folder, node) = server();
        let (config, attacker) = (keyed(&node, folder.path()), Attacker::new(&node));
        let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
        append(&mut store, &payloads("own", 3), &mut all).unwrap();
        attacker.update(key, value);
        let why = runtime().block_on(store.presence(&[]).hold());
        assert!(why.starts_with(&format!("stream S_0 was changed: {key} is")), "{why}");
    }
    let (folder, node) = server();
    let (config, attacker) = (keyed(&node, folder.path()), Attacker::new(&node));
    let store = JetStreamStore::open(&config, 0).unwrap();
    attacker.api("STREAM.DELETE.S_0", serde_json::json!({}));
    let why = runtime().block_on(store.presence(&[]).hold());
    assert!(why.starts_with("stream S_0 was changed: it was deleted"), "{why}");
    let refused = JetStreamStore::open_or(&config, 0, Absent::Refuse("an index was made from its log"), None);
    assert!(matches!(refused, Err(OpenError::Deleted { .. })), "{refused:?}");
    let refused = JetStreamStore::open(&Config { create: false, ..config.clone() }, 0);
    assert!(matches!(refused, Err(OpenError::Deleted { .. })), "{refused:?}");
    assert!(!exists(&config, 0).unwrap());
}

#[test]
fn mf_e4_a_scan_of_a_damaged_stream_has_the_records_before_the_damage() {
    let (_folder, node) = server();
    let (config, attacker) = (unsigned(&node), Attacker::new(&node));
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    for n in 0..10 {
        append(&mut store, &payloads("own", n), &mut all).unwrap();
    }
    attacker.publish("S_0.block", Some(1), "no block".into());
    let refused = append(&mut store, &payloads("own", 1), &mut all);
    assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    assert!(matches!(JetStreamStore::open(&config, 0), Err(OpenError::Read(_))));
    let mut scan = scan(&config, 0).unwrap();
    for (position, bytes) in &all {
        let record = scan.next().unwrap().unwrap();
        assert_eq!((record.position, &record.bytes), (*position, bytes));
    }
    for _ in 0..2 {
        let damage = scan.next().unwrap().unwrap_err().to_string();
        assert!(damage.contains("message 12 of stream S_0"), "{damage}");
    }
}
