//! The gamble: guess a card, win twice the amount or lose it (BW-22, BW-24); or guess its colour, with half of the win
//! to be secured (ME-14 to ME-17).
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

/// A gamble on a card's colour, of which half can be secured (ME-14 to ME-17).
///
/// A win up to the limit may be gambled. A card that could take it past the limit isn't offered: such a win can be
/// halved first, and after a card the gamble ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColourGamble {
    /// Minor units that the next card risks.
    at_risk: u64,
    /// Minor units that no card risks any more.
    secured: u64,
    /// The most that may be gambled and won, in minor units.
    limit: u64,
    turns_max: u8,
    strip: Strip,
}

impl ColourGamble {
    /// Cards of a colour in the deck; there is one Joker besides.
    const OF_COLOUR: u32 = 26;

    /// A gamble of this win, of at most so many cards and up to a limit; `None` where it isn't offered.
    #[must_use]
    pub fn of(win_minor: u64, turns_max: u8, limit: u64) -> Option<Self> {
        let offered = 0 < win_minor && win_minor <= limit && turns_max > 0;
        offered.then(|| Self { at_risk: win_minor, secured: 0, limit, turns_max, strip: Strip::default() })
    }

    /// Turns a card. Whether the guess is right is drawn first, with one chance in two; the card follows it: of the
    /// right colour or, where the guess was right, the Joker (ME-17).
    pub fn turn(&mut self, guess: Card, draws: &mut Draws) -> CardTurn {
        let won = draws.below(2) == 0;
        let card = Self::card((guess == Card::RedHeart) == won, won, draws);
        let risked_minor = self.at_risk;
        // Within the limit: a double past it isn't offered.
        self.at_risk = if won { risked_minor.saturating_mul(2) } else { 0 };
        self.strip.push(card);
        CardTurn { guess, card, won, risked_minor, minor: self.at_risk }
    }

    /// A card of a colour, each equally likely; the Joker only when it may be one.
    fn card(red: bool, joker: bool, draws: &mut Draws) -> Card {
        let place = draws.below(Self::OF_COLOUR + u32::from(joker));
        match (place, red) {
            (Self::OF_COLOUR, _) => Card::Joker,
            (place, true) if place < Self::OF_COLOUR / 2 => Card::RedHeart,
            (_, true) => Card::RedDiamond,
            (place, false) if place < Self::OF_COLOUR / 2 => Card::BlackSpade,
            (_, false) => Card::BlackClub,
        }
    }

    /// Secures half of what is at risk, with the odd minor unit (ME-16).
    pub fn halve(&mut self) {
        let kept = self.at_risk / 2;
        self.secured += self.at_risk - kept;
        self.at_risk = kept;
    }

    /// Whether there is a half to go on with.
    #[must_use]
    pub fn halves(&self) -> bool {
        self.at_risk >= 2
    }

    /// Whether a card may be turned: what it can win is within the limit (ME-15).
    #[must_use]
    pub fn doubles(&self) -> bool {
        self.at_risk <= self.limit / 2
    }

    /// Whether the gamble goes on: something is at risk, and another card may be turned. Before the first card a win may
    /// be too high for one and be halved.
    #[must_use]
    pub fn open(&self) -> bool {
        let cards = self.strip.len();
        self.at_risk > 0 && cards < usize::from(self.turns_max) && (cards == 0 || self.doubles())
    }

    /// Minor units that it's worth now: secured and at risk.
    #[must_use]
    pub fn win_minor(&self) -> u64 {
        self.secured + self.at_risk
    }

    /// The cards so far.
    #[must_use]
    pub fn strip(&self) -> Strip {
        self.strip
    }
}
