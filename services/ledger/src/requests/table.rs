//! The table of requests: which request made which commit, so that a repetition is told from a new request, for ever.

use super::{
    name::{Key, Name},
    parts::{Part, Parts},
    run::{Run, RunError},
    stretch::Stretch,
};
use crate::options::Options;
use motherlode_books::StreamId;
use motherlode_log::Position;
use parking_lot::{Condvar, Mutex, RwLock};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

/// The names of the last commits, as a snapshot holds them: those that no run has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Tail {
    pub(super) key: Key,
    /// The position before its first.
    pub(super) from: Position,
    pub(super) names: Vec<Name>,
}

impl Tail {
    /// Position of its last.
    pub(crate) fn to(&self) -> Position {
        self.from.saturating_add(self.names.len() as u64)
    }

    /// Names of commits after a position, as if runs had the earlier ones.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn new(from: Position, names: Vec<Name>) -> Self {
        Self { key: Key([7; 16]), from, names }
    }
}

/// The table of a partition's requests: the newest in memory, the others in runs.
pub(crate) struct Requests {
    key: Key,
    pub(super) run_commits: usize,
    filter_bytes_max: u64,
    state: RwLock<State>,
    work: Mutex<Work>,
    wake: Condvar,
}

/// All commits from the first on.
struct State {
    parts: Parts,
    open: Stretch,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    due: bool,
    /// The log is durable as far as the table goes: runs may have names.
    pub(super) settled: bool,
    pub(super) stop: bool,
}

impl Requests {
    pub(super) fn new(key: Key, parts: Parts, options: &Options) -> Self {
        let open = Stretch::after(parts.to(), options.request_run_commits);
        Self {
            key,
            run_commits: options.request_run_commits,
            filter_bytes_max: options.request_filter_bytes_max,
            state: RwLock::new(State { parts, open }),
            work: Mutex::new(Work { due: true, ..Work::default() }),
            wake: Condvar::new(),
        }
    }

    /// The name of a request on a stream.
    pub(crate) fn name(&self, stream: &StreamId, request_id: &str) -> Name {
        self.key.name(stream, request_id)
    }

    /// Notes the names of the next commits, in their order.
    pub(crate) fn push(&self, names: &[Name]) {
        let mut state = self.state.write();
        let mut full = false;
        for name in names {
            state.open.push(*name);
            if state.open.is_full() {
                let next = Stretch::after(state.open.to(), self.run_commits);
                let done = std::mem::replace(&mut state.open, next);
                state.parts.push(Part::Memory(Arc::new(done)));
                full = true;
            }
        }
        drop(state);
        if full {
            self.tell(|_| ());
        }
    }

    /// Position of the last commit that it has.
    pub(crate) fn to(&self) -> Position {
        self.state.read().open.to()
    }

    /// Where the request's commit is, if it made one: at one of these positions or nowhere.
    ///
    /// # Errors
    /// A file that may have it can't be read. It's made again from the log.
    pub(crate) fn candidates(&self, name: Name) -> Result<Vec<Position>, Unreadable> {
        let (mut found, mut runs) = (vec![], vec![]);
        {
            let state = self.state.read();
            state.open.find(name, &mut found);
            state.parts.find(name, &mut found, &mut runs);
        }
        // No lock is held while a file is read.
        for run in runs {
            run.find(name, &mut found).map_err(|error| self.unreadable(&run, &error))?;
        }
        Ok(found)
    }

    fn unreadable(&self, run: &Run, error: &RunError) -> Unreadable {
        let file = run.range.file_name();
        tracing::error!(file, %error, "a run of requests cannot be read: it's made again from the log");
        self.tell(|_| ());
        Unreadable { file, reason: error.to_string() }
    }

    /// The names that no run has, up to a position.
    pub(crate) fn tail(&self, to: Position) -> Tail {
        let state = self.state.read();
        let from = state.parts.on_disk_to().min(to);
        let names = state.parts.rest().chain([&state.open]).flat_map(|stretch| stretch.names().iter().copied());
        let names = names.take(usize::try_from(to - from).unwrap_or(usize::MAX)).collect();
        Tail { key: self.key, from, names }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let state = self.state.read();
        state.parts.bytes() + state.open.bytes()
    }

    /// The log is durable up to its end, and by each further commit.
    pub(crate) fn settled(&self) {
        self.tell(|work| work.settled = true);
    }

    /// Changes what the thread that makes runs knows, and wakes it.
    pub(super) fn tell(&self, change: impl FnOnce(&mut Work)) {
        let mut work = self.work.lock();
        change(&mut work);
        work.due = true;
        self.wake.notify_all();
    }

    /// Waits until there may be something to do, or for some time.
    pub(super) fn wait(&self, at_most: Option<Duration>) {
        let mut work = self.work.lock();
        match at_most {
            // What was tried and failed isn't tried sooner because more is to be done.
            Some(at_most) => {
                let until = std::time::Instant::now() + at_most;
                while !work.stop && !self.wake.wait_until(&mut work, until).timed_out() {}
            }
            None => {
                while !work.due && !work.stop {
                    self.wake.wait(&mut work);
                }
            }
        }
        work.due = false;
    }

    pub(super) fn work(&self) -> Work {
        *self.work.lock()
    }

    pub(super) fn see<T>(&self, see: impl FnOnce(&Parts) -> T) -> T {
        see(&self.state.read().parts)
    }

    /// Puts runs in the place of what was between two positions.
    pub(super) fn replace(&self, from: Position, to: Position, runs: Vec<Run>) {
        let mut state = self.state.write();
        state.parts.replace(from, to, runs.into_iter().map(|run| Part::Disk(Arc::new(run))).collect());
        state.parts.bound_filters(self.filter_bytes_max);
    }
}

/// The table can't tell whether a request is a new one: a file of it is not as it was written, or can't be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {reason}")]
pub(crate) struct Unreadable {
    file: String,
    reason: String,
}
