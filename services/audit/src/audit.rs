//! One thread reads and verifies records, workers resolve their players' records, and one thread folds the remaining
//! state in log order. If one stage finds a fault, the other stages still process all earlier batches, so the first
//! divergence does not depend on the number of threads.

use crate::{
    divergence::{Divergence, Fault, Unusable, open},
    facts::FactSender,
    fold::Fold,
    play::Plays,
    projection::{self, Projection},
    reading::{Reading, Route},
    recalled::Recalled,
    report::{Comparison, Report},
    tree::{Checkpoints, TreeCheck},
    worker::{JudgedBatch, Worker},
};
use motherlode_ledger::{ChainHead, DrawKeys};
use motherlode_log::Position;
use motherlode_proto::convert::record;
use motherlode_state::CommonState;
use std::{
    num::NonZero,
    panic::resume_unwind,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{Builder, Scope, ScopedJoinHandle, available_parallelism, scope},
};

pub(crate) const BEHIND: usize = 4;
const DONE: usize = BEHIND + 2;
const THREADS_MAX: usize = 64;

type Checked = Result<(), Box<Divergence>>;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub log: PathBuf,
    /// Folder of the index. If a readable snapshot exists next to the index, the snapshot's balances are compared with the
    /// log.
    pub index: Option<PathBuf>,
    pub partition: u32,
    pub checkpoints: Checkpoints,
    pub draws: Option<DrawKeys>,
    /// Position at which the digest of the computed state is compared with the digest that the log contains for this
    /// position (PL-37).
    pub base: Option<Position>,
    /// Number of threads that decode and resolve records; 0 for one per core.
    pub threads: usize,
    pub read: Option<Arc<AtomicU64>>,
    pub stop: Option<Arc<AtomicBool>>,
}

pub fn audit(options: &Options) -> Result<Report, Unusable> {
    audit_sending(options, None)
}

pub(crate) fn audit_sending(options: &Options, facts: Option<FactSender>) -> Result<Report, Unusable> {
    let mut scan = open(&options.log)?;
    let (mut tree, unreadable) = match TreeCheck::new(&options.checkpoints) {
        Ok(tree) => (tree, None),
        Err(fault) => (None, Some(fault)),
    };
    let (projection, not_compared) = match &options.index {
        Some(folder) => projection::read(folder, options.partition),
        None => Err("no index folder was given".to_owned()),
    }
    .map_or_else(|why| (Projection::default(), Some(why)), |projection| (projection, None));
    let mark = projection.head;
    let recalled = Recalled::new(options.log.clone(), |bytes| Some(record::decode(bytes).ok()?.commit));
    let mut fold = Fold::new(options.partition, projection.balances);
    let partitions = facts.as_ref().map(|facts| facts.partitions);
    fold.facts = facts;
    let count = match options.threads {
        0 => available_parallelism().map_or(1, NonZero::get) / partitions.map_or(1, |partitions| partitions as usize),
        count => count,
    };
    let count = count.clamp(1, THREADS_MAX);
    let mut workers: Vec<_> = (0..count).map(|_| Worker::new(options.partition, partitions, &recalled)).collect();
    workers.iter_mut().for_each(|worker| worker.judge.draws.clone_from(&options.draws));
    let (read, folded, played) = scope(|threads| {
        let (mut to_players, mut from_players, mut playing, mut followers) = (vec![], vec![], vec![], vec![]);
        for (number, worker) in workers.iter_mut().enumerate() {
            let (to, parts) = sync_channel(BEHIND);
            let (to_fold, judged) = sync_channel(BEHIND);
            let (follower, shared) = sync_channel(BEHIND);
            let run = move || worker.run(&parts, &shared, &to_fold, DONE);
            playing.push(start(threads, format!("play {number}"), run)?);
            to_players.push(to);
            from_players.push(judged);
            followers.push(follower);
        }
        let (to_fold, routes) = sync_channel(BEHIND);
        let fold = &mut fold;
        let folding =
            start(threads, "fold".to_owned(), move || fold_in_order(fold, &routes, &from_players, &followers))?;
        let (scan, tree, partition) = (&mut scan, tree.as_mut(), options.partition);
        let (read, stop) = (options.read.as_deref(), options.stop.as_deref());
        let read = Reading {
            scan,
            tree,
            partition,
            head: mark,
            base: options.base,
            players: to_players,
            fold: to_fold,
            read,
            stop,
        };
        let read = read.run();
        let played: Vec<Checked> = playing.into_iter().map(join).collect();
        Ok::<_, Unusable>((read?, join(folding), played))
    })?;
    let mut plays = vec![];
    for Worker { players, judge, plays: played, .. } in workers {
        fold.join(judge, players);
        plays.push(played);
    }
    let (position, head) = scan.verified();
    if position == 0 && scan.partition_number().is_none() && read.is_ok() {
        return Err(Unusable::NoLog(options.log.clone()));
    }
    let mut found: Vec<_> = [folded].into_iter().chain(played).chain([read]).filter_map(Result::err).collect();
    if found.is_empty() {
        let whole =
            || unreadable.map_or(Ok(()), Err).and_then(|()| tree.map_or(Ok(()), |mut tree| tree.end(position, head)));
        match reaches(mark, position)
            .and_then(|()| fold.has_base(options.base))
            .and_then(|()| fold.end())
            .and_then(|()| whole())
        {
            Ok(()) => fold.send_end(position),
            Err(fault) => found.push(fault.at(options.partition, position)),
        }
    }
    fold.facts = None;
    let divergence = found.into_iter().min_by_key(|divergence| divergence.position);
    let compared = Comparison::Compared { balances: fold.compared, held: mark.map_or(0, |mark| mark.position) };
    Ok(Report {
        partition: options.partition,
        position,
        head,
        tail: scan.tail().clone(),
        base: fold.base,
        books: fold.books,
        returns: Plays::joined(plays, &fold.awarded),
        awards: fold.awards,
        voids: fold.voids,
        seals: fold.seals,
        checkpoints: options.checkpoints.signed.iter().map(|checkpoint| checkpoint.size).collect(),
        tree: options.checkpoints.files.as_ref().map(|(_, size)| *size),
        index: not_compared.map_or(compared, |why| Comparison::NotCompared { why }),
        divergence: divergence.map(|found| *found),
    })
}

fn start<'scope, T: Send + 'scope>(
    threads: &'scope Scope<'scope, '_>,
    name: String,
    run: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Unusable> {
    Builder::new().name(name).spawn_scoped(threads, run).map_err(Unusable::Thread)
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panicked| resume_unwind(panicked))
}

fn fold_in_order(
    fold: &mut Fold,
    routes: &Receiver<Route>,
    players: &[Receiver<Arc<JudgedBatch>>],
    followers: &[SyncSender<Arc<CommonState>>],
) -> Checked {
    for Route { threads, changes, base } in routes {
        let Ok(parts) = players.iter().map(Receiver::recv).collect::<Result<Vec<_>, _>>() else { break };
        let mut each: Vec<_> = parts.iter().map(|judged| judged.commits.iter()).collect();
        let (mut position, last) = (0, threads.len());
        for (thread, place) in threads.into_iter().zip(1..) {
            let next = each.get_mut(usize::from(thread)).and_then(Iterator::next);
            let Some((logged, left)) = next else { return Ok(()) };
            position = logged.commit.position;
            fold.commit(logged, left).map_err(|fault| fault.at(fold.partition, position))?;
            if CommonState::is_changed_by(&logged.commit) && !(changes && place == last) {
                let fault = Fault::new("the record names two streams", "a player's stream", &logged.commit.stream);
                return Err(fault.at(fold.partition, position));
            }
        }
        let ended = fold.batch_ends(parts.iter().map(|judged| &judged.totals));
        ended.map_err(|fault| fault.at(fold.partition, position))?;
        if let Some(record_hash) = base {
            let players = parts.iter().flat_map(|judged| &judged.players);
            fold.digest(position, record_hash, players).map_err(|fault| fault.at(fold.partition, position))?;
        }
        if changes {
            let shared = Arc::new(fold.books.common());
            followers.iter().for_each(|follower| _ = follower.send(Arc::clone(&shared)));
        }
    }
    Ok(())
}

/// If the log ends before the snapshot's position, the log lacks acknowledged commits.
fn reaches(head: Option<ChainHead>, end: Position) -> Result<(), Fault> {
    match head {
        Some(held) if held.position > end => Err(Fault::new(
            "the log is shorter than the snapshot: acknowledged commits are missing",
            format!("the log must end at position {} or later", held.position),
            format!("the log ends at position {end}"),
        )),
        _ => Ok(()),
    }
}
