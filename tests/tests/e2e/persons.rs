use crate::{
    PROGRAM,
    reload::{APPLIED, client, reload},
};
use motherlode_proto::{
    ledger::v1::{DepositRequest, FindIdRequest, FoundId, OpenAccountRequest},
    round::v1::Account,
    spin::v1::{AutospinRequest, GrantCampaignsRequest, OpenSessionRequest, PlayMode, SpinRequest},
};
use motherlode_tests::{Client, EUR, Process, account, bet, campaign, operators::operator, reason};
use prost::Message;
use std::fs;
use tonic::{Code, Status};

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;
const UUID: &str = "6f1c2f2e-7a4b-4e53-9c1d-0b8a2f6f3c11";

fn with_keys(operator: &str, keys: &str) -> String {
    operator.replacen("[[operators.credentials]]", &format!("{keys}\n[[operators.credentials]]"), 1)
}

async fn is_in_log(client: &mut Client, id: &str) -> bool {
    let request = FindIdRequest { id: id.to_owned(), ..FindIdRequest::default() };
    let found: Vec<FoundId> = client.ledger.find_id(request).await.unwrap().into_inner().found;
    !found.is_empty()
}

/// Makes each call that could log a new player, and returns its refusal.
async fn begin(client: &mut Client, player: &str) -> Vec<(&'static str, Status)> {
    let (named, game) = (account(player, EUR), motherlode_slots::latest("neptune").unwrap());
    let SpinRequest { stake, witch, game: bewitched, .. } = bet("", &named, "0.01");
    let open = |account: Account| OpenSessionRequest {
        request_id: format!("session-{}", account.currency_code),
        account: Some(account),
        game: "neptune".into(),
        ..OpenSessionRequest::default()
    };
    let demo = Account { currency_code: "XTS".into(), ..named.clone() };
    let grant = campaign(game, "spring", &named, 3);
    let many = GrantCampaignsRequest {
        request_id: "many".into(),
        operator_id: named.operator_id.clone(),
        player_ids: vec![player.to_owned()],
        currency_code: EUR.into(),
        campaign_id: "spring".into(),
        game: "neptune".into(),
        stake: grant.stake.clone(),
        rounds: 3,
        expire_time: grant.expire_time,
    };
    let account = Some(named.clone());
    let opened = OpenAccountRequest { request_id: "open".into(), account: account.clone() };
    let deposit = DepositRequest { request_id: "deposit".into(), account: account.clone(), amount_minor: 100 };
    let series = AutospinRequest {
        request_id: "series".into(),
        account,
        game: bewitched,
        stake,
        witch,
        spins: 2,
        ..Default::default()
    };
    let mut refused = vec![
        ("OpenAccount", client.ledger.open_account(opened).await.map(drop)),
        ("Deposit", client.ledger.deposit(deposit).await.map(drop)),
        ("Spin", client.spin(bet("bet", &named, "0.01"), None).await.map(drop)),
        ("OpenSession", client.spin.open_session(open(named)).await.map(drop)),
        (
            "OpenSession in demo mode",
            client.spin.open_session(OpenSessionRequest { mode: PlayMode::Demo.into(), ..open(demo) }).await.map(drop),
        ),
        ("GrantCampaign", client.spin.grant_campaign(grant).await.map(drop)),
        ("GrantCampaigns", client.spin.grant_campaigns(many).await.map(drop)),
    ];
    let series = async {
        let mut answers = client.autospin(series, None).await?;
        let refusal = answers.message().await?.and_then(|answer| answer.refusal).unwrap_or_default();
        Err(Status::with_details(refusal.code.into(), refusal.message.clone(), refusal.encode_to_vec().into()))
    };
    refused.push(("Autospin", series.await));
    refused.into_iter().map(|(call, answer)| (call, answer.expect_err(call))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_with_opaque_ids_a_new_player_needs_an_id_that_cannot_be_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("serve.toml");
    let (acme, beta) = (operator("acme", &[("acme", ALL)]), operator("beta", &[("beta", ALL)]));
    fs::write(&file, acme.clone() + &beta).unwrap();
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let (mut client, mut other) = (client(&process, "acme").await, client(&process, "beta").await);
    let known = client.fund("anna", EUR, 10_000).await;
    fs::write(&file, with_keys(&acme, "player_ids = \"opaque\"") + &beta).unwrap();
    let line = reload(&process, APPLIED).await;
    assert!(line.contains("operators.acme.player_ids"), "{line}");

    for name in ["berta", "berta.smith.1985", "maria-magdalena-gonzalez-perez"] {
        for (call, refused) in begin(&mut client, name).await {
            let is = (refused.code(), &*reason(&refused));
            assert_eq!(is, (Code::InvalidArgument, "PLAYER_ID_NOT_OPAQUE"), "{call}: {refused:?}");
            assert!(!refused.message().contains(name), "{refused:?}");
        }
        assert!(!is_in_log(&mut client, name).await);
    }
    client.spin(bet("known", &known, "0.01"), None).await.expect("a player in the log keeps the id");
    let random = client.fund(UUID, EUR, 10_000).await;
    client.spin(bet("random", &random, "0.01"), None).await.unwrap();
    let named = Account { operator_id: "beta".into(), ..account("berta", EUR) };
    other.fund_account(&named, 10_000).await;
    assert_eq!(process.terminate().await, Some(0));
}
