use motherlode_slots::{
    Draws,
    math::{
        highest::{FreeSpin, exponent, log_chance},
        simulate::{WIN_CLASSES, win_class},
    },
    par::{Exact, decimal, ratio},
};

#[test]
fn decimals_round_halves_to_even() {
    let write = |numerator: i64, places| decimal(&Exact::new(numerator.into(), 1000.into()), places);
    assert_eq!(write(941, 4), "0.9410");
    assert_eq!(write(1_005, 2), "1.00");
    assert_eq!(write(1_015, 2), "1.02");
    assert_eq!(write(-1_015, 2), "-1.02");
    assert_eq!(write(-1_016, 1), "-1.0");
    assert_eq!(write(1_500, 0), "2");
    assert_eq!(write(2_500, 0), "2");
    assert_eq!(write(999_999, 2), "1000.00");
    assert_eq!(write(0, 3), "0.000");
}

#[test]
fn a_round_is_counted_by_its_win_in_bets() {
    let class = |coins| win_class(coins, 15);
    assert_eq!([class(0), class(1), class(2), class(3)], [0, 1, 2, 3]);
    assert_eq!([class(14), class(15), class(29), class(30)], [4, 5, 5, 6]);
    assert_eq!([class(15 * 50_000 - 1), class(15 * 50_000)], [18, 19]);
    assert_eq!(WIN_CLASSES, 20);
}

#[test]
fn a_series_bound_is_above_the_exact_chance() {
    let spin = FreeSpin { most: ratio(100, 1), mean: ratio(1, 10), awards: vec![] };
    let bound = spin.log_chance_of_most(10);
    assert!((-30.0..-20.0).contains(&bound), "{bound}");
    let awarding = FreeSpin { awards: vec![(10, 0.01)], ..spin.clone() };
    assert!(awarding.log_chance_of_most(10) >= bound);
    assert!(spin.log_chance_of_most(20) <= 2.0 * bound + 1e-9);
    let endless = FreeSpin { awards: vec![(10, 0.2)], ..spin };
    assert_eq!(endless.log_chance_of_most(10), 0.0);
}

#[test]
fn logarithms_and_exponents() {
    assert!((log_chance(&ratio(1, 1000)) + 3.0).abs() < 1e-9);
    let tiny = ratio(1, num_bigint::BigInt::from(10).pow(400));
    assert!((log_chance(&tiny) + 400.0).abs() < 1e-9);
    assert_eq!((exponent(-3.5), exponent(-3.0), exponent(0.0), exponent(-0.2)), (-3, -2, 0, 0));
}

#[test]
fn a_series_bound_holds_in_play() {
    let spin = FreeSpin { most: ratio(4, 1), mean: ratio(1, 1), awards: vec![(2, 0.1)] };
    let bound = 10f64.powf(spin.log_chance_of_most(3));
    let mut draws = Draws::from_seed([3; 32]);
    let played = 20_000;
    let most = (0..played).filter(|_| {
        let (mut left, mut won) = (3u32, 0);
        while left > 0 {
            left -= 1;
            won += if draws.below(4) == 0 { 4 } else { 0 };
            left += if draws.below(10) == 0 { 2 } else { 0 };
        }
        won >= 12
    });
    let share = most.count() as f64 / f64::from(played);
    assert!(share > 0.0 && share <= bound, "{share} {bound}");
}
