//! Demo play (PL-17): a play-money session opens the player's account and tops it up.

use crate::api::SpinApi;
use motherlode_ledger::{FetchError, Handle};
use motherlode_proto::spin::v1::PlayMode;
use motherlode_runtime::Refusal;
use motherlode_state::{Currency, Event, Minor, StreamId};

pub(crate) fn check_mode(mode: PlayMode, currency: Currency) -> Result<(), Refusal> {
    match (mode, currency.is_real()) {
        (PlayMode::Demo, false) | (PlayMode::Unspecified | PlayMode::Real, true) => Ok(()),
        (PlayMode::Demo, true) => Err(Refusal::field("account.currency_code", "must be XTS (play money) in demo mode")),
        (_, false) => Err(Refusal::field("mode", "must be PLAY_MODE_DEMO for an account in XTS (play money)")),
    }
}

impl SpinApi {
    pub(crate) fn filling(&self, ledger: &Handle, stream: &StreamId) -> Result<(Option<u64>, Vec<Event>), FetchError> {
        let (version, balance, seal) = ledger.books_of(stream, |books| {
            let player = books.player(stream);
            let balance = player.and_then(|player| player.balance(Currency::PLAY));
            (books.head(stream).version, balance, self.dealer.keys().opening(stream, player, books.generations()))
        })?;
        let seal = seal.filter(|_| balance.is_none());
        let opened = balance.is_none().then_some(Event::AccountOpened { currency: Currency::PLAY });
        let missing = self.demo_balance.0.saturating_sub(balance.unwrap_or_default().0);
        let given = (missing > 0).then_some(Event::PlayMoneyGiven { amount: Minor(missing) });
        Ok((Some(version), opened.into_iter().chain(seal).chain(given).collect()))
    }
}
