//! Variance of a paid spin if all features are unlocked.
//!
//! A spin wins `B + F + X`: `B` are line wins, `F` is the win of a feature or the Explosion, and `X` the win of the free
//! spins. Second moments of line wins, the Multiplier and free spins are exact. Second moments of other features are
//! estimated from samples with a fixed seed, because exact values would need every pair of lines at every placement. The
//! Explosion is treated as independent of the window's free spins.

use num_traits::One;

use super::model::{EXPLOSION, FreeFeature, HIGH_SYMBOLS, Model, Respin};
use super::moments::{Means, chance};
use super::round::WitchRound;
use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Outcome, SpinKind};
use crate::contract::par::{Exact, exact, float};
use crate::contract::round::Terms;
use crate::contract::stake::Stake;
use crate::math::moments;
use crate::parts::weights::Weights;
use crate::parts::windows::Windows;

const SAMPLES: u32 = 100_000;

/// First 8 bytes of the hash of each model that has stored samples.
const STORED_FOR: [[u8; 8]; 2] = [0xcaa5_c3a2_5f8c_f9a7_u64.to_be_bytes(), 0xc4ce_e510_2a82_f600_u64.to_be_bytes()];
const STORED: Samples = [
    Sampled { sum: 2_159_130.569_599_535_3, squares: 880_127_812.173_256_6 },
    Sampled { sum: 5_294_300.813_599_844, squares: 3_392_755_980.318_804 },
    Sampled { sum: 169_027_411.532_398, squares: 800_768_335_867.479_1 },
    Sampled { sum: 194_388.074_000_003_02, squares: 21_128_013.491_872_896 },
    Sampled { sum: 49_201.084_000_003_44, squares: 1_559_224.375_734_747_2 },
];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampled {
    sum: f64,
    squares: f64,
}

/// Samples of High Symbols, Random Wilds, Mega Wild, the Explosion, and the Explosion times the line wins.
pub type Samples = [Sampled; 5];

impl Sampled {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(self) -> f64 {
        self.sum / f64::from(SAMPLES)
    }

    fn error(self) -> f64 {
        ((self.squares / f64::from(SAMPLES) - self.mean().powi(2)) / f64::from(SAMPLES)).max(0.0).sqrt()
    }
}

/// Returns the standard deviation in bets and its standard error.
pub(super) fn std_dev(model: &Model, means: &Means, samples: Samples) -> (f64, f64) {
    let lines = Lines::new(&model.base);
    let free = Lines::new(&model.free);
    let respin_squared = Lines::new(&model.respin).squared;
    let [high, wilds, mega, exploded, with_base] = samples;

    let factor_squared = mean_square(&model.multipliers);
    let multiplied = factor_squared * respin_squared / float(&means.respin_wins);
    let rates = means.combinations.each_ref().map(float);
    let explosions = rates[4] * float(&chance(model.explosion));
    let feature_mean: f64 = rates.iter().zip(&means.features).map(|(rate, mean)| rate * float(mean)).sum();
    let feature_squared =
        rates[0] * high.mean() + rates[1] * wilds.mean() + rates[2] * multiplied + rates[3] * mega.mean();
    let with_lines = float(&means.base) * feature_mean + explosions * with_base.mean();
    let mean_f = feature_mean + explosions * float(&means.explosion);
    let squared_f = feature_squared + explosions * exploded.mean();

    let often = float(&chance(model.free_feature_chance));
    let mut follows = 0.0;
    for &(feature, weight) in model.free_features.items() {
        let squared = match feature {
            FreeFeature::Multiplier => multiplied,
            FreeFeature::Respin { respin, multiplied } => {
                let squared = match respin {
                    Respin::HighSymbols => high,
                    Respin::RandomWilds => wilds,
                    Respin::MegaWild => mega,
                };
                squared.mean() * if multiplied { factor_squared } else { 1.0 }
            }
        };
        follows += squared * f64::from(weight) / f64::from(model.free_features.total());
    }
    let feature = often * float(&means.free_feature);
    let (line, awarded) = (float(&means.free), float(&means.awarded));
    let spin_squared = free.squared + 2.0 * line * feature + often * follows;
    let spin_awards = free.with_awards + feature * awarded;
    let mu = (line + feature) / (1.0 - awarded);
    let v = (spin_squared + 2.0 * mu * spin_awards + mu * mu * free.awards_squared - mu * mu) / (1.0 - awarded);

    let trigger = float(&means.trigger);
    let spins = f64::from(model.free_spins);
    let squared_x = trigger * (spins * v + (spins * mu).powi(2));
    let with_x = (lines.with_awards / spins + trigger * mean_f) * spins * mu;
    let mean = float(&means.base) + mean_f + trigger * spins * mu;
    let squared = lines.squared + squared_f + squared_x + 2.0 * (with_lines + with_x);
    let deviation = (squared - mean * mean).max(0.0).sqrt();

    let per_free = trigger * spins * often / (1.0 - awarded);
    let error = |rate: f64, of: Sampled| (rate * of.error()).powi(2);
    let all = error(rates[0] + per_free, high) + error(rates[1] + per_free, wilds) + error(rates[3] + per_free, mega);
    let all = all + error(explosions, exploded) + error(2.0 * explosions, with_base);
    (deviation, all.sqrt() / (2.0 * deviation))
}

#[must_use]
pub fn sampled(model: &Model) -> Samples {
    let [high, wilds, mega] =
        [Respin::HighSymbols, Respin::RandomWilds, Respin::MegaWild].map(|respin| sampled_respin(model, respin));
    let (exploded, with_base) = sampled_explosion(model);
    [high, wilds, mega, exploded, with_base]
}

/// Returns the samples of a model, stored because drawing them takes most of the time of a PAR sheet.
#[must_use]
pub fn stored(model_hash: &[u8; 32]) -> Option<Samples> {
    STORED_FOR.iter().any(|first| model_hash.starts_with(first)).then_some(STORED)
}

struct Lines {
    squared: f64,
    with_awards: f64,
    awards_squared: f64,
}

impl Lines {
    fn new(windows: &Windows) -> Self {
        let count = windows.lines.rows().len();
        let table = moments::spin_table(windows, u32::try_from(count).unwrap_or(u32::MAX));
        let cycle = exact(windows.reels.cycle());
        let coins = &cycle * exact(count);
        let awards = windows.scatters.free_spins;
        let sum = |of: &[u64]| exact(of.iter().sum::<u64>());
        let mut with_awards = Exact::one() - Exact::one();
        let mut awards_squared = with_awards.clone();
        for ((coins, windows), award) in table.line_coins.iter().zip(&table.windows).zip(awards) {
            with_awards += sum(coins) * exact(award);
            awards_squared += sum(windows) * exact(award) * exact(award);
        }
        Self {
            squared: float(&(exact(table.line_coins_squared) / (&coins * exact(count)))),
            with_awards: float(&(with_awards / coins)),
            awards_squared: float(&(awards_squared / cycle)),
        }
    }
}

fn mean_square(of: &Weights<u32>) -> f64 {
    let sum: f64 = of.items().iter().map(|&(n, weight)| f64::from(n).powi(2) * f64::from(weight)).sum();
    sum / f64::from(of.total())
}

fn round(model: &Model) -> Option<WitchRound<'_>> {
    let coin_value_micros = model.limits.coin_values_micros.first().copied()?;
    let stake = Stake { coin_value_micros, lines: model.limits.lines.1, coins_per_line: 1, buy_feature: false };
    WitchRound::new(model, &stake, &Terms::plain(Carried::default())).ok()
}

fn sampled_respin(model: &Model, respin: Respin) -> Sampled {
    let mut draws = Draws::from_seed(*b"Witch Feature: second moments 01");
    let (mut out, mut all) = (Outcome::default(), Sampled::default());
    let Some(mut round) = round(model) else { return all };
    for _ in 0..SAMPLES {
        out.clear();
        round.respin(respin, 1, HIGH_SYMBOLS, &mut draws, &mut out);
        all.add((bets(out.part_coins[HIGH_SYMBOLS], &round)).powi(2));
    }
    all
}

fn sampled_explosion(model: &Model) -> (Sampled, Sampled) {
    let mut draws = Draws::from_seed(*b"Witch Feature: second moments 02");
    let (mut out, mut squared, mut product) = (Outcome::default(), Sampled::default(), Sampled::default());
    let Some(mut round) = round(model) else { return (squared, product) };
    for _ in 0..SAMPLES {
        out.clear();
        let shown = model.base.spin(&round.bet, 1, SpinKind::Base, &mut draws, &mut out);
        round.explode(&mut draws, &mut out);
        let exploded = bets(out.part_coins[EXPLOSION], &round);
        squared.add(exploded * exploded);
        product.add(exploded * bets(shown.line_coins, &round));
    }
    (squared, product)
}

#[allow(clippy::cast_precision_loss)]
fn bets(coins: u64, round: &WitchRound<'_>) -> f64 {
    coins as f64 / round.bet.bet_coins as f64
}
