use crate::PROGRAM;
use data_encoding::BASE64;
use motherlode_runtime::Config;
use motherlode_server::open_stores;
use motherlode_testkit::nats::Node;
use motherlode_tests::{Client, EUR, Server, bet, config, start_on};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

async fn serve(data: &Path) -> (Server, Client) {
    let config = Config { partitions: 2, ..config(data) };
    let server = start_on(&config, open_stores(&config).unwrap()).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

fn follow(address: SocketAddr, after: &BTreeMap<u64, u64>) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["follow", "--format", "jsonl", "--target", &format!("http://{address}")]);
    if !after.is_empty() {
        let after: Vec<_> = after.iter().map(|(partition, position)| format!("{partition}:{position}")).collect();
        command.args(["--after", &after.join(",")]);
    }
    command.stdout(Stdio::piped());
    command
}

fn place(line: &Value) -> (u64, u64) {
    (line["partition"].as_u64().unwrap(), line["position"].as_u64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_a_feed_that_is_killed_goes_on_without_a_gap_and_without_a_line_twice() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path()).await;
    let mut accounts = vec![];
    for player in ["alice", "bob", "carol", "dora"] {
        accounts.push(client.fund(player, EUR, 1_000_000).await);
    }
    let address = server.address();
    let (mut lines, mut after) = (vec![], BTreeMap::new());
    for kill_after in [1, 2, 3, 4] {
        for (number, account) in accounts.iter().enumerate() {
            client.play_out(bet(&format!("r{kill_after}.{number}"), account, "0.10")).await.unwrap();
        }
        let (command, more) = (follow(address, &after), kill_after);
        let read = tokio::task::spawn_blocking(move || {
            let mut command = command;
            let mut feed = command.spawn().unwrap();
            let mut output = BufReader::new(feed.stdout.take().unwrap());
            let mut whole = vec![];
            for _ in 0..more {
                let mut line = String::new();
                output.read_line(&mut line).unwrap();
                whole.push(line);
            }
            feed.kill().unwrap();
            feed.wait().unwrap();
            let mut rest = String::new();
            output.read_to_string(&mut rest).unwrap();
            whole.extend(rest.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned));
            whole
        });
        for line in read.await.unwrap() {
            let line: Value = serde_json::from_str(&line).unwrap();
            let (partition, position) = place(&line);
            after.insert(partition, position);
            lines.push(line);
        }
    }
    let mut command = follow(address, &after);
    command.arg("--once");
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(ended.status.success());
    lines.extend(String::from_utf8(ended.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()));

    for (partition, end) in [0, 1].into_iter().zip(server.ends()) {
        let of: Vec<_> = lines.iter().filter(|line| place(line).0 == partition).collect();
        let positions: Vec<_> = of.iter().map(|line| place(line).1).collect();
        let last = *positions.last().unwrap();
        assert_eq!(
            positions,
            (1..=last).collect::<Vec<_>>(),
            "partition {partition}: each record is published once and in order"
        );
        assert!(last <= end);
        let ledger = server.ledgers().partition(u32::try_from(partition).unwrap()).unwrap();
        for line in of {
            let logged = ledger.fetch(place(line).1).unwrap();
            assert_eq!(line["stream"], logged.commit.stream.to_string());
            assert_eq!(line["request_id"], logged.commit.request_id.as_str());
            assert_eq!(line["events"].as_array().unwrap().len(), logged.commit.events.len());
            assert_eq!(line["sha256"].as_str().unwrap().len(), 64);
        }
    }
    server.stop().await.unwrap();
}

#[test]
fn pl_34_a_feed_is_told_where_to_begin_and_no_nonsense() {
    for bad in [
        &["--after", "7"][..],
        &["--after", "0:1,0:2"],
        &["--after", "0:x"],
        &["--after", "0:1:ff"],
        &["--to", "/nowhere"],
    ] {
        let refused = Command::new(PROGRAM).args(["follow", "--format", "jsonl"]).args(bad).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{bad:?}");
    }
    assert_eq!(
        Command::new(PROGRAM).arg("follow").output().unwrap().status.code(),
        Some(2),
        "follow without a target is a usage error"
    );
}

fn stream(node: &Node) {
    let settings = json!({ "name": "CHANGES", "subjects": ["changes.>"], "storage": "file", "num_replicas": 1 });
    let made: Value = serde_json::from_str(&node.ask("$JS.API.STREAM.CREATE.CHANGES", &settings.to_string())).unwrap();
    assert!(made.get("error").is_none(), "{made}");
}

fn messages(node: &Node) -> u64 {
    let info: Value = serde_json::from_str(&node.ask("$JS.API.STREAM.INFO.CHANGES", "{}")).unwrap();
    info["state"]["last_seq"].as_u64().unwrap()
}

fn message(node: &Node, number: u64) -> (Value, String) {
    let body = json!({ "seq": number }).to_string();
    let answer: Value = serde_json::from_str(&node.ask("$JS.API.STREAM.MSG.GET.CHANGES", &body)).unwrap();
    let of = |key: &str| BASE64.decode(answer["message"][key].as_str().unwrap().as_bytes()).unwrap();
    let headers = String::from_utf8(of("hdrs")).unwrap();
    let header = |name: &str| headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
    let line: Value = serde_json::from_slice(&of("data")).unwrap();
    let (partition, position) = place(&line);
    assert_eq!(header("Nats-Msg-Id"), format!("{partition}-{position}"));
    (line, header("Motherlode-Positions").to_owned())
}

fn publish(address: SocketAddr, node: &Node, more: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["follow", "--target", &format!("http://{address}"), "--to", &format!("{}/changes.all", node.url())]);
    command.args(more).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_a_feed_on_nats_has_each_position_once_and_in_order_whoever_is_killed() {
    let data = tempfile::tempdir().unwrap();
    let mut node = Node::start(&data.path().join("nats"), "");
    stream(&node);
    let (server, mut client) = serve(&data.path().join("data")).await;
    let mut accounts = vec![];
    for player in ["alice", "bob", "carol", "dora"] {
        accounts.push(client.fund(player, EUR, 1_000_000).await);
    }
    let address = server.address();
    for turn in 0..6_u64 {
        let running = [publish(address, &node, &[]).spawn().unwrap(), publish(address, &node, &[]).spawn().unwrap()];
        let wanted = messages(&node) + 1 + turn % 3;
        for (number, account) in accounts.iter().enumerate() {
            client.play_out(bet(&format!("r{turn}.{number}"), account, "0.10")).await.unwrap();
        }
        if turn % 3 == 2 {
            node.kill();
            client.play_out(bet(&format!("dark{turn}"), &accounts[0], "0.10")).await.unwrap();
            node.restart();
        }
        let published = tokio::task::block_in_place(|| {
            let until = std::time::Instant::now() + std::time::Duration::from_secs(300);
            while messages(&node) < wanted && std::time::Instant::now() < until {}
            messages(&node)
        });
        assert!(published >= wanted, "turn {turn}: the feed stopped after {published} of {wanted} messages");
        running.into_iter().for_each(kill);
    }
    let ends = server.ends();
    let ended = publish(address, &node, &["--once"]).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));

    let mut positions = BTreeMap::new();
    for number in 1..=messages(&node) {
        let (line, said) = message(&node, number);
        let (partition, position) = place(&line);
        let before = positions.insert(partition, position).unwrap_or_default();
        assert_eq!(position, before + 1, "message {number} is not the next record of partition {partition}");
        let all: Vec<_> = positions.iter().map(|(partition, position)| format!("{partition}:{position}")).collect();
        assert_eq!(said, all.join(","), "message {number} states the positions to resume from");
        let ledger = server.ledgers().partition(u32::try_from(partition).unwrap()).unwrap();
        assert_eq!(line["request_id"], ledger.fetch(position).unwrap().commit.request_id.as_str());
    }
    for (partition, end) in (0..).zip(ends) {
        assert!(positions[&partition] >= end, "all records of partition {partition} are published");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_a_feed_on_nats_begins_where_it_is_told_and_nowhere_by_guess() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data.path().join("nats"), "");
    let (server, mut client) = serve(&data.path().join("data")).await;
    client.fund("alice", EUR, 1_000_000).await;
    let address = server.address();
    let refused = |more: &[&str], why: &str| {
        let ended = publish(address, &node, more).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    };
    refused(&["--once"], "no JetStream stream captures the subject changes.all");
    stream(&node);
    let ended = publish(address, &node, &["--once", "--after", "0:1,1:1"]).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(messages(&node) > 0);
    let (first, said) = message(&node, 1);
    assert_eq!(place(&first).1, 2);
    assert!(said.contains("0:") && said.contains("1:"), "{said}");
    let before = messages(&node);
    let again = publish(address, &node, &["--once", "--after", "0:1,1:1"]).output().unwrap();
    assert!(again.status.success());
    for number in before + 1..=messages(&node) {
        let (line, _) = message(&node, number);
        assert!(place(&line).1 > 2, "{line}");
    }
    let _ = node.ask("changes.all", "{}");
    refused(&["--once"], "names no log position");
    let _ = node.ask("$JS.API.STREAM.PURGE.CHANGES", "{}");
    refused(&["--once"], "state where the feed should begin");
    for bad in ["changes.*", "", "$SYS.x"] {
        let place = format!("{}/{bad}", node.url());
        let ended = Command::new(PROGRAM).args(["follow", "--once", "--to", &place]).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{bad:?}");
    }
    server.stop().await.unwrap();
}

/// A service restored from an older copy of the log gives its new records the positions of the lost records.
#[tokio::test(flavor = "multi_thread")]
async fn pl_34_a_feed_goes_on_from_its_own_log_alone() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&data.path().join("nats"), "");
    stream(&node);
    let once = |server: &Server| publish(server.address(), &node, &["--once"]).output().unwrap();
    let (server, mut client) = serve(&data.path().join("one")).await;
    client.fund("alice", EUR, 1_000_000).await;
    assert!(once(&server).status.success());
    let told = messages(&node);
    let (line, _) = message(&node, told);
    let (partition, position) = place(&line);
    let after = |sha256: &str| format!("{partition}:{position}:{sha256}");
    let resumed = |server: &Server, sha256: &str| {
        let mut command = follow(server.address(), &BTreeMap::new());
        command.args(["--once", "--after", &after(sha256)]).output().unwrap()
    };
    let sha256 = line["sha256"].as_str().unwrap();
    let lines = String::from_utf8(resumed(&server, sha256).stdout).unwrap();
    let first = lines.lines().map(|line| serde_json::from_str(line).unwrap()).find(|line| place(line).0 == partition);
    assert!(
        first.is_none_or(|line| place(&line).1 == position + 1),
        "the first line of the partition follows its last published record"
    );
    server.stop().await.unwrap();

    let (other, mut client) = serve(&data.path().join("two")).await;
    for player in ["bob", "carol", "dora", "eve", "fay", "gus"] {
        let account = client.fund(player, EUR, 1_000_000).await;
        client.play_out(bet("r", &account, "0.10")).await.unwrap();
    }
    for refused in [once(&other), resumed(&other, sha256)] {
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("another log"), "{said}");
    }
    assert_eq!(messages(&node), told, "the refused start published nothing");
    other.stop().await.unwrap();

    let (server, mut client) = serve(&data.path().join("one")).await;
    client.fund("bob", EUR, 1_000_000).await;
    assert!(once(&server).status.success());
    assert!(messages(&node) > told);
    server.stop().await.unwrap();
}
