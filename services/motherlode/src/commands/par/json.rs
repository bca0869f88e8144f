use super::{cash, spread};
use crate::figures::chance;
use motherlode_picture::par::{
    Played,
    highest::highest,
    report::{CASH_PROOF, CashReport, INCREMENTS, PLACES, ROUNDING, StakeReport, pays, returns, symbol_name, symbols},
};
use motherlode_proto::convert::play::hex;
use motherlode_slots::{
    Game, GameInfo, Par, Stake,
    par::{ReelSet, decimal},
};
use serde::{Serialize, Serializer};

const BETS_PLACES: usize = 6;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    game: &'static str,
    rules_version: &'static str,
    model_hash: String,
    /// Return to player as a fraction, without the increments that bets add to the jackpot.
    rtp: String,
    rtp_parts: Named,
    hit_frequency: String,
    std_dev: String,
    max_win_bets: String,
    max_win_probability: String,
    volatility_index: String,
    confidence_intervals: Vec<spread::Interval>,
    win_distribution: spread::Distribution,
    rules_date: &'static str,
    program_version: &'static str,
    stake: StakeReport,
    rtp_without_jackpot: String,
    /// Return from the jackpot's increments at the coin value of `stake`. `rtp` does not include this return.
    rtp_jackpot_increments: String,
    rtp_with_jackpot_increments: String,
    rates: Named,
    conditional_rtps: Named,
    reel_sets: Vec<ReelSetReport>,
    /// Highest win of a round as a multiple of the bet, rounded down (WF-04). `win_up_to_says` explains the figure.
    win_up_to_bets: String,
    win_up_to_probability_at_most: String,
    win_up_to_says: &'static str,
    win_up_to_at: String,
    win_up_to_gambled_bets: String,
    win_up_to_gambled_probability_at_most: String,
    jackpot_assumes: String,
    cash: Vec<CashReport>,
    cash_proof: &'static str,
    exactness: &'static str,
    rounding: &'static str,
}

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
    strips: Vec<Vec<String>>,
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

impl Report {
    pub(super) fn new(game: &dyn Game, stake: &Stake, par: &Par, played: &Played) -> Self {
        let parts = returns(par, PLACES);
        let highest = highest(game, stake, par).unwrap_or_default();
        Self {
            game: par.game,
            rules_version: par.rules_version,
            rules_date: game.rules_date(),
            program_version: env!("CARGO_PKG_VERSION"),
            model_hash: hex(&par.model_hash),
            stake: StakeReport::new(game, stake, par),
            rtp: decimal(&par.rtp, PLACES),
            rtp_parts: Named(parts.into_iter().map(|(name, part)| (name.key.to_owned(), part)).collect()),
            rtp_without_jackpot: decimal(&par.rtp_without_jackpot, PLACES),
            rtp_jackpot_increments: decimal(&par.part(INCREMENTS), PLACES),
            rtp_with_jackpot_increments: decimal(&par.rtp_with_increments(), PLACES),
            hit_frequency: decimal(&par.hit_frequency, PLACES),
            std_dev: format!("{:.*}", BETS_PLACES, par.std_dev),
            volatility_index: format!("{:.*}", BETS_PLACES, par.volatility_index()),
            confidence_intervals: spread::intervals(par),
            win_distribution: spread::distribution(played),
            max_win_bets: decimal(&par.max_win_bets, BETS_PLACES),
            max_win_probability: chance(&par.max_win_probability),
            rates: Named(par.rates.iter().map(|rate| (rate.key.clone(), chance(&rate.value))).collect()),
            conditional_rtps: Named(
                par.conditional_rtps.iter().map(|of| (of.key.to_owned(), decimal(&of.rtp, PLACES))).collect(),
            ),
            reel_sets: par.reel_sets.iter().map(|set| ReelSetReport::new(game.info(), set)).collect(),
            win_up_to_bets: highest.bets,
            win_up_to_probability_at_most: highest.chance,
            win_up_to_says: highest.says,
            win_up_to_at: highest.at,
            win_up_to_gambled_bets: highest.gambled_bets,
            win_up_to_gambled_probability_at_most: highest.gambled_chance,
            jackpot_assumes: game.info().jackpot_assumes.clone(),
            cash: cash::returns(game, par),
            cash_proof: CASH_PROOF,
            exactness: par.exactness,
            rounding: ROUNDING,
        }
    }
}

impl ReelSetReport {
    fn new(info: &GameInfo, set: &ReelSet) -> Self {
        Self {
            title: set.title,
            cycle: set.cycle(),
            symbol_counts: symbols(info, set).map(|(symbol, by_reel)| SymbolReport { symbol, by_reel }).collect(),
            strips: set.strips.iter().map(|strip| strip.iter().map(|on| symbol_name(info, *on)).collect()).collect(),
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
                        probability: chance(&of.chance),
                        rtp: decimal(&of.rtp, PLACES),
                    }
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::played::played;
    use super::*;
    use crate::commands::stake::newest;
    use motherlode_slots::par::Exact;

    fn stake(lines: u32, coins_per_line: u32, micros: u64) -> Stake {
        Stake { coin_value_micros: micros, lines, coins_per_line, buy_feature: false }
    }

    fn nanos(decimal: &str) -> u64 {
        let (whole, fraction) = decimal.split_once('.').unwrap();
        assert_eq!(fraction.len(), PLACES, "{decimal}");
        whole.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap()
    }

    #[test]
    fn bw_21_the_printed_parts_add_up_to_the_printed_return() {
        let game = newest("bewitched").unwrap();
        for (lines, coins, micros, increments) in
            [(15, 1, 100_000, 50_000), (1, 1, 10_000, 5_000), (9, 7, 10_000_000, 5_000_000)]
        {
            let stake = stake(lines, coins, micros);
            let report = Report::new(game, &stake, &game.par(&stake).unwrap(), &played(game, &stake, 1_000).unwrap());
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
        let report = Report::new(game, &stake, &game.par(&stake).unwrap(), &played(game, &stake, 1_000).unwrap());
        let [set] = &report.reel_sets[..] else { panic!("one set of reels") };
        let wilds = set.combinations.iter().find(|of| of.symbol == "Wild" && of.count == 5).unwrap();
        let per_reel = set.symbol_counts.iter().find(|of| of.symbol == "Wild").unwrap();
        let ways = per_reel.by_reel.iter().map(|count| *count as u64).product::<u64>();
        assert_eq!(wilds.pays, 10_000);
        assert_eq!(wilds.probability, decimal(&Exact::new(ways.into(), set.cycle.into()), 18));
    }
}
