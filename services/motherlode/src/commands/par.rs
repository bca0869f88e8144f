//! `par`: a game's exact mathematics at a stake: for people, for programs, and as a page for a test laboratory.
//!
//! All figures are exact fractions, written with the number of places stated in [`ROUNDING`]. The parts of the return
//! are rounded so that they add up as printed: see [`figures::parts`]. Other figures are rounded half to even. Only the
//! page has a simulation as well, which says so.

mod cash;
mod html;
mod json;
mod sheet;

use super::{
    Failure, say, simulate,
    stake::{StakeArgs, newest},
};
use crate::figures;
use html::Played;
use motherlode_books::CoinValue;
use motherlode_proto::convert::play::hex;
use motherlode_slots::{
    Game, GameInfo, Par, PartName, Seed, Stake,
    par::{Combination, ReelSet},
};
use serde::Serialize;
use std::{fmt, fs, num::NonZeroUsize, path::PathBuf, sync::atomic::AtomicBool, thread};

/// Places of a return or a frequency.
const PLACES: usize = 9;
/// Places of the returns in percent: the nine places of the fraction.
const PERCENT_PLACES: usize = PLACES - 2;
/// Rounds that are simulated for a page where nobody says how many.
const ROUNDS: u64 = 100_000_000;
/// The seed of that simulation: the same page every time.
const SEED: Seed = *b"the rounds of the PAR sheet page";

const ROUNDING: &str = "returns and frequencies: 9 places; chances and rates: 18, or as many as nine digits need; bets: 6; \
                        half to even, but rtp_parts, which are rounded down and made to add up to rtp by the largest \
                        remainder";

/// The arguments of `par`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The game.
    #[arg(value_name = "GAME")]
    game: String,
    #[command(flatten)]
    stake: StakeArgs,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write it to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Rounds to simulate for the distribution of wins on the html page; a hundred million by default.
    #[arg(long, value_name = "N", value_parser = figures::count)]
    rounds: Option<u64>,
}

/// How the sheet is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// One self-contained page, with plots and a simulated distribution of wins.
    Html,
}

/// Prints the sheet.
///
/// # Errors
/// There is no such game, or it does not offer the stake; or the file cannot be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.rounds.is_some() && args.format != Format::Html {
        return Err(Failure::unusable("only the html page has a simulation: --rounds needs --format html"));
    }
    let game = newest(&args.game)?;
    let stake = args.stake.checked(game)?;
    let par = game.par(&stake).map_err(Failure::unusable)?;
    let written = match args.format {
        Format::Text => sheet::text(game, &stake, &par),
        Format::Json => super::json(&json::Report::of(game, &stake, &par))?,
        Format::Html => html::page(game, &stake, &par, &played(game, &stake, args.rounds.unwrap_or(ROUNDS))?),
    };
    match &args.out {
        None => say(&written),
        Some(file) => fs::write(file, written)
            .map_err(|error| Failure::found(format!("{} cannot be written: {error}", file.display()))),
    }
}

/// Plays the page's rounds, on all cores.
fn played(game: &'static dyn Game, stake: &Stake, rounds: u64) -> Result<Played, Failure> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let going_on = AtomicBool::new(false);
    let tally = simulate::play(game, stake, rounds, SEED, threads, &going_on, &simulate::progress(rounds))?;
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

/// A stake as JSON.
#[derive(Debug, Serialize)]
pub(super) struct StakeReport {
    lines: u32,
    coins_per_line: u32,
    coin_value: String,
    buy_feature: bool,
    bet_coins: u64,
    /// Wins run on ways: there are no lines to speak of.
    #[serde(skip)]
    ways: bool,
}

impl fmt::Display for StakeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, coins_per_line, coin_value, buy_feature, bet_coins, ways } = self;
        match ways {
            true => write!(f, "{bet_coins} coins of {coin_value} a spin")?,
            false => write!(f, "{lines} lines x {coins_per_line} of {coin_value}, {bet_coins} coins a spin")?,
        }
        f.write_str(if *buy_feature { ", feature bought" } else { "" })
    }
}

impl StakeReport {
    pub(super) fn of(game: &dyn Game, stake: &Stake, par: &Par) -> Self {
        Self {
            lines: stake.lines,
            coins_per_line: stake.coins_per_line,
            coin_value: CoinValue(stake.coin_value_micros).to_string(),
            buy_feature: stake.buy_feature,
            bet_coins: par.bet_coins,
            ways: game.info().ways,
        }
    }
}

/// Key of the part that the jackpot's increments return, which is on top of [`Par::rtp`].
const INCREMENTS: &str = "jackpot_increments";

/// The parts of [`Par::rtp`] as printed: they add up.
fn returns(par: &Par, places: usize) -> Vec<(PartName, String)> {
    let parts: Vec<_> = par.parts.iter().filter(|part| part.name.key != INCREMENTS).collect();
    let exact: Vec<_> = parts.iter().map(|part| &part.rtp).collect();
    parts.iter().map(|part| part.name).zip(figures::parts(&par.rtp, &exact, places)).collect()
}

/// How often each symbol stands on each strip of a set.
fn symbols(info: &GameInfo, set: &ReelSet) -> impl Iterator<Item = (String, Vec<usize>)> {
    let counted = info.symbols.iter().zip(0..).map(|(symbol, index)| (symbol.name.clone(), set.counts(index)));
    counted.filter(|(_, counts)| counts.iter().any(|count| *count > 0))
}

fn symbol_name(info: &GameInfo, index: u8) -> String {
    info.symbols.get(usize::from(index)).map_or_else(String::new, |symbol| symbol.name.clone())
}

/// Returns a combination's pay and its free spins, from the paytable.
fn pays(info: &GameInfo, of: &Combination) -> (u64, u32) {
    let row = info.paytable.iter().find(|row| row.symbol == of.symbol && row.count == of.count);
    row.map_or((0, 0), |row| (row.pays, row.free_spins))
}

/// A decimal fraction as percent by moving its point: nothing is rounded a second time.
fn shifted(fraction: &str) -> String {
    let (whole, places) = fraction.split_once('.').unwrap_or((fraction, ""));
    let (up, rest) = places.split_at_checked(2).unwrap_or((places, ""));
    let digits = format!("{whole}{up}");
    let digits = digits.trim_start_matches('0');
    format!("{}.{rest} %", if digits.is_empty() { "0" } else { digits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_becomes_percent_digit_by_digit() {
        assert_eq!(shifted("0.946000000"), "94.6000000 %");
        assert_eq!(shifted("0.005000000"), "0.5000000 %");
        assert_eq!(shifted("1.050000001"), "105.0000001 %");
    }

    #[test]
    fn unknown_games_and_stakes_are_unusable_input() {
        let failure = newest("solitaire").err().unwrap();
        assert_eq!(failure.code, 2);
        assert!(failure.message.starts_with("there is no game solitaire; there is bewitched"), "{}", failure.message);
        let args = StakeArgs { lines: Some(16), ..StakeArgs::default() };
        let failure = args.checked(newest("bewitched").unwrap()).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.starts_with("16 lines is outside 1 to 15\n"), "{}", failure.message);
    }

    #[test]
    fn only_the_page_is_simulated() {
        let args = Args {
            game: "bewitched".to_owned(),
            stake: StakeArgs::default(),
            format: Format::Json,
            out: None,
            rounds: Some(1),
        };
        assert_eq!(run(&args).unwrap_err().code, 2);
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let args = Args {
            game: "bewitched".to_owned(),
            stake: StakeArgs::default(),
            format: Format::Text,
            out: Some(folder.path().join("sheet.txt")),
            rounds: None,
        };
        run(&args).unwrap();
        assert!(fs::read_to_string(folder.path().join("sheet.txt")).unwrap().starts_with("Bewitched: PAR sheet\n"));
        let failure = run(&Args { out: Some(folder.path().to_owned()), ..args }).unwrap_err();
        assert_eq!(failure.code, 1);
    }
}
