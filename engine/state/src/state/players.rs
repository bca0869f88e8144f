//! Players of an operator, ordered by name hash, so that lookups compare numbers. A sorted set of names
//! serves listings by prefix.
//!
//! For [snapshots](super::watch), the table records which players changed since the latest snapshot, and keeps former
//! states that the running snapshot has not written yet.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::age::Watch;
use super::player::PlayerState;

type Named = (SmolStr, Arc<PlayerState>);

type Slots = SmallVec<[Slot; 1]>;

#[derive(Debug, Clone)]
struct Slot {
    name: SmolStr,
    state: Arc<PlayerState>,
    /// Number of the first snapshot that contains the player's last change; 0 if unchanged since loading.
    changed: u32,
    used: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Name<'a> {
    name: &'a str,
    place: u64,
}

impl<'a> Name<'a> {
    pub fn new(name: &'a str) -> Self {
        Self { name, place: hash(name) }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Players {
    places: BTreeMap<u64, Slots>,
    names: BTreeSet<SmolStr>,
    /// Hashes of the names of players changed since the latest snapshot; may contain duplicates.
    changed: Vec<u64>,
    /// Former states of the players that changed after the running snapshot began.
    before: BTreeMap<u64, Vec<Named>>,
}

impl Players {
    pub fn get(&self, Name { name, place }: Name<'_>) -> Option<&Arc<PlayerState>> {
        let alike = self.places.get(&place)?;
        alike.iter().find(|slot| *slot.name == *name).map(|slot| &slot.state)
    }

    pub fn replace(&mut self, name: &str, state: Arc<PlayerState>, watch: Watch) -> Option<Arc<PlayerState>> {
        let place = hash(name);
        let alike = self.places.entry(place).or_default();
        let Some(slot) = alike.iter_mut().find(|slot| *slot.name == *name) else {
            let slot = Slot { name: name.into(), state, changed: watch.age, used: watch.age };
            self.names.insert(slot.name.clone());
            alike.insert(alike.partition_point(|of| *of.name < *name), slot);
            if watch.is_on() {
                self.changed.push(place);
            }
            return None;
        };
        let before = std::mem::replace(&mut slot.state, state);
        if slot.changed != watch.age {
            if watch.is_writing && slot.changed > watch.written {
                self.before.entry(place).or_default().push((slot.name.clone(), Arc::clone(&before)));
            }
            (slot.changed, slot.used) = (watch.age, watch.age);
            self.changed.push(place);
        }
        Some(before)
    }

    pub fn load(&mut self, name: &str, state: PlayerState, watch: Watch) {
        let alike = self.places.entry(hash(name)).or_default();
        if !alike.iter().any(|slot| *slot.name == *name) {
            let slot = Slot { name: name.into(), state: Arc::new(state), changed: 0, used: watch.age };
            self.names.insert(slot.name.clone());
            alike.insert(alike.partition_point(|of| *of.name < *name), slot);
        }
    }

    pub fn by_name(&self) -> impl Iterator<Item = (&str, &PlayerState)> {
        let mut all: Vec<_> = self.places.values().flatten().map(|slot| (&*slot.name, &*slot.state)).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all.into_iter()
    }

    pub fn after(&self, prefix: &str, after: &str) -> impl Iterator<Item = (&str, &PlayerState)> {
        let begin = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
        let names = self.names.range::<str, _>((begin, Bound::Unbounded)).map(SmolStr::as_str);
        let begin = names.take_while(move |name| name.starts_with(prefix));
        begin.filter_map(|name| Some((name, &**self.get(Name::new(name))?)))
    }

    pub fn into_states(self) -> impl Iterator<Item = Named> {
        self.places.into_values().flatten().map(|slot| (slot.name, slot.state))
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }

    pub fn changed(&self) -> usize {
        self.changed.len()
    }

    pub fn freeze(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.changed)
    }

    /// Returns players with the name hash `place`, as of the snapshot's start.
    pub fn frozen(&self, place: u64, watch: Watch) -> impl Iterator<Item = (&str, &Arc<PlayerState>)> {
        let unchanged = self.places.get(&place).into_iter().flatten();
        let unchanged = unchanged.filter(move |slot| slot.changed > watch.written && slot.changed < watch.age);
        let before = self.before.get(&place).into_iter().flatten();
        unchanged.map(|slot| (&*slot.name, &slot.state)).chain(before.map(|(name, state)| (&**name, state)))
    }

    pub fn thaw(&mut self, unwritten: Vec<u64>) -> impl Sized + use<> {
        self.changed.extend(unwritten);
        std::mem::take(&mut self.before)
    }

    /// Evicts players that were not used since snapshot `used - 1` began, and have no unwritten changes or open rounds.
    /// Returns the name hash at which the next call should start.
    pub fn evict(&mut self, from: u64, places: usize, used: u32, watch: Watch) -> Option<u64> {
        let mut seen = self.places.range_mut(from..);
        let mut empty = vec![];
        for (place, alike) in seen.by_ref().take(places) {
            alike.retain(|slot| {
                let stays = slot.changed > watch.written || slot.used >= used || !slot.state.open.is_empty();
                stays || !self.names.remove(&slot.name)
            });
            if alike.is_empty() {
                empty.push(*place);
            }
        }
        let next = seen.next().map(|(place, _)| *place);
        for place in empty {
            self.places.remove(&place);
        }
        next
    }
}

impl PartialEq for Players {
    fn eq(&self, other: &Self) -> bool {
        let mut alike = self.places.values().flatten().zip(other.places.values().flatten());
        self.count() == other.count() && alike.all(|(one, other)| one.name == other.name && one.state == other.state)
    }
}

impl Eq for Players {}

fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn player(rounds_started: u64) -> Arc<PlayerState> {
        let mut player = PlayerState::default();
        player.rounds_started = rounds_started;
        Arc::new(player)
    }

    fn put(players: &mut Players, name: &str, rounds_started: u64, watch: Watch) -> Option<u64> {
        players.replace(name, player(rounds_started), watch).map(|before| before.rounds_started)
    }

    fn by_name(players: &Players) -> Vec<(&str, u64)> {
        players.by_name().map(|(name, player)| (name, player.rounds_started)).collect()
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
        let slot = |name: &str, rounds| Slot { name: name.into(), state: player(rounds), changed: 0, used: 0 };
        let places = BTreeMap::from([(hash("b"), smallvec![slot("a", 1), slot("c", 3)])]);
        let names = ["a", "c"].map(SmolStr::from).into();
        let mut players = Players { places, names, ..Players::default() };
        assert_eq!(players.get(Name::new("b")), None);
        assert_eq!(put(&mut players, "b", 2, Watch::default()), None);
        assert_eq!(put(&mut players, "b", 4, Watch::default()), Some(2));
        assert_eq!(players.get(Name::new("b")), Some(&player(4)));
        assert_eq!(by_name(&players), [("a", 1), ("b", 4), ("c", 3)]);
    }

    #[test]
    fn pl_20_players_are_listed_by_prefix_in_order_of_names() {
        let mut players = Players::default();
        for (name, rounds) in [("bob", 1), ("al", 2), ("alice", 3), ("alan", 4), ("b", 5)] {
            put(&mut players, name, rounds, Watch::default());
        }
        let listed = |prefix: &str, after: &str| {
            players
                .after(prefix, after)
                .map(|(name, player)| (name.to_owned(), player.rounds_started))
                .collect::<Vec<_>>()
        };
        let named =
            |all: &[(&str, u64)]| all.iter().map(|(name, rounds)| ((*name).to_owned(), *rounds)).collect::<Vec<_>>();
        assert_eq!(listed("al", ""), named(&[("al", 2), ("alan", 4), ("alice", 3)]));
        assert_eq!(listed("al", "alan"), named(&[("alice", 3)]));
        assert_eq!(listed("al", "b"), []);
        assert_eq!(listed("", "alice"), named(&[("b", 5), ("bob", 1)]));
        let watch = Watch { age: 2, written: 1, ..Watch::default() };
        players.load("zed", PlayerState::default(), watch);
        while players.evict(0, 64, u32::MAX, watch).is_some() {}
        assert_eq!((players.count(), players.after("", "").count()), (0, 0), "evicted players are not listed");
    }

    #[test]
    fn equal_players_are_equal_however_they_came() {
        let all = |names: [&str; 3]| {
            let mut players = Players::default();
            names.iter().for_each(|name| _ = put(&mut players, name, 1, Watch::default()));
            players
        };
        assert_eq!(all(["x", "y", "z"]), all(["z", "y", "x"]));
    }
}
