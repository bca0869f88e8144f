//! Highest win of a round in minor units, or an upper bound on it (PL-43).

use num_bigint::BigInt;

use crate::contract::highest_win::{CollectedTop, GambleTop, HighestWin, TopWindows};
use crate::contract::outcome::MeanCoin;
use crate::contract::par::{Exact, exact, ratio};
use crate::math::highest::exponent;
use crate::parts::worth::CoinWorth;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    pub bet_coins: u64,
    pub coin_micros: u64,
    pub carried_micros: u64,
    pub minor_micros: u64,
    pub gamble_max_minor: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighestPaid {
    /// Highest win in minor units, excluding the gamble.
    pub minor: BigInt,
    pub gambled_minor: BigInt,
    pub chance_exponent: i32,
}

impl HighestWin {
    #[must_use]
    pub fn paid(&self, reach: &Reach) -> HighestPaid {
        let bet = ratio(reach.bet_coins, 1) * ratio(reach.coin_micros, reach.minor_micros.max(1));
        let (minor, chance_exponent) = match &self.collected {
            Some(collected) => collected.paid(reach),
            None => ((&self.bets * &bet).ceil().to_integer(), self.chance_exponent),
        };
        let gambled = self.gamble.as_ref().map(|gamble| gamble.most(&minor, &bet, reach.gamble_max_minor));
        HighestPaid {
            gambled_minor: gambled.unwrap_or_else(|| minor.clone()).max(minor.clone()),
            minor,
            chance_exponent,
        }
    }
}

impl CollectedTop {
    fn paid(&self, reach: &Reach) -> (BigInt, i32) {
        let Reach { coin_micros, minor_micros, .. } = *reach;
        let carried = reach.carried_micros.max(coin_micros);
        let mean = MeanCoin {
            sum_micros: carried.saturating_mul(u64::from(self.earlier)).saturating_add(coin_micros),
            count: u64::from(self.earlier) + 1,
        };
        let own = (&self.own, CoinWorth::new(coin_micros, minor_micros), coin_micros >= minor_micros);
        let at_mean = mean.sum_micros / mean.count >= minor_micros;
        let collected = (&self.collected, CoinWorth::mean(mean, minor_micros), at_mean);
        let (mut minor, mut log) = (BigInt::ZERO, 0.0);
        for (windows, worth, apart) in [own, collected] {
            for TopWindows { windows, coins, log_chance, log_chance_rounded } in windows {
                minor += BigInt::from(worth.minor(*coins)) * *windows;
                log += f64::from(*windows) * if apart { log_chance } else { log_chance_rounded };
            }
        }
        (minor, exponent(log))
    }
}

impl GambleTop {
    /// The gamble continues only while the win is at most `limit`. Each card before the last therefore adds
    /// at most half of `limit`.
    fn most(&self, minor: &BigInt, bet: &Exact, limit: u64) -> BigInt {
        let doubled = |turns: u8| (BigInt::from(1) << turns) - 1;
        match self {
            _ if limit == 0 => minor.clone(),
            Self::Lines { bets, turns } => minor + (bets * bet).ceil().to_integer() * doubled(*turns),
            Self::Win { turns, limit_on_result } => {
                let win = minor.min(&BigInt::from(limit)).clone();
                let last = if *limit_on_result { limit / 2 } else { limit };
                let cards = BigInt::from(limit / 2) * turns.saturating_sub(1) + last;
                let gained: BigInt = &win * doubled(*turns);
                let gained = gained.min(cards);
                minor.clone().max(win + gained)
            }
        }
    }
}

/// Bounds the probability that a fair gamble reaches `bets` (Markov's inequality).
#[must_use]
pub fn chance_of_gambled(rtp: &Exact, bets: &Exact) -> Exact {
    if *bets <= exact(0) { exact(1) } else { (rtp / bets).min(exact(1)) }
}
