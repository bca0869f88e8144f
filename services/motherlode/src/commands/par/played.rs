use crate::commands::{Failure, progress::Progress, simulate};
use motherlode_picture::par::Played;
use motherlode_proto::convert::play::hex;
use motherlode_slots::{Game, Seed, Stake};
use motherlode_state::CoinValue;
use std::{num::NonZeroUsize, sync::atomic::AtomicBool, thread};

/// Constant, so that pages are reproducible.
const SEED: Seed = *b"the rounds of the PAR sheet page";

pub(super) fn played(game: &'static dyn Game, stake: &Stake, rounds: u64) -> Result<Played, Failure> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let going_on = AtomicBool::new(false);
    let tally = simulate::play(game, stake, rounds, SEED, threads, &going_on, &Progress::new(Some(rounds), "rounds"))?;
    let mut command = format!(
        "motherlode simulate {} --rounds {rounds} --seed {} --lines {} --coins {} --coin-value {}",
        game.name(),
        hex(&SEED),
        stake.lines,
        stake.coins_per_line,
        CoinValue(stake.coin_value_micros)
    );
    if stake.buy_feature {
        command += " --buy-feature";
    }
    Ok(Played { tally, seed: SEED, command, carries: !game.carries().keys.is_empty() })
}
