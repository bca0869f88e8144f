use crate::{
    PROGRAM,
    lists::{DATES, NOON, counted, play, serve},
};
use motherlode_tests::{
    audited, bet,
    operators::{Service, operator},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::Path,
    process::Command,
    sync::{Arc, atomic::AtomicI64},
};

fn export(arguments: &[&str]) -> (String, String) {
    let output = Command::new(PROGRAM).arg("export").args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

fn of_service(address: SocketAddr, what: &str, more: &[&str]) -> String {
    let url = format!("http://{address}");
    export(&[&[what, &*url], more].concat()).0
}

fn of_log(data: &Path, what: &str, more: &[&str]) -> String {
    export(&[&[what, data.to_str().unwrap()], more].concat()).0
}

fn rows(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn sum(rows: &[Value], column: &str) -> i128 {
    rows.iter().map(|row| i128::from(row[column].as_i64().unwrap())).sum()
}

const JSONL: [&str; 2] = ["--format", "jsonl"];

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_a_service_and_its_log_export_the_same_and_it_adds_up_to_the_log() {
    let data = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(NOON));
    let (server, mut client) = serve(data.path(), &clock).await;
    play(&server, &mut client, &clock).await;
    let expected = counted(&server);
    let address = server.address();
    let whats = ["rounds", "transactions", "revenue", "events"];
    let from_service = tokio::task::spawn_blocking(move || whats.map(|what| of_service(address, what, &JSONL)));
    let from_service = from_service.await.unwrap();
    server.stop().await.unwrap();
    let whole = audited(data.path(), 2);
    for (what, exported) in whats.iter().zip(&from_service) {
        if *what != "events" {
            assert_eq!(of_log(data.path(), what, &JSONL), *exported, "{what}");
        }
    }
    let [rounds, transactions, revenue, _] = from_service.each_ref().map(|lines| rows(lines));

    let by_day: BTreeMap<_, _> = revenue
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            let day = 20_777 + i64::try_from(DATES.iter().position(|date| *date == text("date")).unwrap()).unwrap();
            let sums = ["bets", "wins", "jackpots", "refunds", "wins_taken_back"];
            let sums = sums.map(|sum| i128::from(row[format!("{sum}_minor")].as_i64().unwrap()));
            ((day, text("game"), text("currency_code")), sums)
        })
        .collect();
    assert_eq!(by_day, expected);

    let (returns, voids) = (whole.returns(), whole.voids());
    assert_eq!(rounds.len() as u64, returns.iter().map(|of| of.rounds).sum::<u64>());
    assert_eq!(sum(&rounds, "bet_minor"), returns.iter().map(|of| of.bets).sum::<i128>());
    assert_eq!(sum(&rounds, "win_minor"), returns.iter().map(|of| of.wins).sum::<i128>());
    assert_eq!(sum(&rounds, "refund_minor"), voids.iter().map(|(_, of)| of.refunds).sum::<i128>());
    assert_eq!(sum(&rounds, "win_taken_back_minor"), voids.iter().map(|(_, of)| of.wins_taken_back).sum::<i128>());
    assert_eq!(sum(&rounds, "jackpot_minor"), sum(&revenue, "jackpots_minor"));
    let voided = rounds.iter().filter(|row| row["state"] == "voided").count() as u64;
    assert_eq!(voided, voids.iter().map(|(_, of)| of.rounds).sum::<u64>());

    let balances: i128 = whole
        .partitions
        .iter()
        .flat_map(|report| report.books.players())
        .flat_map(|(.., player)| player.balances())
        .map(|(_, balance)| i128::from(balance.0))
        .sum();
    assert_eq!(sum(&transactions, "amount_minor"), balances);

    for (what, lines) in [("transactions", transactions), ("rounds", rounds)] {
        let csv = of_log(data.path(), what, &[]);
        assert_eq!(csv.split("\r\n").filter(|line| !line.is_empty()).count(), lines.len() + 1);
        let days = DATES.map(|date| {
            let of_day = ["--format", "jsonl", "--from", date, "--to", date];
            self::rows(&of_log(data.path(), what, &of_day)).len()
        });
        assert_eq!(days.iter().sum::<usize>(), lines.len(), "{what}");
        assert!(days.iter().all(|rows| *rows > 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_an_export_of_nothing_says_so_and_a_file_is_there_when_it_is_whole() {
    let data = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(NOON));
    let (server, mut client) = serve(data.path(), &clock).await;
    play(&server, &mut client, &clock).await;
    server.stop().await.unwrap();
    audited(data.path(), 2);
    let place = data.path().to_str().unwrap();
    let (csv, said) = export(&["transactions", place, "--operator", "nobody"]);
    assert!(said.contains("No activity"), "{said}");
    assert_eq!(csv.lines().count(), 1, "an empty table has only the line of column names");
    let file = data.path().join("table.csv");
    let to = ["revenue", place, "--out", file.to_str().unwrap()];
    let (nothing, said) = export(&to);
    assert!(nothing.is_empty() && said.contains(" rows."), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), of_log(data.path(), "revenue", &[]));
    let segment = fs::read_dir(data.path().join("log/0")).unwrap().map(|entry| entry.unwrap().path()).min().unwrap();
    let mut damaged = fs::read(&segment).unwrap();
    let middle = damaged.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    damaged[middle] ^= 1;
    fs::write(&segment, damaged).unwrap();
    let failed = Command::new(PROGRAM).arg("export").args(to).output().unwrap();
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert!(fs::read_to_string(&file).unwrap().len() > 100);
    assert!(!data.path().join("table.csv.part").exists());
    for bad in [&["--from", "2026-02-30"][..], &["--from", "2026-11-21", "--to", "2026-11-20"], &["--operator", "a b"]]
    {
        let refused = Command::new(PROGRAM).args(["export", "rounds", place]).args(bad).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{bad:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_pl_27_an_operator_exports_its_own_and_the_platform_all() {
    let all = r#"["play", "wallet", "audit"]"#;
    let text = operator("acme", &[("acme", all)])
        + &operator("other", &[("other", all)])
        + &operator("platform", &[("platform", r#"["audit"]"#)]);
    let service = Service::start(&text).await;
    for name in ["acme", "other"] {
        let mut client = service.client(name).await;
        let mut account = motherlode_tests::account("alice", "EUR");
        account.operator_id = name.into();
        client.fund_account(&account, 10_000).await;
        client.play_out(bet("a", &account, "0.10")).await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let address = service.server.address();
    let exported = |token: &str, what: &'static str| {
        let file = folder.path().join(token);
        fs::write(&file, token).unwrap();
        tokio::task::spawn_blocking(move || {
            let token = ["--format", "jsonl", "--token-file", file.to_str().unwrap()];
            rows(&of_service(address, what, &token))
        })
    };
    for what in ["rounds", "transactions", "revenue"] {
        let of = |rows: Vec<Value>| {
            let mut names: Vec<_> = rows.iter().map(|row| row["operator_id"].as_str().unwrap().to_owned()).collect();
            names.sort();
            names.dedup();
            names
        };
        assert_eq!(of(exported("acme", what).await.unwrap()), ["acme"], "{what}");
        assert_eq!(of(exported("other", what).await.unwrap()), ["other"], "{what}");
        assert_eq!(of(exported("platform", what).await.unwrap()), ["acme", "other"], "{what}");
    }
    for row in exported("acme", "events").await.unwrap() {
        let stream = row["stream"].as_str().unwrap();
        assert!(stream.starts_with("player/acme/") || ["rates", "system"].contains(&stream), "{stream}");
        assert!(row["event"].is_object() && !row["kind"].as_str().unwrap().is_empty());
    }
}
