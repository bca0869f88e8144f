//! The PAR sheet as text, 80 columns wide.

use super::{PLACES, StakeReport, prizes, returns, symbols};
use crate::figures::{grouped, once_in, percent};
use motherlode_proto::convert::play::hex;
use motherlode_slots::{
    Game, Par, Stake,
    game::GameInfo,
    par::{Exact, decimal},
};

/// Places of the returns in percent: the nine places of the fraction.
const PERCENT_PLACES: usize = PLACES - 2;

/// The whole sheet.
pub(super) fn text(game: &dyn Game, stake: &Stake, par: &Par) -> String {
    let mut lines = head(game, stake, par);
    lines.extend(returned(par));
    lines.extend(spread(par));
    lines.extend(features(game.info(), par));
    lines.extend(paytable(game, par));
    lines.extend(strips(game, par));
    lines.push(String::new());
    lines.join("\n")
}

fn head(game: &dyn Game, stake: &Stake, par: &Par) -> Vec<String> {
    vec![
        format!("{}: PAR sheet", game.info().title),
        format!("rules {} of {}, model {}", par.rules_version, game.rules_date(), hex(&par.model_hash[..8])),
        StakeReport::of(stake).to_string(),
    ]
}

fn section(title: &str) -> [String; 2] {
    [String::new(), format!("── {title} {}", "─".repeat(76_usize.saturating_sub(title.chars().count())))]
}

/// A label and its figure, dotted to the same column.
fn row(label: &str, figure: &str) -> String {
    let dots = ".".repeat(70_usize.saturating_sub(label.chars().count() + figure.chars().count()));
    format!("  {label} {dots} {figure}")
}

fn returned(par: &Par) -> Vec<String> {
    let [base, scatter, bonus, free, seed] = returns(par, PLACES).map(|part| shifted(&part));
    let mut lines = section("Return to player, of the bet").to_vec();
    lines.extend([
        row("line wins of the paid spin", &base),
        row("scatters of the paid spin", &scatter),
        row("money of the bonus that the paid spin starts", &bonus),
        row("free spins, with all that is won in them", &free),
        row("without the jackpot", &percent(&par.rtp_without_jackpot, PERCENT_PLACES)),
        row("the jackpot's seed", &seed),
        row("RETURN without the jackpot's increments", &percent(&par.rtp, PERCENT_PLACES)),
        row("the jackpot's increments at this coin value", &percent(&par.rtp_parts.jackpot_increments, PERCENT_PLACES)),
        row("with the jackpot's increments", &percent(&par.rtp_with_increments(), PERCENT_PLACES)),
    ]);
    lines
}

/// A decimal fraction as percent by moving its point: nothing is rounded a second time.
fn shifted(fraction: &str) -> String {
    let (whole, places) = fraction.split_once('.').unwrap_or((fraction, ""));
    let (up, rest) = places.split_at_checked(2).unwrap_or((places, ""));
    let digits = format!("{whole}{up}");
    let digits = digits.trim_start_matches('0');
    format!("{}.{rest} %", if digits.is_empty() { "0" } else { digits })
}

fn spread(par: &Par) -> Vec<String> {
    let mut lines = section("Hits and spread").to_vec();
    lines.extend([
        row("a paid spin wins", &format!("{}, {}", percent(&par.hit_frequency, 4), once_in(&par.hit_frequency, 2))),
        row("standard deviation of a round", &format!("{:.4} bets", par.std_dev)),
        row("highest win of one window", &format!("{} bets", grouped(&decimal(&par.max_win_bets, 2)))),
        row("it comes", &format!("{} spins", once_in(&par.max_win_probability, 0))),
    ]);
    lines
}

fn features(info: &GameInfo, par: &Par) -> Vec<String> {
    let of = &par.features;
    let mut lines = section("Features").to_vec();
    lines.extend([
        row("bonus round started by a window", &format!("{} spins", once_in(&of.bonus, 1))),
        row("free spins awarded by scatters", &format!("{} spins", once_in(&of.scatter_free_spins, 1))),
        row("free spins a paid spin, all told", &decimal(&of.free_spins_per_paid_spin, 6)),
        row("bonus rounds a paid spin, all told", &decimal(&of.bonuses_per_paid_spin, 6)),
    ]);
    if info.jackpot {
        lines.push(row("the progressive jackpot", &format!("{} spins", once_in(&of.jackpot, 1))));
    }
    lines.push(String::new());
    lines.push("  what a bonus round gives at this stake".to_owned());
    let prizes: Vec<_> = prizes(par).map(|(prize, chance)| format!("{prize:<16}{:>14}", percent(chance, 6))).collect();
    // Two columns, read downwards.
    let half = prizes.len().div_ceil(2);
    for (place, left) in prizes.iter().take(half).enumerate() {
        let right = prizes.get(half + place).map(String::as_str).unwrap_or_default();
        lines.push(format!("    {left}      {right}").trim_end().to_owned());
    }
    lines
}

fn paytable(game: &dyn Game, par: &Par) -> Vec<String> {
    let mut lines = section("Paytable, and combinations that make it").to_vec();
    lines.push(format!("  {:<28}{:>12}{:>18}{:>18}", "", "pays", "combinations", "once in"));
    let mut last = None;
    for of in super::combinations(game, par) {
        if last.as_ref().is_some_and(|last| *last != of.symbol) {
            lines.push(String::new());
        }
        let pays = match (of.pays, of.free_spins) {
            (0, 0) => "bonus".to_owned(),
            (pays, 0) => grouped(&pays.to_string()),
            (pays, spins) => format!("{} +{spins} fs", grouped(&pays.to_string())),
        };
        let once = match Exact::new(of.ways.into(), par.cycle.into()) {
            chance if of.ways > 0 => grouped(&decimal(&chance.recip(), 1)),
            _ => "never".to_owned(),
        };
        let ways = grouped(&of.ways.to_string());
        lines.push(format!("  {} x {:<24}{pays:>12}{ways:>18}{once:>18}", of.count, of.symbol));
        last = Some(of.symbol);
    }
    let cycle = grouped(&par.cycle.to_string());
    lines.push(String::new());
    lines.push(format!("  Combinations are of {cycle}, on one line; of scatters and bonus anywhere."));
    lines.push("  A line pays times its coins, a scatter times the total bet; fs: free spins.".to_owned());
    lines
}

fn strips(game: &dyn Game, par: &Par) -> Vec<String> {
    let mut lines = section("Symbols on the strips").to_vec();
    let columns = |cells: &[String]| cells.iter().map(|cell| format!("{cell:>9}")).collect::<String>();
    let reels: Vec<_> = (1..=game.info().reels).map(|reel| format!("reel {reel}")).collect();
    lines.push(format!("  {:<20}{}", "", columns(&reels)));
    let mut sums = vec![0_u32; reels.len()];
    for (symbol, counts) in symbols(game, par) {
        for (sum, count) in sums.iter_mut().zip(&counts) {
            *sum += count;
        }
        let counts: Vec<_> = counts.iter().map(u32::to_string).collect();
        lines.push(format!("  {symbol:<20}{}", columns(&counts)));
    }
    let sums: Vec<_> = sums.iter().map(u32::to_string).collect();
    lines.push(format!("  {:<20}{}", "stops", columns(&sums)));
    lines
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
    fn no_line_is_wider_than_a_terminal() {
        let game = crate::commands::stake::newest("bewitched").unwrap();
        let stake = Stake { coin_value_micros: 10_000_000, lines: 15, coins_per_line: 10, buy_feature: false };
        for line in text(game, &stake, &game.par(&stake).unwrap()).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
