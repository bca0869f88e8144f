//! Simulated disk with kills, power cuts, failures and limited space, all derived from a seed.
//!
//! After a kill, the disk has the completed writes and a prefix of the interrupted write. After a power cut, the disk has
//! the synced bytes, any subset of the unsynced 512-byte sectors, and a prefix of the unsynced renames and removals. As on
//! Linux, a failed sync drops some or all of the sectors that it should write, and later syncs succeed. A failed write
//! leaves some whole sectors written, or none.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use motherlode_log::{Access, Disk, File, Folder, LockGuard};

const SECTOR: usize = 512;
const WRITE_GRAIN: usize = 2;

#[derive(Debug, Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
    unsynced: Vec<Naming>,
    contents: Vec<Content>,
    locks: BTreeMap<PathBuf, Arc<()>>,
    operations: u64,
    stop_at: Option<u64>,
    room: Option<u64>,
    syncs_fail: bool,
    no_descriptors: bool,
    faults: Option<Faults>,
    write_limit: Option<usize>,
    bytes_read: u64,
    has_threads: bool,
}

#[derive(Debug)]
struct Faults {
    percent: usize,
    chance: Chance,
}

#[derive(Debug, Clone)]
enum Naming {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

#[derive(Debug, Clone, Default)]
struct Content {
    live: Vec<u8>,
    synced: Vec<u8>,
    dirty: BTreeSet<usize>,
    /// Sector in which a write was interrupted. A power cut at that moment leaves its last synced content, because the
    /// kernel flushes no page during a write to it.
    torn: Option<usize>,
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    content: usize,
    access: Access,
}

impl SimDisk {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.0.lock().bytes_read
    }

    /// Makes this operation, counted from 0, and all later ones fail. The first may take partial effect.
    pub fn stop_at(&self, operation: u64) {
        self.0.lock().stop_at = Some(operation);
    }

    pub fn set_room(&self, bytes: Option<u64>) {
        self.0.lock().room = bytes;
    }

    pub fn set_syncs_fail(&self, fail: bool) {
        self.0.lock().syncs_fail = fail;
    }

    pub fn set_no_descriptors(&self, none: bool) {
        self.0.lock().no_descriptors = none;
    }

    /// Makes `percent` % of the operations fail, completely or partly, as on a full disk, with too many open files, or
    /// on an I/O error.
    pub fn set_faults(&self, percent: usize, seed: u64) {
        self.0.lock().faults = (percent > 0).then_some(Faults { percent, chance: Chance(seed) });
    }

    /// Cuts a longer write at the first sector boundary at or after `bytes`.
    pub fn set_write_limit(&self, bytes: Option<usize>) {
        self.0.lock().write_limit = bytes;
    }

    pub fn set_threads(&self, has_threads: bool) {
        self.0.lock().has_threads = has_threads;
    }

    #[must_use]
    pub fn after_kill(&self) -> Self {
        let state = self.0.lock();
        Self::with(State {
            names: state.names.clone(),
            synced_names: state.synced_names.clone(),
            unsynced: state.unsynced.clone(),
            contents: state.contents.iter().map(|content| Content { torn: None, ..content.clone() }).collect(),
            ..State::default()
        })
    }

    #[must_use]
    pub fn after_power_cut(&self, seed: u64) -> Self {
        let state = self.0.lock();
        let mut chance = Chance(seed);
        let mut names = state.synced_names.clone();
        let kept = match seed % 4 {
            0 => 0,
            1 => state.unsynced.len(),
            _ => chance.below(state.unsynced.len() + 1),
        };
        state.unsynced[..kept].iter().for_each(|naming| naming.apply(&mut names));
        let contents = state.contents.iter().map(|content| content.after_power_cut(seed % 4, &mut chance)).collect();
        Self::with(State { synced_names: names.clone(), names, contents, ..State::default() })
    }

    #[must_use]
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.0.lock();
        Some(state.contents[*state.names.get(path)?].live.clone())
    }

    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.0.lock();
        let content = state.contents.len();
        state.contents.push(Content { synced: bytes.clone(), live: bytes, ..Content::default() });
        state.names.insert(path.to_owned(), content);
        state.synced_names.insert(path.to_owned(), content);
    }

    fn with(state: State) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    fn file(&self, content: usize, access: Access) -> Arc<dyn File> {
        Arc::new(SimFile { disk: self.clone(), content, access })
    }
}

enum Go {
    On,
    Stop,
}

impl State {
    fn begin(&mut self) -> io::Result<Go> {
        let now = self.operations;
        self.operations += 1;
        match self.stop_at {
            Some(stop) if now == stop => Ok(Go::Stop),
            Some(stop) if now > stop => Err(stopped()),
            _ => Ok(Go::On),
        }
    }

    fn fault(&mut self, bound: usize) -> Option<(io::Error, usize)> {
        let Faults { percent, chance } = self.faults.as_mut()?;
        let fails = chance.below(100) < *percent;
        let (kind, done) = (chance.below(3), chance.below(bound));
        let error = match kind {
            0 => io::ErrorKind::StorageFull.into(),
            1 => io::Error::other("simulated: too many open files"),
            _ => io::Error::other("simulated input/output error"),
        };
        fails.then_some((error, done))
    }

    /// Renames or removes a file. If the disk stops at this operation, the change takes effect only if the number of
    /// the operation is odd, so that tests cover both outcomes.
    fn name(&mut self, naming: Naming) -> io::Result<()> {
        let go = self.begin()?;
        if let Some((error, done)) = self.fault(2) {
            if done == 1 {
                naming.apply(&mut self.names);
                self.unsynced.push(naming);
            }
            return Err(error);
        }
        if matches!(go, Go::On) || self.operations.is_multiple_of(2) {
            naming.apply(&mut self.names);
            self.unsynced.push(naming);
        }
        go.end()
    }
}

impl Go {
    fn end(self) -> io::Result<()> {
        match self {
            Self::On => Ok(()),
            Self::Stop => Err(stopped()),
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the simulated process has ended")
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Self::Remove(path) => drop(names.remove(path)),
            Self::Create(path, content) => {
                names.insert(path.clone(), *content);
            }
            Self::Rename(from, to) => {
                if let Some(content) = names.remove(from) {
                    names.insert(to.clone(), content);
                }
            }
        }
    }
}

impl Content {
    fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        let old = self.live.len();
        if end > old {
            self.live.resize(end, 0);
        }
        self.live[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset.min(old) / SECTOR..end.div_ceil(SECTOR));
    }

    fn set_len(&mut self, bytes: usize) {
        let old = self.live.len();
        self.live.resize(bytes, 0);
        self.dirty.retain(|sector| sector * SECTOR < bytes);
        self.dirty.extend(old.min(bytes) / SECTOR..bytes.div_ceil(SECTOR));
    }

    fn sync(&mut self) {
        self.synced.resize(self.live.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            self.settle(sector);
        }
    }

    fn fail_sync(&mut self, chance: &mut Chance) {
        for sector in std::mem::take(&mut self.dirty) {
            if chance.below(2) == 0 {
                self.settle(sector);
            }
        }
    }

    fn settle(&mut self, sector: usize) {
        let start = sector * SECTOR;
        let end = (start + SECTOR).min(self.live.len()).min(self.synced.len());
        if start < end {
            self.synced[start..end].copy_from_slice(&self.live[start..end]);
        }
    }

    fn after_power_cut(&self, manner: u64, chance: &mut Chance) -> Self {
        let mut after = self.clone();
        let (old, new) = (self.synced.len(), self.live.len());
        let length = match manner {
            0 => old,
            1 => new,
            _ if chance.below(2) == 0 => new,
            _ => old + chance.below(new.saturating_sub(old) / SECTOR + 1) * SECTOR,
        };
        after.synced.resize(length, 0);
        let pivot = chance.below(self.dirty.len() + 1);
        let style = chance.below(3);
        for (n, sector) in self.dirty.iter().enumerate() {
            let kept = match (manner, style) {
                (0, _) => false,
                (1, _) => true,
                (_, 0) => n < pivot,
                (_, 1) => n >= pivot,
                _ => chance.below(2) == 0,
            };
            if kept && self.torn != Some(*sector) {
                after.settle(*sector);
            }
        }
        after.live.clone_from(&after.synced);
        after.dirty.clear();
        after
    }
}

#[derive(Debug)]
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap_or(0)
    }
}

impl Disk for SimDisk {
    fn create_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.0.lock();
        let within = state.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(within.filter_map(|path| Some(path.file_name()?.into())).collect())
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut state = self.0.lock();
        if state.no_descriptors {
            return Err(io::Error::other("simulated: too many open files"));
        }
        let content = state.contents.len();
        state.contents.push(Content::default());
        state.name(Naming::Create(path.to_owned(), content))?;
        Ok(self.file(content, Access::Write))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let content = self.0.lock().names.get(path).copied();
        content.map(|content| self.file(content, access)).ok_or(io::ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.lock().name(Naming::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.lock().name(Naming::Remove(path.to_owned()))
    }

    fn folder(&self, _: &Path) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(self.clone()))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<LockGuard>> {
        let mut state = self.0.lock();
        let lock = state.locks.entry(path.to_owned()).or_default();
        Ok((Arc::strong_count(lock) == 1).then(|| Box::new(Arc::clone(lock)) as LockGuard))
    }

    fn has_threads(&self) -> bool {
        self.0.lock().has_threads
    }
}

impl Folder for SimDisk {
    fn sync(&self) -> io::Result<()> {
        let mut state = self.0.lock();
        state.begin()?.end()?;
        let unsynced = std::mem::take(&mut state.unsynced);
        if let Some((error, _)) = state.fault(1) {
            return Err(error);
        }
        unsynced.iter().for_each(|naming| naming.apply(&mut state.synced_names));
        Ok(())
    }
}

impl File for SimFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.disk.0.lock().contents[self.content].live.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.0.lock();
        let live = &state.contents[self.content].live;
        let rest = live.get(place(offset)?..).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        state.bytes_read += read as u64;
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.0.lock();
        if self.access == Access::Read {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let go = state.begin()?;
        let offset = place(offset)?;
        let limit = state.write_limit.map_or(usize::MAX, |limit| (offset + limit).next_multiple_of(SECTOR) - offset);
        let mut bytes = &bytes[..bytes.len().min(limit)];
        if matches!(go, Go::Stop) {
            let grains = Chance(state.operations).below(bytes.len() / WRITE_GRAIN + 1);
            bytes = &bytes[..grains * WRITE_GRAIN];
        }
        let fault = state.fault(bytes.len() + 1);
        if let Some((_, done)) = fault.as_ref().filter(|(_, done)| *done < bytes.len()) {
            let end = offset + done;
            bytes = &bytes[..done.saturating_sub(end % SECTOR)];
        }
        let length = state.contents[self.content].live.len();
        if let Some(room) = state.room {
            let growth = (offset + bytes.len()).saturating_sub(length);
            let lacking = growth.saturating_sub(usize::try_from(room).unwrap_or(usize::MAX));
            if lacking > 0 && lacking >= bytes.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            bytes = &bytes[..bytes.len() - lacking];
            state.room = Some(room - (growth - lacking) as u64);
        }
        let content = &mut state.contents[self.content];
        content.write(bytes, offset);
        if matches!(go, Go::Stop) {
            content.torn = Some((offset + bytes.len()) / SECTOR);
        }
        go.end()?;
        if let Some((error, _)) = fault {
            return Err(error);
        }
        Ok(bytes.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        let go = state.begin()?;
        if let Some((error, _)) = state.fault(1) {
            return Err(error);
        }
        if matches!(go, Go::On) || state.operations.is_multiple_of(2) {
            state.contents[self.content].set_len(place(bytes)?);
        }
        go.end()
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.0.lock();
        state.begin()?.end()?;
        if state.syncs_fail {
            state.contents[self.content].dirty.clear();
            return Err(io::Error::other("simulated input/output error"));
        }
        if let Some((error, seed)) = state.fault(usize::MAX) {
            state.contents[self.content].fail_sync(&mut Chance(seed as u64));
            return Err(error);
        }
        state.contents[self.content].sync();
        Ok(())
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}
