use motherlode_proto::{
    ledger::v1::{GetRoundRequest, VoidRoundRequest, VoidRoundResponse, WithdrawRequest},
    round::v1::{Account, Card, Round, RoundState, SpinKind},
    spin::v1::{Played, SpinRequest},
};
use motherlode_slots::{Game, latest, latest_games};
use motherlode_state::{Account as Books, CoinValue, Currency, Nano};
use motherlode_tests::Server;
use motherlode_tests::{
    Client, EUR, Force, checked, incidents::give_back, play, reason, replayed, seamless, smallest, stake_on, start,
};
use std::collections::{BTreeMap, BTreeSet};
use tonic::{Code, Status};

const DEPOSIT: i64 = 1_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Holdings {
    balance: i64,
    house: i128,
    pool: [i128; 3],
    collections: BTreeMap<(String, String, String), i64>,
}

fn holdings(server: &Server, player: &str) -> Holdings {
    let pool = "bewitched";
    let (state, holding) = (server.player(player), |account| server.holding(account, Currency::EUR));
    let figures = state.collections().flat_map(|(game, scope, figures)| {
        let named = move |key: &str| (game.to_owned(), scope.to_owned(), key.to_owned());
        figures.iter().map(move |(key, value)| (named(key), *value))
    });
    Holdings {
        balance: state.balance(Currency::EUR).unwrap().0,
        house: holding(Books::House("acme")),
        pool: [server.collected(pool), holding(Books::Reserve(pool)), holding(Books::SeedFunding(pool))],
        collections: figures.filter(|((_, scope, _), _)| !scope.is_empty()).collect(),
    }
}

fn void_of(id: &str, round_id: &str) -> VoidRoundRequest {
    let (reason, actor) = ("reel 3 stuck".to_owned(), "ann".to_owned());
    VoidRoundRequest { request_id: id.to_owned(), round_id: round_id.to_owned(), reason, actor }
}

async fn void(client: &mut Client, round_id: &str) -> Result<VoidRoundResponse, Status> {
    let request = void_of(&format!("void-{}", round_id.replace('/', "-")), round_id);
    Ok(client.ledger.void_round(request).await?.into_inner())
}

async fn round(client: &mut Client, round_id: &str) -> Round {
    let request = GetRoundRequest { round_id: round_id.to_owned() };
    client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap()
}

fn contribution(round: &Round) -> i128 {
    match round.contribution_eur.as_str() {
        "" => 0,
        eur => eur.parse::<Nano>().unwrap().0,
    }
}

fn bet(game: &dyn Game, number: usize, account: &Account) -> SpinRequest {
    let coins = &game.info().limits.coin_values_micros;
    let id = format!("{}-{number}", game.name());
    let mut bet = stake_on(game, &id, account, CoinValue(coins[number / 3 % coins.len().min(3)]));
    if let Some(stake) = bet.stake.as_mut().filter(|_| game.info().buy_feature_bets.is_some()) {
        stake.buy_feature = number.is_multiple_of(7);
    }
    bet
}

fn kinds(bet: &SpinRequest, steps: &[Played], before: &Holdings, after: &Holdings) -> Vec<&'static str> {
    let outcomes = || steps.iter().filter_map(|step| step.outcome.as_ref());
    let spins = || outcomes().flat_map(|outcome| &outcome.spins);
    let of = |game: &str| bet.game == game && before.collections != after.collections;
    let completed = |(key, count): (&(String, String, String), &i64)| after.collections.get(key).unwrap_or(&0) < count;
    let all = [
        ("contributes", before.pool != after.pool),
        ("wins", steps.last().is_some_and(|last| last.win.as_ref().unwrap().amount_minor > 0)),
        ("free spins", spins().any(|spin| spin.kind() == SpinKind::Free)),
        ("gamble", outcomes().any(|outcome| outcome.card.is_some())),
        ("bought", bet.stake.as_ref().unwrap().buy_feature),
        ("hold and win", spins().any(|spin| spin.kind() == SpinKind::HoldAndWin)),
        ("treasures", outcomes().any(|outcome| !outcome.reveals.is_empty())),
        ("crystals", of("dwarf-mine")),
        ("crystals used up", of("dwarf-mine") && spins().any(|spin| spin.kind() == SpinKind::Collection)),
        ("potions", of("witch-feature")),
        ("potions used up", of("witch-feature") && before.collections.iter().any(completed)),
    ];
    all.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect()
}

async fn rounds(server: &Server, name: &str, account: &Account, each: usize) -> (Vec<(String, Holdings)>, Holdings) {
    let mut client = Client::connect(server.address()).await;
    let (mut played, mut found) = (vec![], BTreeSet::new());
    for number in 0..each * 20 {
        if number >= each && found.len() == 11 {
            break;
        }
        for game in latest_games().iter().copied() {
            let before = holdings(server, name);
            let bet = bet(game, number, account);
            let steps = play(&mut client, game, bet.clone(), number).await;
            found.extend(kinds(&bet, &steps, &before, &holdings(server, name)));
            played.push((steps[0].round_id.clone(), before));
        }
    }
    assert_eq!(found.len(), 11, "rounds of every kind: {found:?}");
    (played, holdings(server, name))
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_04_bw_19_dm_22_a_void_brings_back_what_was_there_without_the_round() {
    let data = tempfile::tempdir().unwrap();
    let mut server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("vera", EUR, DEPOSIT).await;
    let (played, _) = rounds(&server, "vera", &account, 120).await;
    let mut kept = 0;
    for (count, (round_id, before)) in played.iter().rev().enumerate() {
        if count == played.len() / 2 {
            server.stop().await.unwrap();
            server = start(data.path()).await;
            client = Client::connect(server.address()).await;
        }
        let voided = void(&mut client, round_id).await.unwrap();
        kept += contribution(&round(&mut client, round_id).await);
        let mut expected = before.clone();
        expected.house -= kept;
        expected.pool[0] += kept;
        assert_eq!(holdings(&server, "vera"), expected, "{round_id}: {voided:?}");
        assert_eq!(voided.win_left.unwrap().amount_minor, 0);
        assert_eq!(voided.balance.unwrap().amount_minor, before.balance);
    }
    give_back(&server, &mut client, "i-1").await;
    let end = holdings(&server, "vera");
    assert_eq!((end.balance, end.house, end.pool), (DEPOSIT, 0, [0; 3]));
    assert!(end.collections.is_empty());
    server.stop().await.unwrap();
    checked(data.path());
}

fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).collect();
    order.sort_by_key(|number| (number + 1) * 7_919 % 104_729);
    order
}

/// DM-15: even if rounds were played between the voided rounds, each collection must be in a state that play can reach.
#[tokio::test(flavor = "multi_thread")]
async fn pl_04_bw_19_voids_in_any_order_undo_money_and_pool_exactly_and_leave_what_can_be_collected() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("vera", EUR, DEPOSIT).await;
    let (played, after) = rounds(&server, "vera", &account, 120).await;
    let mut expected = after;
    for (count, number) in shuffled(played.len()).into_iter().enumerate() {
        let (round_id, _) = &played[number];
        let was = round(&mut client, round_id).await;
        let voided = void(&mut client, round_id).await.unwrap();
        assert_eq!(voided.win_taken_back, was.win);
        let now = holdings(&server, "vera");
        let changed = was.win.unwrap().amount_minor - was.bet.unwrap().amount_minor;
        expected.balance -= changed;
        expected.house += i128::from(changed) * 10_000_000;
        assert_eq!((now.balance, now.house, now.pool), (expected.balance, expected.house, expected.pool), "{round_id}");
        for ((game, _, key), value) in &now.collections {
            let most = match key.as_str() {
                "green" | "yellow" | "blue" | "red" | "unlocked" => 4,
                "red_gifted" | "potion_1" | "potion_2" => 3,
                "given" => 1,
                _ => 4 * 2_000_000,
            };
            assert!((1..=most).contains(value), "{game} {key}: {value}");
        }
        if count.is_multiple_of(10) {
            let game = latest_games()[count / 10 % latest_games().len()];
            let steps = play(&mut client, game, bet(game, 1_000 + count, &account), 3).await;
            let on = steps[0].round_id.clone();
            void(&mut client, &on).await.unwrap();
            let kept = contribution(&round(&mut client, &on).await);
            expected.house -= kept;
            expected.pool[0] += kept;
            let now = holdings(&server, "vera");
            assert_eq!((now.balance, now.house, now.pool), (expected.balance, expected.house, expected.pool));
        }
    }
    give_back(&server, &mut client, "i-1").await;
    let end = holdings(&server, "vera");
    assert_eq!((end.balance, end.house, end.pool), (DEPOSIT, 0, [0; 3]), "the operator gets its cost back");
    server.stop().await.unwrap();
    checked(data.path());
}

async fn winner(client: &mut Client, account: &Account) -> Played {
    let game = latest("neptune").unwrap();
    for number in 0..1_000 {
        let steps = play(client, game, stake_on(game, &format!("w{number}"), account, smallest(game)), 3).await;
        let last = steps.into_iter().last().unwrap();
        if last.win.as_ref().unwrap().amount_minor > 2 * last.bet.as_ref().unwrap().amount_minor {
            return last;
        }
    }
    panic!("none of 1,000 rounds has such a win");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_04_pl_09_a_spent_win_is_taken_back_as_far_as_it_goes_and_nothing_is_erased() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("vera", EUR, DEPOSIT).await;
    let won = winner(&mut client, &account).await;
    let (bet, win) = (won.bet.unwrap().amount_minor, won.win.unwrap().amount_minor);
    let played = round(&mut client, &won.round_id).await;
    let amount_minor = client.balance(&account).await - 1;
    let withdraw = WithdrawRequest { request_id: "out".into(), account: Some(account.clone()), amount_minor };
    client.ledger.withdraw(withdraw).await.unwrap();

    let voided = void(&mut client, &won.round_id).await.unwrap();
    let minor = |money: &Option<motherlode_proto::round::v1::Money>| money.as_ref().unwrap().amount_minor;
    assert_eq!(
        (minor(&voided.refund), minor(&voided.win_taken_back), minor(&voided.win_left)),
        (bet, bet + 1, win - bet - 1)
    );
    assert_eq!((minor(&voided.balance), client.balance(&account).await), (0, 0));
    let shown = round(&mut client, &won.round_id).await;
    assert_eq!((shown.state(), played.state()), (RoundState::Voided, RoundState::Settled));
    let why = shown.void.as_ref().unwrap();
    assert_eq!((why.reason.as_str(), why.actor.as_str(), why.position), ("reel 3 stuck", "(anyone)", voided.position));
    assert_eq!(
        (&why.refund, &why.win_taken_back, &why.win_left),
        (&voided.refund, &voided.win_taken_back, &voided.win_left)
    );
    assert_eq!(
        (&shown.steps, &shown.win, &shown.bet),
        (&played.steps, &played.win, &played.bet),
        "the void erased the round's steps, win or bet"
    );

    server.stop().await.unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    assert_eq!(void(&mut client, &won.round_id).await.unwrap(), voided);
    let position = server.ends();
    let again = client.ledger.void_round(void_of("again", &won.round_id)).await.unwrap_err();
    assert_eq!((again.code(), reason(&again).as_str()), (Code::FailedPrecondition, "ALREADY_VOIDED"));
    let first = void_of(&format!("void-{}", won.round_id.replace('/', "-")), &won.round_id);
    let other = client.ledger.void_round(VoidRoundRequest { actor: "bob".into(), ..first }).await.unwrap_err();
    assert_eq!((other.code(), reason(&other).as_str()), (Code::AlreadyExists, "REQUEST_ID_REUSED"));
    assert_eq!(server.ends(), position, "the refused void wrote no commit");
    server.stop().await.unwrap();
    checked(data.path());
    let number = won.round_id.rsplit('/').next().unwrap().parse().unwrap();
    let replayed = replayed(data.path(), "vera", number);
    assert!(replayed.matches() && replayed.view.voided.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_04_dm_16_no_void_changes_the_collection_that_an_open_round_plays_with() {
    let game = latest("dwarf-mine").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let gift = ("dwarf-mine".to_owned(), "EUR".to_owned(), "red_gifted".to_owned());
    for number in 0..100 {
        let name = format!("dora{number}");
        let account = client.fund(&name, EUR, DEPOSIT).await;
        let first = play(&mut client, game, stake_on(game, "first", &account, smallest(game)), 3).await;
        let bet = stake_on(game, "open", &account, smallest(game));
        let open = client.spin(bet, Some(Force::Open)).await.unwrap().round_id;
        let before = holdings(&server, &name);
        if !before.collections.contains_key(&gift) {
            continue;
        }
        let refused = void(&mut client, &first[0].round_id).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::FailedPrecondition, "ROUND_IN_PROGRESS"));
        assert_eq!(holdings(&server, &name), before);
        void(&mut client, &open).await.unwrap();
        void(&mut client, &first[0].round_id).await.unwrap();
        assert!(!holdings(&server, &name).collections.contains_key(&gift));
        server.stop().await.unwrap();
        return checked(data.path());
    }
    panic!("none of 100 players has an open round before using up the gift");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_38_c_a_paid_jackpot_of_a_voided_round_stays_with_the_player() {
    use motherlode_tests::vials;
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("jack", EUR, DEPOSIT).await;
    let bet = motherlode_tests::bet("hit", &account, "0.20");
    let spun = client.spin(bet, Some(Force::Pick)).await.unwrap();
    let won = client.choose("vials", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
    let mut last = won.clone();
    for step in 1.. {
        let Some(choice) = motherlode_tests::next_choice(&last) else { break };
        last = client.choose(&format!("on-{step}"), &spun.round_id, choice, None).await.unwrap();
    }
    let jackpot = won.jackpot.unwrap().amount.unwrap().amount_minor;
    assert!(jackpot >= 40_000, "the jackpot of a coin of 0.20 is at least its seed");
    void(&mut client, &spun.round_id).await.unwrap();
    assert_eq!(client.balance(&account).await, DEPOSIT + jackpot);
    let shown = round(&mut client, &spun.round_id).await;
    assert_eq!(shown.jackpots[0].amount.as_ref().unwrap().amount_minor, jackpot);
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_04_pl_12_unknown_and_foreign_rounds_are_not_voided_and_void_ones_take_no_choice() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("vera", EUR, DEPOSIT).await;
    let won = winner(&mut client, &account).await;
    seamless::settled(&account).await;
    let position = server.ends();
    for unknown in ["acme/vera/999999", "acme/nobody/1", "other/vera/1"] {
        let refused = client.ledger.void_round(void_of("unknown", unknown)).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::NotFound, "ROUND_UNKNOWN"), "{unknown}");
    }
    assert_eq!(server.ends(), position);
    void(&mut client, &won.round_id).await.unwrap();
    let guess = motherlode_proto::round::v1::choice::Kind::Double(Card::RedHeart.into());
    let refused = client.choose("late", &won.round_id, guess, None).await.unwrap_err();
    assert_eq!(reason(&refused), "ALREADY_SETTLED");
    server.stop().await.unwrap();
}
