//! Each operator's contributions to and awards from a pool, per day (PL-38).
//!
//! The house's seed payments of a day are charged to operators in proportion to their contributions on that day.

use motherlode_proto::{convert::record::Logged, report::v1 as wire};
use motherlode_state::{Event, HOME, Nano, SmolStr, StreamId, date};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PoolOperators {
    rows: BTreeMap<(SmolStr, i64, SmolStr), OperatorDay>,
    incidents: BTreeMap<(SmolStr, SmolStr), SmolStr>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct OperatorDay {
    contributed: i128,
    returned: i128,
    won: i128,
}

impl OperatorDay {
    fn add(&mut self, other: Self) {
        self.contributed += other.contributed;
        self.returned += other.returned;
        self.won += other.won;
    }
}

impl PoolOperators {
    pub(crate) fn take(&mut self, logged: &Logged, event: &Event) {
        let commit = &logged.commit;
        let day = date::day_of(commit.time_ms);
        match (&commit.stream, event) {
            (StreamId::Player { operator, .. }, Event::RoundStarted(started)) => {
                if let Some(given) = &started.contribution {
                    self.row(&given.pool, day, operator).contributed += given.amount.0;
                }
            }
            // Commits of pools are counted only in partition 0, because other partitions contain copies of them.
            (StreamId::Pool(pool), event) if commit.partition == HOME => self.take_of_pool(pool, day, event),
            _ => {}
        }
    }

    fn take_of_pool(&mut self, pool: &SmolStr, day: i64, event: &Event) {
        match event {
            Event::JackpotAwarded(award) => {
                if let StreamId::Player { operator, .. } = &award.stream {
                    self.row(pool, day, operator).won += award.paid.0;
                }
            }
            Event::AwardReversed { operator, amount, .. } => self.row(pool, day, operator).won -= amount.0,
            Event::IncidentDeclared(incident) => {
                self.incidents.insert((pool.clone(), incident.id.clone()), incident.operator.clone());
            }
            Event::ContributionsReturned { incident, amount, .. } => {
                if let Some(operator) = self.incidents.get(&(pool.clone(), incident.clone())).cloned() {
                    self.row(pool, day, &operator).returned += amount.0;
                }
            }
            _ => {}
        }
    }

    fn row(&mut self, pool: &SmolStr, day: i64, operator: &SmolStr) -> &mut OperatorDay {
        self.rows.entry((pool.clone(), day, operator.clone())).or_default()
    }
}

pub(crate) fn of_day<'a>(
    partitions: impl Iterator<Item = &'a PoolOperators>,
    pool: &str,
    day: i64,
    seeds: i128,
) -> Vec<wire::PoolOperator> {
    let mut parts = BTreeMap::<&SmolStr, (OperatorDay, OperatorDay)>::new();
    let first = (SmolStr::new(pool), i64::MIN, SmolStr::default());
    let end = (SmolStr::new(pool), day.saturating_add(1), SmolStr::default());
    for of in partitions {
        for ((_, on, operator), part) in of.rows.range(first.clone()..end.clone()) {
            let (of_day, so_far) = parts.entry(operator).or_default();
            so_far.add(*part);
            if *on == day {
                of_day.add(*part);
            }
        }
    }
    let of_day: Vec<_> = parts.values().map(|(of_day, _)| of_day.contributed).collect();
    let so_far: Vec<_> = parts.values().map(|(_, so_far)| so_far.contributed).collect();
    // Without contributions on the day, operators' shares of the seed payments depend on all earlier contributions.
    let turnover = if of_day.iter().any(|part| *part > 0) { of_day } else { so_far };
    let eur = |figure: i128| Nano(figure).to_string();
    let rows = parts.into_iter().zip(charges(seeds, &turnover));
    rows.map(|((operator, (of_day, so_far)), charge)| wire::PoolOperator {
        operator_id: operator.to_string(),
        contributed_eur: eur(of_day.contributed),
        returned_eur: eur(of_day.returned),
        won_eur: eur(of_day.won),
        seed_charge_eur: eur(charge),
        contributed_total_eur: eur(so_far.contributed - so_far.returned),
        won_total_eur: eur(so_far.won),
    })
    .collect()
}

fn charges(seeds: i128, turnover: &[i128]) -> Vec<i128> {
    let all: i128 = turnover.iter().sum();
    if all == 0 {
        return vec![0; turnover.len()];
    }
    let part = |of: &i128| seeds.checked_mul(*of).map_or(seeds / all * of, |product| product / all);
    let mut charges: Vec<_> = turnover.iter().map(part).collect();
    let left = seeds - charges.iter().sum::<i128>();
    if let Some(largest) = (0..charges.len()).max_by_key(|at| turnover[*at]) {
        charges[largest] += left;
    }
    charges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mf_b3_pl_38_d_seeds_are_charged_by_turnover_to_the_nano() {
        assert_eq!(charges(100, &[1, 1, 1]).iter().sum::<i128>(), 100);
        assert_eq!(
            charges(177_083_000_000_000, &[5_000, 0]),
            [177_083_000_000_000, 0],
            "the only operator with bets pays all"
        );
        assert_eq!(charges(-7, &[2, 1]), [-5, -2], "a returned seed");
        assert_eq!(charges(7, &[0, 0]), [0, 0]);
        assert_eq!(charges(0, &[]), [] as [i128; 0]);
    }
}
