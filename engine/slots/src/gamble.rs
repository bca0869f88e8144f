//! The gamble: guess a card, win twice the amount or lose it (BW-22, BW-24).
//!
//! Amounts are minor units: what is at risk is money already won, and a half of it need not be whole coins.

use crate::draws::Draws;
use crate::outcome::{Card, CardTurn, Strip};

/// A gamble in play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gamble {
    /// Minor units that the next card risks.
    at_risk: u64,
    turns_max: u8,
    strip: Strip,
}

impl Gamble {
    /// A gamble of this win, of at most so many turns.
    #[must_use]
    pub fn of(win_minor: u64, turns_max: u8) -> Self {
        Self { at_risk: win_minor, turns_max, strip: Strip::default() }
    }

    /// Turns a card: heart or spade, each with one chance in two.
    pub fn turn(&mut self, guess: Card, draws: &mut Draws) -> CardTurn {
        let card = if draws.below(2) == 0 { Card::RedHeart } else { Card::BlackSpade };
        let (risked_minor, won) = (self.at_risk, card == guess);
        // At most ten turns: 1,024 times a win can't overflow.
        self.at_risk = if won { risked_minor.saturating_mul(2) } else { 0 };
        self.strip.push(card);
        CardTurn { guess, card, won, risked_minor, minor: self.at_risk }
    }

    /// Minor units that the next card would risk.
    #[must_use]
    pub fn at_risk(&self) -> u64 {
        self.at_risk
    }

    /// Whether another card may be turned.
    #[must_use]
    pub fn open(&self) -> bool {
        self.at_risk > 0 && self.strip.len() < usize::from(self.turns_max)
    }

    /// The cards so far.
    #[must_use]
    pub fn strip(&self) -> Strip {
        self.strip
    }
}
