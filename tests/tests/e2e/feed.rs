//! `motherlode follow --format jsonl` (PL-34): a feed of changes, which is killed and resumed without a gap and without a line twice.

use crate::PROGRAM;
use motherlode_runtime::Config;
use motherlode_server::open_stores;
use motherlode_tests::{Client, EUR, Server, bet, config, start_on};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
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
    command.stdout(Stdio::piped()).stderr(Stdio::null());
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
    // It's killed wherever it is after so many lines, also in the middle of one. There are that many: a round of each player at least.
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
            // What was in the pipe was written before the kill; a line without its end is none.
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
        assert_eq!(positions, (1..=last).collect::<Vec<_>>(), "partition {partition}: each once, in order");
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
    for bad in [&["--after", "7"][..], &["--after", "0:1,0:2"], &["--after", "0:x"], &["--to", "/nowhere"]] {
        let refused = Command::new(PROGRAM).args(["follow", "--format", "jsonl"]).args(bad).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{bad:?}");
    }
    assert_eq!(Command::new(PROGRAM).arg("follow").output().unwrap().status.code(), Some(2), "neither copy nor feed");
}
