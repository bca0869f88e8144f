//! Whole rounds, played one after the other through the code that serves players.
//!
//! Costs well under a microsecond a round and allocates nothing per round. Tallies are integers and
//! can be merged, so a caller may run many of them at once, each with its own seed.

use thiserror::Error;

use crate::draws::{Draws, Seed};
use crate::game::{Awaiting, Choice, ChoiceRefused, Game, Terms};
use crate::outcome::{Outcome, Prize, Spin, WinKind};
use crate::stake::{Stake, StakeRefused};

/// A sum of wins and of their squares, in coins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Sum of the wins.
    pub coins: u128,
    /// Sum of the squares of each round's win.
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

/// What the rounds won. The jackpot's money isn't in it: the pool prices it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rounds played.
    pub rounds: u64,
    /// Coins staked.
    pub bet_coins: u128,
    /// Total wins of the rounds.
    pub win: Sum,
    /// Line wins of the paid spins.
    pub base_lines: Sum,
    /// Scatter wins of the paid spins.
    pub scatter: Sum,
    /// Money of the bonuses that paid spins started.
    pub bonus: Sum,
    /// Everything won in free spins, the money of bonuses that landed there included.
    pub free: Sum,
    /// Paid spins that won on a line, by scatters, or started the bonus.
    pub hits: u64,
    /// Bonuses, in paid and free spins.
    pub bonuses: u64,
    /// Free spins played.
    pub free_spins: u64,
    /// Jackpots won.
    pub jackpots: u64,
    /// Highest total win of a round, in coins.
    pub max_win_coins: u64,
}

impl Tally {
    /// Adds another tally of the same game and stake.
    pub fn merge(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.bet_coins += other.bet_coins;
        self.win.merge(&other.win);
        self.base_lines.merge(&other.base_lines);
        self.scatter.merge(&other.scatter);
        self.bonus.merge(&other.bonus);
        self.free.merge(&other.free);
        self.hits += other.hits;
        self.bonuses += other.bonuses;
        self.free_spins += other.free_spins;
        self.jackpots += other.jackpots;
        self.max_win_coins = self.max_win_coins.max(other.max_win_coins);
    }
}

/// Why a simulation doesn't run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SimulateError {
    /// The game doesn't offer the stake.
    #[error(transparent)]
    Stake(#[from] StakeRefused),
    /// The game refused the choice made for the player: it awaits something that the simulation
    /// doesn't know.
    #[error(transparent)]
    Choice(#[from] ChoiceRefused),
}

/// Plays `rounds` whole rounds on one running stream of draws, with the pool open. Choices are made
/// for the player: the first three vials, free spins at once, never the double.
///
/// # Errors
/// The stake isn't offered, or the game awaits a choice that isn't known here.
pub fn simulate(game: &'static dyn Game, stake: &Stake, rounds: u64, seed: Seed) -> Result<Tally, SimulateError> {
    let bet = u128::from(game.check_stake(stake)?);
    let mut round = game.open(stake, &Terms { jackpot: true, double: false })?;
    let mut draws = Draws::from_seed(seed);
    let mut out = Outcome::default();
    let mut tally = Tally { rounds, bet_coins: bet * u128::from(rounds), ..Tally::default() };
    for _ in 0..rounds {
        let mut parts = Parts::default();
        round.reopen();
        while let Some(choice) = choice_for(round.awaiting()) {
            round.resolve(&choice, &mut draws, &mut out)?;
            parts.add(&out, &mut tally);
        }
        parts.close(&mut tally);
    }
    Ok(tally)
}

fn choice_for(awaiting: Awaiting) -> Option<Choice> {
    match awaiting {
        Awaiting::Nothing => None,
        Awaiting::Spin => Some(Choice::Spin),
        Awaiting::Vials => Some(Choice::Vials([0, 1, 2])),
        Awaiting::FreeSpins => Some(Choice::StartFreeSpins),
        Awaiting::Double => Some(Choice::Collect),
    }
}

/// One round's wins by part.
#[derive(Default)]
struct Parts {
    base_lines: u64,
    scatter: u64,
    bonus: u64,
    free: u64,
    hit: bool,
    in_free_spins: bool,
}

impl Parts {
    fn add(&mut self, out: &Outcome, tally: &mut Tally) {
        for spin in &out.spins {
            tally.bonuses += u64::from(spin.bonus);
            if spin.free {
                tally.free_spins += 1;
                self.in_free_spins = true;
                self.free += spin.win_coins;
            } else {
                self.paid(out, spin);
            }
        }
        match out.prize {
            Some(Prize::Coins { coins, .. }) if self.in_free_spins => self.free += coins,
            Some(Prize::Coins { coins, .. }) => self.bonus += coins,
            Some(Prize::Jackpot) => tally.jackpots += 1,
            Some(Prize::FreeSpins(_)) | None => {}
        }
    }

    fn paid(&mut self, out: &Outcome, spin: &Spin) {
        for win in out.wins_of(spin) {
            match win.kind {
                WinKind::Line(_) => self.base_lines += win.coins,
                WinKind::Scatter => self.scatter += win.coins,
            }
        }
        self.hit = spin.win_coins > 0 || spin.bonus;
    }

    fn close(&self, tally: &mut Tally) {
        let total = self.base_lines + self.scatter + self.bonus + self.free;
        tally.win.add(total);
        tally.base_lines.add(self.base_lines);
        tally.scatter.add(self.scatter);
        tally.bonus.add(self.bonus);
        tally.free.add(self.free);
        tally.hits += u64::from(self.hit);
        tally.max_win_coins = tally.max_win_coins.max(total);
    }
}
