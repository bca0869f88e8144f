//! The nature of a game's wins: the parts of its return, its features, and the sources of a step's win.
//!
//! Reports compare play with mathematics. Each game declares here the nature of each win and
//! the sign of each feature in a record, so reports contain no names of games or parts.

use crate::contract::outcome::{Spin, SpinKind};

/// Most features of a game.
pub const FEATURES_MAX: usize = 16;

/// The nature of a part of the return, of a feature or of a win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Independent of the player's carried figures.
    Cash,
    /// Won with the player's carried figures: collected in earlier rounds, at other stakes.
    Collected,
    /// Paid by the pool of a progressive jackpot.
    Jackpot,
}

/// The source of a step's win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A window of a kind.
    Window {
        /// The kind of spin.
        kind: SpinKind,
        /// The round's free spins have begun.
        in_free_spins: bool,
    },
    /// Anything but the step's windows, such as a prize.
    BesideWindows,
}

/// A feature of a paid spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The key of its chance among [`crate::Par::rates`].
    pub key: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its nature. The chance of a collected one depends on the player's state: see [`crate::Game::chances_in`].
    pub nature: Nature,
    /// The sign of it in a round's first step.
    pub sign: Sign,
}

impl Feature {
    /// A feature that comes whatever the player carries.
    #[must_use]
    pub const fn cash(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Cash, sign }
    }

    /// A feature whose chance depends on the player's carried figures.
    #[must_use]
    pub const fn collected(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Collected, sign }
    }
}

/// The sign of a feature in a round's first step: it has a window with this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The window starts the bonus or the feature.
    Bonus,
    /// The window awards free spins.
    FreeSpins,
    /// The window has this number of rows.
    Rows(u32),
    /// The window has this number of rows and awards free spins.
    FreeSpinsAtRows(u32),
    /// The window is of this kind.
    Window(SpinKind),
}

impl Sign {
    /// Whether a window of a round's first step shows it.
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
