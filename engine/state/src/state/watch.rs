//! Snapshots of the books, taken while commits continue.
//!
//! [`Books::freeze`] begins a snapshot, for which the players' earlier states are kept until [`Books::thaw`].
//! [`Books::evict`] removes unchanged players from memory. Before a commit on an evicted player's stream,
//! [`Books::load`] must load the player; otherwise the player would count as new.

use std::sync::Arc;

use smol_str::SmolStr;

use super::books::Books;
use super::player::PlayerState;
use crate::values::StreamId;

pub type Frozen = Vec<(SmolStr, Vec<u64>)>;

#[derive(Debug, Clone, Default)]
pub struct Hand {
    operator: SmolStr,
    place: u64,
}

impl Books {
    pub fn watch(&mut self) {
        self.watch.age = self.watch.age.max(1);
    }

    #[must_use]
    pub fn players_in_memory(&self) -> usize {
        self.operators.values().map(|operator| operator.players.count()).sum()
    }

    #[must_use]
    pub fn players_changed(&self) -> usize {
        self.operators.values().map(|operator| operator.players.changed()).sum()
    }

    /// Number of the latest complete snapshot, which contains the current state of every evicted player.
    #[must_use]
    pub fn latest_snapshot(&self) -> u32 {
        self.watch.written
    }

    /// Begins a snapshot. The caller must encode `self` before the state changes; `self` does not contain the players.
    pub fn freeze(&mut self) -> Frozen {
        self.watch.age += 1;
        self.watch.is_writing = true;
        let operators = self.operators.iter_mut();
        operators.map(|(name, operator)| (name.clone(), operator.players.freeze())).collect()
    }

    pub fn frozen(&self, operator: &str, place: u64) -> impl Iterator<Item = (&str, &Arc<PlayerState>)> {
        let operator = self.operators.get(operator).into_iter();
        operator.flat_map(move |operator| operator.players.frozen(place, self.watch))
    }

    /// Ends a snapshot. After a failure, `unwritten` names the players that the next snapshot must also write. Drop the
    /// result after releasing the lock on the books, because dropping it is slow.
    pub fn thaw(&mut self, unwritten: Option<Frozen>) -> impl Sized + use<> {
        self.watch.is_writing = false;
        if unwritten.is_none() {
            self.watch.written = self.watch.age - 1;
        }
        let mut unwritten: std::collections::BTreeMap<_, _> = unwritten.into_iter().flatten().collect();
        let operators = self.operators.iter_mut();
        let kept = operators.map(|(name, operator)| operator.players.thaw(unwritten.remove(name).unwrap_or_default()));
        kept.collect::<Vec<_>>()
    }

    pub fn load(&mut self, stream: &StreamId, state: PlayerState) {
        let StreamId::Player { operator, player } = stream else { return };
        let watch = self.watch;
        self.operators.entry(operator.clone()).or_default().players.load(player, state, watch);
    }

    /// Evicts the players in the next `places` slots of the player table. Players with unwritten changes or open rounds
    /// stay; if `recent` is false, recently used players stay too. Returns whether the end of the table was reached.
    pub fn evict(&mut self, hand: &mut Hand, places: usize, recent: bool) -> bool {
        let watch = self.watch;
        let used = if recent { u32::MAX } else { watch.age.saturating_sub(1) };
        let from = self.operators.range_mut(hand.operator.clone()..).next();
        let Some((name, operator)) = from else {
            *hand = Hand::default();
            return true;
        };
        if *name != hand.operator {
            *hand = Hand { operator: name.clone(), place: 0 };
        }
        match operator.players.evict(hand.place, places, used, watch) {
            Some(place) => hand.place = place,
            None => *hand = Hand { operator: format!("{name}\0").into(), place: 0 },
        }
        false
    }
}
