//! Potions, their combinations, and the features that combinations start (WF-05 to WF-11).

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Potion {
    Red = 1,
    Blue = 2,
    Green = 3,
}

impl Potion {
    pub const ALL: [Self; 3] = [Self::Red, Self::Blue, Self::Green];

    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|&potion| potion as i64 == number)
    }
}

/// Features in the order of unlocking (WF-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    HighSymbols = 1,
    RandomWilds = 2,
    Multiplier = 3,
    MegaWild = 4,
}

pub const FEATURES: u8 = 4;

impl Feature {
    #[must_use]
    pub fn from_potions(mut potions: [Potion; 3]) -> Option<Self> {
        use Potion::{Blue, Green, Red};
        potions.sort_unstable();
        match potions {
            [Red, Blue, Green] => Some(Self::HighSymbols),
            [Red, Blue, Blue] => Some(Self::RandomWilds),
            [Red, Green, Green] => Some(Self::Multiplier),
            [Blue, Blue, Green] => Some(Self::MegaWild),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shelf {
    potions: [Option<Potion>; 2],
    /// 1 to [`FEATURES`].
    unlocked: u8,
}

impl Shelf {
    /// Reads a player's carried figures. A Potion of 0 means no Potion; `unlocked` is 0 for a new player.
    #[must_use]
    pub fn new(potion_1: i64, potion_2: i64, unlocked: i64) -> Self {
        let unlocked = u8::try_from(unlocked).unwrap_or(1).clamp(1, FEATURES);
        let mut shelf = Self { potions: [None; 2], unlocked };
        for potion in [potion_1, potion_2].into_iter().filter_map(Potion::from_number) {
            shelf.collect(potion);
        }
        shelf
    }

    #[must_use]
    pub fn carried(&self) -> [i64; 3] {
        let number = |potion: Option<Potion>| potion.map_or(0, |potion| potion as i64);
        [number(self.potions[0]), number(self.potions[1]), i64::from(self.unlocked)]
    }

    /// Reverts the change of a voided round, from `before` to `after` (PL-04): removes the round's unused Potions, restores
    /// the Potions that the round used if the shelf has free places, and locks the features that the round unlocked.
    #[must_use]
    pub fn without(&self, before: &Self, after: &Self) -> Self {
        let [now, had, left] =
            [self, before, after].map(|shelf| shelf.potions.into_iter().flatten().collect::<Vec<_>>());
        let later = now.strip_prefix(left.as_slice());
        let added = left.starts_with(&had);
        let potions = match (added, later) {
            (true, None) => now,
            (_, later) => [had.as_slice(), later.unwrap_or(&now)].concat(),
        };
        let unlocked = (self.unlocked + before.unlocked).saturating_sub(after.unlocked).clamp(1, FEATURES);
        Self { potions: [0, 1].map(|place| potions.get(place).copied()), unlocked }
    }

    /// Adds a Potion to the shelf. The third Potion completes a combination: the function returns the combination and
    /// empties the shelf.
    pub fn collect(&mut self, potion: Potion) -> Option<[Potion; 3]> {
        match self.potions {
            [Some(first), Some(second)] => {
                self.potions = [None; 2];
                Some([first, second, potion])
            }
            [Some(_), None] => {
                self.potions[1] = Some(potion);
                None
            }
            [None, _] => {
                self.potions[0] = Some(potion);
                None
            }
        }
    }

    /// Returns the feature that the combination starts, or `None` if that feature is still locked. Starting a feature
    /// unlocks the next one.
    pub fn trigger(&mut self, combination: [Potion; 3]) -> Option<Feature> {
        let feature = Feature::from_potions(combination).filter(|&feature| feature as u8 <= self.unlocked)?;
        self.unlocked = self.unlocked.max((feature as u8 + 1).min(FEATURES));
        Some(feature)
    }
}
