//! Random numbers. Each seed yields one ChaCha20 stream. Known-answer tests freeze the mapping from seeds to numbers,
//! so that rounds replay exactly (PL-06, PL-14).

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub type Seed = [u8; 32];

#[derive(Clone, Debug)]
pub struct Draws(ChaCha20Rng);

impl Draws {
    #[must_use]
    pub fn from_seed(seed: Seed) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }

    /// Returns the next 32-bit word of the stream; used by test laboratories (PL-28).
    #[inline]
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Returns a uniform number in `0..n` by Lemire's method (2019).
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

#[allow(clippy::cast_possible_truncation)]
#[inline]
const fn low32(x: u64) -> u32 {
    x as u32
}

#[allow(clippy::cast_possible_truncation)]
#[inline]
const fn low64(x: u128) -> u64 {
    x as u64
}
