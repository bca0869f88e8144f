use motherlode_slots::Draws;
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

/// First block of the stream for a zero key, nonce and counter: test vector 1 in RFC 8439, A.1.
const RFC_8439_ZERO_BLOCK: [u32; 8] =
    [0xade0_b876, 0x903d_f1a0, 0xe56a_5d40, 0x28bd_8653, 0xb819_d2bd, 0x1aed_8da0, 0xccef_36a8, 0xc70d_778b];

#[test]
fn the_stream_is_chacha20_of_the_rfc() {
    let mut draws = Draws::from_seed([0; 32]);
    let mut words = draws.clone();
    for word in RFC_8439_ZERO_BLOCK {
        assert_eq!(words.word(), word);
        assert_eq!(draws.below(1 << 31), word >> 1);
    }
}

#[test]
fn a_64_bit_draw_takes_the_low_word_first() {
    let mut draws = Draws::from_seed([0; 32]);
    for pair in RFC_8439_ZERO_BLOCK.chunks(2) {
        let word = u64::from(pair[1]) << 32 | u64::from(pair[0]);
        assert_eq!(draws.below_u64(1 << 63), word >> 1);
    }
}

#[test]
fn the_reduction_is_the_high_half_of_the_product() {
    let mut draws = Draws::from_seed([0; 32]);
    for word in RFC_8439_ZERO_BLOCK {
        let expected = (u64::from(word) * 1000) >> 32;
        assert_eq!(u64::from(draws.below(1000)), expected);
    }
}

/// PL-14: a fair draw below n = 3 * 2^30 must reject a quarter of all 32-bit words.
#[test]
fn pl_14_range_reduction_rejects_biased_words() {
    let n: u32 = 3 << 30;
    let mut draws = Draws::from_seed([0; 32]);
    let mut words = ChaCha20Rng::from_seed([0; 32]);
    let mut rejected = 0;
    for _ in 0..1000 {
        let expected = loop {
            let word = words.next_u32();
            let product = u64::from(word) * u64::from(n);
            if product % (1 << 32) >= 1 << 30 {
                break product >> 32;
            }
            rejected += 1;
        };
        assert_eq!(u64::from(draws.below(n)), expected);
    }
    assert!(rejected > 200, "rejected {rejected}");
}

/// PL-14: chi-square test; the 1 - 1e-6 quantile for 31 degrees of freedom is about 82.
#[test]
fn pl_14_each_stop_is_equally_likely() {
    let mut draws = Draws::from_seed(*b"chi-square of the stops of reels");
    for n in [32u32, 31, 7] {
        let mut counts = vec![0u64; n as usize];
        let rounds = 3200 * u64::from(n);
        for _ in 0..rounds {
            counts[draws.below(n) as usize] += 1;
        }
        let chi: u64 = counts.iter().map(|&c| c.abs_diff(3200).pow(2)).sum::<u64>() / 3200;
        assert!(chi < 82, "n {n}: chi-square {chi}");
        assert!(chi > 0 || n < 8, "too even to be random");
    }
}

#[test]
fn one_outcome_is_no_choice() {
    let mut draws = Draws::from_seed([7; 32]);
    assert_eq!(draws.below(1), 0);
    assert_eq!(draws.below_u64(1), 0);
    assert_eq!(draws.below(0), 0);
}
