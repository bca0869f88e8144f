//! WF-04, PL-13: the highest win of a round, and the bound of its chance.

use motherlode_slots::contract::par::{Exact, exact, ratio};
use motherlode_slots::{Carried, Game, HighestWin, Stake, latest, latest_games, simulate};

/// All lines, one coin a line, as descriptions have it.
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

/// The highest window of the paid spin, in bets.
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
        // Free spins that win free spins go on without limit: no win is the highest then, and the description says so.
        let without_limit = ["bewitched", "neptune", "witch-feature"].contains(&game.name());
        assert_eq!(of.unlimited, without_limit, "{}", game.name());
        assert_eq!(of.said().contains("without limit"), without_limit);
    }
}

/// Twelve outer positions with MAJOR (150), the three of the middle reel multiplying by 5: 12 x 150 x 125; each of the
/// fifteen turns into 18 more; the full screen doubles. A GRAND beside factors of 2 is less.
#[test]
fn me_21_the_highest_feature_of_mystery_elves() {
    let feature = 2 * (12 * 150 * 125 + 15 * 18);
    assert!(feature > 2 * (12 * 1000 * 8 + 15 * 18));
    assert_eq!(highest("mystery-elves").bets, exact(feature) + window("mystery-elves"));
    // Bought for 70 bets it's a seventieth, but for other lines.
    let game = latest("mystery-elves").unwrap();
    let bought = game.highest_win(&Stake { buy_feature: true, ..stake(game) }).unwrap();
    assert!(bought.bets >= ratio(feature, 70) && bought.bets < ratio(feature, 70) + exact(100));
}

/// All Wilds are 500 times the bet, times 10 at most: after each of ten free spins and once in the base game.
#[test]
fn wf_04_win_up_to_of_witch_feature() {
    let of = highest("witch-feature");
    let features = exact(11 * 5_000);
    assert!(of.bets >= &features + window("witch-feature"));
    // Each of the eleven windows before the features wins at most what all Wilds do.
    assert!(of.bets <= &features + exact(11 * 500));
}

/// One Treasure bonus in the paid spin and in each of ten free spins, 2,500 coins for each coin on a line.
#[test]
fn np_11_the_highest_round_of_neptune() {
    let (window, treasures) = (window("neptune"), ratio(11 * 2_500, 15));
    assert_eq!(highest("neptune").bets, &window + exact(30) * &window + treasures);
}

/// 20 free spins by scatters and 60 by the bonus, line wins doubled, with 300 bets of a bonus in each.
#[test]
fn bw_06_the_highest_round_of_bewitched() {
    let window = window("bewitched");
    assert_eq!(highest("bewitched").bets, &window + exact(80) * (exact(2) * &window + exact(300)));
}
