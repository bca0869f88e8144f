//! Minimum time between a player's rounds (PL-26), measured by the process's monotonic clock. If the last bet was accepted
//! by another process, or before a restart, the bet's logged time is used. The remaining time never
//! exceeds the minimum time, even if the logged time is in the future.

use motherlode_ledger::Handle;
use motherlode_state::{Commit, Event, PlayerState, StreamId};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

const KEPT_MIN: usize = 1_024;

#[derive(Clone, Default)]
pub(crate) struct Pace(Arc<Bets>);

#[derive(Default)]
struct Bets {
    asked: AtomicBool,
    kept: Mutex<PaceState>,
}

#[derive(Default)]
struct PaceState {
    bets: HashMap<StreamId, (u64, i64)>,
    longest_ms: i64,
    look_at: usize,
}

impl PaceState {
    fn put(&mut self, stream: &StreamId, round: u64, tick: i64, now_tick: i64) {
        if self.bets.len() >= self.look_at.max(KEPT_MIN) {
            let longest_ms = self.longest_ms;
            self.bets.retain(|_, (_, tick)| now_tick.saturating_sub(*tick) < longest_ms);
            self.look_at = 2 * self.bets.len();
        }
        self.bets.insert(stream.clone(), (round, tick));
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) log_ms: i64,
    pub(crate) tick_ms: i64,
}

impl Now {
    pub(crate) fn read(ledger: &Handle) -> Self {
        Self { log_ms: ledger.now_ms(), tick_ms: ledger.ticks_ms() }
    }
}

impl Pace {
    pub(crate) fn taken(&self, commit: &Commit, tick_ms: impl FnOnce() -> i64) {
        if !self.0.asked.load(Relaxed) {
            return;
        }
        let bet = commit.events.iter().find_map(|event| match event {
            Event::RoundStarted(started) => Some(started.round),
            _ => None,
        });
        let Some(round) = bet else { return };
        let (mut kept, tick_ms) = (self.0.kept.lock(), tick_ms());
        if kept.bets.get(&commit.stream).is_none_or(|(known, _)| *known < round) {
            kept.put(&commit.stream, round, tick_ms, tick_ms);
        }
    }

    pub(crate) fn left_ms(&self, stream: &StreamId, player: &PlayerState, of_ms: u32, now: Now) -> Option<i64> {
        let of_ms = i64::from(of_ms);
        if of_ms == 0 {
            return None;
        }
        self.0.asked.store(true, Relaxed);
        let mut kept = self.0.kept.lock();
        kept.longest_ms = kept.longest_ms.max(of_ms);
        let last_ms = player.last_bet_ms()?;
        let since = match kept.bets.get(stream) {
            Some((round, tick)) if *round == player.rounds_started => *tick,
            _ => {
                let passed = now.log_ms.saturating_sub(last_ms).max(0);
                if passed >= of_ms {
                    return None;
                }
                let tick = now.tick_ms.saturating_sub(passed);
                kept.put(stream, player.rounds_started, tick, now.tick_ms);
                tick
            }
        };
        let left = since.saturating_add(of_ms).saturating_sub(now.tick_ms);
        (left > 0).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_state::{Books, CoinValue, Currency, FxRate, LoggedTerms, Minor, RoundStarted, RoundTerms};

    const DAY: i64 = 86_400_000;

    fn now(log_ms: i64, tick_ms: i64) -> Now {
        Now { log_ms, tick_ms }
    }

    fn bettor(last_ms: i64) -> PlayerState {
        let (stream, commit) = (StreamId::player("acme", "alice"), bet_of("alice", last_ms));
        let mut books = Books::new();
        books.apply(&commit).unwrap();
        books.player(&stream).unwrap().clone()
    }

    fn bet_of(player: &str, time_ms: i64) -> Commit {
        let stream = StreamId::player("acme", player);
        let currency = Currency::EUR;
        let started = RoundStarted {
            round: 1,
            game: "neptune".into(),
            rules_version: "1.0".into(),
            model_hash: [0; 32],
            currency,
            bet: Minor(1),
            coin_value: CoinValue(10_000),
            stake: LoggedTerms::Terms(RoundTerms::default()),
            rate: FxRate::ONE,
            contribution: None,
            session: None,
            jurisdiction: "".into(),
            campaign: None,
        };
        Commit {
            partition: 0,
            position: 1,
            stream,
            version: 1,
            previous: 0,
            request_id: "x".into(),
            fingerprint: [0; 16],
            time_ms,
            events: vec![
                Event::AccountOpened { currency },
                Event::Deposited { currency, amount: Minor(1) },
                Event::RoundStarted(started.into()),
            ],
        }
    }

    #[test]
    fn uf_07_pl_26_no_clock_makes_the_seconds_of_a_bet_of_this_process_longer_or_shorter() {
        let (alice, stream) = (bettor(10 * DAY), StreamId::player("acme", "alice"));
        for moved in [0, DAY, -DAY, 1_000, -1_000] {
            let pace = Pace::default();
            assert_eq!(pace.left_ms(&stream, &PlayerState::default(), 2_500, now(10 * DAY, 70)), None);
            pace.taken(&bet_of("alice", 10 * DAY), || 77);
            pace.taken(&bet_of("alice", 10 * DAY), || 1_077);
            let left = |ms| pace.left_ms(&stream, &alice, 2_500, now(10 * DAY + moved + ms, 77 + ms));
            assert_eq!((left(0), left(2_499), left(2_500)), (Some(2_500), Some(1), None), "clock moved by {moved}");
            assert_eq!(pace.left_ms(&stream, &alice, 0, now(10 * DAY, 77)), None);
        }
    }

    #[test]
    fn uf_07_pl_26_after_a_restart_nobody_waits_for_longer_than_the_rule() {
        let (alice, stream) = (bettor(10 * DAY), StreamId::player("acme", "alice"));
        for (log_ms, first) in [(10 * DAY + 1_000, Some(1_500)), (9 * DAY, Some(2_500)), (11 * DAY, None)] {
            let pace = Pace::default();
            let left = |tick| pace.left_ms(&stream, &alice, 2_500, now(log_ms, tick));
            assert_eq!(left(0), first, "{log_ms}");
            let wait = first.unwrap_or_default();
            assert_eq!((left(wait - 1).is_some(), left(wait)), (first.is_some(), None), "{log_ms}");
        }
    }

    #[test]
    fn uf_06_pl_26_what_is_kept_has_a_bound() {
        let (alice, pace) = (bettor(10 * DAY), Pace::default());
        for tick in 0..20_000 {
            let commit = bet_of(&format!("p{tick}"), 10 * DAY);
            let stream = commit.stream.clone();
            pace.taken(&commit, || tick);
            pace.left_ms(&stream, &alice, 2_500, now(10 * DAY, tick));
        }
        assert!(pace.0.kept.lock().bets.len() <= 2 * 2_500);
    }
}
