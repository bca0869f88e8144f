//! The list of games: every rules version of every game.

use std::sync::LazyLock;

use crate::contract::game::Game;
use crate::games::bewitched::Bewitched;
use crate::games::dwarf_mine::DwarfMine;
use crate::games::mystery_elves::MysteryElves;
use crate::games::neptune::Neptune;
use crate::games::witch_feature::WitchFeature;
use crate::parts::compiled::versions;

/// Every version of every game, game by game, each game's oldest version first. What was once played stays here (PL-01).
#[must_use]
pub fn games() -> &'static [&'static dyn Game] {
    static GAMES: LazyLock<Vec<&'static dyn Game>> = LazyLock::new(|| {
        [
            versions::<Bewitched>(),
            versions::<DwarfMine>(),
            versions::<MysteryElves>(),
            versions::<Neptune>(),
            versions::<WitchFeature>(),
        ]
        .concat()
    });
    &GAMES
}

/// The game of this name and rules version.
#[must_use]
pub fn game(name: &str, rules_version: &str) -> Option<&'static dyn Game> {
    games().iter().copied().find(|g| g.name() == name && g.rules_version() == rules_version)
}

/// The latest version of every game, which is what's played where nobody names a version.
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

/// The latest version of the game of this name.
#[must_use]
pub fn latest(name: &str) -> Option<&'static dyn Game> {
    games().iter().copied().rev().find(|g| g.name() == name)
}
