//! The figures that a player carries from round to round in a game: crystals, potions, unlocked features.
//!
//! The engine keeps none of it. A round is told what the player carries when it opens, and a step whose outcome changes
//! it says what is carried from then on; who keeps the books logs the difference.

/// Most figures that a game lets a player carry.
pub const CARRIED_MAX: usize = 12;

/// The figures carried, in the order of [`Carries::keys`]; 0 for what was never set. What a game does not carry is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried(pub [i64; CARRIED_MAX]);

impl Carried {
    /// Every figure less what it rose, or plus what it fell, from `before` to `after`; none below 0.
    #[must_use]
    pub fn without(&self, before: &Self, after: &Self) -> Self {
        let risen = |place: usize| after.0[place].saturating_sub(before.0[place]);
        Self(std::array::from_fn(|place| self.0[place].saturating_sub(risen(place)).max(0)))
    }
}

/// The figures that a game carries, and their scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carries {
    /// The figures' names, at most [`CARRIED_MAX`]; empty for a game that carries nothing.
    pub keys: &'static [&'static str],
    /// The scope of a set of figures, besides the player and the game.
    pub scope: CarriedScope,
    /// Those of the keys whose figures hold for all currencies of real money, and for play money apart: what the player
    /// carries is the highest of all sets (DM-14). A change is noted in the set of the round that made it.
    pub shared: &'static [&'static str],
}

/// The scope of a set of carried figures, besides the player and the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedScope {
    /// The currency: figures that sum coin values mean nothing across currencies.
    Currency,
    /// The currency and the bet: each bet level has its own progress (WF-12).
    Bet,
}

impl Carries {
    /// A game that carries nothing.
    pub const NOTHING: Self = Self { keys: &[], scope: CarriedScope::Currency, shared: &[] };
}
