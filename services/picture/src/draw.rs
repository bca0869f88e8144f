//! Draws outcomes as text for a terminal of 80 columns. Unknown symbols are shown as numbers. Winning symbols are shown in
//! reverse video or, without colour, marked with `*`.

mod carried;
mod hold;
mod pen;
mod series;
mod treasure;
mod window;

pub(crate) mod cells {
    pub(crate) use super::{
        hold::{News, is_for as is_hold_and_win, news},
        window::{cell, kind, name, path, size, wins_here},
    };
}

pub(crate) mod shelves {
    pub(crate) use super::carried::{Shelf, first_word};
}

pub use pen::colour_wanted;
use pen::{Hue, Pen};

use crate::figures::{coins, counted, grouped, minor_units};
use motherlode_proto::round::v1::{
    Awaiting, Card, CardTurn, CarriedFigure, Choice, Outcome, Prize, SpinKind, SpinResult, choice, prize,
};
use motherlode_slots::GameInfo;
use motherlode_state::Currency;

const WIDE: usize = 80;

#[must_use]
pub fn outcome(game: &GameInfo, outcome: &Outcome, currency: Currency, colour: bool) -> String {
    drawn(game, outcome, currency, Pen::new(colour))
}

/// Draws an outcome for fewer than 80 columns; a symbol that does not fit is shown by its letters.
#[must_use]
pub fn outcome_in_columns(
    game: &GameInfo,
    outcome: &Outcome,
    currency: Currency,
    colour: bool,
    columns: usize,
) -> String {
    drawn(game, outcome, currency, Pen::new(colour).with_columns(columns))
}

fn drawn(game: &GameInfo, outcome: &Outcome, currency: Currency, pen: Pen) -> String {
    let mut lines = vec![];
    let mut before = None;
    for group in groups(&outcome.spins) {
        match group[..] {
            [spin] if !hold::is_for(spin) && !series::is_free(spin) => {
                lines.extend(window::title(spin, before, pen));
                lines.extend(window::grid(game, spin, pen));
                lines.extend(window::wins(game, spin, currency, pen));
            }
            [first, ..] if hold::is_for(first) => lines.extend(hold::boards(game, &group, pen)),
            _ => lines.extend(series::sheet(series::Drawing { game, outcome, currency, pen }, &group)),
        }
        before = group.last().copied();
    }
    let feature = outcome.spins.iter().any(hold::is_for);
    lines.extend(outcome.prize.as_ref().and_then(|prize| bonus_gave(prize, feature, pen)));
    lines.extend(treasure::opened(outcome, pen));
    lines.extend(outcome.card.as_ref().map(|turn| card(turn, outcome, currency, pen)).into_iter().flatten());
    lines.extend(halved(outcome, currency));
    lines.push(standing(game, outcome, currency, pen));
    lines.push(String::new());
    lines.join("\n")
}

#[must_use]
pub fn wrapped(text: &str, columns: usize) -> String {
    let is_drawing = |line: &str| line.contains(['│', '┌', '└', '├', '╭', '╰', '═']) || line.contains("───────");
    let line = |line: &str| match is_drawing(line) {
        true => line.to_owned(),
        false => wrapped_line(line, columns),
    };
    text.split_inclusive('\n').map(line).collect()
}

fn wrapped_line(line: &str, columns: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let (length, visible) = (visible(word), visible(word.trim_end()));
        if used > 0 && used + visible > columns && !text.trim().is_empty() {
            let kept = text.trim_end_matches(' ').len();
            text.truncate(kept);
            text.push_str("\n    ");
            used = 4;
        }
        text.push_str(word);
        used += length;
    }
    text
}

fn visible(text: &str) -> usize {
    let parts = text.split('\x1b').enumerate();
    let shown = parts.map(|(at, part)| if at == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) });
    shown.map(|part| part.chars().filter(|letter| *letter != '\n').count()).sum()
}

#[must_use]
pub fn shelf(game: &GameInfo, figure: &dyn Fn(&str) -> i64, colour: bool) -> String {
    carried::shelf(game, figure, Pen::new(colour)).into_iter().map(|line| line + "\n").collect()
}

fn groups(spins: &[SpinResult]) -> Vec<Vec<&SpinResult>> {
    if spins.iter().any(series::is_free) {
        return vec![spins.iter().collect()];
    }
    let runs = |kind| matches!(kind, SpinKind::HoldAndWin | SpinKind::MultiplierRespin);
    let together = |one: &SpinResult, next: &SpinResult| runs(one.kind()) && one.kind() == next.kind();
    spins.chunk_by(together).map(|group| group.iter().collect()).collect()
}

#[must_use]
pub fn changes(game: &GameInfo, figures: &[CarriedFigure], currency: &str) -> String {
    carried::changes(game, figures, currency)
}

/// Describes a choice, such as `opens the objects 1, 4 and 6`. `game` is `None` if this program does not have the game.
#[must_use]
pub fn choice(game: Option<&GameInfo>, choice: &Choice) -> String {
    match &choice.kind {
        Some(choice::Kind::Spin(_)) => "spins".to_owned(),
        Some(choice::Kind::Pick(pick)) => {
            let numbers: Vec<_> = pick.numbers.iter().map(u32::to_string).collect();
            let does = match game {
                Some(game) if !game.prizes.is_empty() => "combines the vials",
                Some(_) => "opens the objects",
                None => "picks",
            };
            match numbers.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{does} {} and {last}", rest.join(", ")),
                _ => format!("{does} {}", numbers.join("")),
            }
        }
        Some(choice::Kind::StartFeature(_)) => "starts the feature".to_owned(),
        Some(choice::Kind::Halve(_)) => "secures half of the win".to_owned(),
        Some(choice::Kind::StartFreeSpins(_)) => "starts the free spins".to_owned(),
        Some(choice::Kind::Double(card)) => format!("doubles on {}", card_name(*card)),
        Some(choice::Kind::Collect(_)) => "collects".to_owned(),
        None => "makes no choice".to_owned(),
    }
}

fn bonus_gave(prize: &Prize, feature: bool, pen: Pen) -> Option<String> {
    let bonus = if feature { "Hold and Win" } else { "The bonus" };
    Some(match prize.kind.as_ref()? {
        prize::Kind::Multiple(multiple) => {
            let won = pen.bold(Hue::Gold, &coins(prize.coins));
            format!("  {bonus} gives {} times the total bet: {won}", grouped(&multiple.to_string()))
        }
        prize::Kind::FreeSpins(spins) => {
            format!("  {bonus} gives {}", pen.bold(Hue::Cyan, &counted((*spins).into(), "free spin")))
        }
        prize::Kind::Jackpot(_) => {
            let room = pen.room();
            let line = format!("  {}", "═".repeat(room));
            let wide = "★  T H E   P R O G R E S S I V E   J A C K P O T  ★";
            let text = if room < wide.chars().count() { "PROGRESSIVE JACKPOT" } else { wide };
            let won = pen.bold(Hue::Gold, &format!("  {text:^room$}"));
            format!("{line}\n{won}\n{line}")
        }
    })
}

fn strip(outcome: &Outcome) -> String {
    let suits: Vec<_> = outcome.double_strip.iter().map(|card| suit(*card)).collect();
    suits.join(" ")
}

fn card(turn: &CardTurn, outcome: &Outcome, currency: Currency, pen: Pen) -> Vec<String> {
    let hue = if matches!(turn.drawn(), Card::RedHeart | Card::RedDiamond) { Hue::Red } else { Hue::Plain };
    let suit = pen.bold(hue, suit(turn.drawn));
    let verdict = if turn.won { pen.bold(Hue::Green, "right") } else { pen.bold(Hue::Red, "wrong") };
    let (risked, won) = (minor_units(turn.risked_minor, currency), minor_units(turn.won_minor, currency));
    let secured = match outcome.round_win_minor.saturating_sub(turn.won_minor) {
        0 => String::new(),
        secured => format!(" {} is secured.", minor_units(secured, currency)),
    };
    let texts = [
        format!("The card is the {}, the guess was the {}: {verdict}.", card_name(turn.drawn), card_name(turn.guess)),
        format!("{risked} becomes {won}.{secured}"),
        format!("Cards, the latest first: {}", strip(outcome)),
    ];
    let face = [format!("  │{suit}    │"), format!("  │  {suit}  │"), format!("  │    {suit}│")];
    let mut lines = vec!["  ╭─────╮".to_owned()];
    if pen.columns() < WIDE {
        lines.extend(face);
        lines.push("  ╰─────╯".to_owned());
        lines.extend(texts.map(|text| format!("  {text}")));
        return lines;
    }
    lines.extend(face.iter().zip(&texts).map(|(face, text)| format!("{face}  {text}")));
    lines.push("  ╰─────╯".to_owned());
    lines
}

fn suit(card: i32) -> &'static str {
    match Card::try_from(card) {
        Ok(Card::RedHeart) => "♥",
        Ok(Card::BlackSpade) => "♠",
        Ok(Card::RedDiamond) => "♦",
        Ok(Card::BlackClub) => "♣",
        Ok(Card::Joker) => "★",
        _ => "?",
    }
}

fn card_name(card: i32) -> &'static str {
    match Card::try_from(card) {
        Ok(Card::RedHeart) => "red heart",
        Ok(Card::BlackSpade) => "black spade",
        Ok(Card::RedDiamond) => "red diamond",
        Ok(Card::BlackClub) => "black club",
        Ok(Card::Joker) => "joker",
        _ => "unknown card",
    }
}

/// Describes the half of the win that the player secured in a step. From rules version 1.0.1 on, this half is credited
/// at once (ME-16). Outcomes of earlier versions do not state the half: it was secured if the step drew nothing and the
/// player can gamble again.
fn halved(outcome: &Outcome, currency: Currency) -> Option<String> {
    if outcome.credited_minor > 0 {
        return Some(format!("  Half of the win is credited: {}.", minor_units(outcome.credited_minor, currency)));
    }
    let shows = !outcome.spins.is_empty() || outcome.prize.is_some() || outcome.card.is_some();
    let halved = !shows && outcome.reveals.is_empty() && outcome.awaiting() == Awaiting::Double;
    halved.then(|| "  Half of the win is secured, half is at risk.".to_owned())
}

fn standing(game: &GameInfo, outcome: &Outcome, currency: Currency, pen: Pen) -> String {
    let (coins_won, minor) = (outcome.round_win_coins, outcome.round_win_minor);
    let hue = if minor > 0 || coins_won > 0 { Hue::Gold } else { Hue::Plain };
    let written = |pen: Pen| match outcome.double_strip.is_empty() {
        true => format!("{}, {}", pen.bold(hue, &coins(coins_won)), minor_units(minor, currency)),
        false => format!("{} ({} before the gamble)", pen.bold(hue, &minor_units(minor, currency)), coins(coins_won)),
    };
    let amount = written(pen);
    let waits = match outcome.awaiting() {
        Awaiting::Nothing | Awaiting::Unspecified => {
            return match (coins_won, minor, outcome.jackpot) {
                (0, 0, false) => format!("  {}", pen.dim("No win.")),
                _ => format!("  The round wins {amount}."),
            };
        }
        Awaiting::Spin => "the spin".to_owned(),
        Awaiting::Pick => {
            let offer = outcome.pick.unwrap_or_default();
            format!("a pick of {} out of {}", offer.needs, offer.of)
        }
        Awaiting::Feature => "the start of the feature".to_owned(),
        Awaiting::FreeSpins => format!("the start of {}", counted(outcome.free_spins_left.into(), "free spin")),
        Awaiting::Double if game.halve => "the choice to guess, to secure half or to collect".to_owned(),
        Awaiting::Double => "the choice to guess or to collect".to_owned(),
    };
    let left = match (outcome.awaiting(), outcome.free_spins_left) {
        (Awaiting::FreeSpins, _) | (_, 0) => String::new(),
        (_, left) => format!("\n  Remaining: {}.", counted(left.into(), "free spin")),
    };
    let plain = format!("  The round has won {} and waits for {waits}.", written(Pen::new(false)));
    let gap = if plain.chars().count() > 80 { "\n  " } else { " " };
    format!("  The round has won {amount}{gap}and waits for {waits}.{left}")
}

#[cfg(test)]
mod tests;
