//! Nature of wins, for reports.

use crate::contract::outcome::{Spin, SpinKind};

/// Maximum features per game.
pub const FEATURES_MAX: usize = 16;

/// Nature of a part, feature or win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Independent of carried figures.
    Cash,
    /// Depends on figures of earlier rounds.
    Collected,
    /// Paid by a jackpot pool.
    Jackpot,
}

/// Source of a step's win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Window.
    Window {
        /// Kind of spin.
        kind: SpinKind,
        /// Whether the free spins have begun.
        in_free_spins: bool,
    },
    /// Prize or other win.
    BesideWindows,
}

/// Feature of a paid spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Key in [`crate::Par::rates`].
    pub key: &'static str,
    /// Displayed name.
    pub title: &'static str,
    /// Nature; see [`crate::Game::chances_in`].
    pub nature: Nature,
    /// Sign in the first step.
    pub sign: Sign,
}

impl Feature {
    /// Creates an independent feature.
    #[must_use]
    pub const fn cash(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Cash, sign }
    }

    /// Creates a feature of carried figures.
    #[must_use]
    pub const fn collected(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Collected, sign }
    }
}

/// Property of a first window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Starts the bonus.
    Bonus,
    /// Awards free spins.
    FreeSpins,
    /// Number of rows.
    Rows(u32),
    /// Rows with free spins awarded.
    FreeSpinsAtRows(u32),
    /// Kind of spin.
    Window(SpinKind),
}

impl Sign {
    /// Returns whether a first-step window has this sign.
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
