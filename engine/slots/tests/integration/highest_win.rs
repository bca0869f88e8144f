use motherlode_slots::contract::outcome::Outcome;
use motherlode_slots::contract::par::{Exact, exact, ratio};
use motherlode_slots::{
    Carried, Choice, CoinWorth, Draws, GambleTop, Game, HighestWin, Reach, Stake, Terms, games, latest, latest_games,
    simulate,
};

use crate::common::{Naive, seed};

const WITCH: &str = include_str!("../../golden/witch-feature/1.0.1.toml");

fn stake(game: &dyn Game) -> Stake {
    let limits = &game.info().limits;
    Stake {
        coin_value_micros: 10_000,
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    }
}

fn highest(name: &str) -> HighestWin {
    let game = latest(name).unwrap();
    game.highest_win(&stake(game)).unwrap()
}

fn window(name: &str) -> Exact {
    let game = latest(name).unwrap();
    game.par(&stake(game)).unwrap().max_win_bets
}

#[test]
fn pl_13_no_simulated_round_wins_more_and_the_chance_is_tiny() {
    for game in latest_games() {
        let stake = stake(*game);
        let of = game.highest_win(&stake).unwrap();
        let bet = game.check_stake(&stake).unwrap();
        let tally = simulate(*game, &stake, Carried::default(), 20_000, [5; 32]).unwrap();
        assert!(exact(tally.max_win_coins) / exact(bet) < of.bets, "{}", game.name());
        assert!(of.chance_exponent < -12, "{}: {}", game.name(), of.chance());
        let without_limit = ["bewitched", "neptune", "witch-feature"].contains(&game.name());
        assert_eq!(of.unlimited, without_limit, "{}", game.name());
        assert_eq!(of.definition().contains("their number is unlimited"), without_limit);
    }
}

/// ME-21: in the feature with the highest win, twelve MAJORs of 150 bets are multiplied by 5 x 5 x 5, three factors on
/// the middle reel. All 15 symbols then become Bonuses of 18 bets (ME-08), and the full screen doubles the sum
/// (ME-12). A feature with a GRAND wins less, because ME-07 limits its factors to 2.
#[test]
fn me_21_the_highest_feature_of_mystery_elves() {
    let feature = 2 * (12 * 150 * 125 + 15 * 18);
    assert!(feature > 2 * (12 * 1000 * 8 + 15 * 18));
    assert_eq!(highest("mystery-elves").bets, exact(feature) + window("mystery-elves"));
    let game = latest("mystery-elves").unwrap();
    let bought = game.highest_win(&Stake { buy_feature: true, ..stake(game) }).unwrap();
    assert!(bought.bets >= ratio(feature, 70) && bought.bets < ratio(feature, 70) + exact(100));
}

/// WF-04: in the round with the highest win, the paid spin starts a High Symbols Respin that shows only Wilds. Ten free
/// spins with a multiplier of 10 follow, which also show only Wilds.
#[test]
fn wf_04_win_up_to_of_witch_feature_is_reached() {
    for file in [WITCH, include_str!("../../golden/witch-feature/1.0.toml")] {
        let base = Naive::new(file);
        let free = base.on_strips(file, "free_reels");
        let free_spins = |naive: &Naive, stops: &[usize; 5], reel: usize| {
            (0..4).any(|row| naive.roles[naive.cell(reel, stops[reel], row)] == "free-spins")
        };
        let value = |naive: &Naive, stops: &[usize; 5]| (0..50).map(|line| naive.line(line, stops)).sum::<u64>();
        let (paid, each) = ([20, 3, 23, 14, 6], [10, 7, 23, 14, 27]);
        assert!([0, 4].iter().all(|&reel| free_spins(&base, &paid, reel)));
        assert!(!(0..5).any(|reel| free_spins(&free, &each, reel)));
        let wilds = exact(base.pays[0][4]);
        assert_eq!((base.codes[0].as_str(), &wilds), ("Wi", &exact(500)));
        let in_bets = |coins: u64| ratio(coins, 50);
        let reached =
            in_bets(value(&base, &paid)) + &wilds + exact(10) * (in_bets(value(&free, &each)) + exact(10) * &wilds);
        assert_eq!(highest("witch-feature").bets, reached);
        assert!(reached > exact(50_869) && reached < exact(50_884));
    }
}

#[test]
fn np_11_the_highest_round_of_neptune() {
    let (window, treasures) = (window("neptune"), ratio(11 * 2_500, 15));
    assert_eq!(highest("neptune").bets, &window + exact(30) * &window + treasures);
}

/// BW-06: in the round with the highest win, scatters award 20 free spins, and the bonus awards 60. In each free spin,
/// line wins are doubled and a bonus pays 300 times the bet.
#[test]
fn bw_06_the_highest_round_of_bewitched() {
    let window = window("bewitched");
    assert_eq!(highest("bewitched").bets, &window + exact(80) * (exact(2) * &window + exact(300)));
}

#[test]
fn mf_d1_crystals_of_the_highest_coin_value_are_in_the_highest_win() {
    for game in games().iter().filter(|game| game.name() == "dwarf-mine") {
        let highest = game.highest_win(&stake(*game)).unwrap();
        let top = highest.collected.clone().unwrap();
        let reach = |coin_micros, carried_micros| Reach {
            bet_coins: 25,
            coin_micros,
            carried_micros,
            minor_micros: 10_000,
            gamble_max_minor: 0,
        };
        let mixed = highest.paid(&reach(4_000, 2_000_000));
        let paid = |micros: u64, of: &[motherlode_slots::TopWindows]| -> u64 {
            of.iter().map(|of| CoinWorth::new(micros, 10_000).minor(of.coins) * u64::from(of.windows)).sum()
        };
        assert_eq!(mixed.minor, (paid(4_000, &top.own) + paid(1_600_800, &top.collected)).into());
        assert!(mixed.minor > 3_476_470.into(), "{}", mixed.minor);
        assert!(mixed.chance_exponent < -30);
        let own = highest.paid(&reach(2_000_000, 2_000_000));
        assert_eq!(exact(own.minor), &highest.bets * exact(5_000));
        assert_eq!(highest.paid(&reach(2_000_000, 4_000)), highest.paid(&reach(2_000_000, 2_000_000)));
    }
}

#[test]
fn mf_d1_completed_collections_stay_below_what_is_stated() {
    let game = latest("dwarf-mine").unwrap();
    let carried = Carried([4, 4, 4, 4, 8_000_000, 8_000_000, 8_000_000, 8_000_000, 0, 1, 0, 0]);
    let stake = Stake { coin_value_micros: 4_000, ..stake(game) };
    let (mut most, mut completions) = (0, 0);
    let mut out = Outcome::default();
    for number in 0..40_000 {
        let mut draws = Draws::from_seed(seed(number));
        let mut round = game.open(&stake, &Terms::plain(carried)).unwrap();
        while let Some(choice) = round.automatic() {
            completions += u32::from(choice == Choice::StartFreeSpins);
            round.resolve(&choice, &mut draws, &mut out).unwrap();
        }
        most = most.max(out.round_win_minor);
    }
    let highest = game.highest_win(&stake).unwrap();
    let stated = highest.paid(&Reach {
        bet_coins: 25,
        coin_micros: 4_000,
        carried_micros: 2_000_000,
        minor_micros: 10_000,
        gamble_max_minor: 0,
    });
    assert!(completions > 500, "{completions}");
    assert!(num_bigint::BigInt::from(most) < stated.minor);
    assert!(exact(most) / exact(10) > highest.bets, "{most} passes what was stated without what is carried");
}

#[test]
fn mf_d1_gambles_are_in_the_highest_win() {
    fn most(at_risk: u64, cards: u32, first: bool, limit: u64, on_result: bool) -> u64 {
        let may_double = at_risk <= if on_result { limit / 2 } else { limit };
        if at_risk == 0 || cards == 0 || !(first || may_double) {
            return at_risk;
        }
        let halved =
            if at_risk >= 2 { at_risk - at_risk / 2 + most(at_risk / 2, cards, first, limit, on_result) } else { 0 };
        let doubled = if may_double { most(at_risk * 2, cards - 1, false, limit, on_result) } else { 0 };
        at_risk.max(halved).max(doubled)
    }
    for (limit, on_result) in [(10u64, false), (64, false), (100, false), (10, true), (64, true)] {
        let top = HighestWin {
            gamble: Some(GambleTop::Win { turns: 10, limit_on_result: on_result }),
            ..HighestWin::new(exact(1), -1, false)
        };
        for highest in [1u64, 7, 50, 64, 100, 1_000] {
            let reach = Reach {
                bet_coins: highest,
                coin_micros: 1,
                carried_micros: 1,
                minor_micros: 1,
                gamble_max_minor: limit,
            };
            let offered = (1..=highest.min(limit)).map(|win| most(win, 10, true, limit, on_result)).max().unwrap();
            let stated = top.paid(&reach).gambled_minor;
            assert!(stated >= highest.max(offered).into(), "{limit} {highest}: {stated} below {offered}");
            assert!(stated <= (3 * highest.max(offered)).into(), "{limit} {highest}: {stated} far above {offered}");
        }
    }
    let bewitched = latest("bewitched").unwrap();
    let stake = stake(bewitched);
    let of = bewitched.highest_win(&stake).unwrap();
    let reach = Reach {
        bet_coins: 15,
        coin_micros: 10_000,
        carried_micros: 10_000,
        minor_micros: 10_000,
        gamble_max_minor: 12_500_000,
    };
    let paid = of.paid(&reach);
    assert_eq!(exact(paid.minor.clone()), (&of.bets * exact(15)).ceil());
    assert_eq!(exact(paid.gambled_minor), exact(paid.minor) + exact(31) * window("bewitched") * exact(15));
}
