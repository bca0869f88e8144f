//! Statements of pools: meters by day and every hit, folded from the pools' own streams (PL-24).
//!
//! The meters are added up here from what the events say, apart from the books, which derive them: that both agree is
//! part of the self-check.

use motherlode_books::{Award, Event, HOME, Nano, PoolState, StreamId};
use motherlode_ledger::fields::{money, round_name, timestamp};
use motherlode_proto::{convert::record::Logged, report::v1 as wire};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Every pool's statement.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Pools(BTreeMap<String, Pool>);

#[derive(Default, Serialize, Deserialize)]
struct Pool {
    now: Meters,
    /// Position of the last commit of its stream.
    position: u64,
    /// Meters at the end of each day on which they changed, by days since 1970.
    days: BTreeMap<i64, Meters>,
    /// By day.
    #[serde(with = "crate::kept::messages::by_day")]
    hits: BTreeMap<i64, Vec<wire::PoolHit>>,
}

/// Figures in EUR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Meters {
    contributions: i128,
    house_funding: i128,
    moved_in: i128,
    paid: i128,
    moved_out: i128,
    increments: i128,
    reserve: i128,
    cycle: u64,
}

impl Pools {
    pub(crate) fn take(&mut self, logged: &Logged, event: &Event) {
        let StreamId::Pool(name) = &logged.commit.stream else { return };
        // Elsewhere are mirrors, which have no figures.
        if logged.commit.partition != HOME {
            return;
        }
        let pool = self.0.entry(name.clone()).or_default();
        let day = logged.commit.time_ms.div_euclid(DAY_MS);
        pool.position = logged.commit.position;
        pool.now.take(event);
        pool.days.insert(day, pool.now);
        if let Event::JackpotAwarded(award) = event {
            pool.hits.entry(day).or_default().push(hit(logged, award));
        }
    }

    /// A pool's statement of a day that is not after `today`; none before the pool, or without it.
    pub(crate) fn statement(&self, name: &str, day: i64, today: i64) -> Option<wire::GetPoolStatementResponse> {
        let pool = self.0.get(name)?;
        if day > today || pool.days.keys().next().is_none_or(|first| *first > day) {
            return None;
        }
        let opening = pool.days.range(..day).next_back().map(|(_, meters)| *meters).unwrap_or_default();
        let closing = pool.days.range(..=day).next_back().map(|(_, meters)| *meters)?;
        Some(wire::GetPoolStatementResponse {
            pool_id: name.to_owned(),
            date: date(day),
            opening: Some(opening.to_wire()),
            closing: Some(closing.to_wire()),
            hits: pool.hits.get(&day).cloned().unwrap_or_default(),
            difference_eur: Nano(closing.excess() - opening.excess()).to_string(),
            position: 0,
        })
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether the books have the same meters; none where they are of another moment.
    pub(crate) fn agrees(&self, books: &PoolState) -> Option<bool> {
        let pool = self.0.get(&*books.name).filter(|pool| pool.position == books.head.position)?;
        Some(
            pool.now
                == Meters {
                    contributions: books.contributions.0,
                    house_funding: books.house_funding.0,
                    moved_in: books.moved_in.0,
                    paid: books.paid.0,
                    moved_out: books.moved_out.0,
                    increments: books.increments.0,
                    reserve: books.reserve.0,
                    cycle: books.cycle,
                },
        )
    }
}

impl Meters {
    fn take(&mut self, event: &Event) {
        match event {
            Event::PoolOpened { .. } => self.cycle = 1,
            Event::ContributionsPooled { amount, .. } => {
                self.contributions += amount.0;
                self.increments += amount.0;
            }
            Event::ContributionTakenBack { amount, from_increments, from_reserve, from_house, .. } => {
                self.contributions -= amount.0;
                self.increments -= from_increments.0;
                self.reserve -= from_reserve.0;
                self.house_funding += from_house.0;
            }
            Event::JackpotAwarded(award) => {
                self.house_funding += award.seed_from_house.0;
                self.paid += award.paid.0;
                self.reserve += award.to_reserve.0 - award.seed_from_reserve.0;
                self.increments = 0;
                self.cycle += 1;
            }
            Event::PoolRetired { increments, reserve, .. } => {
                self.moved_out += increments.0 + reserve.0;
                self.increments -= increments.0;
                self.reserve -= reserve.0;
            }
            Event::PoolReceived { increments, reserve, .. } => {
                self.moved_in += increments.0 + reserve.0;
                self.increments += increments.0;
                self.reserve += reserve.0;
            }
            _ => {}
        }
    }

    /// The difference between income and outgoings plus balance: zero, or the meters are wrong (BW-18).
    fn excess(&self) -> i128 {
        self.contributions + self.house_funding + self.moved_in
            - self.paid
            - self.moved_out
            - self.increments
            - self.reserve
    }

    fn to_wire(self) -> wire::PoolMeters {
        let eur = |figure: i128| Nano(figure).to_string();
        wire::PoolMeters {
            contributions_eur: eur(self.contributions),
            house_funding_eur: eur(self.house_funding),
            moved_in_eur: eur(self.moved_in),
            paid_eur: eur(self.paid),
            moved_out_eur: eur(self.moved_out),
            increments_eur: eur(self.increments),
            reserve_eur: eur(self.reserve),
            cycle: self.cycle,
        }
    }
}

fn hit(logged: &Logged, award: &Award) -> wire::PoolHit {
    wire::PoolHit {
        hit_position: award.hit,
        award_position: logged.commit.position,
        time: Some(timestamp(logged.commit.time_ms)),
        round_id: round_name(&award.stream, award.round),
        cycle: award.cycle,
        collision: award.collision,
        amount: Some(money(award.amount, award.currency)),
        increments_eur: award.increments.to_string(),
        seed_from_reserve_eur: award.seed_from_reserve.to_string(),
        seed_from_house_eur: award.seed_from_house.to_string(),
        to_reserve_eur: award.to_reserve.to_string(),
        hit_partition: award.partition,
    }
}

/// The day of a moment, in days since 1970.
pub(crate) fn day_of(time_ms: i64) -> i64 {
    time_ms.div_euclid(DAY_MS)
}

/// A day as YYYY-MM-DD, in the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms").
pub(crate) fn date(day: i64) -> String {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march_month + 2) / 5 + 1, (march_month + 2) % 12 + 1);
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The day of YYYY-MM-DD; none for what is no date.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let parse = |text: &str, digits| text.parse::<i64>().ok().filter(|_| text.len() == digits);
    let (year, month, day) = (parse(year, 4)?, parse(month, 2)?, parse(day, 2)?);
    let march_year = year - i64::from(month <= 2);
    let (era, of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let found = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    // What is no date is another one's day.
    (date(found) == text).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_24_days_have_their_dates_and_what_is_no_date_has_none() {
        for (day, text) in [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (20_778, "2026-11-21")] {
            assert_eq!((date(day), parse_date(text)), (text.to_owned(), Some(day)));
        }
        assert!((-200_000..200_000).all(|day| date(day).len() != 10 || parse_date(&date(day)) == Some(day)));
        for bad in ["", "2026-02-29", "2026-13-01", "2026-1-01", "2026-01-00", "+026-01-01", "2026-01-01x", "x"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
    }
}
