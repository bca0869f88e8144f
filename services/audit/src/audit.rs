//! The audit as a pipeline: one thread reads, verifies and decodes; one folds; one resolves.
//!
//! The stages share batches of decoded commits and nothing else. A stage that finds a fault stops taking batches; the
//! others still see every batch up to it, so that the first divergence of the log is reported whichever stage finds it.

use crate::{
    divergence::{Divergence, Fault, Unusable, open},
    facts::FactSender,
    fold::Fold,
    play::Plays,
    projection::{self, Projection},
    recalled::Recalled,
    report::{Comparison, Report},
    tree::{Checkpoints, TreeCheck},
};
use motherlode_ledger::Held;
use motherlode_log::{Position, Record, Scan, ScanError, hash, previous_hash};
use motherlode_proto::convert::{
    play::hex,
    record::{self, Logged},
};
use std::{
    collections::VecDeque,
    panic::resume_unwind,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{Builder, Scope, ScopedJoinHandle, scope},
};

/// Commits handed on at once.
const BATCH: usize = 128;
/// Batches that a stage may be behind.
pub(crate) const BEHIND: usize = 16;
/// Batches after which every stage is done with one: those that wait, the one in hand, and one to spare.
const DONE: usize = BEHIND + 2;

type Batch = Arc<Vec<Logged>>;
type Checked = Result<(), Box<Divergence>>;

/// The log to audit, and the index to compare.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The folder of the partition's log.
    pub log: PathBuf,
    /// The folder of the partition's index, to be compared when it is there and readable.
    pub index: Option<PathBuf>,
    /// The partition that the log must be of.
    pub partition: u32,
    /// The checkpoints to hold it against.
    pub checkpoints: Checkpoints,
}

/// Audits a log.
///
/// # Errors
/// [`Unusable`] when there is no log, or it cannot be read; what is wrong within it is a
/// [`divergence`](Report::divergence).
pub fn audit(options: &Options) -> Result<Report, Unusable> {
    audit_sending(options, None)
}

/// Audits a partition's log and sends the facts that others are compared with.
pub(crate) fn audit_sending(options: &Options, facts: Option<FactSender>) -> Result<Report, Unusable> {
    let mut scan = open(&options.log)?;
    let (mut tree, unreadable) = match TreeCheck::new(&options.checkpoints) {
        Ok(tree) => (tree, None),
        Err(fault) => (None, Some(fault)),
    };
    let (projection, not_compared) = match &options.index {
        Some(folder) => projection::read(folder),
        None => Err("none was named".to_owned()),
    }
    .map_or_else(|why| (Projection::default(), Some(why)), |projection| (projection, None));
    let held = projection.held;
    let recalled = Recalled::new(options.log.clone(), |bytes| Some(record::decode(bytes).ok()?.commit));
    let mut fold = Fold::new(options.partition, &recalled, projection.balances);
    fold.facts = facts;
    let mut plays = Plays::new(&recalled);
    let (read, folded, played) = scope(|threads| {
        let (to_fold, folding) = stage(threads, "fold", |batch| fold.batch(batch))?;
        let (to_play, playing) = stage(threads, "play", |batch| plays.batch(batch))?;
        let stages = [to_fold, to_play];
        let handed_on = VecDeque::new();
        let read =
            Reading { scan: &mut scan, tree: tree.as_mut(), partition: options.partition, held, stages, handed_on }
                .run();
        Ok::<_, Unusable>((read?, join(folding), join(playing)))
    })?;
    let (position, head) = scan.verified();
    if position == 0 && scan.partition_number().is_none() && read.is_ok() {
        return Err(Unusable::NoLog(options.log.clone()));
    }
    // At one position the books' verdict comes first: an event out of place explains an outcome out of place.
    let mut found = [folded.err(), played.err(), read.err()];
    if found.iter().all(Option::is_none) {
        let whole =
            || unreadable.map_or(Ok(()), Err).and_then(|()| tree.map_or(Ok(()), |mut tree| tree.end(position, head)));
        let end = || reaches(held, position).and_then(|()| fold.end()).and_then(|()| whole());
        found[0] = end().err().map(|fault| fault.at(options.partition, position));
        if found[0].is_none() {
            fold.send_end(position);
        }
    }
    fold.facts = None;
    let divergence = found.into_iter().flatten().min_by_key(|divergence| divergence.position);
    let compared = Comparison::Compared { balances: fold.compared, held: held.map_or(0, |held| held.position) };
    Ok(Report {
        partition: options.partition,
        position,
        head,
        tail: scan.tail().clone(),
        books: fold.books,
        returns: plays.returns,
        awards: fold.awards,
        voids: fold.voids,
        seals: fold.seals,
        checkpoints: options.checkpoints.signed.iter().map(|checkpoint| checkpoint.size).collect(),
        tree: options.checkpoints.files.as_ref().map(|(_, size)| *size),
        index: not_compared.map_or(compared, |why| Comparison::NotCompared { why }),
        divergence: divergence.map(|found| *found),
    })
}

/// Starts a stage, which takes batches until they end or it finds a fault.
fn stage<'scope>(
    threads: &'scope Scope<'scope, '_>,
    name: &str,
    mut take: impl FnMut(&[Logged]) -> Checked + Send + 'scope,
) -> Result<(SyncSender<Batch>, ScopedJoinHandle<'scope, Checked>), Unusable> {
    let (sender, batches) = sync_channel::<Batch>(BEHIND);
    let run = move || batches.iter().try_for_each(|batch| take(&batch));
    let started = Builder::new().name(name.to_owned()).spawn_scoped(threads, run);
    Ok((sender, started.map_err(Unusable::Thread)?))
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panicked| resume_unwind(panicked))
}

/// The first stage.
struct Reading<'a> {
    scan: &'a mut Scan,
    tree: Option<&'a mut TreeCheck>,
    partition: u32,
    held: Option<Held>,
    stages: [SyncSender<Batch>; 2],
    /// Batches handed on. They are freed by the thread that made them, where the allocator has their memory at hand.
    handed_on: VecDeque<Batch>,
}

impl Reading<'_> {
    /// Reads to the end, to the first fault, or until a stage wants no more.
    fn run(mut self) -> Result<Checked, Unusable> {
        loop {
            let mut batch = Vec::with_capacity(BATCH);
            let ended = self.fill(&mut batch);
            let batch = Arc::new(batch);
            // A stage has gone because it found a fault in an earlier batch, and that one all stages have.
            let wanted = batch.is_empty() || self.stages.iter().all(|stage| stage.send(Arc::clone(&batch)).is_ok());
            self.handed_on.push_back(batch);
            if self.handed_on.len() > DONE {
                self.handed_on.pop_front();
            }
            match ended {
                Ok(true) if wanted => {}
                Ok(_) => return Ok(Ok(())),
                Err(Stopped::Divergence(divergence)) => return Ok(Err(divergence)),
                Err(Stopped::Unusable(unusable)) => return Err(unusable),
            }
        }
    }

    /// Fills a batch; false at the end of the log.
    fn fill(&mut self, batch: &mut Vec<Logged>) -> Result<bool, Stopped> {
        while batch.len() < BATCH {
            let Some(record) = self.scan.next() else { return Ok(false) };
            let record = record.map_err(|error| match error {
                ScanError::Damaged(damage) => Stopped::Divergence(Divergence::of_damage(self.partition, damage)),
                ScanError::Io { path, source } => Stopped::Unusable(Unusable::Io { path, source }),
            })?;
            let logged = self.decode(&record);
            let at = |fault: Fault| Stopped::Divergence(fault.at(self.partition, record.position));
            batch.push(logged.map_err(at)?);
            // Each record names the hash of the one before it, which nobody has to compute again.
            if let (Some(tree), Some(before), 2..) = (&mut self.tree, previous_hash(&record.bytes), record.position) {
                let at = |fault: Fault| Stopped::Divergence(fault.at(self.partition, record.position - 1));
                tree.take(before).map_err(at)?;
            }
        }
        Ok(true)
    }

    fn decode(&self, record: &Record) -> Result<Logged, Fault> {
        let logged = record::decode(&record.bytes)
            .map_err(|malformed| Fault::new("the record is no commit", "a commit", malformed))?;
        let Logged { commit, .. } = &logged;
        let found = self.scan.partition_number().filter(|number| *number == self.partition);
        if found != Some(commit.partition) {
            return Err(Fault::new("the record is another partition's", self.partition, commit.partition));
        }
        if commit.position != record.position {
            return Err(Fault::new("the record names another position", record.position, commit.position));
        }
        match self.held {
            Some(held) if held.position == record.position && held.hash != hash(&record.bytes) => Err(Fault::new(
                "the record is not the one that the index was made from",
                hex(&held.hash),
                hex(&hash(&record.bytes)),
            )),
            _ => Ok(logged),
        }
    }
}

enum Stopped {
    Divergence(Box<Divergence>),
    Unusable(Unusable),
}

/// The log must reach as far as the index knows it to have been: else acknowledged commits are missing at its end.
fn reaches(held: Option<Held>, end: Position) -> Result<(), Fault> {
    match held {
        Some(held) if held.position > end => Err(Fault::new(
            "the log is shorter than the index knows it to have been: acknowledged commits are missing",
            format!("a log up to position {} at least", held.position),
            format!("its end at {end}"),
        )),
        _ => Ok(()),
    }
}
