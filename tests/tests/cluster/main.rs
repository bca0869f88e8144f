#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod faults;
mod prune;

use motherlode_proto::log::v1::{GetHeadRequest, log_service_client::LogServiceClient};
use motherlode_runtime::config::Store;
use motherlode_testkit::nats::{Cluster, Node, toml};
use motherlode_tests::{Cable, Client, Player, Process, channel, serving, until};
use serde_json::Value;
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use tonic::Code;

const PROGRAM: &str = env!("CARGO_BIN_EXE_motherlode-under-test");

const PARTITIONS: u32 = 2;
const PLAYERS: [&str; 4] = ["p0", "p1", "p2", "p3"];
const NEVER: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);

fn configure(folder: &Path, store: &Store, url: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let file = folder.join("motherlode.toml");
    let text = format!(
        "partitions = {PARTITIONS}\n{}[limits]\nrequest_ms_max = 3000\n",
        toml(&Store { url: Some(url.to_owned()), ..store.clone() })
    );
    fs::write(&file, text).unwrap();
    file
}

fn audit(store: &Store) {
    let place = format!("{}/{}", store.url.as_deref().unwrap(), store.stream);
    let output = Command::new(PROGRAM)
        .args(["audit", &place, "--format", "json", "--stream-key"])
        .arg(store.key_file.as_ref().unwrap())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let players: Vec<_> = report["partitions"].as_array().unwrap().iter().map(|of| of["players"].as_u64()).collect();
    assert_eq!(players.len(), PARTITIONS as usize);
    assert!(players.iter().all(|players| *players > Some(0)), "{printed}");
}

async fn writes(address: SocketAddr) -> bool {
    let Some(channel) = channel(address).await else { return false };
    LogServiceClient::new(channel).get_head(GetHeadRequest { partition: 0 }).await.is_ok()
}

async fn writer(ledgers: &[SocketAddr]) -> usize {
    let found = Mutex::new(0);
    until("a writer", async || {
        for (number, address) in ledgers.iter().enumerate() {
            if writes(*address).await {
                *found.lock().unwrap() = number;
                return true;
            }
        }
        false
    })
    .await;
    found.into_inner().unwrap()
}

async fn client(spin: SocketAddr, ledger: SocketAddr) -> Client {
    Client { spin: Client::connect(spin).await.spin, ..Client::connect(ledger).await }
}

struct Load {
    spins: Arc<Mutex<Vec<SocketAddr>>>,
    answers: Vec<Arc<AtomicU64>>,
    playing: Vec<JoinHandle<Player>>,
    over: Arc<AtomicBool>,
}

impl Load {
    fn start(players: Vec<Player>, spins: Vec<SocketAddr>) -> Self {
        let (spins, over) = (Arc::new(Mutex::new(spins)), Arc::default());
        let mut load = Self { spins, answers: vec![], playing: vec![], over };
        for (number, mut player) in players.into_iter().enumerate() {
            let answers = Arc::new(AtomicU64::new(0));
            load.answers.push(Arc::clone(&answers));
            let (spins, over) = (Arc::clone(&load.spins), Arc::clone(&load.over));
            load.playing.push(tokio::spawn(async move {
                let mut turn = number;
                while !over.load(Ordering::Relaxed) {
                    let at = {
                        let spins = spins.lock().unwrap();
                        spins[turn % spins.len()]
                    };
                    turn += 1;
                    let Some(channel) = channel(at).await else {
                        sleep(LOOK).await;
                        continue;
                    };
                    let mut client = Client::on(channel);
                    while !over.load(Ordering::Relaxed) {
                        if let Err(status) = player.play_round(&mut client, &answers).await {
                            let fault = matches!(
                                status.code(),
                                Code::Unavailable
                                    | Code::DeadlineExceeded
                                    | Code::Cancelled
                                    | Code::Unknown
                                    | Code::Internal
                            );
                            assert!(fault, "{status:?}");
                            break;
                        }
                        player.next_round();
                    }
                }
                player
            }));
        }
        load
    }

    async fn goes_on(&self) {
        let before: Vec<_> = self.answers.iter().map(|answers| answers.load(Ordering::Relaxed)).collect();
        until("an answer to every player", async || {
            assert!(self.playing.iter().all(|playing| !playing.is_finished()), "a player gave up");
            let now = self.answers.iter().map(|answers| answers.load(Ordering::Relaxed));
            now.zip(&before).all(|(now, before)| now >= before + 2)
        })
        .await;
    }

    async fn gap(&self, fault: &str) {
        let begun = Instant::now();
        self.goes_on().await;
        println!("{fault}: every player is answered again after {:.1} s", begun.elapsed().as_secs_f32());
    }

    async fn stop(self) -> Vec<Player> {
        self.over.store(true, Ordering::Relaxed);
        let mut players = vec![];
        for playing in self.playing {
            players.push(timeout(NEVER, playing).await.expect("a player stops").unwrap());
        }
        players
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_of_two_ledgers_one_writes_and_the_other_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let node = Node::start(&path("nats"), "");
    let store = node.config("S");
    let config = configure(folder.path(), &store, store.url.as_deref().unwrap());
    let ledger = |name: &str| Process::start_as(PROGRAM, &path(name), Some(&config), &["--role", "ledger"]);
    let mut ledgers = vec![ledger("a"), ledger("b")];
    let addresses = |ledgers: &[Process]| ledgers.iter().map(|ledger| ledger.address).collect::<Vec<_>>();
    let one_serves = async |ledgers: &[Process]| {
        let states = [serving(ledgers[0].address).await, serving(ledgers[1].address).await];
        states.into_iter().filter(|serves| *serves).count() == 1
    };
    until("one writer", async || one_serves(&ledgers).await).await;
    let cables = [Cable::to(ledgers[0].address).await, Cable::to(ledgers[1].address).await];
    let targets = format!("http://{},http://{}", cables[0].address, cables[1].address);
    let of = ["--role", "spin", "--ledger", &targets];
    let spin = Process::start_as(PROGRAM, &path("spin"), Some(&config), &of);
    let mut players = vec![];
    let first = writer(&addresses(&ledgers)).await;
    for name in &PLAYERS[1..3] {
        let mut client = client(spin.address, ledgers[first].address).await;
        players.push(Player::join(&mut client, name, "0.05").await);
    }
    let load = Load::start(players, vec![spin.address]);
    load.goes_on().await;
    for round in 0..3 {
        let writing = writer(&addresses(&ledgers)).await;
        ledgers.remove(writing).kill();
        load.gap(&format!("the writing ledger is killed ({round})")).await;
        ledgers.insert(writing, ledger(["a", "b"][writing]));
        cables[writing].lead_to(ledgers[writing].address);
        assert_ne!(writer(&addresses(&ledgers)).await, writing, "the other ledger has taken over");
    }
    until("one writer", async || one_serves(&ledgers).await).await;
    let mut players = load.stop().await;
    let writing = writer(&addresses(&ledgers)).await;
    for player in &mut players {
        player.check(&mut client(spin.address, ledgers[writing].address).await).await;
    }
    assert_eq!(spin.terminate().await, Some(0));
    for ledger in ledgers {
        assert_eq!(ledger.terminate().await, Some(0));
    }
    audit(&store);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_cluster_under_load_outlives_the_kill_of_each_process_and_cuts_between_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut nodes = Cluster::start(&path("nats"));
    let store = nodes.config("S");
    let direct = store.url.clone().unwrap();
    let mut to_nodes = vec![];
    for node in &nodes.nodes {
        to_nodes.push(Cable::to(node.url().trim_start_matches("nats://").parse().unwrap()).await);
    }
    let over: Vec<_> = to_nodes.iter().map(|cable| cable.address.to_string()).collect();
    let configs = [
        configure(&path("config-a"), &store, &format!("nats://{}", over.join(","))),
        configure(&path("config-b"), &store, &direct),
    ];
    let start_ledger = |number: usize| {
        let data = path(["a", "b"][number]);
        Process::start_as(PROGRAM, &data, Some(&configs[number]), &["--role", "ledger"])
    };
    let mut ledgers = vec![start_ledger(0)];
    until("the first writer", async || serving(ledgers[0].address).await).await;
    ledgers.push(start_ledger(1));
    let mut cables = vec![];
    for _ in 0..2 {
        cables.push([Cable::to(ledgers[0].address).await, Cable::to(ledgers[1].address).await]);
    }
    let targets: Vec<_> = cables.iter().map(|[a, b]| format!("http://{},http://{}", a.address, b.address)).collect();
    let join = |role: &str, name: &str, targets: &str| {
        Process::start_as(PROGRAM, &path(name), Some(&configs[1]), &["--role", role, "--ledger", targets])
    };
    let mut spins = vec![join("spin", "spin0", &targets[0]), join("spin", "spin1", &targets[1])];
    let mut jackpot = join("jackpot", "jackpot", &targets[0]);
    let mut players = vec![];
    for name in PLAYERS {
        let mut client = client(spins[0].address, ledgers[0].address).await;
        players.push(Player::join(&mut client, name, "0.05").await);
    }
    let load = Load::start(players, spins.iter().map(|spin| spin.address).collect());
    load.goes_on().await;

    for number in [0, 1] {
        ledgers.remove(number).kill();
        load.gap(&format!("ledger {number} is killed")).await;
        ledgers.insert(number, start_ledger(number));
        cables.iter().for_each(|cable| cable[number].lead_to(ledgers[number].address));
        load.goes_on().await;
    }
    for number in [0, 1] {
        let name = format!("spin{number}");
        spins.remove(number).kill();
        load.gap(&format!("spin process {number} is killed, and its players move to the other")).await;
        spins.insert(number, join("spin", &name, &targets[number]));
        *load.spins.lock().unwrap() = spins.iter().map(|spin| spin.address).collect();
        load.goes_on().await;
    }
    jackpot.kill();
    load.gap("the jackpot process is killed").await;
    jackpot = join("jackpot", "jackpot", &targets[0]);
    for number in 0..3 {
        nodes.nodes[number].kill();
        load.gap(&format!("JetStream server {number} is killed")).await;
        nodes.nodes[number].restart();
        load.goes_on().await;
    }

    let addresses = [ledgers[0].address, ledgers[1].address];
    if writer(&addresses).await == 1 {
        ledgers.remove(1).kill();
        ledgers.insert(1, start_ledger(1));
        cables.iter().for_each(|cable| cable[1].lead_to(ledgers[1].address));
        load.goes_on().await;
    }
    to_nodes.iter().for_each(Cable::cut);
    load.gap("the writing ledger is cut from JetStream").await;
    until("the cut ledger steps down", async || !serving(ledgers[0].address).await).await;
    to_nodes.iter().for_each(Cable::mend);
    load.goes_on().await;
    cables[0].iter().for_each(Cable::cut);
    load.gap("a spin process is cut from both ledgers, and its players move to the other").await;
    cables[0].iter().for_each(Cable::mend);
    load.goes_on().await;

    let mut players = load.stop().await;
    let addresses = [ledgers[0].address, ledgers[1].address];
    let writing = writer(&addresses).await;
    for (number, player) in players.iter_mut().enumerate() {
        let mut client = client(spins[number % 2].address, addresses[writing]).await;
        player.check(&mut client).await;
    }
    for process in spins.into_iter().chain([jackpot]).chain(ledgers) {
        assert_eq!(process.terminate().await, Some(0));
    }
    audit(&store);
}
