//! Writes the index behind the log, on the one thread that writes sled.
//!
//! Rounds and awards are put as they come; balances and the mark of what is surely on the disk every [`MARK_EVERY`]
//! commits and at the end. If the index fails, the ledger takes no more appends: history would show less than there is.

use crate::{
    index::{Index, IndexError, ProjectedBalance},
    shared::{Projection, Shared},
};
use motherlode_books::{Currency, Minor, StreamId};
use motherlode_proto::convert::record::Logged;
use std::{
    collections::HashMap,
    sync::{Arc, mpsc::Receiver},
    time::{Duration, Instant},
};

/// Commits between two marks: what a restart has to put again at the most.
const MARK_EVERY: usize = 250_000;

/// Commits put together: fewer, larger batches wake this thread less often.
const GATHER_MAX: usize = 512;

/// How long the first commit of a batch waits for others.
const GATHER_FOR: Duration = Duration::from_millis(20);

/// The last commit of each player since balances were put.
#[derive(Default)]
pub(crate) struct Balances(HashMap<StreamId, Arc<Logged>>);

impl Balances {
    /// Notes a commit's balances: they stand for all before them.
    pub(crate) fn note(&mut self, logged: &Arc<Logged>) {
        if logged.balances_after.is_empty() {
            return;
        }
        match self.0.get_mut(&logged.commit.stream) {
            Some(last) => *last = Arc::clone(logged),
            None => drop(self.0.insert(logged.commit.stream.clone(), Arc::clone(logged))),
        }
    }

    /// Puts what was noted.
    pub(crate) fn put(&mut self, index: &Index) -> Result<(), IndexError> {
        let noted = std::mem::take(&mut self.0).into_iter();
        let each = noted.flat_map(|(stream, last)| {
            let balance = |(currency, amount): &(Currency, Minor)| ProjectedBalance {
                stream: stream.to_string(),
                currency: currency.code().to_owned(),
                position: last.commit.position,
                amount: amount.0,
            };
            last.balances_after.iter().map(balance).collect::<Vec<_>>()
        });
        index.put_balances(&each.collect::<Vec<_>>())
    }
}

/// Runs until the writer is gone.
pub(crate) fn run(shared: &Arc<Shared>, projections: &Receiver<Projection>) {
    let mut balances = Balances::default();
    let (mut unmarked, mut held) = (0, None);
    while let Ok(mut projection) = projections.recv() {
        let gathered = Instant::now() + GATHER_FOR;
        while projection.logged.len() < GATHER_MAX
            && let Ok(more) = projections.recv_timeout(gathered.saturating_duration_since(Instant::now()))
        {
            projection.logged.extend(more.logged);
            projection.held = more.held;
        }
        if let Err(error) = project(shared, &projection, &mut balances) {
            return give_up(shared, &error);
        }
        held = Some(projection.held);
        unmarked += projection.logged.len();
        if unmarked >= MARK_EVERY {
            unmarked = 0;
            if let Err(error) = balances.put(&shared.index).and_then(|()| shared.index.sync(projection.held)) {
                return give_up(shared, &error);
            }
        }
    }
    let Some(held) = held else { return };
    if let Err(error) = balances.put(&shared.index).and_then(|()| shared.index.sync(held)) {
        tracing::warn!(%error, "the index's mark stays behind; the next start puts the rest again");
    }
}

fn project(shared: &Shared, projection: &Projection, balances: &mut Balances) -> Result<(), IndexError> {
    shared.index.put(projection.logged.iter().map(|logged| &logged.commit))?;
    projection.logged.iter().for_each(|logged| balances.note(logged));
    Ok(())
}

fn give_up(shared: &Shared, error: &IndexError) {
    shared.fail();
    tracing::error!(%error, "the index cannot be written: no appends until a restart");
}
