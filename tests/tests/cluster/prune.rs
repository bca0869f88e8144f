//! A log on three servers is pruned while players play (PL-37). For a longer log:
//! `MOTHERLODE_PRUNE_ROUNDS=1000000 cargo test -p motherlode-tests --test=cluster pl_37 -- --nocapture`

use super::{Load, PARTITIONS, PLAYERS, PROGRAM, client, configure, writer};
use motherlode_runtime::config::Store;
use motherlode_testkit::nats::Cluster;
use motherlode_tests::{Player, Process, serving, until};
use serde_json::Value;
use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const MARGIN: Duration = Duration::from_secs(12);

struct Installation {
    folder: tempfile::TempDir,
    nodes: Cluster,
    store: Store,
}

impl Installation {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nodes = Cluster::start(&folder.path().join("nats"));
        let store = nodes.config("S");
        let installation = Self { folder, nodes, store };
        for name in ["a", "b"] {
            let file =
                configure(&installation.path(&format!("{name}.config")), &installation.store, installation.url());
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, format!("data = {:?}\n{text}", installation.path(name))).unwrap();
        }
        installation
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self) -> &str {
        self.store.url.as_deref().unwrap()
    }

    fn config(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.config")).join("motherlode.toml")
    }

    fn start(&self, name: &str, more: &[&str]) -> Process {
        let config = self.config(if name == "a" { "a" } else { "b" });
        Process::start_as(PROGRAM, &self.path(name), Some(&config), more)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--priority", "normal"]);
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    async fn fill(&self) {
        let Ok(rounds) = env::var("MOTHERLODE_PRUNE_ROUNDS") else { return };
        let begun = Instant::now();
        let all = self.start("a", &[]);
        let target = format!("http://{}", all.address);
        let load = Command::new(PROGRAM).args(["loadtest", "--target", &target, "--rounds", &rounds]).output().unwrap();
        assert!(load.status.success(), "{}", String::from_utf8_lossy(&load.stderr));
        assert_eq!(all.terminate().await, Some(0));
        println!("{rounds} rounds played in {:.0} s", begun.elapsed().as_secs_f32());
    }

    fn on_log(&self, arguments: &[&str]) -> String {
        self.run(&[arguments, &["--config", self.config("a").to_str().unwrap()]].concat())
    }

    fn confirm_bases(&self, writer: SocketAddr) {
        let (target, copy) = (format!("http://{writer}"), self.path("copy"));
        let taken =
            self.run(&["base", "take", self.path("a").to_str().unwrap(), "--actor", "anna", "--target", &target]);
        self.on_log(&["copy", "--from", self.url(), "--to", copy.to_str().unwrap()]);
        let after = |words: &str| -> Vec<String> {
            let rests = taken.split(words).skip(1);
            rests.map(|rest| rest.split([',', '\n']).next().unwrap().trim().to_owned()).collect()
        };
        let (positions, digests) = (after("state at position "), after("digest  "));
        assert_eq!(positions.len(), PARTITIONS as usize, "{taken}");
        let audited = self.run(&["audit", copy.to_str().unwrap(), "--base", &positions.join(",")]);
        assert!(audited.contains("equal to the digest logged by `base take`"), "{audited}");
        for (partition, (position, digest)) in positions.iter().zip(&digests).enumerate() {
            let confirm = ["base", "confirm", position, digest, "--partition", &partition.to_string()];
            self.run(&[&confirm[..], &["--actor", "bob", "--target", &target]].concat());
        }
    }

    fn prune(&self) -> Vec<String> {
        let margin = MARGIN.as_secs().to_string();
        let archive = self.path("archive");
        let arguments =
            ["prune", self.url(), "--archive", archive.to_str().unwrap(), "--keep-days", "0", "--margin-seconds"];
        let config = self.config("a");
        let all = arguments.into_iter().chain([&*margin, "--config", config.to_str().unwrap()]);
        all.map(str::to_owned).collect()
    }

    fn archive(&self) {
        let archive = self.path("archive");
        let bytes = if env::var_os("MOTHERLODE_PRUNE_ROUNDS").is_some() { "1048576" } else { "4096" };
        let to = ["--to", archive.to_str().unwrap(), "--segment-bytes", bytes];
        self.on_log(&[&["archive", "--from", self.url()][..], &to].concat());
    }

    fn stream(&self, partition: u32) -> Value {
        let asked = self.nodes.nodes.iter().map(|node| node.ask(&format!("$JS.API.STREAM.INFO.S_{partition}"), "{}"));
        asked.map(|answer| serde_json::from_str(&answer).unwrap()).find(|info: &Value| info["error"].is_null()).unwrap()
    }

    fn first(&self, partition: u32) -> u64 {
        self.stream(partition)["state"]["first_seq"].as_u64().unwrap()
    }

    fn is_limited(&self, partition: u32) -> bool {
        self.stream(partition)["config"]["max_age"] != 0
    }

    fn prune_and_kill(&self) {
        let arguments = self.prune();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut prune = self.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
        while !self.is_limited(0) {
            assert!(prune.try_wait().unwrap().is_none(), "the prune ended before it was killed");
        }
        prune.kill().unwrap();
        prune.wait().unwrap();
        assert!(self.is_limited(0), "the prune was killed after its second update");
    }
}

async fn one_writes(ledgers: &[&Process]) -> SocketAddr {
    let addresses: Vec<_> = ledgers.iter().map(|ledger| ledger.address).collect();
    addresses[writer(&addresses).await]
}

fn audit_of_archive(archive: &Path, to: &Path, run: impl Fn(&[&str]) -> String) {
    run(&["restore", "--from", archive.to_str().unwrap(), "--to", to.to_str().unwrap()]);
    run(&["audit", to.to_str().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_three_servers_are_pruned_under_load_though_the_first_prune_is_killed_between_its_updates() {
    let installation = Installation::new();
    installation.fill().await;
    let a = installation.start("a", &["--role", "ledger"]);
    until("the first writer", async || serving(a.address).await).await;
    let b = installation.start("b", &["--role", "ledger"]);
    until("the standby loads the log", async || b.log_line("the log was loaded").is_some()).await;
    let targets = format!("http://{},http://{}", a.address, b.address);
    let spin = installation.start("spin", &["--role", "spin", "--ledger", &targets]);
    let mut players = vec![];
    for name in PLAYERS {
        let mut client = client(spin.address, a.address).await;
        players.push(Player::join(&mut client, name, "0.05").await);
    }
    let load = Load::start(players, vec![spin.address]);
    let begun = Instant::now();
    while begun.elapsed() < MARGIN + Duration::from_secs(3) {
        load.goes_on().await;
    }
    assert_eq!(a.terminate().await, Some(0));
    load.gap("the writing ledger is stopped").await;
    installation.confirm_bases(one_writes(&[&b]).await);
    load.goes_on().await;
    installation.archive();

    installation.prune_and_kill();
    load.gap("a prune is killed between its updates").await;
    assert_eq!(one_writes(&[&b]).await, b.address);
    assert!(!installation.is_limited(0), "the next writer removes the limit before it serves");
    let arguments = installation.prune();
    let begun = Instant::now();
    let pruned = installation.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    println!("the prune took {:.1} s:\n{pruned}", begun.elapsed().as_secs_f32());
    load.gap("the log is pruned").await;
    for partition in 0..PARTITIONS {
        assert!(pruned.contains(&format!("partition {partition} now starts at position ")), "{pruned}");
        assert!(installation.first(partition) > 1 && !installation.is_limited(partition), "{pruned}");
    }

    let a = installation.start("a", &["--role", "ledger"]);
    b.kill();
    until("the other ledger takes over", async || serving(a.address).await).await;
    drop(spin);
    let spin = installation.start("spin2", &["--role", "spin", "--ledger", &format!("http://{}", a.address)]);
    *load.spins.lock().unwrap() = vec![spin.address];
    load.gap("the writing ledger is killed, and players use a new spin process").await;
    let mut archived = 0;
    for player in &mut load.stop().await {
        archived += player.check_pruned(&mut client(spin.address, a.address).await).await;
    }
    assert!(archived > 20, "{archived} archived rounds");
    for process in [spin, a] {
        assert_eq!(process.terminate().await, Some(0));
    }
    installation.archive();
    audit_of_archive(&installation.path("archive"), &installation.path("restored"), |arguments| {
        installation.run(arguments)
    });
}
