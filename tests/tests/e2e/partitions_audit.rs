use crate::PROGRAM;
use motherlode_audit::audit_all;
use motherlode_runtime::Config;
use motherlode_server::{LocalLog, LogLocation, copy, open_stores};
use motherlode_state::StreamId;
use motherlode_tests::{Client, Player, Server, audited_parts, config, partitions::settled, start_on};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

const PARTITIONS: u32 = 3;
const PLAYERS: usize = 9;

async fn serve(data: &Path) -> (Config, Server) {
    let config = Config { partitions: PARTITIONS, store: motherlode_runtime::config::Store::default(), ..config(data) };
    let server = start_on(&config, open_stores(&config).unwrap()).await;
    (config, server)
}

fn name(player: usize) -> String {
    format!("p{player}")
}

fn folder(data: &Path) -> LogLocation {
    LogLocation::Folder { data: data.to_owned(), segment_bytes: 1 << 20 }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_copy_of_partitions_that_are_written_audits() {
    let at = tempfile::tempdir().unwrap();
    let (data, backup) = (at.path().join("data"), at.path().join("backup"));
    let (_, server) = serve(&data).await;
    let over = Arc::new(AtomicBool::new(false));
    let mut playing = vec![];
    for player in 0..PLAYERS {
        let (address, over) = (server.address(), Arc::clone(&over));
        playing.push(tokio::spawn(async move {
            let mut client = Client::connect(address).await;
            let mut player = Player::join(&mut client, &name(player), "0.05").await;
            while !over.load(Ordering::Acquire) {
                player.play_rounds(&mut client, 1).await.unwrap();
            }
        }));
    }
    let mut ends = [0; PARTITIONS as usize];
    for _ in 0..8 {
        let (from, to) = (folder(&data), folder(&backup));
        for ledger in server.ledgers().all() {
            let (mut head, known) = (ledger.head(), ends[ledger.partition() as usize]);
            let more = head.wait_for(|head| head.position > known);
            tokio::time::timeout(Duration::from_secs(120), more).await.expect("the players continue").unwrap();
        }
        let copied =
            tokio::task::spawn_blocking(move || copy(&from, &to, false, &AtomicBool::new(false), &AtomicU64::new(0)));
        let copied = copied.await.unwrap().map_err(|error| error.to_string()).unwrap();
        assert_eq!(copied.len(), PARTITIONS as usize);
        assert!(copied[0].end > ends[0]);
        for (end, copied) in ends.iter_mut().zip(copied) {
            *end = copied.end;
        }
        let whole = audit_all(&audited_parts(&LocalLog::open(&backup, &Config::default()).unwrap())).unwrap();
        assert_eq!(whole.divergence(), None);
        assert_eq!(whole.partitions.iter().map(|report| report.position).collect::<Vec<_>>(), ends);
    }
    over.store(true, Ordering::Release);
    for playing in playing {
        playing.await.unwrap();
    }
    settled(server.ledgers()).await;
    server.stop().await.unwrap();
    printed(&["copy", "--from", data.to_str().unwrap(), "--to", backup.to_str().unwrap()]);
    let verified = [&data, &backup].map(|data| {
        let printed = printed(&["log", "verify", data.to_str().unwrap()]);
        printed.lines().filter(|line| line.starts_with("  head")).map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!((verified[0].len(), &verified[0]), (PARTITIONS as usize, &verified[1]));

    let (_, server) = serve(&backup).await;
    let mut client = Client::connect(server.address()).await;
    Player::join(&mut client, "late", "0.05").await.play_rounds(&mut client, 3).await.unwrap();
    server.stop().await.unwrap();
    printed(&["audit", backup.to_str().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_06_the_tools_look_into_every_partition() {
    let at = tempfile::tempdir().unwrap();
    let data = at.path().join("data");
    let (_, server) = serve(&data).await;
    let mut client = Client::connect(server.address()).await;
    for player in 0..PLAYERS {
        Player::join(&mut client, &name(player), "0.05").await.play_rounds(&mut client, 3).await.unwrap();
    }
    settled(server.ledgers()).await;
    server.stop().await.unwrap();
    let place = data.to_str().unwrap();

    let report: Value = serde_json::from_str(&printed(&["audit", place, "--format", "json"])).unwrap();
    assert_eq!((&report["ok"], &report["rounds"]), (&true.into(), &(3 * PLAYERS).into()));
    assert_eq!((&report["players"], &report["under_way_between_partitions"]), (&PLAYERS.into(), &"0.00 EUR".into()));
    let partitions = report["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), PARTITIONS as usize);
    let commits: u64 = partitions.iter().map(|report| report["commits"].as_u64().unwrap()).sum();
    assert_eq!(report["commits"], commits);
    let text = printed(&["audit", place]);
    assert!(text.contains("Log of partition 2: verified") && text.contains("All checks passed."), "{text}");

    for player in 0..PLAYERS {
        let stream = StreamId::player("acme", name(player));
        let shown = printed(&["replay", place, &format!("acme/p{player}/2")]);
        assert!(shown.contains(&format!("Round acme/p{player}/2\n")), "{shown}");
        let shown = printed(&["replay", place, &format!("acme/p{player}/2"), "--format", "json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!((&shown["round_id"], &shown["matches"]), (&format!("acme/p{player}/2").into(), &true.into()));
        let step = &shown["steps"][0];
        assert_eq!(step["outcome"]["spins"][0]["reels"].as_array().unwrap().len(), 5, "{step}");
        assert!(step["time"].as_str().unwrap().ends_with('Z') && step["seed"].as_str().unwrap().len() == 64, "{step}");
        let partition = stream.partition(PARTITIONS).to_string();
        let tail = printed(&["log", "tail", place, "--partition", &partition, "--records", "1000000"]);
        assert!(tail.contains(&format!("  {stream} v")), "{tail}");
        let first = printed(&["log", "show", place, "1", "--partition", &partition]);
        assert!(first.starts_with("       1  "), "{first}");
    }

    assert_eq!(run(&["log", "tail", place, "--partition", "3"]).status.code(), Some(2));
    fs::rename(data.join("log/2"), at.path().join("two")).unwrap();
    assert_eq!(run(&["audit", place]).status.code(), Some(1));
    fs::rename(at.path().join("two"), data.join("log/2")).unwrap();
    printed(&["audit", place]);
    let segment = motherlode_server::log_folder(&data, 1).join("00000000000000000001.log");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[120] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let report = run(&["audit", place, "--format", "json"]);
    assert_eq!(report.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((&report["ok"], &report["divergence"]["partition"]), (&false.into(), &1.into()));
}
