use crate::{
    catalogue::Catalogue,
    checkpoint::{Checkpoint, RunTables},
    error::{ViewError, at},
    output::Output,
    run::Run,
    table::{Keyspace, Table},
};
use data_encoding::HEXLOWER;
use motherlode_log::Hash;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{
    cmp::Reverse,
    collections::HashSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

const UNFINISHED: &str = "new";

pub struct Store {
    folder: PathBuf,
    partition: u32,
    is_stopped: AtomicBool,
    begun: AtomicU64,
    is_needed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    catalogue: Option<Catalogue>,
    current: Option<Current>,
    sequence: u64,
}

struct Current {
    id: Hash,
    tables: Vec<Hash>,
}

impl Store {
    /// Removes unfinished files. The catalogue, which opening can change, stays closed until this process has a
    /// checkpoint, so a start that is refused earlier does not change it.
    #[must_use]
    pub fn open(folder: &Path, partition: u32) -> Self {
        let store = Self::read_only(folder, partition);
        for folder in [store.tables(), store.checkpoints_folder()] {
            for (path, _) in files(&folder).into_iter().filter(|(path, _)| is_unfinished(path)) {
                remove(&path);
            }
        }
        store
    }

    #[must_use]
    pub fn read_only(folder: &Path, partition: u32) -> Self {
        Self {
            folder: folder.to_owned(),
            partition,
            is_stopped: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            is_needed: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    #[must_use]
    pub fn partition(&self) -> u32 {
        self.partition
    }

    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Returns the checkpoints, newest first; usually there is only one. The catalogue can lack the newest one, for
    /// example after an interrupted commit.
    #[must_use]
    pub fn checkpoints(&self) -> Vec<(Hash, Checkpoint)> {
        let mut found = vec![];
        for (path, id) in files(&self.checkpoints_folder()) {
            match id.map(|id| Checkpoint::read(&path, &id, self.partition).map(|checkpoint| (id, checkpoint))) {
                Some(Ok(checkpoint)) => found.push(checkpoint),
                Some(Err(error)) => tracing::warn!(%error, "skipped an unusable checkpoint of the views"),
                None => {}
            }
        }
        found.sort_by_key(|(id, checkpoint)| Reverse((checkpoint.sequence, *id)));
        self.state.lock().sequence = found.first().map_or(0, |(_, newest)| newest.sequence);
        found
    }

    pub fn adopt(&self, id: Hash, checkpoint: &Checkpoint) {
        let mut state = self.state.lock();
        state.current = Some(Current { id, tables: checkpoint.tables().copied().collect() });
        if let Err(error) = self.name(&mut state, Some((id, checkpoint.sequence))) {
            tracing::warn!(%error, "failed to write the loaded checkpoint's id into the views' catalogue: \
                 the next checkpoint corrects it");
        }
    }

    pub fn run(&self, named: &RunTables, keyspace: &'static Keyspace, filter_bytes_max: u64) -> Result<Run, ViewError> {
        let (mut tables, mut rest) = (vec![], filter_bytes_max);
        for id in &named.tables {
            let table = Table::open(&self.tables().join(HEXLOWER.encode(id)), *id, self.partition, keyspace, rest)?;
            rest -= table.filter_bytes();
            tables.push(Arc::new(table));
        }
        let run = Run::new(tables).filter(|run| (run.from(), run.to()) == (named.from, named.to));
        run.ok_or_else(|| {
            ViewError::unusable(
                &self.tables(),
                "the tables listed in the checkpoint do not cover the positions stated in the checkpoint",
            )
        })
    }

    /// Makes a checkpoint the current one: sets its number, and removes files that no checkpoint or pin names. On an error
    /// the previous checkpoint stays current.
    pub fn commit(&self, checkpoint: &mut Checkpoint) -> Result<(), ViewError> {
        let mut state = self.state.lock();
        let id = self.write(&mut state, checkpoint)?;
        if let Err(error) = self.name(&mut state, Some((id, checkpoint.sequence))) {
            remove(&self.checkpoints_folder().join(HEXLOWER.encode(&id)));
            return Err(error);
        }
        state.current = Some(Current { id, tables: checkpoint.tables().copied().collect() });
        drop(state);
        self.collect(&[]);
        Ok(())
    }

    fn write(&self, state: &mut State, checkpoint: &mut Checkpoint) -> Result<Hash, ViewError> {
        state.sequence += 1;
        checkpoint.sequence = state.sequence;
        let bytes = checkpoint.encode()?;
        let id: Hash = Sha256::digest(&bytes).into();
        let path = self.unfinished(&self.checkpoints_folder())?;
        let written = Output::create(&path).and_then(|mut output| {
            output.put(&bytes)?;
            output.finish()
        });
        let written = written.map_err(at(&path));
        written.and_then(|()| rename(&path, &self.checkpoints_folder(), &id)).inspect_err(|_| remove(&path))?;
        Ok(id)
    }

    fn name(&self, state: &mut State, current: Option<(Hash, u64)>) -> Result<(), ViewError> {
        if state.catalogue.is_none() {
            let catalogue = Catalogue::open(&self.catalogue())?;
            sync_folder(&self.folder)?;
            let current = state.current.as_ref().map(|current| current.id);
            if catalogue.current.is_some_and(|(named, _)| current != Some(named)) {
                tracing::warn!(
                    "the catalogue of views names a checkpoint other than the loaded one: correcting the catalogue"
                );
            }
            state.catalogue = Some(catalogue);
        }
        match &mut state.catalogue {
            Some(catalogue) if catalogue.current != current => catalogue.set_current(current),
            _ => Ok(()),
        }
    }

    /// Removes all files except those named by the current checkpoint, pins and `live`.
    pub fn collect(&self, live: &[Hash]) {
        let state = self.state.lock();
        let mut checkpoints: HashSet<Hash> = state.current.iter().map(|current| current.id).collect();
        let mut tables: HashSet<Hash> = live.iter().copied().collect();
        tables.extend(state.current.iter().flat_map(|current| &current.tables));
        for (id, _) in state.catalogue.iter().flat_map(|catalogue| catalogue.pins.values()) {
            // A pin has no effect if its checkpoint's file is missing.
            if let Ok(pinned) =
                Checkpoint::read(&self.checkpoints_folder().join(HEXLOWER.encode(id)), id, self.partition)
            {
                checkpoints.insert(*id);
                tables.extend(pinned.tables());
            }
        }
        for (folder, named) in [(self.checkpoints_folder(), checkpoints), (self.tables(), tables)] {
            let others = files(&folder).into_iter().filter(|(_, id)| id.is_some_and(|id| !named.contains(&id)));
            others.for_each(|(path, _)| remove(&path));
        }
    }

    /// From now on, [`forget`](Self::forget) fails, because the log lacks the records before the checkpoint (PL-37).
    pub fn need_checkpoint(&self) {
        self.is_needed.store(true, Ordering::Relaxed);
    }

    /// Removes all checkpoints, so that the next start reads the whole log.
    pub fn forget(&self) -> Result<(), ViewError> {
        if self.is_needed.load(Ordering::Relaxed) {
            return Err(ViewError::Needed);
        }
        let mut state = self.state.lock();
        state.current = None;
        let folder = self.checkpoints_folder();
        for (path, _) in files(&folder) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(at(&path))?,
            }
        }
        if folder.is_dir() {
            sync_folder(&folder)?;
            self.name(&mut state, None)?;
        }
        Ok(())
    }

    /// Keeps the current checkpoint's files until a Unix time in milliseconds. Returns `None` if there is no checkpoint or
    /// no room for a pin.
    pub fn pin(&self, name: &str, until_ms: u64) -> Result<Option<Hash>, ViewError> {
        let mut state = self.state.lock();
        let State { catalogue: Some(catalogue), current: Some(current), .. } = &mut *state else { return Ok(None) };
        Ok(catalogue.pin(name, (current.id, until_ms))?.then_some(current.id))
    }

    pub fn expire_pins(&self, now_ms: u64) -> Result<(), ViewError> {
        self.state.lock().catalogue.as_mut().map_or(Ok(()), |catalogue| catalogue.expire(now_ms))
    }

    pub(crate) fn unfinished_table(&self) -> Result<PathBuf, ViewError> {
        self.unfinished(&self.tables())
    }

    pub(crate) fn take_table(&self, path: &Path, id: Hash) -> Result<PathBuf, ViewError> {
        rename(path, &self.tables(), &id)?;
        Ok(self.tables().join(HEXLOWER.encode(&id)))
    }

    pub(crate) fn places(&self, id: &Hash) -> [PathBuf; 2] {
        [self.checkpoints_folder(), self.tables()].map(|folder| folder.join(HEXLOWER.encode(id)))
    }

    /// Adds the checkpoint of another store, whose tables must already be copied, as the newest checkpoint.
    pub fn add(&self, checkpoint: &mut Checkpoint) -> Result<(), ViewError> {
        self.write(&mut self.state.lock(), checkpoint).map(drop)
    }

    fn unfinished(&self, folder: &Path) -> Result<PathBuf, ViewError> {
        if !folder.is_dir() {
            fs::create_dir_all(folder).map_err(at(folder))?;
            sync_folder(&self.folder)?;
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        Ok(folder.join(format!("{number}.{UNFINISHED}")))
    }

    fn tables(&self) -> PathBuf {
        self.folder.join("tables")
    }

    fn checkpoints_folder(&self) -> PathBuf {
        self.folder.join("checkpoints")
    }

    fn catalogue(&self) -> PathBuf {
        self.folder.join("catalogue")
    }
}

fn rename(path: &Path, folder: &Path, id: &Hash) -> Result<(), ViewError> {
    fs::rename(path, folder.join(HEXLOWER.encode(id))).map_err(at(path))?;
    sync_folder(folder)
}

fn sync_folder(folder: &Path) -> Result<(), ViewError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(at(folder))
}

fn files(folder: &Path) -> Vec<(PathBuf, Option<Hash>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let file = |entry: fs::DirEntry| {
        let id = entry.file_name().to_str().and_then(parse_hex);
        (entry.path(), id)
    };
    entries.map(file).filter(|(path, id)| id.is_some() || is_unfinished(path)).collect()
}

fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == UNFINISHED)
}

/// If a file cannot be removed, a later start removes it.
pub(crate) fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!(%error, file = %path.display(), "failed to remove an unused file of the views");
    }
}

fn parse_hex(name: &str) -> Option<Hash> {
    HEXLOWER.decode(name.as_bytes()).ok()?.try_into().ok()
}
