//! Collections: converts between the engine's figures and those in the log.
//!
//! A collection is named by game and scope. It changes by events of its own, in the commit of the step that changed it,
//! and not in the step's outcome: so the books fold one kind of event, and nothing is said twice. Figures that are 0 are
//! not in a collection.

use crate::{
    live::{Unresolvable, game_of},
    terms::{terms_from_log, terms_of},
};
use motherlode_books::{Collection, Currency, Event, Minor, PlayerState, RoundStarted, SmolStr};
use motherlode_slots::{Carried, CarriedScope, Carries, Game, latest};

/// Key of the picked witch in the collection that belongs to all bets of the game (BW-05).
const WITCH: &str = "witch";

/// The witch that a player has picked in a game, as the number of [`motherlode_proto::round::v1::Witch`].
#[must_use]
pub fn witch(player: &PlayerState, game: &dyn Game) -> Option<i64> {
    player.collection(game.name(), "")?.get(WITCH).copied()
}

/// The pick of a witch.
#[must_use]
pub fn pick_witch(game: &dyn Game, witch: i64) -> Event {
    let changes = vec![(WITCH.into(), witch)];
    Event::CollectionChanged { game: game.name().into(), scope: SmolStr::default(), changes }
}

/// The witch that an event picks in a game; `None` for every other event.
#[must_use]
pub fn picked_witch(event: &Event, in_game: &str) -> Option<i64> {
    match event {
        Event::CollectionChanged { game, scope, changes } if game == in_game && scope.is_empty() => {
            changes.iter().find(|(key, _)| key == WITCH).map(|(_, witch)| *witch)
        }
        _ => None,
    }
}

/// The scope of the collection that a bet plays with: `EUR`, or `EUR 1.00` where each bet has its own (WF-12).
#[must_use]
pub fn scope(game: &dyn Game, currency: Currency, bet: Minor) -> SmolStr {
    match game.carries().scope {
        CarriedScope::Currency => currency.code().into(),
        CarriedScope::Bet => format!("{currency} {}", bet.to_decimal(currency)).into(),
    }
}

/// Reads the figures that a player carries into a round: those of its scope's collection, and those that hold for all
/// currencies, wherever they are noted (DM-14).
#[must_use]
pub fn carried_by(game: &dyn Game, player: &PlayerState, scope: &str) -> Carried {
    carried_under(game, Sharing::Game, player, scope)
}

/// As [`carried_by`], with the figures that hold for all currencies as a rules version says them.
#[must_use]
pub fn carried_under(game: &dyn Game, sharing: Sharing, player: &PlayerState, scope: &str) -> Carried {
    let own = carried(game, player.collection(game.name(), scope));
    let others = player.collections().filter(|(of, ..)| *of == game.name());
    let others = others.map(|(_, scope, collection)| (scope, carried(game, Some(collection))));
    with_shared(game, sharing, scope, own, others)
}

/// The rules version whose shared figures hold for all currencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// The newest version of the game, for rounds of every version: a gift that a player was given is not given again by
    /// an older version (DM-14). Every new round is opened so.
    Game,
    /// The round's own version, as rounds of older versions were opened before.
    Version,
}

/// Adds the shared figures to those of one scope: the highest of each, of all scopes of the game and of the same kind
/// of money.
#[must_use]
pub fn with_shared<'a>(
    game: &dyn Game,
    sharing: Sharing,
    scope: &str,
    own: Carried,
    all: impl Iterator<Item = (&'a str, Carried)>,
) -> Carried {
    let Carries { keys, mut shared, .. } = game.carries();
    if let (Sharing::Game, Some(newest)) = (sharing, latest(game.name())) {
        shared = newest.carries().shared;
    }
    if shared.is_empty() {
        return own;
    }
    all.filter(|(other, _)| is_play(other) == is_play(scope)).fold(own, |mut own, (_, other)| {
        let figures = own.0.iter_mut().zip(other.0).zip(keys);
        figures.filter(|(_, key)| shared.contains(key)).for_each(|((own, other), _)| *own = other.max(*own));
        own
    })
}

/// Whether a scope is one of play money.
fn is_play(scope: &str) -> bool {
    scope.split(' ').next() == Some(Currency::PLAY.code())
}

/// Computes a scope's figures after a change from `before` to `after`: unchanged figures stay noted where they were,
/// which may be another scope.
#[must_use]
pub fn noted(own: &Carried, before: &Carried, after: &Carried) -> Carried {
    Carried(std::array::from_fn(|at| if before.0[at] == after.0[at] { own.0[at] } else { after.0[at] }))
}

/// The figures of a collection; all 0 for none.
#[must_use]
pub fn carried(game: &dyn Game, collection: Option<&Collection>) -> Carried {
    let mut carried = Carried::default();
    for (figure, key) in carried.0.iter_mut().zip(game.carries().keys) {
        *figure = collection.and_then(|collection| collection.get(*key)).copied().unwrap_or_default();
    }
    carried
}

/// The change of a collection from some figures to others; `None` where they are the same.
#[must_use]
pub fn change(game: &dyn Game, scope: &str, before: &Carried, after: &Carried) -> Option<Event> {
    let figures = game.carries().keys.iter().zip(before.0.iter().zip(&after.0));
    let changes: Vec<_> = figures
        .filter(|(_, (before, after))| before != after)
        .map(|(key, (_, after))| ((*key).into(), *after))
        .collect();
    (!changes.is_empty()).then(|| Event::CollectionChanged { game: game.name().into(), scope: scope.into(), changes })
}

/// A round's effect on its collection.
pub struct Led {
    /// Its game.
    pub game: &'static dyn Game,
    /// The collection's scope.
    pub scope: SmolStr,
    /// The figures at its opening.
    pub before: Carried,
    /// The figures after its steps.
    pub after: Carried,
}

impl Led {
    /// Computes the effect of a round whose steps changed these figures; `None` in a game without a collection.
    ///
    /// # Errors
    /// This binary does not have the game.
    pub fn by(started: &RoundStarted, collected: &[(SmolStr, i64)]) -> Result<Option<Self>, Unresolvable> {
        let terms = terms_of(started)?;
        if terms.carried.is_empty() {
            return Ok(None);
        }
        let game = game_of(started)?;
        let (_, opened) = terms_from_log(terms, game.carries(), started.coin_value, started.currency)?;
        let mut after = opened.carried;
        for (figure, key) in after.0.iter_mut().zip(game.carries().keys) {
            let latest = collected.iter().rev().find(|(of, _)| of == key);
            *figure = latest.map_or(*figure, |(_, value)| *value);
        }
        let scope = scope(game, started.currency, started.bet);
        Ok(Some(Self { game, scope, before: opened.carried, after }))
    }

    /// Computes the figures without the round, after later rounds have led to `now` (PL-04).
    #[must_use]
    pub fn undone(&self, now: &Carried) -> Carried {
        if *now == self.after { self.before } else { self.game.without(now, &self.before, &self.after) }
    }
}

/// Computes how a void changes a collection back (PL-04): by the figures that the steps of a settled round `collected`,
/// or to those before an open one, which no round can have followed. `None` if nothing changes.
///
/// No other round of the game may be open: it would carry on with what it was opened with.
///
/// # Errors
/// The round changed figures of a game that this binary does not have.
pub fn undo(
    player: &PlayerState,
    started: &RoundStarted,
    collected: Option<&[(SmolStr, i64)]>,
) -> Result<Option<Event>, Unresolvable> {
    let Some(led) = Led::by(started, collected.unwrap_or_default())? else { return Ok(None) };
    let now = carried_by(led.game, player, &led.scope);
    let left = collected.map_or(led.before, |_| led.undone(&now));
    Ok(change(led.game, &led.scope, &now, &left))
}
