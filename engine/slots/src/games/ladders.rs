//! Coin ladders: which coin values are offered, by game and currency (PL-35, DM-19, DM-25).
//!
//! They are data beside the games and no part of a model: a round says its coin value. A rules version whose file lists
//! coin values itself offers those of them that the currency allows.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::contract::game::Game;
use crate::contract::rounding::CoinFraction;
use crate::games::list::{games, latest, latest_games};
use crate::math::cash::{CoinRefused, cash_return};
use crate::parts::ladder::{Ladder, LaddersData, STANDARD_DATA};

/// Play money is offered whatever else is.
const PLAY: &str = "XTS";

/// Coins, in minor units, at which an older version that lists coin values itself rounds its wins and returns what is
/// published all the same (DM-19). Worked out once and for all, since it takes a second: a bet must not wait for it. A test
/// works it out again.
const ROUNDED: [(&str, &str, &[CoinFraction]); 1] = [(
    "dwarf-mine",
    "1.0",
    &[CoinFraction { numerator: 1, denominator: 5 }, CoinFraction { numerator: 2, denominator: 5 }],
)];

/// The ladders of all games in the currencies that are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladders {
    /// By game and currency.
    all: BTreeMap<String, BTreeMap<String, Ladder>>,
    /// Worth of a minor unit in millionths of the major unit, of the currencies that take bets.
    enabled: BTreeMap<String, u64>,
}

/// Why ladders are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LadderRefused {
    /// There is no such game.
    #[error("there is no game {game}")]
    Game {
        /// Its name.
        game: String,
    },
    /// There is no such currency.
    #[error("{currency} is no currency of ISO 4217 with a minor unit")]
    Currency {
        /// Its code.
        currency: String,
    },
    /// A currency is to take bets, and no game has coin values in it.
    #[error("no game has a coin ladder in {currency}")]
    Missing {
        /// Its code.
        currency: String,
    },
    /// A ladder makes no sense.
    #[error("{game} in {currency}: {fault}")]
    Ladder {
        /// The game.
        game: String,
        /// The currency.
        currency: String,
        /// The fault, for people.
        fault: &'static str,
    },
    /// A coin value can't be offered.
    #[error("{game} in {currency}, coin value {coin}: {refused}")]
    Coin {
        /// The game.
        game: String,
        /// The currency.
        currency: String,
        /// In the major unit.
        coin: String,
        /// Why not.
        refused: CoinRefused,
    },
}

impl Ladders {
    /// The ladders beside the games, all of them offered, where a currency's minor unit is worth so many millionths.
    ///
    /// # Errors
    /// Never for those of a release: a test holds them against the games.
    pub fn standard(minor_micros: impl Fn(&str) -> Option<u64>) -> Result<Self, LadderRefused> {
        Self::new(None, &LaddersData::new(), minor_micros)
    }

    /// The ladders beside the games with others in their places, in the currencies that are to take bets: without a
    /// list, all that have a ladder. Play money always takes bets. A coin value at which wins are rounded costs some
    /// hundred milliseconds the first time; those beside the games are right by a test.
    ///
    /// # Errors
    /// The first fault, among them a coin value that makes no whole bets, or returns more than 0.05 points more or less
    /// than what is published (DM-19).
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
                    let ladder = Ladder::of(data).map_err(|fault| {
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

    /// Checks every ladder, those beside the games too.
    ///
    /// # Errors
    /// The first coin value that can't be offered.
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

    /// The currencies that take new accounts and bets, by code.
    pub fn currencies(&self) -> impl Iterator<Item = &str> {
        self.enabled.keys().map(String::as_str)
    }

    /// Whether a currency takes new accounts and bets.
    #[must_use]
    pub fn enabled(&self, currency: &str) -> bool {
        self.enabled.contains_key(currency)
    }

    /// The ladder of a game in a currency; `None` where it takes no bets in it. Cheap: nothing is worked out.
    #[must_use]
    pub fn of(&self, game: &dyn Game, currency: &str) -> Option<Ladder> {
        let minor = *self.enabled.get(currency)?;
        let limits = &game.info().limits;
        if limits.by_currency {
            return self.all.get(game.name())?.get(currency).cloned();
        }
        // A version that lists coin values itself, in whatever currency.
        let coins = limits.coin_values_micros.iter().copied();
        let coins_micros: Vec<_> = coins.filter(|coin| offered_by_list(game, *coin, minor)).collect();
        let default_micros = coins_micros.get(coins_micros.len() / 2).copied()?;
        Some(Ladder { coins_micros, default_micros })
    }

    /// The highest coin value on offer in a currency, of all versions of a game; 0 where none takes bets in it.
    #[must_use]
    pub fn highest_coin(&self, game: &dyn Game, currency: &str) -> u64 {
        let versions = games().iter().filter(|of| of.name() == game.name());
        let highest = versions.filter_map(|of| self.of(*of, currency)?.coins_micros.last().copied());
        highest.max().unwrap_or_default()
    }

    /// Whether a game takes bets at a coin value in a currency. Cheap: nothing is worked out.
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

/// Whether a coin value of a version that lists them itself holds what all must, where a minor unit is worth so much: as
/// [`cash_return`] says, and without its work.
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
