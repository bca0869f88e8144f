//! The first spins of a new player, where a game lets players carry something (PL-43).
//!
//! The figures carried after so many spins are a Markov chain. Its exact fractions grow by the
//! chain's denominator with each spin, so shares are kept as fixed-point numbers of [`BITS`] binary places, rounded
//! down. A share of a thousand spins is off by less than 10^-40.

use std::ops::{AddAssign, SubAssign};

use num_bigint::BigInt;

use crate::contract::par::Exact;

/// Numbers of spins whose returns are stated.
pub const FIRST_SPINS: [u32; 3] = [100, 500, 1_000];
/// Binary places.
const BITS: usize = 160;

/// A number of at least 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed(BigInt);

impl Fixed {
    /// 0.
    #[must_use]
    pub fn zero() -> Self {
        Self(BigInt::ZERO)
    }

    /// 1.
    #[must_use]
    pub fn one() -> Self {
        Self(BigInt::from(1) << BITS)
    }

    /// The product with a fraction, rounded down.
    #[must_use]
    pub fn times(&self, by: &Exact) -> Self {
        Self(&self.0 * by.numer() / by.denom())
    }

    /// As a fraction.
    #[must_use]
    pub fn exact(&self) -> Exact {
        Exact::new(self.0.clone(), BigInt::from(1) << BITS)
    }
}

impl AddAssign<&Self> for Fixed {
    fn add_assign(&mut self, other: &Self) {
        self.0 += &other.0;
    }
}

impl SubAssign<&Self> for Fixed {
    fn sub_assign(&mut self, other: &Self) {
        self.0 -= &other.0;
    }
}
