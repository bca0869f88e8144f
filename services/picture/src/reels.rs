//! Draws windows of the reels as SVG. If a symbol has no drawing, its cell is empty.

use crate::{
    draw::cells,
    figures::{self, grouped},
    labels::{CELL, HUES, LABEL, spread},
    shelf, sprite,
    ways::Ways,
};
use maud::{Markup, PreEscaped, html};
use motherlode_proto::round::v1::{Mark, MarkKind, Outcome, SpinKind, SpinResult, Win};
use motherlode_slots::GameInfo;
use std::collections::{BTreeMap, BTreeSet};

/// Width of the left margin for line numbers, and minimum width of the right margin for coins, in SVG units.
const GUTTERS: (usize, usize) = (56, 40);
const NUMBERED_MAX: usize = 12;
const NUMBERED_MAX_SMALL: usize = 3;
const APART_MAX: usize = 8;

#[must_use]
pub fn symbols<'a>(name: &str, game: &GameInfo, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Markup {
    let Some(sprite) = sprite::for_game(name) else { return Markup::default() };
    let spins = outcomes.into_iter().flat_map(|outcome| &outcome.spins);
    let cells = spins.flat_map(|spin| &spin.cells);
    let shown = cells.filter_map(|cell| game.symbols.get(usize::from(*cell))).map(sprite::id);
    let shown = shown.chain(shelf::symbols(game)).collect();
    sprite::embedded(sprite, &shown)
}

#[must_use]
pub fn windows(game: &GameInfo, outcome: &Outcome, opens: &dyn Fn(usize) -> Option<String>) -> Markup {
    let small = outcome.spins.len() > 1;
    let (class, numbered_max) = match outcome.spins.len() {
        0..=1 => ("windows", NUMBERED_MAX),
        2..=3 => ("windows few", NUMBERED_MAX),
        4..=20 => ("windows many", NUMBERED_MAX_SMALL),
        _ => ("windows many", 1),
    };
    if outcome.spins.is_empty() {
        return Markup::default();
    }
    let captions = captions(&outcome.spins, outcome.spins.len() > 20);
    html! {
        div class=(class) {
            @for (at, (spin, caption)) in outcome.spins.iter().zip(captions).enumerate() {
                figure {
                    @if small {
                        @let inner = html! { (window(game, spin, numbered_max, None)) figcaption { (caption) } };
                        @match opens(at) {
                            None => (inner),
                            Some(address) => a href=(address) { (inner) },
                        }
                    } @else {
                        (window(game, spin, numbered_max, Some(&description(game, spin))))
                        @if spin.win_coins > 0 { figcaption { "Win: " (figures::counted(spin.win_coins, "coin")) } }
                    }
                }
            }
        }
    }
}

#[must_use]
pub fn alone(game: &GameInfo, outcome: &Outcome, at: usize) -> Option<Markup> {
    let (spin, caption) = (outcome.spins.get(at)?, captions(&outcome.spins, false).into_iter().nth(at)?);
    let drawn = window(game, spin, NUMBERED_MAX, Some(&description(game, spin)));
    Some(html! { div.windows { figure { (drawn) figcaption { (caption) } } } })
}

/// If `short` is set, captions after the first omit the kind of free spin and the unit of wins.
fn captions(spins: &[SpinResult], short: bool) -> Vec<String> {
    let feature: Vec<_> = spins.iter().filter(|spin| cells::is_hold_and_win(spin)).collect();
    let mut news = cells::news(&feature).into_iter();
    let mut counted: BTreeMap<i32, usize> = BTreeMap::new();
    let one = |spin: &SpinResult| {
        let number = counted.entry(spin.kind).or_default();
        *number += 1;
        if cells::is_hold_and_win(spin) {
            return match news.next() {
                Some(cells::News::Acted) => "Functions act".to_owned(),
                Some(cells::News::Turned) if spin.multiplier > 1 => {
                    format!("All held: win multiplied by {}", spin.multiplier)
                }
                Some(cells::News::Turned) => "Turned into values".to_owned(),
                Some(cells::News::Respin { .. }) if spin.multiplier > 1 => {
                    format!("Respin {number}, all held: win multiplied by {}", spin.multiplier)
                }
                Some(cells::News::Respin { held, new: 0 }) => format!("Respin {number}: {held} held"),
                Some(cells::News::Respin { held, new }) => format!("Respin {number}: {held} held, {new} new"),
                None => String::new(),
            };
        }
        let mut told = match spin.kind() {
            SpinKind::Base | SpinKind::Unspecified => "Window".to_owned(),
            SpinKind::Free if short && *number > 1 => number.to_string(),
            _ => format!("{} {number}", kind(spin)),
        };
        if spin.multiplier > 1 {
            told += &format!(", ×{}", spin.multiplier);
        }
        if spin.win_coins > 0 {
            told += &match short && *number > 1 {
                true => format!(": +{}", grouped(&spin.win_coins.to_string())),
                false => format!(": +{}", figures::counted(spin.win_coins, "coin")),
            };
        }
        if spin.free_spins_won > 0 {
            told += &format!(", {} more", figures::counted(spin.free_spins_won.into(), "free spin"));
        }
        told
    };
    spins.iter().map(one).collect()
}

fn window(game: &GameInfo, spin: &SpinResult, numbered_max: usize, told: Option<&str>) -> Markup {
    let (reels, rows) = cells::size(spin);
    let lines = Lines::new(game, spin, numbered_max);
    let ways = (numbered_max == NUMBERED_MAX).then(|| Ways::new(spin));
    let width = reels * CELL + GUTTERS.0 + lines.gutter().max(ways.as_ref().map_or(0, Ways::gutter));
    let view = format!("-{} -6 {width} {}", GUTTERS.0, rows * CELL + 12);
    let places: Vec<_> = (0..reels).flat_map(|reel| (0..rows).map(move |row| (reel, row))).collect();
    let marked = |reel: usize, row: usize| {
        spin.marks.iter().any(|mark| usize::try_from(mark.cell).is_ok_and(|cell| cell == reel * rows + row))
    };
    let shines = |reel: usize, row: usize| cells::wins_here(game, spin, reel, row) || marked(reel, row);
    let any = places.iter().any(|(reel, row)| shines(*reel, *row));
    let drawn = |shining: bool| {
        let these = places.iter().filter(move |(reel, row)| shines(*reel, *row) == shining);
        html! { @for (reel, row) in these { (symbol(game, spin, *reel, *row)) } }
    };
    html! {
        svg.reels viewBox=(view) role=[told.map(|_| "img")] aria-label=[told] aria-hidden=[told.is_none().then_some("true")] {
            g.rest[any] { (drawn(false)) }
            g { (drawn(true)) }
            @if let Some(ways) = ways { (ways.drawn()) }
            @for of in &spin.marks { (mark(game, spin, of)) }
            (lines.drawn())
        }
    }
}

fn symbol(game: &GameInfo, spin: &SpinResult, reel: usize, row: usize) -> Markup {
    let known = cells::cell(spin, reel, row).and_then(|symbol| game.symbols.get(symbol));
    let Some(known) = known else { return Markup::default() };
    let not_zero = |name: char, place: usize| if place > 0 { format!(" {name}=\"{place}\"") } else { String::new() };
    PreEscaped(format!("<use href=\"#C{}\"{}{}/>", sprite::id(known), not_zero('x', reel), not_zero('y', row)))
}

fn mark(game: &GameInfo, spin: &SpinResult, mark: &Mark) -> Markup {
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
    html! {
        rect.placed x=(x + 3) y=(y + 3) width=(side - 6) height=(side - 6) rx="12" {}
        @if mark.kind() == MarkKind::Potion {
            // This cell contained the Potion before the symbol shown here moved down into the cell (WF-05).
            (collected(game, mark, x + CELL / 2, y))
        } @else if !text.is_empty() {
            rect.plate x=(x + 14) y=(y + 66) width="72" height="30" rx="15" {}
            text.value x=(x + CELL / 2) y=(y + 89) { (text) }
        }
    }
}

fn collected(game: &GameInfo, mark: &Mark, x: usize, y: usize) -> Markup {
    let symbol = usize::try_from(mark.value).ok().and_then(|symbol| game.symbols.get(symbol));
    let Some(symbol) = symbol else { return Markup::default() };
    html! { use.collected href={ "#" (sprite::id(symbol)) } x=(x) y=(y) width=(CELL / 2) height=(CELL / 2) {} }
}

type Point = (usize, usize);

struct Lines<'a> {
    won: Vec<(&'a Win, Vec<Point>)>,
    reels: usize,
    height: usize,
    numbered: bool,
    merged: bool,
}

impl<'a> Lines<'a> {
    fn new(game: &GameInfo, spin: &'a SpinResult, numbered_max: usize) -> Self {
        let (reels, rows) = cells::size(spin);
        let count = spin.wins.iter().filter(|win| win.line > 0).count();
        let numbered = count <= numbered_max.min(rows * CELL / LABEL.0);
        let merged = !numbered && count > APART_MAX;
        let path = |(at, win): (usize, &'a Win)| {
            let shift = if merged { CELL / 2 } else { 38 + at % 5 * 6 };
            let rows = cells::path(game, win).unwrap_or_default().iter().take(reels).enumerate();
            (
                win,
                rows.map(|(reel, row)| (reel * CELL + CELL / 2, usize::from(*row) * CELL + shift)).collect::<Vec<_>>(),
            )
        };
        let won: Vec<_> = spin.wins.iter().filter(|win| win.line > 0).enumerate().map(path).collect();
        Self { won, reels, height: rows * CELL, numbered, merged }
    }

    fn gutter(&self) -> usize {
        let longest = self.won.iter().map(|(win, _)| coins(win).chars().count()).max();
        let labelled = longest.filter(|_| self.numbered).map(|digits| digits * LABEL.1 + 34);
        labelled.unwrap_or_default().max(GUTTERS.1)
    }

    fn drawn(&self) -> Markup {
        if self.merged {
            let ways: BTreeSet<_> = self.won.iter().flat_map(|(_, points)| points.windows(2)).collect();
            let paths: String = ways.into_iter().map(stroke).collect();
            return PreEscaped(format!("<path d=\"{paths}\"/>"));
        }
        if !self.numbered {
            let paths: String = self.won.iter().map(|(_, points)| stroke(points)).collect();
            return PreEscaped(format!("<path d=\"{paths}\"/>"));
        }
        let at = |end: fn(&[Point]) -> Option<&Point>| {
            spread(self.won.iter().map(|(_, points)| end(points).map_or(0, |(_, y)| *y)).collect(), self.height)
        };
        let (left, right) = (at(|points| points.first()), at(|points| points.last()));
        let won = self.won.iter().zip(left.into_iter().zip(right)).enumerate();
        html! { @for (at, ((win, points), ends)) in won { (self.one(at, win, points, ends)) } }
    }

    fn one(&self, at: usize, win: &Win, points: &[Point], (left, right): (usize, usize)) -> Markup {
        let hue = format!("line line{}", at % HUES);
        let end = self.reels * CELL;
        html! {
            polyline class=(hue) points={ "-10," (left) " " (joined(points)) " " (end + 8) "," (right) } {}
            text class={ "number " (hue) } x="-16" y=(left + 8) { (win.line) }
            text class={ "coins " (hue) } x=(end + 16) y=(right + 8) { (coins(win)) }
        }
    }
}

fn coins(win: &Win) -> String {
    format!("+{}", grouped(&win.coins.to_string()))
}

fn joined(points: &[Point]) -> String {
    points.iter().map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")
}

fn stroke(points: &[Point]) -> String {
    let begin = points.first().map_or_else(String::new, |(x, y)| format!("M{x} {y}"));
    let level = |pair: &[Point]| pair[0].1 == pair[1].1;
    let pairs: Vec<_> = points.windows(2).collect();
    let runs = pairs.chunk_by(|one, next| level(one) && level(next)).map(|run| {
        let (from, to) = (run[0][0], run[run.len() - 1][1]);
        match level(run[0]) {
            true => format!("h{}", to.0 - from.0),
            false if to.1 < from.1 => format!("l{}-{}", to.0 - from.0, from.1 - to.1),
            false => format!("l{} {}", to.0 - from.0, to.1 - from.1),
        }
    });
    begin + &runs.collect::<String>()
}

fn kind(spin: &SpinResult) -> &'static str {
    match spin.kind() {
        SpinKind::Base | SpinKind::Unspecified => "Window",
        _ => cells::kind(spin).unwrap_or("Window"),
    }
}

fn description(game: &GameInfo, spin: &SpinResult) -> String {
    let (reels, rows) = cells::size(spin);
    let kind = kind(spin);
    let reel = |reel: usize| {
        let names = (0..rows).map(|row| cells::name(game, cells::cell(spin, reel, row).unwrap_or(usize::MAX)));
        format!("reel {}: {}", reel + 1, names.collect::<Vec<_>>().join(", "))
    };
    format!("{kind}; {}", (0..reels).map(reel).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_19_a_line_goes_where_its_points_are() {
        let points = [(50, 38), (150, 38), (250, 138), (350, 38), (450, 38)];
        assert_eq!(stroke(&points), "M50 38h100l100 100l100-100h100");
        assert_eq!(stroke(&[(50, 38), (150, 38), (250, 38)]), "M50 38h200");
        assert_eq!(stroke(&[]), "");
    }

    #[test]
    fn pl_19_me_10_each_small_window_says_what_it_is() {
        let bonus = |cell, kind: MarkKind, value| Mark { cell, kind: kind.into(), value, ..Mark::default() };
        let board = |marks| SpinResult { kind: SpinKind::HoldAndWin.into(), marks, ..SpinResult::default() };
        let (one, factor) = (bonus(0, MarkKind::Bonus, 3), |by| bonus(1, MarkKind::Multiplier, by));
        let boards = [
            board(vec![one.clone()]),
            board(vec![one.clone(), factor(0)]),
            board(vec![one.clone(), factor(0)]),
            board(vec![one.clone(), factor(3)]),
            board(vec![one.clone(), bonus(1, MarkKind::Bonus, 9)]),
        ];
        let told =
            ["Respin 1: 1 held", "Respin 2: 2 held, 1 new", "Respin 3: 2 held", "Functions act", "Turned into values"];
        assert_eq!(captions(&boards, false), told);
        let free = SpinResult { kind: SpinKind::Free.into(), ..SpinResult::default() };
        let won = SpinResult { win_coins: 1_250, multiplier: 3, free_spins_won: 10, ..free.clone() };
        let told = ["Free spin 1", "Free spin 2, ×3: +1,250 coins, 10 free spins more"];
        assert_eq!(captions(&[free, won], false), told);
    }
}
