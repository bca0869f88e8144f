//! Highest win of a game over all offered stakes (WF-04, PL-43).

use crate::contract::game::Game;
use crate::contract::highest_win::{GambleTop, HighestWin};
use crate::contract::par::{Exact, exact, ratio};
use crate::contract::stake::{Stake, StakeRefused};
use crate::games::computed;
use crate::games::ladders::Ladders;
use crate::math::highest_paid::Reach;

#[derive(Clone, Debug, PartialEq)]
pub struct WinUpTo {
    pub bets: Exact,
    pub chance_exponent: i32,
    pub lines: u32,
    /// Currency and coin value at which this win is possible; `None` if it is possible at every coin value of every
    /// currency.
    pub at: Option<(String, u64)>,
    pub gambled_bets: Option<Exact>,
}

/// Maps a currency to its minor unit, in millionths of the major unit, and its gamble limit in minor units (0 for
/// none).
pub type OfCurrency<'a> = dyn Fn(&str) -> Option<(u64, u64)> + 'a;

pub fn by_lines(game: &dyn Game) -> Result<Vec<(u32, HighestWin)>, StakeRefused> {
    match computed::of_game(game) {
        Some(of) => of.by_lines.get_or_init(|| all_by_lines(game)).clone(),
        None => all_by_lines(game),
    }
}

fn all_by_lines(game: &dyn Game) -> Result<Vec<(u32, HighestWin)>, StakeRefused> {
    let limits = &game.info().limits;
    let stake = |lines| Stake {
        coin_value_micros: limits.coin_values_micros.first().copied().unwrap_or_default(),
        lines,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    };
    (limits.lines.0..=limits.lines.1).map(|lines| Ok((lines, game.highest_win(&stake(lines))?))).collect()
}

/// Excludes the price.
#[must_use]
pub fn bought(game: &dyn Game) -> Option<(u32, HighestWin)> {
    match computed::of_game(game) {
        Some(of) => of.bought.get_or_init(|| highest_bought(game)).clone(),
        None => highest_bought(game),
    }
}

fn highest_bought(game: &dyn Game) -> Option<(u32, HighestWin)> {
    let limits = &game.info().limits;
    let price = game.info().buy_feature_bets?;
    let stake = Stake {
        coin_value_micros: limits.coin_values_micros.first().copied().unwrap_or_default(),
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: true,
    };
    let highest = game.highest_win(&stake).ok()?;
    let bets = &highest.bets * exact(price);
    Some((stake.lines, HighestWin { bets, ..highest }))
}

#[must_use]
pub fn win_up_to(
    game: &dyn Game,
    by_lines: &[(u32, HighestWin)],
    ladders: &Ladders,
    of_currency: &OfCurrency<'_>,
) -> Option<WinUpTo> {
    let (lines, highest) = by_lines.iter().max_by(|one, other| one.1.bets.cmp(&other.1.bets))?;
    let mut top = WinUpTo {
        bets: highest.bets.clone(),
        chance_exponent: highest.chance_exponent,
        lines: *lines,
        at: None,
        gambled_bets: None,
    };
    let gambled = |highest: &HighestWin| match &highest.gamble {
        Some(GambleTop::Lines { bets, turns }) => Some(&highest.bets + bets * exact((1_u64 << turns) - 1)),
        _ => None,
    };
    top.gambled_bets = by_lines.iter().filter_map(|(_, highest)| gambled(highest)).max();
    let of_coins =
        |highest: &HighestWin| highest.collected.is_some() || matches!(highest.gamble, Some(GambleTop::Win { .. }));
    for (lines, highest) in by_lines.iter().filter(|(_, highest)| of_coins(highest)) {
        top.raise(game, (*lines, highest), ladders, of_currency);
    }
    Some(top)
}

impl WinUpTo {
    fn raise(
        &mut self,
        game: &dyn Game,
        (lines, highest): (u32, &HighestWin),
        ladders: &Ladders,
        of_currency: &OfCurrency<'_>,
    ) {
        let bet_coins = u64::from(lines) * u64::from(game.info().limits.coins_per_line.0);
        for currency in ladders.currencies() {
            let Some((minor_micros, gamble_max_minor)) = of_currency(currency) else { continue };
            let carried_micros = ladders.highest_coin(game, currency);
            for coin_micros in ladders.for_game(game, currency).map_or_else(Vec::new, |ladder| ladder.coins_micros) {
                let paid =
                    highest.paid(&Reach { bet_coins, coin_micros, carried_micros, minor_micros, gamble_max_minor });
                let bet = exact(bet_coins) * ratio(coin_micros, minor_micros);
                let bets = exact(paid.minor) / &bet;
                if highest.collected.is_some() && bets > self.bets {
                    (self.bets, self.chance_exponent) = (bets, paid.chance_exponent);
                    (self.lines, self.at) = (lines, Some((currency.to_owned(), coin_micros)));
                }
                if highest.gamble.is_some() && gamble_max_minor > 0 {
                    let gambled = exact(paid.gambled_minor) / bet;
                    self.gambled_bets = Some(self.gambled_bets.take().map_or(gambled.clone(), |of| of.max(gambled)));
                }
            }
        }
    }
}
