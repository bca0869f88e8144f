use super::{
    name::{ENTRY, Key, Name, PREFIX, position},
    stretch::Stretch,
};
use crate::{error::OpenError, options::Options};
use motherlode_log::{Hash, Position, ReadError, Reader};
use motherlode_proto::convert::record;
use motherlode_state::StreamId;
use motherlode_views::{Checkpoint, Keyspace, KeyspaceTables, Run, Store, ViewError, Writer, filter_hash};
use parking_lot::RwLock;
use std::sync::{Arc, OnceLock, mpsc::SyncSender};

/// Each key consists of the upper 56 bits of a name and the 40-bit position of the commit.
pub(crate) static REQUESTS: Keyspace = Keyspace { name: "requests", version: 1, widths: Some((12, 0)), filtered: 7 };
const _: () = assert!(ENTRY == 12 && PREFIX == 7);

const STRETCHES: usize = 2;
const NAMES_MAX: usize = 1 << 20;
const RUNS_MAX: usize = 64;
const BYTES: usize = 4 << 20;

pub(crate) struct Requests {
    key: Key,
    store: Arc<Store>,
    reader: Arc<dyn Reader>,
    stretch_commits: usize,
    filter_bytes_max: u64,
    state: RwLock<State>,
    wake: OnceLock<SyncSender<()>>,
}

#[derive(Default)]
struct State {
    runs: Vec<Run>,
    full: Vec<Arc<Stretch>>,
    open: Option<Stretch>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    View(#[from] ViewError),
    #[error(transparent)]
    Log(#[from] OpenError),
}

impl Requests {
    pub(crate) fn open(
        store: &Arc<Store>,
        checkpoint: Option<(Key, &Checkpoint)>,
        reader: &Arc<dyn Reader>,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let table = Self {
            key: checkpoint.map_or_else(Key::random, |(key, _)| key),
            store: Arc::clone(store),
            reader: Arc::clone(reader),
            stretch_commits: options.request_run_commits,
            filter_bytes_max: options.request_filter_bytes_max,
            state: RwLock::default(),
            wake: OnceLock::new(),
        };
        if let Some((_, checkpoint)) = checkpoint {
            table.load(checkpoint)?;
        }
        Ok(table)
    }

    fn load(&self, checkpoint: &Checkpoint) -> Result<(), OpenError> {
        let (mut runs, mut filters) = (vec![], self.filter_bytes_max);
        // The newest runs are opened first: they are the shortest, so more filters fit into memory.
        for named in checkpoint.runs(&REQUESTS).unwrap_or_default().iter().rev() {
            match self.store.run(named, &REQUESTS, filters) {
                Ok(run) => {
                    filters -= run.filter_bytes();
                    runs.push(run);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot open a file of request ids: rebuilding the file from the log")
                }
            }
        }
        runs.reverse();
        let mut to = 0;
        for run in runs {
            self.rebuild(to, run.from())?;
            to = to.max(run.to());
            self.state.write().runs.push(run);
        }
        self.rebuild(to, checkpoint.position)
    }

    pub(crate) fn name(&self, stream: &StreamId, request_id: &str) -> Name {
        self.key.name(stream, request_id)
    }

    pub(crate) fn key(&self) -> Key {
        self.key
    }

    pub(crate) fn push(&self, names: &[Name]) {
        let mut state = self.state.write();
        for name in names {
            let to = state.to();
            let open = state.open.get_or_insert_with(|| Stretch::after(to, self.stretch_commits));
            open.push(*name);
            if open.is_full() {
                let next = Stretch::after(open.to(), self.stretch_commits);
                let full = std::mem::replace(open, next);
                state.full.push(Arc::new(full));
            }
        }
    }

    pub(crate) fn to(&self) -> Position {
        self.state.read().to()
    }

    pub(crate) fn candidates(&self, name: Name) -> Result<Vec<Position>, Unreadable> {
        let (prefix, mut found) = (name.prefix(), vec![]);
        let hash = filter_hash(&prefix);
        let runs: Vec<_> = {
            let state = self.state.read();
            state.stretches().for_each(|stretch| stretch.find(name, &mut found));
            state.runs.iter().rev().filter(|run| run.may_contain(&prefix, hash)).cloned().collect()
        };
        for run in runs {
            run.find(&prefix, |entry, _| found.push(position(entry))).map_err(|error| self.unreadable(&error))?;
        }
        Ok(found)
    }

    fn unreadable(&self, error: &ViewError) -> Unreadable {
        tracing::error!(%error, "failed to read a file of the idempotency table: it will be rebuilt from the log");
        if let Some(wake) = self.wake.get() {
            let _ = wake.try_send(());
        }
        Unreadable(error.to_string())
    }

    pub(crate) fn wake_by(&self, wake: SyncSender<()>) {
        let _ = self.wake.set(wake);
    }

    pub(crate) fn tables(&self) -> KeyspaceTables {
        KeyspaceTables::new(&REQUESTS, &self.state.read().runs)
    }

    pub(crate) fn ids(&self) -> Vec<Hash> {
        self.state.read().runs.iter().flat_map(Run::ids).collect()
    }

    pub(crate) fn bytes(&self) -> u64 {
        let state = self.state.read();
        state.runs.iter().map(Run::memory).sum::<u64>() + state.stretches().map(Stretch::bytes).sum::<u64>()
    }

    pub(crate) fn write(&self, to: Position) -> Result<(), ViewError> {
        loop {
            let names = self.state.read().names(to);
            let Some((from, names)) = names else { break };
            let run = self.write_run(from, &names)?;
            self.state.write().take(run);
        }
        self.bound_filters();
        Ok(())
    }

    pub(crate) fn write_full(&self, to: Position) -> Result<(), ViewError> {
        let full = self.state.read().full.len();
        if full < STRETCHES { Ok(()) } else { self.write(to) }
    }

    pub(crate) fn write_replayed(&self) -> Result<(), ViewError> {
        self.write_full(Position::MAX)?;
        let runs = || self.state.read().runs.len();
        while runs() > RUNS_MAX && self.merge()? {}
        Ok(())
    }

    fn write_run(&self, from: Position, names: &[Name]) -> Result<Run, ViewError> {
        let to = from + names.len() as u64;
        let entries = names.iter().zip(from + 1..).map(|(name, position)| name.entry(position));
        let too_many =
            ViewError::Entry { keyspace: REQUESTS.name, reason: "the position of a request has more than 40 bits" };
        let mut entries = entries.collect::<Option<Vec<_>>>().ok_or(too_many)?;
        entries.sort_unstable();
        let mut writer = Writer::new(&self.store, &REQUESTS, (from, to), self.filter_bytes_max);
        entries.iter().try_for_each(|entry| writer.put(entry, &[]))?;
        writer.finish()
    }

    pub(crate) fn merge(&self) -> Result<bool, ViewError> {
        let runs = self.state.read().runs.clone();
        let Some(range) = motherlode_views::mergeable(&runs) else { return Ok(false) };
        let run = Writer::merge(&self.store, &REQUESTS, &runs[range.clone()], self.filter_bytes_max)?;
        self.state.write().runs.splice(range, [run]);
        self.bound_filters();
        Ok(true)
    }

    pub(crate) fn repair(&self) -> Result<(), WriteError> {
        let damaged = || self.state.read().runs.iter().find(|run| run.is_damaged()).cloned();
        while let Some(run) = damaged() {
            tracing::warn!(
                from = run.from(),
                to = run.to(),
                "a file of the idempotency table is damaged: rebuilding the file from the log"
            );
            let mut again = vec![];
            self.read_log(run.from(), run.to(), |from, names| {
                again.push(self.write_run(from, &names)?);
                Ok(())
            })?;
            let mut state = self.state.write();
            let at = state.runs.partition_point(|of| of.from() < run.from());
            state.runs.splice(at..=at, again);
        }
        Ok(())
    }

    /// If the rebuilt sorted file cannot be written, its names stay in memory.
    fn rebuild(&self, from: Position, to: Position) -> Result<(), OpenError> {
        if from >= to {
            return Ok(());
        }
        tracing::info!(from, to, "rebuilding a part of the idempotency table from the log");
        let mut is_written = true;
        let made = self.read_log(from, to, |from, names| {
            match is_written.then(|| self.write_run(from, &names)) {
                Some(Ok(run)) => {
                    self.state.write().runs.push(run);
                    return Ok(());
                }
                Some(Err(error)) => {
                    is_written = false;
                    tracing::warn!(%error, "failed to write a file of the idempotency table: its request names stay in memory");
                }
                None => {}
            }
            let mut stretch = Stretch::after(from, names.len());
            names.iter().for_each(|name| stretch.push(*name));
            self.state.write().full.push(Arc::new(stretch));
            Ok(())
        });
        made.map_err(OpenError::from)
    }

    fn read_log(
        &self,
        mut from: Position,
        to: Position,
        mut each: impl FnMut(Position, Vec<Name>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let (most, mut names) = (self.stretch_commits * STRETCHES, vec![]);
        while from < to {
            if self.store.is_stopped() {
                return Err(ViewError::Stopped.into());
            }
            let next = from + names.len() as u64 + 1;
            let count = usize::try_from(to - next + 1).unwrap_or(usize::MAX).clamp(2, most.max(2));
            let records = self.reader.read(next, count, BYTES).map_err(OpenError::Read)?;
            if records.is_empty() {
                return Err(OpenError::Chain(format!("the record at position {next} is missing")).into());
            }
            for stored in records.iter().filter(|stored| stored.position <= to) {
                let position = stored.position;
                let request = record::request(&stored.bytes);
                let (stream, request_id) = request.map_err(|source| OpenError::Malformed { position, source })?;
                names.push(self.key.name(&stream, &request_id));
                if names.len() >= most || position == to {
                    each(from, std::mem::take(&mut names))?;
                    from = position;
                }
            }
        }
        Ok(())
    }

    fn bound_filters(&self) {
        let (mut state, mut bytes) = (self.state.write(), 0_u64);
        for run in state.runs.iter_mut().rev() {
            let with = bytes.saturating_add(run.filter_bytes());
            match with > self.filter_bytes_max {
                true => *run = run.without_filters(),
                false => bytes = with,
            }
        }
    }

    #[cfg(test)]
    pub(super) fn runs(&self) -> Vec<Run> {
        self.state.read().runs.clone()
    }
}

impl State {
    fn to(&self) -> Position {
        let full = self.full.last().map_or(0, |stretch| stretch.to());
        let written = self.runs.last().map_or(0, Run::to);
        self.open.as_ref().map_or(full.max(written), |open| open.to())
    }

    fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        self.open.iter().chain(self.full.iter().rev().map(|stretch| &**stretch))
    }

    /// Returns the position before the oldest request name in memory, and the consecutive names after it up to
    /// position `to`.
    fn names(&self, to: Position) -> Option<(Position, Vec<Name>)> {
        let stretches = || self.full.iter().map(|stretch| &**stretch).chain(&self.open);
        let from = stretches().next()?.from;
        let mut names: Vec<Name> = vec![];
        for stretch in stretches().take_while(|stretch| stretch.from < to) {
            if stretch.from != from + names.len() as u64 {
                break;
            }
            let count = usize::try_from(to - stretch.from).unwrap_or(usize::MAX).min(NAMES_MAX - names.len());
            names.extend(stretch.names().iter().take(count));
        }
        (!names.is_empty()).then_some((from, names))
    }

    fn take(&mut self, run: Run) {
        let to = run.to();
        self.full.retain(|stretch| stretch.to() > to);
        for stretch in self.full.iter_mut().filter(|stretch| stretch.from < to) {
            *stretch = Arc::new(stretch.after_position(to));
        }
        if let Some(open) = self.open.as_mut().filter(|open| open.from < to) {
            *open = open.after_position(to);
        }
        let at = self.runs.partition_point(|of| of.from() < run.from());
        self.runs.insert(at, run);
    }
}

/// A sorted file that may contain the request is unreadable, so it is unknown whether the request was applied.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(String);

impl From<WriteError> for OpenError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::View(error) => Self::View(error),
            WriteError::Log(error) => error,
        }
    }
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> Self {
        Self::Log(error.into())
    }
}
