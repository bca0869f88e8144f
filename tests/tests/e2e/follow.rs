use crate::PROGRAM;
use motherlode_log::{genesis, hash, previous_hash};
use motherlode_proto::{
    convert::{copied, play::hex},
    ledger::v1::{
        DepositRequest, FollowLogRequest, FollowLogResponse, GetLogStatusRequest, LogRecord, OpenAccountRequest,
        SetExchangeRateRequest, SetSwitchRequest, Switch, set_switch_request::State,
    },
    log::v1::{Commit, event::Kind},
    round::v1::{Account, Stake},
    spin::v1::SpinRequest,
};
use motherlode_runtime::connect::connect;
use motherlode_server::{copy_folder, log_folder};
use motherlode_tests::{
    Client, EUR, Player, Process, bet,
    operators::{NEW_YEAR_MS, Service, operator, token},
    reason,
};
use prost::Message;
use serde_json::Value;
use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tonic::{Code, Streaming};

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

fn operators() -> String {
    operator("acme", &[("acme", ALL)])
        + &operator("other", &[("other", ALL)])
        + &operator("platform", &[("platform", ALL), ("second", ALL)])
}

async fn follow(client: &mut Client, after_position: u64) -> Streaming<FollowLogResponse> {
    client.ledger.follow_log(FollowLogRequest { after_position, partition: 0 }).await.unwrap().into_inner()
}

async fn records(client: &mut Client, after_position: u64, to: u64) -> Vec<LogRecord> {
    let mut stream = follow(client, after_position).await;
    let mut records = vec![];
    loop {
        let message = stream.message().await.unwrap().unwrap();
        assert!(message.records.last().is_none_or(|last| last.position <= message.sent_position));
        records.extend(message.records.into_iter().filter(|record| record.position <= to));
        if message.sent_position >= to {
            return records;
        }
    }
}

fn neptune(request_id: &str, account: &Account) -> SpinRequest {
    let stake = Some(Stake { coin_value: "0.01".into(), lines: 15, coins_per_line: 1, buy_feature: false });
    let (request_id, account, game) = (request_id.into(), Some(account.clone()), "neptune".into());
    SpinRequest { request_id, account, game, stake, ..SpinRequest::default() }
}

async fn zoe(client: &mut Client) -> Account {
    let account = Account { operator_id: "other".into(), player_id: "zoe".into(), currency_code: EUR.into() };
    let open = OpenAccountRequest { request_id: "open".into(), account: Some(account.clone()) };
    client.ledger.open_account(open).await.unwrap();
    let (request_id, account_of) = ("deposit".to_owned(), Some(account.clone()));
    let deposit = DepositRequest { request_id, account: account_of, amount_minor: 100_000 };
    client.ledger.deposit(deposit).await.unwrap();
    account
}

async fn switch_off(platform: &mut Client, operator_id: &str) {
    let switch = Switch { operator_id: operator_id.into(), game: "dwarf-mine".into(), ..Switch::default() };
    let request = SetSwitchRequest {
        request_id: format!("off-{operator_id}"),
        switch: Some(switch),
        state: State::Off.into(),
        reason: "test".into(),
        actor: "ann".into(),
        preview: false,
    };
    assert_eq!(platform.ledger.set_switch(request).await.unwrap().into_inner().change_id, 0);
}

fn is_for(record: &LogRecord, operator: &str) -> bool {
    let commit = Commit::decode(record.record.as_slice()).unwrap();
    let switched = |kind: &Kind| match kind {
        Kind::SwitchSet(set) => set.operator_id.is_empty() || set.operator_id == operator,
        Kind::GenerationBegun(_) => true,
        _ => false,
    };
    commit.stream == "rates"
        || commit.stream.starts_with(&format!("player/{operator}/"))
        || commit.events.iter().filter_map(|event| event.kind.as_ref()).any(switched)
}

fn contains(record: &LogRecord, word: &str) -> bool {
    record.record.windows(word.len()).any(|window| window == word.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_follower_is_sent_its_own_records_byte_for_byte_and_no_foreign_one() {
    let service = Service::start(&operators()).await;
    let (mut acme, mut other) = (service.client("acme").await, service.client("other").await);
    let mut platform = service.client("platform").await;
    let set = SetExchangeRateRequest {
        request_id: "r".into(),
        currency_code: "SEK".into(),
        eur_per_unit: "0.09".into(),
        source: "test".into(),
    };
    platform.ledger.set_exchange_rate(set).await.unwrap();
    let (alice, zoe) = (acme.fund("alice", EUR, 1_000_000).await, zoe(&mut other).await);
    for operator in ["acme", "other", ""] {
        switch_off(&mut platform, operator).await;
    }
    for round in 0..20 {
        acme.play_out(bet(&format!("b{round}"), &alice, "0.01")).await.unwrap();
        other.play_out(neptune(&format!("n{round}"), &zoe)).await.unwrap();
    }
    let to = service.server.ledger().durable();

    let whole = records(&mut platform, 0, to).await;
    assert!(whole.iter().map(|record| record.position).eq(1..=to), "the platform gets every record");
    let mut head = genesis(0);
    for LogRecord { record, .. } in &whole {
        assert_eq!(previous_hash(record), Some(head));
        head = hash(record);
    }
    let status = platform.ledger.get_log_status(GetLogStatusRequest {}).await.unwrap().into_inner();
    assert!(status.position > to || status.head_hash == hex(&head));

    for (client, operator, own, foreign) in [(&mut acme, "acme", "alice", "zoe"), (&mut other, "other", "zoe", "alice")]
    {
        let sent = records(client, 0, to).await;
        let expected: Vec<_> = whole.iter().filter(|record| is_for(record, operator)).cloned().collect();
        assert_eq!(sent, expected);
        assert!(
            sent.len() >= 20 + 2 + 1 + 2,
            "records of rounds, wallet, rate and switches are missing: only {}",
            sent.len()
        );
        assert!(sent.iter().any(|record| contains(record, own)));
        assert!(!sent.iter().any(|record| contains(record, foreign) || contains(record, "pool/")));
        for after in [1, to / 3, to / 2, to - 1, to] {
            let rest: Vec<_> = expected.iter().filter(|record| record.position > after).cloned().collect();
            assert_eq!(records(client, after, to).await, rest, "after {after}");
        }
    }

    let mut stream = follow(&mut acme, to).await;
    assert_eq!(stream.message().await.unwrap().unwrap().operator_id, "acme");
    let played = acme.play_out(bet("later", &alice, "0.01")).await.unwrap();
    let arrived = loop {
        let message = stream.message().await.unwrap().unwrap();
        if let Some(record) = message.records.into_iter().next() {
            break record;
        }
    };
    assert_eq!(arrived.position, played[0].position);
    let request = FollowLogRequest { after_position: 1_000_000, partition: 0 };
    let ahead = acme.ledger.follow_log(request).await.unwrap_err();
    assert_eq!((ahead.code(), reason(&ahead).as_str()), (Code::OutOfRange, "POSITION_AHEAD"));
    service.server.stop().await.unwrap();
    while stream.message().await.unwrap().is_some() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_reader_that_stands_still_holds_up_nobody_and_misses_nothing() {
    let service = Service::start(&operators()).await;
    let mut acme = service.client("acme").await;
    let alice = acme.fund("alice", EUR, 10_000_000).await;
    let mut still = follow(&mut service.client("acme").await, 0).await;
    for round in 0..1_000 {
        acme.play_out(bet(&format!("b{round}"), &alice, "0.01")).await.unwrap();
    }
    let to = service.server.ledger().durable();
    let expected = records(&mut acme, 0, to).await;
    let bytes: usize = expected.iter().map(|record| record.record.len()).sum();
    assert!(bytes > 256 << 10, "{bytes}");
    let mut sent = vec![];
    loop {
        let message = still.message().await.unwrap().unwrap();
        sent.extend(message.records.into_iter().filter(|record| record.position <= to));
        if message.sent_position >= to {
            break;
        }
    }
    assert_eq!(sent, expected);
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_pl_30_following_ends_when_its_token_expires() {
    let text = operator("acme", &[("acme", ALL)]).replacen("roles", "expires = 2027-01-01T00:00:00Z\nroles", 1);
    let service = Service::start(&text).await;
    service.clock.store(NEW_YEAR_MS - 50, Ordering::SeqCst);
    let mut stream = follow(&mut service.client("acme").await, 0).await;
    stream.message().await.unwrap().unwrap();
    service.clock.store(NEW_YEAR_MS, Ordering::SeqCst);
    let status = loop {
        if let Err(status) = stream.message().await {
            break status;
        }
    };
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Unauthenticated, "TOKEN_EXPIRED"));
    service.server.stop().await.unwrap();
}

fn follower(address: std::net::SocketAddr, shown: &str, to: &Path, once: bool) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["follow", "--target", &format!("http://{address}"), "--to"]).arg(to);
    command.args(once.then_some("--once")).env("MOTHERLODE_TOKEN", shown);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn kill(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn audited(folder: &Path, more: &[&str]) -> (Value, bool) {
    let output = Command::new(PROGRAM).arg("audit").arg(folder).args(["--format", "json"]).args(more).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.success())
}

fn stored(folder: &Path) -> Vec<motherlode_log::Record> {
    motherlode_log::scan(folder).unwrap().map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_copies_are_what_the_log_is_after_kills_of_followers_and_service() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (data, whole, own, file) = (at("data"), at("whole"), at("own"), at("config.toml"));
    std::fs::write(&file, operators()).unwrap();
    let client = async |process: &Process, shown: &str| {
        Client::on(connect(&format!("http://{}", process.address), &token(shown), None).await.unwrap())
    };
    let process = Process::start(PROGRAM, &data, Some(&file));
    zoe(&mut client(&process, "other").await).await;
    let mut player = Player::join(&mut client(&process, "acme").await, "alice", "0.05").await;
    process.kill();
    for kills in 0..10_u64 {
        let process = Process::start(PROGRAM, &data, Some(&file));
        let start = |shown, to| follower(process.address, shown, to, false).spawn().unwrap();
        let followers = [start("platform", &whole), start("acme", &own)];
        let (mut acme, answers) = (client(&process, "acme").await, Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&answers);
        let playing = tokio::spawn(async move {
            player.play(&mut acme, &counted).await;
            player
        });
        while answers.load(Ordering::Relaxed) < 1 + kills * 29 % 200 {
            tokio::task::yield_now().await;
        }
        match kills % 2 {
            0 => {
                followers.into_iter().for_each(kill);
                process.kill();
            }
            _ => {
                process.kill();
                followers.into_iter().for_each(kill);
            }
        }
        player = playing.await.unwrap();
    }
    let process = Process::start(PROGRAM, &data, Some(&file));
    player.check(&mut client(&process, "acme").await).await;
    for (shown, to) in [("platform", &whole), ("acme", &own)] {
        assert!(follower(process.address, shown, to, true).status().unwrap().success());
    }
    assert!(!follower(process.address, "other", &own, true).status().unwrap().success());
    assert_eq!(process.terminate().await, Some(0));

    let (log, copy) = (stored(&log_folder(&data, 0)), stored(&log_folder(&whole, 0)));
    assert!(!copy.is_empty() && log.starts_with(&copy), "each record of the copy equals that of the log");
    let copied: Vec<_> = stored(&copy_folder(&own, 0)).iter().map(|it| copied::decode(&it.bytes).unwrap()).collect();
    let last = copied.last().unwrap().position;
    let of_log = log.iter().filter(|record| record.position <= last);
    let of_log = of_log.map(|it| LogRecord { position: it.position, partition: 0, record: it.bytes.to_vec() });
    let expected: Vec<_> = of_log.filter(|record| is_for(record, "acme")).collect();
    let held = copied.iter().map(|it| LogRecord { position: it.position, partition: 0, record: it.record.to_vec() });
    assert_eq!(held.collect::<Vec<_>>(), expected);

    assert!(audited(&whole, &[]).1, "the audit accepts a copy of the whole log");
    let (report, holds) = audited(&own, &[]);
    assert!(holds, "{report}");
    let (platforms, holds) = audited(&data, &["--operator", "acme", "--to", &last.to_string()]);
    assert!(holds && platforms["operator"] == report["copy"], "{report} {}", platforms["operator"]);

    let segment = copy_folder(&own, 0).join("00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[1_000] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let (report, holds) = audited(&own, &[]);
    assert!(!holds && report["ok"] == false, "{report}");
}
