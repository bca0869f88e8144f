use super::{
    World, json, looked_up, rounds,
    scripted::{End, Fault, Wallet},
    until,
};
use motherlode_proto::{
    ledger::v1::request_outcome::State,
    report::v1::{ListRevenueRequest, Revenue},
};
use motherlode_state::{Account as Books, Currency};
use motherlode_tests::{Force, bet, next_choice, reason};
use std::sync::atomic::Ordering;
use tonic::Code;

const FUNDS: i64 = 1_000;
const HALF_A_MINUTE_MS: i64 = 30_000;

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_pl_32_a_wallet_that_lies_about_balances_changes_no_round_and_no_money() {
    const LIES: [i64; 6] = [i64::MIN, -1, 0, 1, FUNDS * 1_000, i64::MAX];
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let names: Vec<_> = (0..LIES.len()).map(|number| format!("p{number}")).collect();
        let (mut all_staked, mut all_won) = (0, 0);
        for (name, lie) in names.iter().zip(LIES) {
            let account = world.player(&mut client, name, FUNDS).await;
            let (mut staked, mut won) = (0, 0);
            for (id, force) in [("r1", Force::Open), ("r2", Force::Loss), ("r3", Force::Open)] {
                world.wallet.always(Fault::Lies(lie));
                let mut last = client.spin(bet(id, &account, "0.10"), Some(force)).await.unwrap();
                assert_eq!(
                    last.balance.as_ref().unwrap().amount_minor,
                    lie,
                    "the answer shows the balance that the wallet reported"
                );
                while let Some(kind) = next_choice(&last) {
                    last = client.choose(&format!("{id}.{}", last.step), &last.round_id, kind, None).await.unwrap();
                }
                staked += last.bet.unwrap().amount_minor;
                won += last.win.unwrap().amount_minor;
            }
            world.settled(&[name]).await;
            assert_eq!(rounds(&mut client, &account).await, 3, "each bet is played");
            assert_eq!(
                world.wallet.balance(name),
                FUNDS - staked + won,
                "the wallet moved exactly the confirmed amounts"
            );
            assert_eq!(client.balance(&account).await, 0, "false balances do not change the books");
            (all_staked, all_won) = (all_staked + staked, all_won + won);
        }
        let rows = client.report.list_revenue(ListRevenueRequest::default()).await.unwrap().into_inner().rows;
        let sum = |of: fn(&Revenue) -> &String| rows.iter().map(|row| of(row).parse::<i64>().unwrap()).sum::<i64>();
        assert_eq!((sum(|row| &row.bets_minor), sum(|row| &row.wins_minor)), (all_staked, all_won));
        assert_eq!(world.server.holding(Books::Transit("acme"), Currency::EUR), 0);
        world.wallet.script(&[]);
        world.reconciled(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_refusal_with_a_balance_that_would_do_is_a_refusal() {
    for world in World::both().await {
        let mut client = world.client("acme").await;
        let poor = world.player(&mut client, "poor", 1).await;
        world.wallet.always(Fault::Lies(i64::MAX));
        let status = client.spin(bet("r", &poor, "0.10"), None).await.unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (Code::FailedPrecondition, "INSUFFICIENT_FUNDS"));
        assert_eq!(rounds(&mut client, &poor).await, 0);
        world.wallet.script(&[]);
        world.reconciled(&["poor"]).await;
    }
}

async fn patient() -> [World; 2] {
    let (grpc, in_json) = (Wallet::default(), Wallet::default());
    let (address, _) = grpc.serve().await;
    let grpc = World::with(grpc, &format!("url = \"http://{address}\", answer_ms_max = 120000")).await;
    let url = format!("http://{}", json::serve(&in_json, None).await);
    let in_json = World::with(in_json, &format!("{}, answer_ms_max = 120000", json::settings(&url))).await;
    [grpc, in_json]
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_debit_that_is_confirmed_after_30_seconds_is_rolled_back_and_never_played() {
    for world in patient().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", FUNDS).await;
        let debit = "debit/acme/alice/r";
        world.wallet.always(Fault::AnswersLate);
        let (mut betting, account) = (client.clone(), alice.clone());
        let betting = tokio::spawn(async move { betting.spin(bet("r", &account, "0.10"), None).await });
        until(|| world.wallet.books().hanging.0 == 1, "the debit is applied").await;
        assert!(world.wallet.balance("alice") < FUNDS);
        world.wallet.script(&[]);
        world.clock.fetch_add(HALF_A_MINUTE_MS, Ordering::SeqCst);
        until(|| world.wallet.end(debit) == Some(End::RolledBack), "the debit is rolled back").await;
        world.settled(&["alice"]).await;
        world.wallet.catch_up();
        let status = betting.await.unwrap().unwrap_err();
        assert!(["DEBIT_ROLLED_BACK", "OUTCOME_UNKNOWN"].contains(&&*reason(&status)), "{status:?}");
        let ended = looked_up(&mut client, &alice, "r").await;
        assert_eq!((ended.state(), ended.reason.as_str()), (State::Refused, "DEBIT_ROLLED_BACK"));
        assert_eq!((rounds(&mut client, &alice).await, world.wallet.balance("alice")), (0, FUNDS));
        client.play_out(bet("next", &alice, "0.10")).await.unwrap();
        world.reconciled(&["alice"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_a_credit_that_is_confirmed_after_30_seconds_is_paid_once_and_holds_up_nobody() {
    for world in patient().await {
        let mut client = world.client("acme").await;
        let alice = world.player(&mut client, "alice", FUNDS).await;
        let bob = world.player(&mut client, "bob", FUNDS).await;
        let mut last = client.spin(bet("r", &alice, "0.10"), Some(Force::Open)).await.unwrap();
        world.wallet.always(Fault::AnswersLate);
        while let Some(kind) = next_choice(&last) {
            last = client.choose(&format!("c{}", last.step), &last.round_id, kind, None).await.unwrap();
        }
        let (staked, won) = (last.bet.unwrap().amount_minor, last.win.unwrap().amount_minor);
        until(|| world.wallet.books().hanging.0 == 1, "the credit is applied").await;
        assert_eq!(world.wallet.balance("alice"), FUNDS - staked + won);
        world.wallet.script(&[]);
        world.clock.fetch_add(HALF_A_MINUTE_MS, Ordering::SeqCst);
        for account in [&alice, &bob] {
            let again = client.spin(bet("again", account, "0.10"), Some(Force::Loss)).await.unwrap();
            assert_eq!(again.win.unwrap().amount_minor, 0);
        }
        assert_eq!(world.wallet.books().hanging.0, 1, "the first credit is still unanswered");
        world.wallet.catch_up();
        world.settled(&["alice", "bob"]).await;
        assert_eq!(world.wallet.balance("alice"), FUNDS - 2 * staked + won);
        world.reconciled(&["alice", "bob"]).await;
    }
}
