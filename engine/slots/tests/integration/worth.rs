use motherlode_slots::{CoinWorth, MeanCoin, parts::worth::half_even};

#[test]
fn dm_17_halves_go_to_the_even_cent() {
    for (tenths, cents) in [
        (14, 1),
        (16, 2),
        (5, 0),
        (15, 2),
        (25, 2),
        (35, 4),
        (45, 4),
        (55, 6),
        (65, 6),
        (75, 8),
        (85, 8),
        (95, 10),
        (84, 8),
    ] {
        assert_eq!(half_even(tenths, 10), cents, "{tenths} tenths");
    }
    assert_eq!(CoinWorth::new(4_000, 10_000).minor(21), 8);
}

#[test]
fn dm_12_a_mean_is_an_exact_fraction() {
    let mean = |sum_micros, count| CoinWorth::mean(MeanCoin { sum_micros, count }, 10_000);
    assert_eq!(mean(40_000, 3).minor(100), 133);
    assert_eq!(mean(30_000, 2).minor(1), 2);
    assert_eq!(mean(50_000, 2).minor(1), 2);
}

#[test]
fn large_wins_do_not_overflow() {
    assert_eq!(CoinWorth::new(10_000_000, 10_000).minor(u64::MAX / 1_000), u64::MAX / 1_000 * 1_000);
    assert_eq!(CoinWorth::new(u64::MAX, 1).minor(u64::MAX), u64::MAX);
}
