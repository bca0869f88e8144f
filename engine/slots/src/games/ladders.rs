//! Coin values per game and currency (PL-35, DM-19, DM-25).

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::contract::game::Game;
use crate::contract::rounding::CoinFraction;
use crate::games::list::{games, latest, latest_games};
use crate::math::cash::{CoinRefused, cash_return};
use crate::parts::ladder::{Ladder, LaddersData, STANDARD_DATA};

const PLAY: &str = "XTS";

/// Coin values, in fractions of a minor unit, at which the game still has its published return after rounding (DM-19).
const ROUNDED: [(&str, &str, &[CoinFraction]); 1] = [(
    "dwarf-mine",
    "1.0",
    &[CoinFraction { numerator: 1, denominator: 5 }, CoinFraction { numerator: 2, denominator: 5 }],
)];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladders {
    all: BTreeMap<String, BTreeMap<String, Ladder>>,
    enabled: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LadderRefused {
    #[error("unknown game {game}")]
    Game { game: String },
    #[error("{currency} is not an ISO 4217 currency with a minor unit")]
    Currency { currency: String },
    #[error("no game has a coin ladder in {currency}")]
    Missing { currency: String },
    #[error("{game} in {currency}: {fault}")]
    Ladder { game: String, currency: String, fault: &'static str },
    #[error("{game} in {currency}, coin value {coin}: {refused}")]
    Coin { game: String, currency: String, coin: String, refused: CoinRefused },
}

impl Ladders {
    pub fn standard(minor_micros: impl Fn(&str) -> Option<u64>) -> Result<Self, LadderRefused> {
        Self::new(None, &LaddersData::new(), minor_micros)
    }

    /// Creates the coin ladders of the enabled currencies (`None`: all) and of play money. A ladder in
    /// `replaced` is checked, and replaces the standard ladder of its game and currency.
    pub fn new(
        enabled: Option<&[String]>,
        replaced: &LaddersData,
        minor_micros: impl Fn(&str) -> Option<u64>,
    ) -> Result<Self, LadderRefused> {
        let mut all: BTreeMap<String, BTreeMap<String, Ladder>> = BTreeMap::new();
        for (own, ladders) in [(false, &*STANDARD_DATA), (true, replaced)] {
            for (game, ladders) in ladders {
                let of = latest(game).ok_or_else(|| LadderRefused::Game { game: game.clone() })?;
                for (currency, data) in ladders {
                    let minor = minor_micros(currency);
                    let minor = minor.ok_or_else(|| LadderRefused::Currency { currency: currency.clone() })?;
                    let ladder = Ladder::from_data(data).map_err(|fault| {
                        let (game, currency) = (game.clone(), currency.clone());
                        LadderRefused::Ladder { game, currency, fault }
                    })?;
                    if own {
                        check(of, currency, &ladder, minor)?;
                    }
                    all.entry(game.clone()).or_default().insert(currency.clone(), ladder);
                }
            }
        }
        let codes: BTreeSet<String> = match enabled {
            None => all.values().flat_map(BTreeMap::keys).cloned().collect(),
            Some(enabled) => enabled.iter().cloned().chain([PLAY.to_owned()]).collect(),
        };
        let mut enabled = BTreeMap::new();
        for currency in codes {
            let Some(minor) = minor_micros(&currency) else { return Err(LadderRefused::Currency { currency }) };
            if !all.values().any(|ladders| ladders.contains_key(&currency)) {
                return Err(LadderRefused::Missing { currency });
            }
            enabled.insert(currency, minor);
        }
        Ok(Self { all, enabled })
    }

    pub fn check(&self) -> Result<(), LadderRefused> {
        for game in latest_games() {
            for (currency, minor) in &self.enabled {
                if let Some(ladder) = self.all.get(game.name()).and_then(|of| of.get(currency)) {
                    check(*game, currency, ladder, *minor)?;
                }
            }
        }
        Ok(())
    }

    pub fn currencies(&self) -> impl Iterator<Item = &str> {
        self.enabled.keys().map(String::as_str)
    }

    #[must_use]
    pub fn enabled(&self, currency: &str) -> bool {
        self.enabled.contains_key(currency)
    }

    #[must_use]
    pub fn for_game(&self, game: &dyn Game, currency: &str) -> Option<Ladder> {
        let minor = *self.enabled.get(currency)?;
        let limits = &game.info().limits;
        if limits.by_currency {
            return self.all.get(game.name())?.get(currency).cloned();
        }
        let coins = limits.coin_values_micros.iter().copied();
        let coins_micros: Vec<_> = coins.filter(|coin| offered_by_list(game, *coin, minor)).collect();
        let default_micros = coins_micros.get(coins_micros.len() / 2).copied()?;
        Some(Ladder { coins_micros, default_micros })
    }

    #[must_use]
    pub fn highest_coin(&self, game: &dyn Game, currency: &str) -> u64 {
        let versions = games().iter().filter(|of| of.name() == game.name());
        let highest = versions.filter_map(|of| self.for_game(*of, currency)?.coins_micros.last().copied());
        highest.max().unwrap_or_default()
    }

    #[must_use]
    pub fn offers(&self, game: &dyn Game, currency: &str, coin_micros: u64) -> bool {
        let limits = &game.info().limits;
        match self.enabled.get(currency) {
            None => false,
            Some(_) if limits.by_currency => {
                let ladder = self.all.get(game.name()).and_then(|of| of.get(currency));
                ladder.is_some_and(|ladder| ladder.coins_micros.binary_search(&coin_micros).is_ok())
            }
            Some(minor) => {
                limits.coin_values_micros.contains(&coin_micros) && offered_by_list(game, coin_micros, *minor)
            }
        }
    }
}

fn offered_by_list(game: &dyn Game, coin_micros: u64, minor_micros: u64) -> bool {
    let coin = CoinFraction::new(coin_micros, minor_micros);
    let of = |(name, version, _): &&(&str, &str, _)| (*name, *version) == (game.name(), game.rules_version());
    coin.denominator == 1 || ROUNDED.iter().find(of).is_some_and(|(.., coins)| coins.contains(&coin))
}

fn check(game: &dyn Game, currency: &str, ladder: &Ladder, minor_micros: u64) -> Result<(), LadderRefused> {
    for &coin in &ladder.coins_micros {
        cash_return(game, coin, minor_micros).map_err(|refused| LadderRefused::Coin {
            game: game.name().to_owned(),
            currency: currency.to_owned(),
            coin: crate::contract::par::decimal(&crate::contract::par::ratio(coin, 1_000_000), 6),
            refused,
        })?;
    }
    Ok(())
}
