//! Gamble on the colour of a card (BW-22, BW-24, ME-14 to ME-17). Amounts are in minor units.

use serde::Deserialize;

use crate::contract::draws::Draws;
use crate::contract::outcome::{Card, CardTurn, Strip};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gamble {
    at_risk: u64,
    turns_max: u8,
    strip: Strip,
}

impl Gamble {
    #[must_use]
    pub fn new(win_minor: u64, turns_max: u8) -> Self {
        Self { at_risk: win_minor, turns_max, strip: Strip::default() }
    }

    pub fn turn(&mut self, guess: Card, draws: &mut Draws) -> CardTurn {
        let card = if draws.below(2) == 0 { Card::RedHeart } else { Card::BlackSpade };
        let (risked_minor, won) = (self.at_risk, card == guess);
        self.at_risk = if won { risked_minor.saturating_mul(2) } else { 0 };
        self.strip.push(card);
        CardTurn { guess, card, won, risked_minor, minor: self.at_risk }
    }

    #[must_use]
    pub fn at_risk(&self) -> u64 {
        self.at_risk
    }

    #[must_use]
    pub fn open(&self) -> bool {
        self.at_risk > 0 && self.strip.len() < usize::from(self.turns_max)
    }

    #[must_use]
    pub fn strip(&self) -> Strip {
        self.strip
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColourRules {
    pub limit_on: LimitOn,
    pub half: Half,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOn {
    /// The limit applies to the win after a correct guess: if that win would exceed the limit, no further card is offered.
    #[default]
    Result,
    /// The limit applies to the amount at risk (ME-14), so a win above the limit cannot be gambled again (ME-15).
    Win,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Half {
    #[default]
    Kept,
    Credited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColourGamble {
    at_risk: u64,
    secured: u64,
    limit: u64,
    turns_max: u8,
    rules: ColourRules,
    strip: Strip,
}

impl ColourGamble {
    const OF_COLOUR: u32 = 26;

    #[must_use]
    pub fn new(win_minor: u64, turns_max: u8, limit: u64, rules: ColourRules) -> Option<Self> {
        let offered = 0 < win_minor && win_minor <= limit && turns_max > 0;
        offered.then(|| Self { at_risk: win_minor, secured: 0, limit, turns_max, rules, strip: Strip::default() })
    }

    /// The first draw decides, with even odds, whether the guess is correct; the second draw selects a card
    /// that matches this result. A Joker is possible only for a correct guess (ME-17).
    pub fn turn(&mut self, guess: Card, draws: &mut Draws) -> CardTurn {
        let won = draws.below(2) == 0;
        let card = Self::card((guess == Card::RedHeart) == won, won, draws);
        let risked_minor = self.at_risk;
        self.at_risk = if won { risked_minor.saturating_mul(2) } else { 0 };
        self.strip.push(card);
        CardTurn { guess, card, won, risked_minor, minor: self.at_risk }
    }

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

    /// Secures half of the amount at risk, rounded up (ME-16). Returns this half in minor units if the rules credit it
    /// at once; otherwise 0.
    pub fn halve(&mut self) -> u64 {
        let rest = self.at_risk / 2;
        let half = self.at_risk - rest;
        self.secured += half;
        self.at_risk = rest;
        if self.rules.half == Half::Credited { half } else { 0 }
    }

    #[must_use]
    pub fn halves(&self) -> bool {
        self.at_risk >= 2
    }

    #[must_use]
    pub fn doubles(&self) -> bool {
        match self.rules.limit_on {
            LimitOn::Win => self.at_risk <= self.limit,
            LimitOn::Result => self.at_risk <= self.limit / 2,
        }
    }

    #[must_use]
    pub fn open(&self) -> bool {
        let cards = self.strip.len();
        self.at_risk > 0 && cards < usize::from(self.turns_max) && (cards == 0 || self.doubles())
    }

    #[must_use]
    pub fn win_minor(&self) -> u64 {
        self.secured + self.at_risk
    }

    #[must_use]
    pub fn strip(&self) -> Strip {
        self.strip
    }
}
