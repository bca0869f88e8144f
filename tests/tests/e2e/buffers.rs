use crate::PROGRAM;
use futures_util::future::join_all;
use motherlode_proto::{
    ledger::v1::{FollowLogRequest, ListRoundsRequest},
    report::v1::RunSelfCheckRequest,
    round::v1::Account,
};
use motherlode_runtime::connect::connect;
use motherlode_tests::{
    Client, Process, bet,
    hostile::{Target, framed, unread},
    operators::operator,
    start, until,
};
use std::{fs, sync::Arc};

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

fn most(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    most.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

async fn client(target: &Target) -> Client {
    let (url, credentials) = target.honest();
    Client::on(connect(&url, &credentials, None).await.unwrap())
}

fn account(operator: &str) -> Account {
    Account { operator_id: operator.into(), player_id: "alice".into(), currency_code: "EUR".into() }
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_04_unread_streams_and_answers_and_self_checks_have_a_bound_for_each_operator_and_in_all() {
    let data = tempfile::tempdir().unwrap();
    let text = ["acme", "other", "platform"].map(|id| operator(id, &[(id, ALL)])).concat();
    let file = data.path().join("serve.toml");
    let limits = "[limits]\nbuffer_bytes_max = 33554432\nbuffer_bytes_per_operator_max = 16777216\n";
    fs::write(&file, format!("{limits}{text}")).unwrap();
    let process = Process::start(PROGRAM, &data.path().join("log"), Some(&file));
    let target = Target::plain(process.address);
    let (mut acme, mut other) = (client(&target.with("acme")).await, client(&target.with("other")).await);
    let (alice, zoe) = (account("acme"), account("other"));
    acme.fund_account(&alice, 1_000_000).await;
    other.fund_account(&zoe, 1_000_000).await;
    let rounds = (0..8).map(|player| {
        let (mut acme, alice) = (acme.clone(), alice.clone());
        async move {
            for number in 0..25 {
                acme.play_out(bet(&format!("{player}-{number}"), &alice, "0.01")).await.unwrap_or_default();
            }
        }
    });
    join_all(rounds).await;
    let calm = most(&process);

    let follow = framed(&FollowLogRequest::default());
    let list =
        framed(&ListRoundsRequest { account: Some(alice.clone()), page_size: 100, ..ListRoundsRequest::default() });
    let attacker = target.with("acme");
    let mut unreads = vec![];
    for (path, message) in [("FollowLog", &follow), ("ListRounds", &list)] {
        for _ in 0..3 {
            let path = format!("/motherlode.ledger.v1.LedgerService/{path}");
            unreads.push(unread(&attacker, &path, message, 200).await.unwrap());
        }
    }
    let acme = client(&attacker).await;
    for number in 0..10 {
        other.play_out(bet(&format!("on-{number}"), &zoe, "0.01")).await.unwrap();
    }
    let mut platform = client(&target.with("platform")).await;
    platform.report.list_returns(motherlode_proto::report::v1::ListReturnsRequest::default()).await.unwrap();
    let checks = (0..200).map(|_| {
        let mut report = platform.report.clone();
        async move { report.run_self_check(RunSelfCheckRequest {}).await.unwrap().into_inner().failures }
    });
    for failures in join_all(checks).await {
        assert_eq!(failures, Vec::<String>::new());
    }
    let grown = most(&process) - calm;
    println!("{} MB before, {} MB more afterwards", calm >> 20, grown >> 20);
    assert!(calm + grown < 1 << 30 && grown < 256 << 20, "peak memory grew by {grown} bytes from {calm}");
    drop(unreads);
    until("the operator's share of buffers is free again", async || {
        let list = ListRoundsRequest { account: Some(alice.clone()), page_size: 100, ..Default::default() };
        acme.clone().ledger.list_rounds(list).await.is_ok()
    })
    .await;
    assert_eq!(process.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_04_who_asks_for_a_self_check_joins_the_one_under_way() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let check = server.self_check();
    let (one, other) = tokio::join!(check.check(), check.check());
    assert!(Arc::ptr_eq(&one, &other));
    let next = check.check().await;
    assert!(!Arc::ptr_eq(&one, &next));
    assert!(next.is_empty(), "{next:?}");
    server.stop().await.unwrap();
}
