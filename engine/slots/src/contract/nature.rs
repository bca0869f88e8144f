use crate::contract::outcome::{Spin, SpinKind};

pub const FEATURES_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    Cash,
    Collected,
    Jackpot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Window { kind: SpinKind, in_free_spins: bool },
    BesideWindows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Key in [`crate::Par::rates`].
    pub key: &'static str,
    pub title: &'static str,
    pub nature: Nature,
    pub sign: Sign,
}

impl Feature {
    #[must_use]
    pub const fn cash(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Cash, sign }
    }

    #[must_use]
    pub const fn collected(key: &'static str, title: &'static str, sign: Sign) -> Self {
        Self { key, title, nature: Nature::Collected, sign }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Bonus,
    FreeSpins,
    Rows(u32),
    FreeSpinsAtRows(u32),
    Window(SpinKind),
}

impl Sign {
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
