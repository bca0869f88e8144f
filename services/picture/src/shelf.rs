use crate::{
    draw::{
        cells::name,
        changes,
        shelves::{Shelf, first_word},
    },
    sprite,
};
use maud::{Markup, Render, html};
use motherlode_proto::round::v1::{CarriedFigure, Round, Step};
use motherlode_slots::GameInfo;
use std::collections::{BTreeMap, BTreeSet};

const PLACE: usize = 48;
const BOARD: usize = 6;

pub type Figures = BTreeMap<String, i64>;

#[must_use]
pub fn figures(of: &[CarriedFigure]) -> Figures {
    of.iter().map(|figure| (figure.key.clone(), figure.value)).collect()
}

#[must_use]
pub fn after_steps(game: &GameInfo, round: &Round) -> Vec<Markup> {
    let mut now = figures(&round.carried);
    let after = |step: &Step| {
        now.extend(figures(&step.carried));
        if step.carried.is_empty() { Markup::default() } else { shelf(game, &now) }
    };
    round.steps.iter().map(after).collect()
}

#[must_use]
pub fn shelf(game: &GameInfo, figures: &Figures) -> Markup {
    let figure = |key: &str| figures.get(key).copied().unwrap_or_default();
    let parts: Vec<Markup> = match Shelf::new(game, &figure) {
        None => return Markup::default(),
        Some(Shelf::Crystals { needs, colours }) => {
            let of_colour = |(symbol, has): (usize, usize)| {
                let places: Vec<_> = (0..needs).map(|place| (place < has).then_some(symbol)).collect();
                let colour = first_word(game, symbol);
                let label = format!("{colour} crystals: {has} of {needs}");
                board(game, &places, &label, format_args!("{colour}: {has} of {needs}"))
            };
            colours.into_iter().map(of_colour).collect()
        }
        Some(Shelf::Potions { places: [first, second], unlocked }) => {
            let named = |place: Option<usize>| place.map_or("none".to_owned(), |symbol| name(game, symbol));
            let label = format!("Potions: {}, {}", named(first), named(second));
            vec![board(game, &[first, second, None], &label, format_args!("Unlocked: {}", unlocked.join(", ")))]
        }
    };
    html! { div.shelves { @for part in parts { (part) } } }
}

#[must_use]
pub fn symbols(game: &GameInfo) -> BTreeSet<String> {
    let collected = game.symbols.iter().filter(|symbol| symbol.role == motherlode_slots::SymbolRole::Collected);
    collected.map(sprite::id).collect()
}

/// Returns the picture and description of a collection under the newest rules. If this program does not have the game,
/// returns the figures' keys and values as text.
#[must_use]
pub fn draw(game: &str, carried: &[CarriedFigure], currency: &str) -> (Markup, String) {
    match motherlode_slots::latest(game) {
        Some(game) => (shelf(game.info(), &figures(carried)), changes(game.info(), carried, currency)),
        None => {
            let told: Vec<_> = carried.iter().map(|of| format!("{} {}", of.key.replace('_', " "), of.value)).collect();
            (Markup::default(), told.join("; "))
        }
    }
}

#[must_use]
pub fn embedded(game: &str) -> Markup {
    match (sprite::for_game(game), motherlode_slots::latest(game)) {
        (Some(sprite), Some(game)) => sprite::embedded(sprite, &symbols(game.info())),
        _ => Markup::default(),
    }
}

fn board(game: &GameInfo, places: &[Option<usize>], label: &str, told: impl Render) -> Markup {
    let width = places.len() * PLACE;
    html! {
        figure {
            svg width=(width) viewBox={ "0 0 " (width) " " (PLACE + BOARD) } role="img" aria-label=(label) {
                @for (at, place) in places.iter().enumerate() {
                    @match place.and_then(|symbol| game.symbols.get(symbol)) {
                        Some(symbol) => {
                            use href={ "#" (sprite::id(symbol)) } x=(at * PLACE + 4) y="4" width=(PLACE - 8) height=(PLACE - 8) {}
                        }
                        None => circle.empty cx=(at * PLACE + PLACE / 2) cy=(PLACE / 2) r="15" {},
                    }
                }
                rect.wood y=(PLACE) width=(width) height=(BOARD) rx="2" {}
            }
            figcaption { (told) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn_shelf(game: &str, figures: &[(&str, i64)]) -> String {
        let figures = figures.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
        shelf(motherlode_slots::latest(game).unwrap().info(), &figures).into_string()
    }

    #[test]
    fn dm_11_crystals_stand_on_their_shelves_and_those_that_lack_are_rings() {
        let drawn = drawn_shelf("dwarf-mine", &[("green", 4), ("red", 1)]);
        assert!(drawn.contains("Green crystals: 4 of 5") && drawn.contains("Blue crystals: 0 of 5"), "{drawn}");
        assert_eq!((drawn.matches("#gc").count(), drawn.matches("#rc").count()), (4, 1), "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 15, "{drawn}");
        let drawn = drawn_shelf("dwarf-mine", &[("green", i64::MAX), ("red", -3)]);
        assert_eq!((drawn.matches("#gc").count(), drawn.matches("#rc").count()), (5, 0), "{drawn}");
    }

    #[test]
    fn wf_06_wf_11_potions_stand_beside_what_is_unlocked() {
        let drawn = drawn_shelf("witch-feature", &[("potion_1", 1), ("potion_2", 3), ("unlocked", 2)]);
        assert_eq!((drawn.matches("<use").count(), drawn.matches("<circle").count()), (2, 1), "{drawn}");
        assert!(drawn.contains("Unlocked: High Symbols, Random Wilds<"), "{drawn}");
        assert_eq!(drawn_shelf("witch-feature", &[]), "", "nothing was collected yet");
        assert_eq!(drawn_shelf("bewitched", &[("green", 4)]), "");
    }

    #[test]
    fn pl_19_a_step_shows_the_shelf_as_of_that_step() {
        let figure = |key: &str, value| CarriedFigure { key: key.to_owned(), value };
        let step = |carried| Step { carried, ..Step::default() };
        let steps = vec![step(vec![figure("green", 3)]), step(vec![]), step(vec![figure("blue", 1)])];
        let round = Round { carried: vec![figure("green", 2), figure("red", 5)], steps, ..Round::default() };
        let after = after_steps(motherlode_slots::latest("dwarf-mine").unwrap().info(), &round);
        let has = |at: usize, text: &str| after[at].0.contains(text);
        assert!(has(0, "Green: 3 of 5") && has(0, "Red: 5 of 5") && has(0, "Blue: 0 of 5"), "{after:?}");
        assert_eq!(after[1].0, "");
        assert!(has(2, "Green: 3 of 5") && has(2, "Blue: 1 of 5"), "{after:?}");
    }
}
