//! `simulate`: whole rounds through the code that serves players, held against the exact mathematics.
//!
//! Rounds are played in chunks of [`CHUNK_ROUNDS`], each on a seed of its own that is derived from the master seed and
//! the chunk's number. So the result depends on seed and rounds only, not on how many threads share the work, and a run
//! can be repeated anywhere. Each chunk is a player of its own, who carries on what it collects. In games where players
//! carry something it has played [`WARM_UP_ROUNDS`] uncounted rounds before, at the same stake and on another derived
//! seed: the exact return is that of the long run, not of a new player. Ctrl-C ends after the chunks under way, and what
//! was played is reported.

mod report;

use super::{
    Failure, Format,
    progress::Progress,
    say,
    stake::{StakeArgs, newest},
};
use crate::{client, figures};
use motherlode_runtime::stop;
use motherlode_slots::{Carried, Game, Seed, Stake, Tally, simulate, simulate::SimulateError, warm_up};
use report::Report;
use sha2::{Digest, Sha256};
use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

/// Rounds played on one derived seed; part of what a seed means, so never changed.
const CHUNK_ROUNDS: u64 = 100_000;
/// Rounds that a chunk's player has played before the first that counts; part of what a seed means, so never changed.
/// Features that are collected for are unlocked after some hundreds of rounds.
const WARM_UP_ROUNDS: u64 = 10_000;
/// The purposes of a chunk's seeds, as hashed into them.
const PLAY: &[u8] = b"motherlode simulate 1";
const WARM_UP: &[u8] = b"motherlode simulate warm-up 1";
/// Most threads.
const THREADS_MAX: usize = 1024;
/// Distance from the exact return, in standard errors, at which a simulation is taken to contradict it: by chance, one
/// run in 16,000 for a normal distribution.
const SIGMAS_MAX: f64 = 4.0;

/// The arguments of `simulate`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The game.
    #[arg(value_name = "GAME")]
    game: String,
    /// Rounds to play, such as 10_000_000.
    #[arg(long, value_name = "N", value_parser = figures::count)]
    rounds: u64,
    /// Threads; one a core by default. The result does not depend on it.
    #[arg(long, value_name = "T", value_parser = threads)]
    threads: Option<usize>,
    /// Master seed, 64 hexadecimal digits; random by default, and printed.
    #[arg(long, value_name = "HEX", value_parser = seed)]
    seed: Option<Seed>,
    #[command(flatten)]
    stake: StakeArgs,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Simulates and reports.
///
/// # Errors
/// There is no such game or stake; or the return is more than 4 standard errors from the exact one.
pub fn run(args: &Args) -> Result<(), Failure> {
    let game = newest(&args.game)?;
    let stake = args.stake.checked(game)?;
    let par = game.par(&stake).map_err(Failure::unusable)?;
    let master = match args.seed {
        Some(seed) => seed,
        None => client::random()?,
    };
    let threads = args.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
    let stopped = stop_at_signal()?;
    let started = Instant::now();
    let tally =
        play(game, &stake, args.rounds, master, threads, &stopped, &Progress::new(Some(args.rounds), "rounds"))?;
    if tally.rounds == 0 {
        return Err(Failure::found("stopped before any rounds were played"));
    }
    let report = Report::new(game, &stake, &par, &tally, master, threads, started.elapsed());
    say(&match args.format {
        Format::Text => report.text(),
        Format::Json => super::json(&report)?,
    })?;
    if tally.rounds < args.rounds {
        return Err(Failure::found(format!("stopped after {} rounds", figures::grouped(&tally.rounds.to_string()))));
    }
    match report.sigmas() {
        sigmas if sigmas.abs() <= SIGMAS_MAX => Ok(()),
        sigmas => Err(Failure::found(format!("the return is {sigmas:+.2} sigma from the exact one"))),
    }
}

/// Plays the rounds, or as many chunks of them as are begun before the stop.
pub(super) fn play(
    game: &'static dyn Game,
    stake: &Stake,
    rounds: u64,
    master: Seed,
    threads: usize,
    stopped: &AtomicBool,
    progress: &Progress,
) -> Result<Tally, Failure> {
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
            progress.add(tally.rounds);
        }
        Ok(sum)
    };
    let tallies: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    progress.end();
    let mut sum = Tally::default();
    for tally in tallies {
        let tally = tally.map_err(|_| Failure::found("a thread of the simulation failed"))?;
        sum.merge(&tally.map_err(Failure::found)?);
    }
    Ok(sum)
}

/// The collection that a chunk's player carries into its first round; empty in a game without one.
fn carried_into(game: &'static dyn Game, stake: &Stake, master: &Seed, chunk: u64) -> Result<Carried, SimulateError> {
    match game.carries().keys {
        [] => Ok(Carried::default()),
        _ => warm_up(game, stake, WARM_UP_ROUNDS, chunk_seed(WARM_UP, master, chunk)),
    }
}

/// A seed of a chunk: SHA-256 over what it is for, the master seed and the chunk's number, big endian.
fn chunk_seed(label: &[u8], master: &Seed, chunk: u64) -> Seed {
    let mut hash = Sha256::new();
    hash.update(label);
    hash.update(master);
    hash.update(chunk.to_be_bytes());
    hash.finalize().into()
}

/// A flag that the first signal sets.
fn stop_at_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let signalled = {
        let _entered = runtime.enter();
        stop::signalled().map_err(Failure::found)?
    };
    let flag = Arc::clone(&stopped);
    // It ends with the process.
    thread::spawn(move || {
        runtime.block_on(signalled);
        flag.store(true, Ordering::Relaxed);
    });
    Ok(stopped)
}

fn threads(text: &str) -> Result<usize, String> {
    let wanted = || format!("must be 1 to {THREADS_MAX}");
    text.parse().ok().filter(|threads| (1..=THREADS_MAX).contains(threads)).ok_or_else(wanted)
}

/// A seed from 64 hexadecimal digits.
pub(super) fn seed(text: &str) -> Result<Seed, String> {
    let wanted = || "must be 64 hexadecimal digits".to_owned();
    if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wanted());
    }
    let mut seed = Seed::default();
    for (place, byte) in seed.iter_mut().enumerate() {
        let digits = text.get(2 * place..2 * place + 2).ok_or_else(wanted)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wanted())?;
    }
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn bewitched() -> (&'static dyn Game, Stake) {
        let stake = Stake { coin_value_micros: 100_000, lines: 15, coins_per_line: 1, buy_feature: false };
        (newest("bewitched").unwrap(), stake)
    }

    fn played(rounds: u64, threads: usize, stopped: bool) -> Tally {
        let (game, stake) = bewitched();
        play(game, &stake, rounds, [7; 32], threads, &AtomicBool::new(stopped), &Progress::hidden()).unwrap()
    }

    #[test]
    fn the_result_is_the_same_for_any_number_of_threads() {
        let rounds = CHUNK_ROUNDS + 2_345;
        let one = played(rounds, 1, false);
        assert_eq!(one.rounds, rounds);
        assert_eq!(one, played(rounds, 3, false));
    }

    /// The exact return is that of the long run: all features unlocked (WF-21), the gift long given (DM-14).
    #[test]
    fn wf_21_dm_14_a_chunks_player_is_no_new_player() {
        let start = |name: &str, chunk: u64| {
            let game = newest(name).unwrap();
            let stake = StakeArgs::default().of(game);
            let figures = carried_into(game, &stake, &[7; 32], chunk).unwrap().0;
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
        let game = newest("witch-feature").unwrap();
        let stake = StakeArgs::default().of(game);
        let unstopped = AtomicBool::new(false);
        let played = play(game, &stake, 5_000, [7; 32], 1, &unstopped, &Progress::hidden()).unwrap();
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

    #[test]
    fn seeds_and_threads_are_checked() {
        assert_eq!(seed(&"0f".repeat(32)), Ok([0x0f; 32]));
        for bad in ["", "0f", &"0g".repeat(32), &"é".repeat(32), &"+1".repeat(32)] {
            assert!(seed(bad).is_err(), "{bad}");
        }
        assert_eq!(threads("2"), Ok(2));
        for bad in ["0", "1025", "-1", "two"] {
            assert!(threads(bad).is_err(), "{bad}");
        }
    }
}
