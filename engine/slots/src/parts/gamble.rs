//! The gamble: guess a card, win twice the amount or lose it (BW-22, BW-24); or guess its colour, with half of the win
//! to be secured (ME-14 to ME-17).
//!
//! Amounts are minor units: what is at risk is money already won, and a half of it need not be whole coins.

use serde::Deserialize;

use crate::contract::draws::Draws;
use crate::contract::outcome::{Card, CardTurn, Strip};

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

/// The rules of a gamble on a colour that differ between rules versions; as of version 1.0 where a file has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColourRules {
    /// The amount that the limit is on.
    pub limit_on: LimitOn,
    /// The use of a half that's secured.
    pub half: Half,
}

/// The amount that a gamble's limit is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOn {
    /// The win after a right guess. A card that could take it past the limit isn't offered: such a win can
    /// be halved first, and after a card the gamble ends there.
    #[default]
    Result,
    /// The win that is gambled (ME-14). The gamble ends where it has passed the limit (ME-15).
    Win,
}

/// The use of the half that HALVE secures (ME-16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Half {
    /// It's paid with the rest when the round is over.
    #[default]
    Kept,
    /// It's credited at once.
    Credited,
}

/// A gamble on a card's colour, of which half can be secured (ME-14 to ME-17). A win up to the limit may be gambled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColourGamble {
    /// Minor units that the next card risks.
    at_risk: u64,
    /// Minor units that no card risks any more.
    secured: u64,
    /// The limit in minor units.
    limit: u64,
    turns_max: u8,
    rules: ColourRules,
    strip: Strip,
}

impl ColourGamble {
    /// Cards of a colour in the deck; there is one Joker besides.
    const OF_COLOUR: u32 = 26;

    /// A gamble of this win, of at most so many cards and up to a limit; `None` where it isn't offered.
    #[must_use]
    pub fn of(win_minor: u64, turns_max: u8, limit: u64, rules: ColourRules) -> Option<Self> {
        let offered = 0 < win_minor && win_minor <= limit && turns_max > 0;
        offered.then(|| Self { at_risk: win_minor, secured: 0, limit, turns_max, rules, strip: Strip::default() })
    }

    /// Turns a card. Whether the guess is right is drawn first, with one chance in two; the card follows it: of the
    /// right colour or, where the guess was right, the Joker (ME-17).
    pub fn turn(&mut self, guess: Card, draws: &mut Draws) -> CardTurn {
        let won = draws.below(2) == 0;
        let card = Self::card((guess == Card::RedHeart) == won, won, draws);
        let risked_minor = self.at_risk;
        // At most ten turns of a win within the limit.
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

    /// Secures half of what is at risk, with the odd minor unit (ME-16). Returns the minor units to be credited at
    /// once.
    pub fn halve(&mut self) -> u64 {
        let rest = self.at_risk / 2;
        let half = self.at_risk - rest;
        self.secured += half;
        self.at_risk = rest;
        if self.rules.half == Half::Credited { half } else { 0 }
    }

    /// Whether there is a half to go on with.
    #[must_use]
    pub fn halves(&self) -> bool {
        self.at_risk >= 2
    }

    /// Whether the limit lets a card be turned (ME-14, ME-15).
    #[must_use]
    pub fn doubles(&self) -> bool {
        match self.rules.limit_on {
            LimitOn::Win => self.at_risk <= self.limit,
            LimitOn::Result => self.at_risk <= self.limit / 2,
        }
    }

    /// Whether the gamble goes on: something is at risk, and another card may be turned. Where the limit is on the
    /// result, a win may be too high for the first card and be halved.
    #[must_use]
    pub fn open(&self) -> bool {
        let cards = self.strip.len();
        self.at_risk > 0 && cards < usize::from(self.turns_max) && (cards == 0 || self.doubles())
    }

    /// Minor units that came of it: secured, credited or not, and at risk.
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
