//! Snapshots of books that go on changing: which players are to be written, and as what.
//!
//! Time is counted in ages. A snapshot begins by ending one ([`Books::freeze`]), which costs the same however many players there
//! are; what changes from then on belongs to the next age, and what it was before is kept until the snapshot is
//! written ([`Books::thaw`]). So it's written in fragments, while commits go on, and is exactly the books at one position.
//!
//! A player that is as the latest snapshot has it can be dropped from memory ([`Books::evict`]), and must be loaded again
//! ([`Books::load`]) before a commit on its stream is folded: to books that know fewer players than their log, one that is not
//! in memory is one that never was. Whoever folds, decides or reads sees to that.

use std::sync::Arc;

use smol_str::SmolStr;

use super::books::Books;
use super::player::PlayerState;
use crate::values::StreamId;

/// The players that a snapshot must write: an operator, and places of its players.
pub type Frozen = Vec<(SmolStr, Vec<u64>)>;

/// Where [`Books::evict`] goes on.
#[derive(Debug, Clone, Default)]
pub struct Hand {
    operator: SmolStr,
    place: u64,
}

impl Books {
    /// From now on it's noted which players change.
    pub fn watch(&mut self) {
        self.watch.age = self.watch.age.max(1);
    }

    /// How many players are in memory.
    #[must_use]
    pub fn players_in_memory(&self) -> usize {
        self.operators.values().map(|operator| operator.players.count()).sum()
    }

    /// About how many of them have changed since the latest snapshot began.
    #[must_use]
    pub fn players_changed(&self) -> usize {
        self.operators.values().map(|operator| operator.players.changed()).sum()
    }

    /// The latest snapshot: as long as it's the same, who is not in memory is as it was.
    #[must_use]
    pub fn latest_snapshot(&self) -> u32 {
        self.watch.written
    }

    /// Begins a snapshot of the books as they are. Cost: O(operators). All else of them is what their serialization has, which is to be
    /// made before they change.
    pub fn freeze(&mut self) -> Frozen {
        self.watch.age += 1;
        self.watch.is_writing = true;
        let operators = self.operators.iter_mut();
        operators.map(|(name, operator)| (name.clone(), operator.players.freeze())).collect()
    }

    /// The players of a place as they were when the snapshot began: name and state.
    pub fn frozen(&self, operator: &str, place: u64) -> impl Iterator<Item = (&str, &Arc<PlayerState>)> {
        let operator = self.operators.get(operator).into_iter();
        operator.flat_map(move |operator| operator.players.frozen(place, self.watch))
    }

    /// Ends the snapshot: it was written, or `unwritten` is left for the next one. What is returned is only to be dropped, where
    /// nobody waits for the books.
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

    /// Adds a player that isn't in memory, as the latest snapshot has it; its totals and the list of open rounds are in the books
    /// already.
    pub fn load(&mut self, stream: &StreamId, state: PlayerState) {
        let StreamId::Player { operator, player } = stream else { return };
        let watch = self.watch;
        self.operators.entry(operator.clone()).or_default().players.load(player, state, watch);
    }

    /// Drops players from memory that are as the latest snapshot has them and have no open round: looks at so many places, and
    /// answers whether the hand has come round. `recent` also drops those that were used since the snapshot before it.
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
            // No name comes between this one and the next.
            None => *hand = Hand { operator: format!("{name}\0").into(), place: 0 },
        }
        false
    }
}
