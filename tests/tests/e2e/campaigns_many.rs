use motherlode_proto::{
    ledger::v1::OpenAccountRequest,
    round::v1::{Account, Stake},
    spin::v1::{GrantCampaignRequest, GrantCampaignsRequest, GrantCampaignsResponse, ListCampaignsRequest},
};
use motherlode_runtime::Config;
use motherlode_server::open_stores;
use motherlode_slots::{
    Stake as Staked, cash_return, latest,
    par::{Exact, decimal, exact},
};
use motherlode_state::{Event, StreamId};
use motherlode_tests::{
    Client, EUR, Server, account, audited, config, free_round,
    operators::{Service, operator, token},
    reason, start_on,
};
use std::path::Path;
use tonic::{Code, Status};

const ALL: &str = r#"["play", "wallet", "support", "audit"]"#;

async fn serve(data: &Path) -> (Server, Client) {
    let config = Config { partitions: 2, ..config(data) };
    let server = start_on(&config, open_stores(&config).unwrap()).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

async fn join(client: &mut Client, players: &[String]) {
    for player in players {
        let (request_id, account) = ("open".to_owned(), Some(account(player, EUR)));
        client.ledger.open_account(OpenAccountRequest { request_id, account }).await.unwrap();
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("p{number}")).collect()
}

fn autumn(request_id: &str, players: &[String]) -> GrantCampaignsRequest {
    GrantCampaignsRequest {
        request_id: request_id.into(),
        operator_id: "acme".into(),
        player_ids: players.to_vec(),
        currency_code: EUR.into(),
        campaign_id: format!("autumn-{request_id}"),
        game: "neptune".into(),
        stake: Some(Stake { coin_value: "0.01".into(), lines: 15, coins_per_line: 1, buy_feature: false }),
        rounds: 10,
        expire_time: Some(prost_types::Timestamp { seconds: 2_000_000_000, nanos: 0 }),
    }
}

async fn grant(client: &mut Client, request: GrantCampaignsRequest) -> Result<GrantCampaignsResponse, Status> {
    Ok(client.spin.grant_campaigns(request).await?.into_inner())
}

fn of_one_round() -> (Exact, Exact) {
    let game = latest("neptune").unwrap();
    let stake = Staked { coin_value_micros: 10_000, lines: 15, coins_per_line: 1, buy_feature: false };
    let rtp = game.par(&stake).unwrap().rtp_without_jackpot + cash_return(game, 10_000, 10_000).unwrap().adds;
    (rtp * exact(15_u32), (game.highest_win(&stake).unwrap().bets * exact(15_u32)).ceil())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_36_one_call_grants_many_players_with_exact_liability_once_and_for_all_partitions() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path()).await;
    let players = names(40);
    join(&mut client, &players).await;
    let granted = grant(&mut client, autumn("c1", &players)).await.unwrap();
    assert_eq!(granted.grants.iter().map(|grant| grant.player_id.as_str()).collect::<Vec<_>>(), players);
    let of_player = |grant: &motherlode_proto::spin::v1::PlayerGrant| grant.campaign.clone().unwrap().rounds_left;
    assert!(granted.grants.iter().all(|grant| grant.reason.is_empty() && of_player(grant) == 10));
    let liability = granted.liability.clone().unwrap();
    let (expected, highest) = of_one_round();
    let (expected, highest) = (expected * exact(400_u32), highest * exact(400_u32));
    assert_eq!(liability.expected_minor, decimal(&expected, 4));
    assert_eq!(liability.expected_minor_exact, format!("{}/{}", expected.numer(), expected.denom()));
    assert_eq!(liability.highest_minor, highest.to_integer().to_string());
    assert_eq!(liability.highest_eur, decimal(&(highest / exact(100_u32)), 2));
    assert_eq!((liability.cap_eur.as_str(), liability.currency_code.as_str()), ("", EUR));

    let ends = server.ends();
    assert_eq!(grant(&mut client, autumn("c1", &players)).await.unwrap(), granted);
    assert_eq!(server.ends(), ends);
    let alice = account("p7", EUR);
    client.play_out(free_round(latest("neptune").unwrap(), "f1", &alice, "autumn-c1")).await.unwrap();
    assert_eq!(grant(&mut client, autumn("c1", &players)).await.unwrap(), granted);
    let listed = ListCampaignsRequest { account: Some(alice), ..Default::default() };
    let listed = client.spin.list_campaigns(listed).await.unwrap().into_inner().campaigns;
    assert_eq!((listed.len(), listed[0].rounds_left), (1, 9));
    let other = GrantCampaignsRequest { rounds: 11, ..autumn("c1", &players) };
    let refused = grant(&mut client, other).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::AlreadyExists, "REQUEST_ID_REUSED"));
    server.stop().await.unwrap();
    audited(data.path(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_36_what_can_not_be_granted_to_all_is_refused_before_anything_is_logged() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path()).await;
    let players = names(3);
    join(&mut client, &players).await;
    grant(&mut client, autumn("c1", &players[..1])).await.unwrap();
    let ends = server.ends();
    let no_stake = GrantCampaignsRequest { stake: None, ..autumn("c4", &players) };
    let past = GrantCampaignsRequest {
        expire_time: Some(prost_types::Timestamp { seconds: 1_000_000_000, nanos: 0 }),
        ..autumn("c5", &players)
    };
    let far = GrantCampaignsRequest {
        expire_time: Some(prost_types::Timestamp { seconds: 4_102_444_800, nanos: 0 }),
        ..autumn("c6", &players)
    };
    for (request, code, why) in [
        (no_stake, Code::InvalidArgument, "INVALID_FIELD"),
        (past, Code::InvalidArgument, "INVALID_CAMPAIGN"),
        (far, Code::InvalidArgument, "INVALID_CAMPAIGN"),
        (autumn("c7", &[]), Code::InvalidArgument, "INVALID_FIELD"),
        (autumn("c8", &names(501)), Code::InvalidArgument, "INVALID_FIELD"),
        (autumn("c9", &["p0".into(), "p0".into()]), Code::InvalidArgument, "INVALID_FIELD"),
    ] {
        let refused = grant(&mut client, request).await.unwrap_err();
        assert_eq!((refused.code(), &*reason(&refused)), (code, why));
    }
    assert_eq!(server.ends(), ends, "no commit was written");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_36_players_that_can_not_get_a_campaign_are_refused_alone_and_for_good() {
    let data = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(data.path()).await;
    let players = names(3);
    join(&mut client, &players).await;
    grant(&mut client, autumn("c1", &players[..1])).await.unwrap();
    let all = [players, vec!["nobody".into()]].concat();
    let request = GrantCampaignsRequest { campaign_id: "autumn-c1".into(), ..autumn("c2", &all) };
    let answer = grant(&mut client, request.clone()).await.unwrap();
    let reasons = |answer: &GrantCampaignsResponse| {
        answer.grants.iter().map(|grant| (grant.player_id.clone(), grant.reason.clone())).collect::<Vec<_>>()
    };
    let wanted = [("p0", "CAMPAIGN_EXISTS"), ("p1", ""), ("p2", ""), ("nobody", "ACCOUNT_UNKNOWN")];
    let wanted = wanted.map(|(player, reason)| (player.to_owned(), reason.to_owned()));
    assert_eq!(reasons(&answer), wanted);
    assert!(answer.grants.iter().all(|grant| grant.campaign.is_some() == grant.reason.is_empty()));
    let highest = (of_one_round().1 * exact(20_u32)).to_integer().to_string();
    assert_eq!(
        answer.liability.as_ref().unwrap().highest_minor,
        highest,
        "the liability covers only the two players who got the campaign"
    );

    join(&mut client, &["nobody".into()]).await;
    let ends = server.ends();
    assert_eq!(
        grant(&mut client, request).await.unwrap(),
        answer,
        "an account opened later does not change the answer to a repeated request"
    );
    let strangers = grant(&mut client, autumn("c3", &["x".into(), "y".into()])).await.unwrap_err();
    assert_eq!((strangers.code(), &*reason(&strangers)), (Code::NotFound, "ACCOUNT_UNKNOWN"));
    assert_eq!(server.ends(), ends, "no commit was written");
    server.stop().await.unwrap();
    audited(data.path(), 2);
}

fn capped() -> (String, Vec<String>) {
    let players = names(4);
    let (_, highest) = of_one_round();
    let one = (highest * exact(10_u32 * 4) / exact(100_u32)).ceil().to_integer();
    let acme = operator("acme", &[("acme", ALL)]);
    let cap = format!("id = \"acme\"\ncampaign_liability_eur_max = {}\n", one * 2_u32 + 1_u32);
    (acme.replace("id = \"acme\"\n", &cap) + &operator("other", &[("other", ALL)]), players)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_36_campaigns_at_once_can_not_pass_the_cap_together_nor_can_single_ones() {
    let (text, players) = capped();
    let service = Service::start(&text).await;
    let mut acme = service.client("acme").await;
    join(&mut acme, &players).await;
    let asked = (0..6).map(|number| {
        let (mut client, request) = (acme.clone(), autumn(&format!("at-once-{number}"), &players));
        tokio::spawn(async move { grant(&mut client, request).await })
    });
    let (mut granted, mut refused) = (vec![], 0);
    for answer in asked.collect::<Vec<_>>() {
        match answer.await.unwrap() {
            Ok(answer) => granted.push(answer),
            Err(status) => {
                assert_eq!(
                    (status.code(), &*reason(&status)),
                    (Code::FailedPrecondition, "CAMPAIGN_LIABILITY_ABOVE_CAP")
                );
                refused += 1;
            }
        }
    }
    assert_eq!((granted.len(), refused), (2, 4));
    let reserved = |server: &Server| {
        let ledger = server.ledgers().home();
        let commits = (1..=ledger.durable()).map(|position| ledger.fetch(position).unwrap());
        let of = |event: &Event| matches!(event, Event::LiabilityReserved(_));
        commits.filter(|logged| logged.commit.stream == StreamId::System && logged.commit.events.iter().any(of)).count()
    };
    assert_eq!(reserved(&service.server), 2);
    let own = ListCampaignsRequest { account: Some(account("p0", EUR)), ..Default::default() };
    assert_eq!(acme.spin.list_campaigns(own).await.unwrap().into_inner().campaigns.len(), 2);
    let again = granted[0].grants[0].campaign.clone().unwrap().campaign_id;
    let request_id = again.trim_start_matches("autumn-").to_owned();
    assert_eq!(grant(&mut acme, autumn(&request_id, &players)).await.unwrap(), granted[0]);
    let many = autumn("one", &players);
    let single = GrantCampaignRequest {
        request_id: "one".into(),
        account: Some(account("p0", EUR)),
        campaign_id: "single".into(),
        game: many.game,
        stake: many.stake,
        rounds: 10,
        expire_time: many.expire_time,
    };
    let refused = acme.spin.grant_campaign(single).await.unwrap_err();
    assert_eq!(&*reason(&refused), "CAMPAIGN_LIABILITY_ABOVE_CAP");
    let mut other = service.with(&token("other")).await;
    let theirs = Account { operator_id: "other".into(), ..account("p0", EUR) };
    other.fund_account(&theirs, 100).await;
    let request = GrantCampaignsRequest { operator_id: "other".into(), ..autumn("theirs", &players[..1]) };
    assert_eq!(grant(&mut other, request).await.unwrap().grants.len(), 1);
    let foreign = grant(&mut other, autumn("foreign", &players)).await.unwrap_err();
    assert_eq!(&*reason(&foreign), "ACCOUNT_UNKNOWN");
}
