//! An operator's players by name: the map that every bet looks into, several times.
//!
//! Ordered by a hash of the name, so that a look-up compares numbers that lie side by side, and reads one name instead of
//! one at every level. Names with the same hash share a place. An operator that lets players choose such names
//! makes its own look-ups slower, and nobody else's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::player::PlayerState;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Players(BTreeMap<u64, Vec<(String, PlayerState)>>);

impl Players {
    pub fn get(&self, name: &str) -> Option<&PlayerState> {
        let alike = self.0.get(&hash(name))?;
        alike.iter().find(|(of, _)| of == name).map(|(_, player)| player)
    }

    /// Sets a player's state. Returns the state before.
    pub fn replace(&mut self, name: &str, player: PlayerState) -> Option<PlayerState> {
        let alike = self.0.entry(hash(name)).or_default();
        if let Some((_, slot)) = alike.iter_mut().find(|(of, _)| of == name) {
            return Some(std::mem::replace(slot, player));
        }
        let place = alike.partition_point(|(of, _)| of.as_str() < name);
        alike.insert(place, (name.to_owned(), player));
        None
    }

    /// In order of their names.
    pub fn by_name(&self) -> impl Iterator<Item = (&str, &PlayerState)> {
        let mut all: Vec<_> = self.0.values().flatten().map(|(name, player)| (name.as_str(), player)).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all.into_iter()
    }
}

impl IntoIterator for Players {
    type Item = (String, PlayerState);
    type IntoIter = std::iter::Flatten<std::collections::btree_map::IntoValues<u64, Vec<(String, PlayerState)>>>;

    /// In no order that means anything, but always the same.
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values().flatten()
    }
}

/// FNV-1a (Fowler, Noll, Vo), 64 bits: names are short.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(rounds_started: u64) -> PlayerState {
        let mut player = PlayerState::default();
        player.rounds_started = rounds_started;
        player
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(
            [hash(""), hash("a"), hash("foobar")],
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }

    #[test]
    fn names_with_the_same_hash_are_different_players() {
        let mut players =
            Players(BTreeMap::from([(hash("b"), vec![("a".to_owned(), player(1)), ("c".to_owned(), player(3))])]));
        assert_eq!(players.get("b"), None);
        assert_eq!(players.replace("b", player(2)), None);
        assert_eq!(players.replace("b", player(4)), Some(player(2)));
        assert_eq!(players.get("b"), Some(&player(4)));
        let names: Vec<_> = players.by_name().map(|(name, player)| (name, player.rounds_started)).collect();
        assert_eq!(names, [("a", 1), ("b", 4), ("c", 3)]);
    }

    #[test]
    fn equal_players_are_equal_however_they_came() {
        let put = |names: [&str; 3]| {
            let mut players = Players::default();
            names.iter().for_each(|name| drop(players.replace(name, player(1))));
            players
        };
        assert_eq!(put(["x", "y", "z"]), put(["z", "y", "x"]));
    }
}
