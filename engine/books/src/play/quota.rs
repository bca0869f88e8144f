//! Places that operators share: each has some that are its own, and nobody can take all.
//!
//! Half of the places are divided evenly between the operators, and are theirs alone. The other half is open to all.
//! Where there is one operator it can take all. Cost: a look-up by name a place.

use std::collections::BTreeMap;

use smol_str::SmolStr;

/// The places of one kind.
#[derive(Debug, Clone)]
pub struct Quota {
    /// The places that each operator has for itself.
    own: usize,
    /// The places left of the common half.
    common: usize,
    /// The places taken, by operator; only operators that hold some.
    taken: BTreeMap<SmolStr, usize>,
}

impl Quota {
    /// Divides a number of places between a number of operators; at least one for each.
    #[must_use]
    pub fn new(places: usize, operators: usize) -> Self {
        let own = (places - places / 2) / operators.max(1);
        Self { own: own.max(1), common: places / 2, taken: BTreeMap::new() }
    }

    /// Takes a place for an operator; false where there is none for it.
    pub fn take(&mut self, operator: &str) -> bool {
        let taken = self.taken.get(operator).copied().unwrap_or_default();
        if taken >= self.own {
            let Some(left) = self.common.checked_sub(1) else { return false };
            self.common = left;
        }
        match self.taken.get_mut(operator) {
            Some(taken) => *taken += 1,
            None => drop(self.taken.insert(operator.into(), 1)),
        }
        true
    }

    /// Gives back a place of an operator that it had taken.
    pub fn give(&mut self, operator: &str) {
        let Some(taken) = self.taken.get_mut(operator) else { return };
        if *taken > self.own {
            self.common += 1;
        }
        *taken -= 1;
        if *taken == 0 {
            self.taken.remove(operator);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(quota: &mut Quota, operator: &str) -> usize {
        (0..1_000).take_while(|_| quota.take(operator)).count()
    }

    #[test]
    fn uf_05_one_operator_takes_its_own_and_the_common_places_and_leaves_the_others_theirs() {
        let mut quota = Quota::new(100, 5);
        assert_eq!(taken(&mut quota, "a"), 60);
        for other in ["b", "c", "d", "e"] {
            assert_eq!(taken(&mut quota, other), 10, "{other}");
        }
        quota.give("a");
        assert!(quota.take("b") && !quota.take("a"), "a common place is whoever's comes first");
        quota.give("b");
        quota.give("b");
        assert!(!quota.take("a") || !quota.take("a"), "its own place is nobody else's");
    }

    #[test]
    fn uf_05_an_operator_that_is_alone_has_all_places_again_and_again() {
        let mut quota = Quota::new(7, 1);
        for _ in 0..3 {
            assert_eq!(taken(&mut quota, "a"), 7);
            (0..7).for_each(|_| quota.give("a"));
        }
        quota.give("a");
        assert_eq!(taken(&mut quota, "a"), 7, "what was not taken can't be given back");
    }
}
