//! The highest and the mean win of a round in cash, over all that its player can bring into it (PL-43): crystals collected
//! at the highest coin value on offer in the currency, Potions that lack one, the gamble.
//!
//! What was collected holds for every rules version of a game, and so does a campaign: figures are the highest of all
//! versions where a round can have any.

use motherlode_books::{Currency, FxRate};
use motherlode_rounds::{gamble_max_minor, minor_micros};
use motherlode_slots::{
    CoinFraction, Game, HighestPaid, HighestWin, Ladders, MostExpected, Reach, Stake, by_lines, chance_of_gambled,
    par::{Exact, exact, ratio, scientific},
};

/// The figures of a version, computed once.
pub(crate) struct Stated {
    /// The return without the jackpot.
    pub(crate) rtp: Exact,
    pub(crate) most: MostExpected,
    /// By lines in play, the fewest first.
    pub(crate) highest: Vec<(u32, HighestWin)>,
}

/// A currency, and what the service knows of it.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a> {
    pub(crate) game: &'a dyn Game,
    pub(crate) ladders: &'a Ladders,
    pub(crate) currency: Currency,
    /// None before the currency has a rate: then no bet is taken in it.
    pub(crate) rate: Option<FxRate>,
}

impl Stated {
    /// Computes the figures of a version; `None` where it states none.
    pub(crate) fn new(game: &dyn Game, rtp: Exact) -> Option<Self> {
        let limits = &game.info().limits;
        let stake = Stake {
            coin_value_micros: limits.coin_values_micros.first().copied().unwrap_or_default(),
            lines: limits.lines.1,
            coins_per_line: limits.coins_per_line.0,
            buy_feature: false,
        };
        Some(Self { rtp, most: game.most_expected(&stake).ok()?, highest: by_lines(game).ok()? })
    }

    /// The meaning of the highest wins, the same for all lines.
    pub(crate) fn said(&self) -> &'static str {
        self.highest.first().map_or("", |(_, highest)| highest.said())
    }

    /// Whether a round can win more, by free spins that win free spins without limit.
    pub(crate) fn unlimited(&self) -> bool {
        self.highest.iter().any(|(_, highest)| highest.unlimited)
    }

    /// The highest win in cash of a round at a coin value with so many lines and coins on each.
    pub(crate) fn paid(&self, of: Of<'_>, coin_micros: u64, (lines, coins): (u32, u32)) -> Option<HighestPaid> {
        let highest = &self.highest.iter().find(|at| at.0 == lines)?.1;
        Some(highest.paid(&of.reach(coin_micros, u64::from(lines) * u64::from(coins))))
    }

    /// The highest win in cash of a round at a coin value, whatever its lines and coins.
    pub(crate) fn paid_at_most(&self, of: Of<'_>, coin_micros: u64) -> Option<HighestPaid> {
        let coins = of.game.info().limits.coins_per_line.1;
        let all = self.highest.iter().filter_map(|(lines, _)| self.paid(of, coin_micros, (*lines, coins)));
        all.reduce(|one, other| HighestPaid {
            minor: one.minor.max(other.minor),
            gambled_minor: one.gambled_minor.max(other.gambled_minor),
            chance_exponent: one.chance_exponent.max(other.chance_exponent),
        })
    }

    /// The most minor units that a round wins on average at a coin value, of a bet of so many minor units.
    pub(crate) fn expected_minor(&self, of: Of<'_>, coin_micros: u64, bet_minor: &Exact) -> Exact {
        let Of { game, currency, .. } = of;
        let coin = CoinFraction::new(coin_micros, minor_micros(currency));
        let rounded = match coin.denominator {
            1 => exact(0),
            // Known within so much; what is collected is rounded on its own below.
            _ => game.rounding(coin).map_or_else(|| exact(0), |of| of.adds_to_own + of.within),
        };
        // A window is rounded by half a minor unit at the most.
        let collected = &self.most.collected_windows * ratio(1, 2);
        (self.most.rtp(coin_micros, of.ladders.highest_coin(of.game, of.currency.code())) + rounded) * bet_minor
            + collected
    }

    /// A bound of the chance that a round comes to so many bets by the gamble, in scientific notation.
    pub(crate) fn chance_of_gambled(&self, bets: &Exact) -> String {
        scientific(&chance_of_gambled(&self.rtp, bets), 2)
    }
}

impl Of<'_> {
    /// The limit of the gamble; 0 before the currency has a rate.
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
