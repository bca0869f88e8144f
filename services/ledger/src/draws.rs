//! Draw keys. Each draw's random value (*dealt value*) is derived from a key. Before the value is used, its hash
//! (*seal*) is logged.
//!
//! All processes that seal or play draws share one key file. Each line contains a key's creation time in Unix
//! milliseconds, the key as 64 hexadecimal digits, and a checksum of 8 digits, which older files lack. The last key
//! makes new seals; older keys are needed for the seals made with them. Once a day, one of the processes locks the file
//! and adds a key (PL-28), which is used after the file is synced.
//!
//! A dealt value also depends on a salt in the log ([`Generations`], PL-40). Each start of a writer logs a new salt, so
//! a process that starts with an old key file cannot deal the same value twice.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use motherlode_log::hash;
use motherlode_state::{
    Dealt, DrawName, DrawSealed, Epoch, Event, Generation, Generations, NextDraw, OpenRound, PlayerState, Salt, Seal,
    SealReason, StreamId,
    date::DAY_MS,
    draw::{self, DealKey},
};
use parking_lot::RwLock;
use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

const HEAD: &str = "# Motherlode's draw keys: anyone with them can predict every draw. Never copy them with the log.\n";
const BYTES_MAX: u64 = 1 << 20;
const DERIVED_MAX: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum DrawKeysError {
    #[error("cannot access the draw keys in {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the draw keys in {} are readable by other users: set the file's mode to 0600", .0.display())]
    Exposed(PathBuf),
    #[error("the draw key file {} is longer than {BYTES_MAX} bytes: keep only the keys that the log names", .0.display())]
    TooLong(PathBuf),
    #[error("line {line} of {} is not a draw key, or its checksum is wrong: restore the file from a backup", path.display())]
    Malformed { path: PathBuf, line: usize },
    #[error("the operating system returned no random bytes: {0}")]
    Entropy(getrandom::Error),
}

#[derive(Clone)]
pub struct DrawKeys(Arc<KeyFile>);

struct KeyFile {
    file: Option<PathBuf>,
    keys: RwLock<Keys>,
}

#[derive(Default)]
struct Keys {
    keys: Vec<Key>,
    derived: Vec<DerivedKey>,
}

struct DerivedKey {
    epoch: Epoch,
    salt: Salt,
    deals: DealKey,
}

impl Keys {
    fn ready(&self, epoch: Epoch, salt: Option<Salt>) -> Option<&DealKey> {
        match salt {
            None => self.keys.iter().rev().find(|key| key.epoch == epoch).map(|key| &key.deals),
            Some(salt) => {
                let mut derived = self.derived.iter().rev();
                derived.find(|of| of.epoch == epoch && of.salt == salt).map(|of| &of.deals)
            }
        }
    }

    fn derive(&mut self, epoch: Epoch, salt: Salt) {
        let Some(key) = self.keys.iter().rev().find(|key| key.epoch == epoch) else { return };
        let deals = DealKey::new(&draw::generation_key(&key.key, &salt));
        if self.derived.len() >= DERIVED_MAX {
            self.derived.drain(..DERIVED_MAX / 2);
        }
        self.derived.push(DerivedKey { epoch, salt, deals });
    }
}

#[derive(Clone)]
struct Key {
    epoch: Epoch,
    made_ms: i64,
    key: [u8; 32],
    deals: DealKey,
}

impl Key {
    fn new(key: [u8; 32], made_ms: i64) -> Self {
        Self { epoch: draw::epoch(&key), made_ms, key, deals: DealKey::new(&key) }
    }
}

impl fmt::Debug for DrawKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DrawKeys({} of {:?})", self.0.keys.read().keys.len(), self.0.file)
    }
}

impl DrawKeys {
    fn with(file: Option<PathBuf>, keys: Vec<Key>) -> Self {
        Self(Arc::new(KeyFile { file, keys: RwLock::new(Keys { keys, derived: vec![] }) }))
    }

    #[must_use]
    pub fn none() -> Self {
        Self::with(None, vec![])
    }

    #[must_use]
    pub fn from_key(key: [u8; 32]) -> Self {
        Self::with(None, vec![Key::new(key, 0)])
    }

    pub fn fresh() -> Result<Self, DrawKeysError> {
        entropy().map(Self::from_key)
    }

    /// Reads the key file. A missing file is not an error: after a check that the log depends on no key,
    /// [`DrawKeys::renew`] creates the file.
    pub fn open(path: &Path) -> Result<Self, DrawKeysError> {
        let keys = Self::with(Some(path.to_owned()), vec![]);
        keys.reload()?;
        Ok(keys)
    }

    /// Adds a key if the last key is a day old or no key exists. On an error the keys stay unchanged.
    pub fn renew(&self, now_ms: i64) -> Result<Option<Epoch>, DrawKeysError> {
        let Some(path) = &self.0.file else { return Ok(None) };
        let failed = |source| DrawKeysError::Io { path: path.clone(), source };
        let mut file = match open(path) {
            Ok(file) => file,
            // If the file is read-only for this process, another process adds the keys.
            Err(error) if unwritable(&error) && path.exists() => {
                self.reload()?;
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        };
        file.lock().map_err(failed)?;
        let (mut keys, whole) = read(&mut file, path)?;
        let due = keys.last().is_none_or(|last| now_ms.saturating_sub(last.made_ms) >= DAY_MS);
        let mut made = None;
        if due {
            let key = loop {
                let key = entropy()?;
                if keys.iter().all(|other| other.epoch != draw::epoch(&key)) {
                    break Key::new(key, now_ms);
                }
            };
            let head = if whole == 0 { HEAD } else { "" };
            let digits = HEXLOWER.encode(&key.key);
            let line = format!("{now_ms} {digits}");
            let line = format!("{head}{line} {}\n", checksum(&line));
            let write = |file: &mut File| {
                file.set_len(whole)?;
                file.seek(io::SeekFrom::End(0))?;
                file.write_all(line.as_bytes())?;
                file.sync_all()?;
                path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
            };
            write(&mut file).map_err(failed)?;
            made = Some(key.epoch);
            keys.push(key);
        }
        self.0.keys.write().keys = keys;
        Ok(made)
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// If the key file is missing or unreadable, the keys stay unchanged.
    pub(crate) fn reload(&self) -> Result<(), DrawKeysError> {
        let Some(path) = &self.0.file else { return Ok(()) };
        let failed = |source| DrawKeysError::Io { path: path.clone(), source };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        file.lock_shared().map_err(failed)?;
        let (keys, _) = read(&mut file, path)?;
        self.0.keys.write().keys = keys;
        Ok(())
    }

    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.keys.read().keys.is_empty()
    }

    #[must_use]
    pub fn knows(&self, epoch: Epoch) -> bool {
        self.has(epoch) || (self.reload().is_ok() && self.has(epoch))
    }

    #[must_use]
    pub fn has(&self, epoch: Epoch) -> bool {
        self.0.keys.read().keys.iter().any(|key| key.epoch == epoch)
    }

    #[must_use]
    pub fn names(&self) -> Vec<Epoch> {
        self.0.keys.read().keys.iter().map(|key| key.epoch).collect()
    }

    #[must_use]
    pub fn dealt(&self, stream: &StreamId, name: DrawName, generations: &Generations) -> Option<Dealt> {
        let DrawName { number, epoch, generation } = name;
        let Generation { salt, .. } = generations.get(generation)?;
        let deal = || self.0.keys.read().ready(epoch, salt).map(|deals| deals.deal(stream, number));
        deal().or_else(|| {
            if !self.names().contains(&epoch)
                && let Err(error) = self.reload()
            {
                tracing::error!(%error, "failed to reload the draw keys: the loaded keys stay in use");
            }
            if let Some(salt) = salt {
                self.0.keys.write().derive(epoch, salt);
            }
            deal()
        })
    }

    #[must_use]
    pub fn seal(&self, stream: &StreamId, number: u64, generations: &Generations) -> Option<(DrawName, Seal)> {
        let epoch = self.0.keys.read().keys.last()?.epoch;
        let name = DrawName { number, epoch, generation: generations.current().number };
        Some((name, draw::seal(&self.dealt(stream, name, generations)?)))
    }

    /// Returns the seal that another process must have computed for the draw, if the draw's key is one of the two
    /// newest. The second newest key is accepted because the other process may not have read the newest key yet.
    #[must_use]
    pub fn expected_seal(&self, stream: &StreamId, name: DrawName, generations: &Generations) -> Option<Seal> {
        if name.generation != generations.current().number {
            return None;
        }
        let dealt = self.dealt(stream, name, generations)?;
        let is_newest = self.0.keys.read().keys.iter().rev().take(2).any(|key| key.epoch == name.epoch);
        is_newest.then(|| draw::seal(&dealt))
    }

    #[must_use]
    pub fn dealt_under(&self, stream: &StreamId, sealed: &NextDraw, generations: &Generations) -> Option<Dealt> {
        let dealt = self.dealt(stream, sealed.name(), generations);
        dealt.filter(|dealt| draw::seal(dealt) == sealed.seal)
    }

    #[must_use]
    pub fn revealed(&self, stream: &StreamId, open: &OpenRound, generations: &Generations) -> Option<Vec<Dealt>> {
        open.draws().map(|sealed| self.dealt_under(stream, &sealed, generations)).collect()
    }

    #[must_use]
    pub fn sealed(
        &self,
        stream: &StreamId,
        number: u64,
        reason: SealReason,
        generations: &Generations,
    ) -> Option<Event> {
        let (DrawName { epoch, generation, .. }, seal) = self.seal(stream, number, generations)?;
        Some(Event::DrawSealed(DrawSealed { number, epoch, generation, seal, reason }))
    }

    #[must_use]
    pub fn opening(&self, stream: &StreamId, player: Option<&PlayerState>, generations: &Generations) -> Option<Event> {
        match player.and_then(|player| player.draw) {
            Some(_) => None,
            None => self.sealed(stream, 1, SealReason::Opened, generations),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn read(file: &mut File, path: &Path) -> Result<(Vec<Key>, u64), DrawKeysError> {
    let failed = |source| DrawKeysError::Io { path: path.to_owned(), source };
    let metadata = file.metadata().map_err(failed)?;
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(DrawKeysError::Exposed(path.to_owned()));
    }
    // A longer file is refused, because a partly read file would look like a file with an incomplete last line.
    if metadata.len() > BYTES_MAX {
        return Err(DrawKeysError::TooLong(path.to_owned()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let lines = text[..whole].lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let keys =
        lines.map(|(text, line)| key_of(text).ok_or_else(|| DrawKeysError::Malformed { path: path.to_owned(), line }));
    Ok((keys.collect::<Result<_, _>>()?, whole as u64))
}

fn checksum(line: &str) -> String {
    HEXLOWER.encode(&hash(line.as_bytes())[..4])
}

fn key_of(line: &str) -> Option<Key> {
    let line = match line.rsplit_once(' ') {
        Some((line, sum)) if line.contains(' ') => (sum == checksum(line)).then_some(line)?,
        _ => line,
    };
    let (made_ms, digits) = line.split_once(' ')?;
    let key = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?.try_into().ok()?;
    Some(Key::new(key, made_ms.parse().ok()?))
}

fn entropy() -> Result<[u8; 32], DrawKeysError> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(DrawKeysError::Entropy)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs};

    fn none() -> Generations {
        Generations::default()
    }

    fn open(path: &Path, now_ms: i64) -> Result<DrawKeys, DrawKeysError> {
        let keys = DrawKeys::open(path)?;
        keys.renew(now_ms)?;
        Ok(keys)
    }

    fn alice() -> StreamId {
        StreamId::player("acme", "alice")
    }

    #[test]
    fn pl_28_a_value_is_dealt_under_its_own_seal_and_by_its_own_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draws");
        let (keys, again) = (open(&path, 5).unwrap(), open(&path, 5).unwrap());
        let (DrawName { number, epoch, generation }, seal) = keys.seal(&alice(), 9, &none()).unwrap();
        let next = NextDraw { number, epoch, generation, seal, sealed_by: None };
        let under = |keys: &DrawKeys, stream: &StreamId, next: &NextDraw| keys.dealt_under(stream, next, &none());
        let dealt = Some(draw::deal(&again.0.keys.read().keys[0].key, &alice(), 9));
        assert_eq!((under(&keys, &alice(), &next), under(&again, &alice(), &next)), (dealt, dealt));
        assert_eq!(under(&keys, &alice(), &NextDraw { number: 1, ..next }), None, "another draw opened the seal");
        assert_eq!(
            under(&keys, &StreamId::player("acme", "bob"), &next),
            None,
            "another player's draw opened the seal"
        );
        assert_eq!(under(&keys, &alice(), &NextDraw { seal: [0; 32], ..next }), None);
        assert_eq!(
            under(&keys, &alice(), &NextDraw { generation: 1, ..next }),
            None,
            "a generation that the log lacks opened the seal"
        );
        assert_eq!(under(&DrawKeys::fresh().unwrap(), &alice(), &next), None, "another key opened the seal");
    }

    #[test]
    fn pl_28_a_key_is_fresh_each_day_and_older_ones_open_their_seals() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/draws");
        let keys = open(&path, 5).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut seals = vec![keys.seal(&alice(), 1, &none()).unwrap()];
        assert_eq!(keys.renew(4 + DAY_MS).unwrap(), None);
        for day in 1..5 {
            assert!(keys.renew(5 + day * DAY_MS).unwrap().is_some());
            seals.push(keys.seal(&alice(), 1, &none()).unwrap());
        }
        let different: BTreeSet<_> = seals.iter().map(|(_, seal)| seal).collect();
        assert_eq!(different.len(), 5);
        fs::write(&path, [fs::read(&path).unwrap(), b"77 00ff".to_vec()].concat()).unwrap();
        let again = open(&path, 6 + 4 * DAY_MS).unwrap();
        for (name, seal) in seals {
            let dealt = [&keys, &again].map(|keys| keys.dealt(&alice(), name, &none()).unwrap());
            assert_eq!(dealt.map(|dealt| draw::seal(&dealt)), [seal; 2]);
        }
        assert!(again.renew(5 + 5 * DAY_MS).unwrap().is_some());
        let (name, seal) = again.seal(&alice(), 7, &none()).unwrap();
        assert_eq!(draw::seal(&keys.dealt(&alice(), name, &none()).unwrap()), seal);
        assert_eq!(keys.dealt(&alice(), DrawName { epoch: [1, 2, 3, 4], ..name }, &none()), None);
    }

    #[test]
    fn pl_28_no_key_of_a_file_that_is_too_long_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draws");
        let line = format!("1 {}\n", "ab".repeat(32));
        let most = usize::try_from(BYTES_MAX).unwrap() / line.len();
        for (lines, is_read) in [(most - 1, true), (most + 1, false)] {
            fs::write(&path, line.repeat(lines)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let opened = open(&path, 2 + DAY_MS);
            assert_eq!(opened.is_ok(), is_read, "{opened:?}");
            let after = fs::read_to_string(&path).unwrap();
            assert!(after.starts_with(&line.repeat(lines)), "{lines} lines");
            assert_eq!(after.lines().count(), lines + usize::from(is_read));
        }
    }

    #[test]
    fn pl_28_processes_that_start_together_have_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draws");
        let start = |_| {
            let path = path.clone();
            std::thread::spawn(move || open(&path, 9).unwrap().seal(&alice(), 1, &none()).unwrap().1)
        };
        let threads: Vec<_> = (0..8).map(start).collect();
        let seals: BTreeSet<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(seals.len(), 1);
    }

    #[test]
    fn pl_28_keys_that_others_can_read_or_that_are_none_are_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draws");
        let written = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            open(&path, 1).map(|_| ()).map_err(|error| error.to_string())
        };
        let key = "ab".repeat(32);
        assert_eq!(written(&format!("{HEAD}1 {key}\n"), 0o640), Ok(()));
        assert!(written(&format!("1 {key}\n"), 0o604).unwrap_err().contains("0600"));
        for bad in [format!("1 {key}0\n"), format!("{key}\n"), format!("1 {}g\n", &key[1..]), "x\n".to_owned()] {
            let error = written(&format!("# a key\n{bad}"), 0o600).unwrap_err();
            assert!(
                error.contains("is not a draw key") && error.starts_with("line 2 of ") && !error.contains("ababab"),
                "{error}"
            );
        }
        let line = format!("7 {key}");
        let line = format!("{line} {}", checksum(&line));
        assert_eq!(written(&format!("{line}\n"), 0o600), Ok(()));
        for place in 0..line.len() {
            let mut damaged = line.clone().into_bytes();
            damaged[place] = if damaged[place] == b'1' { b'2' } else { b'1' };
            let error = written(&format!("{}\n", String::from_utf8(damaged).unwrap()), 0o600).unwrap_err();
            assert!(error.starts_with("line 1 of ") && error.contains("is not a draw key"), "{error}");
        }
        assert!(!format!("{:?}", DrawKeys::from_key([0xab; 32])).contains("ab, "));
    }
}
