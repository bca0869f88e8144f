use crate::{PROGRAM, upgrade::here};
use motherlode_ledger::{Proposal, Standing};
use motherlode_runtime::{Config, program};
use motherlode_server::{index_folder, open_stores};
use motherlode_state::{Books, Event, StreamId, Switch};
use motherlode_tests::{Client, EUR, Server, account, bet, start_on};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn snapshot(data: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(index_folder(data, 0).with_extension("views").join("checkpoints")).into_iter().flatten();
    files.map(|file| file.unwrap().path()).next()
}

fn offset(snapshot: &[u8], bytes: &[u8]) -> Option<usize> {
    snapshot.windows(bytes.len()).position(|found| found == bytes)
}

async fn start(config: &Config) -> Server {
    start_on(config, open_stores(config).unwrap()).await
}

async fn written(config: &Config) {
    let server = start(config).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    for number in 0..30 {
        client.play_out(bet(&format!("round-{number}"), &account, "0.01")).await.unwrap();
    }
    let switch = Switch { operator: "nobody".into(), game: "".into(), rules_version: "".into() };
    let proposal = Proposal {
        stream: StreamId::System,
        expected_version: None,
        request_id: "switch".into(),
        fingerprint: [1; 16],
        events: vec![Event::SwitchSet { switch, on: false, reason: "reel fault A".into(), actor: "anyone".into() }],
    };
    server.ledger().append(proposal).await.unwrap();
    server.stop().await.unwrap();
}

fn of_another_build(data: &Path, replaced: &[u8], by: &[u8]) {
    let file = snapshot(data).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let program = offset(&bytes, &program::digest().unwrap()).expect("the snapshot names this build");
    bytes[program] ^= 1;
    let at = offset(&bytes, replaced).expect("the snapshot has the bytes to replace");
    bytes[at..at + by.len()].copy_from_slice(by);
    fs::remove_file(&file).unwrap();
    fs::write(file.with_file_name(hex(&motherlode_log::hash(&bytes))), bytes).unwrap();
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_34_1_a_snapshot_of_another_build_is_checked_once_behind_the_service() {
    let data = tempfile::tempdir().unwrap();
    let config = here(data.path(), 1);
    written(&config).await;
    of_another_build(data.path(), b"reel fault A", b"reel fault A");
    let server = start(&config).await;
    assert!(server.ledger().rests_on().position > 0, "the start uses the snapshot");
    let mut client = Client::connect(server.address()).await;
    client.spin(bet("more", &account("alice", EUR), "0.01"), None).await.unwrap();
    let names = |snapshot: Vec<u8>| offset(&snapshot, &program::digest().unwrap()).is_some();
    let of_this = || names(fs::read(snapshot(data.path()).unwrap()).unwrap());
    server.stop().await.unwrap();
    for _ in 0..100 {
        if of_this() {
            break;
        }
        let server = start(&config).await;
        assert_eq!(*server.ledger().state_difference().borrow(), None);
        server.stop().await.unwrap();
    }
    assert!(of_this(), "the snapshot names the build after the check");
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_34_1_a_state_that_this_build_does_not_fold_stops_new_rounds_until_the_next_start_replays() {
    let data = tempfile::tempdir().unwrap();
    let config = here(data.path(), 1);
    written(&config).await;
    of_another_build(data.path(), b"reel fault A", b"reel fault B");
    let server = start(&config).await;
    let mut difference = server.ledger().state_difference();
    let finding = difference.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    assert!(finding.contains("the state of the system stream"), "{finding}");
    assert_eq!(server.ledger().failed().await, Standing::Failed(finding.clone()));
    let mut client = Client::connect(server.address()).await;
    let account = account("alice", EUR);
    client.spin(bet("more", &account, "0.01"), None).await.unwrap_err();
    assert!(client.balance(&account).await > 0, "reads continue");
    let last = server.ledger().fetch(server.ledger().durable()).unwrap();
    assert_eq!(last.commit.events, [Event::IntegrityFailed { check: "state".to_owned(), finding }]);
    server.stop().await.unwrap();
    assert_eq!(snapshot(data.path()), None, "the next start folds the log");

    let server = start(&config).await;
    assert_eq!(server.ledger().rests_on().position, 0);
    let mut client = Client::connect(server.address()).await;
    client.spin(bet("more", &account, "0.01"), None).await.unwrap();
    assert_eq!(*server.ledger().state_difference().borrow(), None);
    let reasons = |books: &Books| books.switched_off().map(|(_, off)| off.reason.clone()).collect::<Vec<_>>();
    assert_eq!(server.ledger().books(reasons), ["reel fault A"]);
    server.stop().await.unwrap();
    assert!(snapshot(data.path()).is_some());
}

fn build_views(data: &Path, to: &Path) -> Output {
    Command::new(PROGRAM).args(["views", "--priority", "normal"]).arg(data).arg("--to").arg(to).output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_views_built_from_a_served_log_replace_a_replay_at_the_next_start() {
    let (data, next) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let config = here(data.path(), 2);
    let server = start(&config).await;
    let mut client = Client::connect(server.address()).await;
    let accounts = ["alice", "bob", "carol", "dave"].map(|player| account(player, EUR));
    let mut play = async |from: usize| {
        for account in &accounts {
            if from == 0 {
                client.fund_account(account, 1_000_000).await;
            }
            for number in from..from + 10 {
                client.play_out(bet(&format!("{number}-{}", account.player_id), account, "0.01")).await.unwrap();
            }
        }
    };
    play(0).await;
    let first = server.ends();
    for (number, from) in [(0, 10), (1, 20)] {
        let built = build_views(data.path(), next.path());
        let printed = String::from_utf8_lossy(&built.stdout).into_owned();
        assert!(built.status.success(), "{printed}{}", String::from_utf8_lossy(&built.stderr));
        assert_eq!(printed.lines().count(), 2, "turn {number}: one line per partition: {printed}");
        play(from).await;
    }
    let (last, mut balances) = (server.ends(), vec![]);
    for account in &accounts {
        balances.push(client.balance(account).await);
    }
    server.stop().await.unwrap();

    let index = data.path().join("index");
    fs::remove_dir_all(&index).unwrap();
    fs::rename(next.path().join("index"), &index).unwrap();
    let server = start(&config).await;
    for (partition, (first, last)) in (0..).zip(first.into_iter().zip(last)) {
        let from = server.ledgers().loaded(partition).unwrap().rests_on().position;
        assert!(first < from && from < last, "partition {partition}: {first} < {from} < {last}");
    }
    let mut client = Client::connect(server.address()).await;
    for (account, balance) in accounts.iter().zip(balances) {
        let again = bet(&format!("0-{}", account.player_id), account, "0.01");
        client.spin(again, None).await.unwrap();
        assert_eq!(client.balance(account).await, balance, "a repeated request is not applied");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_views_are_not_built_in_the_data_folder_nor_from_a_folder_without_a_log() {
    let (data, next) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    written(&here(data.path(), 1)).await;
    for (of, to) in [(data.path(), data.path()), (next.path(), next.path()), (next.path(), data.path())] {
        let built = build_views(of, to);
        assert_eq!(built.status.code(), Some(2), "{}", String::from_utf8_lossy(&built.stderr));
    }
    assert_eq!(fs::read_dir(next.path()).unwrap().count(), 0);
}
