//! The thread behind the table: it makes runs of what is in memory, merges runs, and makes damaged ones again. The writer
//! never waits for it, and while it can't write, more stays in memory.

use super::{
    files::Files,
    run::{Range, Run, RunError},
    stretch::Stretch,
    table::Requests,
};
use crate::threads::Threads;
use std::{
    io,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::Duration,
};

/// Before what failed is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// The work behind the table, one piece after another.
pub(super) struct Sealing {
    table: Arc<Requests>,
    files: Arc<Files>,
    /// Runs of what may not be durable yet.
    unnamed: Vec<Range>,
}

impl Sealing {
    pub(super) fn new(table: Arc<Requests>, files: Arc<Files>) -> Self {
        Self { table, files, unnamed: vec![] }
    }

    /// Does what is most urgent; false where nothing is to be done.
    pub(super) fn step(&mut self) -> Result<bool, RunError> {
        let settled = self.table.work().settled;
        if let Some(stretch) = self.table.see(|parts| parts.first_in_memory()) {
            let run = self.files.seal(&stretch)?;
            match settled {
                // First: a snapshot leaves out what has been replaced.
                true => self.files.give_names([&run.range])?,
                false => self.unnamed.push(run.range.clone()),
            }
            self.table.replace(stretch.from, stretch.to(), vec![run]);
        } else if !settled {
            return Ok(false);
        } else if !self.unnamed.is_empty() {
            self.files.give_names(&self.unnamed)?;
            self.unnamed.clear();
        } else if let Some(damaged) = self.table.see(|parts| parts.damaged()) {
            self.make_again(&damaged)?;
        } else if let Some(runs) = self.table.see(|parts| parts.mergeable(self.table.run_commits as u64)) {
            self.merge(&runs)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn merge(&self, runs: &[Arc<Run>]) -> Result<(), RunError> {
        let merged = match self.files.merge(runs) {
            // The next step makes it again.
            Err(RunError::Damaged) if runs.iter().any(|run| run.is_damaged()) => return Ok(()),
            merged => merged?,
        };
        self.files.give_names([&merged.range])?;
        self.table.replace(merged.range.from, merged.range.to, vec![merged]);
        for run in runs {
            self.files.remove(&run.range);
        }
        Ok(())
    }

    /// Makes a run's range again, of the log.
    fn make_again(&self, damaged: &Run) -> Result<(), RunError> {
        let range = &damaged.range;
        tracing::warn!(file = range.file_name(), "a damaged run of requests is made again from the log");
        let runs = remake(&self.files, self.table.run_commits, range.from, range.to)?;
        let replaced = !runs.iter().any(|run| run.range.file_name() == range.file_name());
        self.table.replace(range.from, range.to, runs);
        if replaced {
            self.files.remove(range);
        }
        Ok(())
    }

    fn run(mut self) {
        let mut warned = false;
        loop {
            let pause = match self.step() {
                Ok(true) => continue,
                Ok(false) => {
                    warned = false;
                    None
                }
                Err(RunError::Stopped) => return,
                Err(error) => {
                    if !std::mem::replace(&mut warned, true) {
                        tracing::warn!(%error, "runs of requests cannot be written: more of them stay in memory");
                    }
                    Some(RETRY)
                }
            };
            self.table.wait(pause);
            if self.table.work().stop {
                return;
            }
        }
    }
}

/// Runs of a range of commits, with names, made of the log: the log up to there must be durable.
pub(super) fn remake(files: &Files, run_commits: usize, from: u64, to: u64) -> Result<Vec<Run>, RunError> {
    let mut runs = vec![];
    let mut stretch = Stretch::after(from, run_commits);
    files.read_log(from, to, |name| {
        stretch.push(name);
        if stretch.is_full() || stretch.to() == to {
            let next = Stretch::after(stretch.to(), run_commits);
            let run = files.seal(&std::mem::replace(&mut stretch, next))?;
            files.give_names([&run.range])?;
            runs.push(run);
        }
        Ok(())
    })?;
    Ok(runs)
}

/// The thread; it ends when this is dropped.
pub(crate) struct Sealer {
    table: Arc<Requests>,
    files: Arc<Files>,
    thread: Option<JoinHandle<()>>,
}

impl Sealer {
    pub(super) fn start(table: Arc<Requests>, files: Arc<Files>, threads: &Threads) -> io::Result<Self> {
        let sealing = Sealing::new(Arc::clone(&table), Arc::clone(&files));
        let body = move || {
            motherlode_runtime::lower_priority();
            sealing.run();
        };
        let thread = Some(threads.spawn("requests", body)?);
        Ok(Self { table, files, thread })
    }
}

impl Drop for Sealer {
    fn drop(&mut self) {
        self.files.stop.store(true, Ordering::Relaxed);
        self.table.tell(|work| work.stop = true);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("a thread of the ledger ended in a panic");
        }
    }
}
