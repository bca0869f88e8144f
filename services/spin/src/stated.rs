//! Highest and mean cash win of a round (PL-43). Each is the maximum over all progress, such as collections, that a
//! player can bring into the round.

use motherlode_rounds::{gamble_max_minor, minor_micros};
use motherlode_slots::{
    CoinFraction, Game, HighestPaid, HighestWin, Ladders, MostExpected, Reach, bought, by_lines, chance_of_gambled,
    par::{Exact, exact, ratio, scientific},
};
use motherlode_state::{Currency, FxRate};

pub(crate) struct StatedFigures {
    pub(crate) rtp: Exact,
    pub(crate) most: MostExpected,
    pub(crate) highest: Vec<(u32, HighestWin)>,
    bought: Option<(u32, HighestWin)>,
    most_money: Vec<(u32, HighestWin)>,
}

#[derive(Clone, Copy)]
pub(crate) struct Of<'a> {
    pub(crate) game: &'a dyn Game,
    pub(crate) ladders: &'a Ladders,
    pub(crate) currency: Currency,
    pub(crate) rate: Option<FxRate>,
}

impl StatedFigures {
    pub(crate) fn new(game: &dyn Game, rtp: Exact) -> Option<Self> {
        let (most, highest, bought) = (game.most_expected(&rtp), by_lines(game).ok()?, bought(game));
        let at = |(lines, highest): &(u32, HighestWin)| {
            let reach = Reach {
                bet_coins: u64::from(*lines),
                coin_micros: 1,
                carried_micros: 1,
                minor_micros: 1,
                gamble_max_minor: u64::MAX,
            };
            highest.paid(&reach)
        };
        let of_lines = highest.iter();
        let plain = of_lines.clone().max_by_key(|of| at(of).minor);
        let gambled = of_lines.max_by_key(|of| at(of).gambled_minor).filter(|of| Some(of.0) != plain.map(|of| of.0));
        let most_money = plain.into_iter().chain(gambled).chain(&bought).cloned().collect();
        Some(Self { rtp, most, highest, bought, most_money })
    }

    pub(crate) fn definition(&self) -> &'static str {
        self.highest.first().map_or("", |(_, highest)| highest.definition())
    }

    pub(crate) fn unlimited(&self) -> bool {
        self.highest.iter().any(|(_, highest)| highest.unlimited)
    }

    pub(crate) fn paid(&self, of: Of<'_>, coin_micros: u64, (lines, coins): (u32, u32)) -> Option<HighestPaid> {
        let highest = &self.highest.iter().find(|at| at.0 == lines)?.1;
        Some(highest.paid(&of.reach(coin_micros, u64::from(lines) * u64::from(coins))))
    }

    pub(crate) fn of_all_stakes(&self) -> Vec<(u32, HighestWin)> {
        self.highest.iter().chain(&self.bought).cloned().collect()
    }

    pub(crate) fn paid_at_most(&self, of: Of<'_>, coin_micros: u64) -> Option<HighestPaid> {
        let coins = of.game.info().limits.coins_per_line.1;
        let bet_coins = |lines: u32| u64::from(lines) * u64::from(coins);
        let all = self.most_money.iter();
        let all = all.map(|(lines, highest)| highest.paid(&of.reach(coin_micros, bet_coins(*lines))));
        all.reduce(|one, other| HighestPaid {
            minor: one.minor.max(other.minor),
            gambled_minor: one.gambled_minor.max(other.gambled_minor),
            chance_exponent: one.chance_exponent.max(other.chance_exponent),
        })
    }

    pub(crate) fn expected_minor(&self, of: Of<'_>, coin_micros: u64, bet_minor: &Exact) -> Exact {
        let Of { game, currency, .. } = of;
        let coin = CoinFraction::new(coin_micros, minor_micros(currency));
        let rounded = match coin.denominator {
            1 => exact(0),
            // Upper bound of the return that rounding adds: the estimate plus its maximum error.
            _ => game.rounding(coin).map_or_else(|| exact(0), |of| of.adds_to_own + of.within),
        };
        let collected = &self.most.collected_windows * ratio(1, 2);
        (self.most.rtp(coin_micros, of.ladders.highest_coin(of.game, of.currency.code())) + rounded) * bet_minor
            + collected
    }

    pub(crate) fn chance_of_gambled(&self, bets: &Exact) -> String {
        scientific(&chance_of_gambled(&self.rtp, bets), 2)
    }
}

impl Of<'_> {
    pub(crate) fn gamble_max_minor(&self) -> u64 {
        self.rate.and_then(|rate| gamble_max_minor(self.game, self.currency, rate).ok()).unwrap_or_default()
    }

    fn reach(&self, coin_micros: u64, bet_coins: u64) -> Reach {
        Reach {
            bet_coins,
            coin_micros,
            carried_micros: self.ladders.highest_coin(self.game, self.currency.code()),
            minor_micros: minor_micros(self.currency),
            gamble_max_minor: self.gamble_max_minor(),
        }
    }
}
