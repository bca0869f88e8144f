//! Nature of wins: parts of the return, features, sources.
//!
//! Reports compare play with mathematics through these declarations, so they contain no names of games or parts.

use crate::contract::outcome::{Spin, SpinKind};

/// Maximum number of features per game.
pub const FEATURES_MAX: usize = 16;

/// Nature of a part of the return, a feature or a win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Independent of carried figures.
    Cash,
    /// Depends on carried figures, which were collected in earlier rounds and possibly at other stakes.
    Collected,
    /// Paid by a progressive jackpot's pool.
    Jackpot,
}

/// Source of a step's win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Window of a kind.
    Window {
        /// Kind of spin.
        kind: SpinKind,
        /// Whether the round's free spins have begun.
        in_free_spins: bool,
    },
    /// Other than windows, such as a prize.
    BesideWindows,
}

/// Feature of a paid spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Key of its chance in [`crate::Par::rates`].
    pub key: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Nature. The chance of a collected feature depends on the state: see [`crate::Game::chances_in`].
    pub nature: Nature,
    /// Sign in a round's first step.
    pub sign: Sign,
}

impl Feature {
    /// Creates a feature independent of carried figures.
    #[must_use]
    pub const fn cash(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Cash, sign }
    }

    /// Creates a feature whose chance depends on carried figures.
    #[must_use]
    pub const fn collected(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Collected, sign }
    }
}

/// Property of a first-step window that indicates a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Starts the bonus or the feature.
    Bonus,
    /// Awards free spins.
    FreeSpins,
    /// Number of rows.
    Rows(u32),
    /// Number of rows, with free spins awarded.
    FreeSpinsAtRows(u32),
    /// Kind of spin.
    Window(SpinKind),
}

impl Sign {
    /// Returns whether a window of a round's first step has this sign.
    #[must_use]
    pub fn shown_by(self, spin: &Spin) -> bool {
        match self {
            Self::Bonus => spin.bonus,
            Self::FreeSpins => spin.free_spins_won > 0,
            Self::Rows(rows) => u32::from(spin.rows) == rows,
            Self::FreeSpinsAtRows(rows) => spin.free_spins_won > 0 && u32::from(spin.rows) == rows,
            Self::Window(kind) => spin.kind == kind,
        }
    }
}
