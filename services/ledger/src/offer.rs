//! Currencies and coin values offered by the configuration (PL-35, DM-19).

use motherlode_rounds::minor_micros;
use motherlode_runtime::{Reason, Refusal, config::Currencies};
use motherlode_slots::{LadderData, LadderRefused, Ladders};
use motherlode_state::Currency;
use std::sync::Arc;

/// Fails if, at one of the coin values, a game's return in cash differs from its published return.
pub fn offered(currencies: &Currencies) -> Result<Arc<Ladders>, LadderRefused> {
    let Currencies { enabled, ladders } = currencies;
    let replaced = ladders.iter().map(|(game, ladders)| {
        let ladders = ladders.iter().map(|(currency, ladder)| {
            let data = LadderData { coin_values: ladder.coin_values.clone(), default: ladder.default.clone() };
            (currency.clone(), data)
        });
        (game.clone(), ladders.collect())
    });
    let minor = |code: &str| code.parse::<Currency>().ok().map(minor_micros);
    Ladders::new(enabled.as_deref(), &replaced.collect(), minor).map(Arc::new)
}

#[must_use]
pub fn standard() -> Arc<Ladders> {
    offered(&Currencies::default()).expect("the built-in coin ladders are valid, because a test loads them")
}

#[must_use]
pub fn not_offered(ladders: &Ladders, currency: Currency) -> Refusal {
    let offered: Vec<_> = ladders.currencies().collect();
    Refusal::new(
        Reason::CurrencyNotOffered,
        format!("{currency} is closed for new accounts and bets: use one of the offered currencies"),
    )
    .with("currency_code", currency)
    .with("currencies", offered.join(" "))
}
