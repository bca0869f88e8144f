use crate::parts::{Acknowledged, append, holds, payloads};
use futures_util::StreamExt;
use motherlode_jetstream::{Absent, Following, JetStreamStore, OpenError, vacant};
use motherlode_log::{AppendError, ReadError, Store};
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::{conformance, nats::Node};
use serde_json::Value;
use std::{
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};

const NEVER: Duration = Duration::from_secs(120);

fn server() -> (tempfile::TempDir, Node, Config) {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("node"), "");
    let config = node.config("S");
    (folder, node, config)
}

fn appends(store: &mut JetStreamStore, count: usize, all: &mut Acknowledged) {
    for n in 0..count {
        append(store, &payloads("a", n), all).unwrap();
    }
}

fn catch_up(following: &mut Following) {
    while following.more().unwrap() {}
}

fn ask(node: &Node, subject: &'static str) {
    let url = node.url().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let client = async_nats::connect(url).await.unwrap();
        client.request(subject, "".into()).await.unwrap();
    });
}

struct PresenceRequests {
    runtime: tokio::runtime::Runtime,
    client: async_nats::Client,
    requests: async_nats::Subscriber,
}

impl PresenceRequests {
    fn listen(node: &Node) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (client, requests) = runtime.block_on(async {
            let client = async_nats::connect(node.url()).await.unwrap();
            let requests = client.subscribe("$JS.API.DIRECT.GET.S_0").await.unwrap();
            client.flush().await.unwrap();
            (client, requests)
        });
        Self { runtime, client, requests }
    }

    fn since(mut self) -> Vec<u64> {
        self.runtime.block_on(async {
            self.client.publish("$JS.API.DIRECT.GET.S_0", "over".into()).await.unwrap();
            let mut from = vec![];
            while let Some(request) = self.requests.next().await.filter(|request| &*request.payload != b"over") {
                from.push(serde_json::from_slice::<Value>(&request.payload).unwrap()["seq"].as_u64().unwrap());
            }
            from
        })
    }
}

#[test]
fn at_a2_of_two_that_find_no_writer_at_the_same_time_one_takes_the_log() {
    let (_folder, _node, config) = server();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (silent, partitions) = (AtomicBool::new(false), [0]);
    let find = || vacant(&config, &partitions, &silent);
    let found = || runtime.block_on(async { tokio::join!(find(), find()) });
    let (one, two) = found();
    let [one, two] = [one, two].map(|found| found.unwrap().get(&0).copied());
    assert_eq!((one, two), (Some(0), Some(0)), "the stream must not exist yet");
    let mut all = Acknowledged::new();
    let mut first = JetStreamStore::open_or(&config, 0, Absent::Create, one).unwrap();
    let taken = JetStreamStore::open_or(&config, 0, Absent::Create, two);
    assert!(matches!(taken, Err(OpenError::Taken { epoch: 1, .. })), "{taken:?}");
    appends(&mut first, 1, &mut all);
    let mut following = Following::find(&config, 0).unwrap();
    catch_up(&mut following);

    let (one, two) = found();
    let [one, two] = [one, two].map(|found| found.unwrap().get(&0).copied());
    assert_eq!((one, two), (Some(1), Some(1)));
    let mut second = JetStreamStore::open_or(&config, 0, Absent::Create, one).unwrap();
    let taken = JetStreamStore::take_over(&mut following, &config, two);
    assert!(matches!(taken, Err(OpenError::Taken { epoch: 3, .. })), "{taken:?}");
    appends(&mut second, 1, &mut all);
    catch_up(&mut following);
    assert_eq!(following.verified(), (second.end(), second.head()), "the process that lost must follow the other one");
}

#[test]
fn pl_30_a_stream_that_was_followed_is_taken_over_by_what_came_since() {
    let (_folder, node, config) = server();
    let (mut first, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    let mut following = Following::find(&config, 0).unwrap();
    catch_up(&mut following);
    assert_eq!(following.verified(), (0, first.head()), "an epoch message must not count as a record");
    appends(&mut first, 100, &mut all);
    catch_up(&mut following);
    assert_eq!(following.verified(), (first.end(), first.head()));
    let reader = following.reader();
    let mut late = Following::find(&config, 0).unwrap();
    assert!(!late.has_all_found());
    let mut messages = 101;
    while !late.has_all_found() {
        appends(&mut first, 1, &mut all);
        messages += 1;
        assert!(late.more().unwrap(), "following must work during appends");
    }
    catch_up(&mut late);
    catch_up(&mut following);
    assert_eq!(late.verified(), following.verified());
    let asked = PresenceRequests::listen(&node);
    appends(&mut first, 5, &mut all);
    let mut second = JetStreamStore::take_over(&mut following, &config, None).unwrap();
    assert_eq!((second.end(), second.head()), (first.end(), first.head()));
    let last = all.values().rev().take(8).rev().cloned().collect::<Vec<_>>();
    assert_eq!(conformance::read_all(&*reader, second.end() - 7), last);
    let from = asked.since();
    assert!(!from.is_empty() && from.iter().all(|from| *from > messages), "{from:?}");

    let refused = append(&mut first, &payloads("first", 0), &mut all);
    assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    appends(&mut second, 50, &mut all);
    let wanted: Vec<_> = all.values().cloned().collect();
    for reader in [reader, second.reader()] {
        assert_eq!(conformance::read_all(&*reader, 1), wanted);
        for (position, bytes) in &all {
            let read = reader.read(*position, 1, 1).unwrap();
            assert_eq!((read.len(), read[0].position, &read[0].bytes), (1, *position, bytes));
        }
    }
    assert_eq!(holds(&config, &all), all.len() as u64);
}

#[test]
fn pl_30_a_follower_outlasts_a_restart_of_the_server() {
    let (_folder, mut node, config) = server();
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    appends(&mut store, 10, &mut all);
    let mut following = Following::find(&config, 0).unwrap();
    catch_up(&mut following);
    node.kill();
    assert!(matches!(following.more(), Err(ReadError::Io(_))));
    node.restart();
    appends(&mut store, 10, &mut all);
    let until = Instant::now() + NEVER;
    while following.verified() != (store.end(), store.head()) {
        assert!(Instant::now() < until, "the writer must append again");
        let looked = following.more();
        assert!(matches!(looked, Ok(_) | Err(ReadError::Io(_))), "{looked:?}");
        thread::yield_now();
    }
    let read = conformance::read_all(&*following.reader(), 1);
    assert_eq!(read, all.values().cloned().collect::<Vec<_>>());
}

#[test]
fn pl_30_another_stream_of_the_same_name_is_not_taken_for_the_one_that_was_followed() {
    let (_folder, node, config) = server();
    assert!(
        matches!(Following::find(&config, 0), Err(OpenError::Missing { .. })),
        "following must not create a stream"
    );
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    appends(&mut store, 10, &mut all);
    let mut following = Following::find(&config, 0).unwrap();
    catch_up(&mut following);
    let held = following.verified();

    ask(&node, "$JS.API.STREAM.DELETE.S_0");
    let taken = JetStreamStore::take_over(&mut following, &config, None);
    assert!(matches!(taken, Err(OpenError::Missing { .. })), "{taken:?}");
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    let taken = JetStreamStore::take_over(&mut following, &config, None);
    assert!(matches!(taken, Err(OpenError::Stream { .. })), "{taken:?}");
    assert!(!following.more().unwrap());
    for n in 0..20 {
        append(&mut store, &payloads("other", n), &mut all).unwrap();
    }
    let looked = following.more();
    assert!(matches!(looked, Err(ReadError::DamagedMessage(_))), "{looked:?}");
    assert_eq!(following.verified(), held);
    let taken = JetStreamStore::take_over(&mut following, &config, None);
    assert!(matches!(taken, Err(OpenError::Read(ReadError::DamagedMessage(_)))), "{taken:?}");
    appends(&mut store, 1, &mut all);
    assert_eq!(holds(&config, &all), all.len() as u64, "the stream must be unchanged");
}

#[test]
fn pl_37_a_follower_reaches_the_last_message_that_it_found_though_the_log_grows() {
    let (_folder, _node, config) = server();
    let mut all = Acknowledged::new();
    let mut store = JetStreamStore::open(&config, 0).unwrap();
    appends(&mut store, 3, &mut all);
    let mut following = Following::find(&config, 0).unwrap();
    catch_up(&mut following);
    appends(&mut store, 3, &mut all);
    assert!(following.has_all_found());
    following.find_last().unwrap();
    assert!(!following.has_all_found());
    while !following.has_all_found() {
        following.more().unwrap();
        appends(&mut store, 3, &mut all);
    }
}
