use motherlode_proto::{
    jackpot::v1::{ChangePoolTermsRequest, OpenPoolRequest, PoolTerms},
    ledger::v1::{DepositRequest, GetAccountRequest, OpenAccountRequest, SetExchangeRateRequest, WithdrawRequest},
    round::v1::{Account, Stake},
    spin::v1::{AutospinRequest, GrantCampaignRequest, OpenSessionRequest, SessionLimits, SpinRequest},
};
use motherlode_tests::{Client, EUR, Server, account, bet, checked, config, reason, start, start_fresh};
use proptest::{prelude::*, test_runner::TestRunner};
use std::collections::BTreeMap;
use tonic::{Code, Status};
use tonic_types::StatusExt;

const BALANCE_MAX: i64 = 1_000_000_000_000_000;
const AMOUNT_MAX: i64 = 10_000_000_000_000;

fn deposit(request_id: &str, account: &Account, amount_minor: i64) -> DepositRequest {
    DepositRequest { request_id: request_id.to_owned(), account: Some(account.clone()), amount_minor }
}

fn withdraw(request_id: &str, account: &Account, amount_minor: i64) -> WithdrawRequest {
    WithdrawRequest { request_id: request_id.to_owned(), account: Some(account.clone()), amount_minor }
}

fn refused<T: std::fmt::Debug>(result: Result<T, Status>) -> (Code, String, Option<i64>) {
    let status = result.unwrap_err();
    let details = status.get_error_details();
    let limit = details.error_info().and_then(|info| info.metadata.get("limit_minor")?.parse().ok());
    (status.code(), reason(&status), limit)
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_01_what_passes_a_ceiling_is_refused_with_the_limit_and_changes_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let alice = client.fund("alice", EUR, AMOUNT_MAX).await;
    for part in 1..100 {
        client.ledger.deposit(deposit(&format!("d{part}"), &alice, AMOUNT_MAX)).await.unwrap();
    }
    assert_eq!(client.balance(&alice).await, BALANCE_MAX);
    let before = server.ends();
    let above = |reason: &str, limit| (Code::FailedPrecondition, reason.to_owned(), Some(limit));
    let one_more = client.ledger.deposit(deposit("more", &alice, 1)).await;
    assert_eq!(refused(one_more), above("BALANCE_ABOVE_LIMIT", BALANCE_MAX));
    for amount in [AMOUNT_MAX + 1, i64::MAX] {
        let too_much = client.ledger.deposit(deposit("more", &alice, amount)).await;
        assert_eq!(refused(too_much), above("AMOUNT_ABOVE_LIMIT", AMOUNT_MAX));
    }
    let too_much = client.ledger.withdraw(withdraw("more", &alice, BALANCE_MAX + 1)).await;
    assert_eq!(refused(too_much), above("AMOUNT_ABOVE_LIMIT", BALANCE_MAX));
    for (loss, most) in [(AMOUNT_MAX + 1, 1), (1, i64::MAX)] {
        let limits =
            SessionLimits { loss_max_minor: Some(loss), bet_max_minor: Some(most), ..SessionLimits::default() };
        let session = OpenSessionRequest {
            request_id: "s".into(),
            account: Some(alice.clone()),
            game: "neptune".into(),
            limits: Some(limits),
            ..OpenSessionRequest::default()
        };
        assert_eq!(refused(client.spin.open_session(session).await), above("AMOUNT_ABOVE_LIMIT", AMOUNT_MAX));
        let SpinRequest { account, game, stake, .. } = bet("a", &alice, "0.01");
        let series = AutospinRequest {
            request_id: "a".into(),
            account,
            game,
            stake,
            spins: 1,
            loss_limit_minor: Some(loss),
            win_limit_minor: Some(most),
            ..AutospinRequest::default()
        };
        assert_eq!(refused(client.autospin(series, None).await), above("AMOUNT_ABOVE_LIMIT", AMOUNT_MAX));
    }
    for rate in ["0.000000001", "999999999"] {
        let rate = client.ledger.set_exchange_rate(rate_of("r", "SEK", rate)).await;
        assert_eq!(refused(rate), (Code::FailedPrecondition, "RATE_OUT_OF_BOUNDS".to_owned(), None));
    }
    assert_eq!(server.ends(), before);
    client.ledger.withdraw(withdraw("out", &alice, BALANCE_MAX)).await.unwrap();
    client.ledger.deposit(deposit("in", &alice, AMOUNT_MAX)).await.unwrap();
    client.play_out(bet("b", &alice, "0.01")).await.unwrap();
    server.stop().await.unwrap();
}

fn rate_of(request_id: &str, currency: &str, eur_per_unit: &str) -> SetExchangeRateRequest {
    SetExchangeRateRequest {
        request_id: request_id.to_owned(),
        currency_code: currency.to_owned(),
        eur_per_unit: eur_per_unit.to_owned(),
        source: "test".to_owned(),
    }
}

#[derive(Debug, Clone)]
enum Call {
    Deposit(i64),
    Withdraw(i64),
    Bet(String, u32, u32),
    Campaign(String, u32, u32),
    Session(i64, i64),
    Series(i64, i64),
    Rate(String),
    Terms(u32, String, String, u32),
    Restart,
}

fn amount() -> impl Strategy<Value = i64> {
    let ends = [i64::MIN, -1, 0, 1, AMOUNT_MAX - 1, AMOUNT_MAX, AMOUNT_MAX + 1, BALANCE_MAX, BALANCE_MAX + 1, i64::MAX];
    prop_oneof![prop::sample::select(ends.to_vec()), any::<i64>()]
}

fn decimal() -> impl Strategy<Value = String> {
    let ends = [
        "0",
        "-1",
        "0.000000000001",
        "0.000000001",
        "0.01",
        "1",
        "10",
        "1000",
        "10000",
        "99999999",
        "1000000000",
        "999999999999",
        "999999999999000000",
        "18446744073709.551615",
        "170141183460469231731687303715",
        "1e9",
        "",
    ];
    prop::sample::select(ends.map(str::to_owned).to_vec())
}

fn count() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0, 1, 5, 10, 15, 1_000_000, u32::MAX])
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => amount().prop_map(Call::Deposit),
        2 => amount().prop_map(Call::Withdraw),
        2 => (decimal(), count(), count()).prop_map(|(coin, lines, coins)| Call::Bet(coin, lines, coins)),
        2 => (decimal(), count(), count()).prop_map(|(coin, lines, coins)| Call::Campaign(coin, lines, coins)),
        1 => (amount(), amount()).prop_map(|(loss, bet)| Call::Session(loss, bet)),
        1 => (amount(), amount()).prop_map(|(loss, win)| Call::Series(loss, win)),
        2 => decimal().prop_map(Call::Rate),
        2 => (count(), decimal(), decimal(), count())
            .prop_map(|(ppm, seed, coin, refresh)| Call::Terms(ppm, seed, coin, refresh)),
        1 => Just(Call::Restart),
    ]
}

async fn make(client: &mut Client, number: usize, alice: &Account, call: &Call) -> bool {
    let id = format!("n{number}");
    let stake = |coin: &str, lines: u32, coins: u32| {
        Some(Stake { coin_value: coin.to_owned(), lines, coins_per_line: coins, buy_feature: false })
    };
    let result = match call.clone() {
        Call::Deposit(amount) => client.ledger.deposit(deposit(&id, alice, amount)).await.map(drop),
        Call::Withdraw(amount) => client.ledger.withdraw(withdraw(&id, alice, amount)).await.map(drop),
        Call::Bet(coin, lines, coins) => {
            let request = SpinRequest { stake: stake(&coin, lines, coins), ..bet(&id, alice, "0.01") };
            client.play_out(request).await.map(drop)
        }
        Call::Campaign(coin, lines, coins) => {
            let request = GrantCampaignRequest {
                request_id: id.clone(),
                account: Some(alice.clone()),
                campaign_id: id,
                game: "neptune".into(),
                stake: stake(&coin, lines, coins),
                rounds: coins,
                expire_time: Some(prost_types::Timestamp { seconds: 4_102_444_800, nanos: 0 }),
            };
            client.spin.grant_campaign(request).await.map(drop)
        }
        Call::Session(loss, most) => {
            let limits =
                SessionLimits { loss_max_minor: Some(loss), bet_max_minor: Some(most), ..SessionLimits::default() };
            let request = OpenSessionRequest {
                request_id: id,
                account: Some(alice.clone()),
                game: "neptune".into(),
                limits: Some(limits),
                ..OpenSessionRequest::default()
            };
            client.spin.open_session(request).await.map(drop)
        }
        Call::Series(loss, win) => {
            let SpinRequest { account, game, stake, .. } = bet(&id, alice, "0.01");
            let request = AutospinRequest {
                request_id: id,
                account,
                game,
                stake,
                spins: 1,
                loss_limit_minor: Some(loss),
                win_limit_minor: Some(win),
                ..AutospinRequest::default()
            };
            match client.autospin(request, None).await {
                Ok(mut answers) => answers.message().await.map(drop),
                Err(status) => Err(status),
            }
        }
        Call::Rate(rate) => client.ledger.set_exchange_rate(rate_of(&id, "SEK", &rate)).await.map(drop),
        Call::Terms(contribution_ppm, seed_eur, base_coin, refresh_ms) => {
            let terms = Some(PoolTerms { contribution_ppm, seed_eur, base_coin, refresh_ms, ..PoolTerms::default() });
            let (pool_id, other) = ("bewitched".to_owned(), format!("pool-{number}"));
            let change = ChangePoolTermsRequest { request_id: id.clone(), pool_id, terms: terms.clone() };
            let changed = client.jackpot.change_pool_terms(change).await.map(drop);
            let open = OpenPoolRequest { request_id: id, pool_id: other, terms };
            changed.and(client.jackpot.open_pool(open).await.map(drop))
        }
        Call::Restart => Ok(()),
    };
    let Err(status) = result else { return true };
    let faults = [Code::Internal, Code::Unknown, Code::Unavailable, Code::DataLoss, Code::DeadlineExceeded];
    assert!(!faults.contains(&status.code()) && !reason(&status).is_empty(), "{call:?}: {status}");
    false
}

fn sound(server: &Server) {
    for ledger in server.ledgers().all() {
        ledger.books(|books| {
            assert!(books.trial_balance().iter().all(|(_, sum)| sum.0 == 0));
            assert!(books.pools().all(motherlode_state::PoolState::is_balanced));
        });
    }
}

#[test]
fn uf_01_every_amount_at_its_ends_over_calls_and_restarts_leaves_the_books_sound() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let taken = std::cell::RefCell::new(BTreeMap::<&str, usize>::new());
    let ran = runner.run(&prop::collection::vec(call(), 24..32), |calls| {
        runtime.block_on(async {
            let data = tempfile::tempdir().unwrap();
            let mut server = start(data.path()).await;
            let mut client = Client::connect(server.address()).await;
            let alice = client.fund("alice", EUR, 1_000).await;
            for (number, call) in calls.iter().enumerate() {
                if matches!(call, Call::Restart) {
                    server.stop().await.unwrap();
                    server = start(data.path()).await;
                    client = Client::connect(server.address()).await;
                }
                let before = client.balance(&alice).await;
                let is_taken = make(&mut client, number, &alice, call).await;
                let after = client.balance(&alice).await;
                match *call {
                    Call::Deposit(amount) => {
                        let fits = (1..=AMOUNT_MAX).contains(&amount) && before + amount <= BALANCE_MAX;
                        assert_eq!(is_taken, fits, "{amount} on {before}");
                        assert_eq!(after - before, if fits { amount } else { 0 });
                    }
                    Call::Withdraw(amount) => assert_eq!(is_taken, amount > 0 && amount <= before, "{amount}"),
                    _ => {}
                }
                *taken.borrow_mut().entry(if is_taken { "taken" } else { "refused" }).or_default() += 1;
                sound(&server);
            }
            server.stop().await.unwrap();
            let server = start(data.path()).await;
            let mut client = Client::connect(server.address()).await;
            let bob = client.fund("bob", EUR, 1_000).await;
            client.ledger.get_account(GetAccountRequest { account: Some(bob) }).await.unwrap();
            let open = OpenAccountRequest { request_id: "o".into(), account: Some(account("bob", "SEK")) };
            client.ledger.open_account(open).await.unwrap();
            server.stop().await.unwrap();
            checked(data.path());
        });
        Ok(())
    });
    ran.unwrap();
    assert_eq!(taken.borrow().len(), 2, "some calls are accepted and some refused");
}
