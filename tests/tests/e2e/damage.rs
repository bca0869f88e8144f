use crate::{
    PROGRAM,
    console::browser::Browser,
    starts::{open, segments, verified, written},
};
use futures_util::future::join_all;
use motherlode_ledger::Standing;
use motherlode_proto::{
    convert::record,
    ledger::v1::{CancelRequestRequest, DepositRequest, WithdrawRequest},
    round::v1::Account,
    spin::v1::{PlayStreamRequest, play_stream_request::Call, play_stream_response::Answer},
};
use motherlode_runtime::{Config, config::Verify};
use motherlode_server::{LogLocation, open_stores};
use motherlode_state::{Books, Event};
use motherlode_tests::{Client, EUR, Process, account, bet, config, reason, serving, start_on, until};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tonic::{Code, Status};

fn damage(segment: &Path) {
    let mut bytes = fs::read(segment).unwrap();
    bytes[5_000] ^= 1;
    fs::write(segment, bytes).unwrap();
}

fn assert_damaged(status: &Status, segment: &Path) {
    assert_eq!((status.code(), reason(status).as_str()), (Code::DataLoss, "LOG_DAMAGED"), "{status:?}");
    let message = status.message();
    assert!(message.contains("partition 0") && message.contains(&segment.display().to_string()), "{message}");
    assert!(message.contains("this request was not applied") && message.contains("Repair a damaged log"), "{message}");
}

async fn deposit(client: &mut Client, account: &Account, request_id: &str) -> Result<(), Status> {
    let request =
        DepositRequest { request_id: request_id.to_owned(), account: Some(account.clone()), amount_minor: 100 };
    client.ledger.deposit(request).await.map(drop)
}

async fn cancel(client: &mut Client, account: &Account, request_id: &str) -> Result<(), Status> {
    let request = CancelRequestRequest {
        request_id: request_id.to_owned(),
        account: Some(account.clone()),
        ..CancelRequestRequest::default()
    };
    client.ledger.cancel_request(request).await.map(drop)
}

fn system_events(data: &Path) -> Vec<Event> {
    let records = LogLocation::from_config(&config(data)).existing(0).unwrap();
    let commits = records.map(|record| record::decode(&record.unwrap().bytes).unwrap().commit);
    commits.filter(|commit| commit.stream.to_string() == "system").flat_map(|commit| commit.events).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a3_after_damage_each_write_is_refused_with_its_place_and_has_no_effect() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.console.listen = Some(([127, 0, 0, 1], 0).into());
    written(&config).await;
    let segment = segments(&config).into_iter().nth(1).unwrap();
    let sound = fs::read(&segment).unwrap();
    damage(&segment);

    let server = start_on(&config, open(&config)).await;
    let failure = verified(&server).await.failure.expect("the verification finds the damage");
    assert_eq!(server.ledger().failed().await, Standing::Damaged(failure));
    let end = server.ledger().durable();
    let mut client = Client::connect(server.address()).await;
    let account = account("alice", EUR);
    let balance = client.balance(&account).await;
    deposit(&mut client, &account, "deposit-0").await.unwrap();
    for number in 0..2 {
        let spun = client.spin(bet("spin", &account, "0.01"), None).await.unwrap_err();
        assert_damaged(&spun, &segment);
        assert_damaged(&deposit(&mut client, &account, "later").await.unwrap_err(), &segment);
        let withdrawn = WithdrawRequest { request_id: "w".into(), account: Some(account.clone()), amount_minor: 1 };
        assert_damaged(&client.ledger.withdraw(withdrawn).await.unwrap_err(), &segment);
        assert_damaged(&cancel(&mut client, &account, "spin").await.unwrap_err(), &segment);
        assert_damaged(&cancel(&mut client, &account, "never-sent").await.unwrap_err(), &segment);
        let call = PlayStreamRequest { tag: number, call: Some(Call::Spin(bet("streamed", &account, "0.01"))) };
        let mut answers = client.spin.play_stream(tokio_stream::iter([call])).await.unwrap().into_inner();
        let Some(Answer::Error(error)) = answers.message().await.unwrap().unwrap().answer else {
            panic!("a bet on a damaged log must be refused")
        };
        assert_eq!(error.code, i32::from(Code::DataLoss));
        assert!(error.message.contains(&segment.display().to_string()), "{}", error.message);
    }
    let mut browser = Browser::new(server.console());
    browser.post("/login", &[]).await;
    let page = browser.get("/switches?operator=*&game=neptune").await;
    let fields = ["operator", "game", "version", "state", "confirmed"];
    let filled = fields.map(|name| (name, page.hidden("/switches", name).unwrap()));
    let filled = filled.iter().map(|(name, value)| (*name, value.as_str())).chain([("reason", "a fault")]);
    let refused = browser.submit(&page, "/switches", &filled.collect::<Vec<_>>()).await;
    assert!(refused.body.contains("LOG_DAMAGED") && refused.body.contains("Repair a damaged log"), "{}", refused.body);
    assert_eq!(
        (server.ledger().durable(), client.balance(&account).await),
        (end, balance),
        "the refused calls wrote no commit"
    );
    server.stop().await.unwrap();

    let refused = motherlode_server::Server::start(
        &config,
        open(&config),
        motherlode_ledger::Options::default(),
        motherlode_tests::dealer(),
    );
    let refused = refused.await.err().expect("a start on the damaged log is refused").to_string();
    assert!(refused.contains(&segment.display().to_string()) && refused.contains("Repair a damaged log"), "{refused}");
    fs::write(&segment, sound).unwrap();
    let server = start_on(&config, open(&config)).await;
    assert_eq!(server.ledger().verification().borrow().unread, 0, "the start has verified the whole log");
    let mut client = Client::connect(server.address()).await;
    client.play_out(bet("spin", &account, "0.01")).await.unwrap();
    server.stop().await.unwrap();
    let verified_logs =
        system_events(data.path()).into_iter().filter(|event| matches!(event, Event::LogVerified { .. }));
    assert_eq!(verified_logs.collect::<Vec<_>>(), [Event::LogVerified { to: end }]);
    let server = start_on(&config, open(&config)).await;
    assert!(server.ledger().verification().borrow().unread > 0);
    server.stop().await.unwrap();
    let sound = fs::read(&segment).unwrap();
    damage(&segment);
    let server = start_on(&config, open(&config)).await;
    verified(&server).await.failure.expect("the verification finds the damage");
    server.ledger().failed().await;
    assert!(server.ledger().books(Books::is_log_damaged));
    server.stop().await.unwrap();
    fs::write(&segment, sound).unwrap();
    drop(open_stores(&Config { verify: Verify::All, ..config.clone() }).unwrap());
}

fn run(arguments: &[&str], places: &[&Path]) -> Output {
    Command::new(PROGRAM).args(arguments).args(places).output().unwrap()
}

fn copy(rest: bool, from: &Path, to: &Path) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["copy", "--from"]).arg(from).arg("--to").arg(to);
    command.args(rest.then_some("--rest")).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

async fn fill(client: &Client, account: &Account) {
    for round in 0..80 {
        let deposits = (0..128).map(|number| {
            let (mut client, account) = (client.clone(), account.clone());
            async move { deposit(&mut client, &account, &format!("d-{round}-{number}")).await.unwrap() }
        });
        join_all(deposits).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a3_a_damaged_log_is_refused_in_split_roles_and_repaired_from_a_backup_without_a_loss() {
    let at = tempfile::tempdir().unwrap();
    let [data, backup, repaired, spin_data] = ["data", "backup", "repaired", "spin"].map(|name| at.path().join(name));
    let toml = at.path().join("motherlode.toml");
    let keys = at.path().join("draws");
    let settings = format!(
        "[limits]\nsegment_bytes = 1048576\n[console]\nlisten = \"127.0.0.1:0\"\n[draws]\nkey_file = {keys:?}\n"
    );
    fs::write(&toml, settings).unwrap();
    let start_ledger = || Process::start_as(PROGRAM, &data, Some(&toml), &["--role", "ledger"]);
    let start_spin = |ledger: &Process| {
        let target = format!("http://{}", ledger.address);
        Process::start_as(PROGRAM, &spin_data, Some(&toml), &["--role", "spin", "--ledger", &target])
    };
    let (log, account) = (data.join("log/0"), account("alice", EUR));
    let ledger = start_ledger();
    let spin = start_spin(&ledger);
    let mut client = Client::connect(ledger.address).await;
    client.fund_account(&account, 1_000_000).await;
    Client::connect(spin.address).await.play_out(bet("first", &account, "0.01")).await.unwrap();
    fill(&client, &account).await;
    let copied = copy(false, &data, &backup);
    assert!(copied.status.success(), "{}", text(&copied));
    for number in 0..5 {
        deposit(&mut client, &account, &format!("late-{number}")).await.unwrap();
    }
    Client::connect(spin.address).await.play_out(bet("last", &account, "0.01")).await.unwrap();
    let balance = client.balance(&account).await;
    assert_eq!((spin.terminate().await, ledger.terminate().await), (Some(0), Some(0)));
    let mut files: Vec<PathBuf> = fs::read_dir(&log).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "log"));
    files.sort();
    damage(&files[0]);

    let ledger = start_ledger();
    let spin = start_spin(&ledger);
    for address in [ledger.address, spin.address] {
        until("NOT_SERVING", async || !serving(address).await).await;
    }
    let (mut at_ledger, mut at_spin) = (Client::connect(ledger.address).await, Client::connect(spin.address).await);
    assert_damaged(&at_spin.spin(bet("bet", &account, "0.01"), None).await.unwrap_err(), &files[0]);
    assert_damaged(&deposit(&mut at_ledger, &account, "never").await.unwrap_err(), &files[0]);
    assert_damaged(&cancel(&mut at_ledger, &account, "bet").await.unwrap_err(), &files[0]);
    deposit(&mut at_ledger, &account, "late-4").await.unwrap();
    assert_eq!(at_ledger.balance(&account).await, balance, "reads and repeated requests are answered");
    assert_eq!((spin.terminate().await, ledger.terminate().await), (Some(0), Some(0)));

    let refused = run(
        &["serve", "--listen", "127.0.0.1:0", "--no-console"],
        &[Path::new("--config"), &toml, Path::new("--data"), &data],
    );
    let said = text(&refused);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains(&files[0].display().to_string()) && said.contains("Repair a damaged log"), "{said}");

    assert!(!copy(true, &data, &at.path().join("alone")).status.success());
    let copied = copy(false, &backup, &repaired);
    assert!(copied.status.success(), "{}", text(&copied));
    let rest = copy(true, &data, &repaired);
    assert!(rest.status.success(), "{}", text(&rest));
    let audit = run(&["audit"], &[&repaired]);
    assert!(audit.status.success(), "{}", text(&audit));
    fs::rename(data.join("log"), data.join("log.damaged")).unwrap();
    fs::rename(repaired.join("log"), data.join("log")).unwrap();

    let process = Process::start(PROGRAM, &data, Some(&toml));
    let mut client = Client::connect(process.address).await;
    assert_eq!(client.balance(&account).await, balance, "no acknowledged commit is lost");
    client.play_out(bet("bet", &account, "0.01")).await.unwrap();
    assert!(serving(process.address).await);
    assert_eq!(process.terminate().await, Some(0));
    let events = system_events(&data);
    let of_log = |event: &&Event| {
        matches!(event, Event::LogVerified { .. })
            || matches!(event, Event::IntegrityFailed { check, .. } if check == Event::CHECK_OF_LOG)
    };
    let of_log: Vec<_> = events.iter().filter(of_log).collect();
    assert!(matches!(of_log[..], [Event::IntegrityFailed { .. }, Event::LogVerified { .. }]), "{of_log:?}");
}
