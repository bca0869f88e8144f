use crate::PROGRAM;
use motherlode_ledger::{Handle, LedgerApi, Options};
use motherlode_log::SegmentStore;
use motherlode_proto::{
    jackpot::v1::ListAwardsRequest,
    ledger::v1::{DepositRequest, ListRoundsRequest, ledger_service_server::LedgerService},
    round::v1::Account,
};
use motherlode_runtime::{Config, config::Role, stop};
use motherlode_server::{Server, index_folder, log_folder};
use motherlode_slots::latest;
use motherlode_spin::Dealer;
use motherlode_testkit::sim::SimDisk;
use motherlode_tests::{
    Client, EUR, bet, config, play, reason, smallest, stake_on, start, start_on, start_with, store_on, until,
};
use std::{fs, net::SocketAddr, path::Path, sync::Arc};
use tempfile::TempDir;
use tokio::process::Command;
use tonic::{Code, Request, Status, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_types::StatusExt;

const SPIN: &str = "motherlode.spin.v1.SpinService";
const LEDGER: &str = "motherlode.ledger.v1.LedgerService";
const REPORT: &str = "motherlode.report.v1.ReportService";

async fn serves(address: SocketAddr, service: &str) -> bool {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let request = HealthCheckRequest { service: service.to_owned() };
    let answer = HealthClient::new(channel).check(request).await.unwrap().into_inner();
    answer.status() == ServingStatus::Serving
}

async fn deposit(client: &mut Client, account: &Account, request_id: &str) -> Result<u64, Status> {
    let request =
        DepositRequest { request_id: request_id.to_owned(), account: Some(account.clone()), amount_minor: 100 };
    let deposited = client.ledger.deposit(request).await?.into_inner();
    Ok(deposited.transaction.unwrap().position)
}

fn refused(status: &Status) -> (Code, String) {
    let wait = status.get_error_details().retry_info().and_then(|info| info.retry_delay);
    assert!(wait.is_some_and(|wait| !wait.is_zero()), "{status:?}");
    (status.code(), reason(status))
}

async fn deposit_all(client: &mut Client, account: &Account) -> (usize, Status) {
    for number in 0..20_000 {
        if let Err(status) = deposit(client, account, &format!("d{number}")).await {
            return (number, status);
        }
    }
    panic!("the full disk refused no deposit");
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_10_a_full_disk_refuses_what_is_new_answers_what_was_done_and_heals() {
    let disk = SimDisk::new();
    let data = tempfile::tempdir().unwrap();
    let server = start_on(&config(data.path()), store_on(&disk)).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    for service in ["", SPIN, LEDGER, REPORT] {
        assert!(serves(server.address(), service).await, "{service}");
    }
    disk.set_room(Some(0));
    let (taken, status) = deposit_all(&mut client, &account).await;
    assert!(taken > 0);
    assert_eq!(refused(&status), (Code::Unavailable, "LOG_FULL".to_owned()));
    until("NOT_SERVING", async || !serves(server.address(), "").await).await;
    for (service, expected) in [(SPIN, false), (LEDGER, false), (REPORT, true)] {
        assert_eq!(serves(server.address(), service).await, expected, "{service}");
    }
    let spun = client.spin(bet("spin", &account, "0.01"), None).await.unwrap_err();
    assert_eq!(refused(&spun), (Code::Unavailable, "LOG_FULL".to_owned()));
    let first = deposit(&mut client, &account, "d0").await.unwrap();
    assert_eq!(deposit(&mut client, &account, "d0").await.unwrap(), first, "earlier requests are answered");
    assert_eq!(client.balance(&account).await, 1_000_000 + 100 * i64::try_from(taken).unwrap());

    disk.set_room(None);
    until("SERVING", async || serves(server.address(), "").await && serves(server.address(), SPIN).await).await;
    deposit(&mut client, &account, &format!("d{taken}")).await.unwrap();
    assert_eq!(client.balance(&account).await, 1_000_000 + 100 * i64::try_from(taken + 1).unwrap());
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_10_a_spin_process_does_not_serve_while_the_ledgers_disk_is_full_and_heals() {
    let disk = SimDisk::new();
    let data = tempfile::tempdir().unwrap();
    let mut config = Config { role: Role::Ledger, partitions: 1, ..config(data.path()) };
    let ledger = start_on(&config, store_on(&disk)).await;
    config.listen = ledger.address();
    let join = async |folder: &str| {
        let mut config = Config { role: Role::Spin, data: data.path().join(folder), ..config.clone() };
        (config.listen, config.ledger.targets) =
            (([127, 0, 0, 1], 0).into(), vec![format!("http://{}", ledger.address())]);
        Server::join(&config, Options::default(), Dealer::from_master([3; 32])).await.unwrap()
    };
    let spin = join("spin").await;
    let mut at_ledger = Client::connect(ledger.address()).await;
    let mut at_spin = Client::connect(spin.address()).await;
    let account = at_ledger.fund("alice", EUR, 1_000_000).await;
    at_spin.play_out(bet("before", &account, "0.01")).await.unwrap();
    for service in ["", SPIN] {
        assert!(serves(spin.address(), service).await, "{service}");
    }

    disk.set_room(Some(0));
    let (taken, _) = deposit_all(&mut at_ledger, &account).await;
    let spun = at_spin.spin(bet("full", &account, "0.01"), None).await.unwrap_err();
    assert_eq!(refused(&spun), (Code::Unavailable, "LOG_FULL".to_owned()));
    until("NOT_SERVING", async || !serves(spin.address(), "").await && !serves(spin.address(), SPIN).await).await;
    let late = join("late").await;
    until("NOT_SERVING", async || !serves(late.address(), SPIN).await).await;

    disk.set_room(None);
    for server in [&spin, &late] {
        until("SERVING", async || serves(server.address(), "").await && serves(server.address(), SPIN).await).await;
    }
    at_spin.play_out(bet("full", &account, "0.01")).await.unwrap();
    late.stop().await.unwrap();

    disk.set_room(Some(0));
    let full = async |number: usize| deposit(&mut at_ledger.clone(), &account, &format!("d{number}")).await.is_err();
    for number in taken.. {
        if full(number).await {
            break;
        }
    }
    until("NOT_SERVING", async || !serves(spin.address(), SPIN).await).await;
    drop(at_ledger);
    ledger.stop().await.unwrap();
    disk.set_room(None);
    let ledger = start_on(&config, store_on(&disk)).await;
    until("SERVING", async || serves(spin.address(), SPIN).await).await;
    at_spin.play_out(bet("after", &account, "0.01")).await.unwrap();
    spin.stop().await.unwrap();
    ledger.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_10_only_an_append_that_was_tried_is_unknown_and_the_service_heals() {
    let disk = SimDisk::new();
    let data = tempfile::tempdir().unwrap();
    let server = start_on(&config(data.path()), store_on(&disk)).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let done = deposit(&mut client, &account, "before").await.unwrap();
    disk.set_syncs_fail(true);
    for _ in 0..3 {
        let unknown = deposit(&mut client, &account, "a").await.unwrap_err();
        assert_eq!(refused(&unknown), (Code::Unavailable, "OUTCOME_UNKNOWN".to_owned()));
        let untried = deposit(&mut client, &account, "b").await.unwrap_err();
        assert_eq!(refused(&untried), (Code::Unavailable, "LOG_UNAVAILABLE".to_owned()));
        assert_eq!(deposit(&mut client, &account, "before").await.unwrap(), done);
    }
    assert_eq!(client.balance(&account).await, 1_000_100);
    until("NOT_SERVING", async || !serves(server.address(), LEDGER).await).await;
    let left = disk.after_kill();

    disk.set_syncs_fail(false);
    until("SERVING", async || serves(server.address(), LEDGER).await).await;
    for _ in 0..2 {
        assert_eq!(deposit(&mut client, &account, "a").await.unwrap(), done + 1);
    }
    assert_eq!(client.balance(&account).await, 1_000_200);
    server.stop().await.unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    let server = start_on(&config(elsewhere.path()), store_on(&left)).await;
    let mut client = Client::connect(server.address()).await;
    let first = deposit(&mut client, &account, "a").await.unwrap();
    assert_eq!(deposit(&mut client, &account, "a").await.unwrap(), first);
    assert_eq!(client.balance(&account).await, 1_000_200);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_02_the_log_goes_on_to_its_next_segment_without_a_descriptor() {
    let disk = SimDisk::new();
    let data = tempfile::tempdir().unwrap();
    let options = motherlode_log::Options { segment_bytes: 64 << 10, zero_bytes: 8 << 10 };
    let store = SegmentStore::open_on(Arc::new(disk.clone()), Path::new("/log"), 0, options).unwrap();
    let server = start_on(&config(data.path()), Box::new(store)).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let mut number = 0;
    while disk.bytes(Path::new("/log/unfinished")).is_none() {
        deposit(&mut client, &account, &format!("d{number}")).await.unwrap();
        number += 1;
    }
    disk.set_no_descriptors(true);
    let (first, refusal) = deposit_all(&mut client, &account).await;
    assert!(first > number + 100, "the log continues in a second segment: {number}, {first}");
    assert_eq!(
        refused(&refusal),
        (Code::Unavailable, "LOG_UNAVAILABLE".to_owned()),
        "the third segment could not be created"
    );
    until("NOT_SERVING", async || !serves(server.address(), "").await).await;
    disk.set_no_descriptors(false);
    until("SERVING", async || serves(server.address(), "").await).await;
    deposit(&mut client, &account, "after").await.unwrap();
    server.stop().await.unwrap();
}

struct Indexed {
    folder: TempDir,
    ledger: Handle,
    api: LedgerApi,
}

async fn list(api: &LedgerApi, account: &Account, game: &str) -> Result<Vec<String>, Status> {
    let request =
        ListRoundsRequest { account: Some(account.clone()), game: game.to_owned(), ..ListRoundsRequest::default() };
    let page = api.list_rounds(Request::new(request)).await?.into_inner();
    Ok(page.rounds.into_iter().map(|round| round.round_id).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_10_the_index_never_stops_the_log_and_is_written_later() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let server = start_with(&config, motherlode_tests::fresh(&config), Options::default()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000_000).await;
    let (stopper, stop) = stop::channel();
    let indexed =
        Indexed { folder: data, ledger: server.ledger().clone(), api: LedgerApi::new(server.ledger().clone(), stop) };
    let game = latest("witch-feature").unwrap();
    let mut rounds = 0;
    let mut played = async |client: &mut Client, more: u64| {
        let mut names = vec![];
        for _ in 0..more {
            rounds += 1;
            let bet = stake_on(game, &format!("r{rounds}"), &account, smallest(game));
            names.insert(0, play(client, game, bet, rounds).await[0].round_id.clone());
        }
        names
    };
    played(&mut client, 12).await;
    let views = index_folder(indexed.folder.path(), 0).with_extension("views");
    drop(fs::remove_dir_all(&views));
    fs::write(&views, "").unwrap();
    let mut latest = played(&mut client, 12).await;
    while indexed.ledger.durable() < 500 {
        latest = played(&mut client, 12).await;
    }
    assert!(indexed.ledger.writable(), "the index never stops the log");
    assert!(indexed.ledger.index_behind() >= 500, "the index cannot be written");
    assert_eq!(list(&indexed.api, &account, game.name()).await.unwrap(), latest[..10], "rounds are found");

    fs::remove_file(&views).unwrap();
    assert_eq!(list(&indexed.api, &account, game.name()).await.unwrap(), latest[..10]);
    let awards = ListAwardsRequest { pool_id: "bewitched".to_owned(), ..ListAwardsRequest::default() };
    until("awards are found", async || client.jackpot.clone().list_awards(awards.clone()).await.is_ok()).await;
    stopper.stop();
    drop(indexed.api);
    drop(indexed.ledger);
    server.stop().await.unwrap();
    assert!(views.join("checkpoints").is_dir(), "the snapshot written at shutdown includes the index");
}

/// The index is ahead of the log, so the start is refused. The refusal must come before the torn end of the log is cut.
#[tokio::test(flavor = "multi_thread")]
async fn uf_10_a_start_that_is_refused_has_changed_nothing_of_the_log() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    deposit(&mut client, &account, "last").await.unwrap();
    server.stop().await.unwrap();
    let folder = log_folder(data.path(), 0);
    let segment = folder.join("00000000000000000001.log");
    let mut bytes = fs::read(&segment).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    bytes[used - 16..used].fill(0);
    fs::write(&segment, &bytes).unwrap();
    let refused = async || {
        let mut command = Command::new(PROGRAM);
        let refused =
            command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).output().await.unwrap();
        let printed = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{printed}");
        printed
    };
    let printed = refused().await;
    assert!(printed.contains("were acknowledged"), "{printed}");
    assert!(fs::read(&segment).unwrap() == bytes, "the refused start did not change the log");
    // Without the index, the start takes the torn commit for an unfinished write and cuts it, but is then refused,
    // because the signed checkpoint includes the commit.
    fs::remove_dir_all(data.path().join("index")).unwrap();
    let printed = refused().await;
    assert!(printed.contains("a checkpoint up to this position was signed"), "{printed}");
    fs::remove_file(data.path().join("proofs.key")).unwrap();
    let printed = refused().await;
    assert!(printed.contains("serve --new-log-key"), "{printed}");
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.balance(&account).await, 1_000_000);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_10_errors_of_the_start_say_their_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let start = |data: &Path| {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        async move {
            let ended = command.output().await.unwrap();
            assert_eq!(ended.status.code(), Some(1));
            String::from_utf8_lossy(&ended.stderr).into_owned()
        }
    };
    let printed = start(&file.join("data")).await;
    assert!(printed.contains("Not a directory") && printed.contains(&*file.to_string_lossy()), "{printed}");
    for (path, is_folder, cause) in [
        ("log/0/lock", true, "Is a directory"),
        ("log/0", false, "Not a directory"),
        ("index", false, "Not a directory"),
    ] {
        let data = folder.path().join(path.replace('/', "-"));
        let blocked = data.join(path);
        fs::create_dir_all(blocked.parent().unwrap()).unwrap();
        match is_folder {
            true => fs::create_dir(&blocked).unwrap(),
            false => fs::write(&blocked, "").unwrap(),
        }
        let printed = start(&data).await;
        assert!(printed.contains(cause) || printed.contains("File exists"), "{path}: {printed}");
        assert!(printed.contains(&*blocked.to_string_lossy()), "{path}: {printed}");
    }
}
