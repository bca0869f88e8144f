//! The PAR sheet: what a game returns, how often and how widely, exactly.
//!
//! Each game derives its own from the tables that it plays by. Figures are exact fractions, or carry the bound of their
//! error ([`Par::exactness`]); only the standard deviation is a float, for presentation.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::contract::nature::Nature;

/// An exact fraction.
pub type Exact = BigRational;

/// A game's exact mathematics at one stake. Returns and wins are in bets (1 is the stake).
#[derive(Clone, Debug, PartialEq)]
pub struct Par {
    /// The game.
    pub game: &'static str,
    /// Its rules version.
    pub rules_version: &'static str,
    /// SHA-256 of its data file.
    pub model_hash: [u8; 32],
    /// Coins staked.
    pub bet_coins: u64,
    /// The return without the increments: without the jackpot, plus the seed's share of it.
    pub rtp: Exact,
    /// The return without the jackpot.
    pub rtp_without_jackpot: Exact,
    /// Where it comes from: first the parts of [`crate::Game::parts`], then the jackpot's seed and increments where
    /// there is one.
    pub parts: Vec<Part>,
    /// Chance that a paid spin wins, or starts something that may win.
    pub hit_frequency: Exact,
    /// Standard deviation of a whole round's win in bets: features included, jackpot and double not.
    pub std_dev: f64,
    /// Highest win of one window of the paid spin, lines and scatters together, in bets.
    pub max_win_bets: Exact,
    /// Chance that a paid spin's window wins exactly that.
    pub max_win_probability: Exact,
    /// The reel sets, with what combinations they make.
    pub reel_sets: Vec<ReelSet>,
    /// How often features come, and other expectations and chances of a paid spin.
    pub rates: Vec<Rate>,
    /// Returns that hold under a condition: bought features, unlock states.
    pub conditional_rtps: Vec<ConditionalRtp>,
    /// How exact the figures are: "exact fractions", or the bound of their error.
    pub exactness: &'static str,
}

/// The names of a part of the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName {
    /// Its key in JSON, such as `base_lines`.
    pub key: &'static str,
    /// Its name for people, such as `line wins of the paid spin`.
    pub title: &'static str,
    /// Its nature.
    pub nature: Nature,
}

impl PartName {
    /// A part independent of the figures that players carry.
    #[must_use]
    pub const fn cash(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Cash }
    }

    /// A part collected over rounds.
    #[must_use]
    pub const fn collected(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Collected }
    }

    /// A part paid by the pool of a jackpot.
    #[must_use]
    pub const fn jackpot(key: &'static str, title: &'static str) -> Self {
        Self { key, title, nature: Nature::Jackpot }
    }
}

/// A part of the return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its names.
    pub name: PartName,
    /// Its return, in bets.
    pub rtp: Exact,
}

/// A set of reels: the base game's, the free spins'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReelSet {
    /// The spins that use it.
    pub title: &'static str,
    /// Symbols by reel, as indexes, each strip in its order.
    pub strips: Vec<Vec<u8>>,
    /// The combinations that pay, award or start something on these reels.
    pub combinations: Vec<Combination>,
}

impl ReelSet {
    /// Stop combinations.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.strips.iter().map(|strip| strip.len() as u64).product()
    }

    /// How often a symbol stands on each reel's strip.
    #[must_use]
    pub fn counts(&self, symbol: u8) -> Vec<usize> {
        self.strips.iter().map(|strip| strip.iter().filter(|&&on| on == symbol).count()).collect()
    }
}

/// A combination that pays, awards or starts something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The symbol.
    pub symbol: u8,
    /// How many of it.
    pub count: u8,
    /// Its chance: on one line, or anywhere for scatters and bonus; for ways, its expected number in a window.
    pub chance: Exact,
    /// Its return, in bets of a spin on these reels; 0 where it only starts something.
    pub rtp: Exact,
}

/// An expectation or a chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Its key in JSON, such as `free_spins_per_paid_spin`.
    pub key: String,
    /// Its meaning, for people.
    pub title: String,
    /// The figure.
    pub value: Exact,
}

impl Rate {
    /// A figure with its key, and its meaning for people.
    pub fn new(key: impl Into<String>, title: impl Into<String>, value: Exact) -> Self {
        Self { key: key.into(), title: title.into(), value }
    }
}

/// A return under a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionalRtp {
    /// Its key in JSON, such as `buy_feature`.
    pub key: &'static str,
    /// The condition, for people.
    pub title: &'static str,
    /// The return, in what the player pays under it.
    pub rtp: Exact,
    /// The condition, for programs.
    pub condition: Condition,
}

/// A condition under which a return holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The feature is bought.
    Bought,
    /// The first spins of a new player, at one stake.
    FirstSpins(u32),
    /// A carried figure of the player is held at a value, in the long run.
    Held {
        /// The figure, of [`crate::Carries::keys`].
        key: &'static str,
        /// The value before each spin.
        value: i64,
    },
}

impl Par {
    /// The return with everything: [`Par::rtp`] and the increments.
    #[must_use]
    pub fn rtp_with_increments(&self) -> Exact {
        self.parts.iter().map(|part| part.rtp.clone()).sum()
    }

    /// The volatility index: 1.96 standard deviations, since 95 of 100 mean returns of N rounds are within that /
    /// sqrt(N).
    #[must_use]
    pub fn volatility_index(&self) -> f64 {
        1.96 * self.std_dev
    }

    /// The return of all parts of a nature.
    #[must_use]
    pub fn of_nature(&self, nature: Nature) -> Exact {
        self.parts.iter().filter(|part| part.name.nature == nature).map(|part| part.rtp.clone()).sum()
    }

    /// The return of a part; 0 for one that the game doesn't have.
    #[must_use]
    pub fn part(&self, key: &str) -> Exact {
        self.parts.iter().find(|part| part.name.key == key).map_or_else(Exact::zero, |part| part.rtp.clone())
    }

    /// An expectation or chance by its key.
    #[must_use]
    pub fn rate(&self, key: &str) -> Option<&Exact> {
        self.rates.iter().find(|rate| rate.key == key).map(|rate| &rate.value)
    }
}

/// A whole number as a fraction.
#[must_use]
pub fn exact(n: impl Into<BigInt>) -> Exact {
    Exact::from_integer(n.into())
}

/// A fraction of whole numbers; the denominator is above 0.
#[must_use]
pub fn ratio(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Exact {
    Exact::new(numerator.into(), denominator.into())
}

/// A fraction as the nearest float, or NaN beyond a float's range: for presentation and for bounds.
#[must_use]
pub fn float(value: &Exact) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}

/// Writes a fraction with so many decimals, halves rounded to even: for people; books use the
/// fraction.
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

/// Writes a chance so that it never reads as 0: with so many decimals where that has three digits that count, else in
/// scientific notation, such as `1.63e-14`, rounded up.
#[must_use]
pub fn chance_text(value: &Exact, places: usize) -> String {
    let smallest = ratio(1_000, (0..places).fold(BigInt::one(), |scale, _| scale * 10));
    if value.is_zero() || *value >= smallest { decimal(value, places) } else { scientific(value, 2) }
}

/// Writes a fraction above 0 in scientific notation with so many places, rounded up: a bound stays a bound.
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
