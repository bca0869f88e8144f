//! A generation of draws begins when a writer starts and logs a random salt (PL-40), so two writers that continue a log
//! from the same position draw different values.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::events::GenerationBegun;
use crate::values::{Epoch, Salt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation {
    /// Number of the draw generation, 1-based. Draws in older logs have generation 0 and no salt.
    pub number: u64,
    pub salt: Option<Salt>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generations {
    salts: Vec<Salt>,
    /// First generation whose unused seals are still valid.
    first_usable: u64,
    /// Position of the last commit whose loss an administrator accepted at a start; 0 if none.
    lost_to: u64,
    keys: BTreeSet<Epoch>,
    lost_keys: BTreeSet<Epoch>,
}

impl Generations {
    #[must_use]
    pub fn current(&self) -> Generation {
        let number = self.salts.len() as u64;
        Generation { number, salt: self.salts.last().copied() }
    }

    #[must_use]
    pub fn get(&self, number: u64) -> Option<Generation> {
        let Some(before) = number.checked_sub(1) else { return Some(Generation { number, salt: None }) };
        let salt = self.salts.get(usize::try_from(before).ok()?).copied()?;
        Some(Generation { number, salt: Some(salt) })
    }

    #[must_use]
    pub fn is_usable(&self, generation: u64) -> bool {
        generation >= self.first_usable
    }

    #[must_use]
    pub fn lost_to(&self) -> u64 {
        self.lost_to
    }

    pub fn keys(&self) -> impl Iterator<Item = Epoch> + '_ {
        self.keys.iter().copied()
    }

    #[must_use]
    pub fn is_lost(&self, key: Epoch) -> bool {
        self.lost_keys.contains(&key)
    }

    pub(crate) fn begin(&mut self, begun: &GenerationBegun) -> bool {
        let current = self.current();
        if Some(begun.number) != current.number.checked_add(1) || self.salts.contains(&begun.salt) {
            return false;
        }
        self.salts.push(begun.salt);
        if begun.unused_seals_end {
            self.first_usable = begun.number;
        }
        self.lost_to = self.lost_to.max(begun.lost_to);
        self.keys.extend(&begun.keys_added);
        begun.keys_lost.iter().for_each(|key| {
            self.keys.remove(key);
            self.lost_keys.insert(*key);
        });
        true
    }

    pub(crate) fn add_key(&mut self, key: Epoch) {
        self.keys.insert(key);
    }
}
