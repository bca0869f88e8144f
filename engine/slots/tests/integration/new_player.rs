use motherlode_slots::contract::par::float;
use motherlode_slots::{Carried, Choice, Draws, Game, Outcome, Par, Seed, Stake, Terms, games, latest};

fn stake(game: &dyn Game) -> Stake {
    let limits = &game.info().limits;
    let (lines, coins_per_line) = (limits.lines.1, limits.coins_per_line.0);
    Stake { coin_value_micros: 10_000, lines, coins_per_line, buy_feature: false }
}

fn conditional(par: &Par, key: &str) -> f64 {
    float(&par.conditional_rtps.iter().find(|of| of.key == key).unwrap().rtp)
}

fn played(game: &'static dyn Game, players: u64, spins: u32, reached: impl Fn(&Carried) -> bool) -> (f64, f64, f64) {
    let stake = stake(game);
    let bet = f64::from(game.check_stake(&stake).unwrap());
    let (mut won, mut squares, mut until) = (0.0, 0.0, 0u64);
    let mut out = Outcome::default();
    for player in 0..players {
        let mut seed = Seed::default();
        seed[..8].copy_from_slice(&player.to_le_bytes());
        let mut draws = Draws::from_seed(seed);
        let mut carried = Carried::default();
        let mut round = game.open(&stake, &Terms::plain(carried)).unwrap();
        let mut all = 0.0;
        let mut open = true;
        for spin in 0..spins {
            if spin > 0 {
                round.reopen(&carried);
            }
            until += u64::from(open);
            while let Some(choice) = round.automatic() {
                round.resolve(&choice, &mut draws, &mut out).unwrap();
                assert_ne!(choice, Choice::Collect);
                carried = out.carried.unwrap_or(carried);
            }
            all += out.round_win_coins as f64 / bet;
            open &= !reached(&carried);
        }
        let mean = all / f64::from(spins);
        won += mean;
        squares += mean * mean;
    }
    let players = players as f64;
    let mean = won / players;
    (mean, ((squares / players - mean * mean) / players).sqrt(), until as f64 / players)
}

#[test]
fn mf_d5_unlocking_is_stated_and_comes_so_when_it_is_played() {
    for game in games().iter().filter(|game| game.name() == "witch-feature") {
        let par = game.par(&stake(*game)).unwrap();
        let (spins, cost) = (float(par.rate("unlock_spins").unwrap()), float(par.rate("unlock_cost_bets").unwrap()));
        assert!((160.0..161.0).contains(&spins) && (48.5..49.0).contains(&cost), "{spins} {cost}");
        let fact = |key: &str| game.facts().into_iter().find(|fact| fact.key == key).unwrap().value;
        assert_eq!(fact("unlock_spins"), format!("{spins:.1}"));
        assert_eq!(fact("unlock_cost_bets"), format!("{cost:.1}"));
        let rtp = float(&par.rtp);
        let first = ["new_player_100", "new_player_500", "new_player_1000"].map(|key| conditional(&par, key));
        assert!(first[0] < first[1] && first[1] < first[2] && first[2] < rtp, "{first:?}");
        assert!(((rtp - first[2]) * 1_000.0 - cost).abs() < 1.0);
    }
}

#[test]
fn mf_d5_new_players_return_what_is_stated() {
    let game = latest("witch-feature").unwrap();
    let par = game.par(&stake(game)).unwrap();
    let (rtp, error, _) = played(game, 3_000, 100, |_| false);
    assert!((rtp - conditional(&par, "new_player_100")).abs() < 4.0 * error && error < 0.02, "{rtp} {error}");
    let (_, _, spins) = played(game, 1_000, 1_200, |carried| carried.0[2] == 4);
    let stated = float(par.rate("unlock_spins").unwrap());
    assert!((spins - stated).abs() < 4.0 * stated / 1_000f64.sqrt(), "{spins}");
    let game = latest("dwarf-mine").unwrap();
    let par = game.par(&stake(game)).unwrap();
    let (rtp, error, _) = played(game, 3_000, 100, |_| false);
    assert!((rtp - conditional(&par, "new_player_100")).abs() < 4.0 * error && error < 0.02, "{rtp} {error}");
}

#[test]
fn mf_d5_dm_14_the_first_spins_of_a_new_player_of_dwarf_mine() {
    for game in games().iter().filter(|game| game.name() == "dwarf-mine") {
        let par = game.par(&stake(*game)).unwrap();
        let lands = float(par.rate("crystal").unwrap());
        let worth = |colour: &str| float(par.rate(&format!("collection_win_{colour}")).unwrap());
        for (key, spins) in [("new_player_100", 100u32), ("new_player_500", 500), ("new_player_1000", 1_000)] {
            let completions = |given: u32| -> f64 {
                let mut chance = (1.0 - lands).powf(f64::from(spins));
                let mut mean = 0.0;
                for crystals in 0..=spins {
                    mean += chance * f64::from((crystals + given) / 5);
                    chance *= f64::from(spins - crystals) / f64::from(crystals + 1) * lands / (1.0 - lands);
                }
                mean
            };
            let collections = ["green", "yellow", "blue"].map(|of| worth(of) * completions(0)).iter().sum::<f64>()
                + worth("red") * completions(3);
            let always = float(&(par.part("base_ways") + par.part("free_spins")));
            let expected = always + collections / f64::from(spins);
            assert!((conditional(&par, key) - expected).abs() < 1e-9, "{key}: {expected}");
            assert!(expected < float(&par.rtp));
        }
    }
}

#[test]
fn pl_43_the_first_spins_are_stated_where_a_player_carries_something() {
    for game in games() {
        let par = game.par(&stake(*game)).unwrap();
        let stated = par.conditional_rtps.iter().filter(|of| of.key.starts_with("new_player_")).count();
        assert_eq!(stated, if game.carries().keys.is_empty() { 0 } else { 3 }, "{}", game.name());
    }
}
