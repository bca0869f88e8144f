//! Pages of a player's rounds. A page token is a round number, so it stays valid when further rounds are played.

use crate::{
    error::FetchError,
    handle::Handle,
    index::{Bet, group},
    rounds,
};
use motherlode_proto::round::v1::Round;
use motherlode_state::{Currency, StreamId};
use std::{
    cmp::Reverse,
    panic,
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

/// Duration of a read after which the remaining rounds are read by several threads.
const SLOW: Duration = Duration::from_millis(1);
const THREADS: usize = 4;

pub(crate) struct HistoryFilter<'a> {
    pub(crate) stream: &'a StreamId,
    pub(crate) currency: Currency,
    pub(crate) game: &'a str,
    pub(crate) first: u64,
    pub(crate) size: usize,
}

pub(crate) type Page = (Vec<Round>, Option<u64>);

pub(crate) fn page(ledger: &Handle, wanted: &HistoryFilter<'_>) -> Result<Page, FetchError> {
    let HistoryFilter { stream, currency, game, first, size } = *wanted;
    let within = group(stream, currency, game);
    let mut found = ledger.index().bets(stream, &within, first.saturating_add(1), size + 1)?;
    found.sort_unstable_by_key(|(number, _)| Reverse(*number));
    found.dedup();
    let next = found.get(size).map(|(number, _)| *number);
    found.truncate(size);
    let read = |(number, bet): &Bet| {
        let commits = rounds::gather(ledger, stream, *number, Some(*bet))?;
        rounds::view(ledger, stream, *number, &commits)
    };
    Ok((all(&found, &read, SLOW)?, next))
}

fn all<B: Sync, R: Send, E: Send>(
    bets: &[B],
    read: &(impl Fn(&B) -> Result<R, E> + Sync),
    slow: Duration,
) -> Result<Vec<R>, E> {
    let mut rounds = vec![];
    for (at, bet) in bets.iter().enumerate() {
        let begun = Instant::now();
        rounds.push(read(bet)?);
        if begun.elapsed() >= slow {
            rounds.extend(in_parallel(&bets[at + 1..], read)?);
            break;
        }
    }
    Ok(rounds)
}

fn in_parallel<B: Sync, R: Send, E: Send>(
    bets: &[B],
    read: &(impl Fn(&B) -> Result<R, E> + Sync),
) -> Result<Vec<R>, E> {
    let each = |bets: &[B]| bets.iter().map(read).collect::<Result<Vec<_>, _>>();
    let joined = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|cause| panic::resume_unwind(cause));
    let share = bets.len().div_ceil(THREADS).max(1);
    thread::scope(|scope| {
        let start = |bets| (bets, thread::Builder::new().spawn_scoped(scope, move || each(bets)));
        let threads: Vec<_> = bets.chunks(share).map(start).collect();
        let parts = threads.into_iter().map(|(bets, thread)| thread.map_or_else(|_| each(bets), joined));
        Ok(parts.collect::<Result<Vec<_>, E>>()?.into_iter().flatten().collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_20_rounds_that_wait_for_the_disk_are_read_in_parallel_and_stay_in_order() {
        let bets: Vec<_> = (0..50).collect();
        for slow in [Duration::ZERO, Duration::MAX] {
            let threads = parking_lot::Mutex::new(std::collections::HashSet::new());
            let read = |bet: &i32| {
                threads.lock().insert(thread::current().id());
                Ok::<_, i32>(bet * 2)
            };
            assert_eq!(all(&bets, &read, slow), Ok((0..50).map(|bet| bet * 2).collect()));
            assert_eq!(threads.lock().len(), if slow.is_zero() { 1 + THREADS } else { 1 });
            let fails = |bet: &i32| if *bet == 30 { Err(*bet) } else { Ok(*bet) };
            assert_eq!(all(&bets, &fails, slow), Err(30));
            assert_eq!(all(&bets[..1], &fails, slow), Ok(vec![0]));
        }
    }
}
