//! A window of the reels as a picture for a page: its symbols, the lines that win drawn over it, and what stands on it.
//!
//! A cell is 100 units wide and high. Whatever a message says, drawing does not fail: a symbol that the game does not know,
//! or that has no drawing, is an empty cell.

use crate::{
    draw::cells,
    figures::grouped,
    markup::{Markup, tag},
    sprite,
};
use motherlode_proto::round::v1::{Mark, MarkKind, Outcome, SpinKind, SpinResult};
use motherlode_slots::GameInfo;

/// Width and height of a cell.
const CELL: usize = 100;
/// Room before the reels for the lines' numbers, and after them for their coins.
const GUTTERS: (usize, usize) = (50, 90);
/// Colours of lines; `line0` and so on in the style sheet.
const HUES: usize = 10;
/// More winning lines than these have no numbers beside the window: there is no room.
const NUMBERED_MAX: usize = 12;

/// The drawings that a round's windows show, once: to stand in the page before them.
#[must_use]
pub fn symbols<'a>(name: &str, game: &GameInfo, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Markup {
    let Some(sprite) = sprite::of(name) else { return Markup::default() };
    let spins = outcomes.into_iter().flat_map(|outcome| &outcome.spins);
    let cells = spins.flat_map(|spin| &spin.cells);
    let shown = cells.filter_map(|cell| game.symbols.get(usize::from(*cell))).map(sprite::id).collect();
    sprite::embedded(sprite, &shown)
}

/// The windows of a step, in order.
#[must_use]
pub fn windows(game: &GameInfo, outcome: &Outcome) -> Markup {
    let one = |spin| tag("figure", &[], window(game, spin));
    let class = if outcome.spins.len() > 1 { "windows many" } else { "windows" };
    match outcome.spins.is_empty() {
        true => Markup::default(),
        false => tag("div", &[("class", class)], outcome.spins.iter().map(one).collect::<Markup>()),
    }
}

/// One window.
fn window(game: &GameInfo, spin: &SpinResult) -> Markup {
    let (reels, rows) = cells::size(spin);
    let view = format!("-{} -6 {} {}", GUTTERS.0, reels * CELL + GUTTERS.0 + GUTTERS.1, rows * CELL + 12);
    let places: Vec<_> = (0..reels).flat_map(|reel| (0..rows).map(move |row| (reel, row))).collect();
    let any = places.iter().any(|(reel, row)| cells::wins_here(game, spin, *reel, *row));
    let drawn = |winning: bool| -> Markup {
        places
            .iter()
            .filter(|(reel, row)| cells::wins_here(game, spin, *reel, *row) == winning)
            .map(|(reel, row)| symbol(game, spin, *reel, *row))
            .collect()
    };
    let rest = tag("g", if any { &[("class", "rest")] } else { &[] }, drawn(false));
    let marks: Markup = spin.marks.iter().map(|of| mark(spin, of)).collect();
    let parts = [rest, tag("g", &[], drawn(true)), marks, lines(game, spin, reels)];
    tag("svg", &[("class", "reels"), ("viewBox", &view), ("role", "img"), ("aria-label", &told(game, spin))], parts)
}

fn symbol(game: &GameInfo, spin: &SpinResult, reel: usize, row: usize) -> Markup {
    let known = cells::cell(spin, reel, row).and_then(|symbol| game.symbols.get(symbol));
    let Some(known) = known else { return Markup::default() };
    let (x, y) = ((reel * CELL + 5).to_string(), (row * CELL + 5).to_string());
    tag("use", &[("href", &format!("#C{}", sprite::id(known))), ("x", &x), ("y", &y)], "")
}

/// A mark on a cell: its value, or a frame around what was placed or collected.
fn mark(spin: &SpinResult, mark: &Mark) -> Markup {
    let (_, rows) = cells::size(spin);
    let Ok(cell) = usize::try_from(mark.cell) else { return Markup::default() };
    let (Some(reel), Some(row)) = (cell.checked_div(rows), cell.checked_rem(rows)) else { return Markup::default() };
    let text = match (mark.kind(), mark.value) {
        (MarkKind::Bonus, value) => format!("{}x", grouped(&value.to_string())),
        (MarkKind::Mystery, 0) => "?".to_owned(),
        (MarkKind::Mystery, value) if mark.name.is_empty() => format!("{}x", grouped(&value.to_string())),
        (MarkKind::Mystery, _) => mark.name.clone(),
        (MarkKind::Multiplier, 0) => "×?".to_owned(),
        (MarkKind::Multiplier, by) => format!("×{by}"),
        (MarkKind::Question, _) => "?".to_owned(),
        _ => String::new(),
    };
    let side = match mark.kind() {
        MarkKind::PlacedWild => usize::try_from(mark.value).unwrap_or(1).clamp(1, 3) * CELL,
        _ => CELL,
    };
    let (x, y) = (reel.saturating_mul(CELL), row.saturating_mul(CELL));
    let frame = tag(
        "rect",
        &[
            ("class", "placed"),
            ("x", &(x + 3).to_string()),
            ("y", &(y + 3).to_string()),
            ("width", &(side - 6).to_string()),
            ("height", &(side - 6).to_string()),
            ("rx", "12"),
        ],
        "",
    );
    if text.is_empty() {
        return frame;
    }
    let (left, middle) = ((x + 14).to_string(), (x + CELL / 2).to_string());
    let plate = tag(
        "rect",
        &[
            ("class", "plate"),
            ("x", &left),
            ("y", &(y + 66).to_string()),
            ("width", "72"),
            ("height", "30"),
            ("rx", "15"),
        ],
        "",
    );
    [frame, plate, tag("text", &[("class", "value"), ("x", &middle), ("y", &(y + 89).to_string())], text)].into()
}

/// The winning lines, each with its number before the first reel and its coins after the last.
fn lines(game: &GameInfo, spin: &SpinResult, reels: usize) -> Markup {
    let won: Vec<_> = spin.wins.iter().filter(|win| win.line > 0).collect();
    let (_, rows) = cells::size(spin);
    let step = (rows * CELL).checked_div(won.len()).unwrap_or_default();
    let of = |(at, win): (usize, &&motherlode_proto::round::v1::Win)| -> Markup {
        let hue = format!("line line{}", at % HUES);
        let path = cells::path(game, win).unwrap_or_default();
        // Lines that run over the same cells lie beside each other.
        let shift = at % 5 * 6;
        let points = path
            .iter()
            .take(reels)
            .enumerate()
            .map(|(reel, row)| format!("{},{}", reel * CELL + CELL / 2, usize::from(*row) * CELL + 38 + shift));
        let points = points.collect::<Vec<_>>().join(" ");
        let drawn = tag("polyline", &[("class", &hue), ("points", &points)], "");
        if won.len() > NUMBERED_MAX {
            return drawn;
        }
        let y = (at * step + step / 2 + 7).to_string();
        let end = (reels * CELL + 10).to_string();
        let number = tag("text", &[("class", &format!("number {hue}")), ("x", "-10"), ("y", &y)], win.line.to_string());
        let coins = tag(
            "text",
            &[("class", &format!("coins {hue}")), ("x", &end), ("y", &y)],
            format!("+{}", grouped(&win.coins.to_string())),
        );
        [drawn, number, coins].into()
    };
    won.iter().enumerate().map(of).collect()
}

/// The window in words, reel by reel.
fn told(game: &GameInfo, spin: &SpinResult) -> String {
    let (reels, rows) = cells::size(spin);
    let kind = match spin.kind() {
        SpinKind::Base | SpinKind::Unspecified => "Window",
        _ => cells::kind(spin).unwrap_or("Window"),
    };
    let reel = |reel: usize| {
        let names = (0..rows).map(|row| cells::name(game, cells::cell(spin, reel, row).unwrap_or(usize::MAX)));
        format!("reel {}: {}", reel + 1, names.collect::<Vec<_>>().join(", "))
    };
    format!("{kind}; {}", (0..reels).map(reel).collect::<Vec<_>>().join("; "))
}
