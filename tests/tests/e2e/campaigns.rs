use motherlode_ledger::Options;
use motherlode_proto::{
    ledger::v1::{GetRoundRequest, ListCollectionsRequest, ListRoundsRequest, VoidRoundRequest, VoidRoundResponse},
    round::v1::{Account, Money, Round, RoundState, Stake},
    spin::v1::{
        AutospinRequest, AutospinStop, Campaign, CampaignState, CancelCampaignRequest, GrantCampaignRequest,
        ListCampaignsRequest, OpenSessionRequest, PlayStreamRequest, Played, SessionLimits, SpinRequest,
        play_stream_request::Call, play_stream_response::Answer,
    },
};
use motherlode_server::open_stores;
use motherlode_slots::{Game, latest, latest_games};
use motherlode_state::{Account as Books, Currency};
use motherlode_tests::Server;
use motherlode_tests::{
    Client, EUR, Force, account, campaign, checked, config, free_round, next_choice, play, reason, replayed, seamless,
    start, start_with,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};
use tokio_stream::StreamExt;
use tonic::{Code, Status};

const HOUR: i64 = 3_600_000;

fn neptune() -> &'static dyn Game {
    latest("neptune").unwrap()
}

fn minor(money: Option<&Money>) -> i64 {
    money.unwrap().amount_minor
}

async fn join(client: &mut Client, name: &str) -> Account {
    let account = account(name, EUR);
    let request_id = "open".to_owned();
    let open = motherlode_proto::ledger::v1::OpenAccountRequest { request_id, account: Some(account.clone()) };
    client.ledger.open_account(open).await.unwrap();
    account
}

async fn grant(client: &mut Client, request: GrantCampaignRequest) -> Result<Campaign, Status> {
    Ok(client.spin.grant_campaign(request).await?.into_inner().campaign.unwrap())
}

async fn listed(client: &mut Client, account: &Account) -> Vec<Campaign> {
    let request = ListCampaignsRequest { account: Some(account.clone()), ..Default::default() };
    client.spin.list_campaigns(request).await.unwrap().into_inner().campaigns
}

async fn standing(client: &mut Client, account: &Account) -> (CampaignState, u32) {
    let campaigns = listed(client, account).await;
    assert_eq!(campaigns.len(), 1);
    (campaigns[0].state(), campaigns[0].rounds_left)
}

async fn cancel(client: &mut Client, account: &Account, request_id: &str, campaign_id: &str) -> Result<u64, Status> {
    let request = CancelCampaignRequest {
        request_id: request_id.to_owned(),
        account: Some(account.clone()),
        campaign_id: campaign_id.to_owned(),
        reason: "a typo".to_owned(),
        actor: "ann".to_owned(),
    };
    Ok(client.spin.cancel_campaign(request).await?.into_inner().position)
}

async fn void(client: &mut Client, round_id: &str) -> VoidRoundResponse {
    let (request_id, reason) = (format!("void-{}", round_id.replace('/', "-")), "reel 3 stuck".to_owned());
    let request = VoidRoundRequest { request_id, round_id: round_id.to_owned(), reason, actor: "ann".to_owned() };
    client.ledger.void_round(request).await.unwrap().into_inner()
}

async fn round(client: &mut Client, round_id: &str) -> Round {
    let request = GetRoundRequest { round_id: round_id.to_owned() };
    client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap()
}

fn pooled(server: &Server) -> i128 {
    server.collected("bewitched") + server.holding(Books::Reserve("bewitched"), Currency::EUR)
}

fn refused(status: &Status) -> (Code, String) {
    (status.code(), reason(status))
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_free_rounds_of_every_game_cost_nothing_and_pay_real_money() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let fred = join(&mut client, "fred").await;
    let mut balance = 0;
    let mut promoted = 0;
    for game in latest_games().iter().copied() {
        let granted = grant(&mut client, campaign(game, game.name(), &fred, 30)).await.unwrap();
        assert_eq!((granted.rounds, granted.rounds_left, granted.state()), (30, 30, CampaignState::Active));
        let bet = minor(granted.bet.as_ref());
        for number in 0..30 {
            let id = format!("{}-{number}", game.name());
            let steps = play(&mut client, game, free_round(game, &id, &fred, game.name()), number).await;
            for step in &steps {
                assert_eq!((step.campaign_id.as_str(), minor(step.bet.as_ref())), (game.name(), bet));
                assert!(step.jackpot.is_none());
            }
            let last = steps.last().unwrap();
            let won = minor(last.win.as_ref());
            assert_eq!(minor(last.balance.as_ref()), balance + won, "{id}");
            let shown = round(&mut client, &last.round_id).await;
            assert_eq!((shown.campaign_id.as_str(), shown.contribution_eur.as_str()), (game.name(), ""));
            assert_eq!(minor(shown.balance_before.as_ref()), balance);
            balance += won;
            promoted += i128::from(bet);
        }
        let over = client.spin(free_round(game, "one-more", &fred, game.name()), None).await.unwrap_err();
        assert_eq!(refused(&over), (Code::FailedPrecondition, "CAMPAIGN_USED_UP".into()));
    }
    assert_eq!(client.balance(&fred).await, balance);
    assert!(balance > 0, "at least one of 150 rounds wins");
    assert_eq!(pooled(&server), 0);
    assert_eq!(server.holding(Books::Promotion("acme"), Currency::EUR), -promoted * 10_000_000);
    let house = server.holding(Books::House("acme"), Currency::EUR);
    assert_eq!(house, (promoted - i128::from(balance)) * 10_000_000);
    let request = ListCollectionsRequest { account: Some(fred.clone()), game: "dwarf-mine".into() };
    let collections = client.ledger.list_collections(request).await.unwrap().into_inner().collections;
    assert!(
        !collections.is_empty(),
        "the player has the crystals given at the first play (DM-14) and collected crystals"
    );
    server.stop().await.unwrap();

    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    for campaign in listed(&mut client, &fred).await {
        assert_eq!((campaign.state(), campaign.rounds_left), (CampaignState::UsedUp, 0));
    }
    server.stop().await.unwrap();
    checked(data.path());
    let replayed = replayed(data.path(), "fred", 1);
    assert!(replayed.matches() && replayed.view.started.campaign.is_some());
    assert_eq!(replayed.view.balance_before.0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_requests_about_campaigns_have_one_effect_and_one_answer() {
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let fred = join(&mut client, "fred").await;
    let request = campaign(neptune(), "spring", &fred, 1);
    let granted = grant(&mut client, request.clone()).await.unwrap();
    grant(&mut client, campaign(neptune(), "autumn", &fred, 1)).await.unwrap();
    let taken_back = cancel(&mut client, &fred, "back", "autumn").await.unwrap();
    let bet = free_round(neptune(), "spin", &fred, "spring");
    let played = client.spin(bet.clone(), None).await.unwrap();
    seamless::settled(&fred).await;
    for _ in 0..2 {
        let position = server.ends();
        assert_eq!(grant(&mut client, request.clone()).await.unwrap(), granted);
        assert_eq!(client.spin(bet.clone(), None).await.unwrap(), played);
        assert_eq!(cancel(&mut client, &fred, "back", "autumn").await.unwrap(), taken_back);
        let other = GrantCampaignRequest { rounds: 2, ..request.clone() };
        let reused = grant(&mut client, other).await.unwrap_err();
        assert_eq!(refused(&reused), (Code::AlreadyExists, "REQUEST_ID_REUSED".into()));
        let again = GrantCampaignRequest { request_id: "again".into(), ..request.clone() };
        let exists = grant(&mut client, again).await.unwrap_err();
        assert_eq!(refused(&exists), (Code::AlreadyExists, "CAMPAIGN_EXISTS".into()));
        let twice = cancel(&mut client, &fred, "twice", "autumn").await.unwrap_err();
        assert_eq!(refused(&twice), (Code::FailedPrecondition, "CAMPAIGN_CANCELLED".into()));
        assert_eq!(server.ends(), position, "no commit was written");
        server.stop().await.unwrap();
        server = start(data.path()).await;
        client = Client::connect(server.address()).await;
    }
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_what_no_campaign_can_be_is_refused_and_nothing_is_logged() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let fred = join(&mut client, "fred").await;
    let elves = latest("mystery-elves").unwrap();
    grant(&mut client, campaign(elves, "elves", &fred, 3)).await.unwrap();
    let position = server.ends();

    let good = campaign(elves, "good", &fred, 1);
    let stake = good.stake.clone().unwrap();
    let staked = |stake: Stake| GrantCampaignRequest { stake: Some(stake), ..good.clone() };
    let at = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
    let grants = [
        (GrantCampaignRequest { campaign_id: "a b".into(), ..good.clone() }, "INVALID_FIELD"),
        (GrantCampaignRequest { rounds: 0, ..good.clone() }, "INVALID_FIELD"),
        (GrantCampaignRequest { rounds: 10_001, ..good.clone() }, "INVALID_FIELD"),
        (GrantCampaignRequest { stake: None, ..good.clone() }, "INVALID_FIELD"),
        (GrantCampaignRequest { expire_time: None, ..good.clone() }, "INVALID_FIELD"),
        (GrantCampaignRequest { expire_time: at(i64::MAX), ..good.clone() }, "INVALID_FIELD"),
        (GrantCampaignRequest { expire_time: at(1), ..good.clone() }, "INVALID_CAMPAIGN"),
        (staked(Stake { buy_feature: true, ..stake.clone() }), "INVALID_STAKE"),
        (staked(Stake { lines: 99, ..stake.clone() }), "INVALID_STAKE"),
        (staked(Stake { coin_value: "0.03".into(), ..stake }), "INVALID_STAKE"),
    ];
    for (request, why) in grants {
        let status = grant(&mut client, request).await.unwrap_err();
        assert_eq!(refused(&status), (Code::InvalidArgument, why.into()));
    }
    let unknown = grant(&mut client, GrantCampaignRequest { game: "none".into(), ..good.clone() }).await.unwrap_err();
    assert_eq!(refused(&unknown), (Code::NotFound, "GAME_UNKNOWN".into()));
    let nobody = GrantCampaignRequest { account: Some(account("nobody", EUR)), ..good };
    let nobody = grant(&mut client, nobody).await.unwrap_err();
    assert_eq!(refused(&nobody), (Code::NotFound, "ACCOUNT_UNKNOWN".into()));

    let free = free_round(elves, "free", &fred, "elves");
    let bets = [
        (SpinRequest { campaign_id: "none".into(), ..free.clone() }, Code::NotFound, "CAMPAIGN_UNKNOWN"),
        (SpinRequest { campaign_id: "a b".into(), ..free.clone() }, Code::InvalidArgument, "INVALID_FIELD"),
        (SpinRequest { stake: Some(Stake::default()), ..free.clone() }, Code::InvalidArgument, "INVALID_FIELD"),
        (
            SpinRequest { game: "neptune".into(), offer_double: false, ..free.clone() },
            Code::InvalidArgument,
            "CAMPAIGN_MISMATCH",
        ),
        (
            SpinRequest { account: Some(account("fred", "SEK")), ..free.clone() },
            Code::InvalidArgument,
            "CAMPAIGN_MISMATCH",
        ),
        (SpinRequest { account: Some(account("nobody", EUR)), ..free }, Code::NotFound, "ACCOUNT_UNKNOWN"),
    ];
    for (bet, code, why) in bets {
        let status = client.spin(bet, None).await.unwrap_err();
        assert_eq!(refused(&status), (code, why.into()));
    }
    let unknown = cancel(&mut client, &fred, "cancel", "none").await.unwrap_err();
    assert_eq!(refused(&unknown), (Code::NotFound, "CAMPAIGN_UNKNOWN".into()));
    assert_eq!(server.ends(), position, "no commit was written");
    assert_eq!(standing(&mut client, &fred).await, (CampaignState::Active, 3));
    server.stop().await.unwrap();
}

async fn timed(data: &Path, clock: &Arc<AtomicI64>) -> (Server, Client) {
    let time = Arc::clone(clock);
    let options = Options::on_clock(move || time.load(Ordering::SeqCst));
    let config = config(data);
    let server = start_with(&config, open_stores(&config).unwrap(), options).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_a_campaign_expires_and_a_round_begun_before_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(1_000_000));
    let (server, mut client) = timed(data.path(), &clock).await;
    let fred = join(&mut client, "fred").await;
    let expires = 1_000_000 + HOUR;
    let expire_time = Some(prost_types::Timestamp { seconds: expires / 1000, nanos: 0 });
    let request = GrantCampaignRequest { expire_time, ..campaign(neptune(), "spring", &fred, 1_000) };
    grant(&mut client, request.clone()).await.unwrap();
    clock.store(expires - 1, Ordering::SeqCst);
    let mut spins: Vec<Played> = vec![];
    let open = loop {
        let bet = free_round(neptune(), &format!("f{}", spins.len()), &fred, "spring");
        let spun = client.spin(bet, (!spins.is_empty()).then_some(Force::Open)).await.unwrap();
        if spun.state() == RoundState::Open {
            break spun;
        }
        spins.push(spun);
    };
    clock.store(expires, Ordering::SeqCst);
    server.stop().await.unwrap();
    let (server, mut client) = timed(data.path(), &clock).await;
    let mut last = open.clone();
    for step in 1.. {
        let Some(choice) = next_choice(&last) else { break };
        last = client.choose(&format!("go-{step}"), &open.round_id, choice, None).await.unwrap();
    }
    assert_eq!((last.state(), last.campaign_id.as_str()), (RoundState::Settled, "spring"));
    let bet = free_round(neptune(), "late", &fred, "spring");
    let late = client.spin(bet, None).await.unwrap_err();
    assert_eq!(refused(&late), (Code::FailedPrecondition, "CAMPAIGN_EXPIRED".into()));
    let left = 1_000 - u32::try_from(spins.len()).unwrap() - 1;
    assert_eq!(standing(&mut client, &fred).await, (CampaignState::Expired, left));
    let first = free_round(neptune(), "f0", &fred, "spring");
    assert_eq!(client.spin(first, None).await.unwrap().position, spins.first().unwrap_or(&open).position);
    assert_eq!(grant(&mut client, request).await.unwrap().state(), CampaignState::Active);
    void(&mut client, &open.round_id).await;
    assert_eq!(standing(&mut client, &fred).await, (CampaignState::Expired, left + 1));
    let again = client.spin(free_round(neptune(), "again", &fred, "spring"), None).await.unwrap_err();
    assert_eq!(refused(&again), (Code::FailedPrecondition, "CAMPAIGN_EXPIRED".into()));
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_a_campaign_is_taken_back_only_before_its_first_round() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let fred = join(&mut client, "fred").await;
    grant(&mut client, campaign(neptune(), "a", &fred, 2)).await.unwrap();
    grant(&mut client, campaign(neptune(), "b", &fred, 2)).await.unwrap();
    cancel(&mut client, &fred, "cancel-a", "a").await.unwrap();
    let gone = client.spin(free_round(neptune(), "a1", &fred, "a"), None).await.unwrap_err();
    assert_eq!(refused(&gone), (Code::FailedPrecondition, "CAMPAIGN_CANCELLED".into()));
    let played = play(&mut client, neptune(), free_round(neptune(), "b1", &fred, "b"), 0).await;
    let begun = cancel(&mut client, &fred, "cancel-b", "b").await.unwrap_err();
    assert_eq!(refused(&begun), (Code::FailedPrecondition, "CAMPAIGN_BEGUN".into()));
    void(&mut client, &played[0].round_id).await;
    let begun = cancel(&mut client, &fred, "cancel-b", "b").await.unwrap_err();
    assert_eq!(reason(&begun), "CAMPAIGN_BEGUN");
    let states: Vec<_> = listed(&mut client, &fred).await.iter().map(|it| (it.state(), it.rounds_left)).collect();
    assert_eq!(states, [(CampaignState::Cancelled, 2), (CampaignState::Active, 2)]);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_campaigns_are_listed_by_page() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let fred = join(&mut client, "fred").await;
    let kronor = client.fund("fred", "SEK", 1).await;
    grant(&mut client, campaign(neptune(), "sek", &kronor, 1)).await.unwrap();
    for number in 0..5 {
        grant(&mut client, campaign(neptune(), &format!("c{number}"), &fred, 1)).await.unwrap();
    }
    let (mut names, mut page_token) = (vec![], String::new());
    for number in 5.. {
        let request =
            ListCampaignsRequest { account: Some(fred.clone()), page_size: 2, page_token, ..Default::default() };
        let page = client.spin.list_campaigns(request).await.unwrap().into_inner();
        names.extend(page.campaigns.into_iter().map(|campaign| campaign.campaign_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
        if number < 7 {
            grant(&mut client, campaign(neptune(), &format!("c{number}"), &fred, 1)).await.unwrap();
        }
    }
    assert_eq!(names, ["c0", "c1", "c2", "c3", "c4", "c5", "c6"]);
    let bad = ListCampaignsRequest { account: Some(fred), page_size: -1, page_token: "x".into(), ..Default::default() };
    let bad = client.spin.list_campaigns(bad).await.unwrap_err();
    assert_eq!(refused(&bad), (Code::InvalidArgument, "INVALID_FIELD".into()));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_a_voided_free_round_is_played_again() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    for game in latest_games().iter().copied() {
        let fred = join(&mut client, game.name()).await;
        grant(&mut client, campaign(game, "spring", &fred, 20)).await.unwrap();
        let mut rounds = vec![];
        for number in 0..20 {
            let steps = play(&mut client, game, free_round(game, &format!("f{number}"), &fred, "spring"), number).await;
            rounds.push((steps[0].round_id.clone(), minor(steps.last().unwrap().win.as_ref())));
        }
        assert_eq!(standing(&mut client, &fred).await, (CampaignState::UsedUp, 0));
        let mut balance = client.balance(&fred).await;
        for (round_id, won) in rounds.iter().rev() {
            let voided = void(&mut client, round_id).await;
            balance -= won;
            assert_eq!((minor(voided.refund.as_ref()), minor(voided.win_taken_back.as_ref())), (0, *won));
            assert_eq!(minor(voided.balance.as_ref()), balance);
            let shown = round(&mut client, round_id).await;
            assert_eq!((shown.state(), shown.campaign_id.as_str()), (RoundState::Voided, "spring"));
        }
        assert_eq!((balance, standing(&mut client, &fred).await), (0, (CampaignState::Active, 20)));
        let request = ListCollectionsRequest { account: Some(fred.clone()), game: game.name().into() };
        let collections = client.ledger.list_collections(request).await.unwrap().into_inner().collections;
        assert!(collections.iter().all(|of| of.scope.is_empty()), "the void left a collection: {collections:?}");
        play(&mut client, game, free_round(game, "again", &fred, "spring"), 0).await;
        assert_eq!(standing(&mut client, &fred).await, (CampaignState::Active, 19));
    }
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_18_free_rounds_are_played_every_way_and_never_one_too_many() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let fred = join(&mut client, "fred").await;
    grant(&mut client, campaign(neptune(), "spring", &fred, 5)).await.unwrap();
    let open = OpenSessionRequest {
        request_id: "session".into(),
        account: Some(fred.clone()),
        game: "neptune".into(),
        limits: Some(SessionLimits { loss_max_minor: Some(1), ..Default::default() }),
        ..Default::default()
    };
    let session_id = client.spin.open_session(open).await.unwrap().into_inner().session_id;
    let mut left = 5;
    let spin = SpinRequest { session_id: session_id.clone(), ..free_round(neptune(), "in-session", &fred, "spring") };
    let steps = client.play_out(spin).await.unwrap();
    assert!(!round(&mut client, &steps[0].round_id).await.session_name.is_empty());
    left -= 1;
    assert_eq!(standing(&mut client, &fred).await, (CampaignState::Active, left));

    let calls: Vec<_> = (0..40)
        .map(|tag| {
            let session_id = session_id.clone();
            let spin = SpinRequest { session_id, ..free_round(neptune(), &format!("s{tag}"), &fred, "spring") };
            PlayStreamRequest { tag, call: Some(Call::Spin(spin)) }
        })
        .collect();
    let answers = client.spin.play_stream(tokio_stream::iter(calls)).await.unwrap().into_inner();
    let answers: Vec<_> = answers.collect::<Result<Vec<_>, _>>().await.unwrap();
    let taken = answers.iter().filter_map(|answer| match answer.answer.as_ref().unwrap() {
        Answer::Played(played) => Some(played.clone()),
        Answer::Error(_) => None,
    });
    let taken: Vec<_> = taken.collect();
    assert_eq!(answers.len(), 40);
    left -= u32::try_from(taken.len()).unwrap();
    assert_eq!(standing(&mut client, &fred).await.1, left);
    for (number, open) in taken.iter().filter(|played| played.state() == RoundState::Open).enumerate() {
        let mut last = (**open).clone();
        for step in 1.. {
            let Some(choice) = next_choice(&last) else { break };
            last = client.choose(&format!("go-{number}-{step}"), &open.round_id, choice, None).await.unwrap();
        }
    }

    grant(&mut client, campaign(neptune(), "autumn", &fred, 3)).await.unwrap();
    let series = AutospinRequest {
        request_id: "series".into(),
        account: Some(fred.clone()),
        game: "neptune".into(),
        spins: 10,
        loss_limit_minor: Some(0),
        campaign_id: "autumn".into(),
        session_id,
        ..Default::default()
    };
    let mut stream = client.autospin(series, None).await.unwrap();
    let (mut spun, mut end) = (0, None);
    while let Some(answer) = stream.next().await {
        let answer = answer.unwrap();
        if let Some(played) = &answer.played {
            spun += 1;
            assert_eq!(played.campaign_id, "autumn");
            let mut last = played.clone();
            for step in 1.. {
                let Some(choice) = next_choice(&last) else { break };
                let id = format!("auto-{spun}-{step}");
                last = client.choose(&id, &played.round_id, choice, None).await.unwrap();
            }
        }
        end = Some(answer);
    }
    let end = end.unwrap();
    assert_eq!((spun, end.stop(), minor(end.total_bet.as_ref())), (3, AutospinStop::Refused, 0));
    assert!(end.refusal.unwrap().message.contains("used up"));
    let history = ListRoundsRequest { account: Some(fred), page_size: 3, ..Default::default() };
    let history = client.ledger.list_rounds(history).await.unwrap().into_inner().rounds;
    assert!(history.iter().all(|round| round.campaign_id == "autumn"));
    server.stop().await.unwrap();
    checked(data.path());
}
