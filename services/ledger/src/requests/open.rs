//! Opening the table: runs that are whole and of this log are used, what they lack is read again from the log.

use super::{
    files::{Files, list},
    name::{Key, Name},
    parts::{Part, Parts},
    run::{Run, RunError},
    sealer::{Sealer, remake},
    stretch::Stretch,
    table::{Requests, Tail},
};
use crate::{chain::record_hash, error::OpenError, options::Options, threads::Threads};
use motherlode_log::{Position, Reader};
use std::{
    fs, io,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

impl Requests {
    /// The table of a log's commits up to `known` at least, which are durable; with the runs of a folder and a snapshot's tail,
    /// which are believed only as far as the log confirms them. The thread that makes runs is started.
    pub(crate) fn open(
        folder: &Path,
        reader: &Arc<dyn Reader>,
        partition: u32,
        tail: Option<Tail>,
        known: Position,
        options: &Options,
        threads: &Threads,
    ) -> Result<(Arc<Self>, Sealer), OpenError> {
        let (table, files) = Self::load(folder, reader, partition, tail, known, options)?;
        let started = Sealer::start(Arc::clone(&table), files, threads);
        Ok((table, started.map_err(|source| OpenError::Thread("requests", source))?))
    }

    /// The same without the thread.
    pub(super) fn load(
        folder: &Path,
        reader: &Arc<dyn Reader>,
        partition: u32,
        tail: Option<Tail>,
        known: Position,
        options: &Options,
    ) -> Result<(Arc<Self>, Arc<Files>), OpenError> {
        let runs = sound(folder, reader, partition, options)?;
        // Of runs with different keys those of the longest are kept: the others are soon made again.
        let key = runs.iter().max_by_key(|run| run.range.count()).map(|run| run.range.key);
        let key = key.or(tail.as_ref().map(|tail| tail.key)).unwrap_or_else(Key::random);
        let files = Files {
            folder: folder.to_owned(),
            partition,
            key,
            reader: Arc::clone(reader),
            filter_bytes_max: options.request_filter_bytes_max,
            stop: AtomicBool::new(false),
        };
        let mut parts = Parts::default();
        for run in cover(&files, runs) {
            fill(&files, &mut parts, run.range.from, options)?;
            parts.push(Part::Disk(Arc::new(run)));
        }
        let tail = tail.filter(|tail| tail.key == key && parts.to() <= tail.to());
        let missing = known.saturating_sub(parts.to());
        // Without a tail, the last piece is the beginning of what grows.
        let whole = parts.to() + missing - missing % options.request_run_commits as u64;
        fill(&files, &mut parts, tail.as_ref().map_or(whole, |tail| tail.from), options)?;
        let table = Self::new(key, parts, options);
        if let Some(Tail { from, names, .. }) = tail {
            let skip = usize::try_from(table.to() - from).unwrap_or(usize::MAX);
            table.push(names.get(skip..).unwrap_or_default());
        }
        read(&files, table.to(), known, |name| table.push(&[name]))?;
        Ok((Arc::new(table), Arc::new(files)))
    }
}

/// The runs of a folder that are whole and of this log. A run that is longer than its log is no matter of the run: commits are
/// missing.
fn sound(folder: &Path, reader: &Arc<dyn Reader>, partition: u32, options: &Options) -> Result<Vec<Run>, OpenError> {
    let mut files = list(folder).unwrap_or_else(|error| {
        tracing::warn!(%error, "the runs of requests cannot be listed: they are made again from the log");
        vec![]
    });
    // Memory for filters is given to the newest, which are the shortest.
    files.sort();
    let mut filters = options.request_filter_bytes_max;
    let (mut runs, mut beyond, mut others) = (vec![], vec![], false);
    for file in files.into_iter().rev() {
        let run = match Run::open(&file, partition, filters) {
            Ok(run) => run,
            Err(why) => {
                set_aside(&file, &why);
                continue;
            }
        };
        let (range, end) = (&run.range, reader.end());
        let begins_so = range.from >= end || record_hash(&**reader, range.from + 1)? == Some(range.first);
        if begins_so && range.to > end {
            beyond.push((range.to, range.from < end, file));
        } else if begins_so && record_hash(&**reader, range.to)? == Some(range.last) {
            filters -= run.filter_bytes();
            runs.push(run);
        } else {
            others = true;
            set_aside(&file, &RunError::OtherLog);
        }
    }
    // Of a run that begins past the log's end it can't be told by itself which log it's of.
    let of_others = others && runs.is_empty() && beyond.iter().all(|(_, begins, _)| !begins);
    for (held, _, file) in beyond {
        match of_others {
            true => set_aside(&file, &RunError::OtherLog),
            false => return Err(OpenError::Shortened { end: reader.end(), held, by: folder.to_owned() }),
        }
    }
    Ok(runs)
}

/// Those of the runs with this key that have all that runs have, in order, each commit once.
fn cover(files: &Files, mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by_key(|run| (run.range.from, std::cmp::Reverse(run.range.to)));
    let mut to = 0;
    let mut kept = vec![];
    for run in runs {
        if run.range.key != files.key {
            set_aside(&files.named(&run.range), &RunError::OtherKey);
        } else if run.range.from < to {
            // A merge ended before it removed what it merged.
            set_aside(&files.named(&run.range), &RunError::Superseded);
        } else {
            to = run.range.to;
            kept.push(run);
        }
    }
    kept
}

/// A file that is not used, and in nobody's way any more: the log has all that it could have.
fn set_aside(file: &Path, why: &RunError) {
    match why {
        RunError::Superseded => {}
        why => {
            tracing::warn!(file = %file.display(), %why, "a run of requests is not used: it's made again from the log")
        }
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(file = %file.display(), %error, "a run of requests that is not used cannot be removed");
        }
        _ => {}
    }
}

/// Makes what is missing up to a position, of the log.
fn fill(files: &Files, parts: &mut Parts, to: Position, options: &Options) -> Result<(), OpenError> {
    let from = parts.to();
    if from >= to {
        return Ok(());
    }
    tracing::info!(from, to, "the names of requests are read from the log");
    match remake(files, options.request_run_commits, from, to) {
        Ok(runs) => {
            runs.into_iter().for_each(|run| parts.push(Part::Disk(Arc::new(run))));
            Ok(())
        }
        Err(RunError::Log(error)) => Err(error),
        Err(error) => {
            tracing::warn!(%error, "runs of requests cannot be written: more of them stay in memory");
            let mut stretch = Stretch::after(from, options.request_run_commits);
            let mut stretches = vec![];
            read(files, from, to, |name| {
                stretch.push(name);
                if stretch.is_full() {
                    let next = Stretch::after(stretch.to(), options.request_run_commits);
                    stretches.push(std::mem::replace(&mut stretch, next));
                }
            })?;
            stretches.extend((!stretch.is_empty()).then_some(stretch));
            stretches.into_iter().for_each(|stretch| parts.push(Part::Memory(Arc::new(stretch))));
            Ok(())
        }
    }
}

/// Reads names from the log.
fn read(files: &Files, from: Position, to: Position, mut each: impl FnMut(Name)) -> Result<(), OpenError> {
    let read = files.read_log(from, to, |name| {
        each(name);
        Ok(())
    });
    read.map_err(|error| match error {
        RunError::Log(error) => error,
        error => OpenError::Chain(error.to_string()),
    })
}
