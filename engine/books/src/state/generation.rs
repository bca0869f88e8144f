//! The generations of a partition's draws (PL-40).
//!
//! Each start or takeover of the writer begins a generation and logs a fresh random salt for it. New seals are dealt under the salt of
//! the current generation, so two continuations of one log never share a dealt value. Cost: 32 bytes per start of the writer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::events::GenerationBegun;
use crate::values::{Epoch, Salt};

/// A generation: its number and its salt. Generation 0 is that of logs from before there were salts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation {
    /// Number of the generation in its partition; the first start that logs one begins generation 1.
    pub number: u64,
    /// Salt of its dealt values; `None` for generation 0.
    pub salt: Option<Salt>,
}

/// All generations of a partition, and the draw keys named in its log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generations {
    /// Salts of generations 1, 2, 3, ...
    salts: Vec<Salt>,
    /// First generation whose unused seals still count.
    first_usable: u64,
    /// Largest position accepted as lost.
    lost_to: u64,
    /// Names of the draw keys in force.
    keys: BTreeSet<Epoch>,
    /// Names of the draw keys whose loss was accepted.
    lost_keys: BTreeSet<Epoch>,
}

impl Generations {
    /// The generation that new seals belong to.
    #[must_use]
    pub fn current(&self) -> Generation {
        let number = self.salts.len() as u64;
        Generation { number, salt: self.salts.last().copied() }
    }

    /// A generation by its number; `None` for a later one.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<Generation> {
        let Some(before) = number.checked_sub(1) else { return Some(Generation { number, salt: None }) };
        let salt = self.salts.get(usize::try_from(before).ok()?).copied()?;
        Some(Generation { number, salt: Some(salt) })
    }

    /// Whether an unused seal of a generation still counts. After a start that could not rule out a loss, those of the
    /// generations before it do not.
    #[must_use]
    pub fn is_usable(&self, generation: u64) -> bool {
        generation >= self.first_usable
    }

    /// Largest position of a longer version of this log whose loss was accepted; 0 without one.
    #[must_use]
    pub fn lost_to(&self) -> u64 {
        self.lost_to
    }

    /// Names of the draw keys in force, as far as the log names them.
    pub fn keys(&self) -> impl Iterator<Item = Epoch> + '_ {
        self.keys.iter().copied()
    }

    /// Whether the loss of a draw key was accepted.
    #[must_use]
    pub fn is_lost(&self, key: Epoch) -> bool {
        self.lost_keys.contains(&key)
    }

    /// Takes up the next generation; `false` if it is not the next one.
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

    /// Takes up the name of a fresh draw key.
    pub(crate) fn add_key(&mut self, key: Epoch) {
        self.keys.insert(key);
    }
}
