//! Rounds and wins of a level (a game's version at one stake) by day, for the last 366 days (PL-23).

use motherlode_proto::report::v1 as wire;
use motherlode_state::date;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const DAYS: usize = 366;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LevelDays(BTreeMap<i64, (u64, i128)>);

impl LevelDays {
    pub(crate) fn add(&mut self, time_ms: i64, win: i64) {
        self.count(date::day_of(time_ms), 1, i128::from(win));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (day, (rounds, wins)) in &other.0 {
            self.count(*day, *rounds, *wins);
        }
    }

    fn count(&mut self, day: i64, rounds: u64, wins: i128) {
        let of = self.0.entry(day).or_default();
        *of = (of.0 + rounds, of.1 + wins);
        while self.0.len() > DAYS {
            self.0.pop_first();
        }
    }

    pub(crate) fn to_wire(&self, rounds: u64, wins: i128) -> Vec<wire::ReturnDay> {
        let mut left = (rounds, wins);
        let mut days: Vec<_> = self
            .0
            .iter()
            .rev()
            .map(|(day, (rounds, wins))| {
                let told = wire::ReturnDay { date: date::text(*day), rounds: left.0, wins_minor: left.1.to_string() };
                left = (left.0.saturating_sub(*rounds), left.1 - wins);
                told
            })
            .collect();
        days.reverse();
        days
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 86_400_000;

    #[test]
    fn pl_23_a_days_figures_are_those_of_all_rounds_up_to_it() {
        let (mut one, mut other) = (LevelDays::default(), LevelDays::default());
        one.add(0, 10);
        one.add(DAY_MS, 0);
        one.add(DAY_MS + 1, 5);
        other.add(DAY_MS, 7);
        one.merge(&other);
        let told: Vec<_> = one.to_wire(4, 22).into_iter().map(|day| (day.date, day.rounds, day.wins_minor)).collect();
        let day = |date: &str, rounds, wins: &str| (date.to_owned(), rounds, wins.to_owned());
        assert_eq!(told, [day("1970-01-01", 1, "10"), day("1970-01-02", 4, "22")]);
    }

    #[test]
    fn a_year_is_kept_and_what_was_before_still_counts() {
        let mut days = LevelDays::default();
        for day in 0..400 {
            days.add(day * DAY_MS, 1);
        }
        let told = days.to_wire(400, 400);
        assert_eq!((told.len(), told[0].rounds, told[365].rounds), (366, 35, 400));
    }
}
