use super::{bet_within, scripted::Fault, scripted::Wallet};
use crate::{
    PROGRAM,
    telemetry::{OF_WALLETS, asked, collector, counted, prometheus},
};
use motherlode_proto::ledger::v1::OpenAccountRequest;
use motherlode_runtime::connect::connect;
use motherlode_tests::{
    Client, Process, account, bet,
    operators::{operator, token},
    reason,
};
use std::{collections::BTreeMap, fs, path::Path, time::Duration};

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_pl_32_calls_to_a_wallet_are_counted_by_how_they_end_and_what_is_overdue_is_seen() {
    let (endpoint, mut exports) = collector().await;
    let wallet = Wallet::default();
    let (address, _) = wallet.serve().await;
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("config.toml");
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_seconds = 1\n");
    let seamless = format!(
        "wallet = \"seamless\"\nseamless = {{ url = \"http://{address}\", answer_ms_max = 20000, overdue_ms = 1 }}\n\
         [[operators.credentials]]"
    );
    let acme = operator("acme", &[("acme", r#"["play", "wallet"]"#)]);
    fs::write(&config, telemetry + &acme.replacen("[[operators.credentials]]", &seamless, 1)).unwrap();
    let service = Process::start(PROGRAM, &data.path().join("data"), Some(&config));
    let target = format!("http://{}", service.address);
    let mut client = Client::on(connect(&target, &token("acme"), None).await.unwrap());
    let mut players = vec![];
    for (name, funds) in [("poor", 0), ("rich", 1_000), ("lost", 1_000)] {
        let account = account(name, "EUR");
        wallet.fund(name, funds);
        let open = OpenAccountRequest { request_id: "open".into(), account: Some(account.clone()) };
        client.ledger.open_account(open).await.unwrap();
        players.push(account);
    }
    let refused = client.spin(bet("r", &players[0], "0.10"), None).await.unwrap_err();
    assert_eq!(reason(&refused), "INSUFFICIENT_FUNDS");
    wallet.books().of.insert("rich".into(), Fault::Lies(-1));
    client.spin(bet("r", &players[1], "0.10"), None).await.unwrap();
    wallet.books().of.insert("lost".into(), Fault::LostCall);
    let lost = bet_within(&mut client, bet("r", &players[2], "0.10"), 2_000).await.unwrap_err();
    assert_eq!(reason(&lost), "OUTCOME_UNKNOWN");

    let debits = |latest: &BTreeMap<String, _>, outcome| {
        let calls = latest.get("motherlode_wallet_calls_total")?;
        Some(counted(calls, &[("operator", "acme"), ("call", "debit"), ("outcome", outcome)]))
    };
    let gauge = |latest: &BTreeMap<String, _>, name: &str| Some(counted(latest.get(name)?, &[("operator", "acme")]));
    let mut latest = BTreeMap::new();
    while debits(&latest, "unknown").unwrap_or_default() < 1
        || gauge(&latest, "motherlode_wallet_players_under_way").unwrap_or_default() < 1
        || gauge(&latest, "motherlode_wallet_players_overdue").unwrap_or_default() < 1
        || gauge(&latest, "motherlode_wallet_contradictions_total").unwrap_or_default() < 1
        || gauge(&latest, "motherlode_wallet_bets_waiting") != Some(0)
    {
        let metrics = tokio::time::timeout(Duration::from_secs(60), exports.recv()).await.unwrap().unwrap();
        latest = metrics.into_iter().map(|metric| (prometheus(&metric), metric)).collect();
    }
    assert_eq!((debits(&latest, "refused"), debits(&latest, "done")), (Some(1), Some(1)));
    assert_eq!(debits(&latest, "unsure"), Some(0), "the counter is exported as 0 before the first unsure call");
    assert!(latest.contains_key("motherlode_wallet_call_duration_ms"));
    assert!(gauge(&latest, "motherlode_wallet_circuit_open").is_some());
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/observability/rules.yaml");
    let mut asked = asked(&fs::read_to_string(rules).unwrap());
    asked.retain(|name| name.starts_with(OF_WALLETS));
    assert!(asked.len() > 2, "some alarms use wallet metrics");
    for name in asked {
        assert!(latest.contains_key(&name), "an alarm uses {name}, which is not exported");
    }
    assert_eq!(service.terminate().await, Some(0));
}
