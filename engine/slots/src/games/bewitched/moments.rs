//! Exact mean and variance of a round.
//!
//! A spin with line multiplier `k` wins `A = k L + S + Y M` bets and awards `K = Z + Y G` free spins. `L` and `S` are the
//! wins of lines and scatters, `Z` the scatters' free spins. `Y` is 1 if a bonus starts, else 0; `M` and `G` are the bonus's
//! money and free spins. Let `phi = E[K]`. A free spin and all free spins that it awards win on average `mu = E[A] / (1 -
//! phi)`, with a variance `v` that solves `v (1 - phi) = E[A^2] + 2 mu E[A K] + mu^2 E[K^2] - mu^2`.

use num_traits::{One, Zero};

use super::model::Model;
use crate::contract::info::PrizeInfo;
use crate::contract::par::{Exact, exact};
use crate::math::moments::SpinTable;
use crate::parts::reels::REELS;

pub struct Window {
    pub lines: Exact,
    lines_squared: Exact,
    lines_bonus: Exact,
    lines_scatter: Exact,
    lines_spins: Exact,
    pub scatter: Exact,
    scatter_squared: Exact,
    scatter_bonus: Exact,
    scatter_spins: Exact,
    pub bonus: Exact,
    pub spins: Exact,
    spins_squared: Exact,
    spins_bonus: Exact,
    pub scatter_trigger: Exact,
}

impl Window {
    #[must_use]
    pub fn new(model: &Model, table: &SpinTable, lines: u32) -> Self {
        let cycle = exact(model.windows.reels.cycle());
        let coin = &cycle * exact(lines);
        let scatters = &model.windows.scatters;
        let mean = |of: &[[u64; REELS + 1]; REELS + 1], f: &dyn Fn(usize, u64) -> u64| {
            let mut sum = 0u128;
            for (count, row) in of.iter().enumerate() {
                for (bonuses, &weight) in row.iter().enumerate() {
                    let bonus = u64::from(bonuses >= usize::from(model.windows.bonus_needs));
                    sum += u128::from(weight) * u128::from(f(count, bonus));
                }
            }
            exact(sum)
        };
        let windows = |f: &dyn Fn(usize, u64) -> u64| mean(&table.windows, f) / &cycle;
        let coins = |f: &dyn Fn(usize, u64) -> u64| mean(&table.line_coins, f) / &coin;
        let pays = |n: usize| scatters.pays[n];
        let spins = |n: usize| u64::from(scatters.free_spins[n]);
        Self {
            lines: coins(&|_, _| 1),
            lines_squared: exact(table.line_coins_squared) / (&coin * exact(lines)),
            lines_bonus: coins(&|_, y| y),
            lines_scatter: coins(&|n, _| pays(n)),
            lines_spins: coins(&|n, _| spins(n)),
            scatter: windows(&|n, _| pays(n)),
            scatter_squared: windows(&|n, _| pays(n) * pays(n)),
            scatter_bonus: windows(&|n, y| pays(n) * y),
            scatter_spins: windows(&|n, _| pays(n) * spins(n)),
            bonus: windows(&|_, y| y),
            spins: windows(&|n, _| spins(n)),
            spins_squared: windows(&|n, _| spins(n) * spins(n)),
            spins_bonus: windows(&|n, y| spins(n) * y),
            scatter_trigger: windows(&|n, _| u64::from(spins(n) > 0)),
        }
    }

    #[must_use]
    pub fn awarded(&self, wheel: &WheelMoments) -> Exact {
        &self.spins + &self.bonus * &wheel.spins
    }

    /// `E[A]`.
    fn mean(&self, k: &Exact, wheel: &WheelMoments) -> Exact {
        k * &self.lines + &self.scatter + &self.bonus * &wheel.money
    }

    /// `E[A^2]`.
    fn square(&self, k: &Exact, wheel: &WheelMoments) -> Exact {
        let two = exact(2u64);
        k * k * &self.lines_squared
            + &self.scatter_squared
            + &self.bonus * &wheel.money_squared
            + &two * k * &self.lines_scatter
            + &two * &wheel.money * (k * &self.lines_bonus + &self.scatter_bonus)
    }

    /// Returns `E[A K]`. The term `M G` vanishes because a bonus awards either money or free spins.
    fn with_awarded(&self, k: &Exact, wheel: &WheelMoments) -> Exact {
        k * &self.lines_spins
            + &self.scatter_spins
            + &wheel.money * &self.spins_bonus
            + &wheel.spins * (k * &self.lines_bonus + &self.scatter_bonus)
    }

    /// `E[K^2]`.
    fn awarded_squared(&self, wheel: &WheelMoments) -> Exact {
        &self.spins_squared + exact(2u64) * &wheel.spins * &self.spins_bonus + &self.bonus * &wheel.spins_squared
    }
}

pub struct WheelMoments {
    pub money: Exact,
    money_squared: Exact,
    spins: Exact,
    spins_squared: Exact,
    pub jackpot: Exact,
}

impl WheelMoments {
    #[must_use]
    pub fn new(model: &Model, coins: u64) -> Self {
        let mut sums: [Exact; 5] = std::array::from_fn(|_| Exact::zero());
        let [money, money_squared, spins, spins_squared, jackpot] = &mut sums;
        for (prize, weight) in model.wheel.weights(coins) {
            match prize {
                PrizeInfo::Multiple(m) => {
                    *money += exact(weight) * exact(m);
                    *money_squared += exact(weight) * exact(m) * exact(m);
                }
                PrizeInfo::FreeSpins(n) => {
                    *spins += exact(weight) * exact(n);
                    *spins_squared += exact(weight) * exact(n) * exact(n);
                }
                PrizeInfo::Jackpot => *jackpot += exact(weight),
            }
        }
        let total = exact(model.wheel.total());
        let [money, money_squared, spins, spins_squared, jackpot] = sums.map(|sum| sum / &total);
        Self { money, money_squared, spins, spins_squared, jackpot }
    }
}

pub struct RoundMoments {
    pub mean: Exact,
    pub variance: Exact,
    pub mean_in_free_spins: Exact,
    pub free_spins: Exact,
    pub bonuses: Exact,
}

impl RoundMoments {
    /// Requires `phi < 1`.
    #[must_use]
    pub fn new(model: &Model, window: &Window, wheel: &WheelMoments) -> Self {
        let phi = window.awarded(wheel);
        let dies = Exact::one() - &phi;
        let (one, k) = (Exact::one(), exact(model.multiplier));
        let mu = window.mean(&k, wheel) / &dies;
        let square = |k: &Exact| {
            window.square(k, wheel)
                + exact(2u64) * &mu * window.with_awarded(k, wheel)
                + &mu * &mu * window.awarded_squared(wheel)
        };
        let v = (square(&k) - &mu * &mu) / &dies;
        let mean_in_free_spins = &phi * &mu;
        let mean = window.mean(&one, wheel) + &mean_in_free_spins;
        let variance = square(&one) + &phi * &v - &mean * &mean;
        Self { variance, mean_in_free_spins, free_spins: &phi / &dies, bonuses: &window.bonus / &dies, mean }
    }
}
