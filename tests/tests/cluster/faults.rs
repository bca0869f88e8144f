use super::{LOOK, NEVER, PROGRAM, client};
use motherlode_proto::ledger::v1::{DepositRequest, GetAccountRequest};
use motherlode_runtime::config::Store;
use motherlode_testkit::nats::{Cluster, Node, toml};
use motherlode_tests::{Client, EUR, Player, Process, reason, serving, until};
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_types::StatusExt;

const SILENCE_MAX: Duration = Duration::from_secs(3);
const TAKEOVER_MAX: Duration = Duration::from_secs(6);
const ROOM: Duration = Duration::from_millis(1_500);
const AT_ONCE: Duration = Duration::from_millis(500);
const OFTEN: Duration = Duration::from_millis(25);

struct Installation {
    folder: TempDir,
    config: PathBuf,
    player: Option<Player>,
}

impl Installation {
    fn new(store: &Store, folder: TempDir) -> Self {
        let config = folder.path().join("motherlode.toml");
        fs::write(&config, toml(store)).unwrap();
        Self { folder, config, player: None }
    }

    fn start(&self, name: &str, role: &str, more: &[&str]) -> Process {
        let data: &Path = &self.folder.path().join(name);
        Process::start_as(PROGRAM, data, Some(&self.config), &[&["--role", role], more].concat())
    }

    async fn writer(&self, name: &str) -> Process {
        let ledger = self.start(name, "ledger", &[]);
        until("a writer", async || serving(ledger.address).await).await;
        ledger
    }

    async fn behind(&self, ledgers: &[&Process]) -> [Process; 2] {
        let targets: Vec<_> = ledgers.iter().map(|ledger| format!("http://{}", ledger.address)).collect();
        let processes = ["spin", "jackpot"].map(|role| self.start(role, role, &["--ledger", &targets.join(",")]));
        for process in &processes {
            until("health", async || serving(process.address).await).await;
        }
        processes
    }

    async fn join(&mut self, spin: &Process, ledger: &Process) {
        self.player = Some(Player::join(&mut client(spin.address, ledger.address).await, "p", "0.01").await);
        self.play(spin).await.1.unwrap();
    }

    async fn play(&mut self, spin: &Process) -> (Duration, Result<(), Status>) {
        let player = self.player.as_mut().unwrap();
        let (begun, channel) = (Instant::now(), connect(spin.address).await.expect("the process listens"));
        let played = player.play_round(&mut Client::on(channel), &Arc::default()).await;
        if played.is_ok() {
            player.next_round();
        }
        (begun.elapsed(), played)
    }
}

async fn connect(address: SocketAddr) -> Option<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap().timeout(Duration::from_secs(10));
    endpoint.connect_timeout(Duration::from_secs(1)).connect().await.ok()
}

struct Watched {
    name: &'static str,
    task: JoinHandle<Option<Duration>>,
}

async fn watch(name: &'static str, process: &Process, wanted: ServingStatus, most: Duration) -> Watched {
    let channel = connect(process.address).await.expect("the process listens");
    let begun = Instant::now();
    let task = tokio::spawn(async move {
        let mut health = HealthClient::new(channel);
        while begun.elapsed() < most {
            let answer = timeout(AT_ONCE, health.check(HealthCheckRequest::default())).await;
            if answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.into_inner().status() == wanted)) {
                return Some(begun.elapsed());
            }
            sleep(OFTEN).await;
        }
        None
    });
    Watched { name, task }
}

impl Watched {
    async fn after(self, fault: &str) -> Option<Duration> {
        let after = self.task.await.unwrap();
        let shown = after.map_or("never".to_owned(), |after| format!("{:.1} s", after.as_secs_f32()));
        println!("{fault}: {} has the expected health after {shown}", self.name);
        after
    }
}

fn shown(played: &Result<(), Status>) -> String {
    played.as_ref().map_or_else(|status| format!("{:?}", status.code()), |()| "its answer".to_owned())
}

fn check_refused((took, refused): (Duration, Result<(), Status>)) {
    let status = refused.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert!(status.get_details_retry_info().is_some_and(|retry| retry.retry_delay.is_some()), "{status:?}");
    assert!(took <= AT_ONCE, "{took:?}: {status:?}");
    println!("  a bet is refused after {} ms: {}", took.as_millis(), reason(&status));
}

async fn check_silence(
    installation: &mut Installation,
    fault: &str,
    [spin, jackpot]: [&Process; 2],
    writer: Option<&Process>,
) {
    let most = 10 * SILENCE_MAX;
    let mut watched = vec![
        watch("spin", spin, ServingStatus::NotServing, most).await,
        watch("jackpot", jackpot, ServingStatus::NotServing, most).await,
    ];
    if let Some(writer) = writer {
        watched.push(watch("the writer", writer, ServingStatus::NotServing, most).await);
    }
    let (took, first) = installation.play(spin).await;
    println!("{fault}: the bet sent at that moment gets {} after {:.1} s", shown(&first), took.as_secs_f32());
    for of in watched {
        let after = of.after(fault).await;
        assert!(after.is_some_and(|after| after <= SILENCE_MAX + ROOM), "{fault}: {after:?}");
    }
    assert!(took <= SILENCE_MAX + ROOM, "{took:?}");
    check_refused(installation.play(spin).await);
}

async fn check_mended(installation: &mut Installation, fault: &str, [spin, jackpot]: [&Process; 2]) {
    for (name, process) in [("spin", spin), ("jackpot", jackpot)] {
        let serving = watch(name, process, ServingStatus::Serving, NEVER).await;
        assert!(serving.after(&format!("{fault}, mended")).await.is_some());
    }
    installation.play(spin).await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a1_processes_behind_a_frozen_or_dead_ledger_say_so_within_3_s_and_refuse_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let mut installation = Installation::new(&node.config("S"), folder);
    let ledger = installation.writer("a").await;
    let [spin, jackpot] = installation.behind(&[&ledger]).await;
    installation.join(&spin, &ledger).await;
    ledger.hold();
    check_silence(&mut installation, "the ledger is frozen", [&spin, &jackpot], None).await;
    ledger.release();
    check_mended(&mut installation, "the ledger is frozen", [&spin, &jackpot]).await;
    ledger.kill();
    check_silence(&mut installation, "the ledger is killed", [&spin, &jackpot], None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a1_without_jetstreams_majority_writer_spin_and_jackpot_say_so_within_3_s_and_refuse_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = Cluster::start(&folder.path().join("nats"));
    let mut installation = Installation::new(&nodes.config("S"), folder);
    let ledger = installation.writer("a").await;
    let [spin, jackpot] = installation.behind(&[&ledger]).await;
    installation.join(&spin, &ledger).await;
    let fault = "two of three JetStream servers are killed";
    nodes.nodes[1].kill();
    nodes.nodes[2].kill();
    check_silence(&mut installation, fault, [&spin, &jackpot], Some(&ledger)).await;
    nodes.nodes[1].restart();
    nodes.nodes[2].restart();
    check_mended(&mut installation, fault, [&spin, &jackpot]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a1_while_a_standby_takes_over_processes_go_on_serving_and_bets_wait() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let mut installation = Installation::new(&node.config("S"), folder);
    let (a, b) = (installation.writer("a").await, installation.start("b", "ledger", &[]));
    let [spin, jackpot] = installation.behind(&[&a, &b]).await;
    installation.join(&spin, &a).await;
    let held = async |standby: &Process| standby.log_line("the log was loaded").is_some();

    until("a standby", async || held(&b).await).await;
    a.hold();
    check_takeover(&mut installation, "the writer is frozen", [&spin, &jackpot]).await;
    a.release();
    until("the frozen writer is a standby", async || held(&a).await).await;
    b.kill();
    check_takeover(&mut installation, "the writer is killed", [&spin, &jackpot]).await;
    let mut player = installation.player.unwrap();
    player.check(&mut client(spin.address, a.address).await).await;
}

async fn check_takeover(installation: &mut Installation, fault: &str, [spin, jackpot]: [&Process; 2]) {
    let mut watched = vec![];
    for (name, process) in [("spin", spin), ("jackpot", jackpot)] {
        watched.push(watch(name, process, ServingStatus::NotServing, TAKEOVER_MAX).await);
    }
    let (begun, mut longest) = (Instant::now(), Duration::ZERO);
    while begun.elapsed() < TAKEOVER_MAX {
        let (took, played) = installation.play(spin).await;
        played.unwrap_or_else(|status| panic!("{fault}, after {:?}: {status:?}", begun.elapsed()));
        longest = longest.max(took);
        sleep(OFTEN).await;
    }
    println!("{fault}: the longest bet took {:.1} s", longest.as_secs_f32());
    for of in watched {
        let fault = format!("{fault}, NOT_SERVING");
        assert_eq!(of.after(&fault).await, None, "the process stays SERVING");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a2_a_writer_that_was_frozen_answers_no_read_from_its_old_state() {
    const TRIES: usize = 3;
    const READS: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let installation = Installation::new(&node.config("S"), folder);
    let (mut writer, mut standby) = (installation.writer("a").await, installation.start("b", "ledger", &[]));
    let mut old = 0;
    for number in 0..TRIES {
        until("a standby", async || standby.log_line("the log was loaded").is_some()).await;
        let mut at_writer = Client::connect(writer.address).await;
        let name = format!("p{number}");
        let account = at_writer.fund(&name, EUR, 1_000).await;
        let read = GetAccountRequest { account: Some(account.clone()) };
        writer.hold();
        until("a takeover", async || serving(standby.address).await).await;
        let mut at_standby = Client::connect(standby.address).await;
        let more = DepositRequest { request_id: "more".to_owned(), account: Some(account.clone()), amount_minor: 500 };
        at_standby.ledger.deposit(more).await.unwrap();
        let reads: Vec<_> = (0..READS)
            .map(|_| {
                let (mut client, read) = (at_writer.ledger.clone(), read.clone());
                tokio::spawn(async move { timeout(NEVER, client.get_account(read)).await.expect("the read ends") })
            })
            .collect();
        sleep(LOOK).await;
        writer.release();
        for read in reads {
            match read.await.unwrap() {
                Ok(account) => {
                    let balance = account.into_inner().balance.unwrap().amount_minor;
                    old += usize::from(balance != 1_500);
                }
                Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status:?}"),
            }
        }
        until("the frozen writer is a standby", async || !serving(writer.address).await).await;
        std::mem::swap(&mut writer, &mut standby);
    }
    println!("{old} of {} reads were answered from old state", TRIES * READS);
    assert_eq!(old, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a7_a_writer_that_is_asked_to_stop_hands_over_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let mut installation = Installation::new(&node.config("S"), folder);
    let (mut writer, mut standby) = (installation.writer("a").await, installation.start("b", "ledger", &[]));
    let [spin, _jackpot] = installation.behind(&[&writer, &standby]).await;
    installation.join(&spin, &writer).await;
    until("a standby", async || standby.log_line("the log was loaded").is_some()).await;
    std::mem::swap(&mut writer, &mut standby);
    let stopping = tokio::spawn(standby.terminate());
    let begun = Instant::now();
    let (took, played) = installation.play(&spin).await;
    played.unwrap();
    until("a takeover", async || serving(writer.address).await).await;
    println!(
        "the writer stops: a bet sent at that moment takes {:.1} s, and the other ledger writes after {:.1} s",
        took.as_secs_f32(),
        begun.elapsed().as_secs_f32()
    );
    assert!(begun.elapsed() < SILENCE_MAX, "{:?}", begun.elapsed());
    let (took, played) = installation.play(&spin).await;
    played.unwrap();
    println!("  the next bet takes {:.1} s", took.as_secs_f32());
    assert_eq!(stopping.await.unwrap(), Some(0));
}
