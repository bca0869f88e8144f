//! Slots in a queue or table that several operators share. Half of the slots are divided equally among the operators;
//! the other half is open to all operators.

use std::collections::BTreeMap;

use smol_str::SmolStr;

#[derive(Debug, Clone)]
pub struct Quota {
    own: usize,
    common: usize,
    taken: BTreeMap<SmolStr, usize>,
}

impl Quota {
    #[must_use]
    pub fn new(places: usize, operators: usize) -> Self {
        let own = (places - places / 2) / operators.max(1);
        Self { own: own.max(1), common: places / 2, taken: BTreeMap::new() }
    }

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
        assert!(quota.take("b") && !quota.take("a"), "the first operator to ask gets a common slot");
        quota.give("b");
        quota.give("b");
        assert!(!quota.take("a") || !quota.take("a"), "no other operator can take a reserved slot");
    }

    #[test]
    fn uf_05_an_operator_that_is_alone_has_all_places_again_and_again() {
        let mut quota = Quota::new(7, 1);
        for _ in 0..3 {
            assert_eq!(taken(&mut quota, "a"), 7);
            (0..7).for_each(|_| quota.give("a"));
        }
        quota.give("a");
        assert_eq!(taken(&mut quota, "a"), 7, "only a taken slot can be returned");
    }
}
