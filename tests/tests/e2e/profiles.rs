use motherlode_ledger::Options;
use motherlode_proto::{
    ledger::v1::{GetRoundRequest, SetExchangeRateRequest},
    round::v1::{Account, RoundState, Stake},
    spin::v1::{
        AcknowledgeRealityCheckRequest, AutospinRequest, AutospinStop, OpenSessionRequest, OpenSessionResponse,
        PlayMode, Played, SessionLimits, SpinRequest,
    },
};
use motherlode_runtime::Config;
use motherlode_state::Event;
use motherlode_tests::{Client, EUR, bet, commits, config, fresh, next_choice, reason, start_fresh, start_with};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

const MINUTE: i64 = 60_000;
const BET: i64 = 15;

struct Timed {
    server: motherlode_tests::Server,
    clock: Arc<AtomicI64>,
    client: Client,
    alice: Account,
}

impl Timed {
    async fn start(data: &Path, jurisdictions: &str) -> Self {
        let parsed = Config::parse(&format!("[jurisdictions]\n{jurisdictions}")).unwrap();
        let config = Config { jurisdictions: parsed.jurisdictions, ..config(data) };
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let time = Arc::clone(&clock);
        let options = Options::on_clock(move || time.load(Ordering::SeqCst));
        let server = start_with(&config, fresh(&config), options).await;
        let mut client = Client::connect(server.address()).await;
        let alice = client.fund("alice", EUR, 1_000_000).await;
        Self { server, clock, client, alice }
    }

    fn pass(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    async fn spin(&mut self, request_id: &str, session: &str) -> Result<Played, Status> {
        let spin = SpinRequest { session_id: session.to_owned(), ..bet(request_id, &self.alice, "0.01") };
        self.client.spin(spin, None).await
    }

    async fn round(&mut self, request_id: &str, session: &str) -> Result<i64, Status> {
        let mut played = self.spin(request_id, session).await?;
        while let Some(kind) = next_choice(&played) {
            let id = format!("{request_id}.{}", played.step);
            played = self.client.choose(&id, &played.round_id, kind, None).await?;
        }
        Ok(played.win.unwrap().amount_minor)
    }

    async fn open(&mut self, request_id: &str, with: OpenSessionRequest) -> Result<OpenSessionResponse, Status> {
        let (request_id, account, game) = (request_id.to_owned(), Some(self.alice.clone()), "bewitched".to_owned());
        let request = OpenSessionRequest { request_id, account, game, ..with };
        Ok(self.client.spin.open_session(request).await?.into_inner())
    }

    async fn young(&mut self, own: i64) -> String {
        let limits = Some(SessionLimits { bet_max_minor: Some(own), ..SessionLimits::default() });
        let (request_id, account) = ("young".to_owned(), Some(self.alice.clone()));
        let (game, jurisdiction) = ("neptune".to_owned(), "uk".to_owned());
        let open = OpenSessionRequest { request_id, account, game, jurisdiction, limits, ..Default::default() };
        let opened = self.client.spin.open_session(open).await.unwrap().into_inner();
        let profile = opened.profile.unwrap();
        assert_eq!((profile.bet_eur_max, profile.limits.unwrap().bet_max_minor), (Some(1), Some(own)));
        opened.session_id
    }

    async fn limited(&mut self, limits: SessionLimits) -> String {
        let with = OpenSessionRequest { limits: Some(limits), ..OpenSessionRequest::default() };
        self.open("o", with).await.unwrap().session_id
    }

    fn rounds_started(&self) -> u64 {
        self.server.player("alice").rounds_started
    }
}

fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, why: &str) -> Status {
    let status = result.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{status}");
    status
}

fn left(status: &Status) -> Duration {
    status.get_error_details().retry_info().unwrap().retry_delay.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_rounds_are_the_seconds_of_the_jurisdiction_apart() {
    for (jurisdiction, ms) in [("uk", 2_500_i64), ("se", 3_000), ("de", 5_000)] {
        let data = tempfile::tempdir().unwrap();
        let mut timed = Timed::start(data.path(), &format!("default = '{jurisdiction}'")).await;
        let (a, b) = (neptune("a", &timed.alice, "0.01", 15), neptune("b", &timed.alice, "0.01", 15));
        timed.client.play_out(a.clone()).await.unwrap();
        let too_soon = timed.client.spin(b.clone(), None).await;
        let refused = expect(too_soon, Code::FailedPrecondition, "ROUND_TOO_SOON");
        assert_eq!(left(&refused), Duration::from_millis(ms.unsigned_abs()));
        assert_eq!(refused.get_error_details().error_info().unwrap().metadata["jurisdiction"], jurisdiction);
        timed.pass(ms - 1);
        let too_soon = timed.client.spin(b.clone(), None).await;
        let refused = expect(too_soon, Code::FailedPrecondition, "ROUND_TOO_SOON");
        assert_eq!(left(&refused), Duration::from_millis(1));
        let witch = SpinRequest { game: "witch-feature".into(), ..neptune("w", &timed.alice, "0.01", 50) };
        let other = timed.client.spin(witch, None).await;
        expect(other, Code::FailedPrecondition, "ROUND_TOO_SOON");
        assert_eq!(timed.rounds_started(), 1, "the refused bet started no round");
        timed
            .client
            .spin(a, None)
            .await
            .expect("PL-11: a repeated request is answered although a new bet would be too soon");
        timed.pass(1);
        let played = timed.client.spin(b, None).await.unwrap();
        let shown = timed.client.ledger.get_round(GetRoundRequest { round_id: played.round_id }).await.unwrap();
        assert_eq!(shown.into_inner().round.unwrap().jurisdiction, jurisdiction);
        timed.server.stop().await.unwrap();
    }
}

fn neptune(request_id: &str, account: &Account, coin: &str, lines: u32) -> SpinRequest {
    let stake = Some(Stake { coin_value: coin.into(), lines, coins_per_line: 1, buy_feature: false });
    SpinRequest { game: "neptune".into(), stake, witch: 0, ..bet(request_id, account, coin) }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_where_jackpots_are_forbidden_a_game_with_one_is_refused_and_the_others_are_played() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "default = 'de'").await;
    let before = timed.server.ends();
    let refused = expect(timed.spin("b", "").await, Code::FailedPrecondition, "JACKPOT_FORBIDDEN");
    assert_eq!(refused.get_error_details().error_info().unwrap().metadata["jurisdiction"], "de");
    let launched = timed.open("o", OpenSessionRequest::default()).await;
    expect(launched, Code::FailedPrecondition, "JACKPOT_FORBIDDEN");
    assert_eq!(timed.server.ends(), before, "the refused session wrote no commit");
    let uk = OpenSessionRequest { jurisdiction: "uk".into(), ..Default::default() };
    let elsewhere = timed.open("o", uk).await;
    expect(elsewhere, Code::FailedPrecondition, "JACKPOT_FORBIDDEN");
    assert_eq!(timed.server.ends(), before, "a session's jurisdiction does not loosen the operator's rules (uf_06)");
    let other = neptune("n", &timed.alice, "0.01", 15);
    timed.client.spin(other, None).await.expect("a game without a jackpot can be played");
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_a_round_costs_at_most_what_the_strictest_of_jurisdiction_operator_and_session_allows() {
    let data = tempfile::tempdir().unwrap();
    let mut timed =
        Timed::start(data.path(), "default = 'de'\noperators.acme = { limits = { bet_eur_max = 4 } }").await;
    let kronor = timed.client.fund("alice", "SEK", 1_000_000).await;
    let (currency_code, eur_per_unit) = ("SEK".to_owned(), "0.08".to_owned());
    let rate = SetExchangeRateRequest { request_id: "rate".into(), currency_code, eur_per_unit, source: "test".into() };
    timed.client.ledger.set_exchange_rate(rate).await.unwrap();
    let mut young = String::new();
    for (number, (lines, coin, account, session, limit)) in [
        (10, "0.1", &timed.alice.clone(), "", None),
        (11, "0.1", &timed.alice.clone(), "", Some(100)),
        (12, "1", &kronor, "", None),
        (13, "1", &kronor, "", Some(1_250)),
        (10, "0.02", &timed.alice.clone(), "young", None),
        (11, "0.02", &timed.alice.clone(), "young", Some(20)),
    ]
    .into_iter()
    .enumerate()
    {
        let spin = neptune(&format!("n{number}"), account, coin, lines);
        if session == "young" && young.is_empty() {
            young = timed.young(20).await;
        }
        let session = if session.is_empty() { "" } else { &young };
        let played = timed.client.play_out(SpinRequest { session_id: session.to_owned(), ..spin }).await;
        timed.pass(5_000);
        let Some(limit) = limit else {
            played.expect("a bet within the limit is accepted");
            continue;
        };
        let refused = expect(played, Code::FailedPrecondition, "BET_LIMIT");
        let details = refused.get_error_details();
        assert_eq!(details.error_info().unwrap().metadata["limit_minor"], limit.to_string());
    }
    let elves = Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: true };
    let bought =
        SpinRequest { game: "mystery-elves".into(), stake: Some(elves), ..neptune("e", &timed.alice, "0.01", 10) };
    let close = motherlode_proto::spin::v1::CloseSessionRequest { session_id: young };
    timed.client.spin.close_session(close).await.unwrap();
    let refused = expect(timed.client.spin(bought, None).await, Code::FailedPrecondition, "BET_LIMIT");
    let details = refused.get_error_details();
    assert_eq!(
        details.error_info().unwrap().metadata["limit_minor"],
        "20",
        "uf_06: a session's limits apply for the whole day"
    );
    assert_eq!(
        refused.get_error_details().error_info().unwrap().metadata["bet_minor"],
        "700",
        "the refusal states the feature's price as the bet"
    );
    assert_eq!(timed.rounds_started(), 3, "the refused bet started no round");
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_where_limits_are_the_players_to_set_none_plays_without() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "default = 'es'").await;
    expect(timed.spin("b", "").await, Code::FailedPrecondition, "SESSION_REQUIRED");
    let (time, loss) = (Some(600_000), Some(1_000));
    for (session_ms_max, loss_max_minor, missing) in [
        (None, None, "limits.session_ms_max"),
        (None, loss, "limits.session_ms_max"),
        (time, None, "limits.loss_max_minor"),
    ] {
        let limits = Some(SessionLimits { session_ms_max, loss_max_minor, ..SessionLimits::default() });
        let opened = timed.open("o", OpenSessionRequest { limits, ..OpenSessionRequest::default() }).await;
        let refused = expect(opened, Code::InvalidArgument, "INVALID_FIELD");
        assert_eq!(refused.get_error_details().bad_request().unwrap().field_violations[0].field, missing);
    }
    let limits = SessionLimits { session_ms_max: time, loss_max_minor: loss, ..SessionLimits::default() };
    let session = timed.limited(limits).await;
    timed.spin("b", &session).await.unwrap();
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_08_autoplay_buying_a_feature_and_the_gamble_are_switched_off_by_the_profile() {
    let data = tempfile::tempdir().unwrap();
    let limits = "operators.acme = { limits = { autoplay = false, buy_feature = false, gamble = false } }";
    let mut timed = Timed::start(data.path(), limits).await;
    let elves = SpinRequest {
        game: "mystery-elves".into(),
        stake: Some(Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: false }),
        witch: 0,
        ..bet("e", &timed.alice, "0.01")
    };
    let bought = Stake { buy_feature: true, ..elves.stake.clone().unwrap() };
    let buy = SpinRequest { stake: Some(bought), ..elves.clone() };
    expect(timed.client.spin(buy, None).await, Code::FailedPrecondition, "BUY_FEATURE_FORBIDDEN");
    let gamble = SpinRequest { offer_double: true, ..elves.clone() };
    expect(timed.client.spin(gamble, None).await, Code::FailedPrecondition, "GAMBLE_FORBIDDEN");
    let SpinRequest { request_id, account, game, stake, .. } = elves.clone();
    let series = AutospinRequest { request_id, account, game, stake, spins: 2, ..AutospinRequest::default() };
    expect(timed.client.autospin(series, None).await.map(|_| ()), Code::FailedPrecondition, "AUTOPLAY_FORBIDDEN");
    assert_eq!(timed.rounds_started(), 0);
    timed.client.spin(elves, None).await.expect("a plain spin is allowed");
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_a_reality_check_blocks_bets_until_it_is_acknowledged() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "").await;
    let session = timed.limited(SessionLimits { reality_check_ms: Some(600_000), ..SessionLimits::default() }).await;
    let mut net = 0;
    for number in 0..5 {
        net += timed.round(&format!("a{number}"), &session).await.unwrap() - BET;
    }
    timed.pass(10 * MINUTE);
    expect(timed.spin("b", &session).await, Code::FailedPrecondition, "REALITY_CHECK_DUE");
    let SpinRequest { account, game, stake, witch, .. } = bet("", &timed.alice, "0.01");
    let (request_id, session_id) = ("s".to_owned(), session.clone());
    let series =
        AutospinRequest { request_id, account, game, stake, witch, spins: 2, session_id, ..Default::default() };
    let last = timed.client.autospin(series, None).await.unwrap().message().await.unwrap().unwrap();
    assert_eq!((last.stop(), last.spins_left), (AutospinStop::Refused, 2));
    let acknowledge = AcknowledgeRealityCheckRequest { session_id: session.clone() };
    let seen = timed.client.spin.acknowledge_reality_check(acknowledge).await.unwrap().into_inner();
    assert_eq!((seen.elapsed_ms, seen.net.unwrap().amount_minor), (600_000, net));
    timed.spin("b", &session).await.unwrap();
    let nobody = AcknowledgeRealityCheckRequest { session_id: "0".repeat(32) };
    let unknown = timed.client.spin.acknowledge_reality_check(nobody).await;
    expect(unknown, Code::FailedPrecondition, "SESSION_EXPIRED");
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_a_session_ends_betting_at_its_time_and_an_open_round_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "").await;
    let session = timed.limited(SessionLimits { session_ms_max: Some(600_000), ..SessionLimits::default() }).await;
    let mut open = None;
    for number in 0..5_000 {
        let played = timed.spin(&format!("r{number}"), &session).await.unwrap();
        if played.state() == RoundState::Open {
            open = Some(played);
            break;
        }
    }
    let mut open = open.expect("one of 5,000 rounds waits for the player");
    timed.pass(10 * MINUTE);
    expect(timed.spin("late", &session).await, Code::FailedPrecondition, "SESSION_TIME_LIMIT");
    while let Some(kind) = next_choice(&open) {
        let request = motherlode_proto::spin::v1::ChooseRequest {
            request_id: format!("c{}", open.step),
            round_id: open.round_id.clone(),
            choice: Some(motherlode_proto::round::v1::Choice { kind: Some(kind) }),
            session_id: session.clone(),
            ..motherlode_proto::spin::v1::ChooseRequest::default()
        };
        open = timed.client.spin.choose(request).await.unwrap().into_inner().played.unwrap();
    }
    assert_eq!(open.state(), RoundState::Settled);
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_26_no_bet_is_taken_that_could_go_past_the_loss_limit_of_the_session() {
    let data = tempfile::tempdir().unwrap();
    let mut timed = Timed::start(data.path(), "operators.acme = { limits = { loss_eur_max = 2 } }").await;
    let mut net = 0;
    for (name, own, limit) in [("one", 500, 200), ("two", 100, 100), ("three", 500, 100)] {
        let limits = SessionLimits { loss_max_minor: Some(own), ..SessionLimits::default() };
        let with = OpenSessionRequest { limits: Some(limits), ..OpenSessionRequest::default() };
        let opened = timed.open(name, with).await.unwrap();
        for number in 0..10_000 {
            let round = timed.round(&format!("{name}{number}"), &opened.session_id).await;
            if limit + net < BET {
                let refused = expect(round, Code::FailedPrecondition, "LOSS_LIMIT");
                let details = refused.get_error_details();
                assert_eq!(details.error_info().unwrap().metadata["net_minor"], net.to_string());
                break;
            }
            net += round.unwrap() - BET;
            assert!(net >= -limit, "the loss limit is not exceeded");
        }
        assert!(limit + net < BET, "play stopped only when the next bet could exceed the limit");
        let close = motherlode_proto::spin::v1::CloseSessionRequest { session_id: opened.session_id };
        timed.client.spin.close_session(close).await.unwrap();
    }
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_16_a_session_binds_jurisdiction_and_mode_and_its_rounds_name_it() {
    let data = tempfile::tempdir().unwrap();
    let limits = "operators.acme = { profile = 'se', limits = { reality_check_ms = 3_600_000 } }";
    let mut timed = Timed::start(data.path(), limits).await;
    expect(timed.spin("x", "").await, Code::FailedPrecondition, "SESSION_REQUIRED");
    let jurisdiction = |name: &str| OpenSessionRequest { jurisdiction: name.to_owned(), ..Default::default() };
    expect(timed.open("o", jurisdiction("atlantis")).await, Code::InvalidArgument, "INVALID_FIELD");
    let demo = OpenSessionRequest { mode: PlayMode::Demo.into(), ..Default::default() };
    expect(timed.open("o", demo).await, Code::InvalidArgument, "INVALID_FIELD");
    let zero = SessionLimits { reality_check_ms: Some(0), ..Default::default() };
    let zero = OpenSessionRequest { limits: Some(zero), ..Default::default() };
    expect(timed.open("o", zero).await, Code::InvalidArgument, "INVALID_FIELD");

    let own = SessionLimits { reality_check_ms: Some(60_000), loss_max_minor: Some(5_000), ..Default::default() };
    let opened = timed.open("o", OpenSessionRequest { limits: Some(own), ..jurisdiction("uk") }).await.unwrap();
    let profile = opened.profile.unwrap();
    assert_eq!((opened.jurisdiction.as_str(), profile.round_ms_min, profile.autoplay), ("uk", 3_000, false));
    assert_eq!(profile.limits, Some(own), "the player's own limits are stricter, so they apply");
    let other = timed.open("o", jurisdiction("se")).await;
    expect(other, Code::AlreadyExists, "REQUEST_ID_REUSED");

    let played = timed.spin("x", &opened.session_id).await.unwrap();
    let shown = timed.client.ledger.get_round(GetRoundRequest { round_id: played.round_id }).await.unwrap();
    let round = shown.into_inner().round.unwrap();
    assert_eq!((round.session_name.as_str(), round.jurisdiction.as_str()), (opened.session_name.as_str(), "uk"));
    assert!(
        !opened.session_name.is_empty() && opened.session_name != opened.session_id,
        "the log does not contain the session id"
    );
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_07_pl_26_a_series_waits_for_the_seconds_of_its_jurisdiction() {
    let data = tempfile::tempdir().unwrap();
    let parsed = Config::parse("[jurisdictions]\ndefault = 'x'\nprofiles.x = { round_ms_min = 50 }").unwrap();
    let config = Config { jurisdictions: parsed.jurisdictions, ..config(data.path()) };
    let server = start_fresh(&config).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let SpinRequest { request_id, account, game, stake, witch, .. } = bet("s", &alice, "0.01");
    let series = AutospinRequest { request_id, account, game, stake, witch, spins: 8, ..Default::default() };
    let mut answers = client.autospin(series, None).await.unwrap();
    let mut last = None;
    while let Some(answer) = answers.message().await.unwrap() {
        let mut played = answer.played.clone();
        while let Some(open) = played.take_if(|played| played.state() == RoundState::Open) {
            let kind = next_choice(&open).unwrap();
            let id = format!("{}.{}", open.round_id.replace('/', "-"), open.step);
            played = Some(client.choose(&id, &open.round_id, kind, None).await.unwrap());
        }
        last = Some(answer);
    }
    assert_eq!(last.unwrap().stop(), AutospinStop::Complete);
    let bets = commits(server.ledger_of("alice"), 1)
        .filter(|logged| logged.commit.events.iter().any(|event| matches!(event, Event::RoundStarted(_))));
    let times: Vec<_> = bets.map(|logged| logged.commit.time_ms).collect();
    assert_eq!(times.len(), 8);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 49), "{times:?}");
    server.stop().await.unwrap();
}
