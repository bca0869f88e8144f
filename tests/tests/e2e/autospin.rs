use motherlode_proto::{
    ledger::v1::GetRoundRequest,
    round::v1::{Account, Awaiting, Card, Round, RoundState, choice::Kind},
    spin::v1::{
        AutospinRequest, AutospinResponse, AutospinStop, Played, SpinRequest, spin_service_server::SpinService,
    },
};
use motherlode_state::PlayerState;
use motherlode_tests::{Client, EUR, bet, config, dealer, next_choice, reason, start, start_fresh, until};
use prost::Message;
use std::time::Duration;
use tokio_stream::StreamExt;
use tonic::{Code, Request};

const BET: i64 = 15;

fn series(request_id: &str, account: &Account, spins: u32) -> AutospinRequest {
    let SpinRequest { account, game, stake, witch, .. } = bet("", account, "0.01");
    AutospinRequest { request_id: request_id.to_owned(), account, game, stake, witch, spins, ..Default::default() }
}

async fn finish(client: &mut Client, open: &Played) -> Played {
    let mut last = open.clone();
    while let Some(kind) = next_choice(&last) {
        let id = format!("{}.{}", open.round_id.replace('/', "-"), last.step);
        last = client.choose(&id, &open.round_id, kind, None).await.unwrap();
    }
    last
}

async fn play(client: &mut Client, request: AutospinRequest) -> Vec<AutospinResponse> {
    let mut stream = client.autospin(request, None).await.unwrap();
    let mut answers = vec![];
    while let Some(answer) = stream.message().await.unwrap() {
        if let Some(open) = answer.played.as_ref().filter(|played| played.state() == RoundState::Open) {
            finish(client, open).await;
        }
        answers.push(answer);
    }
    answers
}

async fn rounds(client: &mut Client, answers: &[AutospinResponse]) -> Vec<Round> {
    let mut rounds = vec![];
    for played in answers.iter().filter_map(|answer| answer.played.as_ref()) {
        let request = GetRoundRequest { round_id: played.round_id.clone() };
        rounds.push(client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap());
    }
    rounds
}

fn won(round: &Round) -> i64 {
    let jackpots = round.jackpots.iter().map(|jackpot| jackpot.amount.as_ref().unwrap().amount_minor);
    round.win.as_ref().unwrap().amount_minor + jackpots.sum::<i64>()
}

fn expected(rounds: &[Round], request: &AutospinRequest) -> (usize, AutospinStop) {
    let mut balance = 0;
    for (played, round) in (1..).zip(rounds) {
        balance += won(round) - round.bet.as_ref().unwrap().amount_minor;
        if request.stop_on_jackpot && !round.jackpots.is_empty() {
            return (played, AutospinStop::Jackpot);
        } else if request.win_limit_minor.is_some_and(|limit| won(round) >= limit) {
            return (played, AutospinStop::WinLimit);
        } else if request.loss_limit_minor.is_some_and(|limit| limit + balance < 0) {
            return (played, AutospinStop::LossLimit);
        }
    }
    (rounds.len(), AutospinStop::Complete)
}

fn alice(server: &motherlode_tests::Server) -> PlayerState {
    server.player("alice")
}

fn started(server: &motherlode_tests::Server) -> u64 {
    alice(server).rounds_started
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_25_a_series_ends_where_the_rule_ends_it() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 10_000_000).await;
    let (mut balance, mut played_before) = (10_000_000, 0);
    let limits = [
        (None, None, false),
        (Some(0), None, false),
        (Some(100), None, false),
        (None, Some(1), false),
        (None, Some(60), true),
        (Some(300), Some(100), true),
    ];
    for (number, (loss_limit_minor, win_limit_minor, stop_on_jackpot)) in (0..).zip(limits) {
        let request = AutospinRequest {
            loss_limit_minor,
            win_limit_minor,
            stop_on_jackpot,
            ..series(&format!("s{number}"), &account, 100)
        };
        let answers = play(&mut client, request.clone()).await;
        let rounds = rounds(&mut client, &answers).await;
        let (last, earlier) = answers.split_last().unwrap();
        assert_eq!((rounds.len(), last.stop()), expected(&rounds, &request), "{request:?}");
        assert_eq!(last.spins_left as usize, 100 - rounds.len());
        assert!(earlier.iter().all(|answer| answer.stop() == AutospinStop::Unspecified));
        assert_eq!(started(&server) - played_before, rounds.len() as u64, "every played spin was answered");
        let total = |money: &Option<motherlode_proto::round::v1::Money>| money.as_ref().unwrap().amount_minor;
        assert_eq!(total(&last.total_bet), rounds.iter().map(|_| BET).sum::<i64>());
        assert_eq!(total(&last.total_win), rounds.iter().map(won).sum::<i64>());
        balance += total(&last.total_win) - total(&last.total_bet);
        assert_eq!(client.balance(&account).await, balance);
        played_before = started(&server);
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_23_the_double_is_not_offered_in_a_series() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let answers = play(&mut client, series("s", &account, 200)).await;
    let played: Vec<_> = answers.iter().filter_map(|answer| answer.played.as_ref()).collect();
    assert_eq!(played.len(), 200);
    assert!(played.iter().all(|played| played.outcome.as_ref().unwrap().awaiting() != Awaiting::Double));
    let line_win = |played: &&&Played| {
        let wins = played.outcome.as_ref().unwrap().spins.iter().flat_map(|spin| &spin.wins);
        played.state() == RoundState::Settled && wins.into_iter().any(|win| win.line > 0)
    };
    let won = played.iter().find(line_win).expect("one of 200 spins has a line win");
    let guess = Kind::Double(Card::RedHeart.into());
    let status = client.choose("d", &won.round_id, guess, None).await.unwrap_err();
    assert_eq!(reason(&status), "ALREADY_SETTLED");
    server.stop().await.unwrap();
}

/// While an answer is unread, the service must play no further spin. The test calls the API directly, because a
/// connection would read ahead.
#[tokio::test(flavor = "multi_thread")]
async fn pl_07_a_series_stops_at_once_when_its_reader_goes() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let (_stopper, stop) = motherlode_runtime::stop::channel();
    let api = motherlode_spin::SpinApi::new(server.ledgers().clone(), dealer(), Duration::from_secs(2), stop);
    let request = Request::new(series("s", &account, 1000));
    let mut stream = SpinService::autospin(&api, request).await.unwrap().into_inner();
    let mut answers = 0;
    while answers < 3 {
        let answer = stream.next().await.unwrap().unwrap();
        if let Some(played) = answer.played {
            answers += 1;
            finish(&mut client, &played).await;
        }
    }
    drop(stream);
    assert_eq!(started(&server), 3);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_07_pl_11_a_series_that_was_cancelled_goes_on_where_it_was() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let request = series("s", &account, 60);
    let mut stream = client.autospin(request.clone(), None).await.unwrap();
    let mut first_answers = vec![];
    while first_answers.len() < 10 {
        let answer = stream.message().await.unwrap().unwrap();
        if let Some(open) = answer.played.as_ref().filter(|played| played.state() == RoundState::Open) {
            finish(&mut client, open).await;
        }
        first_answers.push(answer);
    }
    drop(stream);
    let answers = play(&mut client, request.clone()).await;
    assert_eq!(answers[..10], first_answers);
    assert_eq!(answers.last().unwrap().stop(), AutospinStop::Complete);
    assert_eq!(started(&server), 60);
    server.stop().await.unwrap();

    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    until("every credit", async || alice(&server).wallet().is_none_or(|wallet| wallet.dues.is_empty())).await;
    let before = alice(&server);
    assert_eq!(play(&mut client, request.clone()).await, answers);
    for other in [AutospinRequest { win_limit_minor: Some(1), ..request.clone() }, series("s", &account, 61)] {
        let refused = play(&mut client, other).await;
        assert_eq!(refused.len(), 1);
        assert_eq!((refused[0].stop(), refused[0].spins_left > 0), (AutospinStop::Refused, true));
        assert_eq!(refused[0].refusal.as_ref().unwrap().code, Code::AlreadyExists as i32);
    }
    let alone = client.spin(bet("s.1", &account, "0.01"), None).await.unwrap_err();
    assert_eq!(reason(&alone), "REQUEST_ID_REUSED");
    assert_eq!(alice(&server), before, "the refused calls wrote no commit");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_07_a_stopping_service_says_what_is_left() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    let request = AutospinRequest { pause_ms: 60_000, ..series("s", &account, 5) };
    let mut stream = client.autospin(request.clone(), None).await.unwrap();
    let first = stream.message().await.unwrap().unwrap();
    let stopping = tokio::spawn(server.stop());
    let last = stream.message().await.unwrap().unwrap();
    assert_eq!((last.stop(), last.spins_left, last.played), (AutospinStop::Shutdown, first.spins_left, None));
    assert_eq!(stream.message().await.unwrap(), None);
    stopping.await.unwrap().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let mut stream = client.autospin(request, None).await.unwrap();
    assert_eq!(stream.message().await.unwrap().unwrap(), first);
    drop(stream);
    server.stop().await.unwrap();
}

fn is_insufficient(last: &AutospinResponse) -> bool {
    let refusal = last.refusal.as_ref().unwrap();
    let details = refusal.encode_to_vec().into();
    let status = tonic::Status::with_details(Code::FailedPrecondition, &refusal.message, details);
    refusal.code == Code::FailedPrecondition as i32 && reason(&status) == "INSUFFICIENT_FUNDS"
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_bw_29_a_refused_spin_ends_the_series_with_its_reason() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, BET - 1).await;
    let answers = play(&mut client, series("s", &account, 1000)).await;
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0].stop(), answers[0].spins_left), (AutospinStop::Refused, 1000));
    assert!(is_insufficient(&answers[0]));
    let spin = |change: &dyn Fn(&mut AutospinRequest)| {
        let mut request = series("x", &account, 10);
        change(&mut request);
        request
    };
    let cases = [
        ("no spins", spin(&|r| r.spins = 0), Code::InvalidArgument, "INVALID_FIELD"),
        ("1001 spins", spin(&|r| r.spins = 1001), Code::InvalidArgument, "INVALID_FIELD"),
        ("long id", spin(&|r| r.request_id = "x".repeat(60)), Code::InvalidArgument, "INVALID_FIELD"),
        ("no id", spin(&|r| r.request_id.clear()), Code::InvalidArgument, "INVALID_FIELD"),
        ("negative loss", spin(&|r| r.loss_limit_minor = Some(-1)), Code::InvalidArgument, "INVALID_FIELD"),
        ("no win", spin(&|r| r.win_limit_minor = Some(0)), Code::InvalidArgument, "INVALID_FIELD"),
        ("long pause", spin(&|r| r.pause_ms = 60_001), Code::InvalidArgument, "INVALID_FIELD"),
        ("bad session", spin(&|r| r.session_id = "x".into()), Code::InvalidArgument, "INVALID_FIELD"),
        ("no stake", spin(&|r| r.stake = None), Code::InvalidArgument, "INVALID_FIELD"),
        ("unknown game", spin(&|r| r.game = "poker".into()), Code::NotFound, "GAME_UNKNOWN"),
        ("16 lines", spin(&|r| r.stake.as_mut().unwrap().lines = 16), Code::InvalidArgument, "INVALID_STAKE"),
    ];
    for (name, request, code, why) in cases {
        let status = client.autospin(request, None).await.expect_err(name);
        assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{name}");
    }
    server.stop().await.unwrap();
}

mod forced {
    use super::*;
    use motherlode_tests::{Force, vials};

    #[tokio::test(flavor = "multi_thread")]
    async fn bw_25_a_series_waits_for_the_player_and_counts_what_the_round_won() {
        let data = tempfile::tempdir().unwrap();
        let server = start_fresh(&config(data.path())).await;
        let mut client = Client::connect(server.address()).await;
        let account = client.fund("alice", EUR, 1_000_000).await;
        let mut stream = client.autospin(series("s", &account, 3), Some(Force::Pick)).await.unwrap();
        let (mut win, mut position) = (0, 0);
        for number in 1..=3_u32 {
            let open = stream.message().await.unwrap().unwrap();
            let played = open.played.clone().unwrap();
            assert_eq!((played.state(), open.stop()), (RoundState::Open, AutospinStop::Unspecified));
            assert_eq!((open.spins_left, started(&server)), (4 - number, number.into()));
            assert!(
                played.position > position,
                "the next spin was played before the player had finished the open round"
            );
            let finished = finish(&mut client, &played).await;
            (win, position) = (win + finished.win.unwrap().amount_minor, finished.position);
            let counted = stream.message().await.unwrap().unwrap();
            assert_eq!((&counted.played, counted.spins_left), (&None, 3 - number));
            let jackpot = finished.jackpot.map_or(0, |won| won.amount.unwrap().amount_minor);
            win += jackpot;
            assert_eq!(counted.total_win.as_ref().unwrap().amount_minor, win);
            assert_eq!(counted.total_bet.as_ref().unwrap().amount_minor, BET * i64::from(number));
            let stop = if number == 3 { AutospinStop::Complete } else { AutospinStop::Unspecified };
            assert_eq!(counted.stop(), stop);
        }
        assert_eq!(stream.message().await.unwrap(), None);
        server.stop().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bw_25_bw_29_a_series_that_only_loses_ends_with_the_money_or_at_the_limit() {
        let data = tempfile::tempdir().unwrap();
        let server = start_fresh(&config(data.path())).await;
        let mut client = Client::connect(server.address()).await;
        let account = client.fund("alice", EUR, 5 * BET + 1).await;
        let cases = [(Some(2 * BET), 3, AutospinStop::LossLimit), (None, 2, AutospinStop::Refused)];
        for (number, (loss_limit_minor, lost, stop)) in (0..).zip(cases) {
            let request = AutospinRequest { loss_limit_minor, ..series(&format!("s{number}"), &account, 100) };
            let mut stream = client.autospin(request, Some(Force::Loss)).await.unwrap();
            let (mut played, mut last) = (0, AutospinResponse::default());
            while let Some(answer) = stream.message().await.unwrap() {
                played += u32::from(answer.played.is_some());
                last = answer;
            }
            assert_eq!((played, last.stop(), last.spins_left), (lost, stop, 100 - lost));
            assert_eq!(stop == AutospinStop::Refused, last.refusal.is_some() && is_insufficient(&last));
        }
        assert_eq!(client.balance(&account).await, 1);
        server.stop().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bw_25_the_jackpot_ends_a_series_that_asked_for_it() {
        let data = tempfile::tempdir().unwrap();
        let server = start_fresh(&config(data.path())).await;
        let mut client = Client::connect(server.address()).await;
        let account = client.fund("alice", EUR, 1_000_000).await;
        for stop_on_jackpot in [false, true] {
            let mut request =
                AutospinRequest { stop_on_jackpot, ..series(&format!("s{stop_on_jackpot}"), &account, 9) };
            request.stake.as_mut().unwrap().coins_per_line = 10;
            let mut stream = client.autospin(request, Some(Force::Pick)).await.unwrap();
            let open = stream.message().await.unwrap().unwrap().played.unwrap();
            let id = format!("j{stop_on_jackpot}");
            let hit = client.choose(&id, &open.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
            let jackpot = hit.jackpot.as_ref().unwrap().amount.as_ref().unwrap().amount_minor;
            assert!(jackpot >= 2_000, "the jackpot of a coin of 0.01 is at least 20 EUR");
            let counted = stream.message().await.unwrap().unwrap();
            let stop = if stop_on_jackpot { AutospinStop::Jackpot } else { AutospinStop::Unspecified };
            assert_eq!((counted.stop(), counted.spins_left), (stop, 8));
            let win = hit.win.unwrap().amount_minor;
            assert_eq!(counted.total_win.unwrap().amount_minor, win + jackpot);
            if !stop_on_jackpot {
                let next = stream.message().await.unwrap().unwrap().played.expect("the series continues");
                drop(stream);
                finish(&mut client, &next).await;
            }
        }
        server.stop().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bw_25_bw_28_a_round_voided_while_the_series_waits_counts_for_nothing() {
        use motherlode_proto::ledger::v1::VoidRoundRequest;
        let data = tempfile::tempdir().unwrap();
        let server = start_fresh(&config(data.path())).await;
        let mut client = Client::connect(server.address()).await;
        let account = client.fund("alice", EUR, 1_000_000).await;
        let request = AutospinRequest { loss_limit_minor: Some(0), ..series("s", &account, 1) };
        let mut stream = client.autospin(request, Some(Force::Pick)).await.unwrap();
        let open = stream.message().await.unwrap().unwrap().played.unwrap();
        let void = VoidRoundRequest {
            request_id: "v".into(),
            round_id: open.round_id,
            reason: "test".into(),
            actor: "ann".into(),
        };
        client.ledger.void_round(void).await.unwrap();
        let last = stream.message().await.unwrap().unwrap();
        assert_eq!(last.stop(), AutospinStop::Complete, "a refunded bet does not count as a loss");
        assert_eq!((last.total_bet.unwrap().amount_minor, last.total_win.unwrap().amount_minor), (0, 0));
        server.stop().await.unwrap();
    }
}
