use motherlode_proto::{
    ledger::v1::{
        CancelRequestRequest, DepositRequest, GetAccountRequest, GetLogStatusRequest, GetRequestRequest,
        GetRoundRequest, GetTransactionRequest, ListRoundsRequest, OpenAccountRequest, RequestOutcome,
        SetExchangeRateRequest, VoidRoundRequest, WithdrawRequest, request_outcome::State,
    },
    round::v1::{Account, Stake, choice},
    spin::v1::SpinRequest,
};
use motherlode_tests::{Client, EUR, account, bet, checked, config, next_choice, reason, start, start_fresh};
use std::collections::BTreeSet;
use tonic::{Code, Status};
use tonic_types::StatusExt;

async fn position(client: &mut Client) -> u64 {
    client.ledger.get_log_status(GetLogStatusRequest {}).await.unwrap().into_inner().position
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_fifty_concurrent_calls_with_one_id_have_one_effect_and_one_answer() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100_000).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (mut client, request) = (client.clone(), bet("same", &account, "0.10"));
            tokio::spawn(async move { client.spin(request, None).await.unwrap() })
        })
        .collect();
    let mut answers = vec![];
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let rounds = ListRoundsRequest { account: Some(account.clone()), ..Default::default() };
    let rounds = client.ledger.list_rounds(rounds).await.unwrap().into_inner().rounds;
    assert_eq!(rounds.len(), 1);
    let mut other = bet("same", &account, "0.20");
    let status = client.spin(other.clone(), None).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::AlreadyExists, "REQUEST_ID_REUSED"));
    let last = client.play_out(bet("same", &account, "0.10")).await.unwrap().pop().unwrap();
    server.stop().await.unwrap();

    for lose_index in [false, true] {
        if lose_index {
            std::fs::remove_dir_all(data.path().join("index")).unwrap();
        }
        let server = start(data.path()).await;
        let mut client = Client::connect(server.address()).await;
        let again = client.spin(bet("same", &account, "0.10"), None).await.unwrap();
        assert_eq!(again, answers[0]);
        other.request_id = "same".to_owned();
        assert_eq!(reason(&client.spin(other.clone(), None).await.unwrap_err()), "REQUEST_ID_REUSED");
        assert_eq!(client.balance(&account).await, last.balance.as_ref().unwrap().amount_minor);
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_15_deposits_and_withdrawals_are_idempotent_and_can_be_looked_up() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", "KWD", 5_000).await;
    let withdraw = WithdrawRequest { request_id: "w1".into(), account: Some(account.clone()), amount_minor: 1_234 };
    let first = client.ledger.withdraw(withdraw.clone()).await.unwrap().into_inner().transaction.unwrap();
    let second = client.ledger.withdraw(withdraw.clone()).await.unwrap().into_inner().transaction.unwrap();
    assert_eq!(first, second);
    assert_eq!(client.balance(&account).await, 3_766);
    let found = GetTransactionRequest { account: Some(account.clone()), request_id: "w1".into() };
    let found = client.ledger.get_transaction(found).await.unwrap().into_inner().transaction.unwrap();
    assert_eq!(found, first);
    let too_much = WithdrawRequest { request_id: "w2".into(), amount_minor: 3_767, ..withdraw };
    let status = client.ledger.withdraw(too_much).await.unwrap_err();
    assert_eq!(reason(&status), "INSUFFICIENT_FUNDS");
    server.stop().await.unwrap();
}

async fn looked_up(client: &mut Client, account: &Account, request_id: &str) -> RequestOutcome {
    let request =
        GetRequestRequest { account: Some(account.clone()), request_id: request_id.into(), ..Default::default() };
    client.ledger.get_request(request).await.unwrap().into_inner().outcome.unwrap()
}

async fn cancelled(client: &mut Client, account: &Account, request_id: &str) -> RequestOutcome {
    let request =
        CancelRequestRequest { account: Some(account.clone()), request_id: request_id.into(), ..Default::default() };
    client.ledger.cancel_request(request).await.unwrap().into_inner().outcome.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_33_a_request_whose_answer_was_lost_is_found_or_never_applied() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 100_000).await;
    let played = client.play_out(bet("played", &alice, "0.10")).await.unwrap().pop().unwrap();
    let deposit = DepositRequest { request_id: "in".into(), account: Some(alice.clone()), amount_minor: 5 };
    let booked = client.ledger.deposit(deposit).await.unwrap().into_inner().transaction.unwrap();
    let poor = WithdrawRequest { request_id: "poor".into(), account: Some(alice.clone()), amount_minor: 1 << 40 };
    client.ledger.withdraw(poor).await.unwrap_err();
    let before = position(&mut client).await;
    for request_id in ["never", "poor"] {
        let unseen = looked_up(&mut client, &alice, request_id).await;
        assert_eq!((unseen.state(), unseen.round, unseen.transaction), (State::Unseen, None, None));
        assert!(unseen.position >= before);
    }
    let balance = client.balance(&alice).await;
    let never = cancelled(&mut client, &alice, "never").await;
    assert_eq!((never.state(), never.round.clone()), (State::Cancelled, None));
    assert!(never.position > before);
    server.stop().await.unwrap();

    for lose_index in [false, true] {
        if lose_index {
            std::fs::remove_dir_all(data.path().join("index")).unwrap();
        }
        let server = start(data.path()).await;
        let mut client = Client::connect(server.address()).await;
        let round = GetRoundRequest { round_id: played.round_id.clone() };
        let round = client.ledger.get_round(round).await.unwrap().into_inner().round;
        for applied in [looked_up(&mut client, &alice, "played").await, cancelled(&mut client, &alice, "played").await]
        {
            assert_eq!((applied.state(), applied.step, &applied.round), (State::Applied, 1, &round));
        }
        let applied = cancelled(&mut client, &alice, "in").await;
        assert_eq!((applied.state(), applied.transaction.as_ref()), (State::Applied, Some(&booked)));
        for found in [looked_up(&mut client, &alice, "never").await, cancelled(&mut client, &alice, "never").await] {
            assert_eq!(found, never);
        }
        let late = client.spin(bet("never", &alice, "0.10"), None).await.unwrap_err();
        assert_eq!((late.code(), reason(&late).as_str()), (Code::FailedPrecondition, "REQUEST_CANCELLED"));
        let account = GetAccountRequest { account: Some(alice.clone()) };
        let account = client.ledger.get_account(account).await.unwrap().into_inner();
        assert_eq!(account.balance.unwrap().amount_minor, balance);
        assert_eq!(account.position, never.position, "the player's last commit is the cancellation");
        server.stop().await.unwrap();
    }
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_33_of_a_bet_and_its_cancellation_exactly_one_comes_true() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 100_000).await;
    let (mut applied, mut refused) = (0, 0);
    for number in 0..60 {
        let request_id = format!("r{number}");
        let (mut cancels, mut looks, account) = (client.clone(), client.clone(), alice.clone());
        let (id, of) = (request_id.clone(), alice.clone());
        let look = tokio::spawn(async move { looked_up(&mut looks, &of, &id).await });
        let id = request_id.clone();
        let cancel = async move {
            loop {
                let outcome = cancelled(&mut cancels, &account, &id).await;
                if outcome.state() != State::Pending {
                    return outcome;
                }
            }
        };
        let bet = client.spin(bet(&request_id, &alice, "0.01"), None);
        let (bet, cancel) = match number % 2 {
            0 => tokio::join!(bet, cancel),
            _ => {
                let (cancel, bet) = tokio::join!(cancel, bet);
                (bet, cancel)
            }
        };
        match cancel.state() {
            State::Applied => assert_eq!(cancel.round.as_ref().unwrap().round_id, bet.as_ref().unwrap().round_id),
            _ => {
                let reason = reason(bet.as_ref().unwrap_err());
                assert!(["REQUEST_CANCELLED", "DEBIT_ROLLED_BACK"].contains(&&*reason), "{reason}");
            }
        }
        let (looked, settled) = (look.await.unwrap(), looked_up(&mut client, &alice, &request_id).await);
        let open = [State::Unseen, State::Pending].contains(&looked.state());
        assert!(open || looked.position == settled.position);
        assert_eq!(settled.state(), cancel.state());
        match bet {
            Ok(mut played) => {
                applied += 1;
                while let Some(choice) = next_choice(&played) {
                    let id = format!("{request_id}-{}", played.step);
                    played = client.choose(&id, &played.round_id, choice, None).await.unwrap();
                }
            }
            Err(_) => refused += 1,
        }
    }
    let rounds = ListRoundsRequest { account: Some(alice), page_size: 100, ..Default::default() };
    assert_eq!(client.ledger.list_rounds(rounds).await.unwrap().into_inner().rounds.len(), applied);
    assert_eq!(applied + refused, 60);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_refusals_say_why_and_change_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, 100).await;
    let sek = client.fund("sven", "SEK", 100_000).await;
    let jpy = client.fund("yuki", "JPY", 100_000).await;
    let mut before = position(&mut client).await;
    let spin = |change: &dyn Fn(&mut SpinRequest)| {
        let mut request = bet("x", &alice, "0.01");
        change(&mut request);
        request
    };
    let stake = |coin: &str, lines, coins_per_line| {
        Some(Stake { coin_value: coin.to_owned(), lines, coins_per_line, buy_feature: false })
    };
    let of = |account: &Account| account.clone();
    let cases: Vec<(&str, SpinRequest, Code, &str)> = vec![
        ("no id", spin(&|r| r.request_id.clear()), Code::InvalidArgument, "INVALID_FIELD"),
        ("bad id", spin(&|r| r.request_id = "a b".into()), Code::InvalidArgument, "INVALID_FIELD"),
        ("long id", spin(&|r| r.request_id = "x".repeat(65)), Code::InvalidArgument, "INVALID_FIELD"),
        ("no account", spin(&|r| r.account = None), Code::InvalidArgument, "INVALID_FIELD"),
        ("bad currency", spin(&|r| r.account = Some(account("alice", "XXX"))), Code::InvalidArgument, "INVALID_FIELD"),
        ("no stake", spin(&|r| r.stake = None), Code::InvalidArgument, "INVALID_FIELD"),
        ("bad coin", spin(&|r| r.stake = stake("1e3", 15, 1)), Code::InvalidArgument, "INVALID_FIELD"),
        ("bad witch", spin(&|r| r.witch = 9), Code::InvalidArgument, "INVALID_FIELD"),
        ("unknown game", spin(&|r| r.game = "poker".into()), Code::NotFound, "GAME_UNKNOWN"),
        ("unknown version", spin(&|r| r.rules_version = "0.1".into()), Code::NotFound, "GAME_UNKNOWN"),
        ("coin not offered", spin(&|r| r.stake = stake("0.03", 15, 1)), Code::InvalidArgument, "INVALID_STAKE"),
        ("no lines", spin(&|r| r.stake = stake("0.01", 0, 1)), Code::InvalidArgument, "INVALID_STAKE"),
        ("16 lines", spin(&|r| r.stake = stake("0.01", 16, 1)), Code::InvalidArgument, "INVALID_STAKE"),
        ("11 coins", spin(&|r| r.stake = stake("0.01", 15, 11)), Code::InvalidArgument, "INVALID_STAKE"),
        ("unknown player", spin(&|r| r.account = Some(account("nobody", EUR))), Code::NotFound, "ACCOUNT_UNKNOWN"),
        ("other currency", spin(&|r| r.account = Some(account("alice", "USD"))), Code::NotFound, "ACCOUNT_UNKNOWN"),
        ("fraction of a yen", spin(&|r| r.account = Some(of(&jpy))), Code::InvalidArgument, "INVALID_STAKE"),
        ("bw_05 no witch", spin(&|r| r.witch = 0), Code::FailedPrecondition, "WITCH_NOT_PICKED"),
        ("bw_29 no money", spin(&|r| r.stake = stake("0.20", 15, 1)), Code::FailedPrecondition, "INSUFFICIENT_FUNDS"),
        ("no rate", spin(&|r| r.account = Some(of(&sek))), Code::FailedPrecondition, "RATE_UNKNOWN"),
    ];
    for (name, request, code, why) in cases {
        let status = client.spin(request, None).await.expect_err(name);
        assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{name}: {status}");
    }
    let dear = SetExchangeRateRequest {
        request_id: "rate".into(),
        currency_code: "SEK".into(),
        eur_per_unit: "1.5".into(),
        source: "test".into(),
    };
    client.ledger.set_exchange_rate(dear).await.unwrap();
    before += 1;
    // BW-12: the pool accepts coins up to 10 EUR.
    let request = spin(&|r| {
        r.account = Some(of(&sek));
        r.stake = stake("10.00", 1, 1);
    });
    assert_eq!(reason(&client.spin(request, None).await.unwrap_err()), "INVALID_STAKE");
    other_refusals(&mut client, &alice).await;
    assert_eq!(position(&mut client).await, before, "the refused requests wrote no commit");
    server.stop().await.unwrap();
}

async fn other_refusals(client: &mut Client, alice: &Account) {
    fn expect<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, why: &str) {
        let status = result.unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (code, why), "{status}");
    }
    let collect = choice::Kind::Collect(choice::Collect {});
    let choose = client.choose("c", "acme/alice/1", collect.clone(), None).await;
    expect(choose, Code::NotFound, "ROUND_UNKNOWN");
    expect(client.choose("c", "nonsense", collect.clone(), None).await, Code::InvalidArgument, "INVALID_FIELD");
    let none = choice::Kind::Pick(choice::Pick { numbers: vec![0, 1, 2] });
    expect(client.choose("c", "acme/alice/1", none, None).await, Code::InvalidArgument, "INVALID_FIELD");
    let open = OpenAccountRequest { request_id: "again".into(), account: Some(alice.clone()) };
    expect(client.ledger.open_account(open).await, Code::AlreadyExists, "ACCOUNT_EXISTS");
    for amount_minor in [0, -5, i64::MIN] {
        let deposit = DepositRequest { request_id: "d".into(), account: Some(alice.clone()), amount_minor };
        expect(client.ledger.deposit(deposit).await, Code::InvalidArgument, "INVALID_FIELD");
    }
    let nobody = GetAccountRequest { account: Some(account("nobody", EUR)) };
    expect(client.ledger.get_account(nobody).await, Code::NotFound, "ACCOUNT_UNKNOWN");
    let round = GetRoundRequest { round_id: "acme/alice/99".into() };
    expect(client.ledger.get_round(round).await, Code::NotFound, "ROUND_UNKNOWN");
    let void = VoidRoundRequest {
        request_id: "v".into(),
        round_id: "acme/alice/99".into(),
        reason: "r".into(),
        actor: "a".into(),
    };
    expect(client.ledger.void_round(void).await, Code::NotFound, "ROUND_UNKNOWN");
    let page = ListRoundsRequest { account: Some(alice.clone()), page_token: "x".into(), ..Default::default() };
    expect(client.ledger.list_rounds(page).await, Code::InvalidArgument, "INVALID_FIELD");
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_29_a_bet_above_the_balance_is_offered_the_minimum_bet() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100).await;
    let status = client.spin(bet("x", &account, "1.00"), None).await.unwrap_err();
    let details = status.get_error_details();
    let metadata = &details.error_info().unwrap().metadata;
    let expected =
        [("balance_minor", "100"), ("bet_minor", "1500"), ("minimum_bet_minor", "1"), ("currency_code", "EUR")];
    for (key, value) in expected {
        assert_eq!(metadata[key], value, "{key}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_05_the_witch_is_remembered_and_may_be_changed() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100_000).await;
    client.play_out(bet("one", &account, "0.01")).await.unwrap();
    server.stop().await.unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    for (id, witch) in [("two", 0), ("three", 2), ("four", 0)] {
        let mut request = bet(id, &account, "0.01");
        request.witch = witch;
        client.play_out(request).await.unwrap();
        let picked = server.player("alice").collection("bewitched", "").unwrap()["witch"];
        assert_eq!(picked, if id == "two" { 1 } else { 2 }, "{id}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_30_pl_05_history_pages_through_all_rounds_latest_first() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100_000).await;
    for round in 0..25 {
        client.play_out(bet(&format!("r{round}"), &account, "0.01")).await.unwrap();
    }
    let mut request = ListRoundsRequest { account: Some(account.clone()), ..Default::default() };
    let (mut pages, mut names) = (vec![], vec![]);
    loop {
        let page = client.ledger.list_rounds(request.clone()).await.unwrap().into_inner();
        pages.push(page.rounds.len());
        names.extend(page.rounds.into_iter().map(|round| round.round_id));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(pages, [10, 10, 5], "the first page has the last ten rounds");
    let expected: Vec<_> = (1..=25).rev().map(|number| format!("acme/alice/{number}")).collect();
    assert_eq!(names, expected);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_13_bw_16_rates_of_five_currencies_price_contributions() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let rates = [("USD", "0.92"), ("SEK", "0.0875"), ("JPY", "0.0061"), ("KWD", "3.01")];
    for (currency, rate) in rates {
        let request = SetExchangeRateRequest {
            request_id: format!("rate-{currency}"),
            currency_code: currency.into(),
            eur_per_unit: rate.into(),
            source: "test".into(),
        };
        client.ledger.set_exchange_rate(request).await.unwrap();
    }
    let expected = [("EUR", "0.075"), ("USD", "0.069"), ("SEK", "0.0065625"), ("JPY", "0.0004575"), ("KWD", "0.22575")];
    let mut rates = BTreeSet::new();
    for (currency, contribution) in expected {
        let account = client.fund(&format!("p{currency}"), currency, 1_000_000).await;
        let played = client.play_out(bet("r", &account, "1.00")).await.unwrap().pop().unwrap();
        let round = client.ledger.get_round(GetRoundRequest { round_id: played.round_id }).await.unwrap();
        let round = round.into_inner().round.unwrap();
        assert_eq!(round.contribution_eur, contribution, "{currency}");
        rates.insert(round.exchange_rate);
    }
    assert_eq!(rates.len(), 5);
    server.stop().await.unwrap();
}
