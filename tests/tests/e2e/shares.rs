use futures_util::future::join_all;
use motherlode_proto::{
    ledger::v1::{
        DepositRequest, GetRoundRequest, GetTransactionRequest, OpenAccountRequest, SetExchangeRateRequest,
        VoidRoundRequest, WithdrawRequest,
    },
    report::v1::{GetRoundPageRequest, ListSignificantEventsRequest},
    round::v1::{Account, Stake},
    spin::v1::{CancelCampaignRequest, CloseRoundRequest, CloseSessionRequest, OpenSessionRequest, SpinRequest},
};
use motherlode_runtime::{Config, connect::connect};
use motherlode_server::open_stores;
use motherlode_state::Event;
use motherlode_tests::{
    Client, EUR, Force, Server, bet, campaign, checked, commits, config, fresh,
    operators::{operator, token},
    reason, start_on,
};
use std::path::Path;
use tokio::process::Command;
use tonic::{Code, Status};

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

async fn service(data: &Path, sessions_max: usize) -> Server {
    let ids = ["acme", "other", "third", "platform"];
    let text = ids.map(|id| operator(id, &[(id, ALL)])).concat();
    let mut config = Config { operators: Config::parse(&text).unwrap().operators, ..config(data) };
    config.limits.sessions_max = sessions_max;
    start_on(&config, fresh(&config)).await
}

async fn client(server: &Server, shown: &str) -> Client {
    Client::on(connect(&format!("http://{}", server.address()), &token(shown), None).await.unwrap())
}

fn account_of(operator: &str, player: &str, currency: &str) -> Account {
    Account { operator_id: operator.into(), player_id: player.into(), currency_code: currency.into() }
}

async fn demo(client: &mut Client, operator: &str, player: &str) -> Result<String, Status> {
    let open = OpenSessionRequest {
        request_id: "s".into(),
        account: Some(account_of(operator, player, "XTS")),
        game: "neptune".into(),
        mode: motherlode_proto::spin::v1::PlayMode::Demo.into(),
        ..OpenSessionRequest::default()
    };
    Ok(client.spin.open_session(open).await?.into_inner().session_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_05_sessions_of_one_operator_leave_the_others_their_own() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), 12).await;
    let mut acme = client(&server, "acme").await;
    let mut opened = vec![];
    let full = loop {
        match demo(&mut acme, "acme", &format!("p{}", opened.len())).await {
            Ok(id) => opened.push(id),
            Err(status) => break status,
        }
    };
    assert_eq!((full.code(), reason(&full).as_str()), (Code::ResourceExhausted, "SESSIONS_FULL"));
    assert_eq!(opened.len(), 8);
    for operator in ["other", "third"] {
        let mut client = client(&server, operator).await;
        for player in ["a", "b"] {
            demo(&mut client, operator, player).await.expect("the operator can use its share of sessions");
        }
    }
    let close = CloseSessionRequest { session_id: opened.remove(0) };
    acme.spin.close_session(close).await.unwrap();
    demo(&mut acme, "acme", "again").await.expect("a session can be opened after another one is closed");
    server.stop().await.unwrap();
}

fn acted(server: &Server) -> Vec<(Event, String, String)> {
    let all = server.ledgers().all().flat_map(|ledger| commits(ledger, 1));
    let named = all.filter_map(|logged| match logged.commit.events.as_slice() {
        [first, .., Event::ActedBy { actor, reference }] => Some((first.clone(), actor.clone(), reference.clone())),
        _ => None,
    });
    named.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_08_pl_22_rates_voids_closings_and_campaigns_keep_the_credentials_name() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), 12).await;
    let (mut acme, mut platform) = (client(&server, "acme").await, client(&server, "platform").await);
    let alice = acme.fund("alice", EUR, 1_000_000).await;
    let rate = SetExchangeRateRequest {
        request_id: "r".into(),
        currency_code: "SEK".into(),
        eur_per_unit: "0.09".into(),
        source: "ECB".into(),
    };
    platform.ledger.set_exchange_rate(rate).await.unwrap();
    let bought = |request_id: &str| SpinRequest {
        request_id: request_id.into(),
        account: Some(alice.clone()),
        game: "mystery-elves".into(),
        stake: Some(motherlode_proto::round::v1::Stake {
            coin_value: "0.01".into(),
            lines: 10,
            coins_per_line: 1,
            buy_feature: true,
        }),
        ..SpinRequest::default()
    };
    let (reason, actor) = ("reel 3 stuck".to_owned(), "the boss".to_owned());
    let round_id = acme.spin(bought("b1"), None).await.unwrap().round_id;
    let void = VoidRoundRequest { request_id: "v".into(), round_id, reason: reason.clone(), actor: actor.clone() };
    acme.ledger.void_round(void).await.unwrap();
    let round_id = acme.spin(bought("b2"), None).await.unwrap().round_id;
    let close = CloseRoundRequest { request_id: "c".into(), round_id, reason: reason.clone(), actor: String::new() };
    acme.spin.close_round(close).await.unwrap();
    let neptune = motherlode_slots::latest("neptune").unwrap();
    acme.spin.grant_campaign(campaign(neptune, "spring", &alice, 3)).await.unwrap();
    let cancel = CancelCampaignRequest {
        request_id: "x".into(),
        account: Some(alice.clone()),
        campaign_id: "spring".into(),
        reason,
        actor,
    };
    acme.spin.cancel_campaign(cancel).await.unwrap();

    let acts = acted(&server);
    let of = |wanted: fn(&Event) -> bool| {
        let mut found = acts.iter().filter(|(event, ..)| wanted(event));
        let (event, actor, reference) = found.next().expect("the commit has the expected event");
        assert!(found.next().is_none());
        (event.clone(), actor.as_str(), reference.as_str())
    };
    assert_eq!(of(|event| matches!(event, Event::RateSet { .. })).1, "c0");
    let (voided, by, reference) = of(|event| matches!(event, Event::RoundVoided { .. }));
    assert_eq!((by, reference), ("acme/c0", "the boss"));
    assert!(matches!(voided, Event::RoundVoided { actor, .. } if actor == "acme/c0"));
    let (closed, by, reference) = of(|event| matches!(event, Event::StepResolved(_)));
    assert_eq!((by, reference), ("acme/c0", ""));
    let Event::StepResolved(step) = closed else { unreachable!() };
    assert!(matches!(step.automatic, Some(motherlode_state::Automatic::Closed { actor, .. }) if actor == "acme/c0"));
    assert_eq!(of(|event| matches!(event, Event::CampaignGranted(_))).1, "acme/c0");
    let (cancelled, by, reference) = of(|event| matches!(event, Event::CampaignCancelled { .. }));
    assert_eq!((by, reference), ("acme/c0", "the boss"));
    assert!(matches!(cancelled, Event::CampaignCancelled { actor, .. } if actor == "acme/c0"));

    let request = ListSignificantEventsRequest::default();
    let events = platform.report.list_significant_events(request).await.unwrap().into_inner().events;
    let by = |subject: &str| events.iter().find(|event| event.subject == subject).map(|event| event.actor.clone());
    assert_eq!(by("rate SEK").as_deref(), Some("c0"));
    assert_eq!(by("acme/alice/1").as_deref(), Some("acme/c0 for the boss"));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_08_pl_22_openings_deposits_and_withdrawals_keep_the_credentials_name() {
    let data = tempfile::tempdir().unwrap();
    let server = service(data.path(), 12).await;
    let mut acme = client(&server, "acme").await;
    let alice = account_of("acme", "alice", EUR);
    let open = OpenAccountRequest { request_id: "o".into(), account: Some(alice.clone()) };
    let opened = acme.ledger.open_account(open.clone()).await.unwrap().into_inner().transaction.unwrap();
    let deposit = DepositRequest { request_id: "d".into(), account: Some(alice.clone()), amount_minor: 500 };
    let deposited = acme.ledger.deposit(deposit.clone()).await.unwrap().into_inner().transaction.unwrap();
    let withdraw = WithdrawRequest { request_id: "w".into(), account: Some(alice.clone()), amount_minor: 200 };
    let withdrawn = acme.ledger.withdraw(withdraw.clone()).await.unwrap().into_inner().transaction.unwrap();
    let acts = acted(&server);
    for (transaction, wanted) in [
        (&opened, (|event| matches!(event, Event::AccountOpened { .. })) as fn(&Event) -> bool),
        (&deposited, |event| matches!(event, Event::Deposited { .. })),
        (&withdrawn, |event| matches!(event, Event::Withdrawn { .. })),
    ] {
        assert_eq!(transaction.actor, "acme/c0");
        let all: Vec<_> = acts.iter().filter(|(event, ..)| wanted(event)).collect();
        assert!(matches!(all[..], [(_, by, reference)] if by == "acme/c0" && reference.is_empty()), "{all:?}");
        let request =
            GetTransactionRequest { account: Some(alice.clone()), request_id: transaction.request_id.clone() };
        let found = acme.ledger.get_transaction(request).await.unwrap().into_inner().transaction.unwrap();
        assert_eq!(found, *transaction);
    }
    assert_eq!(acme.ledger.deposit(deposit).await.unwrap().into_inner().transaction.unwrap(), deposited);
    server.stop().await.unwrap();

    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let server = start_on(&config, fresh(&config)).await;
    let mut anyone = Client::connect(server.address()).await;
    let opened = anyone.ledger.open_account(open).await.unwrap().into_inner().transaction.unwrap();
    assert_eq!(opened.actor, "");
    anyone.ledger.withdraw(withdraw).await.unwrap_err();
    assert_eq!(acted(&server), []);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_19_pl_22_references_of_those_who_acted_stand_with_the_round() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.operators = Config::parse(&operator("acme", &[("acme", ALL)])).unwrap().operators;
    let server = start_on(&config, open_stores(&config).unwrap()).await;
    let mut acme = client(&server, "acme").await;
    let alice = acme.fund("alice", EUR, 1_000_000).await;
    let bought = |request_id: &str| SpinRequest {
        request_id: request_id.into(),
        account: Some(alice.clone()),
        game: "mystery-elves".into(),
        stake: Some(Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: true }),
        ..SpinRequest::default()
    };
    let voided = acme.spin(bought("b1"), None).await.unwrap().round_id;
    let reason = "reel 3 stuck".to_owned();
    let void = VoidRoundRequest {
        request_id: "v".into(),
        round_id: voided.clone(),
        reason: reason.clone(),
        actor: "ticket 7".into(),
    };
    acme.ledger.void_round(void).await.unwrap();
    let closed = acme.spin(bought("b2"), None).await.unwrap().round_id;
    let close =
        CloseRoundRequest { request_id: "c".into(), round_id: closed.clone(), reason, actor: "ticket 8".into() };
    acme.spin.close_round(close).await.unwrap();
    for (round_id, reference, other) in [(&voided, "ticket 7", "ticket 8"), (&closed, "ticket 8", "ticket 7")] {
        let request = GetRoundRequest { round_id: round_id.clone() };
        let round = acme.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
        let void = round.void.map(|void| (void.actor, void.reference));
        let mut steps = round.steps.iter().filter(|step| !step.reference.is_empty()).map(|step| &*step.reference);
        match void {
            Some((actor, reference)) => {
                assert_eq!((&*actor, &*reference, steps.next()), ("acme/c0", "ticket 7", None));
            }
            None => assert_eq!((steps.next(), steps.next()), (Some("ticket 8"), None)),
        }
        let request = GetRoundPageRequest { round_id: round_id.clone() };
        let page = acme.report.get_round_page(request).await.unwrap().into_inner().content;
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(reference) && !page.contains(other), "{page}");
    }
    server.stop().await.unwrap();
    for (round_id, reference) in [(&voided, "ticket 7"), (&closed, "ticket 8")] {
        for format in ["text", "json"] {
            let mut replay = Command::new(env!("CARGO_BIN_EXE_motherlode-under-test"));
            let replay = replay.arg("replay").arg(data.path()).arg(round_id).args(["--format", format]);
            let shown = String::from_utf8(replay.output().await.unwrap().stdout).unwrap();
            assert!(shown.contains(reference), "{format}: {shown}");
        }
    }
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b3_open_rounds_of_an_operator_are_bounded_and_those_of_others_are_not_affected() {
    let data = tempfile::tempdir().unwrap();
    let text = ["acme", "other"].map(|id| operator(id, &[(id, ALL)])).concat();
    let mut config = Config { operators: Config::parse(&text).unwrap().operators, ..config(data.path()) };
    config.limits.open_rounds_per_operator_max = 3;
    let server = start_on(&config, fresh(&config)).await;
    let mut acme = client(&server, "acme").await;
    let mut players = vec![];
    for number in 0..5 {
        let account = account_of("acme", &format!("p{number}"), EUR);
        acme.fund_account(&account, 10_000).await;
        players.push(account);
    }
    let open = Some(Force::Open);
    let concurrent = players[..4].iter().map(|player| {
        let (mut client, bet) = (acme.clone(), bet("open", player, "0.01"));
        async move { client.spin(bet, open).await }
    });
    let (mut opened, mut others) = (vec![], vec![]);
    for (player, answer) in players.iter().zip(join_all(concurrent).await) {
        match answer {
            Ok(_) => opened.push(player),
            Err(refused) => {
                assert_eq!((refused.code(), reason(&refused).as_str()), (Code::ResourceExhausted, "OPEN_ROUNDS_FULL"));
                others.push(player);
            }
        }
    }
    assert_eq!(opened.len(), 3);
    acme.spin(bet("over", &players[4], "0.01"), Some(Force::Loss)).await.unwrap();
    acme.spin(bet("open", opened[0], "0.01"), open).await.unwrap();
    let mut other = client(&server, "other").await;
    let theirs = account_of("other", "a", EUR);
    other.fund_account(&theirs, 10_000).await;
    other.spin(bet("open", &theirs, "0.01"), open).await.unwrap();
    acme.play_out(bet("open", opened[1], "0.01")).await.unwrap();
    acme.spin(bet("open", others[0], "0.01"), open).await.unwrap();
    server.stop().await.unwrap();
}
