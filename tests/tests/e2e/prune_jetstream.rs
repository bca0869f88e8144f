use crate::PROGRAM;
use motherlode_testkit::nats::{Node, toml};
use motherlode_tests::{Client, Player, Process, reason, serving, until};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

const MARGIN: Duration = Duration::from_secs(5);

fn run(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(PROGRAM).args(arguments).args(["--priority", "normal"]).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn word_after<'a>(text: &'a str, before: &str) -> &'a str {
    text.split_once(before).unwrap().1.split([',', '\n']).next().unwrap().trim()
}

struct Service {
    at: tempfile::TempDir,
    node: Node,
}

impl Service {
    fn new() -> Self {
        let at = tempfile::tempdir().unwrap();
        let node = Node::start(&at.path().join("nats"), "");
        let service = Self { at, node };
        let store = toml(&service.node.config("S"));
        fs::write(service.config(), format!("data = {:?}\n{store}", service.path("data"))).unwrap();
        service
    }

    fn path(&self, name: &str) -> PathBuf {
        self.at.path().join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("motherlode.toml")
    }

    fn start(&self) -> Process {
        Process::start(PROGRAM, &self.path("data"), Some(&self.config()))
    }

    fn on_log(&self, arguments: &[&str]) -> Result<String, String> {
        run(&[arguments, &["--config", text(&self.config())]].concat())
    }

    fn prune(&self, more: &[&str]) -> Result<String, String> {
        let (archive, margin) = (self.path("archive"), MARGIN.as_secs().to_string());
        let arguments = ["prune", self.node.url(), "--archive", text(&archive), "--keep-days", "0"];
        self.on_log(&[&arguments[..], &["--margin-seconds", &margin], more].concat())
    }

    fn state(&self) -> Value {
        let info: Value = serde_json::from_str(&self.node.ask("$JS.API.STREAM.INFO.S_0", "{}")).unwrap();
        assert_eq!(info["config"]["max_age"], 0);
        info["state"].clone()
    }

    fn archive(&self) -> Result<String, String> {
        let archive = self.path("archive");
        self.on_log(&["archive", "--from", self.node.url(), "--to", text(&archive), "--segment-bytes", "4096"])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_pruned_log_on_jetstream_plays_on_and_needs_its_data_folder() {
    let service = Service::new();
    let process = service.start();
    let mut client = Client::connect(process.address).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    let begun = Instant::now();
    while begun.elapsed() < MARGIN + Duration::from_secs(1) {
        player.play_rounds(&mut client, 20).await.unwrap();
    }
    assert_eq!(process.terminate().await, Some(0));
    let process = service.start();
    let mut client = Client::connect(process.address).await;
    let (target, data, copy) = (format!("http://{}", process.address), service.path("data"), service.path("copy"));
    let taken = run(&["base", "take", text(&data), "--actor", "anna", "--target", &target]).unwrap();
    let (position, digest) = (word_after(&taken, "state at position "), word_after(&taken, "digest  "));
    service.on_log(&["copy", "--from", service.node.url(), "--to", text(&copy)]).unwrap();
    let audited = service.on_log(&["audit", service.node.url(), "--base", position]).unwrap();
    assert!(audited.contains("equal to the digest logged by `base take`"), "{audited}");
    player.play_rounds(&mut client, 50).await.unwrap();
    service.archive().unwrap();
    let refused = service.prune(&[]).unwrap_err();
    assert!(refused.contains("in use by another process"), "{refused}");
    assert_eq!(process.terminate().await, Some(0));
    let refused = service.prune(&[]).unwrap_err();
    assert!(refused.contains("no confirmed base"), "{refused}");

    let process = service.start();
    let target = format!("http://{}", process.address);
    run(&["base", "confirm", position, digest, "--actor", "bob", "--target", &target]).unwrap();
    assert_eq!(process.terminate().await, Some(0));
    let before = service.state();
    let planned = service.prune(&["--dry-run"]).unwrap();
    assert!(planned.contains("decides") && service.state() == before, "{planned}");
    let pruned = service.prune(&[]).unwrap();
    let state = service.state();
    let first: u64 = word_after(&pruned, "partition 0 now starts at position ").parse().unwrap();
    assert!(first > 100 && first <= position.parse::<u64>().unwrap() + 1, "{pruned}");
    assert!(state["first_seq"].as_u64() > Some(1), "{pruned}");
    for refused in [
        service.on_log(&["audit", service.node.url()]).unwrap_err(),
        service.on_log(&["copy", "--from", service.node.url(), "--to", text(&service.path("new"))]).unwrap_err(),
    ] {
        assert!(refused.contains(&format!("starts at position {first}")), "{refused}");
    }
    let copied = service.on_log(&["copy", "--from", service.node.url(), "--to", text(&copy)]).unwrap();
    assert!(run(&["audit", text(&copy)]).is_ok(), "a copy continues: {copied}");

    let process = service.start();
    let mut client = Client::connect(process.address).await;
    assert!(player.check_pruned(&mut client).await > 20);
    player.play_rounds(&mut client, 20).await.unwrap();
    let mut other = Player::join(&mut client, "q", "0.05").await;
    other.play_rounds(&mut client, 5).await.unwrap();
    let standby = Process::start_as(PROGRAM, &service.path("empty"), Some(&service.config()), &["--role", "ledger"]);
    until("a refused replay", async || standby.log_line("archived").is_some()).await;
    assert!(!serving(standby.address).await);
    drop(standby);
    assert_eq!(process.terminate().await, Some(0));
    service.archive().unwrap();
    let again = service.prune(&[]).unwrap();
    assert_eq!(word_after(&again, "partition 0 now starts at position "), first.to_string(), "{again}");
    let (archive, restored) = (service.path("archive"), service.path("restored"));
    run(&["restore", "--from", text(&archive), "--to", text(&restored)]).unwrap();
    run(&["audit", text(&restored)]).unwrap();
    let process = service.start();
    let mut client = Client::connect(process.address).await;
    player.play_rounds(&mut client, 1).await.map_err(|status| reason(&status)).unwrap();
    assert_eq!(process.terminate().await, Some(0));
}
