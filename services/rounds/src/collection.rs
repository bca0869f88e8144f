//! Converts between the values that the engine carries between rounds (*figures*) and the log's collections, which omit
//! zeros.

use crate::{
    live::{Unresolvable, game_of},
    terms::{terms_from_log, terms_of},
};
use motherlode_slots::{Carried, CarriedScope, Carries, Game, latest};
use motherlode_state::{Collection, Currency, Event, Minor, PlayerState, RoundStarted, SmolStr};

/// Key in the log for the picked companion.
const COMPANION: &str = "witch";

#[must_use]
pub fn companion(player: &PlayerState, game: &dyn Game) -> Option<i64> {
    player.collection(game.name(), "")?.get(COMPANION).copied()
}

#[must_use]
pub fn pick_companion(game: &str, companion: i64) -> Event {
    let changes = vec![(COMPANION.into(), companion)];
    Event::CollectionChanged { game: game.into(), scope: SmolStr::default(), changes }
}

#[must_use]
pub fn picked_companion(changes: &[(SmolStr, i64)], scope: &str) -> Option<i64> {
    changes.iter().find(|(key, _)| scope.is_empty() && key == COMPANION).map(|(_, companion)| *companion)
}

#[must_use]
pub fn picks_companion(changed: &Event) -> bool {
    let Event::CollectionChanged { game, scope, changes } = changed else { return false };
    picked_companion(changes, scope).is_some_and(|companion| {
        latest(game).is_some_and(|of| of.info().companion(companion).is_some())
            && *changed == pick_companion(game, companion)
    })
}

/// Returns the scope of a collection: the currency (`EUR`), or currency and bet (`EUR 1.00`) if each bet amount has its own
/// collection (WF-12).
#[must_use]
pub fn scope(game: &dyn Game, currency: Currency, bet: Minor) -> SmolStr {
    match game.carries().scope {
        CarriedScope::Currency => currency.code().into(),
        CarriedScope::Bet => format!("{currency} {}", bet.to_decimal(currency)).into(),
    }
}

#[must_use]
pub fn carried_by(game: &dyn Game, player: &PlayerState, scope: &str) -> Carried {
    carried_under(game, Sharing::Game, player, scope)
}

/// Like [`carried_by`], with the rules version selected by `sharing`.
#[must_use]
pub fn carried_under(game: &dyn Game, sharing: Sharing, player: &PlayerState, scope: &str) -> Carried {
    let own = carried(game, player.collection(game.name(), scope));
    let others = player.collections().filter(|(of, ..)| *of == game.name());
    let others = others.map(|(_, scope, collection)| (scope, carried(game, Some(collection))));
    with_shared(game, sharing, scope, own, others)
}

/// Rules version that determines which saved progress, such as a received gift, applies in all currencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// The game's newest version. With an older version, a player could get the gift in each currency (DM-14).
    Game,
    /// The round's version.
    Version,
}

/// Returns `own`, but figures that the game shares between currencies have the player's highest value in any currency
/// of the same kind (real or play money).
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

fn is_play(scope: &str) -> bool {
    scope.split(' ').next() == Some(Currency::PLAY.code())
}

#[must_use]
pub fn noted(own: &Carried, before: &Carried, after: &Carried) -> Carried {
    Carried(std::array::from_fn(|at| if before.0[at] == after.0[at] { own.0[at] } else { after.0[at] }))
}

#[must_use]
pub fn carried(game: &dyn Game, collection: Option<&Collection>) -> Carried {
    let mut carried = Carried::default();
    for (figure, key) in carried.0.iter_mut().zip(game.carries().keys) {
        *figure = collection.and_then(|collection| collection.get(*key)).copied().unwrap_or_default();
    }
    carried
}

#[must_use]
pub fn change(game: &dyn Game, scope: &str, before: &Carried, after: &Carried) -> Option<Event> {
    let figures = game.carries().keys.iter().zip(before.0.iter().zip(&after.0));
    let changes: Vec<_> = figures
        .filter(|(_, (before, after))| before != after)
        .map(|(key, (_, after))| ((*key).into(), *after))
        .collect();
    (!changes.is_empty()).then(|| Event::CollectionChanged { game: game.name().into(), scope: scope.into(), changes })
}

pub struct Led {
    pub game: &'static dyn Game,
    pub scope: SmolStr,
    pub before: Carried,
    pub after: Carried,
}

impl Led {
    pub fn from_started(started: &RoundStarted, collected: &[(SmolStr, i64)]) -> Result<Option<Self>, Unresolvable> {
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

    /// Returns the figures without this round's changes (PL-04). `now` contains the figures after all later rounds.
    #[must_use]
    pub fn undone(&self, now: &Carried) -> Carried {
        if *now == self.after { self.before } else { self.game.without(now, &self.before, &self.after) }
    }
}

/// Returns the event that removes a voided round's changes from the collection (PL-04). `collected` is `None` for an
/// open round. Fails if this build lacks the game. The player must have no second open round of the game, because the
/// event would invalidate that round's figures.
pub fn undo(
    player: &PlayerState,
    started: &RoundStarted,
    collected: Option<&[(SmolStr, i64)]>,
) -> Result<Option<Event>, Unresolvable> {
    let Some(led) = Led::from_started(started, collected.unwrap_or_default())? else { return Ok(None) };
    let now = carried_by(led.game, player, &led.scope);
    let left = collected.map_or(led.before, |_| led.undone(&now));
    Ok(change(led.game, &led.scope, &now, &left))
}
