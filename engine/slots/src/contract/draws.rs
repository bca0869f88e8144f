//! The only source of randomness: one ChaCha20 stream per seed, and an unbiased range reduction.
//!
//! Costs about 140 ns to seed and 3 ns a draw. Promises that a seed gives the same draws for ever:
//! the mapping from stream words to numbers is written out here and frozen by known-answer tests,
//! because a round must replay bit for bit years later (PL-06, PL-14).

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The seed of one step: 32 bytes, drawn when the step is resolved and logged with it.
pub type Seed = [u8; 32];

/// The random numbers of one seed, in order.
///
/// The key is the seed; nonce and counter start at zero; words are read in stream order, little
/// endian. A 64-bit word is two 32-bit words, the low half first.
#[derive(Clone, Debug)]
pub struct Draws(ChaCha20Rng);

impl Draws {
    /// Starts the stream of `seed`.
    #[must_use]
    pub fn from_seed(seed: Seed) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }

    /// The next 32-bit word, unscaled: what a laboratory's tests of the generator read (PL-28). No game uses it.
    #[inline]
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number from `0..n`, each equally likely. `n` is at least 1; 0 is treated as 1.
    ///
    /// Lemire's method ("Fast random integer generation in an interval", 2019): the high half of
    /// `word * n`, with the words rejected that would favour some results. The rejection limit
    /// costs a division, so it's computed only when the low half makes a rejection possible.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        let n = n.max(1);
        let mut product = u64::from(self.0.next_u32()) * u64::from(n);
        if low32(product) < n {
            let limit = n.wrapping_neg() % n;
            while low32(product) < limit {
                product = u64::from(self.0.next_u32()) * u64::from(n);
            }
        }
        low32(product >> 32)
    }

    /// A number from `0..n` for ranges beyond 32 bits; the same method on 64-bit words.
    #[inline]
    pub fn below_u64(&mut self, n: u64) -> u64 {
        let n = n.max(1);
        let mut product = u128::from(self.word64()) * u128::from(n);
        if low64(product) < n {
            let limit = n.wrapping_neg() % n;
            while low64(product) < limit {
                product = u128::from(self.word64()) * u128::from(n);
            }
        }
        low64(product >> 64)
    }

    #[inline]
    fn word64(&mut self) -> u64 {
        let low = u64::from(self.0.next_u32());
        let high = u64::from(self.0.next_u32());
        high << 32 | low
    }
}

#[allow(clippy::cast_possible_truncation)] // The low half is what is wanted.
#[inline]
const fn low32(x: u64) -> u32 {
    x as u32
}

#[allow(clippy::cast_possible_truncation)] // The low half is what is wanted.
#[inline]
const fn low64(x: u128) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ChaCha20 block of the all-zero key, nonce and counter: RFC 8439, A.1, test vector 1.
    const RFC_8439_ZERO_BLOCK: [u32; 8] =
        [0xade0_b876, 0x903d_f1a0, 0xe56a_5d40, 0x28bd_8653, 0xb819_d2bd, 0x1aed_8da0, 0xccef_36a8, 0xc70d_778b];

    #[test]
    fn the_stream_is_chacha20_of_the_rfc() {
        let mut draws = Draws::from_seed([0; 32]);
        let mut words = draws.clone();
        for word in RFC_8439_ZERO_BLOCK {
            assert_eq!(words.word(), word);
            // With n = 2^31 nothing is ever rejected and the draw is the word's upper 31 bits.
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

    /// PL-14: words that would favour a result are drawn again. For n = 3 * 2^30 one word in four
    /// is rejected, so a reduction without rejection would visibly diverge from this one.
    #[test]
    fn pl_14_range_reduction_rejects_biased_words() {
        let n: u32 = 3 << 30;
        let mut draws = Draws::from_seed([0; 32]);
        let mut words = Draws::from_seed([0; 32]);
        let mut rejected = 0;
        for _ in 0..1000 {
            let expected = loop {
                let word = words.word();
                let product = u64::from(word) * u64::from(n);
                // 2^32 mod n = 2^30: products with a smaller low half have one preimage too many.
                if product % (1 << 32) >= 1 << 30 {
                    break product >> 32;
                }
                rejected += 1;
            };
            assert_eq!(u64::from(draws.below(n)), expected);
        }
        assert!(rejected > 200, "rejected {rejected}");
    }

    /// PL-14: each stop equally likely. Chi-square over 32 stops at a fixed seed; the bound is the
    /// 1 - 1e-6 quantile for 31 degrees of freedom (about 82).
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
}
