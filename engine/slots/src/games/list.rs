use std::sync::{LazyLock, OnceLock};

use crate::contract::game::{Game, RulesVersion};
use crate::games::bewitched::{self, Bewitched};
use crate::games::dwarf_mine::{self, DwarfMine};
use crate::games::mystery_elves::{self, MysteryElves};
use crate::games::neptune::{self, Neptune};
use crate::games::witch_feature::{self, WitchFeature};
use crate::parts::file::ModelError;

/// Returns all versions of all games, grouped by game, oldest first. Played versions are never removed (PL-01).
#[must_use]
pub fn games() -> &'static [&'static dyn Game] {
    GAMES.get_or_init(built_in)
}

static GAMES: OnceLock<Vec<&'static dyn Game>> = OnceLock::new();

fn built_in() -> Vec<&'static dyn Game> {
    [
        versions(&bewitched::VERSIONS, Bewitched::new),
        versions(&dwarf_mine::VERSIONS, DwarfMine::new),
        versions(&mystery_elves::VERSIONS, MysteryElves::new),
        versions(&neptune::VERSIONS, Neptune::new),
        versions(&witch_feature::VERSIONS, WitchFeature::new),
    ]
    .concat()
}

/// Adds games, or returns false if [`games`] was called before.
pub fn add_games(games: &[&'static dyn Game]) -> bool {
    GAMES.set([&built_in(), games].concat()).is_ok()
}

fn versions<G: Game + 'static>(
    all: &'static [RulesVersion],
    of: impl Fn(&'static RulesVersion) -> Result<G, ModelError>,
) -> Vec<&'static dyn Game> {
    let game = |version| -> &'static dyn Game {
        Box::leak(Box::new(of(version).expect("the embedded data file is valid, because a test loads it")))
    };
    all.iter().map(game).collect()
}

#[must_use]
pub fn game(name: &str, rules_version: &str) -> Option<&'static dyn Game> {
    games().iter().copied().find(|g| g.name() == name && g.rules_version() == rules_version)
}

#[must_use]
pub fn latest_games() -> &'static [&'static dyn Game] {
    static LATEST: LazyLock<Vec<&'static dyn Game>> = LazyLock::new(|| {
        let mut latest = games().to_vec();
        latest.reverse();
        latest.dedup_by_key(|game| game.name());
        latest.reverse();
        latest
    });
    &LATEST
}

#[must_use]
pub fn standard() -> &'static dyn Game {
    latest_games()[0]
}

#[must_use]
pub fn standard_pool() -> &'static str {
    latest_games().iter().find_map(|game| game.pool()).unwrap_or_default()
}

#[must_use]
pub fn latest(name: &str) -> Option<&'static dyn Game> {
    games().iter().copied().rev().find(|g| g.name() == name)
}
