use crate::PROGRAM;
use motherlode_proto::ledger::v1::GetAccountRequest;
use motherlode_runtime::config::Store;
use motherlode_testkit::nats::{Cluster, Node, toml};
use motherlode_tests::{Client, EUR, Player, Process, account, reason};
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{task::JoinHandle, time::sleep};
use tonic::{Status, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

const RETRY_AFTER: Duration = Duration::from_millis(50);

fn configure(folder: &Path, store: &Store) -> PathBuf {
    let file = folder.join("motherlode.toml");
    let text = format!("{}[draws]\nkey_file = {:?}\n", toml(store), folder.join("draws"));
    fs::write(&file, text).unwrap();
    file
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn audit(store: &Store) {
    let place = format!("{}/{}", store.url.as_deref().unwrap(), store.stream);
    let key = store.key_file.as_ref().unwrap();
    let output = run(&["audit", &place, "--stream-key", key.to_str().unwrap()]);
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
}

fn playing(mut player: Player, process: &Process, answers: &Arc<AtomicU64>) -> JoinHandle<(Player, Status)> {
    let (address, answers) = (process.address, Arc::clone(answers));
    tokio::spawn(async move {
        let mut client = Client::connect(address).await;
        let status = player.play(&mut client, &answers).await;
        (player, status)
    })
}

async fn answered(answers: &AtomicU64, more: u64) {
    let wanted = answers.load(Ordering::Relaxed) + more;
    while answers.load(Ordering::Relaxed) < wanted {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_log_on_jetstream_outlives_kills_of_the_service_on_empty_disks_too() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let store = node.config("S");
    let config = configure(folder.path(), &store);
    let data = |kill: u64| folder.path().join(format!("data{}", kill / 2));
    let process = Process::start(PROGRAM, &data(0), Some(&config));
    let mut client = Client::connect(process.address).await;
    let mut players = vec![];
    for name in ["p", "q", "r"] {
        players.push(Player::join(&mut client, name, "0.05").await);
    }
    process.kill();
    for kill in 0..8 {
        let process = Process::start(PROGRAM, &data(kill), Some(&config));
        let answers = Arc::default();
        let tasks: Vec<_> = players.drain(..).map(|player| playing(player, &process, &answers)).collect();
        answered(&answers, 1 + kill * 29 % 100).await;
        process.kill();
        for task in tasks {
            players.push(task.await.unwrap().0);
        }
    }
    let process = Process::start(PROGRAM, &folder.path().join("new"), Some(&config));
    let mut client = Client::connect(process.address).await;
    for player in &mut players {
        player.check(&mut client).await;
    }
    assert_eq!(process.terminate().await, Some(0));
    audit(&store);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_play_goes_on_through_kills_of_each_of_three_servers() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(&folder.path().join("nats"));
    let store = cluster.config("S");
    let config = configure(folder.path(), &store);
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&config));
    let mut client = Client::connect(process.address).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    for node in &mut cluster.nodes {
        player.play_rounds(&mut client, 10).await.unwrap();
        node.kill();
        // A retried call takes effect at most once. Calls fail while the NATS cluster elects a leader, or the writer
        // starts again.
        while let Err(status) = player.play_rounds(&mut client, 10).await {
            let of_a_fault = ["OUTCOME_UNKNOWN", "NOT_THE_WRITER", "NOT_CURRENT", "LOG_UNAVAILABLE", ""];
            assert!(of_a_fault.contains(&&*reason(&status)), "{status:?}");
            sleep(RETRY_AFTER).await;
        }
        node.restart();
        node.catch_up();
    }
    player.check(&mut client).await;
    assert_eq!(process.terminate().await, Some(0));
    audit(&store);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_service_takes_the_log_over_and_the_first_acknowledges_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let store = node.config("S");
    let config = configure(folder.path(), &store);
    let first = Process::start(PROGRAM, &folder.path().join("first"), Some(&config));
    let mut at_first = Client::connect(first.address).await;
    let mut player = Player::join(&mut at_first, "p", "0.05").await;
    player.play_rounds(&mut at_first, 5).await.unwrap();
    let second = Process::start(PROGRAM, &folder.path().join("second"), Some(&config));
    let refused = player.play_rounds(&mut at_first, 1).await.unwrap_err();
    assert!(matches!(&*reason(&refused), "OUTCOME_UNKNOWN" | "NOT_THE_WRITER" | ""), "{refused:?}");
    let stands_by = async {
        loop {
            let channel = Channel::from_shared(format!("http://{}", first.address)).unwrap().connect().await.unwrap();
            let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
            if answer.is_ok_and(|answer| answer.into_inner().status() == ServingStatus::NotServing) {
                return;
            }
            sleep(RETRY_AFTER).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), stands_by).await.expect("the writer steps down");
    let mut at_first = Client::connect(first.address).await;
    let account = GetAccountRequest { account: Some(account("p", EUR)) };
    let refused = loop {
        let refused = at_first.ledger.get_account(account.clone()).await.unwrap_err();
        if refused.source().is_none() {
            break refused;
        }
    };
    assert_eq!(reason(&refused), "NOT_THE_WRITER");
    let mut at_second = Client::connect(second.address).await;
    player.check(&mut at_second).await;
    let (data, config) = (folder.path().join("second"), config.to_str().unwrap().to_owned());
    let output = run(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap(), "--config", &config]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in use by another process"));
    player.check(&mut at_second).await;
    assert_eq!(second.terminate().await, Some(0));
    audit(&store);
}
