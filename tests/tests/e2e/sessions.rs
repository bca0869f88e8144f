use motherlode_ledger::Options;
use motherlode_proto::{
    round::v1::{Account, RoundState},
    spin::v1::{
        AutospinRequest, AutospinStop, ChooseRequest, CloseSessionRequest, KeepSessionRequest, KeepSessionResponse,
        OpenSessionRequest, OpenSessionResponse, Played, SkipRoundRequest, SpinRequest,
    },
};
use motherlode_tests::{
    Client, EUR, Force, account, bet, config, fresh, next_choice, reason, start, start_fresh, start_with,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tonic::{Code, Status, Streaming};
use tonic_types::StatusExt;

const MINUTE: i64 = 60_000;

struct Timed {
    server: motherlode_tests::Server,
    clock: Arc<AtomicI64>,
}

impl Timed {
    async fn start(data: &Path) -> Self {
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let time = Arc::clone(&clock);
        let options = Options::on_clock(move || time.load(Ordering::SeqCst));
        let config = config(data);
        let server = start_with(&config, fresh(&config), options).await;
        Self { server, clock }
    }

    fn pass(&self, ms: i64) {
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }

    async fn client(&self) -> Client {
        Client::connect(self.server.address()).await
    }
}

async fn open(client: &mut Client, request_id: &str, account: &Account) -> Result<OpenSessionResponse, Status> {
    let (account, game) = (Some(account.clone()), "bewitched".to_owned());
    let request = OpenSessionRequest { request_id: request_id.to_owned(), account, game, ..Default::default() };
    Ok(client.spin.open_session(request).await?.into_inner())
}

async fn keep(client: &mut Client, session_id: &str) -> Result<Streaming<KeepSessionResponse>, Status> {
    let request = KeepSessionRequest { session_id: session_id.to_owned() };
    let mut kept = client.spin.keep_session(request).await?.into_inner();
    kept.message().await?.expect("a first answer");
    Ok(kept)
}

async fn close(client: &mut Client, session_id: &str) {
    let request = CloseSessionRequest { session_id: session_id.to_owned() };
    client.spin.close_session(request).await.unwrap();
}

fn bet_in(session_id: &str, request_id: &str, account: &Account) -> SpinRequest {
    SpinRequest { session_id: session_id.to_owned(), ..bet(request_id, account, "0.01") }
}

async fn open_round(client: &mut Client, session_id: &str, account: &Account) -> Played {
    client.spin(bet_in(session_id, "r", account), Some(Force::Open)).await.unwrap()
}

async fn choose_in(client: &mut Client, session_id: &str, open: &Played) -> Result<Played, Status> {
    let kind = next_choice(open);
    let request = ChooseRequest {
        request_id: "choice".to_owned(),
        round_id: open.round_id.clone(),
        choice: Some(motherlode_proto::round::v1::Choice { kind }),
        session_id: session_id.to_owned(),
        ..ChooseRequest::default()
    };
    Ok(client.spin.choose(request).await?.into_inner().played.unwrap())
}

fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, why: &str) -> Status {
    let status = result.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{status}");
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_26_after_idle_minutes_the_session_is_over_and_the_next_goes_on_where_it_was() {
    let data = tempfile::tempdir().unwrap();
    let timed = Timed::start(data.path()).await;
    let mut client = timed.client().await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let first = open(&mut client, "o1", &alice).await.unwrap();
    assert_eq!((first.idle_ms_max, &first.open_round), (1_800_000, &None));
    for number in 0..3 {
        timed.pass(29 * MINUTE);
        let spin = bet_in(&first.session_id, &format!("a{number}"), &alice);
        let mut played = client.spin(spin, None).await.unwrap();
        while let Some(kind) = next_choice(&played) {
            let id = format!("a{number}.{}", played.step);
            played = client.choose(&id, &played.round_id, kind, None).await.unwrap();
        }
    }
    let round = open_round(&mut client, &first.session_id, &alice).await;
    timed.pass(30 * MINUTE);
    let refused = choose_in(&mut client, &first.session_id, &round).await;
    expect(refused, Code::FailedPrecondition, "SESSION_EXPIRED");

    let second = open(&mut client, "o2", &alice).await.unwrap();
    assert_ne!(second.session_id, first.session_id);
    let shown = second.open_round.expect("the new session names the open round");
    assert_eq!((&shown.round_id, shown.state()), (&round.round_id, RoundState::Open));
    assert_eq!(shown.steps.last().unwrap().outcome, round.outcome);
    let played = choose_in(&mut client, &second.session_id, &round).await.unwrap();
    assert_eq!((&played.round_id, played.step), (&round.round_id, round.step + 1));
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_26_an_idle_session_is_disconnected() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.limits.session_idle_ms_max = 1_000;
    let server = start_fresh(&config).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 1_000).await;
    let session = open(&mut client, "o1", &alice).await.unwrap().session_id;
    let mut kept = keep(&mut client, &session).await.unwrap();
    expect(kept.message().await, Code::FailedPrecondition, "SESSION_EXPIRED");
    open(&mut client, "o2", &alice).await.expect("a session can be opened at once after an idle session has ended");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_27_after_a_dropped_connection_the_session_is_held_for_30_seconds_and_goes_on_then() {
    let data = tempfile::tempdir().unwrap();
    let timed = Timed::start(data.path()).await;
    let (mut client, mut lost) = (timed.client().await, timed.client().await);
    let alice = lost.fund("alice", EUR, 1_000_000).await;
    let session = open(&mut lost, "o1", &alice).await.unwrap().session_id;
    let kept = keep(&mut lost, &session).await.unwrap();
    let round = open_round(&mut lost, &session, &alice).await;
    expect(open(&mut client, "o2", &alice).await, Code::FailedPrecondition, "SESSION_IN_USE");
    drop((lost, kept));
    let held = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let refused = open(&mut client, "o2", &alice).await.unwrap_err();
            if reason(&refused) != "SESSION_IN_USE" {
                return refused;
            }
        }
    });
    let held = expect::<()>(
        Err(held.await.expect("the service ends the lost session")),
        Code::FailedPrecondition,
        "SESSION_HELD",
    );
    let left = |status: &Status| status.get_error_details().retry_info().unwrap().retry_delay.unwrap();
    assert_eq!(left(&held), Duration::from_secs(30));
    while timed
        .server
        .player("alice")
        .seat("bewitched", EUR.parse().unwrap())
        .and_then(|seat| seat.held_ms(1_000_000))
        .is_none()
    {
        tokio::task::yield_now().await;
    }
    let unnamed = client.spin(bet_in("", "b", &alice), None).await;
    expect(unnamed, Code::FailedPrecondition, "SESSION_HELD");
    let came_back = choose_in(&mut client, "", &round).await;
    expect(came_back, Code::FailedPrecondition, "SESSION_HELD");
    let skip = SkipRoundRequest { request_id: "s".into(), round_id: round.round_id.clone(), ..Default::default() };
    expect(client.spin.skip_round(skip).await, Code::FailedPrecondition, "SESSION_HELD");
    let refused = choose_in(&mut client, &session, &round).await;
    expect(refused, Code::FailedPrecondition, "SESSION_EXPIRED");
    timed.pass(29_999);
    let held = expect(open(&mut client, "o2", &alice).await, Code::FailedPrecondition, "SESSION_HELD");
    assert_eq!(left(&held), Duration::from_millis(1));
    timed.pass(1);
    let again = open(&mut client, "o2", &alice).await.unwrap();
    assert_eq!(again.open_round.expect("the session names the open round").round_id, round.round_id);
    choose_in(&mut client, &again.session_id, &round).await.unwrap();
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_27_a_session_that_is_closed_can_be_followed_at_once() {
    let data = tempfile::tempdir().unwrap();
    let timed = Timed::start(data.path()).await;
    let mut client = timed.client().await;
    let alice = client.fund("alice", EUR, 1_000).await;
    let session = open(&mut client, "o1", &alice).await.unwrap().session_id;
    let mut kept = keep(&mut client, &session).await.unwrap();
    expect(keep(&mut client, &session).await, Code::FailedPrecondition, "SESSION_IN_USE");
    close(&mut client, &session).await;
    assert_eq!(kept.message().await.unwrap(), None, "the stream ends with OK");
    close(&mut client, &session).await;
    expect(keep(&mut client, &session).await, Code::FailedPrecondition, "SESSION_EXPIRED");
    open(&mut client, "o2", &alice).await.unwrap();
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_16_a_session_is_bound_and_there_is_one() {
    let data = tempfile::tempdir().unwrap();
    let timed = Timed::start(data.path()).await;
    let mut client = timed.client().await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let alice_sek = client.fund("alice", "SEK", 1_000_000).await;
    let bob = client.fund("bob", EUR, 1_000_000).await;
    let session = open(&mut client, "o1", &alice).await.unwrap().session_id;
    assert_eq!(open(&mut client, "o1", &alice).await.unwrap().session_id, session, "asked again");
    expect(open(&mut client, "o2", &alice).await, Code::FailedPrecondition, "SESSION_IN_USE");
    expect(open(&mut client, "o1", &alice_sek).await, Code::AlreadyExists, "REQUEST_ID_REUSED");
    let other = open(&mut client, "o1", &bob).await.unwrap().session_id;
    assert_ne!(other, session);
    let cases = [
        (bet_in(&other, "x", &alice), Code::FailedPrecondition, "SESSION_EXPIRED"),
        (bet_in(&session, "x", &alice_sek), Code::InvalidArgument, "SESSION_MISMATCH"),
        (bet_in(&"0".repeat(32), "x", &alice), Code::FailedPrecondition, "SESSION_EXPIRED"),
        (bet_in("nonsense", "x", &alice), Code::InvalidArgument, "INVALID_FIELD"),
    ];
    for (request, code, why) in cases {
        expect(client.spin(request, None).await, code, why);
    }
    expect(open(&mut client, "o", &account("nobody", EUR)).await, Code::NotFound, "ACCOUNT_UNKNOWN");
    expect(open(&mut client, "a b", &alice).await, Code::InvalidArgument, "INVALID_FIELD");
    let game = "poker".to_owned();
    let (request_id, account) = ("o".to_owned(), Some(alice.clone()));
    let poker = OpenSessionRequest { request_id, account, game, ..Default::default() };
    expect(client.spin.open_session(poker).await, Code::NotFound, "GAME_UNKNOWN");
    assert_eq!(timed.server.player("alice").rounds_started, 0);
    client.spin(bet_in(&session, "x", &alice), None).await.unwrap();
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_16_a_win_a_void_and_a_settlement_need_no_live_session() {
    use motherlode_proto::ledger::v1::VoidRoundRequest;
    let data = tempfile::tempdir().unwrap();
    let timed = Timed::start(data.path()).await;
    let mut client = timed.client().await;
    for (player, settle) in [("alice", true), ("bob", false)] {
        let account = client.fund(player, EUR, 1_000_000).await;
        let session = open(&mut client, "o1", &account).await.unwrap().session_id;
        let mut round = open_round(&mut client, &session, &account).await;
        let before = client.balance(&account).await;
        timed.pass(30 * MINUTE);
        if settle {
            for step in 1.. {
                let Some(kind) = next_choice(&round) else { break };
                round = client.choose(&format!("c{step}"), &round.round_id, kind, None).await.unwrap();
            }
            assert_eq!(round.state(), RoundState::Settled);
            let jackpot = round.jackpot.and_then(|won| won.amount).map_or(0, |amount| amount.amount_minor);
            assert_eq!(client.balance(&account).await, before + round.win.unwrap().amount_minor + jackpot);
        } else {
            let (request_id, round_id) = ("v".to_owned(), round.round_id);
            let void = VoidRoundRequest { request_id, round_id, reason: "test".into(), actor: "ann".into() };
            client.ledger.void_round(void).await.unwrap();
            assert_eq!(client.balance(&account).await, before + 15);
        }
    }
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_a_bet_keeps_its_answer_when_its_session_is_over_or_another() {
    let data = tempfile::tempdir().unwrap();
    let timed = Timed::start(data.path()).await;
    let mut client = timed.client().await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let first = open(&mut client, "o1", &alice).await.unwrap().session_id;
    let round = open_round(&mut client, &first, &alice).await;
    let chosen = choose_in(&mut client, &first, &round).await.unwrap();
    let bet_again = |session: &str| bet_in(session, "r0", &alice);
    let answer = client.spin(bet_again(&first), None).await.unwrap();
    timed.pass(30 * MINUTE);
    assert_eq!(client.spin(bet_again(&first), None).await.unwrap(), answer, "over");
    let second = open(&mut client, "o2", &alice).await.unwrap().session_id;
    for session in [second.as_str(), ""] {
        assert_eq!(client.spin(bet_again(session), None).await.unwrap(), answer);
        assert_eq!(choose_in(&mut client, session, &round).await.unwrap(), chosen);
    }
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_25_bw_26_a_series_plays_in_its_session_and_ends_with_it() {
    let data = tempfile::tempdir().unwrap();
    let timed = Timed::start(data.path()).await;
    let mut client = timed.client().await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let session_id = open(&mut client, "o1", &alice).await.unwrap().session_id;
    let SpinRequest { account, game, stake, witch, .. } = bet("", &alice, "0.01");
    let request = AutospinRequest {
        request_id: "s".into(),
        account,
        game,
        stake,
        witch,
        spins: 2,
        session_id: session_id.clone(),
        ..AutospinRequest::default()
    };
    timed.pass(29 * MINUTE);
    let mut series = client.autospin(request.clone(), None).await.unwrap();
    let first = series.message().await.unwrap().unwrap();
    assert!(first.played.is_some());
    drop(series);
    timed.pass(29 * MINUTE);
    keep(&mut client, &session_id).await.unwrap();
    close(&mut client, &session_id).await;
    let other = AutospinRequest { request_id: "t".into(), ..request };
    let mut series = client.autospin(other, None).await.unwrap();
    let last = series.message().await.unwrap().unwrap();
    assert_eq!((last.stop(), last.spins_left, last.played), (AutospinStop::Refused, 2, None));
    assert_eq!(last.refusal.unwrap().message, "the session is over");
    timed.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_16_a_restart_ends_sessions_and_holds_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 1_000_000).await;
    let session = open(&mut client, "o1", &alice).await.unwrap().session_id;
    let mut kept = keep(&mut client, &session).await.unwrap();
    let stopping = tokio::spawn(server.stop());
    expect(kept.message().await, Code::Unavailable, "CLOSING");
    stopping.await.unwrap().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let refused = client.spin(bet_in(&session, "x", &alice), None).await;
    expect(refused, Code::FailedPrecondition, "SESSION_EXPIRED");
    open(&mut client, "o2", &alice).await.expect("a session can be opened at once");
    server.stop().await.unwrap();
}
