use thiserror::Error;

use crate::contract::carried::Carried;
use crate::contract::draws::{Draws, Seed};
use crate::contract::game::Game;
use crate::contract::nature::FEATURES_MAX;
use crate::contract::outcome::{Awaiting, Outcome, PARTS_MAX};
use crate::contract::round::{ChoiceRefused, Terms};
use crate::contract::stake::{Stake, StakeRefused};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub coins: u128,
    pub squares: u128,
}

impl Sum {
    fn add(&mut self, coins: u64) {
        let coins = u128::from(coins);
        self.coins += coins;
        self.squares += coins * coins;
    }

    fn merge(&mut self, other: &Self) {
        self.coins += other.coins;
        self.squares += other.squares;
    }
}

/// Exclusive upper bounds of the win classes, in tenths of the bet.
pub const WIN_BOUNDS_TENTHS: [u64; 18] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000];
pub const WIN_CLASSES: usize = WIN_BOUNDS_TENTHS.len() + 2;

#[must_use]
pub fn win_class(coins: u64, bet_coins: u64) -> usize {
    match coins {
        0 => 0,
        _ => 1 + WIN_BOUNDS_TENTHS.partition_point(|bound| coins * 10 >= bound * bet_coins),
    }
}

/// Sums over simulated rounds, in coins and excluding jackpots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub rounds: u64,
    pub bet_coins: u128,
    pub win: Sum,
    /// Saturating sum of the fourth powers of wins.
    pub win_fourths: u128,
    /// Number of rounds whose first step has the feature, for each of [`Game::features`].
    pub features: [u64; FEATURES_MAX],
    pub parts: [Sum; PARTS_MAX],
    pub hits: u64,
    pub bonuses: u64,
    pub free_spins: u64,
    pub jackpots: u64,
    pub max_win_coins: u64,
    pub by_win: [u64; WIN_CLASSES],
}

impl Tally {
    pub fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.bet_coins += other.bet_coins;
        self.win.merge(&other.win);
        self.win_fourths = self.win_fourths.saturating_add(other.win_fourths);
        for (count, more) in self.features.iter_mut().zip(&other.features) {
            *count += more;
        }
        for (sum, more) in self.parts.iter_mut().zip(&other.parts) {
            sum.merge(more);
        }
        self.hits += other.hits;
        self.bonuses += other.bonuses;
        self.free_spins += other.free_spins;
        self.jackpots += other.jackpots;
        self.max_win_coins = self.max_win_coins.max(other.max_win_coins);
        for (count, more) in self.by_win.iter_mut().zip(&other.by_win) {
            *count += more;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SimulateError {
    #[error(transparent)]
    Stake(#[from] StakeRefused),
    #[error(transparent)]
    Choice(#[from] ChoiceRefused),
}

pub fn simulate(
    game: &'static dyn Game,
    stake: &Stake,
    carried: Carried,
    rounds: u64,
    seed: Seed,
) -> Result<Tally, SimulateError> {
    play(game, stake, carried, rounds, seed).map(|(tally, _)| tally)
}

/// Returns the saved progress of a player who has played `rounds` rounds. A simulation of the long-run return starts
/// with this progress, because a new player's return differs (WF-11, DM-14).
pub fn warm_up(game: &'static dyn Game, stake: &Stake, rounds: u64, seed: Seed) -> Result<Carried, SimulateError> {
    play(game, stake, Carried::default(), rounds, seed).map(|(_, carried)| carried)
}

fn play(
    game: &'static dyn Game,
    stake: &Stake,
    mut carried: Carried,
    rounds: u64,
    seed: Seed,
) -> Result<(Tally, Carried), SimulateError> {
    let bet_coins = u64::from(game.check_stake(stake)?);
    let bet = u128::from(bet_coins);
    let mut round = game.open(stake, &Terms::plain(carried))?;
    let mut draws = Draws::from_seed(seed);
    let mut out = Outcome::default();
    let mut tally = Tally { rounds, bet_coins: bet * u128::from(rounds), ..Tally::default() };
    let (parts, features) = (game.parts().len().min(PARTS_MAX), game.features());
    for _ in 0..rounds {
        let mut won = [0u64; PARTS_MAX];
        let mut first = true;
        round.reopen(&carried);
        while let Some(choice) = round.automatic() {
            round.resolve(&choice, &mut draws, &mut out)?;
            carried = out.carried.unwrap_or(carried);
            for (sum, more) in won[..parts].iter_mut().zip(&out.part_coins) {
                *sum += more;
            }
            for spin in &out.spins {
                tally.bonuses += u64::from(spin.bonus);
                tally.free_spins += u64::from(spin.kind.is_free());
            }
            tally.jackpots += u64::from(out.jackpot);
            let hit = out.round_win_coins > 0 || out.awaiting != Awaiting::Nothing || out.spins.len() > 1;
            tally.hits += u64::from(first && hit);
            if first {
                for (count, feature) in tally.features.iter_mut().zip(features) {
                    *count += u64::from(out.spins.iter().any(|spin| feature.sign.shown_by(spin)));
                }
            }
            first = false;
        }
        let total = won[..parts].iter().sum();
        tally.win.add(total);
        tally.win_fourths = tally.win_fourths.saturating_add(u128::from(total).saturating_pow(4));
        for (sum, coins) in tally.parts[..parts].iter_mut().zip(won) {
            sum.add(coins);
        }
        tally.max_win_coins = tally.max_win_coins.max(total);
        tally.by_win[win_class(total, bet_coins)] += 1;
    }
    Ok((tally, carried))
}
