//! Symbol drawings: one SVG sprite per game (`assets/GAME.svg`). Each part of a sprite starts on a new line. A part is
//! either the `<symbol>` of a game symbol, whose id is the symbol's lower-case code, or a drawing that several symbols
//! share. Drawings have no styles or scripts, because a strict content security policy forbids them.

use maud::{Markup, PreEscaped, html};
use motherlode_slots::{SymbolInfo, game};
use std::{cmp::Reverse, collections::BTreeSet};

const SPRITES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sprites.rs"));

const ICONS: usize = 3;

#[must_use]
pub fn for_game(game: &str) -> Option<&'static str> {
    SPRITES.iter().find(|(name, _)| *name == game).map(|(_, svg)| *svg)
}

#[must_use]
pub fn id(symbol: &SymbolInfo) -> String {
    symbol.code.to_lowercase()
}

#[must_use]
pub fn ids(name: &str, rules_version: &str) -> Vec<String> {
    game(name, rules_version).map_or_else(Vec::new, |game| game.info().symbols.iter().map(id).collect())
}

/// Embeds symbols and all parts that they use, without showing them. In a cell, a symbol's id is `C` followed by its
/// lower-case code; ids of parts are lower-case and thus never equal it.
#[must_use]
pub fn embedded(sprite: &'static str, names: &BTreeSet<String>) -> Markup {
    let parts: Vec<_> = parts(sprite).collect();
    let place = |name: &str| parts.iter().position(|(id, _)| *id == name);
    let mut wanted: Vec<usize> = names.iter().filter_map(|name| place(name)).collect();
    let cells: Vec<&str> = wanted.iter().map(|at| parts[*at].0).collect();
    let mut shown = BTreeSet::new();
    while let Some(at) = wanted.pop() {
        if shown.insert(at) {
            wanted.extend(uses(parts[at].1).filter_map(place));
        }
    }
    let drawn: String = shown.into_iter().map(|at| parts[at].1).collect();
    html! {
        svg.sprite width="0" height="0" aria-hidden="true" {
            (PreEscaped(drawn))
            defs {
                @for name in cells {
                    use id={ "C" (name) } href={ "#" (name) } x=".05" y=".05" width=".9" height=".9" {}
                }
            }
        }
    }
}

#[must_use]
pub fn icon(name: &str, rules_version: &str) -> Option<String> {
    let (whole, info) = (for_game(name)?, game(name, rules_version)?.info());
    let highest = |at: usize| {
        let rows = info.paytable.iter().filter(|row| usize::from(row.symbol) == at);
        rows.map(|row| row.pays).max().unwrap_or_default()
    };
    let mut places: Vec<usize> = (0..info.symbols.len()).collect();
    places.sort_by_key(|at| Reverse(highest(*at)));
    let names: Vec<String> = places.into_iter().take(ICONS).filter_map(|at| info.symbols.get(at)).map(id).collect();
    let cells = names.iter().enumerate().map(|(at, name)| format!("<use href=\"#C{name}\" x=\"{at}\"/>"));
    let cells: String = cells.collect();
    let parts = embedded(whole, &names.iter().cloned().collect()).into_string();
    Some(format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {ICONS} 1\">{parts}{cells}</svg>"))
}

fn parts(sprite: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let inner = sprite.trim_end().trim_end_matches("</svg>");
    let begins = inner.match_indices("\n<").filter(|(at, _)| !inner[*at..].starts_with("\n</")).map(|(at, _)| at + 1);
    let starts: Vec<_> = begins.collect();
    let ends: Vec<_> = starts.iter().copied().skip(1).chain([inner.len()]).collect();
    let parts = starts.into_iter().zip(ends).filter_map(|(start, end)| inner.get(start..end));
    parts.filter_map(|part| Some((part.split_once(" id=\"")?.1.split_once('"')?.0, part)))
}

fn uses(part: &'static str) -> impl Iterator<Item = &'static str> {
    let by = |how: &'static str| part.split(how).skip(1).filter_map(|rest| rest.split(['"', ')']).next());
    by("href=\"#").chain(by("url(#"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPRITE: &str = "<svg>\n<g id=\"a\" fill=\"url(#c)\">\n  <path/>\n</g>\n<g id=\"b\"/>\n<g id=\"c\"><use href=\"#a\"/></g>\n</svg>\n";

    #[test]
    fn pl_37_generated_code_is_the_same_in_every_folder() {
        assert!(!include_str!(concat!(env!("OUT_DIR"), "/sprites.rs")).contains(env!("CARGO_MANIFEST_DIR")));
    }

    #[test]
    fn pl_19_each_game_has_an_icon_of_its_highest_paying_symbols() {
        for game in motherlode_slots::latest_games() {
            let icon = icon(game.name(), game.rules_version()).unwrap();
            assert_eq!(icon.matches("<use href=\"#C").count(), ICONS, "{}", game.name());
            assert_eq!(icon.matches("<svg").count(), icon.matches("</svg>").count(), "{}", game.name());
        }
        assert_eq!(icon("neptune", "0.0"), None);
    }

    #[test]
    fn pl_19_a_page_embeds_what_it_shows_and_what_that_uses() {
        let of =
            |names: &[&str]| embedded(SPRITE, &names.iter().map(|name| (*name).to_owned()).collect()).into_string();
        let both = of(&["a"]);
        assert!(both.contains("<path/>\n</g>\n<g id=\"c\">"), "whole parts: {both}");
        assert!(both.contains("id=\"a\"") && both.contains("id=\"c\"") && !both.contains("id=\"b\""), "{both}");
        let one = of(&["b", "b", "unknown"]);
        assert_eq!((one.matches(" id=").count(), one.matches("href=\"#b\"").count()), (2, 1), "{one}");
    }
}
