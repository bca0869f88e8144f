//! Prints a game's PAR sheet, and compares it with a simulation.
//!
//! `cargo run --release -p motherlode-slots --example par -- GAME [rounds [lines coins_per_line]]`

#![allow(clippy::cast_precision_loss)] // For presentation.

use motherlode_slots::contract::par::{Exact, decimal};
use motherlode_slots::math::simulate::Sum;
use motherlode_slots::{Carried, Game, Par, Stake, latest, simulate};
use num_traits::ToPrimitive;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let game = latest(args.first().map_or("", String::as_str)).ok_or("which game?")?;
    let limits = &game.info().limits;
    let number = |place: usize, default: u64| args.get(place).map_or(Ok(default), |text| text.parse::<u64>());
    let stake = Stake {
        coin_value_micros: *limits.coin_values_micros.first().ok_or("no coin values")?,
        lines: u32::try_from(number(2, u64::from(limits.lines.1))?)?,
        coins_per_line: u32::try_from(number(3, u64::from(limits.coins_per_line.0))?)?,
        buy_feature: false,
    };
    let par = game.par(&stake)?;
    print(&par);
    run(game, &stake, number(1, 1_000_000)?, &par)
}

fn print(par: &Par) {
    println!("{} {} at {} coins", par.game, par.rules_version, par.bet_coins);
    println!("return without jackpot  {}", decimal(&par.rtp_without_jackpot, 9));
    println!("return with the seed    {}", decimal(&par.rtp, 9));
    for part in &par.parts {
        println!("  {:<22}{}", part.name.key, decimal(&part.rtp, 9));
    }
    println!("hit frequency           {}", decimal(&par.hit_frequency, 6));
    println!("standard deviation      {:.4} bets", par.std_dev);
    let chance = par.max_win_probability.recip();
    println!("highest window          {} bets, once in {}", decimal(&par.max_win_bets, 2), decimal(&chance, 0));
    for rate in &par.rates {
        println!("  {:<28}{}", rate.key, decimal(&rate.value, 9));
    }
    for of in &par.conditional_rtps {
        println!("  return: {:<20}{}", of.key, decimal(&of.rtp, 9));
    }
    println!("exactness: {}", par.exactness);
}

fn run(game: &'static dyn Game, stake: &Stake, rounds: u64, par: &Par) -> Result<(), Box<dyn std::error::Error>> {
    let tally = simulate(game, stake, Carried::default(), rounds, *b"motherlode: a seed for PAR sheet")?;
    let (bet, n) = (par.bet_coins as f64, tally.rounds as f64);
    let compare = |what: &str, sum: &Sum, expected: &Exact, deviation: Option<f64>| {
        let mean = sum.coins as f64 / n / bet;
        let sample = (sum.squares as f64 / n / bet / bet - mean * mean).sqrt();
        let sigma = deviation.unwrap_or(sample) / n.sqrt();
        let exact = expected.to_f64().unwrap_or(f64::NAN);
        println!("  {what:<22}{mean:.6} exact {exact:.6}, {:+.2} sigma, deviation {sample:.4}", (mean - exact) / sigma);
    };
    println!("{} rounds", tally.rounds);
    compare("all", &tally.win, &par.rtp_without_jackpot, Some(par.std_dev));
    for (part, sum) in par.parts.iter().zip(&tally.parts).take(game.parts().len()) {
        compare(part.name.key, sum, &part.rtp, None);
    }
    println!(
        "  hits {:.6}, free spins {:.6}, jackpots {}, highest {} coins",
        tally.hits as f64 / n,
        tally.free_spins as f64 / n,
        tally.jackpots,
        tally.max_win_coins
    );
    Ok(())
}
