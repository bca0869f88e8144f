use crate::PROGRAM;
use motherlode_log::Record;
use motherlode_runtime::{Config, config::Store};
use motherlode_server::{Copied, LogLocation, copy};
use motherlode_testkit::nats::Node;
use motherlode_tests::{Client, Player, Process, config, start, start_on};
use std::{
    path::Path,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

fn folder(data: &Path) -> LogLocation {
    LogLocation::from_config(&config(data))
}

fn stream(store: &Store) -> LogLocation {
    LogLocation::Stream(store.clone())
}

fn records(place: &LogLocation) -> Vec<Record> {
    place.existing(0).unwrap().map(|record| record.unwrap()).collect()
}

fn copied(from: &LogLocation, to: &LogLocation) -> Result<Copied, String> {
    copy(from, to, false, &AtomicBool::new(false), &AtomicU64::new(0))
        .map(|copied| copied[0])
        .map_err(|error| error.to_string())
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_moves_to_a_stream_while_it_is_played_and_back() {
    let at = tempfile::tempdir().unwrap();
    let node = Node::start(&at.path().join("nats"), "");
    let (old, store) = (at.path().join("old"), node.config("S"));
    let server = start(&old).await;
    let mut client = Client::connect(server.address()).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    player.play_rounds(&mut client, 20).await.unwrap();
    let answered = server.ledger().durable();
    let first = copied(&folder(&old), &stream(&store)).unwrap();
    assert!(first.before == 0 && first.end >= answered, "{first:?}, {answered} answered");

    let stopped = Arc::new(AtomicBool::new(false));
    let following = {
        let (from, to, stopped) = (folder(&old), stream(&store), Arc::clone(&stopped));
        std::thread::spawn(move || copy(&from, &to, true, &stopped, &AtomicU64::new(0)))
    };
    player.play_rounds(&mut client, 20).await.unwrap();
    server.stop().await.unwrap();
    let end = records(&folder(&old)).len() as u64;
    stopped.store(true, std::sync::atomic::Ordering::Release);
    let second = following.join().unwrap().unwrap()[0];
    assert_eq!((second.before, second.end), (first.end, end));
    let nothing = copied(&folder(&old), &stream(&store)).unwrap();
    assert_eq!((nothing.before, nothing.end, nothing.head), (end, end, second.head));
    assert_eq!(records(&stream(&store)), records(&folder(&old)));

    let new = Config { store: store.clone(), ..config(&at.path().join("new")) };
    let server = start_on(&new, motherlode_server::open_stores(&new).unwrap()).await;
    let mut client = Client::connect(server.address()).await;
    player.check(&mut client).await;
    player.play_rounds(&mut client, 5).await.unwrap();
    server.stop().await.unwrap();

    let third = copied(&stream(&store), &folder(&old)).unwrap();
    let back = at.path().join("back");
    let fourth = copied(&stream(&store), &folder(&back)).unwrap();
    assert_eq!((third.before, fourth.before), (end, 0));
    assert_eq!((third.end, third.head), (fourth.end, fourth.head));
    let server = start(&old).await;
    player.check(&mut Client::connect(server.address()).await).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_no_beginning_of_the_source_is_refused_and_unchanged() {
    let at = tempfile::tempdir().unwrap();
    let node = Node::start(&at.path().join("nats"), "");
    let [one, two] = ["one", "two"].map(|name| at.path().join(name));
    for (data, name) in [(&one, "p"), (&two, "q")] {
        let server = start(data).await;
        let mut client = Client::connect(server.address()).await;
        Player::join(&mut client, name, "0.05").await.play_rounds(&mut client, 3).await.unwrap();
        server.stop().await.unwrap();
    }
    let target = stream(&node.config("S"));
    copied(&folder(&one), &target).unwrap();
    let before = records(&target);
    let refused = copied(&folder(&two), &target).unwrap_err();
    assert!(refused.contains("is not a prefix of the source: at position"), "{refused}");
    assert_eq!(records(&target), before);
    let short = at.path().join("short");
    copied(&folder(&one), &folder(&short)).unwrap();
    let server = start(&short).await;
    Player::join(&mut Client::connect(server.address()).await, "late", "0.05").await;
    server.stop().await.unwrap();
    let longer = copied(&folder(&one), &folder(&short)).unwrap_err();
    assert!(longer.contains("the source has fewer records than the target"), "{longer}");
    let missing = copied(&folder(&at.path().join("missing")), &target).unwrap_err();
    assert!(missing.contains("no log there"), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_look_into_a_stream_as_into_a_folder() {
    let at = tempfile::tempdir().unwrap();
    let node = Node::start(&at.path().join("nats"), "");
    let data = at.path().join("data");
    let process = Process::start(PROGRAM, &data, None);
    let mut client = Client::connect(process.address).await;
    Player::join(&mut client, "p", "0.05").await.play_rounds(&mut client, 4).await.unwrap();
    assert_eq!(process.terminate().await, Some(0));
    let (url, key) = (format!("{}/S", node.url()), node.key_file().display().to_string());
    copied(&folder(&data), &stream(&node.config("S"))).unwrap();
    let data = data.to_str().unwrap();
    let end = records(&folder(Path::new(data))).len().to_string();
    for arguments in [&["log", "tail"][..], &["log", "show"], &["log", "verify"], &["audit"], &["replay"]] {
        let outputs = [data, &url].map(|place| {
            let mut all = [arguments, &[place, "--stream-key", &key]].concat();
            match arguments {
                ["log", "show"] => all.push(&end),
                ["replay"] => all.push("acme/p/1"),
                _ => {}
            }
            let output = run(&all);
            assert!(output.status.success(), "{all:?}: {}", String::from_utf8_lossy(&output.stderr));
            let printed = String::from_utf8(output.stdout).unwrap();
            printed
                .lines()
                .filter(|line| !line.contains("position ") || !line.contains(": sound"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        if arguments != ["audit"] {
            assert_eq!(outputs[0], outputs[1], "{arguments:?}");
        }
    }
    assert_eq!(run(&["log", "show", data, "1000000"]).status.code(), Some(2));
    assert_eq!(run(&["log", "verify", &format!("{}/OTHER", node.url())]).status.code(), Some(2));
    let segment = motherlode_server::log_folder(Path::new(data), 0).join("00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[120] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    for arguments in [["log", "tail", data], ["log", "verify", data]] {
        assert_eq!(run(&arguments).status.code(), Some(1), "{arguments:?}");
    }
}
