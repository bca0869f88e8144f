//! PAR sheet. All figures except the standard deviation are exact.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::cmp::Ordering;

use crate::contract::nature::Nature;

pub type Exact = BigRational;

/// Exact return and probabilities for one stake. Amounts are multiples of the bet.
#[derive(Clone, Debug, PartialEq)]
pub struct Par {
    pub game: &'static str,
    pub rules_version: &'static str,
    pub model_hash: [u8; 32],
    pub bet_coins: u64,
    /// Return including the jackpot's seed, but not the jackpot's increments.
    pub rtp: Exact,
    pub rtp_without_jackpot: Exact,
    pub parts: Vec<ReturnPart>,
    /// Probability of a round with a win or a feature.
    pub hit_frequency: Exact,
    /// Standard deviation of a round's win in bets, excluding jackpot and gamble.
    pub std_dev: f64,
    pub max_win_bets: Exact,
    pub max_win_probability: Exact,
    pub reel_sets: Vec<ReelSet>,
    pub rates: Vec<Rate>,
    pub conditional_rtps: Vec<ConditionalRtp>,
    pub exactness: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName {
    pub key: &'static str,
    pub title: &'static str,
    pub nature: Nature,
}

impl PartName {
    #[must_use]
    pub const fn cash(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Cash }
    }

    #[must_use]
    pub const fn collected(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Collected }
    }

    #[must_use]
    pub const fn jackpot(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Jackpot }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnPart {
    pub name: PartName,
    pub rtp: Exact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReelSet {
    pub title: &'static str,
    pub strips: Vec<Vec<u8>>,
    pub combinations: Vec<Combination>,
}

impl ReelSet {
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.strips.iter().map(|strip| strip.len() as u64).product()
    }

    #[must_use]
    pub fn counts(&self, symbol: u8) -> Vec<usize> {
        self.strips.iter().map(|strip| strip.iter().filter(|&&on| on == symbol).count()).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    pub symbol: u8,
    pub count: u8,
    /// Probability of the combination on one line or, for scatters, anywhere on the screen. For ways: mean number of
    /// winning ways of the combination.
    pub chance: Exact,
    pub rtp: Exact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    pub key: String,
    pub title: String,
    pub value: Exact,
}

impl Rate {
    pub fn new(key: impl Into<String>, title: impl Into<String>, value: Exact) -> Self {
        Self { key: key.into(), title: title.into(), value }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionalRtp {
    pub key: &'static str,
    pub title: &'static str,
    pub rtp: Exact,
    pub condition: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Bought,
    FirstSpins(u32),
    Held {
        /// One of [`crate::Carries::keys`].
        key: &'static str,
        value: i64,
    },
}

impl Par {
    #[must_use]
    pub fn rtp_with_increments(&self) -> Exact {
        self.parts.iter().map(|part| part.rtp.clone()).sum()
    }

    /// Returns 1.96 standard deviations of a round's win. In 95 % of cases, the mean win of N rounds differs from the
    /// return by at most this number divided by sqrt(N).
    #[must_use]
    pub fn volatility_index(&self) -> f64 {
        1.96 * self.std_dev
    }

    #[must_use]
    pub fn of_nature(&self, nature: Nature) -> Exact {
        self.parts.iter().filter(|part| part.name.nature == nature).map(|part| part.rtp.clone()).sum()
    }

    #[must_use]
    pub fn part(&self, key: &str) -> Exact {
        self.parts.iter().find(|part| part.name.key == key).map_or_else(Exact::zero, |part| part.rtp.clone())
    }

    #[must_use]
    pub fn rate(&self, key: &str) -> Option<&Exact> {
        self.rates.iter().find(|rate| rate.key == key).map(|rate| &rate.value)
    }
}

#[must_use]
pub fn exact(n: impl Into<BigInt>) -> Exact {
    Exact::from_integer(n.into())
}

/// Panics if the denominator is 0.
#[must_use]
pub fn ratio(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Exact {
    Exact::new(numerator.into(), denominator.into())
}

#[must_use]
pub fn float(value: &Exact) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}

/// Formats a number with `places` decimals, rounded half to even. Divides whole numbers, because each operation on a
/// fraction would first reduce it, which is slow for exact returns.
#[must_use]
pub fn decimal(value: &Exact, places: usize) -> String {
    let scale = (0..places).fold(BigInt::one(), |scale, _| scale * 10);
    let scaled = value.numer().abs() * scale;
    let (floor, rest) = (&scaled / value.denom(), &scaled % value.denom());
    let up = match (rest * 2u32).cmp(value.denom()) {
        Ordering::Greater => true,
        Ordering::Equal => floor.bit(0),
        Ordering::Less => false,
    };
    let digits = if up { floor + 1 } else { floor }.to_string();
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if value.is_negative() { "-" } else { "" };
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[must_use]
pub fn chance_text(value: &Exact, places: usize) -> String {
    let smallest = ratio(1_000, (0..places).fold(BigInt::one(), |scale, _| scale * 10));
    if value.is_zero() || *value >= smallest { decimal(value, places) } else { scientific(value, 2) }
}

/// Formats a positive number in scientific notation, rounded up.
#[must_use]
pub fn scientific(value: &Exact, places: u32) -> String {
    if !value.is_positive() {
        return "0".to_owned();
    }
    let (ten, one) = (exact(10), Exact::one());
    let (mut mantissa, mut exponent) = (value.clone(), 0i64);
    while mantissa >= ten {
        (mantissa, exponent) = (mantissa / &ten, exponent + 1);
    }
    while mantissa < one {
        (mantissa, exponent) = (mantissa * &ten, exponent - 1);
    }
    let scale = exact(10_u64.pow(places.min(18)));
    let mut rounded = (mantissa * &scale).ceil() / &scale;
    if rounded >= ten {
        (rounded, exponent) = (rounded / ten, exponent + 1);
    }
    format!("{}e{exponent}", decimal(&rounded, places.min(18) as usize))
}
