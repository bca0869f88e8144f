//! The PAR sheet: what a game returns, how often and how widely, exactly.
//!
//! Sums over the full cycle come from [`crate::moments`], whole rounds from [`crate::rounds`]; here
//! they become a sheet, and a proof that a data file keeps its promise. Figures are exact fractions;
//! only the standard deviation is a float, for presentation. Costs tens of milliseconds.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::data::ModelError;
use crate::game::{Game, PrizeInfo};
use crate::lines::SYMBOLS_MAX;
use crate::model::Model;
use crate::moments;
use crate::reels::REELS;
use crate::rounds::{RoundMoments, WheelMoments, Window, exact, ratio};
use crate::stake::{Stake, StakeRefused};

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
    /// Where it comes from.
    pub rtp_parts: RtpParts,
    /// Chance that a paid spin wins on a line, by scatters, or starts the bonus.
    pub hit_frequency: Exact,
    /// Standard deviation of a whole round's win in bets: features included, jackpot and double not.
    pub std_dev: f64,
    /// Highest win of one window of the paid spin, lines and scatters together, in bets.
    pub max_win_bets: Exact,
    /// Chance that a paid spin's window wins exactly that.
    pub max_win_probability: Exact,
    /// Stop combinations of the reels.
    pub cycle: u64,
    /// How often each symbol (first index) stands on each reel's strip.
    pub symbol_counts: Vec<[u32; REELS]>,
    /// How many combinations of the cycle make each row of the paytable on one line.
    pub combinations: Vec<Combination>,
    /// How often features come.
    pub features: Features,
}

/// The parts of the return, in bets; without the increments they add up to [`Par::rtp`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtpParts {
    /// Line wins of the paid spin.
    pub base_lines: Exact,
    /// Scatter wins of the paid spin.
    pub scatter: Exact,
    /// Money of bonuses that the paid spin starts.
    pub bonus: Exact,
    /// All that is won in free spins, bonuses that land there included; not the jackpot.
    pub free_spins: Exact,
    /// The jackpot's seed.
    pub jackpot_seed: Exact,
    /// The jackpot's increments: they return what the bets at this coin value contribute, in the
    /// proportion of the coin value to the one that the whole pool belongs to.
    pub jackpot_increments: Exact,
}

impl RtpParts {
    /// Composes the parts at a stake from the moments of its lines and coins.
    #[must_use]
    pub fn of(model: &Model, stake: &Stake, window: &Window, wheel: &WheelMoments, round: &RoundMoments) -> Self {
        let jackpot = &model.jackpot;
        let bet_coins = exact(stake.lines) * exact(stake.coins_per_line);
        let share = ratio(stake.coin_value_micros, jackpot.base_coin_micros);
        Self {
            base_lines: window.lines.clone(),
            scatter: window.scatter.clone(),
            bonus: &window.bonus * &wheel.money,
            free_spins: round.mean_in_free_spins.clone(),
            jackpot_seed: &round.bonuses * &wheel.jackpot * exact(jackpot.seed_coins) / bet_coins,
            jackpot_increments: ratio(jackpot.contribution_micros, 1_000_000) * share,
        }
    }
}

/// A combination that pays, awards or starts something, and how often it stands in the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The symbol.
    pub symbol: u8,
    /// How many of it.
    pub count: u8,
    /// Stop combinations, of [`Par::cycle`], on one line or anywhere for scatters and bonus.
    pub ways: u64,
}

/// How often features come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// Chance that a window starts the bonus.
    pub bonus: Exact,
    /// Chance that a window's scatters award free spins.
    pub scatter_free_spins: Exact,
    /// Expected bonuses of a paid spin, those in its free spins included.
    pub bonuses_per_paid_spin: Exact,
    /// Expected free spins of a paid spin.
    pub free_spins_per_paid_spin: Exact,
    /// Expected jackpots of a paid spin: the coins staked over the jackpot's odds.
    pub jackpot: Exact,
    /// The chances of a bonus's prizes at this stake.
    pub prizes: Vec<(PrizeInfo, Exact)>,
}

impl Par {
    /// The return with everything: [`Par::rtp`] and the increments.
    #[must_use]
    pub fn rtp_with_increments(&self) -> Exact {
        &self.rtp + &self.rtp_parts.jackpot_increments
    }
}

/// The PAR sheet of a game and its model at a stake.
pub(crate) fn par(game: &dyn Game, model: &Model, stake: &Stake) -> Result<Par, StakeRefused> {
    let bet_coins = u64::from(model.limits.check(stake)?);
    let window = Window::of(model, &moments::spin_table(model, stake.lines), stake.lines);
    let wheel = WheelMoments::of(model, bet_coins);
    let round = RoundMoments::of(model, &window, &wheel);
    let cycle = exact(model.reels.cycle());
    let (max_win, max_windows) = moments::max_win(model, stake.lines);
    let rtp_parts = RtpParts::of(model, stake, &window, &wheel, &round);
    let rtp_without_jackpot = round.mean.clone();
    Ok(Par {
        game: game.name(),
        rules_version: game.rules_version(),
        model_hash: game.model_hash(),
        bet_coins,
        rtp: &rtp_without_jackpot + &rtp_parts.jackpot_seed,
        rtp_without_jackpot,
        rtp_parts,
        hit_frequency: exact(moments::hits(model, stake.lines)) / &cycle,
        std_dev: round.variance.to_f64().map_or(f64::NAN, f64::sqrt),
        max_win_bets: exact(max_win) / exact(stake.lines),
        max_win_probability: exact(max_windows) / &cycle,
        cycle: model.reels.cycle(),
        symbol_counts: symbol_counts(model),
        combinations: combinations(model),
        features: Features {
            bonus: window.bonus.clone(),
            scatter_free_spins: window.scatter_trigger.clone(),
            bonuses_per_paid_spin: round.bonuses.clone(),
            free_spins_per_paid_spin: round.free_spins.clone(),
            jackpot: &round.bonuses * &wheel.jackpot,
            prizes: prizes(model, bet_coins),
        },
    })
}

/// Proves that a model returns what it promises, and that each coin has the promised chance of the
/// jackpot. One line shows it for every stake: every line's mean is the same, the wheel's trade
/// keeps the mean money at any number of coins, and everything else pays on the total bet.
pub(crate) fn prove(model: &Model) -> Result<(), ModelError> {
    let window = Window::of(model, &moments::spin_table(model, 1), 1);
    let wheel = WheelMoments::of(model, 1);
    if window.awarded(&wheel) >= Exact::one() {
        return Err(ModelError::part("free_spins", "a free spin wins one or more free spins on average"));
    }
    let round = RoundMoments::of(model, &window, &wheel);
    let promised = ratio(model.rtp_micros, 1_000_000);
    if round.mean != promised {
        return Err(ModelError::Return { actual: round.mean.to_string(), promised: promised.to_string() });
    }
    let chance = &round.bonuses * &wheel.jackpot;
    if chance != ratio(1, model.jackpot.odds) {
        let promised_odds = model.jackpot.odds;
        return Err(ModelError::JackpotChance { actual: chance.to_string(), promised_odds });
    }
    Ok(())
}

fn prizes(model: &Model, coins: u64) -> Vec<(PrizeInfo, Exact)> {
    let chance = |(prize, weight)| (prize, ratio(weight, model.wheel.total()));
    model.wheel.weights(coins).map(chance).collect()
}

fn symbol_counts(model: &Model) -> Vec<[u32; REELS]> {
    let mut counts = vec![[0; REELS]; model.symbols.len()];
    let strips = (0..REELS).map(|reel| model.reels.columns(reel));
    for (reel, strip) in strips.enumerate() {
        for column in strip {
            counts[usize::from(column[0])][reel] += 1;
        }
    }
    counts
}

fn combinations(model: &Model) -> Vec<Combination> {
    let on_line: [[u64; REELS + 1]; SYMBOLS_MAX] = moments::combinations(model);
    let windows = moments::spin_table(model, 1).windows;
    let ways = |row: &crate::game::PayRow| {
        let count = usize::from(row.count);
        match (row.scatter, row.bonus) {
            (true, _) => windows[count].iter().sum(),
            (_, true) => windows.iter().map(|by_bonuses| by_bonuses[count]).sum(),
            _ => on_line[usize::from(row.symbol)][count],
        }
    };
    let rows = model.paytable();
    rows.iter().map(|row| Combination { symbol: row.symbol, count: row.count, ways: ways(row) }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_halves_to_even() {
        let write = |numerator: i64, places| decimal(&Exact::new(numerator.into(), 1000.into()), places);
        assert_eq!(write(941, 4), "0.9410");
        assert_eq!(write(1_005, 2), "1.00");
        assert_eq!(write(1_015, 2), "1.02");
        assert_eq!(write(-1_015, 2), "-1.02");
        assert_eq!(write(-1_016, 1), "-1.0");
        assert_eq!(write(1_500, 0), "2");
        assert_eq!(write(2_500, 0), "2");
        assert_eq!(write(999_999, 2), "1000.00");
        assert_eq!(write(0, 3), "0.000");
    }
}
