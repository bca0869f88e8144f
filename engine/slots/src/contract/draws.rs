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
