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
    Game, GameInfo, Par, PartName, Stake,
    par::{Combination, Exact, ReelSet, decimal},
};
use serde::{Serialize, Serializer};
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
    rtp_parts: Named,
    rtp_without_jackpot: String,
    /// What the increments return on top of `rtp`, at this coin value.
    rtp_jackpot_increments: String,
    rtp_with_jackpot_increments: String,
    hit_frequency: String,
    std_dev: String,
    max_win_bets: String,
    max_win_probability: String,
    /// How often features come, and other expectations and chances of a paid spin.
    rates: Named,
    /// Returns that hold under a condition, such as that of the bought feature.
    conditional_rtps: Named,
    reel_sets: Vec<ReelSetReport>,
    exactness: &'static str,
    rounding: &'static str,
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

/// Figures by name, in their order: a JSON object.
#[derive(Debug, PartialEq, Eq)]
struct Named(Vec<(String, String)>);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, figure)| (name, figure)))
    }
}

#[derive(Debug, Serialize)]
struct ReelSetReport {
    title: &'static str,
    cycle: u64,
    symbol_counts: Vec<SymbolReport>,
    combinations: Vec<CombinationReport>,
}

#[derive(Debug, Serialize)]
struct SymbolReport {
    symbol: String,
    by_reel: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct CombinationReport {
    symbol: String,
    count: u8,
    pays: u64,
    free_spins: u32,
    probability: String,
    rtp: String,
}

const ROUNDING: &str = "returns and frequencies: 9 places; chances and rates: 18; bets: 6; half to even, but rtp_parts, \
                        which are rounded down and made to add up to rtp by the largest remainder";

impl Report {
    fn of(game: &dyn Game, stake: &Stake, par: &Par) -> Self {
        let chance = |chance: &Exact| decimal(chance, CHANCE_PLACES);
        let parts = returns(par, PLACES);
        Self {
            game: par.game,
            rules_version: par.rules_version,
            rules_date: game.rules_date(),
            model_hash: hex(&par.model_hash),
            stake: StakeReport::of(game, stake, par),
            rtp: decimal(&par.rtp, PLACES),
            rtp_parts: Named(parts.into_iter().map(|(name, part)| (name.key.to_owned(), part)).collect()),
            rtp_without_jackpot: decimal(&par.rtp_without_jackpot, PLACES),
            rtp_jackpot_increments: decimal(&par.part(INCREMENTS), PLACES),
            rtp_with_jackpot_increments: decimal(&par.rtp_with_increments(), PLACES),
            hit_frequency: decimal(&par.hit_frequency, PLACES),
            std_dev: format!("{:.*}", BETS_PLACES, par.std_dev),
            max_win_bets: decimal(&par.max_win_bets, BETS_PLACES),
            max_win_probability: chance(&par.max_win_probability),
            rates: Named(par.rates.iter().map(|rate| (rate.key.clone(), chance(&rate.value))).collect()),
            conditional_rtps: Named(
                par.conditional_rtps.iter().map(|of| (of.key.to_owned(), decimal(&of.rtp, PLACES))).collect(),
            ),
            reel_sets: par.reel_sets.iter().map(|set| ReelSetReport::of(game.info(), set)).collect(),
            exactness: par.exactness,
            rounding: ROUNDING,
        }
    }
}

impl ReelSetReport {
    fn of(info: &GameInfo, set: &ReelSet) -> Self {
        Self {
            title: set.title,
            cycle: set.cycle(),
            symbol_counts: symbols(info, set).map(|(symbol, by_reel)| SymbolReport { symbol, by_reel }).collect(),
            combinations: set
                .combinations
                .iter()
                .map(|of| {
                    let (pays, free_spins) = pays(info, of);
                    CombinationReport {
                        symbol: symbol_name(info, of.symbol),
                        count: of.count,
                        pays,
                        free_spins,
                        probability: decimal(&of.chance, CHANCE_PLACES),
                        rtp: decimal(&of.rtp, PLACES),
                    }
                })
                .collect(),
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

/// What a combination pays and how many free spins it awards, as the paytable says.
fn pays(info: &GameInfo, of: &Combination) -> (u64, u32) {
    let row = info.paytable.iter().find(|row| row.symbol == of.symbol && row.count == of.count);
    row.map_or((0, 0), |row| (row.pays, row.free_spins))
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
            let names: Vec<_> = report.rtp_parts.0.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["base_lines", "scatter", "bonus", "free_spins", "jackpot_seed"]);
            assert_eq!(report.rtp_parts.0.iter().map(|(_, part)| nanos(part)).sum::<u64>(), 946_000_000);
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
        let [set] = &report.reel_sets[..] else { panic!("one set of reels") };
        let wilds = set.combinations.iter().find(|of| of.symbol == "Wild" && of.count == 5).unwrap();
        let per_reel = set.symbol_counts.iter().find(|of| of.symbol == "Wild").unwrap();
        let ways = per_reel.by_reel.iter().map(|count| *count as u64).product::<u64>();
        assert_eq!(wilds.pays, 10_000);
        assert_eq!(wilds.probability, decimal(&Exact::new(ways.into(), set.cycle.into()), CHANCE_PLACES));
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
}
