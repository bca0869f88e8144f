//! One window of the reels: the grid with its winning cells, and the list of its wins.

use super::{Hue, Pen, coins, counted};
use crate::figures::grouped;
use motherlode_proto::round::v1::{Mark, MarkKind, SpinKind, SpinResult, Win};
use motherlode_slots::game::{GameInfo, SymbolInfo, SymbolRole};

/// Width of a cell: five of them and their borders fit into 80 columns.
const CELL: usize = 14;

/// The symbol at a reel and a row, as its index.
pub(super) fn cell(spin: &SpinResult, reel: usize, row: usize) -> Option<usize> {
    let rows = usize::try_from(spin.rows).ok()?;
    spin.cells.get(reel.checked_mul(rows)?.checked_add(row)?).map(|symbol| usize::from(*symbol))
}

/// Reels and rows to draw: never more than the cells that there are.
pub(super) fn size(spin: &SpinResult) -> (usize, usize) {
    let rows = usize::try_from(spin.rows).unwrap_or_default().min(spin.cells.len());
    (spin.cells.len().checked_div(rows).unwrap_or_default(), rows)
}

/// Whether a cell is part of a win, or of what started the bonus round.
pub(super) fn wins_here(game: &GameInfo, spin: &SpinResult, reel: usize, row: usize) -> bool {
    let symbol = cell(spin, reel, row);
    let is = |wanted: u32| symbol.is_some() && symbol == usize::try_from(wanted).ok();
    let started = |symbol: usize| game.symbols.get(symbol).is_some_and(|symbol| symbol.role == SymbolRole::Bonus);
    let in_win = |win: &Win| match path(game, win) {
        Some(rows) => {
            let count = usize::try_from(win.count).unwrap_or(usize::MAX);
            reel < count && rows.get(reel).is_some_and(|at| usize::from(*at) == row)
        }
        // A way runs from the left over as many reels as it counts symbols.
        None if win.ways > 0 => is(win.symbol) && reel < usize::try_from(win.count).unwrap_or(usize::MAX),
        None => is(win.symbol),
    };
    spin.wins.iter().any(in_win) || (spin.bonus && symbol.is_some_and(started))
}

/// The rows of a line win on each reel; `None` for a scatter.
fn path<'a>(game: &'a GameInfo, win: &Win) -> Option<&'a [u8]> {
    let line = usize::try_from(win.line).ok()?.checked_sub(1)?;
    Some(game.lines.get(line).map_or(&[], Vec::as_slice))
}

/// What kind of spin it is, unless it's the paid one.
pub(super) fn title(spin: &SpinResult, pen: Pen) -> Option<String> {
    let title = match spin.kind() {
        SpinKind::Unspecified | SpinKind::Base => return None,
        SpinKind::Free => "Free spin",
        SpinKind::Collection => "Collection free spin",
        SpinKind::HoldAndWin => "Hold and Win",
        SpinKind::HighSymbols => "High Symbols Respin",
        SpinKind::RandomWilds => "Random Wilds Respin",
        SpinKind::MultiplierRespin => "Multiplier Respin",
        SpinKind::MegaWild => "Mega Wild Respin",
        SpinKind::Explosion => "Explosion",
    };
    let times = if spin.multiplier > 1 { format!(", wins times {}", spin.multiplier) } else { String::new() };
    Some(format!("  {}", pen.bold(Hue::Cyan, &format!("{title}{times}"))))
}

/// The window as a box.
pub(super) fn grid(game: &GameInfo, spin: &SpinResult, pen: Pen) -> Vec<String> {
    let (reels, rows) = size(spin);
    let rule = |left: &str, middle: &str, right: &str| {
        let bars = vec!["─".repeat(CELL); reels];
        format!("  {left}{}{right}", bars.join(middle))
    };
    let row = |row: usize| {
        let cells: String = (0..reels).map(|reel| format!("│{}", painted(game, spin, reel, row, pen))).collect();
        format!("  {cells}│")
    };
    let mut lines = vec![rule("┌", "┬", "┐")];
    lines.extend((0..rows).map(row));
    lines.push(rule("└", "┴", "┘"));
    lines
}

fn painted(game: &GameInfo, spin: &SpinResult, reel: usize, row: usize, pen: Pen) -> String {
    let index = cell(spin, reel, row).unwrap_or_default();
    let wins = wins_here(game, spin, reel, row);
    let rows = usize::try_from(spin.rows).unwrap_or_default();
    let here = |mark: &&Mark| usize::try_from(mark.cell).is_ok_and(|cell| cell == reel * rows + row);
    let value = spin.marks.iter().find(here).map_or_else(String::new, value_of);
    let name = fitting(&name(game, index), (CELL - 1).saturating_sub(value.chars().count())) + &value;
    let text = if wins && !pen.has_colour() { format!("*{name}") } else { name };
    let text = format!("{text:^CELL$}");
    let hue = hue(game, index);
    if wins { pen.reversed(hue, &text) } else { pen.plain(hue, &text) }
}

pub(super) fn hue(game: &GameInfo, index: usize) -> Hue {
    game.symbols.get(index).map_or(Hue::Plain, |symbol: &SymbolInfo| Hue::of(symbol, index))
}

pub(super) fn name(game: &GameInfo, index: usize) -> String {
    game.symbols.get(index).map_or_else(|| format!("symbol {index}"), |symbol| symbol.name.clone())
}

/// As many whole words of a name as fit, or as many letters of the first.
fn fitting(name: &str, width: usize) -> String {
    let mut fits = String::new();
    for word in name.split(' ') {
        let longer = if fits.is_empty() { word.to_owned() } else { format!("{fits} {word}") };
        if longer.chars().count() > width {
            break;
        }
        fits = longer;
    }
    if fits.is_empty() { name.chars().take(width).collect() } else { fits }
}

/// What a mark adds to its symbol's name in the window: what a Bonus pays or does.
fn value_of(mark: &Mark) -> String {
    match (mark.kind(), mark.value) {
        (MarkKind::Bonus, value) => format!(" {value}x"),
        (MarkKind::Mystery, 0) => " ?".to_owned(),
        (MarkKind::Mystery, value) => format!(" ?{value}x"),
        (MarkKind::Multiplier, 0) => " *".to_owned(),
        (MarkKind::Multiplier, value) => format!(" *{value}"),
        _ => String::new(),
    }
}

/// A window's wins, one a line; what it collected, awarded and started besides.
pub(super) fn wins(game: &GameInfo, spin: &SpinResult, pen: Pen) -> Vec<String> {
    let mut lines: Vec<_> = spin.wins.iter().map(|win| one(game, spin, win, pen)).collect();
    if spin.ways > 0 {
        lines.insert(0, format!("  {} ways", grouped(&spin.ways.to_string())));
    }
    let collected = spin.marks.iter().filter(|mark| matches!(mark.kind(), MarkKind::Crystal | MarkKind::Potion));
    for mark in collected {
        let index = usize::try_from(mark.value).unwrap_or(usize::MAX);
        lines.push(format!("  collected: {}", pen.bold(hue(game, index), &name(game, index))));
    }
    if spin.bonus {
        lines.push(format!("  {}", pen.bold(Hue::Cyan, BONUS_STARTS)));
    }
    lines
}

/// What is said of a window that started the bonus.
pub(super) const BONUS_STARTS: &str = "The bonus round starts.";

fn one(game: &GameInfo, spin: &SpinResult, win: &Win, pen: Pen) -> String {
    let index = usize::try_from(win.symbol).unwrap_or(usize::MAX);
    let what = pen.plain(hue(game, index), &format!("{:<20}", format!("{} x {}", win.count, name(game, index))));
    let won = pen.bold(Hue::Gold, &format!("{:>14}", coins(win.coins)));
    match path(game, win) {
        Some(rows) => format!("  line {:>2}   {}   {what}{won}", win.line, trace(game, rows, win.count, pen)),
        None => {
            let spins = match spin.free_spins_won {
                0 => String::new(),
                spins => pen.bold(Hue::Cyan, &format!("   + {}", counted(spins.into(), "free spin"))),
            };
            let place =
                if win.ways > 0 { format!("{} ways", grouped(&win.ways.to_string())) } else { "scatter".to_owned() };
            format!("  {place:<18}{what}{won}{spins}")
        }
    }
}

/// A line's path over the reels, drawn at the heights of its rows; the reels that won stand out.
fn trace(game: &GameInfo, rows: &[u8], count: u32, pen: Pen) -> String {
    let height = |row: &u8| match u32::from(*row) {
        0 => "▔",
        row if row + 1 >= game.rows => "▁",
        _ => "─",
    };
    let (won, rest) = rows.split_at(rows.len().min(usize::try_from(count).unwrap_or(usize::MAX)));
    let draw = |rows: &[u8]| rows.iter().map(height).collect::<String>();
    let gap = " ".repeat(5_usize.saturating_sub(rows.len()));
    format!("{}{}{gap}", pen.bold(Hue::Gold, &draw(won)), pen.dim(&draw(rest)))
}
