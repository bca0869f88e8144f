//! `par`: a game's exact mathematics at a stake, for people and for programs.
//!
//! All figures are exact fractions, written with the number of places stated in [`PLACES`]. The parts of the return are
//! rounded so that they add up as printed: see [`figures::parts`]. Other figures are rounded half to even.

mod sheet;

use super::{
    Failure, Format, say,
    stake::{StakeArgs, newest},
};
use crate::figures;
use motherlode_books::CoinValue;
use motherlode_proto::convert::play::hex;
use motherlode_slots::{
    Game, Par, Stake,
    game::PrizeInfo,
    par::{Exact, decimal},
};
use serde::Serialize;
use std::fmt;

/// Places of a return or a frequency.
const PLACES: usize = 9;
/// Places of a chance, which may be far smaller.
const CHANCE_PLACES: usize = 18;
/// Places of a figure in bets.
const BETS_PLACES: usize = 6;

/// What `par` can be told.
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
}

/// Prints the sheet.
///
/// # Errors
/// There is no such game, or it does not offer the stake.
pub fn run(args: &Args) -> Result<(), Failure> {
    let game = newest(&args.game)?;
    let stake = args.stake.checked(game)?;
    let par = game.par(&stake).map_err(Failure::unusable)?;
    say(&match args.format {
        Format::Text => sheet::text(game, &stake, &par),
        Format::Json => super::json(&Report::of(game, &stake, &par))?,
    })
}

/// The sheet as JSON. Returns, chances and bets are decimal strings.
#[derive(Debug, Serialize)]
struct Report {
    game: &'static str,
    rules_version: &'static str,
    rules_date: &'static str,
    model_hash: String,
    stake: StakeReport,
    /// The return without the jackpot's increments; the sum of `rtp_parts` as printed.
    rtp: String,
    rtp_parts: PartsReport,
    rtp_without_jackpot: String,
    /// What the increments return on top of `rtp`, at this coin value.
    rtp_jackpot_increments: String,
    rtp_with_jackpot_increments: String,
    hit_frequency: String,
    std_dev: String,
    max_win_bets: String,
    max_win_probability: String,
    cycle: u64,
    symbol_counts: Vec<SymbolReport>,
    combinations: Vec<CombinationReport>,
    features: FeaturesReport,
    rounding: &'static str,
}

/// A stake as JSON.
#[derive(Debug, Serialize)]
pub(super) struct StakeReport {
    lines: u32,
    coins_per_line: u32,
    coin_value: String,
    bet_coins: u32,
}

impl fmt::Display for StakeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, coins_per_line, coin_value, bet_coins } = self;
        write!(f, "{lines} lines x {coins_per_line} of {coin_value}, {bet_coins} coins a spin")
    }
}

impl StakeReport {
    pub(super) fn of(stake: &Stake) -> Self {
        Self {
            lines: stake.lines,
            coins_per_line: stake.coins_per_line,
            coin_value: CoinValue(stake.coin_value_micros).to_string(),
            bet_coins: stake.lines.saturating_mul(stake.coins_per_line),
        }
    }
}

#[derive(Debug, Serialize)]
struct PartsReport {
    base_lines: String,
    scatter: String,
    bonus: String,
    free_spins: String,
    jackpot_seed: String,
}

#[derive(Debug, Serialize)]
struct SymbolReport {
    symbol: String,
    by_reel: Vec<u32>,
}

#[derive(Debug, Serialize)]
struct CombinationReport {
    symbol: String,
    count: u8,
    pays: u64,
    free_spins: u32,
    ways: u64,
}

#[derive(Debug, Serialize)]
struct FeaturesReport {
    bonus: String,
    scatter_free_spins: String,
    bonuses_per_paid_spin: String,
    free_spins_per_paid_spin: String,
    jackpots_per_paid_spin: String,
    prizes: Vec<PrizeReport>,
}

#[derive(Debug, Serialize)]
struct PrizeReport {
    prize: String,
    probability: String,
}

const ROUNDING: &str = "returns and frequencies: 9 places; chances: 18; bets: 6; half to even, but rtp_parts, which \
                        are rounded down and made to add up to rtp by the largest remainder";

impl Report {
    fn of(game: &dyn Game, stake: &Stake, par: &Par) -> Self {
        let [base_lines, scatter, bonus, free_spins, jackpot_seed] = returns(par, PLACES);
        let features = &par.features;
        let chance = |chance: &Exact| decimal(chance, CHANCE_PLACES);
        Self {
            game: par.game,
            rules_version: par.rules_version,
            rules_date: game.rules_date(),
            model_hash: hex(&par.model_hash),
            stake: StakeReport::of(stake),
            rtp: decimal(&par.rtp, PLACES),
            rtp_parts: PartsReport { base_lines, scatter, bonus, free_spins, jackpot_seed },
            rtp_without_jackpot: decimal(&par.rtp_without_jackpot, PLACES),
            rtp_jackpot_increments: decimal(&par.rtp_parts.jackpot_increments, PLACES),
            rtp_with_jackpot_increments: decimal(&par.rtp_with_increments(), PLACES),
            hit_frequency: decimal(&par.hit_frequency, PLACES),
            std_dev: format!("{:.*}", BETS_PLACES, par.std_dev),
            max_win_bets: decimal(&par.max_win_bets, BETS_PLACES),
            max_win_probability: chance(&par.max_win_probability),
            cycle: par.cycle,
            symbol_counts: symbols(game, par).map(|(symbol, by_reel)| SymbolReport { symbol, by_reel }).collect(),
            combinations: combinations(game, par),
            features: FeaturesReport {
                bonus: chance(&features.bonus),
                scatter_free_spins: chance(&features.scatter_free_spins),
                bonuses_per_paid_spin: chance(&features.bonuses_per_paid_spin),
                free_spins_per_paid_spin: chance(&features.free_spins_per_paid_spin),
                jackpots_per_paid_spin: chance(&features.jackpot),
                prizes: prizes(par).map(|(prize, of)| PrizeReport { prize, probability: chance(of) }).collect(),
            },
            rounding: ROUNDING,
        }
    }
}

/// The parts of [`Par::rtp`] as printed: base lines, scatter, bonus, free spins, jackpot seed.
fn returns(par: &Par, places: usize) -> [String; 5] {
    let of = &par.rtp_parts;
    let parts = [&of.base_lines, &of.scatter, &of.bonus, &of.free_spins, &of.jackpot_seed];
    let mut printed = figures::parts(&par.rtp, &parts, places).into_iter();
    std::array::from_fn(|_| printed.next().unwrap_or_default())
}

/// How often each symbol stands on each strip.
fn symbols(game: &dyn Game, par: &Par) -> impl Iterator<Item = (String, Vec<u32>)> {
    game.info().symbols.iter().zip(&par.symbol_counts).map(|(symbol, counts)| (symbol.name.clone(), counts.to_vec()))
}

/// The paytable's rows, with how many stop combinations make each.
fn combinations(game: &dyn Game, par: &Par) -> Vec<CombinationReport> {
    let info = game.info();
    let ways = |symbol, count| par.combinations.iter().find(|of| of.symbol == symbol && of.count == count);
    let row = |row: &motherlode_slots::game::PayRow| CombinationReport {
        symbol: info.symbols.get(usize::from(row.symbol)).map_or_else(String::new, |symbol| symbol.name.clone()),
        count: row.count,
        pays: row.pays,
        free_spins: row.free_spins,
        ways: ways(row.symbol, row.count).map_or(0, |of| of.ways),
    };
    info.paytable.iter().map(row).collect()
}

/// What the bonus awards, with its chances at this stake.
fn prizes(par: &Par) -> impl Iterator<Item = (String, &Exact)> {
    par.features.prizes.iter().map(|(prize, chance)| {
        let name = match prize {
            PrizeInfo::Jackpot => "jackpot".to_owned(),
            PrizeInfo::Multiple(multiple) => format!("{multiple} x total bet"),
            PrizeInfo::FreeSpins(spins) => format!("{spins} free spins"),
        };
        (name, chance)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stake(lines: u32, coins_per_line: u32, micros: u64) -> Stake {
        Stake { coin_value_micros: micros, lines, coins_per_line, buy_feature: false }
    }

    fn nanos(decimal: &str) -> u64 {
        let (whole, fraction) = decimal.split_once('.').unwrap();
        assert_eq!(fraction.len(), PLACES, "{decimal}");
        whole.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap()
    }

    /// BW-21: the RTP shown includes the jackpot's seed; its parts add up as printed, at any stake.
    #[test]
    fn bw_21_the_printed_parts_add_up_to_the_printed_return() {
        let game = newest("bewitched").unwrap();
        for (lines, coins, micros, increments) in
            [(15, 1, 100_000, 50_000), (1, 1, 10_000, 5_000), (9, 7, 10_000_000, 5_000_000)]
        {
            let stake = stake(lines, coins, micros);
            let report = Report::of(game, &stake, &game.par(&stake).unwrap());
            let of = &report.rtp_parts;
            let parts = [&of.base_lines, &of.scatter, &of.bonus, &of.free_spins, &of.jackpot_seed];
            assert_eq!(parts.iter().map(|part| nanos(part)).sum::<u64>(), 946_000_000);
            assert_eq!(report.rtp, "0.946000000");
            assert_eq!(report.rtp_without_jackpot, "0.941000000");
            assert_eq!(nanos(&report.rtp_jackpot_increments), increments);
            assert_eq!(nanos(&report.rtp_with_jackpot_increments), 946_000_000 + increments);
        }
    }

    #[test]
    fn the_sheet_says_what_the_paytable_says() {
        let game = newest("bewitched").unwrap();
        let stake = stake(15, 1, 100_000);
        let report = Report::of(game, &stake, &game.par(&stake).unwrap());
        let wilds = report.combinations.iter().find(|of| of.symbol == "Wild" && of.count == 5).unwrap();
        let per_reel = report.symbol_counts.iter().find(|of| of.symbol == "Wild").unwrap();
        assert_eq!(wilds.pays, 10_000);
        assert_eq!(wilds.ways, per_reel.by_reel.iter().map(|count| u64::from(*count)).product::<u64>());
    }

    #[test]
    fn unknown_games_and_stakes_are_unusable_input() {
        let failure = newest("solitaire").err().unwrap();
        assert_eq!((failure.code, failure.message.as_str()), (2, "there is no game solitaire; there is bewitched"));
        let args = StakeArgs { lines: Some(16), coins: 1, coin_value: CoinValue(100_000) };
        let failure = args.checked(newest("bewitched").unwrap()).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.starts_with("16 lines is outside 1 to 15\n"), "{}", failure.message);
    }
}
