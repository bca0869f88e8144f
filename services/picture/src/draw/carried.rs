use super::{
    pen::{Hue, Pen},
    window,
};
use motherlode_proto::round::v1::CarriedFigure;
use motherlode_slots::{GameInfo, SymbolRole};
use motherlode_state::CoinValue;

const FEATURES: [&str; 4] = ["High Symbols", "Random Wilds", "Multiplier", "Mega Wild"];

pub(crate) enum Shelf {
    Crystals { needs: usize, colours: Vec<(usize, usize)> },
    Potions { places: [Option<usize>; 2], unlocked: &'static [&'static str] },
}

impl Shelf {
    /// Reads a collection from its figures: the number of crystals per colour (DM-11), 1-based indexes of collected
    /// symbols in `potion_1` and `potion_2` (WF-06), and the number of unlocked features in `unlocked` (WF-11).
    pub(crate) fn new(game: &GameInfo, figure: &dyn Fn(&str) -> i64) -> Option<Self> {
        let collected: Vec<_> =
            (0..game.symbols.len()).filter(|at| role(game, *at) == Some(SymbolRole::Collected)).collect();
        let count = |key: &str| usize::try_from(figure(key)).unwrap_or_default();
        let needs = usize::try_from(game.collection_needs).unwrap_or_default();
        if needs > 0 && !collected.is_empty() {
            let has = |symbol: usize| count(&first_word(game, symbol).to_lowercase()).min(needs);
            let colours = collected.iter().map(|symbol| (*symbol, has(*symbol))).collect();
            return Some(Self::Crystals { needs, colours });
        }
        let unlocked = count("unlocked");
        if collected.is_empty() || (unlocked == 0 && count("potion_1") == 0) {
            return None;
        }
        let place = |key: &str| count(key).checked_sub(1).and_then(|place| collected.get(place)).copied();
        let unlocked = &FEATURES[..unlocked.clamp(1, FEATURES.len())];
        Some(Self::Potions { places: [place("potion_1"), place("potion_2")], unlocked })
    }
}

pub(super) fn shelf(game: &GameInfo, figure: &dyn Fn(&str) -> i64, pen: Pen) -> Vec<String> {
    match Shelf::new(game, figure) {
        None => vec![],
        Some(Shelf::Crystals { needs, colours }) => {
            let colours: Vec<_> =
                colours.into_iter().map(|(symbol, has)| colour(game, symbol, has, needs, pen)).collect();
            vec![format!("  Crystals   {}", colours.join("   "))]
        }
        Some(Shelf::Potions { places, unlocked }) => {
            let potion = |place: Option<usize>| match place {
                Some(symbol) => pen.bold(window::hue(game, symbol), &format!("◉ {}", first_word(game, symbol))),
                None => pen.dim("○"),
            };
            let ([first, second], features) = (places.map(potion), unlocked.join(", "));
            vec![format!("  Potions    {first}   {second}   {}   unlocked: {features}", pen.dim("○"))]
        }
    }
}

/// Describes changed figures of a collection; an unknown figure is labelled with its key. `<colour>_micros` is the sum
/// of a colour's coin values in millionths, `red_gifted` is the number of red crystals received as a gift, and `given`
/// states whether the player has received the gift (DM-14).
pub(super) fn changes(game: &GameInfo, figures: &[CarriedFigure], currency: &str) -> String {
    let collected: Vec<_> =
        (0..game.symbols.len()).filter(|at| role(game, *at) == Some(SymbolRole::Collected)).collect();
    let of_colour = |key: &str| {
        let named = |at: &&usize| first_word(game, **at).to_lowercase() == key;
        collected.iter().find(named).map(|at| window::name(game, *at))
    };
    let told = |CarriedFigure { key, value }: &CarriedFigure| {
        if let Some(name) = of_colour(key) {
            return crate::figures::counted(u64::try_from(*value).unwrap_or_default(), &name);
        }
        if let Some(name) = key.strip_suffix("_micros").and_then(of_colour) {
            let sum = CoinValue(u64::try_from(*value).unwrap_or_default());
            return format!("sum of the coin values at which the {name}s were collected: {sum} {currency}");
        }
        if let Some(name) = key.strip_suffix("_gifted").and_then(of_colour) {
            return format!("number of {name}s from the new player's gift: {value}");
        }
        let potion = usize::try_from(*value).ok().and_then(|place| place.checked_sub(1));
        let potion = potion.and_then(|place| collected.get(place)).map(|at| window::name(game, *at));
        if let Some(name) = game.companion(*value).filter(|_| key == "witch") {
            return format!("the {name}");
        }
        match (key.as_str(), potion) {
            ("given", _) if *value > 0 => "the new player's gift of crystals: received".to_owned(),
            ("given", _) => "the new player's gift of crystals: not received yet".to_owned(),
            ("potion_1", potion) => format!("potion slot 1: {}", potion.unwrap_or("empty".to_owned())),
            ("potion_2", potion) => format!("potion slot 2: {}", potion.unwrap_or("empty".to_owned())),
            ("unlocked", _) => {
                let count = usize::try_from(*value).unwrap_or_default().clamp(1, FEATURES.len());
                format!("unlocked {}", FEATURES[..count].join(", "))
            }
            (other, _) => format!("{} {value}", other.replace('_', " ")),
        }
    };
    figures.iter().map(told).collect::<Vec<_>>().join("; ")
}

fn colour(game: &GameInfo, symbol: usize, has: usize, needs: usize, pen: Pen) -> String {
    let crystals = pen.bold(window::hue(game, symbol), &"●".repeat(has));
    format!("{} {crystals}{}", first_word(game, symbol), pen.plain(Hue::Grey, &"○".repeat(needs - has)))
}

fn role(game: &GameInfo, symbol: usize) -> Option<SymbolRole> {
    game.symbols.get(symbol).map(|symbol| symbol.role)
}

pub(crate) fn first_word(game: &GameInfo, symbol: usize) -> String {
    window::name(game, symbol).split(' ').next().unwrap_or_default().to_owned()
}
