use motherlode_proto::{
    ledger::v1::{
        DepositRequest, GetRoundRequest, ListCollectionsRequest, ListExchangeRatesRequest, ListRoundsRequest,
        OpenAccountRequest, SetExchangeRateRequest, WithdrawRequest,
    },
    report::v1::ListSignificantEventsRequest,
    round::v1::{Account, RoundState},
    spin::v1::{AutospinRequest, CloseSessionRequest, OpenSessionRequest, OpenSessionResponse, PlayMode, SpinRequest},
};
use motherlode_slots::{latest, latest_games};
use motherlode_state::{Account as Books, CoinValue, Currency, StreamId};
use motherlode_tests::{
    Client, EUR, account, campaign, checked, config, play, reason, smallest, stake_on, start, start_on,
};
use tokio_stream::StreamExt;
use tonic::{Code, Status};

const GIVEN: i64 = 100_000;

fn demo_of(player: &str) -> Account {
    account(player, "XTS")
}

async fn open(
    client: &mut Client,
    request_id: &str,
    account: &Account,
    game: &str,
) -> Result<OpenSessionResponse, Status> {
    let request = OpenSessionRequest {
        request_id: request_id.to_owned(),
        account: Some(account.clone()),
        game: game.to_owned(),
        mode: if account.currency_code == "XTS" { PlayMode::Demo } else { PlayMode::Real }.into(),
        ..Default::default()
    };
    Ok(client.spin.open_session(request).await?.into_inner())
}

async fn close(client: &mut Client, session_id: &str) {
    client.spin.close_session(CloseSessionRequest { session_id: session_id.to_owned() }).await.unwrap();
}

fn refused(status: &Status) -> (Code, String) {
    (status.code(), reason(status))
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_17_demo_play_has_its_own_books_and_leaves_real_money_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let (real, demo) = (client.fund("dan", EUR, 50_000_000).await, demo_of("dan"));
    let mut expected = GIVEN;
    for (turn, game) in latest_games().iter().copied().enumerate() {
        let session_id = open(&mut client, game.name(), &demo, game.name()).await.unwrap().session_id;
        if turn > 0 {
            expected = expected.max(GIVEN);
        }
        assert_eq!(client.balance(&demo).await, expected);
        for number in 0..40 {
            let bet = stake_on(game, &format!("{}-{number}", game.name()), &demo, smallest(game));
            let bet = SpinRequest { session_id: session_id.clone(), ..bet };
            let steps = play(&mut client, game, bet, number).await;
            let last = steps.last().unwrap();
            assert!(steps.iter().all(|step| step.jackpot.is_none()));
            expected += last.win.as_ref().unwrap().amount_minor - last.bet.as_ref().unwrap().amount_minor;
            assert_eq!(client.balance(&demo).await, expected);
            let request = GetRoundRequest { round_id: last.round_id.clone() };
            let shown = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
            assert_eq!((shown.contribution_eur.as_str(), shown.exchange_rate.as_str()), ("", ""));
            assert_eq!(shown.account.unwrap(), demo);
        }
        close(&mut client, &session_id).await;
    }
    assert_eq!(client.balance(&real).await, 50_000_000);
    for account in
        [Books::House("acme"), Books::ContributionsDue("bewitched"), Books::Increments("bewitched"), Books::Exchange]
    {
        assert_eq!(server.holding(account, Currency::EUR), 0, "{account}");
    }
    assert_eq!(server.holding(Books::Exchange, Currency::PLAY), 0);
    let history = ListRoundsRequest { account: Some(real.clone()), ..Default::default() };
    assert!(client.ledger.list_rounds(history).await.unwrap().into_inner().rounds.is_empty());
    let request = ListCollectionsRequest { account: Some(real), game: String::new() };
    let collections = client.ledger.list_collections(request).await.unwrap().into_inner().collections;
    assert!(collections.iter().any(|of| of.scope.starts_with("XTS")));
    assert!(collections.iter().all(|of| of.scope.is_empty() || of.scope.starts_with("XTS")), "{collections:?}");
    server.stop().await.unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.balance(&demo).await, expected);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_17_demo_play_has_the_same_odds() {
    let mut outcomes = vec![];
    for currency in ["XTS", EUR] {
        let data = tempfile::tempdir().unwrap();
        let server = start(data.path()).await;
        let mut client = Client::connect(server.address()).await;
        let dan = account("dan", currency);
        if currency == EUR {
            client.fund("dan", EUR, GIVEN).await;
        }
        let session = open(&mut client, "open", &dan, "neptune").await.unwrap();
        let game = latest("neptune").unwrap();
        let mut all = vec![];
        for number in 0..50 {
            let bet = stake_on(game, &format!("n{number}"), &dan, smallest(game));
            let bet = SpinRequest { session_id: session.session_id.clone(), ..bet };
            let steps = play(&mut client, game, bet, number).await;
            all.extend(steps.into_iter().map(|step| step.outcome.unwrap()));
        }
        outcomes.push(all);
        server.stop().await.unwrap();
    }
    assert_eq!(outcomes[0], outcomes[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_17_a_demo_session_fills_the_account_once_a_request() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.demo.balance_minor = 500;
    let store = || motherlode_server::open_stores(&config).unwrap();
    let server = start_on(&config, store()).await;
    let mut client = Client::connect(server.address()).await;
    let dan = demo_of("dan");
    let dans = StreamId::player("acme", "dan").partition(config.partitions) as usize;
    let game = latest("neptune").unwrap();
    let first = open(&mut client, "first", &dan, "neptune").await.unwrap();
    assert_eq!(client.balance(&dan).await, 500);
    let lose = |id: &str| stake_on(game, id, &dan, CoinValue(100_000));
    let mut bets = 0;
    while client.balance(&dan).await >= 150 {
        play(&mut client, game, lose(&format!("b{bets}")), 3).await;
        bets += 1;
    }
    let left = client.balance(&dan).await;
    let broke = client.spin(lose("broke"), None).await.unwrap_err();
    assert_eq!(refused(&broke), (Code::FailedPrecondition, "INSUFFICIENT_FUNDS".into()));
    let position = server.ends();
    assert_eq!(open(&mut client, "first", &dan, "neptune").await.unwrap().session_id, first.session_id);
    assert_eq!(server.ends(), position);
    server.stop().await.unwrap();
    let server = start_on(&config, store()).await;
    let mut client = Client::connect(server.address()).await;
    let again = open(&mut client, "first", &dan, "neptune").await.unwrap();
    let mut opened = position;
    opened[dans] += 1;
    assert_eq!(
        (client.balance(&dan).await, server.ends()),
        (left, opened),
        "only the opening of the account is logged"
    );
    let in_use = open(&mut client, "second", &dan, "neptune").await.unwrap_err();
    assert_eq!((reason(&in_use).as_str(), client.balance(&dan).await), ("SESSION_IN_USE", left));
    close(&mut client, &again.session_id).await;
    open(&mut client, "second", &dan, "neptune").await.unwrap();
    assert_eq!(client.balance(&dan).await, 500);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_17_no_call_mixes_money_and_play_money() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let (real, demo) = (client.fund("dan", EUR, 1_000_000).await, demo_of("dan"));
    let session_id = open(&mut client, "demo", &demo, "neptune").await.unwrap().session_id;
    let position = server.ends();
    let id = || "x".to_owned();
    let to = || Some(demo.clone());
    let opened = client.ledger.open_account(OpenAccountRequest { request_id: id(), account: to() }).await;
    let paid_in = DepositRequest { request_id: id(), account: to(), amount_minor: 1 };
    let paid_in = client.ledger.deposit(paid_in).await;
    let paid_out = WithdrawRequest { request_id: id(), account: to(), amount_minor: 1 };
    let paid_out = client.ledger.withdraw(paid_out).await;
    let neptune = latest("neptune").unwrap();
    let granted = client.spin.grant_campaign(campaign(neptune, "spring", &demo, 1)).await;
    let rate = SetExchangeRateRequest {
        request_id: id(),
        currency_code: "XTS".into(),
        eur_per_unit: "1".into(),
        source: "test".into(),
    };
    let rated = client.ledger.set_exchange_rate(rate).await;
    let mode = |mode: PlayMode, account: &Account| OpenSessionRequest {
        request_id: id(),
        account: Some(account.clone()),
        game: "bewitched".into(),
        mode: mode.into(),
        ..Default::default()
    };
    let no_demo = client.spin.open_session(mode(PlayMode::Real, &demo)).await;
    let unsaid = client.spin.open_session(mode(PlayMode::Unspecified, &demo)).await;
    let no_real = client.spin.open_session(mode(PlayMode::Demo, &real)).await;
    let refusals = [
        opened.err(),
        paid_in.err(),
        paid_out.err(),
        granted.err(),
        rated.err(),
        no_demo.err(),
        unsaid.err(),
        no_real.err(),
    ];
    for status in refusals {
        assert_eq!(refused(&status.unwrap()), (Code::InvalidArgument, "INVALID_FIELD".into()));
    }
    let crossed = SpinRequest { session_id, ..stake_on(neptune, "x", &real, smallest(neptune)) };
    let crossed = client.spin(crossed, None).await.unwrap_err();
    assert_eq!(refused(&crossed), (Code::InvalidArgument, "SESSION_MISMATCH".into()));
    assert_eq!(server.ends(), position, "no commit was written");
    let rates = client.ledger.list_exchange_rates(ListExchangeRatesRequest {}).await.unwrap().into_inner().rates;
    assert!(rates.iter().all(|rate| rate.currency_code != "XTS"));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_17_demo_and_real_rounds_of_a_game_are_open_side_by_side() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.report.large_win_eur = 0;
    let server = start_on(&config, motherlode_server::open_stores(&config).unwrap()).await;
    let mut client = Client::connect(server.address()).await;
    let (real, demo) = (client.fund("dan", EUR, 100_000_000).await, demo_of("dan"));
    let elves = latest("mystery-elves").unwrap();
    let in_demo = open(&mut client, "demo", &demo, elves.name()).await.unwrap().session_id;
    let in_real = open(&mut client, "real", &real, elves.name()).await.unwrap().session_id;
    let mut rounds = vec![];
    for (id, account, session_id) in [("d", &demo, in_demo), ("r", &real, in_real)] {
        let mut bought = SpinRequest { session_id, ..stake_on(elves, id, account, smallest(elves)) };
        bought.stake.as_mut().unwrap().buy_feature = true;
        let spun = client.spin(bought.clone(), None).await.unwrap();
        assert_eq!(spun.state(), RoundState::Open);
        let second = SpinRequest { request_id: format!("{id}2"), ..bought };
        let second = client.spin(second, None).await.unwrap_err();
        assert_eq!(reason(&second), "ROUND_IN_PROGRESS");
        rounds.push(spun);
    }
    for (number, open) in rounds.iter().enumerate() {
        let mut last = open.clone();
        for step in 1.. {
            let Some(choice) = motherlode_tests::next_choice(&last) else { break };
            last = client.choose(&format!("go-{number}-{step}"), &open.round_id, choice, None).await.unwrap();
        }
        assert_eq!(last.state(), RoundState::Settled);
    }
    let neptune = latest("neptune").unwrap();
    let SpinRequest { account, game, stake, .. } = stake_on(neptune, "", &demo, smallest(neptune));
    let series = AutospinRequest { request_id: "series".into(), account, game, stake, spins: 20, ..Default::default() };
    let mut answers = client.autospin(series, None).await.unwrap();
    let mut number = 0;
    while let Some(answer) = answers.next().await {
        let Some(played) = answer.unwrap().played else { continue };
        number += 1;
        let mut last = played.clone();
        for step in 1.. {
            let Some(choice) = motherlode_tests::next_choice(&last) else { break };
            last = client.choose(&format!("auto-{number}-{step}"), &played.round_id, choice, None).await.unwrap();
        }
    }
    assert_eq!(number, 20);
    let request = ListSignificantEventsRequest { page_size: 100, ..Default::default() };
    let events = client.report.list_significant_events(request).await.unwrap().into_inner().events;
    let of_rounds: Vec<_> = events.iter().filter(|event| event.subject.starts_with("acme/dan/")).collect();
    assert!(of_rounds.iter().all(|event| event.subject == rounds[1].round_id), "{of_rounds:?}");
    assert!(server.player("dan").open_rounds().next().is_none());
    server.stop().await.unwrap();
    checked(data.path());
}
