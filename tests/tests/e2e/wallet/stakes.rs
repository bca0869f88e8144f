use super::{
    World, bet_within, looked_up, rounds,
    scripted::{End, Fault},
};
use motherlode_proto::{
    ledger::v1::request_outcome::State,
    round::v1::{Account, Awaiting, Card, RoundState, choice},
    spin::v1::SpinRequest,
};
use motherlode_slots::latest;
use motherlode_tests::{Client, Force, bet, next_choice, play, reason, smallest, stake_on};
use tonic::Code;

const TRIES: usize = 100;

const PRICE: i64 = 700;

fn bought(id: &str, account: &Account) -> SpinRequest {
    let game = latest("mystery-elves").unwrap();
    let mut request = stake_on(game, id, account, smallest(game));
    request.stake.as_mut().unwrap().buy_feature = true;
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_me_18_a_bought_feature_is_one_debit_of_its_whole_price() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let elsa = world.player(&mut client, "elsa", 10 * PRICE).await;
    let mut expected = 10 * PRICE;
    for number in 0..8 {
        let id = format!("b{number}");
        let steps = play(&mut client, latest("mystery-elves").unwrap(), bought(&id, &elsa), number).await;
        assert_eq!(world.wallet.books().transactions[&format!("debit/acme/elsa/{id}")].amount, -PRICE);
        expected += steps.last().unwrap().win.as_ref().unwrap().amount_minor - PRICE;
    }
    world.settled(&["elsa"]).await;
    assert_eq!(world.wallet.balance("elsa"), expected);
    let debits = world.wallet.books().order.iter().filter(|id| id.starts_with("debit/")).count();
    assert_eq!(debits, 8, "only bets are debited, not choices within a feature");
    world.reconciled(&["elsa"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_me_18_a_feature_that_the_wallet_does_not_pay_for_or_does_not_answer_for_is_not_played() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let poor = world.player(&mut client, "poor", PRICE - 1).await;
    let status = client.spin(bought("b", &poor), None).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::FailedPrecondition, "INSUFFICIENT_FUNDS"));
    assert_eq!((rounds(&mut client, &poor).await, world.wallet.balance("poor")), (0, PRICE - 1));

    let elsa = world.player(&mut client, "elsa", PRICE).await;
    world.wallet.always(Fault::LostAnswer);
    let status = bet_within(&mut client, bought("b", &elsa), 500).await.unwrap_err();
    assert_eq!(reason(&status), "OUTCOME_UNKNOWN");
    assert_eq!(looked_up(&mut client, &elsa, "b").await.state(), State::Pending);
    assert_eq!(rounds(&mut client, &elsa).await, 0, "no outcome exists before the debit is confirmed");
    let mut plain = bought("b", &elsa);
    plain.stake.as_mut().unwrap().buy_feature = false;
    assert_eq!(reason(&client.spin(plain, None).await.unwrap_err()), "REQUEST_ID_REUSED");
    world.wallet.script(&[]);
    let steps = play(&mut client, latest("mystery-elves").unwrap(), bought("b", &elsa), 3).await;
    world.settled(&["elsa"]).await;
    assert_eq!(world.wallet.balance("elsa"), steps.last().unwrap().win.as_ref().unwrap().amount_minor);
    world.reconciled(&["poor", "elsa"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_bw_22_a_gamble_asks_the_wallet_for_nothing_and_its_end_is_credited_once() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let alice = world.player(&mut client, "alice", 1_000).await;
    let mut expected = 1_000;
    for (id, guesses) in [("collected", 1), ("doubled", 5)] {
        world.wallet.script(&[]);
        let request = SpinRequest { offer_double: true, ..bet(id, &alice, "0.01") };
        let mut last = client.spin(request, Some(Force::Double)).await.unwrap();
        expected -= last.bet.as_ref().unwrap().amount_minor;
        world.settled(&["alice"]).await;
        assert_eq!(world.wallet.balance("alice"), expected, "a win is not credited while it can be gambled");
        let calls = world.wallet.books().calls;
        world.wallet.always(Fault::LostCall);
        for turn in 1..=guesses {
            let guess = choice::Kind::Double(Card::RedHeart.into());
            let named = format!("{id}.{turn}");
            last = client.choose(&named, &last.round_id, guess, Some(Force::Right)).await.unwrap();
            if last.state() == RoundState::Open {
                assert_eq!(world.wallet.books().calls, calls, "the open round causes no wallet call");
            }
        }
        while let Some(kind) = next_choice(&last) {
            last = client.choose(&format!("{id}.end.{}", last.step), &last.round_id, kind, None).await.unwrap();
        }
        assert_eq!(last.state(), RoundState::Settled);
        world.wallet.script(&[]);
        world.settled(&["alice"]).await;
        expected += last.win.as_ref().unwrap().amount_minor;
        assert_eq!(world.wallet.balance("alice"), expected);
    }
    let credits = world.wallet.books().order.iter().filter(|id| id.starts_with("credit/")).count();
    assert_eq!(credits, 2, "each round has one credit");
    world.reconciled(&["alice"]).await;
}

async fn gambling(client: &mut Client, account: &Account) -> (String, String, i64) {
    for number in 0..TRIES {
        let id = format!("h{number}");
        let mut last = client.spin(bought(&id, account), None).await.unwrap();
        while let Some(kind) = next_choice(&last) {
            let win = last.win.as_ref().unwrap().amount_minor;
            if last.outcome.as_ref().unwrap().awaiting() == Awaiting::Double && win > 1 {
                return (format!("{id}.half"), last.round_id, win);
            }
            last = client.choose(&format!("{id}.{}", last.step), &last.round_id, kind, None).await.unwrap();
        }
    }
    panic!("none of {TRIES} features won anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_me_16_a_half_is_credited_when_it_is_secured_and_the_rest_at_the_end() {
    let world = World::start().await;
    let mut client = world.client("acme").await;
    let elsa = world.player(&mut client, "elsa", PRICE * 100).await;
    let (half, round, win) = gambling(&mut client, &elsa).await;
    world.settled(&["elsa"]).await;
    let before = world.wallet.balance("elsa");
    let mut last = client.choose(&half, &round, choice::Kind::Halve(choice::Halve {}), None).await.unwrap();
    world.settled(&["elsa"]).await;
    assert_eq!(world.wallet.end(&format!("credit/acme/elsa/EUR/{half}")), Some(End::Applied));
    let secured = world.wallet.balance("elsa") - before;
    assert!(secured > 0 && secured <= win, "{secured} of {win}");
    while let Some(kind) = next_choice(&last) {
        last = client.choose(&format!("{half}.{}", last.step), &round, kind, None).await.unwrap();
    }
    world.settled(&["elsa"]).await;
    assert_eq!(world.wallet.balance("elsa"), before + win, "the wallet is credited exactly the win");
    world.reconciled(&["elsa"]).await;
}
