//! Exact mean and variance of a round.
//!
//! A spin with line multiplier `k` wins `A = k L + S + T` bets and awards `K` free spins. `L`, `S` and `T` are the wins of
//! lines, scatters and treasures. For `phi`, `mu` and `v`, see `bewitched/moments.rs`. The `N` objects of a window have
//! independent amounts with mean `m` and second moment `q`, so `E[T^2] = m^2 E[N^2] + (q - m^2) E[N]`, and
//! `E[T X] = m E[N X]` for `X` = `L`, `S` or `K`.

use num_traits::One;

use super::model::Model;
use super::treasure::{TreasureTable, treasure_table};
use crate::contract::par::{Exact, exact, ratio};
use crate::math::moments::{self, SpinTable};
use crate::parts::picks::Objects;
use crate::parts::reels::REELS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub lines: Exact,
    pub scatter: Exact,
    pub objects: Exact,
    pub spins: Exact,
    pub trigger: Exact,
    pub treasure: Exact,
    lines_squared: Exact,
    lines_scatter: Exact,
    lines_spins: Exact,
    lines_objects: Exact,
    scatter_squared: Exact,
    scatter_spins: Exact,
    scatter_objects: Exact,
    objects_squared: Exact,
    objects_by_line: Exact,
    objects_spins: Exact,
    spins_squared: Exact,
}

impl Window {
    #[must_use]
    pub fn new(model: &Model, lines: u32) -> Self {
        Self::from_sums(model, &moments::spin_table(&model.windows, lines), &treasure_table(model, lines), lines)
    }

    #[must_use]
    pub fn from_sums(model: &Model, table: &SpinTable, treasures: &TreasureTable, lines: u32) -> Self {
        let scatters = &model.windows.scatters;
        let cycle = exact(model.windows.reels.cycle());
        let (share, share_squared) = (&cycle * exact(lines), &cycle * exact(lines) * exact(lines));
        let sum = |by_scatters: [u64; REELS + 1], f: &dyn Fn(usize) -> u64| {
            exact(by_scatters.iter().enumerate().map(|(n, &w)| u128::from(w) * u128::from(f(n))).sum::<u128>())
        };
        let windows = |f: &dyn Fn(usize) -> u64| sum(table.windows.map(|row| row.iter().sum()), f) / &cycle;
        let coins = |f: &dyn Fn(usize) -> u64| sum(table.line_coins.map(|row| row.iter().sum()), f) / &share;
        let objects = |f: &dyn Fn(usize) -> u64| sum(treasures.objects, f) / &share;
        let pays = |n: usize| scatters.pays[n];
        let spins = |n: usize| u64::from(scatters.free_spins[n]);
        Self {
            lines: coins(&|_| 1),
            scatter: windows(&pays),
            objects: objects(&|_| 1),
            spins: windows(&spins),
            trigger: windows(&|n| u64::from(spins(n) > 0)),
            treasure: exact(treasures.windows) / &cycle,
            lines_squared: exact(table.line_coins_squared) / &share_squared,
            lines_scatter: coins(&pays),
            lines_spins: coins(&spins),
            lines_objects: exact(treasures.objects_line_coins) / &share_squared,
            scatter_squared: windows(&|n| pays(n) * pays(n)),
            scatter_spins: windows(&|n| pays(n) * spins(n)),
            scatter_objects: objects(&pays),
            objects_squared: exact(treasures.objects_squared) / &share_squared,
            objects_by_line: objects(&|_| 1) / exact(lines),
            objects_spins: objects(&spins),
            spins_squared: windows(&|n| spins(n) * spins(n)),
        }
    }

    /// `E[A]`.
    fn mean(&self, k: &Exact, amount: &Amount) -> Exact {
        k * &self.lines + &self.scatter + &amount.mean * &self.objects
    }

    /// `E[A^2]`.
    fn square(&self, k: &Exact, amount: &Amount) -> Exact {
        let m = &amount.mean;
        let treasures = m * m * &self.objects_squared + (&amount.squared - m * m) * &self.objects_by_line;
        let products = k * &self.lines_scatter + m * (k * &self.lines_objects + &self.scatter_objects);
        k * k * &self.lines_squared + &self.scatter_squared + treasures + exact(2) * products
    }

    /// `E[A K]`.
    fn with_spins(&self, k: &Exact, amount: &Amount) -> Exact {
        k * &self.lines_spins + &self.scatter_spins + &amount.mean * &self.objects_spins
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    /// `m`.
    pub mean: Exact,
    /// `q`.
    pub squared: Exact,
}

impl Amount {
    #[must_use]
    pub fn new(objects: &Objects) -> Self {
        let sum = |of: &dyn Fn(u64) -> Exact| {
            objects.amounts().iter().map(|&(coins, weight)| of(coins) * exact(weight)).sum::<Exact>()
        };
        let total = sum(&|_| Exact::one());
        Self { mean: sum(&exact) / &total, squared: sum(&|coins| exact(coins) * exact(coins)) / total }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundMoments {
    pub mean: Exact,
    pub variance: Exact,
    pub mean_in_free_spins: Exact,
    pub free_spins: Exact,
}

impl RoundMoments {
    /// Requires `phi < 1`.
    #[must_use]
    pub fn new(model: &Model, window: &Window, amount: &Amount) -> Self {
        let phi = &window.spins;
        let dies = Exact::one() - phi;
        let (one, k) = (Exact::one(), exact(model.multiplier));
        let mu = window.mean(&k, amount) / &dies;
        let square = |k: &Exact| {
            window.square(k, amount)
                + ratio(2, 1) * &mu * window.with_spins(k, amount)
                + &mu * &mu * &window.spins_squared
        };
        let v = (square(&k) - &mu * &mu) / &dies;
        let mean_in_free_spins = phi * &mu;
        let mean = window.mean(&one, amount) + &mean_in_free_spins;
        let variance = square(&one) + phi * &v - &mean * &mean;
        Self { variance, mean_in_free_spins, free_spins: phi / &dies, mean }
    }
}
