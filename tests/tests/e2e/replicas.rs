use crate::PROGRAM;
use motherlode_ledger::{Options, Standing};
use motherlode_proto::round::v1::Account;
use motherlode_runtime::{
    Config,
    config::{Role, Store},
};
use motherlode_server::{Server, index_folder, log_folder, open_stores};
use motherlode_spin::Dealer;
use motherlode_tests::{Client, EUR, Process, bet, config, reason};
use std::{fs, path::Path, process::Command, time::Duration};
use tonic::Code;

const NEVER: Duration = Duration::from_secs(120);
const PATIENT: Duration = Duration::from_secs(3_600);

fn dealer() -> Dealer {
    Dealer::from_master([9; 32])
}

async fn ledger(config: &mut Config) -> Server {
    (config.role, config.store) = (Role::Ledger, Store::default());
    let server = Server::start(config, open_stores(config).unwrap(), Options::default(), dealer()).await.unwrap();
    config.listen = server.address();
    server
}

async fn spin(data: &Path, ledger: &Server, ahead_max: Duration) -> Server {
    let mut config = Config { role: Role::Spin, ..config(data) };
    config.ledger.targets = vec![target(ledger)];
    Server::join(&config, Options { ahead_max, ..Options::default() }, dealer()).await.unwrap()
}

fn target(server: &Server) -> String {
    format!("http://{}", server.address())
}

fn backup(config: &Config, data: &Path) -> Config {
    let (from, to) = (log_folder(&config.data, 0), log_folder(data, 0));
    fs::create_dir_all(&to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    Config { data: data.to_owned(), ..config.clone() }
}

async fn play(client: &mut Client, round: &str, account: &Account) -> u64 {
    let playing = async {
        loop {
            match client.play_out(bet(round, account, "0.01")).await {
                Ok(played) => break played.last().unwrap().position,
                Err(status) => assert!(matches!(&*reason(&status), "NOT_CURRENT" | "OUTCOME_UNKNOWN"), "{status:?}"),
            }
        }
    };
    tokio::time::timeout(NEVER, playing).await.expect("play continues")
}

async fn follows(replica: &Server, position: u64) {
    let mut head = replica.ledger().head();
    let reached = head.wait_for(|held| held.position >= position);
    tokio::time::timeout(NEVER, reached).await.expect("the replica follows").unwrap();
}

async fn stopped(replica: &Server) -> String {
    match tokio::time::timeout(NEVER, replica.failed()).await.expect("the replica stops") {
        Standing::Failed(why) => why,
        standing => panic!("{standing:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_log_that_stays_shorter_than_its_replica_stops_it() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data.path().join("log"));
    let first = ledger(&mut config).await;
    let account = Client::connect(first.address()).await.fund("alice", EUR, 10_000).await;
    let patient = spin(&data.path().join("a"), &first, PATIENT).await;
    let hasty = spin(&data.path().join("b"), &first, Duration::from_millis(200)).await;
    first.stop().await.unwrap();
    let mut shorter = backup(&config, &data.path().join("backup"));
    let first = ledger(&mut config).await;
    let mut client = Client::connect(patient.address()).await;
    let last = play(&mut client, "r1", &account).await;
    for replica in [&patient, &hasty] {
        follows(replica, last).await;
    }
    first.stop().await.unwrap();
    let second = ledger(&mut shorter).await;
    assert!(second.ledger().durable() < last);
    let why = stopped(&hasty).await;
    assert!(why.contains("the log is shorter than the replica"), "{why}");
    second.stop().await.unwrap();
    // While the log is shorter than the replica, a replica with a long timeout continues to wait.
    assert!(!matches!(*patient.ledger().standing().borrow(), Standing::Failed(_)));
    let first = ledger(&mut config).await;
    assert!(play(&mut client, "r2", &account).await > last);
    for server in [patient, hasty, first] {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_bet_that_another_log_took_is_not_answered_with_what_the_replica_has_in_its_place() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data.path().join("log"));
    let first = ledger(&mut config).await;
    let mut client = Client::connect(first.address()).await;
    let (alice, bob) = (client.fund("alice", EUR, 10_000).await, client.fund("bob", EUR, 10_000).await);
    let replica = spin(&data.path().join("a"), &first, PATIENT).await;
    first.stop().await.unwrap();
    let mut shorter = backup(&config, &data.path().join("backup"));
    let first = ledger(&mut config).await;
    let mut client = Client::connect(replica.address()).await;
    for round in 0..10 {
        play(&mut client, &format!("r{round}"), &alice).await;
    }
    first.stop().await.unwrap();
    let second = ledger(&mut shorter).await;
    let refused = client.spin(bet("b", &bob, "0.01"), None).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::Unavailable, "OUTCOME_UNKNOWN"), "{refused:?}");
    let why = stopped(&replica).await;
    assert!(why.contains("belongs to different requests"), "{why}");
    for server in [replica, second] {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_process_whose_replica_stops_ends_and_serves_the_other_log_when_it_is_started_again() {
    let data = tempfile::tempdir().unwrap();
    let mut longer = config(&data.path().join("other"));
    let other = ledger(&mut longer).await;
    let mut client = Client::connect(other.address()).await;
    for player in 0..10 {
        client.fund(&format!("p{player}"), EUR, 10_000).await;
    }
    other.stop().await.unwrap();
    let mut config = config(&data.path().join("log"));
    let first = ledger(&mut config).await;
    Client::connect(first.address()).await.fund("alice", EUR, 10_000).await;
    let roles = ["spin", "jackpot"];
    let start = |role: &str, target: &str| {
        Process::start_as(PROGRAM, &data.path().join(role), None, &["--role", role, "--ledger", target])
    };
    let processes = roles.map(|role| start(role, &target(&first)));
    first.stop().await.unwrap();
    longer.listen = config.listen;
    let other = ledger(&mut longer).await;
    for process in processes {
        let (code, printed) = process.ended().await;
        assert_eq!(code, Some(1), "{printed}");
        assert!(printed.contains("motherlode: ") && printed.contains("this is not the expected log"), "{printed}");
    }
    let [spins, keeps_pools] = roles.map(|role| start(role, &target(&other)));
    let account = motherlode_tests::account("p0", EUR);
    Client::connect(spins.address).await.spin(bet("r", &account, "0.01"), None).await.unwrap();
    assert_eq!((spins.terminate().await, keeps_pools.terminate().await), (Some(0), Some(0)));
    other.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_process_that_knows_of_more_than_the_log_has_starts_only_on_an_empty_folder() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data.path().join("log"));
    let first = ledger(&mut config).await;
    let account = Client::connect(first.address()).await.fund("alice", EUR, 10_000).await;
    first.stop().await.unwrap();
    let mut shorter = backup(&config, &data.path().join("backup"));
    let first = ledger(&mut config).await;
    let folder = data.path().join("spin");
    let arguments = ["--role", "spin", "--ledger", &target(&first)];
    let process = Process::start_as(PROGRAM, &folder, None, &arguments);
    play(&mut Client::connect(process.address).await, "r", &account).await;
    assert_eq!(process.terminate().await, Some(0));
    first.stop().await.unwrap();
    let second = ledger(&mut shorter).await;
    let mut again = Command::new(PROGRAM);
    again.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).arg("--data").arg(&folder);
    let ended = tokio::task::spawn_blocking(move || again.output().unwrap());
    let ended = tokio::time::timeout(NEVER, ended).await.expect("the process ends").unwrap();
    let printed = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("were acknowledged") && printed.contains("delete this folder to accept the loss"),
        "{printed}"
    );
    assert!(printed.contains(&*index_folder(&folder, 0).to_string_lossy()), "{printed}");
    fs::remove_dir_all(&folder).unwrap();
    let process = Process::start_as(PROGRAM, &folder, None, &arguments);
    play(&mut Client::connect(process.address).await, "s", &account).await;
    assert_eq!(process.terminate().await, Some(0));
    second.stop().await.unwrap();
}
