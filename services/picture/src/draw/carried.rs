//! What a player carries from round to round, as a shelf: crystals, potions, unlocked features.

use super::{Hue, Pen, window};
use motherlode_slots::{GameInfo, game::SymbolRole};

/// The Potion features in the order in which they are unlocked (WF-11).
const FEATURES: [&str; 4] = ["High Symbols", "Random Wilds", "Multiplier", "Mega Wild"];

/// The shelf of a game, from the figures carried by their keys; nothing where the game's symbols are not collected.
///
/// A colour's figure counts its crystals, `collection_needs` of which complete it (DM-11); `potion_1` and `potion_2`
/// name a Potion by its place among the collected symbols from 1 (WF-06), and `unlocked` counts features (WF-11).
pub(super) fn shelf(game: &GameInfo, figure: &dyn Fn(&str) -> i64, pen: Pen) -> Vec<String> {
    let collected: Vec<_> =
        (0..game.symbols.len()).filter(|at| role(game, *at) == Some(SymbolRole::Collected)).collect();
    let count = |key: &str| usize::try_from(figure(key)).unwrap_or_default();
    let needs = game.facts.iter().find(|fact| fact.key == "collection_needs").and_then(|fact| fact.value.parse().ok());
    if let (Some(needs), false) = (needs, collected.is_empty()) {
        let colours: Vec<_> = collected.iter().map(|symbol| colour(game, *symbol, &count, needs, pen)).collect();
        return vec![format!("  Crystals   {}", colours.join("   "))];
    }
    let unlocked = count("unlocked");
    if collected.is_empty() || (unlocked == 0 && count("potion_1") == 0) {
        return vec![];
    }
    let potion = |key: &str| match count(key).checked_sub(1).and_then(|place| collected.get(place)) {
        Some(symbol) => pen.bold(window::hue(game, *symbol), &format!("◉ {}", first_word(game, *symbol))),
        None => pen.dim("○"),
    };
    // A new player has the first feature without having been told so.
    let features = FEATURES[..unlocked.clamp(1, FEATURES.len())].join(", ");
    vec![format!(
        "  Potions    {}   {}   {}   unlocked: {features}",
        potion("potion_1"),
        potion("potion_2"),
        pen.dim("○")
    )]
}

/// A colour and its crystals, those that lack as rings: `Green ●●○○○`.
fn colour(game: &GameInfo, symbol: usize, count: &dyn Fn(&str) -> usize, needs: usize, pen: Pen) -> String {
    let name = first_word(game, symbol);
    let has = count(&name.to_lowercase()).min(needs);
    let crystals = pen.bold(window::hue(game, symbol), &"●".repeat(has));
    format!("{name} {crystals}{}", pen.plain(Hue::Grey, &"○".repeat(needs - has)))
}

fn role(game: &GameInfo, symbol: usize) -> Option<SymbolRole> {
    game.symbols.get(symbol).map(|symbol| symbol.role)
}

fn first_word(game: &GameInfo, symbol: usize) -> String {
    window::name(game, symbol).split(' ').next().unwrap_or_default().to_owned()
}
