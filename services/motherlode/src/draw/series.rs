//! A series of free spins as a contact sheet: four small windows beside each other, then the sum.

use super::{Hue, Pen, coins, counted, window};
use crate::figures::grouped;
use motherlode_proto::round::v1::SpinResult;
use motherlode_slots::GameInfo;
use std::collections::BTreeSet;

/// Windows beside each other.
const ACROSS: usize = 4;
/// Windows shown of a long series; the others are summed up.
const SHOWN_MAX: usize = 8;
/// Columns of one small window.
const WIDTH: usize = 19;

/// The sheet; nothing where there are no free spins.
pub(super) fn sheet(game: &GameInfo, spins: &[&SpinResult], left: u32, pen: Pen) -> Vec<String> {
    let Some(first) = spins.first() else { return vec![] };
    let shown = shown(spins.len());
    let mut lines = vec![format!("  Free spins, line wins times {}", first.multiplier), String::new()];
    for band in shown.chunks(ACROSS) {
        let blocks: Vec<_> = band.iter().filter_map(|at| Some(block(game, *at, spins.get(*at)?, pen))).collect();
        let height = blocks.iter().map(Vec::len).max().unwrap_or_default();
        for row in 0..height {
            let cells: Vec<_> = blocks.iter().map(|block| block.get(row).cloned().unwrap_or_default()).collect();
            let line = format!("  {}", cells.join(""));
            // The last row has news of few windows, or of none.
            lines.extend(Some(line.trim_end()).filter(|line| !line.is_empty()).map(str::to_owned));
        }
        lines.push(String::new());
    }
    lines.extend(legend(game, &shown.iter().filter_map(|at| spins.get(*at).copied()).collect::<Vec<_>>(), pen));
    lines.extend(hidden(spins, &shown));
    lines.extend(sum(spins, left, pen));
    lines
}

/// Which of so many windows are shown: all, or the first and the last.
fn shown(count: usize) -> Vec<usize> {
    if count <= SHOWN_MAX { (0..count).collect() } else { (0..SHOWN_MAX - 1).chain([count - 1]).collect() }
}

/// One small window below its number and win.
fn block(game: &GameInfo, at: usize, spin: &SpinResult, pen: Pen) -> Vec<String> {
    let won = if spin.win_coins > 0 { format!("+{}", grouped(&spin.win_coins.to_string())) } else { "·".to_owned() };
    let number = format!("#{}", at + 1);
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
        (0, false) => String::new(),
        (0, true) => "bonus round".to_owned(),
        (spins, false) => format!("+{}", counted(spins.into(), "spin")),
        (spins, true) => format!("+{}, bonus", counted(spins.into(), "spin")),
    };
    lines.push(format!("{}{}", pen.bold(Hue::Cyan, &news), " ".repeat(WIDTH.saturating_sub(news.chars().count()))));
    lines
}

/// A symbol in two letters; without colour winners are in capitals and the others are not.
fn code_at(game: &GameInfo, spin: &SpinResult, reel: usize, row: usize, pen: Pen) -> String {
    let index = window::cell(spin, reel, row).unwrap_or_default();
    let code = code(&window::name(game, index));
    let wins = window::wins_here(game, spin, reel, row);
    let text = if wins { code.to_uppercase() } else { code.to_lowercase() };
    let hue = window::hue(game, index);
    if wins { pen.reversed(hue, &text) } else { pen.plain(hue, &text) }
}

/// Two letters for a name: of its first two words, or of its only one.
fn code(name: &str) -> String {
    let mut words = name.split(' ');
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    match second {
        Some(second) => first.chars().take(1).chain(second.chars().take(1)).collect(),
        None => first.chars().take(2).collect(),
    }
}

/// What the letters stand for: only those that are shown.
fn legend(game: &GameInfo, spins: &[&SpinResult], pen: Pen) -> Vec<String> {
    let symbols: BTreeSet<usize> = spins.iter().flat_map(|spin| &spin.cells).map(|cell| usize::from(*cell)).collect();
    let mut lines: Vec<(String, usize)> = vec![];
    for index in symbols {
        let name = window::name(game, index);
        let code = code(&name).to_lowercase();
        let columns = code.chars().count() + 1 + name.chars().count();
        let entry = format!("{} {name}", pen.plain(window::hue(game, index), &code));
        match lines.last_mut() {
            Some((line, used)) if *used + 2 + columns <= 76 => {
                line.push_str("  ");
                line.push_str(&entry);
                *used += 2 + columns;
            }
            _ => lines.push((entry, columns)),
        }
    }
    lines.into_iter().map(|(line, _)| format!("  {line}")).collect()
}

/// What the windows that are not shown did.
fn hidden(spins: &[&SpinResult], shown: &[usize]) -> Option<String> {
    let hidden = spins.iter().enumerate().filter(|(at, _)| !shown.contains(at));
    let (mut count, mut won, mut awarded, mut best) = (0, 0_u64, 0_u64, (0, 0));
    for (at, spin) in hidden {
        count += 1;
        won = won.saturating_add(spin.win_coins);
        awarded += u64::from(spin.free_spins_won);
        best = best.max((spin.win_coins, at + 1));
    }
    if count == 0 {
        return None;
    }
    let best = if best.0 > 0 { format!(", the best #{} with {}", best.1, coins(best.0)) } else { String::new() };
    let awarded = if awarded > 0 { format!(", {}", counted(awarded, "free spin")) } else { String::new() };
    Some(format!("  {} not shown: {}{awarded}{best}", counted(count, "spin"), coins(won)))
}

/// The sum of the series.
fn sum(spins: &[&SpinResult], left: u32, pen: Pen) -> Vec<String> {
    let won = spins.iter().fold(0_u64, |sum, spin| sum.saturating_add(spin.win_coins));
    let awarded: u64 = spins.iter().map(|spin| u64::from(spin.free_spins_won)).sum();
    let mut line = format!(
        "  {} won {}",
        counted(spins.len() as u64, "free spin"),
        pen.bold(if won > 0 { Hue::Gold } else { Hue::Plain }, &coins(won))
    );
    if awarded > 0 {
        line.push_str(&format!(" and {}", pen.bold(Hue::Cyan, &counted(awarded, "more free spin"))));
    }
    if left > 0 {
        line.push_str(&format!("; {left} still to play"));
    }
    let mut lines = vec![format!("{line}.")];
    if spins.last().is_some_and(|spin| spin.bonus) {
        lines.push(format!("  {}", pen.bold(Hue::Cyan, window::BONUS_STARTS)));
    }
    lines
}
