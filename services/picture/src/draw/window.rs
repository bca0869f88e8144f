use super::pen::{Hue, Pen};
use crate::figures::{coins, counted, grouped, minor_units};
use motherlode_proto::round::v1::{Mark, MarkKind, SpinKind, SpinResult, Win};
use motherlode_slots::{GameInfo, SymbolInfo, SymbolRole};
use motherlode_state::Currency;
use std::{cmp::Reverse, collections::BTreeMap};

/// Minimum and maximum width of a cell; the minimum leaves room for a symbol's letters.
const CELLS: (usize, usize) = (3, 14);

fn cell_width(reels: usize, pen: Pen) -> usize {
    let room = pen.columns().saturating_sub(3).checked_div(reels).unwrap_or_default();
    room.saturating_sub(1).clamp(CELLS.0, CELLS.1)
}

pub(crate) fn cell(spin: &SpinResult, reel: usize, row: usize) -> Option<usize> {
    let rows = usize::try_from(spin.rows).ok()?;
    spin.cells.get(reel.checked_mul(rows)?.checked_add(row)?).map(|symbol| usize::from(*symbol))
}

pub(crate) fn size(spin: &SpinResult) -> (usize, usize) {
    let rows = usize::try_from(spin.rows).unwrap_or_default().min(spin.cells.len());
    (spin.cells.len().checked_div(rows).unwrap_or_default(), rows)
}

pub(crate) fn wins_here(game: &GameInfo, spin: &SpinResult, reel: usize, row: usize) -> bool {
    let symbol = cell(spin, reel, row);
    let is = |wanted: u32| symbol.is_some() && symbol == usize::try_from(wanted).ok();
    let started = |symbol: usize| game.symbols.get(symbol).is_some_and(|symbol| symbol.role == SymbolRole::Bonus);
    let in_win = |win: &Win| match path(game, win) {
        Some(rows) => {
            let count = usize::try_from(win.count).unwrap_or(usize::MAX);
            reel < count && rows.get(reel).is_some_and(|at| usize::from(*at) == row)
        }
        None if win.ways > 0 => is(win.symbol) && reel < usize::try_from(win.count).unwrap_or(usize::MAX),
        None => is(win.symbol),
    };
    spin.wins.iter().any(in_win) || (spin.bonus && symbol.is_some_and(started))
}

pub(crate) fn path<'a>(game: &'a GameInfo, win: &Win) -> Option<&'a [u8]> {
    let line = usize::try_from(win.line).ok()?.checked_sub(1)?;
    Some(game.lines.get(line).map_or(&[], Vec::as_slice))
}

pub(crate) fn kind(spin: &SpinResult) -> Option<&'static str> {
    Some(match spin.kind() {
        SpinKind::Unspecified | SpinKind::Base => return None,
        SpinKind::Free => "Free spin",
        SpinKind::Collection => "Collection free spin",
        SpinKind::HoldAndWin => "Hold and Win",
        SpinKind::HighSymbols => "High Symbols Respin",
        SpinKind::RandomWilds => "Random Wilds Respin",
        SpinKind::MultiplierRespin => "Multiplier Respin",
        SpinKind::MegaWild => "Mega Wild Respin",
        SpinKind::Explosion => "Explosion",
    })
}

pub(super) fn title(spin: &SpinResult, before: Option<&SpinResult>, pen: Pen) -> Option<String> {
    let potions = before.is_some_and(|before| before.marks.iter().any(|mark| mark.kind() == MarkKind::Potion));
    let times = if spin.multiplier > 1 { format!(", wins multiplied by {}", spin.multiplier) } else { String::new() };
    let title = match kind(spin) {
        Some(kind) if potions => format!("Three Potions: {kind}{times}"),
        Some(kind) => format!("{kind}{times}"),
        None if spin.ways > 0 => {
            let ways = pen.bold(Hue::Cyan, &format!("{} ways", grouped(&spin.ways.to_string())));
            return Some(format!("  {} rows, {ways}", spin.rows));
        }
        None => return None,
    };
    Some(format!("  {}", pen.bold(Hue::Cyan, &title)))
}

pub(super) fn grid(game: &GameInfo, spin: &SpinResult, pen: Pen) -> Vec<String> {
    let (reels, rows) = size(spin);
    let width = cell_width(reels, pen);
    let rule = |left: &str, middle: &str, right: &str| {
        let bars = vec!["─".repeat(width); reels];
        format!("  {left}{}{right}", bars.join(middle))
    };
    let row = |row: usize| {
        let cells: String =
            (0..reels).map(|reel| format!("│{}", painted(game, spin, (reel, row), width, pen))).collect();
        format!("  {cells}│")
    };
    let mut lines = vec![rule("┌", "┬", "┐")];
    for at in 0..rows {
        if at > 0 && grown_from(game, spin) == Some(at) {
            lines.push(rule("├", "┼", "┤").replace('─', "╌"));
        }
        lines.push(row(at));
    }
    lines.push(rule("└", "┴", "┘"));
    if !spin.stops.is_empty() {
        lines.push(format!("  {}", pen.dim(&format!("reels stopped at {}", stops(spin)))));
    }
    lines
}

fn grown_from(game: &GameInfo, spin: &SpinResult) -> Option<usize> {
    let grows = game.rows_max > game.rows && matches!(spin.kind(), SpinKind::Base | SpinKind::Unspecified);
    grows.then(|| usize::try_from(game.rows).ok()).flatten()
}

fn painted(game: &GameInfo, spin: &SpinResult, (reel, row): (usize, usize), width: usize, pen: Pen) -> String {
    let index = cell(spin, reel, row).unwrap_or_default();
    let wins = wins_here(game, spin, reel, row);
    let rows = usize::try_from(spin.rows).unwrap_or_default();
    let (sign, value) = match spin.marks.iter().find(|mark| covers(mark, rows, reel, row)) {
        Some(mark) => (sign_of(mark), value_of(mark)),
        None => ("", String::new()),
    };
    let room = (width - 1).saturating_sub(sign.chars().count() + value.chars().count());
    let name = format!("{sign}{}{value}", fitting(game, index, room));
    let text = if wins && !pen.has_colour() { format!("*{name}") } else { name };
    let text = format!("{text:^width$}");
    let hue = hue(game, index);
    if wins { pen.reversed(hue, &text) } else { pen.plain(hue, &text) }
}

pub(super) fn hue(game: &GameInfo, index: usize) -> Hue {
    game.symbols.get(index).map_or(Hue::Plain, |symbol: &SymbolInfo| Hue::for_symbol(symbol, index))
}

pub(crate) fn name(game: &GameInfo, index: usize) -> String {
    game.symbols.get(index).map_or_else(|| format!("symbol {index}"), |symbol| symbol.name.clone())
}

fn fitting(game: &GameInfo, index: usize, width: usize) -> String {
    let fits = |text: &str| text.chars().count() <= width;
    match game.symbols.get(index) {
        Some(symbol) if fits(&symbol.name) => symbol.name.clone(),
        Some(symbol) if fits(&symbol.short) => symbol.short.clone(),
        Some(symbol) => symbol.code.chars().take(width).collect(),
        None => name(game, index).chars().take(width).collect(),
    }
}

pub(super) fn code(game: &GameInfo, index: usize) -> String {
    game.symbols.get(index).map_or_else(|| index.to_string(), |symbol| symbol.code.to_lowercase())
}

/// Returns whether a placed Wild covers a cell (WF-10). The Wild is a square whose top left cell is `mark.cell`.
fn covers(mark: &Mark, rows: usize, reel: usize, row: usize) -> bool {
    let Ok(cell) = usize::try_from(mark.cell) else { return false };
    let side = match mark.kind() {
        MarkKind::PlacedWild => usize::try_from(mark.value).unwrap_or(1).max(1),
        _ => 1,
    };
    let (Some(left), Some(top)) = (cell.checked_div(rows), cell.checked_rem(rows)) else { return false };
    reel >= left && reel - left < side && row >= top && row - top < side
}

fn sign_of(mark: &Mark) -> &'static str {
    match mark.kind() {
        MarkKind::PlacedWild => "▣ ",
        MarkKind::Question => "? ",
        _ => "",
    }
}

fn value_of(mark: &Mark) -> String {
    match (mark.kind(), mark.value) {
        (MarkKind::Bonus, value) => format!(" {value}x"),
        (MarkKind::Mystery, 0) => " ?".to_owned(),
        (MarkKind::Mystery, value) => format!(" ?{value}x"),
        (MarkKind::Multiplier, 0) => " ×?".to_owned(),
        (MarkKind::Multiplier, value) => format!(" ×{value}"),
        (MarkKind::Potion, _) => " ◉".to_owned(),
        _ => String::new(),
    }
}

const LISTED_MAX: usize = 10;

pub(super) fn wins(game: &GameInfo, spin: &SpinResult, currency: Currency, pen: Pen) -> Vec<String> {
    let mut lines: Vec<_> = match spin.wins.iter().filter(|win| win.line > 0).count() {
        0..=LISTED_MAX => spin.wins.iter().map(|win| one(game, spin, win, pen)).collect(),
        _ => folded(game, spin, pen),
    };
    if spin.win_coins > 0 || spin.win_minor > 0 {
        let times =
            if spin.multiplier > 1 { format!(", line wins multiplied by {}", spin.multiplier) } else { String::new() };
        let sum = pen.bold(Hue::Gold, &coins(spin.win_coins));
        lines.push(format!("  in all {sum}, {}{times}", minor_units(spin.win_minor, currency)));
    }
    lines.extend(placed(game, spin));
    lines.extend(collected(game, spin, pen));
    let told = spin.wins.iter().any(|win| win.line == 0 && win.ways == 0);
    if spin.free_spins_won > 0 && !told {
        lines.push(format!("  + {}", pen.bold(Hue::Cyan, &counted(spin.free_spins_won.into(), "free spin"))));
    }
    if spin.bonus {
        lines.push(format!("  {}", pen.bold(Hue::Cyan, BONUS_STARTS)));
    }
    lines
}

fn collected(game: &GameInfo, spin: &SpinResult, pen: Pen) -> Vec<String> {
    let marks = spin.marks.iter().filter(|mark| matches!(mark.kind(), MarkKind::Crystal | MarkKind::Potion));
    marks
        .map(|mark| {
            let index = index(mark.value);
            let moved = match mark.kind() {
                MarkKind::Potion => "; the symbols above it moved down",
                _ => "",
            };
            format!("  collected: {} at {}{moved}", pen.bold(hue(game, index), &name(game, index)), place(spin, mark))
        })
        .collect()
}

fn placed(game: &GameInfo, spin: &SpinResult) -> Vec<String> {
    let of = |kind| spin.marks.iter().filter(move |mark| mark.kind() == kind);
    let wilds = of(MarkKind::PlacedWild).map(|mark| {
        let size = if mark.value > 1 { format!(" of {0} x {0} from", mark.value) } else { " at".to_owned() };
        format!("a Wild{size} {}", place(spin, mark))
    });
    let questions = of(MarkKind::Question)
        .map(|mark| format!("a Question mark at {} becomes {}", place(spin, mark), name(game, index(mark.value))));
    wilds.chain(questions).map(|text| format!("  placed: {text}")).collect()
}

fn place(spin: &SpinResult, mark: &Mark) -> String {
    let (reel, row) = (mark.cell.checked_div(spin.rows), mark.cell.checked_rem(spin.rows));
    format!("reel {}, row {}", reel.unwrap_or_default() + 1, row.unwrap_or_default() + 1)
}

pub(super) fn stops(spin: &SpinResult) -> String {
    let stops: Vec<_> = spin.stops.iter().map(u32::to_string).collect();
    stops.join(" ")
}

pub(super) fn index(symbol: u32) -> usize {
    usize::try_from(symbol).unwrap_or(usize::MAX)
}

fn folded(game: &GameInfo, spin: &SpinResult, pen: Pen) -> Vec<String> {
    let mut text: Vec<String> = vec![];
    let mut alike: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for win in &spin.wins {
        match win.line {
            0 => text.push(one(game, spin, win, pen)),
            line => alike.entry((Reverse(win.coins), win.symbol, win.count)).or_default().push(line),
        }
    }
    for ((Reverse(each), symbol, count), on) in alike {
        let index = usize::try_from(symbol).unwrap_or(usize::MAX);
        let what = pen.plain(hue(game, index), &format!("{:<20}", format!("{count} x {}", name(game, index))));
        let all = u64::try_from(on.len()).unwrap_or(u64::MAX);
        let won = pen.bold(Hue::Gold, &format!("{:>14}", coins(each.saturating_mul(all))));
        text.push(format!("  {:<18}{what}{won}", format!("{} of {each}", counted(all, "line"))));
        let numbers: Vec<_> = on.iter().map(u32::to_string).collect();
        text.extend(numbers.chunks(25).map(|numbers| format!("    {}", pen.dim(&numbers.join(" ")))));
    }
    text
}

const BONUS_STARTS: &str = "The bonus round starts.";

fn one(game: &GameInfo, spin: &SpinResult, win: &Win, pen: Pen) -> String {
    let index = usize::try_from(win.symbol).unwrap_or(usize::MAX);
    let what = pen.plain(hue(game, index), &format!("{:<20}", format!("{} x {}", win.count, name(game, index))));
    let won = pen.bold(Hue::Gold, &format!("{:>14}", coins(win.coins)));
    match path(game, win) {
        Some(rows) => format!("  line {:>2}   {}   {what}{won}", win.line, trace(game, rows, win.count, pen)),
        None => {
            let spins = match spin.free_spins_won {
                0 => String::new(),
                _ if win.ways > 0 => String::new(),
                spins => pen.bold(Hue::Cyan, &format!("   + {}", counted(spins.into(), "free spin"))),
            };
            let place = if win.ways > 0 { counted(win.ways.into(), "way") } else { "scatter".to_owned() };
            format!("  {place:<18}{what}{won}{spins}")
        }
    }
}

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
