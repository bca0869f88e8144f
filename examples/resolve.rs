//! Resolves the first step of a round with the engine alone. The outcome depends only on the seed and the arguments.
//!
//! `cargo run --example resolve -- [GAME] [SEED]`

use motherlode_slots::{Carried, Choice, Draws, Outcome, Seed, Stake, Terms, latest};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let game = arguments.next().unwrap_or_else(|| "dwarf-mine".to_owned());
    let number: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let game = latest(&game).ok_or("unknown game")?;
    let info = game.info();

    let mut seed = Seed::default();
    seed[..8].copy_from_slice(&number.to_le_bytes());

    let stake = Stake {
        coin_value_micros: 10_000, // 0.01
        lines: info.limits.lines.1,
        coins_per_line: info.limits.coins_per_line.0,
        buy_feature: false,
    };
    let mut round = game.open(&stake, &Terms::plain(Carried::default()))?;
    let mut outcome = Outcome::default();
    round.resolve(&Choice::Spin, &mut Draws::from_seed(seed), &mut outcome)?;

    println!("{} {}, seed {number}", info.title, game.rules_version());
    for spin in &outcome.spins {
        for row in 0..usize::from(spin.rows) {
            let symbols = (0..usize::from(spin.reels)).filter_map(|reel| spin.cell(reel, row));
            let names = symbols.map(|symbol| format!("{:<12}", info.symbols[usize::from(symbol)].short));
            println!("  {}", names.collect::<String>());
        }
    }
    println!("wins {} coins, then waits for {:?}", outcome.round_win_coins, outcome.awaiting);
    Ok(())
}
