use crate::lists::{NOON, serve};
use motherlode_proto::{
    ledger::v1::VoidRoundRequest,
    report::v1::ListOperatorRoundsRequest,
    round::v1::{Round, RoundState},
};
use motherlode_tests::{Client, EUR, Force, bet};
use prost_types::Timestamp;
use std::{
    cmp::Reverse,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};
use tonic::Code;

type Wanted = ListOperatorRoundsRequest;

fn acme() -> Wanted {
    Wanted { operator_id: "acme".into(), ..Wanted::default() }
}

async fn listed(client: &mut Client, request: Wanted) -> Vec<Round> {
    let (mut all, mut page_token) = (vec![], String::new());
    loop {
        let request = Wanted { page_token, ..request.clone() };
        let page = client.report.list_operator_rounds(request.clone()).await.unwrap().into_inner();
        assert!(page.rounds.len() <= usize::try_from(request.page_size.max(50)).unwrap());
        assert_eq!(page.searched_time.is_none(), page.next_page_token.is_empty());
        all.extend(page.rounds);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return all;
        }
    }
}

fn names<'a>(rounds: impl IntoIterator<Item = &'a Round>) -> Vec<&'a str> {
    rounds.into_iter().map(|round| round.round_id.as_str()).collect()
}

fn win(round: &Round) -> i64 {
    round.win.as_ref().map_or(0, |win| win.amount_minor)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_34_rounds_of_all_players_are_listed_once_in_the_order_of_their_bets() {
    let (data, clock) = (tempfile::tempdir().unwrap(), Arc::new(AtomicI64::new(NOON)));
    let (server, mut client) = serve(data.path(), &clock).await;
    let mut played = vec![];
    for (number, player) in (0..6).cycle().take(90).enumerate() {
        clock.fetch_add(i64::from(number % 3 == 0), Ordering::SeqCst);
        let name = format!("p{player}");
        let account = client.fund(&name, EUR, 100_000).await;
        let force = if number < 84 { Force::Loss } else { Force::Open };
        let round = client.spin(bet(&format!("r{number}"), &account, "0.01"), Some(force)).await.unwrap();
        played.push((clock.load(Ordering::SeqCst), server.ledger_of(&name).partition(), number, round.round_id));
    }
    played.sort_by_key(|(time_ms, partition, number, _)| Reverse((*time_ms, *partition, *number)));
    let expected: Vec<_> = played.iter().map(|(.., name)| name.as_str()).collect();
    for page_size in [0, 1, 7, 200] {
        let all = listed(&mut client, Wanted { page_size, ..acme() }).await;
        assert_eq!(names(&all), expected, "pages of {page_size}");
        assert!(all.iter().all(|round| round.steps.len() == 1 && round.steps[0].outcome.is_none()));
    }
    let void = VoidRoundRequest {
        request_id: "v".into(),
        round_id: expected[40].to_owned(),
        reason: "reel 3 stuck".into(),
        ..Default::default()
    };
    client.ledger.void_round(void).await.unwrap();
    let all = listed(&mut client, acme()).await;
    let most = all.iter().map(win).max().unwrap();
    let second = |ms: i64| Some(Timestamp { seconds: ms.div_euclid(1_000), nanos: 0 });
    let after = |ms: i64| {
        let nanos = i32::try_from(ms % 1_000 * 1_000_000).unwrap();
        Some(Timestamp { seconds: ms.div_euclid(1_000), nanos })
    };
    let times = |first: i64, end: i64| {
        let within = move |round: &&Round| {
            let time = round.start_time.unwrap();
            (first..end).contains(&(time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000))
        };
        all.iter().filter(within)
    };
    let state = |state: RoundState| Wanted { state: state.into(), page_size: 3, ..acme() };
    for (request, wanted) in [
        (state(RoundState::Voided), vec![expected[40]]),
        (state(RoundState::Open), names(all.iter().filter(|round| round.state() == RoundState::Open))),
        (state(RoundState::Settled), names(all.iter().filter(|round| round.state() == RoundState::Settled))),
        (Wanted { win_min_minor: most.max(1), ..acme() }, names(all.iter().filter(|round| win(round) >= most.max(1)))),
        (Wanted { game: "bewitched".into(), ..acme() }, expected.clone()),
        (Wanted { game: "neptune".into(), ..acme() }, vec![]),
        (Wanted { currency_code: "SEK".into(), ..acme() }, vec![]),
        (Wanted { free_only: true, ..acme() }, vec![]),
        (Wanted { from_time: second(NOON + 60_000), ..acme() }, vec![]),
        (Wanted { end_time: second(NOON), ..acme() }, vec![]),
        (
            Wanted { from_time: after(NOON + 7), end_time: after(NOON + 21), page_size: 5, ..acme() },
            names(times(NOON + 7, NOON + 21)),
        ),
        (Wanted { operator_id: "nobody".into(), ..acme() }, vec![]),
    ] {
        assert_eq!(names(&listed(&mut client, request.clone()).await), wanted, "{request:?}");
    }
    assert_eq!(names(times(NOON + 7, NOON + 21)).len(), 42);
    for request in [
        Wanted { operator_id: String::new(), ..acme() },
        Wanted { state: 9, ..acme() },
        Wanted { win_min_minor: -1, ..acme() },
        Wanted { page_size: -1, ..acme() },
        Wanted { currency_code: "E".into(), ..acme() },
        Wanted { page_token: "1.0".into(), ..acme() },
        Wanted { page_token: "1.0.0".into(), ..acme() },
        Wanted { page_token: "1.99999999999.1".into(), ..acme() },
        Wanted { from_time: Some(Timestamp { seconds: -1, nanos: 0 }), ..acme() },
    ] {
        let refused = client.report.list_operator_rounds(request.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{request:?}");
    }
    for forged in ["9223372036854775807.0.18446744073709551615", "0.0.1", "1.4000000000.1"] {
        let request = Wanted { page_token: forged.into(), ..acme() };
        client.report.list_operator_rounds(request).await.unwrap();
    }
    server.stop().await.unwrap();
}
