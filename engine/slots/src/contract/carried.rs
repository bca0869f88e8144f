//! Figures kept between a player's rounds, such as a number of crystals.

pub const CARRIED_MAX: usize = 12;

/// One figure per key, in the order of [`Carries::keys`]; initially 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried(pub [i64; CARRIED_MAX]);

impl Carried {
    /// Returns the figures without the change from `before` to `after`; no figure falls below 0.
    #[must_use]
    pub fn without(&self, before: &Self, after: &Self) -> Self {
        let risen = |place: usize| after.0[place].saturating_sub(before.0[place]);
        Self(std::array::from_fn(|place| self.0[place].saturating_sub(risen(place)).max(0)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carries {
    pub keys: &'static [&'static str],
    pub scope: CarriedScope,
    /// Keys of figures shared by all real-money currencies: a player's highest value in any of these currencies is used
    /// (DM-14).
    pub shared: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedScope {
    Currency,
    Bet,
}

impl Carries {
    pub const NOTHING: Self = Self { keys: &[], scope: CarriedScope::Currency, shared: &[] };
}
