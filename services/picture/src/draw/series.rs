//! Draws a series of free spins or respins as small windows, four per row. A feature within free spins (WF-15) is drawn
//! after the spin that triggered it.

use super::{
    pen::{Hue, Pen},
    window,
};
use crate::figures::{coins, counted, grouped};
use motherlode_proto::round::v1::{MeanCoinValue, Outcome, SpinKind, SpinResult};
use motherlode_slots::GameInfo;
use motherlode_state::Currency;
use std::collections::BTreeSet;

const ACROSS_MAX: usize = 4;
/// Width of a small window in text columns, enough for five reel stops of three digits.
const WIDTH: usize = 19;

#[derive(Clone, Copy)]
pub(super) struct Drawing<'a> {
    pub(super) game: &'a GameInfo,
    pub(super) outcome: &'a Outcome,
    pub(super) currency: Currency,
    pub(super) pen: Pen,
}

pub(super) fn sheet(of: Drawing<'_>, spins: &[&SpinResult]) -> Vec<String> {
    let Some(first) = spins.first() else { return vec![] };
    let mut lines = vec![title(of, first)];
    lines.extend(mean_coin(of, first));
    lines.push(String::new());
    let all: Vec<_> = (0..spins.len()).collect();
    let across = (of.pen.columns().saturating_sub(2) / WIDTH).clamp(1, ACROSS_MAX);
    for band in all.chunks(across) {
        let blocks: Vec<_> = band.iter().map(|at| block(of.game, *at, spins, of.pen)).collect();
        let height = blocks.iter().map(Vec::len).max().unwrap_or_default();
        for row in 0..height {
            let cells: Vec<_> = blocks.iter().map(|block| block.get(row).cloned().unwrap_or_default()).collect();
            let line = format!("  {}", cells.join(""));
            lines.extend(Some(line.trim_end()).filter(|line| !line.is_empty()).map(str::to_owned));
        }
        lines.push(String::new());
        for at in band {
            lines.extend(summary(of, *at, spins));
        }
    }
    lines.extend(legend(of.game, spins, of.pen));
    lines.extend(sum(spins, of.outcome.free_spins_left, of.pen));
    lines
}

fn summary(of: Drawing<'_>, at: usize, spins: &[&SpinResult]) -> Vec<String> {
    let spin = spins[at];
    let wins = window::wins(of.game, spin, of.currency, of.pen);
    let feature = match (counts(spins[0], spin), wins.is_empty()) {
        (true, true) => return vec![],
        (true, false) => String::new(),
        (false, true) => format!(", {}: no win", kind(spin)),
        (false, false) => format!(", {}", kind(spin)),
    };
    let heading = format!("  #{}{feature}", number(spins, at));
    [heading].into_iter().chain(wins).chain([String::new()]).collect()
}

fn mean_coin(of: Drawing<'_>, first: &SpinResult) -> Option<String> {
    let mean = of.outcome.mean_coin_value.as_ref().filter(|_| first.kind() == SpinKind::Collection)?;
    let (MeanCoinValue { sum, count, value }, currency) = (mean, of.currency);
    let crystals = counted((*count).into(), "crystal");
    Some(format!("  Played at the mean coin value {value} {currency}: total {sum} {currency} divided by {crystals}"))
}

fn title(Drawing { game, pen, .. }: Drawing<'_>, first: &SpinResult) -> String {
    let mut title = format!("  {}s", pen.bold(Hue::Cyan, kind(first)));
    if first.multiplier > 1 {
        title.push_str(&format!(", line wins multiplied by {}", first.multiplier));
    }
    if first.ways > 0 {
        title.push_str(&format!(", {} rows, {} ways", first.rows, grouped(&first.ways.to_string())));
    }
    if first.kind() == SpinKind::Collection {
        let symbol = usize::try_from(first.collection_symbol).unwrap_or(usize::MAX);
        let name = pen.bold(window::hue(game, symbol), &window::name(game, symbol));
        title.push_str(&format!(", with the {name}"));
    }
    title
}

fn kind(spin: &SpinResult) -> &'static str {
    window::kind(spin).unwrap_or("Spin")
}

/// Returns whether a window belongs to the series and not to a feature within the series.
fn counts(series: &SpinResult, spin: &SpinResult) -> bool {
    spin.kind() == series.kind()
}

fn block(game: &GameInfo, at: usize, spins: &[&SpinResult], pen: Pen) -> Vec<String> {
    let (spin, series) = (spins[at], spins[0]);
    let won = if spin.win_coins > 0 { format!("+{}", grouped(&spin.win_coins.to_string())) } else { "·".to_owned() };
    let number = match counts(series, spin) {
        true => format!("#{}", number(spins, at)),
        false => "└─".to_owned(),
    };
    let room = 14_usize.saturating_sub(number.chars().count());
    let head = format!("{}{}     ", pen.dim(&number), pen.bold(Hue::Gold, &format!("{won:>room$}")));
    let (reels, rows) = window::size(spin);
    let mut lines = vec![head];
    for row in 0..rows {
        let cells: Vec<_> = (0..reels).map(|reel| code_at(game, spin, reel, row, pen)).collect();
        let gap = " ".repeat(WIDTH.saturating_sub((reels * 3).saturating_sub(1)));
        lines.push(format!("{}{gap}", cells.join(" ")));
    }
    let news = match (spin.free_spins_won, spin.bonus) {
        (0, false) if !counts(series, spin) => feature(spin),
        (0, false) => String::new(),
        (0, true) => "bonus round".to_owned(),
        (spins, false) => format!("+{}", counted(spins.into(), "spin")),
        (spins, true) => format!("+{}, bonus", counted(spins.into(), "spin")),
    };
    let stops = window::stops(spin);
    lines.push(format!("{}{}", pen.dim(&stops), " ".repeat(WIDTH.saturating_sub(stops.chars().count()))));
    lines.push(format!("{}{}", pen.bold(Hue::Cyan, &news), " ".repeat(WIDTH.saturating_sub(news.chars().count()))));
    lines
}

fn number(spins: &[&SpinResult], at: usize) -> usize {
    spins.iter().take(at + 1).filter(|spin| counts(spins[0], spin)).count()
}

fn feature(spin: &SpinResult) -> String {
    let name = kind(spin).trim_end_matches(" Respin");
    if spin.multiplier > 1 { format!("{name} ×{}", spin.multiplier) } else { name.to_owned() }
}

fn code_at(game: &GameInfo, spin: &SpinResult, reel: usize, row: usize, pen: Pen) -> String {
    let index = window::cell(spin, reel, row).unwrap_or_default();
    let code = window::code(game, index);
    let wins = window::wins_here(game, spin, reel, row);
    let text = format!("{:<2}", if wins { code.to_uppercase() } else { code });
    let hue = window::hue(game, index);
    if wins { pen.reversed(hue, &text) } else { pen.plain(hue, &text) }
}

fn legend(game: &GameInfo, spins: &[&SpinResult], pen: Pen) -> Vec<String> {
    let symbols: BTreeSet<usize> = spins.iter().flat_map(|spin| &spin.cells).map(|cell| usize::from(*cell)).collect();
    let mut lines: Vec<(String, usize)> = vec![];
    for index in symbols {
        let name = window::name(game, index);
        let code = window::code(game, index);
        let columns = code.chars().count() + 1 + name.chars().count();
        let entry = format!("{} {name}", pen.plain(window::hue(game, index), &code));
        match lines.last_mut() {
            Some((line, used)) if *used + 2 + columns <= pen.room() => {
                line.push_str("  ");
                line.push_str(&entry);
                *used += 2 + columns;
            }
            _ => lines.push((entry, columns)),
        }
    }
    lines.into_iter().map(|(line, _)| format!("  {line}")).collect()
}

fn sum(spins: &[&SpinResult], left: u32, pen: Pen) -> Option<String> {
    let won = spins.iter().fold(0_u64, |sum, spin| sum.saturating_add(spin.win_coins));
    let awarded: u64 = spins.iter().map(|spin| u64::from(spin.free_spins_won)).sum();
    let first = spins.first()?;
    let played = spins.iter().filter(|spin| counts(first, spin)).count();
    let mut line = format!(
        "  {} won {}",
        counted(played as u64, &kind(first).to_lowercase()),
        pen.bold(if won > 0 { Hue::Gold } else { Hue::Plain }, &coins(won))
    );
    if awarded > 0 {
        line.push_str(&format!(" and {}", pen.bold(Hue::Cyan, &counted(awarded, "more free spin"))));
    }
    if left > 0 && is_free(first) {
        line.push_str(&format!("; {left} are still to be played"));
    }
    Some(format!("{line}."))
}

pub(super) fn is_free(spin: &SpinResult) -> bool {
    matches!(spin.kind(), SpinKind::Free | SpinKind::Collection)
}
