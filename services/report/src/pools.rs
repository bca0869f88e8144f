//! Statements of pools: each day's meters, and all jackpot hits (PL-24). The statements are computed independently of
//! the books, and the self-check compares the two.

use motherlode_ledger::fields::{money, round_name, timestamp};
use motherlode_proto::{convert::record::Logged, report::v1 as wire};
use motherlode_state::{Award, Event, HOME, Nano, PoolState, StreamId, date};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Pools(BTreeMap<String, Pool>);

#[derive(Default, Serialize, Deserialize)]
struct Pool {
    now: Meters,
    position: u64,
    /// Meters at the end of each day on which they changed, keyed by days since 1 January 1970.
    days: BTreeMap<i64, Meters>,
    #[serde(with = "crate::view::messages")]
    hits: BTreeMap<i64, Vec<wire::PoolHit>>,
}

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
        if logged.commit.partition != HOME {
            return;
        }
        let pool = self.0.entry(name.to_string()).or_default();
        let day = date::day_of(logged.commit.time_ms);
        pool.position = logged.commit.position;
        pool.now.take(event);
        pool.days.insert(day, pool.now);
        if let Event::JackpotAwarded(award) = event {
            pool.hits.entry(day).or_default().push(hit(logged, award));
        }
    }

    pub(crate) fn statement(&self, name: &str, day: i64, today: i64) -> Option<wire::GetPoolStatementResponse> {
        let pool = self.0.get(name)?;
        if day > today || pool.days.keys().next().is_none_or(|first| *first > day) {
            return None;
        }
        let opening = pool.days.range(..day).next_back().map(|(_, meters)| *meters).unwrap_or_default();
        let closing = pool.days.range(..=day).next_back().map(|(_, meters)| *meters)?;
        Some(wire::GetPoolStatementResponse {
            pool_id: name.to_owned(),
            date: date::text(day),
            opening: Some(opening.to_wire()),
            closing: Some(closing.to_wire()),
            hits: pool.hits.get(&day).cloned().unwrap_or_default(),
            difference_eur: Nano(closing.excess() - opening.excess()).to_string(),
            position: 0,
            operators: vec![],
        })
    }

    pub(crate) fn seeds(&self, name: &str, day: i64) -> i128 {
        let funding = |meters: Option<(&i64, &Meters)>| meters.map_or(0, |(_, meters)| meters.house_funding);
        let days = self.0.get(name).map(|pool| &pool.days);
        days.map_or(0, |days| funding(days.range(..=day).next_back()) - funding(days.range(..day).next_back()))
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns whether the meters equal those in the books; `None` if books and meters are at different log positions.
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
            Event::ContributionsReturned { amount, from_increments, from_reserve, from_house, .. } => {
                self.contributions -= amount.0;
                self.increments -= from_increments.0;
                self.reserve -= from_reserve.0;
                self.house_funding += from_house.0;
            }
            Event::AwardReversed { amount, to_house, .. } => {
                self.paid -= amount.0;
                self.house_funding -= to_house.0;
                self.reserve += amount.0 - to_house.0;
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
