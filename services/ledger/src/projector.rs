//! Writes the index behind the log, on the only thread that writes sled, and triggers [snapshots](crate::snapshot).
//!
//! Awards and full rows of rounds are written at once; balances, other rounds and the mark every
//! [`Options::mark_commits`](crate::Options::mark_commits) and at the end. A replay moves no mark before its end, since
//! its records may not be durable yet.
//!
//! The index never stops the log: after a failed write it is closed, reopened or rebuilt with exponential backoff, and
//! catches up from the log. Commits from the writer only save reads.

use crate::{
    chain::record_hash,
    core::{LedgerCore, PublishedGroup},
    index::{ChainHead, Change, Index, IndexError, ProjectedBalance},
    projected::{Projected, Projection},
    snapshot::Snapshots,
    trails::Portion,
};
use motherlode_log::{Position, Reader};
use motherlode_proto::convert::record::Logged;
use motherlode_state::{Currency, Minor, StreamId};
use std::{
    borrow::Borrow,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// Wait for further groups, to save wake-ups.
const GATHER_FOR: Duration = Duration::from_millis(20);
/// Most commits per write; readers of the index wait for it.
const TOGETHER_MAX: usize = 512;
/// Players with balances or rounds in memory only, about 300 bytes each.
const NOTED_MAX: usize = 1 << 19;
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);

/// Changed balances by player, with the position of the latest change.
#[derive(Default)]
struct Balances(HashMap<StreamId, (Position, Vec<(Currency, Minor)>)>);

impl Balances {
    fn note(&mut self, logged: &Logged) {
        let Logged { commit, balances_after, .. } = logged;
        if balances_after.is_empty() {
            return;
        }
        // Copied, so that the commit is freed early.
        match self.0.get_mut(&commit.stream) {
            Some((position, balances)) => {
                *position = commit.position;
                balances.clone_from(balances_after);
            }
            None => drop(self.0.insert(commit.stream.clone(), (commit.position, balances_after.clone()))),
        }
    }

    fn put(&mut self, index: &Index) -> Result<(), IndexError> {
        let noted = self.0.drain();
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

pub(crate) struct Projector {
    projected: Arc<Projected>,
    folder: PathBuf,
    mark_commits: usize,
    noted_max: usize,
    balances: Balances,
    unmarked: usize,
    trouble: Option<Trouble>,
}

struct Trouble {
    again: Instant,
    pause: Duration,
}

impl Projector {
    pub(crate) fn new(projection: Projection, folder: &Path, mark_commits: usize) -> Self {
        Self {
            projected: Arc::new(Projected::new(projection)),
            folder: folder.to_owned(),
            mark_commits,
            noted_max: NOTED_MAX,
            balances: Balances::default(),
            unmarked: 0,
            trouble: None,
        }
    }

    pub(crate) fn projected(&self) -> Arc<Projected> {
        Arc::clone(&self.projected)
    }

    /// Skips commits that are already in the index or do not continue it. A failure closes the index.
    pub(crate) fn take<L: Borrow<Logged>>(&mut self, logged: &[L]) {
        for some in logged.chunks(TOGETHER_MAX) {
            let put = self.projected.write(|projection| put(projection, &mut self.balances, self.noted_max, some));
            match put {
                None => return,
                Some(Ok(put)) => self.unmarked += put,
                Some(Err(error)) => return self.give_up(&error),
            }
        }
    }

    /// Syncs the index if it is at `head`.
    pub(crate) fn mark(&mut self, head: ChainHead) {
        if self.projected.to() != head.position {
            return;
        }
        let marked = self.projected.write(|projection| mark(projection, &mut self.balances, head));
        match marked {
            None => {}
            Some(Ok(())) => self.unmarked = 0,
            Some(Err(error)) => self.give_up(&error),
        }
    }

    fn give_up(&mut self, error: &IndexError) {
        tracing::error!(%error, position = self.projected.to(), "the index cannot be written: it falls behind the log");
        self.trouble = Some(Trouble { again: Instant::now() + RETRY_MIN, pause: RETRY_MIN });
        self.projected.close();
    }

    fn heal(&mut self, reader: &dyn Reader) {
        let Some(trouble) = self.trouble.as_mut().filter(|trouble| trouble.again <= Instant::now()) else { return };
        match Projection::open(reader, &self.folder) {
            Ok((projection, _)) => {
                tracing::info!(
                    position = projection.trails.to,
                    "the index can be written again: it catches up with the log"
                );
                self.trouble = None;
                (self.balances, self.unmarked) = (Balances::default(), 0);
                self.projected.replace(Some(projection));
            }
            Err(error) => {
                tracing::debug!(%error, "the index still cannot be written");
                trouble.pause = (trouble.pause * 2).min(RETRY_MAX);
                trouble.again = Instant::now() + trouble.pause;
            }
        }
    }

    fn catch_up(&mut self, shared: &LedgerCore) {
        while self.trouble.is_none() && self.projected.to() < shared.durable() {
            match shared.read(self.projected.to() + 1, TOGETHER_MAX) {
                Ok(logged) if logged.is_empty() => return,
                Ok(logged) => self.take(&logged),
                // Callers that read the log report the error.
                Err(error) => return tracing::warn!(%error, "failed to read the log for the index"),
            }
        }
    }

    pub(crate) fn run(mut self, shared: &Arc<LedgerCore>, groups: &Receiver<PublishedGroup>, snapshots: Snapshots) {
        loop {
            let wait = self.trouble.as_ref().map(|trouble| trouble.again.saturating_duration_since(Instant::now()));
            let first = match wait {
                None => groups.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => groups.recv_timeout(wait),
            };
            match first {
                Ok(mut first) => {
                    thread::sleep(GATHER_FOR);
                    for more in groups.try_iter() {
                        first.logged.extend(more.logged);
                    }
                    self.take(&first.logged);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.heal(&*shared.reader);
            self.catch_up(shared);
            if self.unmarked >= self.mark_commits {
                let head = *shared.head.borrow();
                self.mark_at(shared, head);
            }
            snapshots.look();
        }
        self.catch_up(shared);
        let head = *shared.head.borrow();
        if self.unmarked > 0 {
            self.mark(head);
        }
        if self.trouble.is_some() {
            tracing::warn!("the index's mark is behind: the next start indexes the rest again");
        }
        drop(snapshots);
        // Handles may outlive the closed ledger.
        self.projected.close();
    }

    /// Moves the mark to the index's own position, which may be behind the log.
    fn mark_at(&mut self, shared: &LedgerCore, head: ChainHead) {
        let to = self.projected.to();
        let head = match head.position == to {
            true => Ok(Some(head.hash)),
            false => record_hash(&*shared.reader, to),
        };
        match head {
            Ok(Some(hash)) => self.mark(ChainHead { position: to, hash }),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "failed to move the index's mark: the log cannot be read"),
        }
    }
}

/// Writes commits that continue the index; returns their number. Balances and rounds of fewer than `noted_max` players
/// stay in memory.
fn put<L: Borrow<Logged>>(
    projection: &mut Projection,
    balances: &mut Balances,
    noted_max: usize,
    logged: &[L],
) -> Result<usize, IndexError> {
    let Projection { index, trails } = projection;
    let mut portions = vec![];
    let mut new = vec![];
    for logged in logged.iter().map(Borrow::borrow) {
        if logged.commit.position == trails.to + 1 {
            trails.note(logged, &mut portions);
            balances.note(logged);
            new.push(&logged.commit);
        }
    }
    index.put_awards(new.iter().copied())?;
    put_all(index, &portions, vec![])?;
    let put = new.len();
    if balances.0.len().max(trails.pending_groups()) >= noted_max {
        put_noted(projection, balances)?;
    }
    Ok(put)
}

fn put_noted(projection: &mut Projection, balances: &mut Balances) -> Result<(), IndexError> {
    let Projection { index, trails } = projection;
    let (portions, opens) = trails.take_rest();
    put_all(index, &portions, opens)?;
    balances.put(index)
}

fn put_all(index: &Index, portions: &[Portion], more: Vec<Change>) -> Result<(), IndexError> {
    let mut changes = more;
    for portion in portions {
        changes.extend(portion.changes(index)?);
    }
    index.apply(changes)
}

fn mark(projection: &mut Projection, balances: &mut Balances, head: ChainHead) -> Result<(), IndexError> {
    put_noted(projection, balances)?;
    let Projection { index, trails } = projection;
    index.sync(head)?;
    index.apply(trails.take_over())
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_log::{MemoryStore, Store};
    use motherlode_state::{Commit, Event};

    fn logged(position: u64) -> Logged {
        let currency = Currency::EUR;
        let commit = Commit {
            partition: 0,
            position,
            stream: StreamId::player("acme", format!("p{position}")),
            version: 1,
            previous: 0,
            request_id: "a".into(),
            fingerprint: [0; 16],
            time_ms: 1,
            events: vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount: Minor(7) }],
        };
        Logged { commit, balances_after: vec![(currency, Minor(7))], due_after: vec![], proposer: None }
    }

    #[test]
    fn pl_11_what_is_noted_of_too_many_players_is_put_and_marks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (projection, head) = Projection::open(&*MemoryStore::new(0).reader(), folder.path()).unwrap();
        assert_eq!(head, ChainHead::NOTHING);
        let mut projector = Projector { noted_max: 3, ..Projector::new(projection, folder.path(), 1_000) };
        for position in 1..=8 {
            projector.take(&[logged(position)]);
            assert!(projector.balances.0.len() < 3, "{position}");
        }
        let found = |projector: &Projector| {
            let found = |of: &mut Projection| (of.index.balances().count(), of.index.mark().unwrap().head());
            projector.projected.write(found).unwrap()
        };
        assert_eq!(found(&projector), (6, None));
        let head = ChainHead { position: 8, hash: [8; 32] };
        projector.mark(head);
        assert_eq!(found(&projector), (8, Some(head)));
    }
}
