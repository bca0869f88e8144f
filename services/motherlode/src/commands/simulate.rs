//! Ctrl-C ends the simulation with a report. See [`motherlode_jobs::simulation`].

use super::{
    Failure, Format,
    progress::Progress,
    say,
    stake::{StakeArgs, newest},
};
use crate::{client, figures};
use motherlode_jobs::{compared::Report, simulation};
use motherlode_runtime::stop;
use motherlode_slots::{Game, Seed, Stake, Tally};
use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

const THREADS_MAX: usize = 1024;
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Game to play.
    #[arg(value_name = "GAME")]
    game: String,
    /// Rounds to play, such as 10_000_000.
    #[arg(long, value_name = "N", value_parser = figures::count)]
    rounds: u64,
    /// Number of threads, by default one per core. The result does not depend on this number.
    #[arg(long, value_name = "T", value_parser = threads)]
    threads: Option<usize>,
    /// Master seed of 64 hexadecimal digits; by default random, and printed.
    #[arg(long, value_name = "HEX", value_parser = seed)]
    seed: Option<Seed>,
    #[command(flatten)]
    stake: StakeArgs,
    /// Format of the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

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
        return Err(Failure::found("stopped before any round was played"));
    }
    let report = Report::new(game, &stake, &par, &tally, master, threads, started.elapsed());
    say(&match args.format {
        Format::Text => report.text(),
        Format::Json => super::json(&report)?,
    })?;
    if tally.rounds < args.rounds {
        return Err(Failure::found(format!("stopped after {} rounds", figures::grouped(&tally.rounds.to_string()))));
    }
    match report.contradiction() {
        None => Ok(()),
        Some(contradiction) => Err(Failure::found(contradiction)),
    }
}

pub(super) fn play(
    game: &'static dyn Game,
    stake: &Stake,
    rounds: u64,
    master: Seed,
    threads: usize,
    stopped: &AtomicBool,
    progress: &Progress,
) -> Result<Tally, Failure> {
    let tally = simulation::play(game, stake, rounds, master, threads, stopped, &|played| progress.add(played));
    progress.end();
    tally.map_err(Failure::found)
}

fn stop_at_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let signalled = {
        let _entered = runtime.enter();
        stop::signalled().map_err(Failure::found)?
    };
    let flag = Arc::clone(&stopped);
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
