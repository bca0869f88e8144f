//! Figures that a player carries between rounds of a game: crystals, potions, unlocked features.
//!
//! The engine doesn't store them: a round receives them when it opens, and an outcome returns the changed ones.

/// Maximum number of carried figures per game.
pub const CARRIED_MAX: usize = 12;

/// Carried figures in the order of [`Carries::keys`]; 0 if never set or not used by the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried(pub [i64; CARRIED_MAX]);

impl Carried {
    /// Subtracts the change from `before` to `after` from each figure; results are at least 0.
    #[must_use]
    pub fn without(&self, before: &Self, after: &Self) -> Self {
        let risen = |place: usize| after.0[place].saturating_sub(before.0[place]);
        Self(std::array::from_fn(|place| self.0[place].saturating_sub(risen(place)).max(0)))
    }
}

/// The figures that a game carries, and their scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carries {
    /// Names of the figures, at most [`CARRIED_MAX`]; empty if the game carries nothing.
    pub keys: &'static [&'static str],
    /// Scope of a set of figures, in addition to player and game.
    pub scope: CarriedScope,
    /// Keys shared by all real-money currencies, with play money separate: a player carries the maximum of all sets (DM-14). A
    /// change is recorded in the set of its round.
    pub shared: &'static [&'static str],
}

/// Scope of a set of carried figures, in addition to player and game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedScope {
    /// Per currency: sums of coin values have no meaning across currencies.
    Currency,
    /// Per currency and bet (WF-12).
    Bet,
}

impl Carries {
    /// No carried figures.
    pub const NOTHING: Self = Self { keys: &[], scope: CarriedScope::Currency, shared: &[] };
}
