//! State that a decision needs, copied from the books so that decisions do not block the writer.

use crate::bet::{Bet, Play};
use motherlode_state::{
    Books, Currency, FxRate, Generations, Minor, PerCurrency, PlayerState, PoolStatus, PoolTerms, StreamId, Switch,
    SwitchedOff,
};
use std::sync::Arc;

#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) player: Option<Arc<PlayerState>>,
    pub(crate) pool: Option<(Arc<str>, PoolTerms)>,
    pub(crate) switched_off: Option<(Switch, SwitchedOff)>,
    rates: PerCurrency<FxRate>,
    pub(crate) generations: Arc<Generations>,
}

impl State {
    pub(crate) fn with_funds(&self, currency: Currency, amount: Minor) -> Self {
        let player = self.player.as_ref().map(|player| Arc::new(player.with_funds(currency, amount)));
        Self { player, ..self.clone() }
    }

    pub(crate) fn of_play(books: &Books, play: &Play) -> Self {
        match play {
            Play::Bet(bet) => match &bet.debited {
                None => Self::of_bet(books, bet),
                Some(debited) => Self::of_bet(books, bet).with_funds(debited.currency, debited.amount),
            },
            Play::Move(play) => Self::of_player(books, &play.round.stream),
        }
    }

    pub(crate) fn of_player(books: &Books, stream: &StreamId) -> Self {
        let generations = Arc::clone(books.generations());
        Self { player: books.shared_player(stream).cloned(), generations, ..Self::default() }
    }

    pub(crate) fn of_bet(books: &Books, bet: &Bet) -> Self {
        let stream = &bet.account.stream;
        let StreamId::Player { operator, .. } = stream else { return Self::default() };
        let player = books.shared_player(stream).cloned();
        let mut rates = PerCurrency::default();
        for (currency, _) in player.iter().flat_map(|player| player.balances()) {
            if let Some(rate) = books.rate(currency) {
                rates.set(currency, rate);
            }
        }
        let pool = bet.game.pool().and_then(|pool| books.pool(pool));
        let pool = pool.filter(|pool| matches!(pool.status, PoolStatus::Active));
        let off = books.switched_off_for(operator, bet.game.name(), bet.game.rules_version());
        Self {
            player,
            pool: pool.map(|pool| (Arc::clone(&pool.name), pool.terms.clone())),
            switched_off: off.map(|(switch, off)| (switch.clone(), off.clone())),
            rates,
            generations: Arc::clone(books.generations()),
        }
    }

    pub(crate) fn rate(&self, currency: Currency) -> Option<FxRate> {
        self.rates.get(currency).copied()
    }
}
