use crate::{days::Days, divergence::Fault};
use foldhash::fast::RandomState;
use motherlode_rounds::{
    Live,
    collection::{self, Sharing},
};
use motherlode_slots::{Carried, Game};
use motherlode_state::{Event, Minor, PlayerState, SmolStr, StateDigest, StepResolved, StreamId};
use std::collections::{BTreeMap, HashMap};

/// Operator id, player id, and digest of the player's state.
pub(crate) type PlayerDigest = (SmolStr, SmolStr, [u8; 32]);

pub(crate) type CollectionKey = (&'static str, SmolStr);

#[derive(Default)]
pub(crate) struct Players(HashMap<Box<[u8]>, Box<Player>, RandomState>);

impl Players {
    pub(crate) fn for_stream(&mut self, stream: &StreamId) -> &mut Player {
        let name = stream.to_string().into_bytes().into();
        self.0.entry(name).or_insert_with(|| Box::new(Player::new(stream.clone())))
    }

    pub(crate) fn named(&mut self, name: &[u8]) -> Option<&mut Player> {
        self.0.get_mut(name).map(AsMut::as_mut)
    }

    pub(crate) fn digests(&self) -> Result<Vec<PlayerDigest>, Fault> {
        let digest = |player: &Player| match &player.stream {
            StreamId::Player { operator, player: name } => {
                let digest = StateDigest::player(operator, name, &player.state).map_err(Fault::from)?;
                Ok(Some((operator.clone(), name.clone(), digest)))
            }
            _ => Ok(None),
        };
        self.0
            .values()
            .filter(|player| player.state.head.version > 0)
            .filter_map(|player| digest(player).transpose())
            .collect()
    }

    pub(crate) fn into_all(self) -> impl Iterator<Item = Player> {
        self.0.into_values().map(|player| *player)
    }
}

pub(crate) struct Player {
    pub(crate) stream: StreamId,
    pub(crate) state: PlayerState,
    pub(crate) days: Days,
    pub(crate) open: BTreeMap<u64, Playing>,
    carried: BTreeMap<CollectionKey, Carried>,
}

pub(crate) struct Playing {
    pub(crate) number: u64,
    pub(crate) of: usize,
    pub(crate) pool: Option<SmolStr>,
    pub(crate) place: Option<CollectionKey>,
    pub(crate) sharing: Sharing,
    pub(crate) live: Live,
    pub(crate) sealed: usize,
    pub(crate) deferred: Vec<DeferredStep>,
}

pub(crate) struct DeferredStep {
    pub(crate) step: StepResolved,
    pub(crate) client_seed: Vec<u8>,
    pub(crate) before: Carried,
    pub(crate) collection: Option<Event>,
    pub(crate) credit: Option<Minor>,
    pub(crate) hit: bool,
}

impl Player {
    fn new(stream: StreamId) -> Self {
        let (open, carried) = (BTreeMap::new(), BTreeMap::new());
        Self { stream, state: PlayerState::default(), days: Days::default(), open, carried }
    }

    pub(crate) fn keep(&mut self, round: Option<Playing>) {
        if let Some(round) = round {
            self.open.insert(round.number, round);
        }
    }

    pub(crate) fn take(&mut self, number: u64) -> Result<Playing, Fault> {
        let missing =
            || Fault::new("the step belongs to a round that is not open", "an open round", format!("round {number}"));
        self.open.remove(&number).ok_or_else(missing)
    }

    pub(crate) fn carried(&self, game: &dyn Game, sharing: Sharing, place: &CollectionKey) -> Carried {
        let own = self.carried.get(place).copied().unwrap_or_default();
        let of_game = self.carried.iter().filter(|((name, _), _)| *name == place.0);
        let of_game = of_game.map(|((_, scope), carried)| (scope.as_str(), *carried));
        collection::with_shared(game, sharing, &place.1, own, of_game)
    }

    pub(crate) fn note(&mut self, place: &CollectionKey, before: &Carried, after: &Carried) {
        let own = match self.carried.get_mut(place) {
            Some(own) => own,
            None => self.carried.entry(place.clone()).or_default(),
        };
        *own = collection::noted(own, before, after);
    }

    pub(crate) fn carry(&mut self, playing: &Playing, carried: Carried) -> Option<Event> {
        let (place, game) = (playing.place.as_ref()?, playing.live.game);
        let before = self.carried(game, playing.sharing, place);
        self.note(place, &before, &carried);
        collection::change(game, &place.1, &before, &carried)
    }

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
