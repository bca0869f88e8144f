//! Counts of voids and rounds by operator and day (PL-38). An alarm is raised if an operator's voids on a day exceed
//! both 20 and 0.1 % of its rounds on that day. Rounds for play money are not counted.

use crate::figures::Figures;
use motherlode_state::SmolStr;
use std::collections::BTreeMap;

const VOIDS_MIN: u64 = 20;

const ROUNDS_PER_VOID: u64 = 1_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VoidShare {
    pub rounds: u64,
    pub voids: u64,
}

impl VoidShare {
    #[must_use]
    pub fn voids_max(self) -> u64 {
        VOIDS_MIN.max(self.rounds / ROUNDS_PER_VOID)
    }
}

pub(crate) fn of_days(partitions: &[&Figures], from: i64, to: i64) -> BTreeMap<(i64, SmolStr), VoidShare> {
    let mut shares = BTreeMap::<_, VoidShare>::new();
    for figures in partitions {
        for (key, sums) in figures.revenue.of_days(from, to, None).filter(|(key, _)| key.currency.is_real()) {
            let share = shares.entry((key.day, key.operator.clone())).or_default();
            share.rounds += sums.rounds + sums.free_rounds;
            share.voids += sums.voided;
        }
    }
    shares.retain(|_, share| *share != VoidShare::default());
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_38_d_the_alarm_is_above_20_voids_or_a_thousandth_of_the_rounds_whichever_is_larger() {
        let most = |rounds| VoidShare { rounds, voids: 0 }.voids_max();
        assert_eq!([0, 20_000, 20_999, 21_000, 1_000_000].map(most), [20, 20, 20, 21, 1_000]);
    }
}
