use motherlode_proto::{
    jackpot::v1::{ResumePoolRequest, SuspendPoolRequest},
    ledger::v1::{
        GetRoundRequest, ListCollectionsRequest, ListRoundsRequest, SetExchangeRateRequest, VoidRoundRequest,
    },
    round::v1::{Account, Awaiting, MarkKind, Money, Round, RoundState, SpinKind, Stake, Witch, choice},
    spin::v1::{GetGameRequest, Played, SpinRequest},
};
use motherlode_slots::{latest, latest_games};
use motherlode_state::CoinValue;
use motherlode_tests::{
    Client, EUR, Force, Server, checked, next_choice, play, reason, replayed, smallest, stake_on, start,
};
use std::collections::{BTreeMap, BTreeSet};
use tonic::Code;

const DEPOSIT: i64 = 1_000_000_000;
const ROUNDS: usize = 150;

fn won(played: &Played) -> i64 {
    let jackpot = played.jackpot.as_ref().and_then(|jackpot| jackpot.amount.as_ref());
    jackpot.map_or(0, |amount| amount.amount_minor)
}

async fn round(client: &mut Client, round_id: &str) -> Round {
    let request = GetRoundRequest { round_id: round_id.to_owned() };
    client.ledger.get_round(request).await.unwrap().into_inner().round.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_02_pl_06_pl_09_pl_30_every_game_plays_with_all_choices_over_a_restart_and_audits() {
    let data = tempfile::tempdir().unwrap();
    let mut accounts = BTreeMap::new();
    let mut expected = BTreeMap::new();
    for half in 0..2 {
        let server = start(data.path()).await;
        let mut client = Client::connect(server.address()).await;
        for game in latest_games().iter().copied() {
            let name = game.name();
            if half == 0 {
                accounts.insert(name, client.fund(name, EUR, DEPOSIT).await);
                expected.insert(name, DEPOSIT);
            }
            let (account, expected) = (&accounts[name], expected.get_mut(name).unwrap());
            for number in 0..ROUNDS {
                let request = stake_on(game, &format!("r{half}-{number}"), account, smallest(game));
                let steps = play(&mut client, game, request, number).await;
                let last = steps.last().unwrap();
                assert_eq!(last.state(), RoundState::Settled, "{name}");
                *expected += last.win.as_ref().unwrap().amount_minor - last.bet.as_ref().unwrap().amount_minor;
                *expected += steps.iter().map(won).sum::<i64>();
                assert_eq!(last.win.as_ref().unwrap().amount_minor.cast_unsigned(), {
                    last.outcome.as_ref().unwrap().round_win_minor
                });
            }
            assert_eq!(client.balance(account).await, *expected, "{name}");
        }
        for game in latest_games() {
            let pooled = server.ledger().books(|books| books.pool(game.name()).is_some());
            assert_eq!(pooled, game.info().jackpot, "{}", game.name());
            let last = round(&mut client, &format!("acme/{}/1", game.name())).await;
            assert_eq!(!last.contribution_eur.is_empty(), game.info().jackpot, "{}", game.name());
        }
        server.stop().await.unwrap();
        checked(data.path());
    }
    for game in latest_games() {
        for number in [1, ROUNDS as u64, 2 * ROUNDS as u64] {
            let replayed = replayed(data.path(), game.name(), number);
            assert!(replayed.matches(), "{} {number}: {:?}", game.name(), replayed.differs);
        }
    }
}

async fn collection(client: &mut Client, account: &Account, game: &str, scope: &str) -> BTreeMap<String, i64> {
    let request = ListCollectionsRequest { account: Some(account.clone()), game: game.to_owned() };
    let found = client.ledger.list_collections(request).await.unwrap().into_inner().collections;
    let mine = found.into_iter().find(|of| of.game == game && of.scope == scope);
    mine.into_iter().flat_map(|of| of.figures).map(|figure| (figure.key, figure.value)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_14_dm_16_crystals_are_those_that_landed_and_survive_a_restart() {
    let game = latest("dwarf-mine").unwrap();
    let colours = ["green", "yellow", "blue", "red"];
    let data = tempfile::tempdir().unwrap();
    let mut account = None;
    let mut expected = BTreeMap::from([("red", 3)]);
    for half in 0..2 {
        let server = start(data.path()).await;
        let mut client = Client::connect(server.address()).await;
        if account.is_none() {
            account = Some(client.fund("dora", EUR, DEPOSIT).await);
        }
        let account = account.as_ref().unwrap();
        for number in 0..300 {
            let coins = &game.info().limits.coin_values_micros;
            let coin = CoinValue(coins[number % coins.len()]);
            let steps = play(&mut client, game, stake_on(game, &format!("d{half}-{number}"), account, coin), 3).await;
            for mark in steps.iter().flat_map(|step| &step.outcome.as_ref().unwrap().spins).flat_map(|spin| &spin.marks)
            {
                if mark.kind() != MarkKind::Crystal {
                    continue;
                }
                let symbol = game.info().symbols[mark.value as usize].name.to_lowercase();
                let colour = *colours.iter().find(|colour| symbol.contains(**colour)).unwrap();
                let count = expected.entry(colour).or_insert(0);
                *count = (*count + 1) % 5;
            }
            let found = collection(&mut client, account, "dwarf-mine", EUR).await;
            for colour in colours {
                let figures = (found.get(colour).copied().unwrap_or(0), expected.get(colour).copied().unwrap_or(0));
                assert_eq!(figures.0, figures.1, "{colour} after {} rounds: {found:?}", half * 300 + number + 1);
            }
        }
        server.stop().await.unwrap();
        checked(data.path());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_22_a_voided_round_changes_no_collection() {
    let game = latest("dwarf-mine").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("dora", EUR, DEPOSIT).await;
    for number in 0..20 {
        let before = collection(&mut client, &account, "dwarf-mine", EUR).await;
        let bet = stake_on(game, &format!("v{number}"), &account, smallest(game));
        let spun = client.spin(bet.clone(), Some(Force::Open)).await.unwrap();
        let after = collection(&mut client, &account, "dwarf-mine", EUR).await;
        if spun.state() == RoundState::Open && after != before {
            let void = VoidRoundRequest {
                request_id: "void".into(),
                round_id: spun.round_id.clone(),
                reason: "reel 3 stuck".into(),
                actor: "ann".into(),
            };
            client.ledger.void_round(void).await.unwrap();
            assert_eq!(collection(&mut client, &account, "dwarf-mine", EUR).await, before);
            server.stop().await.unwrap();
            return checked(data.path());
        }
        let mut last = spun;
        for step in 1.. {
            let Some(choice) = next_choice(&last) else { break };
            last = client.choose(&format!("v{number}.{step}"), &last.round_id, choice, None).await.unwrap();
        }
    }
    panic!("none of 20 open rounds has collected a crystal");
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_17_dm_19_coins_below_a_minor_unit_are_taken_where_the_bet_is_whole() {
    let game = latest("dwarf-mine").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let euros = client.fund("dora", EUR, DEPOSIT).await;
    let played = client.spin(stake_on(game, "whole", &euros, CoinValue(4_000)), None).await.unwrap();
    assert_eq!(played.bet.unwrap().amount_minor, 10);
    let yen = client.fund("yuki", "JPY", DEPOSIT).await;
    let refused = client.spin(stake_on(game, "parts", &yen, CoinValue(10_000)), None).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::InvalidArgument, "INVALID_STAKE"));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_a_witch_a_gamble_and_a_feature_are_refused_where_a_game_has_none() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    for game in latest_games() {
        let account = client.fund(game.name(), EUR, DEPOSIT).await;
        let bet = SpinRequest { offer_double: false, ..stake_on(*game, "x", &account, smallest(*game)) };
        let mut refused = vec![];
        if game.name() != "bewitched" {
            refused.push((SpinRequest { witch: Witch::Dark.into(), ..bet.clone() }, "INVALID_FIELD"));
        }
        if game.info().doubles_max == 0 {
            refused.push((SpinRequest { offer_double: true, ..bet.clone() }, "INVALID_FIELD"));
        }
        if game.info().buy_feature_bets.is_none() {
            let stake = bet.stake.clone().map(|stake| Stake { buy_feature: true, ..stake });
            refused.push((SpinRequest { stake, ..bet.clone() }, "INVALID_STAKE"));
        }
        for (request, why) in refused {
            let status = client.spin(request, None).await.unwrap_err();
            assert_eq!((status.code(), reason(&status).as_str()), (Code::InvalidArgument, why), "{}", game.name());
        }
        assert_eq!(client.balance(&account).await, DEPOSIT);
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn me_18_a_bought_feature_costs_70_bets_and_holds_six_bonuses() {
    let game = latest("mystery-elves").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("elsa", EUR, DEPOSIT).await;
    for number in 0..20 {
        let mut bet = stake_on(game, &format!("b{number}"), &account, smallest(game));
        bet.stake.as_mut().unwrap().buy_feature = true;
        let steps = play(&mut client, game, bet, 3).await;
        assert_eq!(steps[0].bet.as_ref().unwrap().amount_minor, 70 * 10);
        let first = &steps[0].outcome.as_ref().unwrap().spins[0];
        let bonuses = [MarkKind::Bonus, MarkKind::Mystery, MarkKind::Multiplier];
        assert!(first.marks.iter().filter(|mark| bonuses.contains(&mark.kind())).count() >= 6);
        let shown = round(&mut client, &steps[0].round_id).await;
        assert!(shown.stake.unwrap().buy_feature);
    }
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn me_14_me_15_me_16_a_gamble_doubles_loses_and_halves() {
    let game = latest("mystery-elves").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("elsa", EUR, DEPOSIT).await;
    let (mut right, mut wrong, mut halves, mut most) = (0, 0, 0, 0);
    for number in 0..600 {
        let steps =
            play(&mut client, game, stake_on(game, &format!("g{number}"), &account, smallest(game)), number).await;
        most = most.max(steps.last().unwrap().outcome.as_ref().unwrap().double_strip.len());
        for (before, step) in steps.iter().zip(&steps[1..]) {
            let (before, after) = (before.win.as_ref().unwrap().amount_minor, step.win.as_ref().unwrap().amount_minor);
            match &step.outcome.as_ref().unwrap().card {
                Some(turn) if turn.won => {
                    assert_eq!(turn.won_minor, 2 * turn.risked_minor);
                    assert_eq!(after - before, turn.risked_minor.cast_signed());
                    right += 1;
                }
                Some(turn) => {
                    assert_eq!(before - after, turn.risked_minor.cast_signed());
                    wrong += 1;
                }
                None if step.outcome.as_ref().unwrap().awaiting() == Awaiting::Double && before > 0 => {
                    halves += i32::from(before == after);
                }
                None => {}
            }
        }
    }
    assert!(right > 10 && wrong > 10 && halves > 0 && most <= 10, "{right} {wrong} {halves} {most}");
    server.stop().await.unwrap();
    checked(data.path());
}

async fn gambling(client: &mut Client, account: &Account, id: &str) -> Played {
    let game = latest("mystery-elves").unwrap();
    let stake = Some(Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: true });
    let bet = SpinRequest { stake, offer_double: true, ..stake_on(game, id, account, smallest(game)) };
    let spun = client.spin(bet, None).await.unwrap();
    let start = choice::Kind::StartFeature(choice::StartFeature {});
    let won = client.choose(&format!("{id}.1"), &spun.round_id, start, None).await.unwrap();
    assert_eq!(won.outcome.as_ref().unwrap().awaiting(), Awaiting::Double);
    won
}

fn minor(money: Option<&Money>) -> i64 {
    money.unwrap().amount_minor
}

#[tokio::test(flavor = "multi_thread")]
async fn me_16_halve_credits_half_at_once_the_settlement_the_rest_and_a_void_takes_back_both() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("elsa", EUR, DEPOSIT).await;
    let halve = || choice::Kind::Halve(choice::Halve {});
    for (id, settled) in [("open", false), ("settled", true)] {
        let before = client.balance(&account).await;
        let won = gambling(&mut client, &account, id).await;
        let win = minor(won.win.as_ref());
        let bet = minor(won.bet.as_ref());
        assert_eq!(client.balance(&account).await, before - bet, "the win is not credited before the round ends");
        let halved = client.choose(&format!("{id}.2"), &won.round_id, halve(), None).await.unwrap();
        let half = win - win / 2;
        assert_eq!(halved.outcome.as_ref().unwrap().credited_minor.cast_signed(), half);
        assert_eq!((halved.state(), minor(halved.win.as_ref())), (RoundState::Open, win));
        assert_eq!(minor(halved.balance.as_ref()), before - bet + half);
        assert_eq!(client.balance(&account).await, before - bet + half);
        let again = client.choose(&format!("{id}.2"), &won.round_id, halve(), None).await.unwrap();
        assert_eq!((again, client.balance(&account).await), (halved, before - bet + half));
        let mut taken = half;
        if settled {
            let collect = choice::Kind::Collect(choice::Collect {});
            let end = client.choose(&format!("{id}.3"), &won.round_id, collect, None).await.unwrap();
            assert_eq!((end.state(), minor(end.win.as_ref())), (RoundState::Settled, win));
            assert_eq!(client.balance(&account).await, before - bet + win);
            taken = win;
        }
        let shown = round(&mut client, &won.round_id).await;
        assert_eq!((minor(shown.credited.as_ref()), minor(shown.win.as_ref())), (half, win));
        let void = VoidRoundRequest {
            request_id: format!("{id}.void"),
            round_id: won.round_id.clone(),
            reason: "reel 3 stuck".into(),
            actor: "ann".into(),
        };
        let voided = client.ledger.void_round(void).await.unwrap().into_inner();
        assert_eq!((minor(voided.win_taken_back.as_ref()), minor(voided.win_left.as_ref())), (taken, 0));
        assert_eq!(client.balance(&account).await, before);
    }
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_21_mf_d4_while_the_pool_is_suspended_the_return_without_the_jackpot_is_stated() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let (pool_id, actor) = ("bewitched".to_owned(), "ops".to_owned());
    let mut stated = Vec::new();
    for turn in ["active", "suspended", "resumed"] {
        let (request_id, pool_id, actor) = (turn.to_owned(), pool_id.clone(), actor.clone());
        match turn {
            "suspended" => {
                let request = SuspendPoolRequest { request_id, pool_id, reason: "test".into(), actor };
                client.jackpot.suspend_pool(request).await.unwrap();
            }
            "resumed" => {
                client.jackpot.resume_pool(ResumePoolRequest { request_id, pool_id, actor }).await.unwrap();
            }
            _ => {}
        }
        let request = GetGameRequest { game: "bewitched".into(), ..GetGameRequest::default() };
        let game = client.spin.get_game(request).await.unwrap().into_inner();
        let lowest = if turn == "suspended" { "0.941000" } else { "0.946000" };
        assert_eq!(game.rtp, lowest);
        for currency in game.currencies {
            let lowest = if currency.currency_code == "XTS" { "0.941000" } else { lowest };
            let cash: Vec<_> = currency.coins.iter().filter(|coin| !coin.rounds_wins).collect();
            assert!(cash.iter().all(|coin| coin.rtp_cash == lowest), "{cash:?}");
        }
        let returns = game.jackpot_returns.unwrap();
        let highest = if turn == "suspended" { "0.9410" } else { "0.9510" };
        assert_eq!((&*returns.rtp_min, &*returns.rtp_max), (&lowest[..6], highest));
        assert_eq!((&*returns.published_min, &*returns.published_max), ("0.9460", "0.9510"));
        let play =
            GetGameRequest { game: "bewitched".into(), currency_code: "XTS".into(), ..GetGameRequest::default() };
        let play = client.spin.get_game(play).await.unwrap().into_inner();
        let span = play.jackpot_returns.unwrap();
        assert_eq!((&*play.rtp, &*span.rtp_min, &*span.rtp_max), ("0.941000", "0.9410", "0.9410"));
        let last = returns.coins.last().unwrap();
        stated.push((returns.pool_suspended, last.coin_value.clone(), last.rtp.clone(), last.rtp_now.clone()));
    }
    let said = |suspended, now: &str| (suspended, "10".to_owned(), now.to_owned(), now.to_owned());
    assert_eq!(stated, [said(false, "0.95100000"), said(true, "0.941000"), said(false, "0.95100000")]);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_14_a_player_is_given_red_crystals_once_in_whatever_currency() {
    let game = latest("dwarf-mine").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let euro = client.fund("dora", EUR, DEPOSIT).await;
    let rate = SetExchangeRateRequest {
        request_id: "rate".into(),
        currency_code: "SEK".into(),
        eur_per_unit: "0.09".into(),
        source: "test".into(),
    };
    client.ledger.set_exchange_rate(rate).await.unwrap();
    let krona = client.fund("dora", "SEK", DEPOSIT).await;
    let gifts = |server: &Server, scope: &str| {
        let player = server.player("dora");
        let figures = player.collection("dwarf-mine", scope).cloned().unwrap_or_default();
        (figures.get("red_gifted").copied().unwrap_or(0), figures.get("given").copied().unwrap_or(0))
    };
    let first = play(&mut client, game, stake_on(game, "krona-1", &krona, smallest(game)), 1).await;
    assert_eq!((gifts(&server, "SEK"), gifts(&server, "EUR")), ((3, 1), (0, 0)));
    play(&mut client, game, stake_on(game, "euro-1", &euro, smallest(game)), 1).await;
    assert_eq!(
        (gifts(&server, "SEK"), gifts(&server, "EUR")),
        ((3, 1), (0, 0)),
        "the gift is given once, not once per currency"
    );
    let void = VoidRoundRequest {
        request_id: "void".into(),
        round_id: first[0].round_id.clone(),
        reason: "reel 3 stuck".into(),
        actor: "ann".into(),
    };
    client.ledger.void_round(void).await.unwrap();
    assert_eq!((gifts(&server, "SEK"), gifts(&server, "EUR")), ((0, 0), (0, 0)));
    play(&mut client, game, stake_on(game, "euro-2", &euro, smallest(game)), 1).await;
    assert_eq!((gifts(&server, "SEK"), gifts(&server, "EUR")), ((0, 0), (3, 1)));
    play(&mut client, game, stake_on(game, "krona-2", &krona, smallest(game)), 1).await;
    assert_eq!((gifts(&server, "SEK"), gifts(&server, "EUR")), ((0, 0), (3, 1)));
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn np_12_the_seeds_of_an_open_round_are_shown_by_no_call() {
    let game = latest("neptune").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("nemo", EUR, DEPOSIT).await;
    let mut last = client.spin(stake_on(game, "n", &account, smallest(game)), Some(Force::Pick)).await.unwrap();
    for step in 1.. {
        let choice = next_choice(&last).unwrap();
        if last.outcome.as_ref().unwrap().awaiting() == Awaiting::Pick {
            let list = ListRoundsRequest { account: Some(account.clone()), ..ListRoundsRequest::default() };
            let listed = client.ledger.list_rounds(list).await.unwrap().into_inner().rounds;
            let open = round(&mut client, &last.round_id).await;
            let listed = listed.into_iter().find(|round| round.round_id == last.round_id).unwrap();
            for shown in [&open, &listed] {
                assert!(!shown.steps.is_empty() && shown.steps.iter().all(|step| step.seed.is_empty()));
            }
            let end = client.choose(&format!("n{step}"), &last.round_id, choice, None).await.unwrap();
            let picked = &end.outcome.as_ref().unwrap().reveals;
            assert!((3..=5).contains(&picked.len()));
            if end.state() == RoundState::Settled {
                let settled = round(&mut client, &last.round_id).await;
                assert!(settled.steps.iter().all(|step| step.seed.len() == 32));
                return server.stop().await.unwrap();
            }
            last = end;
            continue;
        }
        last = client.choose(&format!("n{step}"), &last.round_id, choice, None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_20_wf_22_the_history_of_a_game_is_its_last_ten_rounds() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("dora", EUR, DEPOSIT).await;
    let mut played = BTreeMap::<_, Vec<_>>::new();
    for number in 0..12 {
        for game in latest_games() {
            let bet = stake_on(*game, &format!("{}{number}", game.name()), &account, smallest(*game));
            let steps = play(&mut client, *game, bet, 3).await;
            played.entry(game.name()).or_default().insert(0, steps[0].round_id.clone());
        }
    }
    for (game, rounds) in played {
        let list =
            ListRoundsRequest { account: Some(account.clone()), game: game.into(), ..ListRoundsRequest::default() };
        let listed = client.ledger.list_rounds(list).await.unwrap().into_inner().rounds;
        let listed: Vec<_> = listed.into_iter().map(|round| round.round_id).collect();
        assert_eq!(listed, rounds[..10]);
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dm_12_the_mean_coin_value_is_stated_in_answers_and_in_history() {
    let game = latest("dwarf-mine").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("dora", EUR, DEPOSIT).await;
    let micros = |value: &str| (value.parse::<f64>().unwrap() * 1e6).round();
    let colour = |symbol: u32| game.info().symbols[symbol as usize].name.to_lowercase();
    let mut landed = BTreeMap::<String, Vec<f64>>::new();
    let mut gifts = 3;
    let mut stated = 0;
    for number in 0..3_000 {
        if stated == 3 {
            break;
        }
        let coins = &game.info().limits.coin_values_micros[..4];
        let coin = CoinValue(coins[number % coins.len()]);
        let steps = play(&mut client, game, stake_on(game, &format!("d{number}"), &account, coin), 3).await;
        let shown = round(&mut client, &steps[0].round_id).await;
        for (answered, kept) in steps.iter().zip(&shown.steps) {
            assert_eq!(answered.outcome, kept.outcome, "the history shows the same outcome as the answer");
            let outcome = answered.outcome.as_ref().unwrap();
            let marks = outcome.spins.iter().flat_map(|spin| &spin.marks);
            for mark in marks.filter(|mark| mark.kind() == MarkKind::Crystal) {
                landed.entry(colour(mark.value)).or_default().push(coin.0 as f64);
            }
            let collection = outcome.spins.iter().find(|spin| spin.kind() == SpinKind::Collection);
            assert_eq!(outcome.mean_coin_value.is_some(), collection.is_some());
            let (Some(mean), Some(spin)) = (&outcome.mean_coin_value, collection) else { continue };
            let won = colour(spin.collection_symbol);
            let of = [("emerald", "green"), ("topaz", "yellow"), ("sapphire", "blue"), ("ruby", "red")];
            let crystal = of.iter().find(|(jewel, _)| won.contains(jewel)).map_or("", |(_, crystal)| crystal);
            let key = landed.keys().find(|name| name.contains(crystal)).unwrap().clone();
            let given = if crystal == "red" { std::mem::take(&mut gifts) } else { 0 };
            let at: Vec<_> = landed.get_mut(&key).unwrap().drain(..5 - given).collect();
            let sum: f64 = at.iter().sum();
            assert_eq!((micros(&mean.sum), mean.count as usize), (sum, at.len()), "{won}: {at:?}");
            stated += 1;
        }
    }
    assert_eq!(stated, 3, "3,000 rounds complete three collections");
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn me_05_special_wins_are_called_by_their_names_in_answers_and_in_history() {
    let game = latest("mystery-elves").unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("elf", EUR, DEPOSIT).await;
    let request = GetGameRequest { game: game.name().into(), ..GetGameRequest::default() };
    let described = client.spin.get_game(request).await.unwrap().into_inner().special_wins;
    let names: BTreeMap<_, _> = described.into_iter().map(|special| (special.bets, special.name)).collect();
    assert_eq!(names.len(), 4);
    let mut revealed = BTreeSet::new();
    for number in 0..400 {
        let mut bet = stake_on(game, &format!("b{number}"), &account, smallest(game));
        bet.stake.as_mut().unwrap().buy_feature = true;
        let steps = play(&mut client, game, bet, 1).await;
        let shown = round(&mut client, &steps[0].round_id).await;
        for (answered, kept) in steps.iter().zip(&shown.steps) {
            assert_eq!(answered.outcome, kept.outcome);
            for mark in answered.outcome.iter().flat_map(|outcome| &outcome.spins).flat_map(|spin| &spin.marks) {
                let is = mark.kind() == MarkKind::Mystery && mark.value > 0;
                assert_eq!(mark.name, if is { names[&mark.value].as_str() } else { "" }, "{mark:?}");
                revealed.extend(is.then(|| mark.name.clone()));
            }
        }
        if revealed.len() >= 3 {
            return server.stop().await.unwrap();
        }
    }
    panic!("only {revealed:?} in 400 features");
}
