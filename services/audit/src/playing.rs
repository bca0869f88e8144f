//! A player: as the books have it, rounds that are open, and the figures that go from round to round.

use crate::{days::Days, divergence::Fault};
use foldhash::fast::RandomState;
use motherlode_books::{Event, Minor, PlayerState, SmolStr, StepResolved, StreamId};
use motherlode_rounds::{Live, collection};
use motherlode_slots::{Carried, Game};
use std::collections::{BTreeMap, HashMap};

/// Game and scope of a collection.
pub(crate) type Place = (&'static str, SmolStr);

/// Players by their streams, each looked up once a commit, for all judges.
#[derive(Default)]
pub(crate) struct Players(HashMap<StreamId, Player, RandomState>);

impl Players {
    /// Hands out the player of a stream, who begins with its first commit.
    pub(crate) fn of<T>(&mut self, stream: &StreamId, judge: impl FnOnce(&mut Player) -> T) -> T {
        match self.0.get_mut(stream) {
            Some(player) => judge(player),
            None => judge(self.0.entry(stream.clone()).or_default()),
        }
    }

    /// A player that had a commit.
    pub(crate) fn get(&self, stream: &StreamId) -> Option<&Player> {
        self.0.get(stream)
    }
}

/// In no order.
impl IntoIterator for Players {
    type Item = (StreamId, Player);
    type IntoIter = std::collections::hash_map::IntoIter<StreamId, Player>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A player.
#[derive(Default)]
pub(crate) struct Player {
    pub(crate) state: PlayerState,
    pub(crate) days: Days,
    /// By number.
    pub(crate) open: BTreeMap<u64, Playing>,
    carried: BTreeMap<Place, Carried>,
}

/// A round in play.
pub(crate) struct Playing {
    pub(crate) number: u64,
    /// Place in the returns.
    pub(crate) of: usize,
    pub(crate) pool: Option<SmolStr>,
    /// Where what the player carries stands; none where the game carries nothing.
    pub(crate) place: Option<Place>,
    pub(crate) live: Live,
    /// Steps with a sealed draw so far.
    pub(crate) sealed: usize,
    /// Those among them that are not revealed.
    pub(crate) held: Vec<Held>,
}

/// A step that can't be resolved yet, with what its commit says that it came to.
pub(crate) struct Held {
    pub(crate) step: StepResolved,
    pub(crate) client_seed: Vec<u8>,
    /// The figures that the player carried before it, and the change.
    pub(crate) before: Carried,
    pub(crate) collection: Option<Event>,
    pub(crate) credit: Option<Minor>,
    pub(crate) hit: bool,
}

impl Player {
    pub(crate) fn keep(&mut self, round: Option<Playing>) {
        if let Some(round) = round {
            self.open.insert(round.number, round);
        }
    }

    pub(crate) fn take(&mut self, number: u64) -> Result<Playing, Fault> {
        let missing = || Fault::new("a step of a round that is not open", "an open round", format!("round {number}"));
        self.open.remove(&number).ok_or_else(missing)
    }

    /// Returns the figures of a collection, with those that hold for all currencies (DM-14).
    pub(crate) fn carried(&self, game: &dyn Game, place: &Place) -> Carried {
        let own = self.carried.get(place).copied().unwrap_or_default();
        let of_game = self.carried.iter().filter(|((name, _), _)| *name == place.0);
        collection::with_shared(game, &place.1, own, of_game.map(|((_, scope), carried)| (scope.as_str(), *carried)))
    }

    /// Keeps what a change from `before` to `after` notes in a place.
    pub(crate) fn note(&mut self, place: &Place, before: &Carried, after: &Carried) {
        let own = match self.carried.get_mut(place) {
            Some(own) => own,
            None => self.carried.entry(place.clone()).or_default(),
        };
        *own = collection::noted(own, before, after);
    }

    /// Takes up what the player carries from here on; the change that the log must have.
    pub(crate) fn carry(&mut self, playing: &Playing, carried: Carried) -> Option<Event> {
        let (place, game) = (playing.place.as_ref()?, playing.live.game);
        let before = self.carried(game, place);
        self.note(place, &before, &carried);
        collection::change(game, &place.1, &before, &carried)
    }

    /// Takes up a change of what the player carries as it's logged.
    pub(crate) fn carry_logged(&mut self, round: &Playing, before: &Carried, changes: &[(SmolStr, i64)]) {
        let Some(place) = &round.place else { return };
        let mut after = *before;
        for (figure, key) in after.0.iter_mut().zip(round.live.game.carries().keys) {
            let change = changes.iter().find(|(of, _)| of == key);
            *figure = change.map_or(*figure, |(_, value)| *value);
        }
        self.note(place, before, &after);
    }
}
