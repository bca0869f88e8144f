//! Computes the "win up to" figure over all stakes of the standard coin values (WF-04, PL-43).

use crate::figures::grouped;
use motherlode_slots::{
    Game, HighestWin, Ladders, Stake, bought, by_lines, chance_of_gambled,
    par::{Par, decimal, scientific},
    win_up_to,
};
use motherlode_state::{CoinValue, Currency};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Highest {
    pub bets: String,
    pub chance: String,
    pub says: &'static str,
    /// Stake with the highest win; empty if all stakes have the same highest win.
    pub at: String,
    /// Highest win including the gamble, as a multiple of the bet, rounded down; empty if the game has no gamble.
    pub gambled_bets: String,
    pub gambled_chance: String,
}

#[must_use]
pub fn highest(game: &dyn Game, stake: &Stake, par: &Par) -> Option<Highest> {
    if stake.buy_feature {
        let of: HighestWin = game.highest_win(stake).ok()?;
        let (bets, chance) = (decimal(&of.bets.floor(), 0), of.chance());
        return Some(Highest { bets, chance, says: of.definition(), ..Highest::default() });
    }
    let minor = |code: &str| Some(minor_micros(code.parse().ok()?));
    let ladders = Ladders::standard(minor).ok()?;
    // The gamble's limit is applied only in EUR, because other currencies need an exchange rate.
    let limit = |code: &str| {
        let major = if code == Currency::EUR.code() { u64::from(game.gamble_max_eur()) } else { 0 };
        Some((minor(code)?, major * 1_000_000 / minor(code)?.max(1)))
    };
    let by_lines: Vec<_> = by_lines(game).ok()?.into_iter().chain(bought(game)).collect();
    let top = win_up_to(game, &by_lines, &ladders, &limit)?;
    let at = match (&top.at, game.info().limits.lines) {
        (Some((currency, coin)), _) => format!("at a coin value of {} {currency}", CoinValue(*coin)),
        (None, (fewest, most)) if fewest < most => format!("with {} played", lines(top.lines)),
        _ => String::new(),
    };
    let gambled = top.gambled_bets.as_ref();
    let chance = gambled.map(|bets| scientific(&chance_of_gambled(&par.rtp_without_jackpot, bets), 2));
    Some(Highest {
        bets: decimal(&top.bets.floor(), 0),
        chance: format!("1e{}", top.chance_exponent),
        says: by_lines.first()?.1.definition(),
        at,
        gambled_bets: gambled.map_or_else(String::new, |bets| decimal(&bets.floor(), 0)),
        gambled_chance: chance.unwrap_or_default(),
    })
}

impl Highest {
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("highest win of a round (see below)", format!("{} bets", grouped(&self.bets)))];
        rows.extend((!self.at.is_empty()).then(|| ("reached", self.at.clone())));
        rows.push(("upper bound of the chance of the highest win", self.chance.clone()));
        if !self.gambled_bets.is_empty() {
            rows.push((
                "highest win with the gamble within its limit, at stakes in EUR",
                format!("{} bets", grouped(&self.gambled_bets)),
            ));
            rows.push(("upper bound of the chance of the highest win with the gamble", self.gambled_chance.clone()));
        }
        rows
    }
}

fn lines(number: u32) -> String {
    if number == 1 { "one line".to_owned() } else { format!("{number} lines") }
}

fn minor_micros(currency: Currency) -> u64 {
    10_u64.pow(CoinValue::DIGITS.saturating_sub(currency.digits()))
}
