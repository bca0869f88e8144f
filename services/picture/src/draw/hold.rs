//! Draws the boards of a Hold and Win feature, and the effects of its special symbols (ME-10 to ME-13).

use super::{
    pen::{Hue, Pen},
    window,
};
use crate::figures::{counted, grouped};
use motherlode_proto::round::v1::{Mark, MarkKind, SpinKind, SpinResult};
use motherlode_slots::GameInfo;

const ACROSS_MAX: usize = 3;
const CELL: usize = 5;

pub(super) fn boards(game: &GameInfo, windows: &[&SpinResult], pen: Pen) -> Vec<String> {
    let Some(last) = windows.last() else { return vec![] };
    let acted = windows.iter().position(|window| acts(window));
    let respins = acted.unwrap_or(windows.len());
    let (news, all) = (news(windows), (0..windows.len()).collect::<Vec<_>>());
    let mut lines = vec![format!("  {}", pen.bold(Hue::Cyan, "Hold and Win")), String::new()];
    let across = pen.columns() / (window::size(last).0 * CELL + 2).max(1);
    for band in all.chunks(across.clamp(1, ACROSS_MAX)) {
        let blocks: Vec<_> = band.iter().map(|at| block(game, windows, *at, &news[*at], pen)).collect();
        for row in 0..blocks.iter().map(Vec::len).max().unwrap_or_default() {
            let cells: Vec<_> = blocks.iter().filter_map(|block| block.get(row).cloned()).collect();
            lines.push(format!("  {}", cells.join("  ")).trim_end().to_owned());
        }
        lines.push(String::new());
    }
    lines.push(format!("  {}; {} held at the end.", counted(respins as u64, "respin"), symbols(held(last))));
    if let Some(acting) = acted.and_then(|at| windows.get(at)) {
        lines.extend(acting.marks.iter().filter_map(|mark| function(mark, pen)));
        lines.push("  Then each Mystery and Multiplying Bonus gets a random value, added to the win.".to_owned());
    }
    if last.multiplier > 1 {
        let text = format!(
            "All {} positions hold a Bonus symbol: the win is multiplied by {}!",
            last.cells.len(),
            last.multiplier
        );
        lines.push(format!("  {}", pen.bold(Hue::Gold, &text)));
    }
    lines
}

pub(crate) fn is_for(spin: &SpinResult) -> bool {
    spin.kind() == SpinKind::HoldAndWin
}

fn symbols(held: usize) -> String {
    counted(held as u64, "Bonus symbol")
}

fn held(spin: &SpinResult) -> usize {
    spin.marks.iter().filter(|mark| is_bonus(mark)).count()
}

fn is_bonus(mark: &Mark) -> bool {
    matches!(mark.kind(), MarkKind::Bonus | MarkKind::Mystery | MarkKind::Multiplier)
}

fn acts(spin: &SpinResult) -> bool {
    let acted = |mark: &Mark| matches!(mark.kind(), MarkKind::Mystery | MarkKind::Multiplier) && mark.value > 0;
    spin.marks.iter().any(acted)
}

fn function(mark: &Mark, pen: Pen) -> Option<String> {
    match (mark.kind(), mark.value) {
        (MarkKind::Mystery, bets) if bets > 0 => {
            let name = if mark.name.is_empty() { String::new() } else { format!("{}: ", mark.name) };
            let won = pen.bold(Hue::Pink, &format!("{name}{} total bets", grouped(&bets.to_string())));
            Some(format!("  A Mystery Bonus reveals {won}."))
        }
        (MarkKind::Multiplier, by) if by > 0 => Some(format!(
            "  A Multiplying Bonus multiplies every other Bonus by {}.",
            pen.bold(Hue::Gold, &by.to_string())
        )),
        _ => None,
    }
}

pub(crate) enum News {
    Respin { held: usize, new: usize },
    Acted,
    Turned,
}

pub(crate) fn news(windows: &[&SpinResult]) -> Vec<News> {
    let respins = windows.iter().position(|window| acts(window)).unwrap_or(windows.len());
    let one = |(at, spin): (usize, &&SpinResult)| match at.checked_sub(respins) {
        Some(0) => News::Acted,
        Some(_) => News::Turned,
        None => {
            let before = at.checked_sub(1).map(|before| held(windows[before]));
            News::Respin { held: held(spin), new: before.map_or(0, |before| held(spin).saturating_sub(before)) }
        }
    };
    windows.iter().enumerate().map(one).collect()
}

fn block(game: &GameInfo, windows: &[&SpinResult], at: usize, news: &News, pen: Pen) -> Vec<String> {
    let spin = windows[at];
    let before = at.checked_sub(1).map(|before| windows[before]);
    let news = match news {
        News::Acted => "functions act".to_owned(),
        News::Turned => "turned into values".to_owned(),
        News::Respin { held, new: 0 } => format!("#{:<3} {held} held", at + 1),
        News::Respin { held, new } => format!("#{:<3} {held} held, {new} new", at + 1),
    };
    let (reels, rows) = window::size(spin);
    let width = reels * CELL;
    let mut lines = vec![pen.dim(&format!("{news:<width$}"))];
    for row in 0..rows {
        lines.push((0..reels).map(|reel| position(game, spin, before, reel * rows + row, pen)).collect());
    }
    lines
}

fn position(game: &GameInfo, spin: &SpinResult, before: Option<&SpinResult>, cell: usize, pen: Pen) -> String {
    let here = |mark: &&Mark| usize::try_from(mark.cell).is_ok_and(|at| at == cell) && is_bonus(mark);
    let Some(mark) = spin.marks.iter().find(here) else {
        let symbol = spin.cells.get(cell).map_or_else(String::new, |symbol| window::code(game, usize::from(*symbol)));
        return pen.dim(&format!("{symbol:>CELL$}"));
    };
    let new = before.is_some_and(|before| before.marks.iter().find(here) != Some(mark));
    let text = match (new, pen.has_colour()) {
        (true, false) => format!("*{}", carried(mark)),
        _ => carried(mark),
    };
    let text = format!("{text:>CELL$}");
    if new { pen.bold(Hue::Gold, &text) } else { pen.plain(Hue::Cyan, &text) }
}

fn carried(mark: &Mark) -> String {
    match (mark.kind(), mark.value) {
        (MarkKind::Mystery, 0) => "?".to_owned(),
        (MarkKind::Multiplier, 0) => "×?".to_owned(),
        (MarkKind::Multiplier, by) => format!("×{by}"),
        (_, value @ 0..=99) => format!("{value}x"),
        (_, value) => value.to_string(),
    }
}
