//! PAR sheet: exact return, frequencies and volatility of a game.
//!
//! Figures are exact fractions, or carry the bound of their error ([`Par::exactness`]). Only the standard deviation is a float, for
//! presentation.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::contract::nature::Nature;

/// Exact fraction.
pub type Exact = BigRational;

/// Exact mathematics of a game at one stake. Returns and wins are in bets.
#[derive(Clone, Debug, PartialEq)]
pub struct Par {
    /// Game name.
    pub game: &'static str,
    /// Rules version.
    pub rules_version: &'static str,
    /// SHA-256 of the data file.
    pub model_hash: [u8; 32],
    /// Coins staked.
    pub bet_coins: u64,
    /// Return without the jackpot's increments but with its seed.
    pub rtp: Exact,
    /// Return without the jackpot.
    pub rtp_without_jackpot: Exact,
    /// Parts of the return: [`crate::Game::parts`], then the jackpot's seed and increments.
    pub parts: Vec<Part>,
    /// Chance that a paid spin wins, or starts a feature that may win.
    pub hit_frequency: Exact,
    /// Standard deviation of a round's win in bets, with features, without jackpot and double.
    pub std_dev: f64,
    /// Highest win of one paid window in bets, lines and scatters together.
    pub max_win_bets: Exact,
    /// Chance of exactly that win.
    pub max_win_probability: Exact,
    /// Reel sets with their combinations.
    pub reel_sets: Vec<ReelSet>,
    /// Feature frequencies and other expectations and chances of a paid spin.
    pub rates: Vec<Rate>,
    /// Returns under a condition: bought features, unlock states.
    pub conditional_rtps: Vec<ConditionalRtp>,
    /// "exact fractions", or the bound of the error.
    pub exactness: &'static str,
}

/// Names of a part of the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName {
    /// Key in JSON, such as `base_lines`.
    pub key: &'static str,
    /// Name for people, such as `line wins of the paid spin`.
    pub title: &'static str,
    /// Nature.
    pub nature: Nature,
}

impl PartName {
    /// Creates a part independent of carried figures.
    #[must_use]
    pub const fn cash(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Cash }
    }

    /// Creates a part collected over rounds.
    #[must_use]
    pub const fn collected(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Collected }
    }

    /// Creates a part paid by a jackpot's pool.
    #[must_use]
    pub const fn jackpot(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Jackpot }
    }
}

/// Part of the return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Names.
    pub name: PartName,
    /// Return in bets.
    pub rtp: Exact,
}

/// Set of reels, such as those of free spins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReelSet {
    /// Spins that use it.
    pub title: &'static str,
    /// Symbol indexes per reel, in strip order.
    pub strips: Vec<Vec<u8>>,
    /// Combinations that pay, award or start a feature.
    pub combinations: Vec<Combination>,
}

impl ReelSet {
    /// Number of stop combinations.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.strips.iter().map(|strip| strip.len() as u64).product()
    }

    /// Occurrences of a symbol on each strip.
    #[must_use]
    pub fn counts(&self, symbol: u8) -> Vec<usize> {
        self.strips.iter().map(|strip| strip.iter().filter(|&&on| on == symbol).count()).collect()
    }
}

/// Combination that pays, awards or starts a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Symbol index.
    pub symbol: u8,
    /// Number of symbols.
    pub count: u8,
    /// Chance on one line, or anywhere for scatters and bonus; expected number per window for ways.
    pub chance: Exact,
    /// Return in bets of a spin on these reels; 0 if it only starts a feature.
    pub rtp: Exact,
}

/// Expectation or chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Key in JSON, such as `free_spins_per_paid_spin`.
    pub key: String,
    /// Meaning for people.
    pub title: String,
    /// Value.
    pub value: Exact,
}

impl Rate {
    /// Creates a rate.
    pub fn new(key: impl Into<String>, title: impl Into<String>, value: Exact) -> Self {
        Self { key: key.into(), title: title.into(), value }
    }
}

/// Return under a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionalRtp {
    /// Key in JSON, such as `buy_feature`.
    pub key: &'static str,
    /// Condition for people.
    pub title: &'static str,
    /// Return relative to the price under the condition.
    pub rtp: Exact,
    /// Condition for programs.
    pub condition: Condition,
}

/// Condition of a conditional return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Feature bought.
    Bought,
    /// First spins of a new player, at one stake.
    FirstSpins(u32),
    /// Carried figure kept at a value, in the long run.
    Held {
        /// Figure, from [`crate::Carries::keys`].
        key: &'static str,
        /// Value before each spin.
        value: i64,
    },
}

impl Par {
    /// Return with seed and increments of the jackpot.
    #[must_use]
    pub fn rtp_with_increments(&self) -> Exact {
        self.parts.iter().map(|part| part.rtp.clone()).sum()
    }

    /// Volatility index: 1.96 standard deviations, as 95 % of the mean returns of N rounds lie within it / sqrt(N).
    #[must_use]
    pub fn volatility_index(&self) -> f64 {
        1.96 * self.std_dev
    }

    /// Sum of the parts of a nature.
    #[must_use]
    pub fn of_nature(&self, nature: Nature) -> Exact {
        self.parts.iter().filter(|part| part.name.nature == nature).map(|part| part.rtp.clone()).sum()
    }

    /// Return of a part; 0 if the game doesn't have it.
    #[must_use]
    pub fn part(&self, key: &str) -> Exact {
        self.parts.iter().find(|part| part.name.key == key).map_or_else(Exact::zero, |part| part.rtp.clone())
    }

    /// Rate by key.
    #[must_use]
    pub fn rate(&self, key: &str) -> Option<&Exact> {
        self.rates.iter().find(|rate| rate.key == key).map(|rate| &rate.value)
    }
}

/// Converts a whole number.
#[must_use]
pub fn exact(n: impl Into<BigInt>) -> Exact {
    Exact::from_integer(n.into())
}

/// Creates a fraction; the denominator must be above 0.
#[must_use]
pub fn ratio(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Exact {
    Exact::new(numerator.into(), denominator.into())
}

/// Converts to the nearest float for presentation and bounds; NaN beyond its range.
#[must_use]
pub fn float(value: &Exact) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}

/// Formats with `places` decimals, rounded half to even. For people: books use the fraction.
#[must_use]
pub fn decimal(value: &Exact, places: usize) -> String {
    let scale = (0..places).fold(BigInt::one(), |scale, _| scale * 10);
    let scaled = value.abs() * Exact::from_integer(scale);
    let half = ratio(1, 2);
    let floor = scaled.floor().to_integer();
    let rest = scaled - Exact::from_integer(floor.clone());
    let odd = !(&floor % 2u32).is_zero();
    let up = rest > half || (rest == half && odd);
    let digits = if up { floor + 1 } else { floor }.to_string();
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if value.is_negative() { "-" } else { "" };
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Formats a chance so that it never reads as 0: decimals if three digits are significant, else scientific notation, such as
/// `1.63e-14`, rounded up.
#[must_use]
pub fn chance_text(value: &Exact, places: usize) -> String {
    let smallest = ratio(1_000, (0..places).fold(BigInt::one(), |scale, _| scale * 10));
    if value.is_zero() || *value >= smallest { decimal(value, places) } else { scientific(value, 2) }
}

/// Formats a positive fraction in scientific notation, rounded up so that a bound stays a bound.
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
