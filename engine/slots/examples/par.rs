//! Prints a game's PAR sheet at a stake, and proves it by a full-cycle scan on two threads and by
//! a simulation.
//!
//! `cargo run --release -p motherlode-slots --example par -- bewitched 15 1 [rounds]`

use motherlode_slots::par::decimal;
use motherlode_slots::{Game, Par, Stake, latest, simulate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("bewitched", String::as_str);
    let number = |place: usize, default: &str| args.get(place).map_or(default, String::as_str).parse::<u32>();
    let game = latest(name).ok_or("no such game")?;
    let stake = Stake {
        coin_value_micros: *game.info().limits.coin_values_micros.first().ok_or("no coin values")?,
        lines: number(1, "15")?,
        coins_per_line: number(2, "1")?,
        buy_feature: false,
    };
    let par = game.par(&stake)?;
    print(&par);
    scan(game, stake.lines, &par);
    run(game, &stake, u64::from(number(3, "1000000")?), &par)
}

fn print(par: &Par) {
    let parts = &par.rtp_parts;
    println!("{} {} at {} coins", par.game, par.rules_version, par.bet_coins);
    println!("return without jackpot  {}", decimal(&par.rtp_without_jackpot, 9));
    println!("return with the seed    {}", decimal(&par.rtp, 9));
    println!("  base lines            {}", decimal(&parts.base_lines, 9));
    println!("  scatter               {}", decimal(&parts.scatter, 9));
    println!("  bonus                 {}", decimal(&parts.bonus, 9));
    println!("  free spins            {}", decimal(&parts.free_spins, 9));
    println!("  jackpot seed          {}", decimal(&parts.jackpot_seed, 9));
    println!("  jackpot increments    {}", decimal(&parts.jackpot_increments, 9));
    println!("hit frequency           {}", decimal(&par.hit_frequency, 6));
    println!("standard deviation      {:.4} bets", par.std_dev);
    let chance = par.max_win_probability.recip();
    println!("highest window          {} bets, once in {}", decimal(&par.max_win_bets, 2), decimal(&chance, 0));
    println!("bonus                   once in {} spins", decimal(&par.features.bonus.recip(), 1));
    println!("free spins by scatters  once in {} spins", decimal(&par.features.scatter_free_spins.recip(), 1));
    println!("free spins a paid spin  {}", decimal(&par.features.free_spins_per_paid_spin, 6));
    for (prize, chance) in &par.features.prizes {
        println!("  {prize:?}: {}", decimal(chance, 9));
    }
}

fn scan(game: &'static dyn Game, lines: u32, par: &Par) {
    let half = game.cycle() / 2;
    let totals = std::thread::scope(|scope| {
        let second = scope.spawn(|| game.scan(lines, half..game.cycle()));
        let mut totals = game.scan(lines, 0..half);
        totals.merge(&second.join().expect("a scan doesn't panic"));
        totals
    });
    let hits = totals.hits;
    let (max, windows) = (totals.max_win_coins, totals.max_win_windows);
    println!("scan: {hits} hits, highest {max} coins in {windows} windows of {}", par.cycle);
}

fn run(game: &'static dyn Game, stake: &Stake, rounds: u64, par: &Par) -> Result<(), Box<dyn std::error::Error>> {
    let tally = simulate(game, stake, rounds, *b"motherlode: a seed for PAR sheet")?;
    let (won, bet, rounds) = (tally.win.coins as f64, tally.bet_coins as f64, tally.rounds as f64);
    let sigma = par.std_dev / rounds.sqrt();
    println!("simulation: {rounds} rounds return {:.6} (sigma {sigma:.6})", won / bet);
    println!("{tally:?}");
    Ok(())
}
