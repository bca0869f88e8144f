use crate::node_forgeries::{self, client};
use motherlode_ledger::{AppendError, Handle, Ledgers, Proposal, fingerprint};
use motherlode_proto::{
    jackpot::v1::SuspendPoolRequest,
    ledger::v1::{
        CancelRequestRequest, GetRequestRequest, RequestOutcome, SetExchangeRateRequest, SetSwitchRequest, Switch,
        request_outcome::State, set_switch_request::State as SwitchState,
    },
    round::v1::{Account, RoundState, Stake},
    spin::v1::{
        AutospinRequest, AutospinResponse, AutospinStop, GrantCampaignRequest, GrantCampaignsRequest,
        GrantCampaignsResponse, ListCampaignsRequest, OpenSessionRequest, OpenSessionResponse, PlayMode, SpinRequest,
    },
};
use motherlode_runtime::Config;
use motherlode_state::{Autospin, Event, LiabilityReserved, Nano, StreamId};
use motherlode_tests::{
    Client, EUR, Server, account, bet, checked, commits, config, next_choice, operators::operator, operators::token,
    pool::POOL, reason, start, start_on,
};
use std::{collections::BTreeMap, path::Path};
use tonic::{Code, Status, Streaming};

fn series(request_id: &str, account: &Account, spins: u32) -> AutospinRequest {
    let SpinRequest { account, game, stake, witch, .. } = bet("", account, "0.01");
    AutospinRequest { request_id: request_id.to_owned(), account, game, stake, witch, spins, ..Default::default() }
}

async fn outcome(client: &mut Client, account: &Account, request_id: &str) -> RequestOutcome {
    let request =
        GetRequestRequest { account: Some(account.clone()), request_id: request_id.into(), ..Default::default() };
    client.ledger.get_request(request).await.unwrap().into_inner().outcome.unwrap()
}

async fn cancel(client: &mut Client, account: &Account, request_id: &str) -> RequestOutcome {
    let request =
        CancelRequestRequest { account: Some(account.clone()), request_id: request_id.into(), ..Default::default() };
    client.ledger.cancel_request(request).await.unwrap().into_inner().outcome.unwrap()
}

async fn cancel_of(client: &mut Client, operator: &str, request_id: &str) -> Result<RequestOutcome, Status> {
    let (operator_id, request_id) = (operator.to_owned(), request_id.to_owned());
    let request = CancelRequestRequest { operator_id, request_id, ..Default::default() };
    Ok(client.ledger.cancel_request(request).await?.into_inner().outcome.unwrap())
}

async fn outcome_of(client: &mut Client, operator: &str, request_id: &str) -> Result<RequestOutcome, Status> {
    let (operator_id, request_id) = (operator.to_owned(), request_id.to_owned());
    let request = GetRequestRequest { operator_id, request_id, ..Default::default() };
    Ok(client.ledger.get_request(request).await?.into_inner().outcome.unwrap())
}

async fn play(client: &mut Client, mut stream: Streaming<AutospinResponse>) -> Vec<AutospinResponse> {
    let mut answers = vec![];
    while let Some(answer) = stream.message().await.unwrap() {
        if let Some(open) = answer.played.as_ref().filter(|played| played.state() == RoundState::Open) {
            let mut last = open.clone();
            while let Some(kind) = next_choice(&last) {
                let id = format!("{}.{}", open.round_id.replace('/', "-"), last.step);
                last = client.choose(&id, &open.round_id, kind, None).await.unwrap();
            }
        }
        answers.push(answer);
    }
    answers
}

fn rounds(answers: &[AutospinResponse]) -> Vec<String> {
    answers.iter().filter_map(|answer| answer.played.as_ref()).map(|played| played.round_id.clone()).collect()
}

fn is_cancelled(answer: &AutospinResponse) -> bool {
    let refusal = answer.refusal.clone().unwrap_or_default();
    let details = prost::Message::encode_to_vec(&refusal);
    let status = Status::with_details(Code::from(refusal.code), refusal.message, details.into());
    answer.stop() == AutospinStop::Refused && reason(&status) == "REQUEST_CANCELLED"
}

fn rounds_after(ledgers: &Ledgers, stream: &StreamId, position: u64) -> Vec<u64> {
    let later = commits(ledgers.for_stream(stream).unwrap(), position + 1);
    let of_player = later.filter(|logged| logged.commit.stream == *stream);
    let started = |event: &Event| matches!(event, Event::RoundStarted(_));
    of_player.filter(|logged| logged.commit.events.iter().any(started)).map(|logged| logged.commit.position).collect()
}

fn alice() -> StreamId {
    StreamId::player("acme", "alice")
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_a_running_series_plays_no_round_after_its_cancellation() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 10_000_000).await;
    let request = series("s", &account, 1000);
    let stream = client.autospin(request.clone(), None).await.unwrap();
    let mut player = client.clone();
    let playing = tokio::spawn(async move { play(&mut player, stream).await });
    let mut head = server.ledger_of("alice").head();
    let is_begun = || server.player("alice").rounds_started >= 10;
    while !is_begun() {
        head.changed().await.unwrap();
    }
    let running = outcome(&mut client, &account, "s").await;
    assert_eq!((running.state(), running.stopped), (State::Applied, false));
    assert!(running.round_ids.len() >= 10);
    let stopped = cancel(&mut client, &account, "s").await;
    let answers = playing.await.unwrap();
    let played = rounds(&answers);
    assert!(played.len() < 1000 && is_cancelled(answers.last().unwrap()), "{:?}", answers.last());
    assert_eq!((stopped.state(), stopped.stopped), (State::Applied, true));
    assert_eq!(stopped.round_ids, played, "the answer names all rounds of the series");
    assert_eq!(stopped.round_ids[..running.round_ids.len()], running.round_ids);
    assert_eq!(rounds_after(server.ledgers(), &alice(), stopped.position), [] as [u64; 0]);
    assert_eq!(server.player("alice").rounds_started, played.len() as u64);
    server.stop().await.unwrap();

    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let again = client.autospin(request, None).await.unwrap();
    assert_eq!(
        play(&mut client, again).await,
        answers,
        "a repeated series returns the same answers and plays no further spin"
    );
    for same in [cancel(&mut client, &account, "s").await, outcome(&mut client, &account, "s").await] {
        assert_eq!(same, stopped);
    }
    let first = cancel(&mut client, &account, &Autospin::spin_request_id("s", 1)).await;
    assert_eq!((first.state(), first.round.unwrap().round_id), (State::Applied, played[0].clone()));
    assert_eq!(rounds_after(server.ledgers(), &alice(), stopped.position), [] as [u64; 0]);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_a_series_that_is_cancelled_before_it_begins_plays_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let cancelled = cancel(&mut client, &account, "s").await;
    assert_eq!((cancelled.state(), cancelled.stopped, cancelled.round_ids.len()), (State::Cancelled, false, 0));
    let stream = client.autospin(series("s", &account, 5), None).await.unwrap();
    let answers = play(&mut client, stream).await;
    assert!(answers.len() == 1 && is_cancelled(&answers[0]), "{answers:?}");
    assert_eq!(
        server.player("alice").head.position,
        cancelled.position,
        "the player's last commit is the cancellation"
    );
    client.play_out(bet("t", &account, "0.01")).await.unwrap();
    let stream = client.autospin(series("t", &account, 5), None).await.unwrap();
    let answers = play(&mut client, stream).await;
    assert_eq!((answers.len(), answers[0].refusal.as_ref().unwrap().code), (1, Code::AlreadyExists as i32));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_the_writer_refuses_a_part_behind_a_cancellation_that_is_not_durable_yet() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    client.fund("alice", EUR, 100).await;
    let proposal = |request_id: &str, events: Vec<Event>| Proposal {
        stream: alice(),
        expected_version: None,
        request_id: request_id.into(),
        fingerprint: [0; 16],
        events,
    };
    let seal = |number: u32| {
        let ended = Event::SessionEnded { session: [7; 16], hold_ms: number };
        proposal(&format!("part/{number}"), vec![ended, Event::PartOf { request_id: "s".into() }])
    };
    let ledger = server.ledgers().for_stream(&alice()).unwrap();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let all = [seal(1), proposal("s", vec![Event::RequestCancelled]), seal(2)];
    ledger.propose((0..).zip(all).map(|(ticket, proposal)| (ticket, proposal, None)), &sender);
    let mut verdicts = BTreeMap::new();
    while verdicts.len() < 3 {
        verdicts.extend(receiver.recv().await.unwrap());
    }
    let cancelled = AppendError::RequestCancelled { request_id: "s".into() };
    assert!(!matches!(verdicts[&0], Err(AppendError::RequestCancelled { .. })), "{:?}", verdicts[&0]);
    assert!(verdicts[&1].is_ok(), "{:?}", verdicts[&1]);
    assert_eq!(verdicts[&2].as_ref().unwrap_err(), &cancelled);
    assert_eq!(ledger.append(seal(3)).await.unwrap_err(), cancelled, "durable");
    server.stop().await.unwrap();
}

async fn open(client: &mut Client, request_id: &str, account: &Account) -> Result<OpenSessionResponse, Status> {
    let mode = if account.currency_code == "XTS" { PlayMode::Demo } else { PlayMode::Real };
    let request = OpenSessionRequest {
        request_id: request_id.into(),
        account: Some(account.clone()),
        game: "neptune".into(),
        mode: mode.into(),
        ..Default::default()
    };
    Ok(client.spin.open_session(request).await?.into_inner())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_a_session_whose_request_is_cancelled_is_not_opened() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let money = client.fund("alice", EUR, 1_000).await;
    let play = Account { currency_code: "XTS".into(), ..money.clone() };
    for account in [&money, &play] {
        let id = format!("s-{}", account.currency_code);
        let cancelled = cancel(&mut client, &money, &id).await;
        assert_eq!(cancelled.state(), State::Cancelled);
        let refused = open(&mut client, &id, account).await.unwrap_err();
        assert_eq!((refused.code(), &*reason(&refused)), (Code::FailedPrecondition, "REQUEST_CANCELLED"));
        let of_player = server.player("alice");
        assert_eq!(
            of_player.head.position, cancelled.position,
            "the cancelled request wrote no commit and gave no play money"
        );
    }
    for account in [&money, &play] {
        let id = format!("t-{}", account.currency_code);
        let opened = open(&mut client, &id, account).await.unwrap();
        let applied = cancel(&mut client, &money, &id).await;
        assert_eq!(applied.state(), State::Applied);
        assert_eq!(
            open(&mut client, &id, account).await.unwrap(),
            opened,
            "a repeated OpenSession returns the same session"
        );
    }
    assert_eq!(client.balance(&play).await, 100_000);
    server.stop().await.unwrap();
    checked(data.path());
}

fn autumn(request_id: &str, players: &[&str]) -> GrantCampaignsRequest {
    GrantCampaignsRequest {
        request_id: request_id.into(),
        operator_id: "acme".into(),
        player_ids: players.iter().map(|player| (*player).to_owned()).collect(),
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

async fn campaigns(client: &mut Client, account: &Account) -> Vec<String> {
    let request = ListCampaignsRequest { account: Some(account.clone()), ..Default::default() };
    let listed = client.spin.list_campaigns(request).await.unwrap().into_inner().campaigns;
    listed.into_iter().map(|campaign| campaign.campaign_id).collect()
}

fn reservations(home: &Handle) -> usize {
    let reserved = |event: &Event| matches!(event, Event::LiabilityReserved(_));
    commits(home, 1).filter(|logged| logged.commit.events.iter().any(reserved)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_campaigns_for_many_players_are_cancelled_by_their_operator() {
    let data = tempfile::tempdir().unwrap();
    let config = Config { partitions: 2, ..config(data.path()) };
    let server = start_on(&config, motherlode_server::open_stores(&config).unwrap()).await;
    let mut client = Client::connect(server.address()).await;
    let players = ["p0", "p1", "p2", "p3"];
    let mut accounts = vec![];
    for player in players {
        accounts.push(client.fund(player, EUR, 100).await);
    }

    assert_eq!(cancel_of(&mut client, "acme", "g1").await.unwrap().state(), State::Cancelled);
    assert_eq!(cancel(&mut client, &accounts[2], "g2").await.state(), State::Cancelled);
    let ends = server.ends();
    for id in ["g1", "g2"] {
        let refused = grant(&mut client, autumn(id, &players)).await.unwrap_err();
        assert_eq!((refused.code(), &*reason(&refused)), (Code::FailedPrecondition, "REQUEST_CANCELLED"), "{id}");
    }
    assert_eq!(server.ends(), ends, "no commit was written");
    assert_eq!(reservations(server.ledger()), 0);

    let request = autumn("g3", &players);
    let reserved = LiabilityReserved {
        operator: "acme".into(),
        campaign: "autumn-g3".into(),
        players: 4,
        max_liability: Nano::major(1),
        expires_ms: 2_000_000_000_000,
        cap: Nano::ZERO,
        player_ids: players.iter().map(|player| (*player).into()).collect(),
    };
    let [name, _] = motherlode_ledger::reservation_ids("acme", "", "g3");
    let proposal = Proposal {
        stream: StreamId::System,
        expected_version: None,
        request_id: name.into(),
        fingerprint: fingerprint("grant_campaigns", &request),
        events: vec![Event::LiabilityReserved(reserved), Event::PartOf { request_id: "of/acme/g3".into() }],
    };
    server.ledgers().append(proposal).await.unwrap();
    let GrantCampaignsRequest { campaign_id, game, stake, rounds, expire_time, .. } = request.clone();
    let first = GrantCampaignRequest {
        request_id: "g3".into(),
        account: Some(accounts[0].clone()),
        campaign_id,
        game,
        stake,
        rounds,
        expire_time,
    };
    client.spin.grant_campaign(first).await.unwrap();
    let begun = outcome_of(&mut client, "acme", "g3").await.unwrap();
    assert_eq!(
        (begun.state(), begun.stopped, begun.player_ids.clone()),
        (State::Applied, false, vec!["p0".to_owned()])
    );
    let stopped = cancel_of(&mut client, "acme", "g3").await.unwrap();
    assert_eq!(stopped, RequestOutcome { stopped: true, ..begun });
    let rest = grant(&mut client, request).await.unwrap().grants;
    let reasons: Vec<_> = rest.iter().map(|grant| grant.reason.as_str()).collect();
    assert_eq!(reasons, ["", "REQUEST_CANCELLED", "REQUEST_CANCELLED", "REQUEST_CANCELLED"]);
    for (number, account) in accounts.iter().enumerate() {
        let expected: &[&str] = if number == 0 { &["autumn-g3"] } else { &[] };
        assert_eq!(campaigns(&mut client, account).await, expected);
    }
    assert_eq!(cancel_of(&mut client, "acme", "g3").await.unwrap(), stopped, "idempotent");

    let whole = grant(&mut client, autumn("g4", &players)).await.unwrap();
    let applied = cancel_of(&mut client, "acme", "g4").await.unwrap();
    assert_eq!((applied.state(), applied.stopped, applied.position), (State::Applied, false, whole.position));
    assert_eq!(applied.player_ids, players);
    server.stop().await.unwrap();
    motherlode_tests::audited(data.path(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_a_cancelled_grant_under_a_cap_reserves_nothing() {
    let service = node_forgeries::Service::start_with(2, "campaign_liability_eur_max = 1000000\n").await;
    let account = service.player().await;
    let (mut at_ledger, mut at_spin) = (client(&service.ledger, "acme").await, client(&service.spin, "acme").await);
    assert_eq!(cancel(&mut at_ledger, &account, "g").await.state(), State::Cancelled);
    let GrantCampaignsRequest { campaign_id, game, stake, rounds, expire_time, .. } = autumn("g", &[]);
    let single = GrantCampaignRequest {
        request_id: "g".into(),
        account: Some(account.clone()),
        campaign_id,
        game,
        stake,
        rounds,
        expire_time,
    };
    let refused = at_spin.spin.grant_campaign(single.clone()).await.unwrap_err();
    assert_eq!(reason(&refused), "REQUEST_CANCELLED");
    let [_, reservation] = motherlode_ledger::reservation_ids("acme", "alice", "g");
    let reserved = Event::LiabilityReserved(LiabilityReserved {
        operator: "acme".into(),
        campaign: single.campaign_id.as_str().into(),
        players: 1,
        max_liability: Nano::major(1),
        expires_ms: 2_000_000_000_000,
        cap: Nano::major(1_000_000),
        player_ids: vec!["alice".into()],
    });
    let proposal = Proposal {
        stream: StreamId::System,
        expected_version: None,
        request_id: reservation.into(),
        fingerprint: fingerprint("grant_campaign", &single),
        events: vec![reserved, Event::ActedBy { actor: "acme/c0".into(), reference: String::new() }],
    };
    let refused = service.spin.ledgers().append(proposal).await.unwrap_err();
    assert!(matches!(refused, AppendError::RequestCancelled { .. }), "{refused}");
    assert_eq!(reservations(service.ledger.ledger()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_in_split_roles_the_writer_refuses_what_a_spin_process_proposes_after_a_cancellation() {
    let service = node_forgeries::Service::start_with(2, "").await;
    let account = service.player().await;
    let (mut at_ledger, at_spin) = (client(&service.ledger, "acme").await, client(&service.spin, "acme").await);
    let mut player = at_spin.clone();
    let request = series("s", &account, 1000);
    let stream = player.autospin(request.clone(), None).await.unwrap();
    let playing = tokio::spawn(async move { play(&mut player, stream).await });
    let ledger = service.ledger.ledgers().for_stream(&alice()).unwrap();
    let mut head = ledger.head();
    while ledger.player(&alice()).unwrap().unwrap().rounds_started < 6 {
        head.changed().await.unwrap();
    }
    let stopped = cancel(&mut at_ledger, &account, "s").await;
    let played = rounds(&playing.await.unwrap());
    assert_eq!((stopped.state(), stopped.stopped, &stopped.round_ids), (State::Applied, true, &played));
    assert_eq!(rounds_after(service.ledger.ledgers(), &alice(), stopped.position), [] as [u64; 0]);
    let acted = |actor: &str| Event::ActedBy { actor: actor.into(), reference: String::new() };
    for (stream, id, actor, why) in [
        (StreamId::System, "generation/9", "c0", "KIND_NOT_ALLOWED"),
        (alice(), "award/bewitched/0/9", "acme/c0", "KIND_NOT_ALLOWED"),
        (StreamId::System, "of/other/r", "acme/c0", "ACTOR_ROLE_MISSING"),
        (StreamId::System, "r", "acme/c0", "ACTOR_ROLE_MISSING"),
    ] {
        let events = vec![Event::RequestCancelled, acted(actor)];
        assert_eq!(service.refused_at("peer", &stream, id, None, events).await, why, "{id}");
    }
}

fn switch_off(request_id: &str) -> SetSwitchRequest {
    SetSwitchRequest {
        request_id: request_id.into(),
        switch: Some(Switch { operator_id: "acme".into(), game: "neptune".into(), rules_version: String::new() }),
        state: SwitchState::Off.into(),
        reason: "test".into(),
        ..SetSwitchRequest::default()
    }
}

fn rate(request_id: &str) -> SetExchangeRateRequest {
    SetExchangeRateRequest {
        request_id: request_id.into(),
        currency_code: "SEK".into(),
        eur_per_unit: "0.09".into(),
        source: "test".into(),
    }
}

fn suspend(request_id: &str) -> SuspendPoolRequest {
    let (request_id, pool_id) = (request_id.into(), POOL.into());
    SuspendPoolRequest { request_id, pool_id, reason: "test".into(), actor: String::new() }
}

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

async fn start_with_operators(data: &Path) -> Server {
    let operators = operator("acme", &[("acme", ALL), ("player", r#"["play"]"#)])
        + &operator("other", &[("other", ALL)])
        + &operator("platform", &[("ann", ALL), ("bob", ALL)]);
    let config = Config { operators: Config::parse(&operators).unwrap().operators, ..config(data) };
    start_on(&config, motherlode_server::open_stores(&config).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_42_mf_c1_rates_switches_and_pools_are_cancelled_by_their_operator() {
    let data = tempfile::tempdir().unwrap();
    let server = start_with_operators(data.path()).await;
    let shown = async |name: &str| {
        let url = format!("http://{}", server.address());
        Client::on(motherlode_runtime::connect::connect(&url, &token(name), None).await.unwrap())
    };
    let (mut ann, mut acme, mut other) = (shown("ann").await, shown("acme").await, shown("other").await);

    for (client, operator) in [(&mut ann, "platform"), (&mut acme, "acme")] {
        let unseen = outcome_of(client, operator, "r").await.unwrap();
        assert_eq!(unseen.state(), State::Unseen);
        let cancelled = cancel_of(client, operator, "r").await.unwrap();
        assert_eq!(cancelled.state(), State::Cancelled);
        assert_eq!(outcome_of(client, operator, "r").await.unwrap(), cancelled);
        assert_eq!(cancel_of(client, operator, "r").await.unwrap(), cancelled);
    }
    let ends = server.ends();
    let refused = [
        ann.ledger.set_exchange_rate(rate("r")).await.map(drop).unwrap_err(),
        ann.ledger.set_switch(switch_off("r")).await.map(drop).unwrap_err(),
        ann.jackpot.suspend_pool(suspend("r")).await.map(drop).unwrap_err(),
        acme.ledger.set_switch(switch_off("r")).await.map(drop).unwrap_err(),
    ];
    for refused in refused {
        assert_eq!((refused.code(), &*reason(&refused)), (Code::FailedPrecondition, "REQUEST_CANCELLED"));
    }
    assert_eq!(server.ends(), ends, "no commit was written");

    let set = ann.ledger.set_exchange_rate(rate("rate")).await.unwrap().into_inner().position;
    ann.jackpot.suspend_pool(suspend("pool")).await.unwrap();
    let suspended = server.ledger().books(|books| books.pool(POOL).unwrap().head.position);
    let switched = acme.ledger.set_switch(switch_off("off")).await.unwrap().into_inner().position;
    for (client, operator, id, position) in
        [(&ann, "platform", "rate", set), (&ann, "platform", "pool", suspended), (&acme, "acme", "off", switched)]
    {
        let applied = cancel_of(&mut client.clone(), operator, id).await.unwrap();
        assert_eq!((applied.state(), applied.position), (State::Applied, position), "{id}");
    }

    let foreign = cancel_of(&mut other, "acme", "x").await.unwrap_err();
    assert_eq!((foreign.code(), &*reason(&foreign)), (Code::NotFound, "ACCOUNT_UNKNOWN"));
    let mut player = shown("player").await;
    for refused in [
        cancel_of(&mut player, "acme", "x").await.unwrap_err(),
        outcome_of(&mut player, "acme", "x").await.unwrap_err(),
    ] {
        assert_eq!((refused.code(), &*reason(&refused)), (Code::PermissionDenied, "ROLE_MISSING"));
    }
    let both = CancelRequestRequest {
        account: Some(account("alice", EUR)),
        operator_id: "acme".into(),
        request_id: "x".into(),
    };
    assert_eq!(reason(&acme.ledger.cancel_request(both).await.unwrap_err()), "INVALID_FIELD");
    server.stop().await.unwrap();
    checked(data.path());
}
