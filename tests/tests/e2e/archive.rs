use crate::PROGRAM;
use motherlode_audit::audit_all;
use motherlode_proofs::load;
use motherlode_runtime::{Config, config::Store};
use motherlode_server::{LocalLog, open_stores};
use motherlode_tests::{Client, Player, Server, audited_parts, config, partitions::settled, start_on};
use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const PARTITIONS: u32 = 3;
const PLAYERS: usize = 9;

pub(crate) async fn serve(data: &Path) -> Server {
    let config = Config { partitions: PARTITIONS, store: Store::default(), ..config(data) };
    start_on(&config, open_stores(&config).unwrap()).await
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["--priority", "normal"]);
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn heads(data: &Path) -> Vec<String> {
    let verified = printed(&["log", "verify", data.to_str().unwrap()]);
    verified.lines().filter(|line| line.starts_with("  head")).map(str::to_owned).collect()
}

pub(crate) async fn played(data: &Path, rounds: usize) {
    let server = serve(data).await;
    let mut client = Client::connect(server.address()).await;
    for player in 0..PLAYERS {
        Player::join(&mut client, &format!("p{player}"), "0.05").await.play_rounds(&mut client, rounds).await.unwrap();
    }
    settled(server.ledgers()).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_log_archived_while_it_is_written_is_restored_audits_and_serves() {
    let at = tempfile::tempdir().unwrap();
    let [data, archive, restored] = ["data", "archive", "restored"].map(|name| at.path().join(name));
    let [from, to] = [&data, &archive].map(|path| path.to_str().unwrap());
    let server = serve(&data).await;
    let over = Arc::new(AtomicBool::new(false));
    let mut playing = vec![];
    for player in 0..PLAYERS {
        let (address, over) = (server.address(), Arc::clone(&over));
        playing.push(tokio::spawn(async move {
            let mut client = Client::connect(address).await;
            let mut player = Player::join(&mut client, &format!("p{player}"), "0.05").await;
            while !over.load(Ordering::Acquire) {
                player.play_rounds(&mut client, 1).await.unwrap();
            }
        }));
    }
    let mut ends = vec![0; PARTITIONS as usize];
    for turn in 0..4 {
        for ledger in server.ledgers().all() {
            let (mut head, known) = (ledger.head(), ends[ledger.partition() as usize]);
            let more = head.wait_for(|head| head.position > known);
            tokio::time::timeout(Duration::from_secs(120), more).await.expect("the players continue").unwrap();
        }
        printed(&["archive", "--from", from, "--to", to, "--segment-bytes", "8192"]);
        let copy = at.path().join(format!("restored-{turn}"));
        printed(&["restore", "--from", to, "--to", copy.to_str().unwrap()]);
        let whole = audit_all(&audited_parts(&LocalLog::open(&copy, &Config::default()).unwrap())).unwrap();
        assert_eq!(whole.divergence(), None);
        ends = whole.partitions.iter().map(|report| report.position).collect();
    }
    over.store(true, Ordering::Release);
    for playing in playing {
        playing.await.unwrap();
    }
    settled(server.ledgers()).await;
    server.stop().await.unwrap();

    printed(&["archive", "--from", from, "--to", to, "--segment-bytes", "8192"]);
    let key = load(&data.join("proofs.key")).unwrap().verifier().to_string();
    let text = printed(&["restore", "--from", to, "--to", restored.to_str().unwrap(), "--key", &key]);
    assert_eq!(text.matches("verified the checkpoint of").count(), PARTITIONS as usize, "{text}");
    assert_eq!((heads(&restored), heads(&restored).len()), (heads(&data), PARTITIONS as usize));
    assert!(refused(&["restore", "--from", to, "--to", restored.to_str().unwrap()]).contains("already contains a log"));
    let other = at.path().join("other");
    played(&other, 1).await;
    let error = refused(&["archive", "--from", other.to_str().unwrap(), "--to", to, "--segment-bytes", "8192"]);
    assert!(error.contains("lost no record"), "{error}");
    printed(&["restore", "--from", to, "--check", "--key", &key]);

    let server = serve(&restored).await;
    let mut client = Client::connect(server.address()).await;
    Player::join(&mut client, "late", "0.05").await.play_rounds(&mut client, 3).await.unwrap();
    server.stop().await.unwrap();
    printed(&["audit", restored.to_str().unwrap()]);
}

fn files(folder: &Path) -> u64 {
    let Ok(listed) = fs::read_dir(folder) else { return 0 };
    let paths = listed.flatten().map(|entry| entry.path());
    paths.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

pub(crate) fn bytes(folder: &Path) -> u64 {
    let Ok(listed) = fs::read_dir(folder) else { return 0 };
    let paths = listed.flatten().map(|entry| entry.path());
    paths.map(|path| if path.is_dir() { bytes(&path) } else { fs::metadata(&path).map_or(0, |file| file.len()) }).sum()
}

pub(crate) fn killed(arguments: &[&str], reached: impl Fn() -> bool) -> bool {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{arguments:?}");
            return true;
        }
        if reached() {
            child.kill().unwrap();
            child.wait().unwrap();
            return false;
        }
        std::thread::yield_now();
    }
}

pub(crate) const KILLS: usize = 30;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_an_archive_and_a_restore_killed_at_30_random_points_lose_nothing() {
    let at = tempfile::tempdir().unwrap();
    let [data, archive, restored] = ["data", "archive", "restored"].map(|name| at.path().join(name));
    let [from, to, back] = [&data, &archive, &restored].map(|path| path.to_str().unwrap());
    played(&data, 30).await;
    let (mut random, mut kills) = (Random(1), 0);
    let arguments = ["archive", "--from", from, "--to", to, "--segment-bytes", "4096"];
    while kills < KILLS {
        let _ = fs::remove_dir_all(&archive);
        loop {
            let wanted = files(&archive) + random.below(12);
            if killed(&arguments, || files(&archive) >= wanted) {
                break;
            }
            kills += 1;
            if !archive.join("archive").exists() {
                refused(&["restore", "--from", to, "--check"]);
            }
        }
        printed(&["restore", "--from", to, "--check"]);
    }
    let (arguments, mut kills) = (["restore", "--from", to, "--to", back], 0);
    let all = bytes(&data.join("log"));
    while kills < KILLS {
        let _ = fs::remove_dir_all(&restored);
        loop {
            let wanted = bytes(&restored) + random.below(all / 8);
            if killed(&arguments, || bytes(&restored) > wanted) {
                break;
            }
            kills += 1;
            if restored.join("log").exists() {
                break;
            }
        }
        assert_eq!(heads(&restored), heads(&data));
    }
    printed(&["audit", back]);
}
