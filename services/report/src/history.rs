//! History of the last hour and day, for the console's graphs: one point per minute for an hour, and one per 15 minutes
//! for a day. The points are written to a file once per minute. A damaged file causes a warning and an empty history.

use motherlode_ledger::fields::timestamp;
use motherlode_proto::report::v1 as wire;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

const MAGIC: &[u8; 8] = b"MLHIST01";
const MINUTE_MS: i64 = 60_000;
const HOUR: i64 = 60;
const MINUTES_MAX: usize = 60;
const QUARTER: i64 = 15;
const DAY: i64 = 24 * 60;
const QUARTERS_MAX: usize = 96;
/// Maximum number of refusal reasons, and of pools, per point. The counts of the remaining reasons are summed under one
/// name; the remaining pools are dropped.
const NAMES_MAX: usize = 12;
const OTHER_REASONS: &str = "_OTHER";
/// Minimum length of the history, in minutes, for predicting the growth of disk use.
const FORECAST_MINUTES_MIN: i64 = 30;

/// Figures of one interval, and values of gauges at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    /// Start of the interval, in minutes since 1970.
    pub(crate) minute: i64,
    pub(crate) rounds: u64,
    /// Stakes in units of 0.01 EUR; `wins` and `pools` have the same unit.
    pub(crate) stakes: i64,
    pub(crate) wins: i64,
    pub(crate) pools: BTreeMap<String, i64>,
    pub(crate) refusals: BTreeMap<String, u64>,
    /// Highest p99 latency of any minute in the interval.
    pub(crate) p99_us: u64,
    pub(crate) disk: Disk,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    pub free_bytes: u64,
    pub total_bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct History {
    hour: VecDeque<Point>,
    day: VecDeque<Point>,
}

impl History {
    pub(crate) fn push(&mut self, mut point: Point) {
        let pools = point.pools.len().saturating_sub(NAMES_MAX);
        (0..pools).for_each(|_| _ = point.pools.pop_last());
        bound(&mut point.refusals);
        let quarter = point.minute - point.minute.rem_euclid(QUARTER);
        match self.day.back_mut().filter(|last| last.minute >= quarter) {
            Some(last) => last.add(&point),
            None => self.day.push_back(Point { minute: quarter, ..point.clone() }),
        }
        self.hour.push_back(point);
        let last = self.hour.back().map_or(0, |last| last.minute);
        keep(&mut self.hour, MINUTES_MAX, last - HOUR);
        keep(&mut self.day, QUARTERS_MAX, last - DAY);
    }

    /// Growth of the used disk space over the whole history, in bytes per day; `None` if the history is too short.
    fn growth(&self) -> Option<i128> {
        let first = self.day.front()?;
        let last = self.hour.back()?;
        let begun = self.day.get(1).map_or(first.minute, |next| next.minute);
        let minutes = last.minute - begun;
        if minutes < FORECAST_MINUTES_MIN || first.disk.total_bytes != last.disk.total_bytes {
            return None;
        }
        let grown = i128::from(first.disk.free_bytes) - i128::from(last.disk.free_bytes);
        Some(grown * i128::from(DAY) / i128::from(minutes))
    }

    pub(crate) fn disk(&self) -> Option<wire::Disk> {
        let Disk { free_bytes, total_bytes } = self.hour.back()?.disk;
        let growth = self.growth();
        let days_left = growth.filter(|growth| *growth > 0).map(|growth| i128::from(free_bytes) / growth);
        let growth_bytes_per_day = growth.and_then(|growth| i64::try_from(growth).ok());
        Some(wire::Disk { free_bytes, total_bytes, growth_bytes_per_day, days_left: days_left.map(fit) })
    }

    pub(crate) fn to_wire(&self) -> (Vec<wire::HistoryPoint>, Vec<wire::HistoryPoint>) {
        let all = |points: &VecDeque<Point>| points.iter().map(Point::to_wire).collect();
        (all(&self.hour), all(&self.day))
    }

    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let damaged = || {
            io::Error::new(io::ErrorKind::InvalidData, "the history file is damaged, or has a different format version")
        };
        let (digest, body) =
            bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_at_checked(32)).ok_or_else(damaged)?;
        if Sha256::digest(body)[..] != *digest {
            return Err(damaged());
        }
        postcard::from_bytes(body).map_err(|_| damaged())
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let body = postcard::to_allocvec(self).map_err(io::Error::other)?;
        let next = path.with_extension("next");
        let mut file = File::create(&next)?;
        file.write_all(&[&MAGIC[..], &Sha256::digest(&body), &body].concat())?;
        file.sync_data()?;
        fs::rename(next, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

impl Point {
    fn add(&mut self, of: &Self) {
        self.rounds = self.rounds.saturating_add(of.rounds);
        self.stakes = self.stakes.saturating_add(of.stakes);
        self.wins = self.wins.saturating_add(of.wins);
        for (reason, count) in &of.refusals {
            *self.refusals.entry(reason.clone()).or_default() += count;
        }
        bound(&mut self.refusals);
        self.p99_us = self.p99_us.max(of.p99_us);
        (self.pools, self.disk) = (of.pools.clone(), of.disk);
    }

    fn to_wire(&self) -> wire::HistoryPoint {
        let refusals =
            self.refusals.iter().map(|(reason, count)| wire::RefusalCount { reason: reason.clone(), count: *count });
        let pools = self
            .pools
            .iter()
            .map(|(pool, level)| wire::PoolLevel { pool_id: pool.clone(), increments_eur_minor: *level });
        wire::HistoryPoint {
            start_time: Some(timestamp(self.minute.saturating_mul(MINUTE_MS))),
            rounds: self.rounds,
            stakes_eur_minor: self.stakes,
            wins_eur_minor: self.wins,
            refusals: refusals.collect(),
            latency_p99_us: self.p99_us,
            pools: pools.collect(),
        }
    }
}

fn fit(days: i128) -> u32 {
    u32::try_from(days).unwrap_or(u32::MAX)
}

fn keep(points: &mut VecDeque<Point>, count_max: usize, after: i64) {
    while points.len() > count_max || points.front().is_some_and(|first| first.minute <= after) {
        points.pop_front();
    }
}

fn bound(refusals: &mut BTreeMap<String, u64>) {
    while refusals.len() > NAMES_MAX {
        let named = refusals.iter().filter(|(reason, _)| *reason != OTHER_REASONS);
        let Some(rarest) = named.min_by_key(|(_, count)| **count).map(|(reason, _)| reason.clone()) else { return };
        let count = refusals.remove(&rarest).unwrap_or_default();
        *refusals.entry(OTHER_REASONS.to_owned()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(minute: i64, rounds: u64, free_bytes: u64) -> Point {
        let refusals = BTreeMap::from([("LOSS_LIMIT".to_owned(), 1)]);
        let disk = Disk { free_bytes, total_bytes: 1_000_000 };
        Point { minute, rounds, refusals, p99_us: rounds, disk, ..Point::default() }
    }

    #[test]
    fn pl_23_an_hour_has_minutes_and_a_day_has_their_sums() {
        let mut history = History::default();
        for minute in 30_000..30_000 + 2 * 24 * 60 {
            history.push(point(minute, minute.rem_euclid(15).unsigned_abs(), 500_000));
        }
        assert_eq!((history.hour.len(), history.day.len()), (60, 96));
        let quarter = history.day.front().unwrap();
        assert_eq!((quarter.rounds, quarter.p99_us, quarter.refusals["LOSS_LIMIT"]), ((0..15).sum(), 14, 15));
        let after_a_pause = history.hour.back().unwrap().minute + 90;
        history.push(point(after_a_pause, 7, 500_000));
        assert_eq!(history.hour.len(), 1, "older minutes are not part of the hour");
    }

    #[test]
    fn pl_23_the_disks_days_left_are_its_free_bytes_over_its_growth() {
        let mut history = History::default();
        for minute in 0..60 {
            history.push(point(30_000 + minute, 1, 144_000 - 10 * minute.unsigned_abs()));
            if minute < FORECAST_MINUTES_MIN {
                assert_eq!(history.disk().unwrap().growth_bytes_per_day, None, "minute {minute}");
            }
        }
        let disk = history.disk().unwrap();
        let growth = disk.growth_bytes_per_day.unwrap();
        assert!((14_000..15_000).contains(&growth), "{growth}");
        assert_eq!(disk.days_left, Some(9), "{disk:?}");
        let mut shrinking = History::default();
        (0..60).for_each(|minute| shrinking.push(point(30_000 + minute, 1, 100 + minute.unsigned_abs())));
        assert_eq!(shrinking.disk().unwrap().days_left, None);
    }

    #[test]
    fn uf_06_a_point_has_few_reasons_and_pools() {
        let mut history = History::default();
        let names = |from: u64| (from..from + 50).map(|number| (format!("R{number:03}"), number + 1));
        let mut crowded = point(30_000, 1, 1);
        (crowded.refusals, crowded.pools) = (names(0).collect(), names(0).map(|(name, _)| (name, 1)).collect());
        let refused: u64 = crowded.refusals.values().sum();
        history.push(crowded.clone());
        history.push(Point { minute: 30_001, refusals: names(50).collect(), ..crowded });
        let day = history.day.back().unwrap();
        assert!(day.refusals.len() <= NAMES_MAX && day.pools.len() <= NAMES_MAX);
        assert_eq!(day.refusals.values().sum::<u64>(), refused + (51..=100).sum::<u64>());
    }

    #[test]
    fn pl_23_the_history_survives_a_restart_and_a_damaged_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        assert_eq!(History::read(&path).unwrap(), History::default());
        let mut history = History::default();
        (0..90).for_each(|minute| history.push(point(30_000 + minute, 3, 9)));
        history.write(&path).unwrap();
        assert_eq!(History::read(&path).unwrap(), history);
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() < 40_000, "{}", bytes.len());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert!(History::read(&path).is_err(), "byte {at}");
        }
    }
}
