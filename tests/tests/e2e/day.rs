use motherlode_ledger::Options;
use motherlode_proto::{
    ledger::v1::{GetPlayerDayRequest, GetPlayerDayResponse, PlayerLimits},
    report::v1::{ListSignificantEventsRequest, SignificantKind},
    round::v1::{Account, Money, Stake},
    spin::v1::{
        AcknowledgeRealityCheckRequest, AutospinRequest, AutospinStop, CloseSessionRequest, OpenSessionRequest,
        OpenSessionResponse, PlayStreamRequest, Played, SessionLimits, SpinRequest, play_stream_request::Call,
        play_stream_response::Answer,
    },
};
use motherlode_runtime::Config;
use motherlode_tests::{Client, EUR, Server, bet, checked, config, reason, start_with};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio_stream::StreamExt;
use tonic::{Code, Status};
use tonic_types::StatusExt;

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

struct Timed {
    config: Config,
    clock: Arc<AtomicI64>,
    ticks: Arc<AtomicI64>,
    server: Option<Server>,
    client: Client,
    alice: Account,
}

impl Timed {
    async fn start(data: &Path, jurisdictions: &str) -> Self {
        let parsed = Config::parse(&format!("[jurisdictions]\n{jurisdictions}")).unwrap();
        let config = Config { jurisdictions: parsed.jurisdictions, ..config(data) };
        let (clock, ticks) = (Arc::new(AtomicI64::new(10 * DAY)), Arc::new(AtomicI64::new(0)));
        let server = serve(&config, &clock, &ticks).await;
        let mut client = Client::connect(server.address()).await;
        let alice = client.fund("alice", EUR, 1_000_000).await;
        Self { config, clock, ticks, server: Some(server), client, alice }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn pass(&self, ms: i64) {
        self.clock.fetch_add(ms, SeqCst);
        self.ticks.fetch_add(ms, SeqCst);
    }

    fn set(&self, by_ms: i64) {
        self.clock.fetch_add(by_ms, SeqCst);
    }

    async fn restart(&mut self) {
        self.server.take().unwrap().stop().await.unwrap();
        let server = serve(&self.config, &self.clock, &self.ticks).await;
        self.client = Client::connect(server.address()).await;
        self.server = Some(server);
    }

    async fn stop(mut self) {
        self.server.take().unwrap().stop().await.unwrap();
        checked(&self.config.data);
    }

    async fn round(&mut self, id: &str, session: &str) -> Result<Played, Status> {
        let played = self.client.play_out(self.neptune(id, session)).await?;
        Ok(played.into_iter().next_back().unwrap())
    }

    fn neptune(&self, id: &str, session: &str) -> SpinRequest {
        let stake = Some(Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: false });
        let session_id = session.to_owned();
        SpinRequest { game: "neptune".into(), stake, witch: 0, session_id, ..bet(id, &self.alice, "0.01") }
    }

    async fn open(
        &mut self,
        id: &str,
        jurisdiction: &str,
        limits: SessionLimits,
    ) -> Result<OpenSessionResponse, Status> {
        let request = OpenSessionRequest {
            request_id: id.into(),
            account: Some(self.alice.clone()),
            game: "neptune".into(),
            jurisdiction: jurisdiction.into(),
            limits: Some(limits),
            ..OpenSessionRequest::default()
        };
        Ok(self.client.spin.open_session(request).await?.into_inner())
    }

    async fn told(&mut self) -> GetPlayerDayResponse {
        let request = GetPlayerDayRequest { account: Some(self.alice.clone()) };
        self.client.ledger.get_player_day(request).await.unwrap().into_inner()
    }

    async fn close(&mut self, session: &str) {
        let request = CloseSessionRequest { session_id: session.to_owned() };
        self.client.spin.close_session(request).await.unwrap();
    }
}

async fn serve(config: &Config, clock: &Arc<AtomicI64>, ticks: &Arc<AtomicI64>) -> Server {
    let (clock, ticks) = (Arc::clone(clock), Arc::clone(ticks));
    let options = Options {
        clock: Arc::new(move || clock.load(SeqCst)),
        ticks: Arc::new(move || ticks.load(SeqCst)),
        ..Options::default()
    };
    start_with(config, motherlode_server::open_stores(config).unwrap(), options).await
}

fn expect<T: std::fmt::Debug>(result: Result<T, Status>, why: &str) -> Status {
    let status = result.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::FailedPrecondition, why), "{status}");
    status
}

fn left(status: &Status) -> Duration {
    status.get_error_details().retry_info().unwrap().retry_delay.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_06_pl_26_neither_a_new_session_nor_a_restart_clears_what_is_due() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "").await;
    let limits = SessionLimits {
        reality_check_ms: Some(600_000),
        session_ms_max: Some(1_800_000),
        loss_max_minor: Some(100),
        ..SessionLimits::default()
    };
    let first = timed.open("o1", "", limits).await.unwrap().session_id;
    let mut net = 0;
    for number in 0..3 {
        net += timed.round(&format!("a{number}"), &first).await.unwrap().win.unwrap().amount_minor - 10;
        timed.pass(3 * MINUTE);
    }
    timed.close(&first).await;
    for attempt in 0..2 {
        let second = timed.open(&format!("p{attempt}"), "", SessionLimits::default()).await.unwrap().session_id;
        timed.pass(MINUTE);
        expect(timed.round(&format!("b{attempt}"), &second).await, "REALITY_CHECK_DUE");
        timed.close(&second).await;
        expect(timed.round(&format!("c{attempt}"), "").await, "REALITY_CHECK_DUE");
        timed.restart().await;
    }
    let third = timed.open("q", "", SessionLimits::default()).await.unwrap().session_id;
    let acknowledgement = AcknowledgeRealityCheckRequest { session_id: third };
    timed.client.spin.acknowledge_reality_check(acknowledgement).await.unwrap();
    timed.restart().await;
    let fourth = timed.open("r", "", SessionLimits::default()).await.unwrap().session_id;
    timed.pass(5 * MINUTE);
    for number in 0..10_000 {
        let round = timed.round(&format!("d{number}"), &fourth).await;
        if 100 + net < 10 {
            let refused = expect(round, "LOSS_LIMIT");
            assert_eq!(refused.get_error_details().error_info().unwrap().metadata["net_minor"], net.to_string());
            break;
        }
        net += round.unwrap().win.unwrap().amount_minor - 10;
    }
    assert!((-100..-90).contains(&net), "{net}");
    timed.pass(15 * MINUTE);
    expect(timed.round("late", &fourth).await, "SESSION_TIME_LIMIT");
    timed.close(&fourth).await;
    timed.pass(DAY);
    timed.round("next", "").await.unwrap();
    timed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_16_pl_26_a_players_day_is_told_with_its_limits_and_sessions() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "").await;
    let told = timed.told().await;
    assert_eq!((told.played_ms, told.unseen_ms, told.act_time), (0, 0, None), "the player has not played yet");
    assert_eq!((told.limits, told.sessions.len()), (Some(PlayerLimits::default()), 0));
    let limits = SessionLimits {
        reality_check_ms: Some(600_000),
        session_ms_max: Some(1_800_000),
        loss_max_minor: Some(500),
        bet_max_minor: Some(70),
    };
    let opened = timed.open("o", "", limits).await.unwrap();
    let mut net = 0;
    for number in 0..2 {
        net += timed.round(&format!("a{number}"), &opened.session_id).await.unwrap().win.unwrap().amount_minor - 10;
        timed.pass(3 * MINUTE);
    }
    let told = timed.told().await;
    // The time since the player's latest action also counts as time played, unless this time is a break.
    assert_eq!((told.played_ms, told.unseen_ms), (6 * 60_000, 6 * 60_000));
    let amount = |money: Option<Money>| money.unwrap().amount_minor;
    assert_eq!(amount(told.net), net);
    let limits = told.limits.unwrap();
    assert_eq!((limits.reality_check_ms, limits.played_ms_max), (Some(600_000), Some(1_800_000)));
    assert_eq!((amount(limits.loss_max), amount(limits.bet_max)), (500, 70));
    let [session] = &told.sessions[..] else { panic!("{:?}", told.sessions) };
    assert_eq!((&session.session_name, session.game.as_str()), (&opened.session_name, "neptune"));
    assert_eq!((session.held_ms, session.open_time.unwrap().seconds), (0, 10 * DAY / 1_000));
    let acknowledgement = AcknowledgeRealityCheckRequest { session_id: opened.session_id.clone() };
    timed.client.spin.acknowledge_reality_check(acknowledgement).await.unwrap();
    timed.close(&opened.session_id).await;
    timed.restart().await;
    let told = timed.told().await;
    assert_eq!((told.played_ms, told.unseen_ms, told.sessions.len()), (6 * 60_000, 0, 0));
    assert_eq!((amount(told.net), amount(told.limits.unwrap().loss_max)), (net, 500));
    timed.pass(DAY);
    let told = timed.told().await;
    assert_eq!((told.played_ms, amount(told.net), told.limits), (0, 0, Some(PlayerLimits::default())));
    let nobody = Account { player_id: "nobody".into(), ..timed.alice.clone() };
    let request = GetPlayerDayRequest { account: Some(nobody) };
    assert_eq!(reason(&timed.client.ledger.get_player_day(request).await.unwrap_err()), "ACCOUNT_UNKNOWN");
    timed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_06_pl_26_a_session_is_as_strict_as_its_operator_and_no_bet_passes_it_by() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "default = 'uk'").await;
    let opened = timed.open("o", "se", SessionLimits::default()).await.unwrap();
    let profile = opened.profile.unwrap();
    assert_eq!((profile.round_ms_min, profile.autoplay, profile.bet_eur_max), (3_000, false, Some(5)));
    assert_eq!(opened.jurisdiction, "se");
    let session = opened.session_id;
    timed.round("a", &session).await.unwrap();
    timed.pass(3_000);
    let witch = SpinRequest { game: "witch-feature".into(), ..timed.neptune("w", "") };
    let stake = Some(Stake { lines: 50, ..witch.stake.clone().unwrap() });
    expect(timed.client.spin(SpinRequest { stake, ..witch }, None).await, "SESSION_IN_USE");
    let unnamed = timed.neptune("b", "");
    expect(timed.client.spin(unnamed.clone(), None).await, "SESSION_IN_USE");
    let calls = [PlayStreamRequest { tag: 1, call: Some(Call::Spin(unnamed.clone())) }];
    let mut answers = timed.client.spin.play_stream(tokio_stream::iter(calls)).await.unwrap().into_inner();
    let Some(Ok(answer)) = answers.next().await else { panic!("an answer") };
    assert!(matches!(answer.answer, Some(Answer::Error(error)) if error.message.contains("live session")));
    let rounds = timed.server().player("alice").rounds_started;
    assert_eq!(rounds, 1, "the refused bets played no round");
    timed.round("c", &session).await.unwrap();
    timed.pass(3_000);
    timed.close(&session).await;
    timed.round("d", "").await.unwrap();
    timed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_06_a_session_that_a_restart_ended_still_needs_another_one_until_it_would_be_idle() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "").await;
    let first = timed.open("o", "", SessionLimits::default()).await.unwrap().session_id;
    timed.round("a", &first).await.unwrap();
    timed.restart().await;
    expect(timed.round("b", "").await, "SESSION_IN_USE");
    let SpinRequest { account, game, stake, .. } = timed.neptune("", "");
    let series = AutospinRequest { request_id: "s".into(), account, game, stake, spins: 2, ..Default::default() };
    let last = timed.client.autospin(series, None).await.unwrap().message().await.unwrap().unwrap();
    assert_eq!(last.stop(), AutospinStop::Refused);
    let second = timed.open("p", "", SessionLimits::default()).await.unwrap().session_id;
    timed.round("c", &second).await.unwrap();
    timed.pass(30 * MINUTE);
    timed.round("d", "").await.expect("a bet without a session is accepted after the idle session has ended");
    timed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_06_pl_26_the_seconds_a_round_are_the_players_whatever_the_money() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "default = 'uk'").await;
    let open = OpenSessionRequest {
        request_id: "demo".into(),
        account: Some(Account { currency_code: "XTS".into(), ..timed.alice.clone() }),
        game: "neptune".into(),
        mode: motherlode_proto::spin::v1::PlayMode::Demo.into(),
        ..OpenSessionRequest::default()
    };
    let session_id = timed.client.spin.open_session(open).await.unwrap().into_inner().session_id;
    let account = Some(Account { currency_code: "XTS".into(), ..timed.alice.clone() });
    let demo = SpinRequest { account, ..timed.neptune("demo", &session_id) };
    timed.client.play_out(demo).await.unwrap();
    assert_eq!(left(&expect(timed.round("a", "").await, "ROUND_TOO_SOON")), Duration::from_millis(2_500));
    timed.pass(2_500);
    timed.round("a", "").await.unwrap();
    timed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_07_pl_22_a_clock_that_was_a_day_ahead_keeps_nobody_waiting_and_is_told() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "default = 'uk'").await;
    timed.round("a", "").await.unwrap();
    for (number, by) in [DAY, -DAY, 1_000, -1_000].into_iter().enumerate() {
        timed.set(by);
        let id = format!("b{number}");
        assert_eq!(left(&expect(timed.round(&id, "").await, "ROUND_TOO_SOON")), Duration::from_millis(2_500), "{by}");
        timed.pass(2_499);
        assert_eq!(left(&expect(timed.round(&id, "").await, "ROUND_TOO_SOON")), Duration::from_millis(1));
        timed.pass(1);
        timed.round(&id, "").await.unwrap();
    }
    timed.server().self_check().clock().await;
    timed.restart().await;
    let too_soon = timed.round("c", "").await;
    let wait = left(&expect(too_soon, "ROUND_TOO_SOON"));
    assert!(wait <= Duration::from_millis(2_500), "{wait:?}");
    timed.pass(2_500);
    timed.round("c", "").await.unwrap();
    let session = timed.open("o", "", SessionLimits::default()).await.unwrap().session_id;
    timed.pass(2_500);
    timed.round("d", &session).await.unwrap();
    timed.server().self_check().clock().await;
    let kinds = vec![i32::from(SignificantKind::ClockSkewed)];
    let request = ListSignificantEventsRequest { kinds, page_size: 10, ..Default::default() };
    let events = timed.client.report.list_significant_events(request).await.unwrap().into_inner().events;
    assert!(events.iter().all(|event| (event.subject.as_str(), event.reason.as_str()) == ("clock", "CLOCK_SKEW")));
    assert_eq!(events.last().unwrap().after, format!("set by {DAY} ms"), "{events:?}");
    assert!(events[0].after.starts_with("set by -"), "{events:?}");
    timed.stop().await;
}
