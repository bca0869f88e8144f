use motherlode_proto::{
    round::v1::{RoundState, SpinKind, SpinResult},
    spin::v1::{
        GameSummary, GetGameRequest, GetGameResponse, ListGamesRequest, PayRow, SymbolRole, bonus_prize::Kind as Prize,
    },
};
use motherlode_slots::latest_games;
use motherlode_tests::{Client, EUR, config, play, reason, smallest, stake_on, start_fresh};
use std::collections::BTreeSet;
use tonic::{Code, Status};

const GAMES: [&str; 5] = ["bewitched", "dwarf-mine", "mystery-elves", "neptune", "witch-feature"];

async fn ask(client: &mut Client, game: &str, version: &str, with_strips: bool) -> Result<GetGameResponse, Status> {
    let request = GetGameRequest {
        game: game.to_owned(),
        rules_version: version.to_owned(),
        with_strips,
        ..GetGameRequest::default()
    };
    Ok(client.spin.get_game(request).await?.into_inner())
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

fn of_role(game: &GetGameResponse, role: SymbolRole) -> BTreeSet<u32> {
    (0..).zip(&game.symbols).filter(|(_, symbol)| symbol.role() == role).map(|(index, _)| index).collect()
}

fn says(game: &GetGameResponse, statement: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    words(&game.rules_text).contains(&words(statement))
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_13_pl_01_every_game_describes_itself_whole() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let listed = client.spin.list_games(ListGamesRequest {}).await.unwrap().into_inner().games;
    let named: BTreeSet<_> = listed.iter().map(|game| game.game.as_str()).collect();
    assert_eq!(named, GAMES.into());
    let newest = |summary: &GameSummary| listed.iter().find(|listed| listed.game == summary.game) == Some(summary);
    let older = |summary: &GameSummary| (&*summary.game, &*summary.rules_version) == ("bewitched", "1.6");
    let wanted: Vec<_> = listed.iter().filter(|summary| newest(summary) || older(summary)).collect();
    assert_eq!(wanted.len(), 6);
    for summary in wanted {
        let name = format!("{} {}", summary.game, summary.rules_version);
        let game = ask(&mut client, &summary.game, &summary.rules_version, false).await.unwrap();
        assert_eq!(game.summary.as_ref(), Some(summary));
        assert!(!game.title.is_empty() && !game.exactness.is_empty(), "{name}");
        let tall = ["dwarf-mine", "witch-feature"].contains(&&*summary.game);
        assert_eq!((game.reels, game.rows), (5, if tall { 4 } else { 3 }), "{name}");
        assert!(game.rows_max >= game.rows && game.lines.is_empty() != game.ways.is_empty(), "{name}");
        assert!(game.lines.iter().all(|line| line.rows.len() == 5 && line.rows.iter().all(|row| *row < game.rows)));

        for symbol in &game.symbols {
            assert!(symbol.role() != SymbolRole::Unspecified && !symbol.name.is_empty(), "{name}: {symbol:?}");
            assert!((1..=12).contains(&symbol.short_name.chars().count()), "{name}: {symbol:?}");
        }
        for row in &game.pay_rows {
            assert!((row.symbol as usize) < game.symbols.len() && (1..=u32::from(u8::MAX)).contains(&row.count));
            assert!(
                row.pays > 0 || row.free_spins > 0 || row.starts_bonus,
                "{name}: this row of the paytable awards nothing: {row:?}"
            );
        }
        let coins = game.bet_coins.unwrap();
        assert_eq!(
            (coins.min, coins.max),
            (game.lines_min * game.coins_per_line_min, game.lines_max * game.coins_per_line_max)
        );
        assert!((coins.min..=coins.max).contains(&coins.default), "{name}");
        for offer in &game.currencies {
            let values: Vec<_> = offer.coins.iter().map(|coin| number(&coin.coin_value)).collect();
            assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{name}: {values:?}");
            assert!(offer.coins.iter().any(|coin| coin.coin_value == offer.default_coin_value), "{name}");
            assert!(0 < offer.bet_min_minor && offer.bet_min_minor <= offer.bet_default_minor, "{name}: {offer:?}");
            assert!(offer.bet_default_minor <= offer.bet_max_minor, "{name}: {offer:?}");
            let without = game.jackpot_returns.as_ref().filter(|_| offer.currency_code == "XTS");
            let rtp = number(without.map_or(&game.rtp, |returns| &returns.rtp_without_jackpot));
            assert!(offer.coins.iter().all(|coin| (number(&coin.rtp_cash) - rtp).abs() < 0.0005));
        }
        let euros = game.currencies.iter().find(|offer| offer.currency_code == EUR).unwrap();
        let cents = |coin: &str, coins: u32| (number(coin) * f64::from(coins) * 100.0).round();
        let (least, most) = (&euros.coins[0].coin_value, &euros.coins[euros.coins.len() - 1].coin_value);
        assert_eq!(euros.bet_min_minor as f64, cents(least, coins.min), "{name}");
        assert_eq!(euros.bet_max_minor as f64, cents(most, coins.max), "{name}");
        assert_eq!(euros.bet_default_minor as f64, cents(&euros.default_coin_value, coins.default), "{name}");

        let index = 1.96 * number(&game.std_dev_bets);
        assert!((number(&game.volatility_index) - index).abs() < 0.01 && index > 1.96, "{name}");
        let window = (number(&game.max_win_bets), number(&game.max_win_probability));
        assert!(window.0 > 1.0 && (0.0..1.0).contains(&window.1), "{name}: {window:?}");
        // WF-04: the highest win of a round is a whole multiple of the bet and exceeds that of one reel window.
        let round = game.win_up_to.as_ref().unwrap();
        assert!(round.bets.parse::<u64>().unwrap() as f64 > window.0 && !round.says.is_empty(), "{name}: {round:?}");
        assert!((0.0..1e-12).contains(&number(&round.probability_at_most)), "{name}: {round:?}");
        assert!(game.reel_sets.is_empty(), "strips are returned only on request");
        assert_eq!(
            (game.jackpot, game.jackpot_returns.is_some()),
            (summary.game == "bewitched", game.jackpot),
            "{name}"
        );
        assert!(!newest(summary) || says(&game, "malfunction"), "{name}");
    }
    for (game, version) in [("bewitched", "1.7"), ("roulette", ""), ("", "")] {
        let refused = ask(&mut client, game, version, false).await.unwrap_err();
        assert!([Code::NotFound, Code::InvalidArgument].contains(&refused.code()), "{game} {version}: {refused:?}");
    }
    let unknown = ask(&mut client, "bewitched", "1.7", true).await.unwrap_err();
    assert_eq!((unknown.code(), reason(&unknown).as_str()), (Code::NotFound, "GAME_UNKNOWN"));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_13_me_02_me_04_me_05_np_11_wf_04_wf_21_bw_06_bw_21_descriptions_state_what_each_rule_names() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let mut newest = vec![];
    for name in GAMES {
        newest.push(ask(&mut client, name, "", false).await.unwrap());
    }
    let [bewitched, dwarf_mine, elves, neptune, witch] = &newest[..] else { unreachable!() };
    let named = |game: &GetGameResponse, role| -> Vec<String> {
        of_role(game, role).into_iter().map(|index| game.symbols[index as usize].name.clone()).collect()
    };

    assert_eq!((bewitched.lines.len(), bewitched.free_spin_multiplier, bewitched.gambles_max), (15, 2, 5));
    let prizes: Vec<_> = bewitched.prizes.iter().map(|prize| prize.kind.unwrap()).collect();
    assert_eq!(prizes[0], Prize::Jackpot(true));
    let multiples = prizes.iter().filter_map(|prize| if let Prize::Multiple(of) = prize { Some(*of) } else { None });
    let spins = prizes.iter().filter_map(|prize| if let Prize::FreeSpins(of) = prize { Some(*of) } else { None });
    let span = |all: Vec<u32>| (*all.iter().min().unwrap(), *all.iter().max().unwrap());
    assert_eq!((span(multiples.collect()), span(spins.collect())), ((15, 300), (15, 60)));
    let scatter = of_role(bewitched, SymbolRole::Scatter);
    let battle: Vec<_> = bewitched.pay_rows.iter().filter(|row| scatter.contains(&row.symbol)).collect();
    assert_eq!(battle.iter().map(|row| row.count).collect::<BTreeSet<_>>(), (2..=5).collect());
    assert!(battle.iter().all(|row| row.anywhere && (row.pays > 0 || row.free_spins > 0)));
    assert!(says(bewitched, "Red Heart") && says(bewitched, "30 seconds"));
    let returns = bewitched.jackpot_returns.as_ref().unwrap();
    assert_eq!((&*returns.rtp_min, &*returns.rtp_max), ("0.9460", "0.9510"));
    assert!(!returns.assumes.is_empty() && number(&returns.rtp_without_jackpot) == 0.941);
    for coin in &returns.coins {
        let stated = 0.946 + 0.005 * number(&coin.coin_value) / 10.0;
        assert!((number(&coin.rtp) - stated).abs() < 1e-9 && coin.rtp_now == coin.rtp, "{coin:?}");
    }

    assert_eq!((dwarf_mine.ways.as_slice(), dwarf_mine.rows_max), (&[1_024, 3_125, 7_776, 16_807][..], 7));
    assert_eq!((dwarf_mine.bet_coins.unwrap().min, dwarf_mine.bet_coins.unwrap().max), (25, 25));
    for (role, count) in [(SymbolRole::SuperHigh, 4), (SymbolRole::Collected, 4), (SymbolRole::Wild, 0)] {
        assert_eq!(named(dwarf_mine, role).len(), count, "{role:?}");
    }
    let bonus = of_role(dwarf_mine, SymbolRole::FreeSpins);
    let awarded = dwarf_mine.pay_rows.iter().find(|row| bonus.contains(&row.symbol)).unwrap();
    assert_eq!((awarded.count, awarded.free_spins), (3, 10));
    assert!(says(dwarf_mine, "average"));

    assert!(!elves.pay_rows.iter().any(|row| row.anywhere && row.pays > 0));
    assert!(says(elves, "has no scatter pay"));
    assert!(
        says(elves, "Mystery lands on any reel.")
            && says(elves, "Multiplying lands in this version on the middle reel")
    );
    let specials: Vec<_> = elves.special_wins.iter().map(|special| special.name.as_str()).collect();
    assert_eq!(specials, ["MINI", "MINOR", "MAJOR", "GRAND"]);
    assert!(elves.special_wins.windows(2).all(|pair| pair[0].bets < pair[1].bets));
    assert_eq!((elves.multipliers.as_slice(), elves.gambles_max, elves.halve), (&[2, 3, 4, 5][..], 10, true));
    assert_eq!((elves.buy_feature_bets, elves.interruption_hours), (70, 120));
    let feature = elves.conditional_returns.iter().find(|of| of.key == "buy_feature").unwrap();
    assert!((number(&feature.rtp) - 0.9501).abs() <= 0.005, "{feature:?}");
    assert!(says(elves, "125,000"));

    assert_eq!((neptune.lines.len(), neptune.free_spin_multiplier), (15, 3));
    let picks = neptune.picks.unwrap();
    assert_eq!((picks.needs_min, picks.needs_max), (3, 5));
    assert_eq!(named(neptune, SymbolRole::Scatter), ["Mermaid"]);
    let mermaid = of_role(neptune, SymbolRole::Scatter);
    for row in neptune.pay_rows.iter().filter(|row| mermaid.contains(&row.symbol)) {
        assert_eq!((row.anywhere, row.pays > 0, row.free_spins), (true, true, if row.count < 3 { 0 } else { 10 }));
    }
    assert!(says(neptune, "up to 2,500 coins for each coin bet on a payline"));

    assert_eq!((witch.lines.len(), witch.multipliers.as_slice()), (50, &[2, 3, 5, 8, 10][..]));
    let free = of_role(witch, SymbolRole::FreeSpins);
    assert!(witch.pay_rows.iter().any(|row| free.contains(&row.symbol) && row.free_spins == 10));
    let locked: Vec<_> = witch.conditional_returns.iter().map(|of| (of.key.as_str(), number(&of.rtp))).collect();
    let keys = ["unlocked_1", "unlocked_2", "unlocked_3", "new_player_100", "new_player_500", "new_player_1000"];
    assert_eq!(locked.iter().map(|(key, _)| *key).collect::<Vec<_>>(), keys);
    assert!(locked.iter().all(|(_, rtp)| *rtp < number(&witch.rtp) && *rtp > 0.5), "{locked:?}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_13_dm_06_wf_14_the_strips_hold_what_the_rules_say() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    for name in GAMES {
        let game = ask(&mut client, name, "", true).await.unwrap();
        assert!(!game.reel_sets.is_empty(), "{name}");
        for set in &game.reel_sets {
            assert!([1, 5].contains(&set.strips.len()) && !set.title.is_empty(), "{name}");
            let all = set.strips.iter().flat_map(|strip| &strip.symbols);
            assert!(all.clone().count() > 5 && all.clone().all(|on| (*on as usize) < game.symbols.len()), "{name}");
        }
        assert_eq!(game.reel_sets[0].strips.len(), 5, "{name}");
        let reels_with = |role: SymbolRole| -> Vec<usize> {
            let symbols = of_role(&game, role);
            let strips = (1..).zip(&game.reel_sets[0].strips);
            strips
                .filter(|(_, strip)| strip.symbols.iter().any(|on| symbols.contains(on)))
                .map(|(reel, _)| reel)
                .collect()
        };
        match name {
            "dwarf-mine" => {
                assert_eq!(reels_with(SymbolRole::FreeSpins), [1, 3, 5], "DM-06");
                assert!(
                    reels_with(SymbolRole::Collected).is_empty(),
                    "DM-09: crystals are only on the expanded rows, not on the reels"
                );
                assert!(reels_with(SymbolRole::SuperHigh).is_empty(), "DM-05");
            }
            "witch-feature" => {
                assert!(reels_with(SymbolRole::Collected).iter().all(|reel| (2..=4).contains(reel)), "WF-05");
                assert_eq!(reels_with(SymbolRole::FreeSpins), [1, 5], "WF-14");
            }
            _ => assert_eq!(reels_with(SymbolRole::Bonus).len(), 5, "{name}"),
        }
    }
    server.stop().await.unwrap();
}

fn evaluated(game: &GetGameResponse, coins_per_line: u64, bet_coins: u64, spin: &SpinResult) -> u64 {
    let rows = spin.rows as usize;
    let cells = |reel: usize| spin.cells[reel * rows..(reel + 1) * rows].iter().map(|cell| u32::from(*cell));
    let pays = |symbol: u32, count: u32, anywhere: bool| {
        let is = |row: &&PayRow| (row.symbol, row.count, row.anywhere) == (symbol, count, anywhere);
        game.pay_rows.iter().find(is).map_or(0, |row| row.pays)
    };
    let wilds = of_role(game, SymbolRole::Wild);
    let regular: BTreeSet<_> =
        of_role(game, SymbolRole::Regular).union(&of_role(game, SymbolRole::SuperHigh)).copied().collect();
    let mut won = 0;
    for line in &game.lines {
        let shown: Vec<_> =
            line.rows.iter().enumerate().map(|(reel, row)| cells(reel).nth(*row as usize).unwrap()).collect();
        let run = |symbol: u32| {
            let own = |cell: &&u32| **cell == symbol || (regular.contains(&symbol) && wilds.contains(cell));
            pays(symbol, u32::try_from(shown.iter().take_while(own).count()).unwrap(), false)
        };
        won += regular.iter().chain(&wilds).map(|symbol| run(*symbol)).max().unwrap_or(0) * coins_per_line;
    }
    if !game.ways.is_empty() {
        assert_eq!(spin.ways, u64::from(spin.rows).pow(5));
        for symbol in &regular {
            let counts: Vec<_> = (0..5).map(|reel| cells(reel).filter(|cell| cell == symbol).count() as u64).collect();
            let run: Vec<_> = counts.into_iter().take_while(|count| *count > 0).collect();
            won += pays(*symbol, u32::try_from(run.len()).unwrap(), false) * run.iter().product::<u64>();
        }
    }
    for symbol in 0..u32::try_from(game.symbols.len()).unwrap() {
        let count = (0..5).flat_map(cells).filter(|cell| *cell == symbol).count();
        won += pays(symbol, u32::try_from(count).unwrap(), true) * bet_coins;
    }
    won
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_13_what_is_played_is_what_is_described() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    for game in latest_games().iter().copied() {
        let described = ask(&mut client, game.name(), "", false).await.unwrap();
        let account = client.fund(game.name(), EUR, 1_000_000).await;
        let (mut windows, mut wins) = (0, 0);
        for number in 0..120 {
            let bet = stake_on(game, &format!("r{number}"), &account, smallest(game));
            let stake = bet.stake.clone().unwrap();
            let coins = u64::from(stake.lines * stake.coins_per_line);
            let steps = play(&mut client, game, bet, number).await;
            assert_eq!(steps.last().unwrap().state(), RoundState::Settled);
            let spins = steps.iter().flat_map(|step| &step.outcome.as_ref().unwrap().spins);
            for spin in spins.filter(|spin| spin.kind() == SpinKind::Base) {
                assert!((described.rows..=described.rows_max).contains(&spin.rows), "{}", game.name());
                let expected = evaluated(&described, u64::from(stake.coins_per_line), coins, spin);
                assert_eq!(spin.win_coins, expected, "{} {number}: {spin:?}", game.name());
                windows += 1;
                wins += u32::from(expected > 0);
            }
        }
        assert!(windows >= 120 && wins > 10, "{}: {wins} of {windows}", game.name());
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_13_mf_d8_descriptions_state_amounts_values_and_combinations() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    for name in GAMES {
        let game = ask(&mut client, name, "", false).await.unwrap();
        assert!((0.05..0.6).contains(&number(&game.hit_frequency)), "{name}: {}", game.hit_frequency);
        let values: Vec<_> = game.value_sets.iter().map(|of| (of.key.as_str(), of.values.clone())).collect();
        match name {
            "neptune" => {
                let amounts = vec![10, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500];
                assert_eq!(values, [("treasure", amounts)]);
            }
            "mystery-elves" => assert_eq!(values, [("bonus", (1..=18).collect())]),
            _ => assert!(values.is_empty(), "{name}"),
        }
        let symbols = |of: &[u32]| of.iter().map(|at| game.symbols[*at as usize].name.clone()).collect::<Vec<_>>();
        let combinations: Vec<_> =
            game.feature_combinations.iter().map(|of| (of.title.as_str(), symbols(&of.symbols))).collect();
        let potions = |of: [&str; 3]| of.map(|colour| format!("{colour} Potion")).to_vec();
        let expected = [
            ("High Symbols Respin", potions(["Red", "Blue", "Green"])),
            ("Random Wilds Respin", potions(["Red", "Blue", "Blue"])),
            ("Multiplier", potions(["Red", "Green", "Green"])),
            ("Mega Wild Respin", potions(["Blue", "Blue", "Green"])),
        ];
        if name == "witch-feature" {
            assert_eq!(combinations, expected);
        } else {
            assert!(combinations.is_empty(), "{name}");
        }
    }
    server.stop().await.unwrap();
}
