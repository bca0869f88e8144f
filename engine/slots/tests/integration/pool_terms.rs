use motherlode_slots::contract::par::ratio;
use motherlode_slots::{Par, PoolTerms, Stake, game, latest, latest_games};

const STANDARD: PoolTerms =
    PoolTerms { seed_nanos: 20_000_000_000_000, contribution_ppm: 5_000, base_coin_micros: 10_000_000 };

fn par(version: &str, lines: u32, coins: u32) -> Par {
    let stake = Stake { coin_value_micros: 10_000, lines, coins_per_line: coins, buy_feature: false };
    game("bewitched", version).unwrap().par(&stake).unwrap()
}

#[test]
fn bw_21_the_standard_terms_return_what_the_sheet_states_at_every_stake() {
    for (version, lines, coins) in [("1.6", 1, 1), ("1.6.1", 15, 1), ("1.6.1", 7, 10)] {
        let par = par(version, lines, coins);
        let jackpot = par.jackpot_return(&STANDARD).unwrap();
        assert_eq!(jackpot.seed, par.part("jackpot_seed"), "{version}");
        assert_eq!(&jackpot.increments_per_eur * ratio(1, 100), par.part("jackpot_increments"), "{version}");
        assert_eq!(jackpot.increments_max, ratio(5, 1_000));
    }
}

/// The seed of 30,000 EUR pays 3,000 times the coin value, once per 400,000 coins staked: a return of 0.75 %. The
/// contributions return another 1 %.
#[test]
fn pl_43_other_terms_give_other_returns_and_leave_the_published_span() {
    let game = latest("bewitched").unwrap();
    let par = par("1.6.1", 15, 1);
    let terms = PoolTerms { seed_nanos: 30_000_000_000_000, contribution_ppm: 10_000, ..STANDARD };
    let jackpot = par.jackpot_return(&terms).unwrap();
    assert_eq!((jackpot.seed.clone(), jackpot.increments_max.clone()), (ratio(75, 10_000), ratio(1, 100)));
    assert_eq!(jackpot.increments_per_eur, ratio(1, 1_000));
    assert_eq!(game.info().rtp_span_micros, Some((946_000, 951_000)));
    assert!(par.check_pool_terms(game.info(), &STANDARD).is_ok());
    let refused = par.check_pool_terms(game.info(), &terms).unwrap_err();
    assert_eq!((refused.lowest.as_str(), refused.highest.as_str()), ("0.948500", "0.958500"));
    for terms in [
        PoolTerms { contribution_ppm: 5_001, ..STANDARD },
        PoolTerms { seed_nanos: STANDARD.seed_nanos - 1, ..STANDARD },
        PoolTerms { base_coin_micros: STANDARD.base_coin_micros + 10_000, ..STANDARD },
    ] {
        assert!(par.check_pool_terms(game.info(), &terms).is_err(), "{terms:?}");
    }
    assert!(par.check_pool_terms(game.info(), &PoolTerms { contribution_ppm: 4_000, ..STANDARD }).is_ok());
}

#[test]
fn bw_21_games_without_a_jackpot_accept_all_terms() {
    for game in latest_games().iter().filter(|game| game.pool().is_none()) {
        let limits = &game.info().limits;
        let stake = Stake {
            coin_value_micros: 10_000,
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        };
        let par = game.par(&stake).unwrap();
        assert_eq!(par.jackpot_return(&STANDARD), None);
        assert!(par.check_pool_terms(game.info(), &STANDARD).is_ok());
    }
}
