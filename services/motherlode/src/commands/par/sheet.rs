use super::{cash, spread as spreads};
use crate::figures::{grouped, once_in, percent};
use motherlode_picture::par::{
    Played,
    highest::highest,
    report::{
        CASH_PROOF, INCREMENTS, PERCENT_PLACES, PLACES, StakeReport, pays, returns, shifted, symbol_name, symbols,
    },
};
use motherlode_proto::convert::play::hex;
use motherlode_slots::{
    Game, GameInfo, Par, Stake,
    par::{Exact, ReelSet, decimal},
};

const ROW_WIDTH: usize = 78;
const GAP: usize = 4;

pub(super) fn text(game: &dyn Game, stake: &Stake, par: &Par, played: &Played) -> String {
    let mut lines = head(game, stake, par);
    lines.extend(returned(game.info(), par));
    lines.extend(in_cash(game, par));
    lines.extend(spread(par));
    lines.extend(win_up_to(game, stake, par));
    lines.extend(sessions(par, played));
    lines.extend(rates(par));
    for set in &par.reel_sets {
        if !set.combinations.is_empty() {
            lines.extend(combinations(game.info(), set));
        }
        lines.extend(strips(game.info(), set));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn head(game: &dyn Game, stake: &Stake, par: &Par) -> Vec<String> {
    let mut lines = vec![
        format!("{}: PAR sheet", game.info().title),
        format!(
            "rules version {} ({}), data file SHA-256 {}",
            par.rules_version,
            game.rules_date(),
            hex(&par.model_hash[..8])
        ),
        StakeReport::new(game, stake, par).to_string(),
    ];
    lines.extend(wrapped(&format!("exactness: {}", par.exactness), ROW_WIDTH));
    lines
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn section(title: &str) -> [String; 2] {
    [String::new(), format!("── {title} {}", "─".repeat(76_usize.saturating_sub(title.chars().count())))]
}

fn row(label: &str, figure: &str) -> String {
    let room = ROW_WIDTH.saturating_sub(figure.chars().count() + GAP);
    let mut lines = wrapped(label, room);
    let last = lines.pop().unwrap_or_default();
    let above: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    let dots = ".".repeat(70_usize.saturating_sub(last.chars().count() + figure.chars().count()));
    format!("{above}  {last} {dots} {figure}")
}

fn returned(info: &GameInfo, par: &Par) -> Vec<String> {
    let mut lines = section("Return to player, as a share of the bet").to_vec();
    lines.extend(returns(par, PLACES).iter().map(|(name, part)| row(name.title, &shifted(part))));
    let whole = percent(&par.rtp, PERCENT_PLACES);
    if info.jackpot {
        lines.extend([
            row("return without the jackpot", &percent(&par.rtp_without_jackpot, PERCENT_PLACES)),
            row("RETURN without the jackpot's increments", &whole),
            row("the jackpot's increments at the coin value above", &percent(&par.part(INCREMENTS), PERCENT_PLACES)),
            row("return with the jackpot's increments", &percent(&par.rtp_with_increments(), PERCENT_PLACES)),
        ]);
        let assumes =
            format!("The jackpot's share of the return is computed on these assumptions: {}.", info.jackpot_assumes);
        lines.extend(wrapped(&assumes, ROW_WIDTH - 2).into_iter().map(|line| format!("  {line}")));
    } else {
        lines.push(row("RETURN", &whole));
    }
    lines.extend(par.conditional_rtps.iter().map(|of| row(of.title, &percent(&of.rtp, PERCENT_PLACES))));
    lines
}

fn win_up_to(game: &dyn Game, stake: &Stake, par: &Par) -> Vec<String> {
    let Some(highest) = highest(game, stake, par) else { return vec![] };
    let mut lines: Vec<String> = highest.rows().iter().map(|(name, value)| row(name, value)).collect();
    lines.extend(wrapped(highest.says, ROW_WIDTH - 2).into_iter().map(|line| format!("  {line}")));
    lines
}

fn in_cash(game: &dyn Game, par: &Par) -> Vec<String> {
    let mut lines = section("Return in cash, by currency and coin value").to_vec();
    let reports = cash::returns(game, par);
    lines.extend(cash::lines(&reports).iter().map(|(coins, rtp)| row(coins, &shifted(rtp))));
    if let Some(mixed) = reports.iter().find(|of| of.mixed_at_most.bytes().any(|digit| matches!(digit, b'1'..=b'9'))) {
        let label = format!(
            "maximum change in the return by rounding if Collection Free Spins use a mean coin value (at {} {}; \
             smaller at higher values)",
            mixed.currency, mixed.coin_value
        );
        lines.push(row(&label, &shifted(&mixed.mixed_at_most)));
    }
    lines.extend(wrapped(CASH_PROOF, ROW_WIDTH - 2).into_iter().map(|line| format!("  {line}")));
    lines
}

fn spread(par: &Par) -> Vec<String> {
    let mut lines = section("Hits and volatility").to_vec();
    lines.extend([
        row(
            "chance that a paid spin wins",
            &format!("{}, {}", percent(&par.hit_frequency, 4), once_in(&par.hit_frequency, 2)),
        ),
        row("standard deviation of a round's win", &format!("{:.4} bets", par.std_dev)),
        row("volatility index, 1.96 standard deviations", &format!("{:.4}", par.volatility_index())),
        row("highest win of one spin of the reels", &format!("{} bets", grouped(&decimal(&par.max_win_bets, 2)))),
        row("frequency of the highest win", &format!("{} spins", once_in(&par.max_win_probability, 0))),
    ]);
    lines
}

fn sessions(par: &Par, played: &Played) -> Vec<String> {
    let [intervals, classes] = spreads::rows(par, played);
    let rows = |rows: Vec<(String, String)>| rows.into_iter().map(|(label, figure)| row(&label, &figure));
    let mut lines = section("Mean return of sessions, without the jackpot").to_vec();
    lines.extend(rows(intervals));
    lines.extend(section("Distribution of wins: simulated, not exact"));
    lines.extend(wrapped(&played.command, ROW_WIDTH - 2).into_iter().map(|line| format!("  {line}")));
    lines.extend(rows(classes));
    lines
}

fn rates(par: &Par) -> Vec<String> {
    let mut lines = section("Features: probabilities and expected counts").to_vec();
    lines.extend(par.rates.iter().map(|rate| row(&rate.title, &decimal(&rate.value, PLACES))));
    lines
}

fn combinations(info: &GameInfo, set: &ReelSet) -> Vec<String> {
    let mut lines = section(&format!("Combinations: {}", set.title)).to_vec();
    lines.push(format!("  {:<28}{:>14}{:>18}{:>14}", "", "pays", "once in", "returns"));
    let mut last = None;
    for of in &set.combinations {
        if last.is_some_and(|last| last != of.symbol) {
            lines.push(String::new());
        }
        last = Some(of.symbol);
        let pays = match pays(info, of) {
            (0, 0) => "feature".to_owned(),
            (pays, 0) => grouped(&pays.to_string()),
            (pays, spins) => format!("{} +{spins} fs", grouped(&pays.to_string())),
        };
        let once = match of.chance > Exact::from_integer(0.into()) {
            true => grouped(&decimal(&of.chance.recip(), 1)),
            false => "never".to_owned(),
        };
        let name = symbol_name(info, of.symbol);
        lines.push(format!("  {} x {name:<24}{pays:>14}{once:>18}{:>14}", of.count, percent(&of.rtp, 5)));
    }
    lines.push(String::new());
    let pays = "pays, in coins: per coin bet on the line (line wins), per coin of the total bet (scatter wins), or per \
                winning way (ways wins). fs: free spins.";
    lines.extend(wrapped(pays, ROW_WIDTH - 4).into_iter().map(|line| format!("    {line}")));
    lines
}

fn strips(info: &GameInfo, set: &ReelSet) -> Vec<String> {
    let mut lines = section(&format!("Symbols on the strips: {}", set.title)).to_vec();
    let columns = |cells: &[String]| cells.iter().map(|cell| format!("{cell:>9}")).collect::<String>();
    let reels: Vec<_> = match set.strips.len() {
        1 => vec!["strip".to_owned()],
        reels => (1..=reels).map(|reel| format!("reel {reel}")).collect(),
    };
    lines.push(format!("  {:<20}{}", "", columns(&reels)));
    for (symbol, counts) in symbols(info, set) {
        let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
        lines.push(format!("  {symbol:<20}{}", columns(&counts)));
    }
    let sums: Vec<_> = set.strips.iter().map(|strip| strip.len().to_string()).collect();
    lines.push(format!("  {:<20}{}", "stops", columns(&sums)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for game in motherlode_slots::games() {
            let limits = &game.info().limits;
            let stake = Stake {
                coin_value_micros: *limits.coin_values_micros.last().unwrap(),
                lines: limits.lines.1,
                coins_per_line: limits.coins_per_line.1,
                buy_feature: false,
            };
            let played = super::super::played::played(*game, &stake, 100).unwrap();
            for line in text(*game, &stake, &game.par(&stake).unwrap(), &played).lines() {
                assert!(line.chars().count() <= 80 || line.contains(&hex(&played.seed)), "{line}");
            }
        }
    }
}
