//! Writes the index behind the log, on the one thread that writes sled.
//!
//! Rounds and awards are put as they come; balances and the mark of what is surely on the disk every [`MARK_EVERY`]
//! commits and at the end, and [snapshots](crate::snapshot) now and then. If the index fails, the ledger takes no more
//! appends: history would show less than there is.

use crate::{
    index::{Index, IndexError, ProjectedBalance},
    shared::{Projection, Shared, Standing},
    snapshot::Keeper,
};
use motherlode_books::{Currency, Minor, StreamId};
use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use std::{
    collections::HashMap,
    sync::{Arc, mpsc::Receiver},
    thread,
    time::Duration,
};

/// Commits between two marks: what a restart has to put again at the most.
const MARK_EVERY: usize = 250_000;

/// How long the first group of a batch waits for others: this thread is woken once for all of them.
const GATHER_FOR: Duration = Duration::from_millis(20);

/// Each player's balances, and the commit that they hold for, where they changed since balances were put.
#[derive(Default)]
pub(crate) struct Balances(HashMap<StreamId, (Position, Vec<(Currency, Minor)>)>);

impl Balances {
    /// Notes a commit's balances: they stand for all before them.
    pub(crate) fn note(&mut self, logged: &Logged) {
        let Logged { commit, balances_after } = logged;
        if balances_after.is_empty() {
            return;
        }
        // A copy: the commit itself is let go of while its memory is at hand.
        match self.0.get_mut(&commit.stream) {
            Some((position, balances)) => {
                *position = commit.position;
                balances.clone_from(balances_after);
            }
            None => drop(self.0.insert(commit.stream.clone(), (commit.position, balances_after.clone()))),
        }
    }

    /// Puts what was noted.
    pub(crate) fn put(&mut self, index: &Index) -> Result<(), IndexError> {
        let noted = std::mem::take(&mut self.0).into_iter();
        let each = noted.flat_map(|(stream, (position, balances))| {
            balances.into_iter().map(move |(currency, amount)| ProjectedBalance {
                stream: stream.to_string(),
                currency: currency.code().to_owned(),
                position,
                amount: amount.0,
            })
        });
        index.put_balances(&each.collect::<Vec<_>>())
    }
}

/// Runs until the writer is gone.
pub(crate) fn run(shared: &Arc<Shared>, projections: &Receiver<Projection>, mut snapshots: Keeper) {
    let mut balances = Balances::default();
    let (mut unmarked, mut held) = (0, None);
    while let Ok(mut projection) = projections.recv() {
        thread::sleep(GATHER_FOR);
        for more in projections.try_iter() {
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
            snapshots.keep_running(shared);
        }
    }
    let Some(held) = held else { return };
    if let Err(error) = balances.put(&shared.index).and_then(|()| shared.index.sync(held)) {
        tracing::warn!(%error, "the index's mark stays behind; the next start puts the rest again");
    }
    snapshots.keep_at_rest(shared);
}

fn project(shared: &Shared, projection: &Projection, balances: &mut Balances) -> Result<(), IndexError> {
    shared.index.put(projection.logged.iter().map(|logged| &logged.commit))?;
    projection.logged.iter().for_each(|logged| balances.note(logged));
    Ok(())
}

fn give_up(shared: &Shared, error: &IndexError) {
    shared.fail(Standing::Failed(error.to_string()));
    tracing::error!(%error, "the index cannot be written: no appends until a restart");
}
