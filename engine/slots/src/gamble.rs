//! The double: guess a card, win twice the amount or lose it, at most five times (BW-22, BW-24).

use crate::draws::Draws;
use crate::outcome::{CARDS_MAX, Card, CardTurn, Strip};

/// A double in play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gamble {
    /// Coins that the next card risks.
    at_risk: u64,
    strip: Strip,
}

impl Gamble {
    /// A double that starts with this win.
    #[must_use]
    pub fn of(win_coins: u64) -> Self {
        Self { at_risk: win_coins, strip: Strip::default() }
    }

    /// Turns a card: heart or spade, each with one chance in two.
    pub fn turn(&mut self, guess: Card, draws: &mut Draws) -> CardTurn {
        let card = if draws.below(2) == 0 { Card::RedHeart } else { Card::BlackSpade };
        let risked_coins = self.at_risk;
        // At most five turns: 32 times a win of one window can't overflow.
        self.at_risk = if card == guess { risked_coins.saturating_mul(2) } else { 0 };
        self.strip.push(card);
        CardTurn { guess, card, risked_coins, coins: self.at_risk }
    }

    /// Whether another card may be turned.
    #[must_use]
    pub fn open(&self) -> bool {
        self.at_risk > 0 && self.strip.len() < CARDS_MAX
    }

    /// The cards so far.
    #[must_use]
    pub fn strip(&self) -> Strip {
        self.strip
    }
}
