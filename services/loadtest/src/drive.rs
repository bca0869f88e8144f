//! Workers, which play until all rounds are played or the time limit is reached. Each player belongs to one worker, so
//! players need no lock.

use crate::{
    lane::Lane,
    options::Options,
    pace::Pace,
    player::{Player, Table},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout_at},
};

struct Rounds {
    next: AtomicU64,
    count: u64,
    pace: Pace,
    permits: Option<Arc<Semaphore>>,
    deadline: Instant,
}

impl Rounds {
    /// Waits until the next round may start. Returns `None` if the run has ended, `Some(None)` in a closed loop, and
    /// otherwise the round's due time, as a duration since the start.
    async fn next(&self) -> Option<Option<Duration>> {
        if let Some(permits) = &self.permits {
            timeout_at(self.deadline, permits.acquire()).await.ok()?.ok()?.forget();
        }
        let round = self.next.fetch_add(1, Ordering::Relaxed);
        if round.saturating_add(1) >= self.count {
            self.permits.iter().for_each(|permits| permits.close());
        }
        (round < self.count && Instant::now() < self.deadline).then(|| self.pace.due(round))
    }

    fn end(&self) {
        self.next.store(self.count, Ordering::Relaxed);
        self.permits.iter().for_each(|permits| permits.close());
    }
}

pub(crate) async fn drive(
    options: &Options,
    table: &Arc<Table>,
    lanes: &[Lane],
    players: Vec<Player>,
    interrupted: impl Future<Output = ()>,
) -> (Vec<Player>, Duration) {
    let pace = Pace::new(options.rate);
    let rounds = Arc::new(Rounds {
        next: AtomicU64::new(0),
        count: options.rounds,
        pace,
        permits: options.rate.map(|_| pace.release(table.start, options.rounds)),
        deadline: Instant::from_std(table.start) + options.time_max,
    });
    let mut workers = JoinSet::new();
    for (worker, players) in shares(players, options.concurrency).into_iter().enumerate() {
        let lane = lanes[worker % lanes.len()].clone();
        workers.spawn(work(Arc::clone(&rounds), Arc::clone(table), lane, players));
    }
    let played = workers.join_all();
    tokio::pin!(played);
    let players = tokio::select! {
        biased;
        players = &mut played => players,
        () = interrupted => {
            rounds.end();
            played.await
        }
    };
    let players = players.into_iter().flatten().collect();
    let took = table.start.elapsed();
    if let Some(permits) = &rounds.permits {
        permits.close();
    }
    (players, took)
}

async fn work(rounds: Arc<Rounds>, table: Arc<Table>, lane: Lane, mut players: Vec<Player>) -> Vec<Player> {
    for turn in (0..players.len()).cycle() {
        let Some(due) = rounds.next().await else { break };
        players[turn].play(&table, &lane, due).await;
    }
    players
}

pub(crate) fn shares<T>(all: Vec<T>, workers: usize) -> Vec<Vec<T>> {
    let mut shares: Vec<_> = (0..workers).map(|_| Vec::with_capacity(all.len() / workers + 1)).collect();
    for (place, one) in all.into_iter().enumerate() {
        shares[place % workers].push(one);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_player_belongs_to_one_worker() {
        assert_eq!(shares((0..7).collect(), 3), [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
    }
}
