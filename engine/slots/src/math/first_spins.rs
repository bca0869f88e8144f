//! Fixed-point numbers for the mean returns of a new player's first spins (PL-43). Exact fractions would become longer with
//! each spin. After a thousand spins, the error is below 10^-40.

use std::ops::{AddAssign, SubAssign};

use num_bigint::BigInt;

use crate::contract::par::Exact;

pub const FIRST_SPINS: [u32; 3] = [100, 500, 1_000];
const BITS: usize = 160;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed(BigInt);

impl Fixed {
    #[must_use]
    pub fn zero() -> Self {
        Self(BigInt::ZERO)
    }

    #[must_use]
    pub fn one() -> Self {
        Self(BigInt::from(1) << BITS)
    }

    /// Returns the product, rounded down.
    #[must_use]
    pub fn times(&self, by: &Exact) -> Self {
        Self(&self.0 * by.numer() / by.denom())
    }

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
