//! Demo play (PL-17): a session in play money opens the player's account of it, and fills it up.
//!
//! Play money is a currency of its own, so that all that is done in it stands apart by itself; the fold lets nothing turn
//! money into it or it into money.

use crate::api::SpinApi;
use motherlode_books::{Currency, Event, InternalRequest, Minor, StreamId};
use motherlode_ledger::{AppendError, Proposal};
use motherlode_proto::spin::v1::PlayMode;
use motherlode_runtime::Refusal;

/// Refuses real money in demo mode, and play money in any other.
pub(crate) fn check_mode(mode: PlayMode, currency: Currency) -> Result<(), Refusal> {
    match (mode, currency.is_real()) {
        (PlayMode::Demo, false) | (PlayMode::Unspecified | PlayMode::Real, true) => Ok(()),
        (PlayMode::Demo, true) => Err(Refusal::field("account.currency_code", "must be XTS, play money, in demo mode")),
        (_, false) => Err(Refusal::field("mode", "must be demo with play money")),
    }
}

impl SpinApi {
    /// Fills a player's account of play money up to what demo play begins with; opens it where there is none. Once a
    /// request, for ever.
    pub(crate) async fn fill_up(&self, stream: &StreamId, request_id: &str) -> Result<(), Refusal> {
        let request_id = InternalRequest::FillDemo { request_id }.to_string();
        let ledger = self.ledgers.of(stream)?;
        loop {
            if ledger.find_position(stream, &request_id)?.is_some() {
                return Ok(());
            }
            let (version, balance, seal) = ledger.books_of(stream, |books| {
                let player = books.player(stream);
                let balance = player.and_then(|player| player.balance(Currency::PLAY));
                (books.head(stream).version, balance, self.dealer.keys().opening(stream, player, books.generations()))
            })?;
            let seal = seal.filter(|_| balance.is_none());
            let opened = balance.is_none().then_some(Event::AccountOpened { currency: Currency::PLAY });
            let missing = self.demo_balance.0.saturating_sub(balance.unwrap_or_default().0);
            let given = (missing > 0).then_some(Event::PlayMoneyGiven { amount: Minor(missing) });
            let events: Vec<_> = opened.into_iter().chain(seal).chain(given).collect();
            if events.is_empty() {
                return Ok(());
            }
            let proposal = Proposal {
                stream: stream.clone(),
                expected_version: Some(version),
                request_id: request_id.clone().into(),
                fingerprint: InternalRequest::FINGERPRINT,
                events,
            };
            match ledger.append(proposal).await {
                Err(AppendError::Conflict { .. }) => {}
                done => return Ok(done.map(|_| ())?),
            }
        }
    }
}
