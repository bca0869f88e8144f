#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../engine/slots/tests/integration/sixth/mod.rs"]
mod sixth;

use motherlode_proto::{
    ledger::v1::{GetRoundRequest, ListCollectionsRequest, VoidRoundRequest},
    report::v1::{GetRoundPageRequest, ListReturnsRequest, r#return::Weighting},
    round::v1::{Account, Money, RoundState, jackpot_win},
    spin::v1::{ListGamesRequest, SpinRequest},
};
use motherlode_slots::{Game, Stake, add_games, latest, par::decimal};
use motherlode_tests::{Client, EUR, checked, play, replayed, smallest, stake_on, start};
use sixth::{LANTERN, Lantern};

const DEPOSIT: i64 = 1_000_000;
const SPARKS: i64 = 11;

fn minor(money: Option<&Money>) -> i64 {
    money.unwrap().amount_minor
}

fn one_coin(game: &dyn Game) -> Stake {
    let limits = &game.info().limits;
    Stake {
        coin_value_micros: limits.coin_values_micros[0],
        lines: limits.lines.0,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    }
}

async fn sparks(client: &mut Client, account: &Account) -> i64 {
    let request = ListCollectionsRequest { account: Some(account.clone()), game: "lantern".to_owned() };
    let found = client.ledger.list_collections(request).await.unwrap().into_inner().collections;
    assert!(found.iter().all(|of| of.scope == EUR && of.figures.len() == 1 && of.figures[0].key == "sparks"));
    found.first().map_or(0, |of| of.figures[0].value)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_02_pl_04_pl_06_a_sixth_game_is_served_with_its_jackpot_and_its_collection() {
    let lantern: &'static Lantern = Box::leak(Box::new(Lantern::new(&LANTERN).unwrap()));
    assert!(add_games(&[lantern]), "the list of games is not used yet");
    assert!(!add_games(&[lantern]), "the list of games cannot change after its first use");
    let game: &'static dyn Game = latest("lantern").unwrap();

    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let listed = client.spin.list_games(ListGamesRequest {}).await.unwrap().into_inner().games;
    assert!(listed.iter().any(|of| of.game == "lantern"));
    assert!(server.ledger().books(|books| books.pool("lantern").is_some()), "the pool of the sixth game is open");

    let account = client.fund("lucy", EUR, DEPOSIT).await;
    let (mut balance, mut lit, mut carried, mut own, mut jackpots) = (DEPOSIT, 0, 0, 0, vec![]);
    let mut winner = String::new();
    for number in 0..60 {
        let request = stake_on(game, &format!("r{number}"), &account, smallest(game));
        let played = client.spin(SpinRequest { offer_double: false, ..request }, None).await.unwrap();
        assert_eq!(played.state(), RoundState::Settled);
        let lines: u64 = played.outcome.as_ref().unwrap().spins[0].wins.iter().map(|win| win.coins).sum();
        let (bet, win) = (minor(played.bet.as_ref()), minor(played.win.as_ref()));
        let mut due = i64::try_from(lines).unwrap();
        own += i32::try_from(lines).unwrap();
        if due > 0 {
            carried += 1;
            winner.clone_from(&played.round_id);
        }
        if carried == SPARKS {
            (carried, due, lit) = (0, due + bet, lit + 1);
        }
        assert_eq!((bet, win), (1, due), "{number}");
        if let Some(jackpot) = &played.jackpot {
            assert_eq!((jackpot.pool_id.as_str(), jackpot.state()), ("lantern", jackpot_win::State::Paid));
            jackpots.push(minor(jackpot.amount.as_ref()));
        }
        balance += win - bet;
    }
    assert!(lit > 0 && jackpots.len() > 1, "lit {lit} times, {jackpots:?}");
    assert!(jackpots[0] >= 2_000, "{jackpots:?}");
    balance += jackpots.iter().sum::<i64>();
    assert_eq!((client.balance(&account).await, sparks(&mut client, &account).await), (balance, carried));

    let request = ListReturnsRequest { game: "lantern".to_owned(), ..ListReturnsRequest::default() };
    let returns = client.report.list_returns(request).await.unwrap().into_inner();
    let lines = game.par(&one_coin(game)).unwrap().part("base_lines");
    for of in returns.returns.iter().chain(returns.totals.iter().filter(|of| of.weighting() == Weighting::Round)) {
        assert!(of.rounds == 60 && !of.out_of_band, "{of:?}");
        assert_eq!(
            (&*of.held_rtp, &*of.held_theoretical_rtp),
            (&*format!("{:.6}", f64::from(own) / 60.0), &*decimal(&lines, 6))
        );
    }
    assert_eq!(returns.totals.len(), 2);

    let mut gambled = 0;
    for number in 0..10 {
        let request = stake_on(game, &format!("g{number}"), &account, smallest(game));
        let steps = play(&mut client, game, request, 3).await;
        gambled += usize::from(steps.len() > 1);
    }
    assert!(gambled > 0);

    let request = GetRoundRequest { round_id: winner.clone() };
    let round = client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap();
    assert!(!round.contribution_eur.is_empty());
    let before = sparks(&mut client, &account).await;
    let (request_id, reason) = ("void".to_owned(), "a moth in the lantern".to_owned());
    let request = VoidRoundRequest { request_id, round_id: winner.clone(), reason, actor: "support".to_owned() };
    client.ledger.void_round(request).await.unwrap();
    assert_eq!(sparks(&mut client, &account).await, (before - 1).max(0));

    let request = GetRoundPageRequest { round_id: winner.clone() };
    let page = client.report.get_round_page(request).await.unwrap().into_inner().content;
    let page = String::from_utf8(page).unwrap();
    for said in ["lantern 1.0 (Lantern)", "coins", "sparks", "a moth in the lantern"] {
        assert!(page.contains(said), "{said} in {page}");
    }
    server.stop().await.unwrap();
    checked(data.path());
    let number = winner.rsplit('/').next().unwrap().parse().unwrap();
    let replayed = replayed(data.path(), "lucy", number);
    assert!(replayed.matches() && replayed.view.voided.is_some());
}
