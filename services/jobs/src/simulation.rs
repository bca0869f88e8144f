//! Simulates rounds. The result depends only on the seed and the number of rounds.
//!
//! Each chunk of [`CHUNK_ROUNDS`] rounds has its own player and a derived seed. If a game keeps a player's progress
//! between rounds, the player first plays [`WARM_UP_ROUNDS`] uncounted rounds, because a new player's return differs.

use motherlode_slots::{Carried, Game, Seed, Stake, Tally, simulate, simulate::SimulateError, warm_up};
use sha2::{Digest, Sha256};
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// Rounds per chunk. This number and [`WARM_UP_ROUNDS`] must never change, because the result of a seed depends on them.
pub const CHUNK_ROUNDS: u64 = 100_000;
pub const WARM_UP_ROUNDS: u64 = 10_000;
// Labels, with a version, that are hashed into the seeds.
const PLAY: &[u8] = b"motherlode simulate 1";
const WARM_UP: &[u8] = b"motherlode simulate warm-up 1";

#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    #[error(transparent)]
    Refused(#[from] SimulateError),
    #[error("a thread of the simulation failed")]
    Thread,
}

/// When `stop` is set, chunks in progress are finished and no further chunk is started. `played`
/// counts the rounds of finished chunks.
pub fn play(
    game: &'static dyn Game,
    stake: &Stake,
    rounds: u64,
    master: Seed,
    threads: usize,
    stopped: &AtomicBool,
    played: &(dyn Fn(u64) + Sync),
) -> Result<Tally, SimulationError> {
    let next = AtomicU64::new(0);
    let work = || -> Result<Tally, SimulateError> {
        let mut sum = Tally::default();
        while !stopped.load(Ordering::Relaxed) {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            let Some(left) = rounds.checked_sub(chunk.saturating_mul(CHUNK_ROUNDS)).filter(|left| *left > 0) else {
                break;
            };
            let carried = carried_into(game, stake, &master, chunk)?;
            let tally = simulate(game, stake, carried, left.min(CHUNK_ROUNDS), chunk_seed(PLAY, &master, chunk))?;
            sum.merge(&tally);
            played(tally.rounds);
        }
        Ok(sum)
    };
    let tallies: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut sum = Tally::default();
    for tally in tallies {
        sum.merge(&tally.map_err(|_| SimulationError::Thread)??);
    }
    Ok(sum)
}

fn carried_into(game: &'static dyn Game, stake: &Stake, master: &Seed, chunk: u64) -> Result<Carried, SimulateError> {
    match game.carries().keys {
        [] => Ok(Carried::default()),
        _ => warm_up(game, stake, WARM_UP_ROUNDS, chunk_seed(WARM_UP, master, chunk)),
    }
}

fn chunk_seed(label: &[u8], master: &Seed, chunk: u64) -> Seed {
    let mut hash = Sha256::new();
    hash.update(label);
    hash.update(master);
    hash.update(chunk.to_be_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_slots::latest;
    use std::collections::{BTreeMap, BTreeSet};

    fn usual(game: &dyn Game) -> Stake {
        let limits = &game.info().limits;
        let coins = &limits.coin_values_micros;
        Stake {
            coin_value_micros: coins.iter().copied().find(|micros| *micros == 100_000).unwrap_or(coins[0]),
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        }
    }

    fn played(rounds: u64, threads: usize, stopped: bool) -> Tally {
        let game = latest("bewitched").unwrap();
        play(game, &usual(game), rounds, [7; 32], threads, &AtomicBool::new(stopped), &|_| {}).unwrap()
    }

    #[test]
    fn the_result_is_the_same_for_any_number_of_threads() {
        let rounds = CHUNK_ROUNDS + 2_345;
        let one = played(rounds, 1, false);
        assert_eq!(one.rounds, rounds);
        assert_eq!(one, played(rounds, 3, false));
    }

    #[test]
    fn wf_21_dm_14_a_chunks_player_is_no_new_player() {
        let start = |name: &str, chunk: u64| {
            let game = latest(name).unwrap();
            let figures = carried_into(game, &usual(game), &[7; 32], chunk).unwrap().0;
            game.carries().keys.iter().copied().zip(figures).collect::<BTreeMap<_, _>>()
        };
        for chunk in 0..5 {
            assert_eq!(start("witch-feature", chunk)["unlocked"], 4);
            let mine = start("dwarf-mine", chunk);
            assert_eq!((mine["given"], mine["red_gifted"]), (1, 0));
        }
        assert_ne!(start("dwarf-mine", 0), start("dwarf-mine", 1));
        assert!(start("bewitched", 0).is_empty());
    }

    #[test]
    fn what_was_carried_is_played_with() {
        let game = latest("witch-feature").unwrap();
        let stake = usual(game);
        let played = play(game, &stake, 5_000, [7; 32], 1, &AtomicBool::new(false), &|_| {}).unwrap();
        let seed = chunk_seed(PLAY, &[7; 32], 0);
        let carried = carried_into(game, &stake, &[7; 32], 0).unwrap();
        assert_eq!(played, simulate(game, &stake, carried, 5_000, seed).unwrap());
        assert_ne!(played, simulate(game, &stake, Carried::default(), 5_000, seed).unwrap());
    }

    #[test]
    fn a_stop_before_the_first_chunk_plays_nothing() {
        assert_eq!(played(1_000, 2, true), Tally::default());
    }

    #[test]
    fn chunks_have_seeds_of_their_own() {
        let seeds = (0..1000).flat_map(|chunk| [PLAY, WARM_UP].map(|label| chunk_seed(label, &[7; 32], chunk)));
        assert_eq!(seeds.chain([chunk_seed(PLAY, &[8; 32], 0)]).collect::<BTreeSet<_>>().len(), 2001);
    }
}
