//! The draw keys: who has them can compute the dealt values of all draws that are sealed, and nobody else can.
//!
//! They are in a file of their own, apart from the log, which all processes that open players, void rounds and spin share. A
//! line is a key: when it was made, Unix milliseconds, and 64 hexadecimal digits from the operating system. The last one seals;
//! older ones are kept for the seals that are out. A key is made at the first start and then every [`DAY_MS`], by whichever
//! process comes first, under the file's lock; it's used once it's synced. A file that can't be written is used as it is, for
//! whoever looks after its keys otherwise.

use motherlode_books::{
    Dealt, DrawSealed, Epoch, Event, NextDraw, OpenRound, PlayerState, Seal, SealReason, StreamId,
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

/// How long a key seals before there is a new one (PL-28).
pub const DAY_MS: i64 = 86_400_000;
/// The first line of the file, for who looks into it.
const HEAD: &str =
    "# Motherlode's draw keys: whoever reads them knows every draw to come. Never copy them with the log.\n";
/// The largest file that is read, bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Why there are no draw keys.
#[derive(Debug, thiserror::Error)]
pub enum DrawKeysError {
    /// The file can't be read or written.
    #[error("the draw keys in {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its cause.
        source: io::Error,
    },
    /// They must be given up and can't.
    #[error(
        "the log has lost its end, or is another than the draw keys in {} were used for; what they sealed may have been revealed, so \
         another file of keys must take their place: {source}", path.display()
    )]
    Kept {
        /// The file.
        path: PathBuf,
        /// Its cause.
        source: io::Error,
    },
    /// Others may read the file.
    #[error("the draw keys in {} may be read by everybody: set its mode to 0600", .0.display())]
    Exposed(PathBuf),
    /// There are more keys than are read: some 13,000, one a day for 36 years.
    #[error("the draw keys in {} are longer than {BYTES_MAX} bytes: begin another file with the newest of them", .0.display())]
    TooLong(PathBuf),
    /// A line is no key.
    #[error("the draw keys in {}: line {line} is no key", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The operating system gives no random bytes.
    #[error("the operating system gives no random bytes: {0}")]
    Entropy(getrandom::Error),
}

/// The draw keys that a process has; clones share them.
#[derive(Clone)]
pub struct DrawKeys(Arc<Shared>);

struct Shared {
    file: Option<PathBuf>,
    keys: RwLock<Vec<Key>>,
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

/// Never the keys themselves.
impl fmt::Debug for DrawKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DrawKeys({} of {:?})", self.0.keys.read().len(), self.0.file)
    }
}

impl DrawKeys {
    fn with(file: Option<PathBuf>, keys: Vec<Key>) -> Self {
        Self(Arc::new(Shared { file, keys: RwLock::new(keys) }))
    }

    /// No keys: a process that neither seals nor reveals.
    #[must_use]
    pub fn none() -> Self {
        Self::with(None, vec![])
    }

    /// One key, in memory alone: for tests, and for exports that can be repeated. Nothing that serves uses it.
    #[must_use]
    pub fn of(key: [u8; 32]) -> Self {
        Self::with(None, vec![Key::new(key, 0)])
    }

    /// A fresh key, in memory alone.
    ///
    /// # Errors
    /// The operating system gives no random bytes.
    pub fn fresh() -> Result<Self, DrawKeysError> {
        entropy().map(Self::of)
    }

    /// The keys of a file. One that isn't there, or whose last key is a day old, gets a new key.
    ///
    /// # Errors
    /// See [`DrawKeysError`].
    pub fn open(path: &Path, now_ms: i64) -> Result<Self, DrawKeysError> {
        let keys = Self::with(Some(path.to_owned()), vec![]);
        keys.renew(now_ms)?;
        Ok(keys)
    }

    /// Reads the keys of a file and changes nothing.
    ///
    /// # Errors
    /// See [`DrawKeysError`].
    pub fn read(path: &Path) -> Result<Self, DrawKeysError> {
        let keys = Self::with(Some(path.to_owned()), vec![]);
        keys.reload()?;
        Ok(keys)
    }

    /// Reads the keys again, and adds one where the last is a day old: that is answered. Whose keys are in memory alone keeps
    /// them.
    ///
    /// # Errors
    /// See [`DrawKeysError`]; the keys are as they were.
    pub fn renew(&self, now_ms: i64) -> Result<Option<Epoch>, DrawKeysError> {
        let Some(path) = &self.0.file else { return Ok(None) };
        let failed = |source| DrawKeysError::Io { path: path.clone(), source };
        let mut file = match open(path) {
            Ok(file) => file,
            // Whoever made it so looks after the keys.
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
            let digits: String = key.key.iter().map(|byte| format!("{byte:02x}")).collect();
            let line = format!("{head}{now_ms} {digits}\n");
            let write = |file: &mut File| {
                // A line that was cut off was never used.
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
        *self.0.keys.write() = keys;
        Ok(made)
    }

    /// Where the keys are; none where they are in memory alone.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// Gives up all keys: the file of them is moved aside, to where is answered, and another made with a fresh key.
    pub(crate) fn give_up(&self, now_ms: i64) -> Result<PathBuf, DrawKeysError> {
        let Some(path) = &self.0.file else { return Ok(PathBuf::new()) };
        let mut aside = path.clone().into_os_string();
        aside.push(format!(".given-up-{now_ms}"));
        match std::fs::rename(path, &aside) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(DrawKeysError::Kept { path: path.clone(), source });
            }
            _ => {}
        }
        self.renew(now_ms)?;
        Ok(aside.into())
    }

    fn reload(&self) -> Result<(), DrawKeysError> {
        let Some(path) = &self.0.file else { return Ok(()) };
        let failed = |source| DrawKeysError::Io { path: path.clone(), source };
        let mut file = File::open(path).map_err(failed)?;
        file.lock_shared().map_err(failed)?;
        let (keys, _) = read(&mut file, path)?;
        *self.0.keys.write() = keys;
        Ok(())
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.keys.read().is_empty()
    }

    /// Whether the key with this name is in memory.
    #[must_use]
    pub fn has(&self, epoch: Epoch) -> bool {
        self.0.keys.read().iter().any(|key| key.epoch == epoch)
    }

    /// The dealt value of a player's draw; none where its key is gone. A key that another process has made is read then.
    #[must_use]
    pub fn dealt(&self, stream: &StreamId, number: u64, epoch: Epoch) -> Option<Dealt> {
        let deal = || {
            let keys = self.0.keys.read();
            keys.iter().rev().find(|key| key.epoch == epoch).map(|key| key.deals.deal(stream, number))
        };
        deal().or_else(|| {
            if let Err(error) = self.reload() {
                tracing::error!(%error, "the draw keys can't be read again");
            }
            deal()
        })
    }

    /// The key that seals now, and the seal of a player's draw under it; none without keys.
    #[must_use]
    pub fn seal(&self, stream: &StreamId, number: u64) -> Option<(Epoch, Seal)> {
        let keys = self.0.keys.read();
        let key = keys.last()?;
        Some((key.epoch, draw::seal(&key.deals.deal(stream, number))))
    }

    /// Seal of a player's draw under one of the two newest keys; `None` for an older or unknown key. Two, since another process may be
    /// about to read a renewed key.
    #[must_use]
    pub fn expected_seal(&self, stream: &StreamId, number: u64, epoch: Epoch) -> Option<Seal> {
        // Reads the keys again where this one is not known.
        let dealt = self.dealt(stream, number, epoch)?;
        let is_newest = self.0.keys.read().iter().rev().take(2).any(|key| key.epoch == epoch);
        is_newest.then(|| draw::seal(&dealt))
    }

    /// The dealt value under the seal of a player's draw; none where its key is gone, or dealt another.
    #[must_use]
    pub fn dealt_under(&self, stream: &StreamId, sealed: &NextDraw) -> Option<Dealt> {
        let dealt = self.dealt(stream, sealed.number, sealed.epoch);
        dealt.filter(|dealt| draw::seal(dealt) == sealed.seal)
    }

    /// The dealt values of an open round's sealed steps; none where the key of one is gone.
    #[must_use]
    pub fn revealed(&self, stream: &StreamId, open: &OpenRound) -> Option<Vec<Dealt>> {
        let dealt = |(number, epoch, seal)| self.dealt(stream, number, epoch).filter(|dealt| draw::seal(dealt) == seal);
        open.draws().map(dealt).collect()
    }

    /// The event that seals a player's draw apart from a step; none without keys.
    #[must_use]
    pub fn sealed(&self, stream: &StreamId, number: u64, reason: SealReason) -> Option<Event> {
        let (epoch, seal) = self.seal(stream, number)?;
        Some(Event::DrawSealed(DrawSealed { number, epoch, seal, reason }))
    }

    /// The event that seals the first draw of a player who is being opened; none of one who has a draw, and without keys.
    #[must_use]
    pub fn opening(&self, stream: &StreamId, player: Option<&PlayerState>) -> Option<Event> {
        match player.and_then(|player| player.draw) {
            Some(_) => None,
            None => self.sealed(stream, 1, SealReason::Opened),
        }
    }
}

/// Opens the file to be read and written; makes it, for its owner alone, where it isn't there.
fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// The keys of a file, and how many of its bytes are whole lines.
fn read(file: &mut File, path: &Path) -> Result<(Vec<Key>, u64), DrawKeysError> {
    let failed = |source| DrawKeysError::Io { path: path.to_owned(), source };
    let metadata = file.metadata().map_err(failed)?;
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(DrawKeysError::Exposed(path.to_owned()));
    }
    // Of a file that is read in part, the rest would be taken for a line that was cut off.
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

fn key_of(line: &str) -> Option<Key> {
    let (made_ms, digits) = line.split_once(' ')?;
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; 32];
    for (place, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(place * 2..place * 2 + 2)?, 16).ok()?;
    }
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

    fn alice() -> StreamId {
        StreamId::player("acme", "alice")
    }

    #[test]
    fn pl_28_a_value_is_dealt_under_its_own_seal_until_the_keys_are_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draws");
        let (keys, again) = (DrawKeys::open(&path, 5).unwrap(), DrawKeys::open(&path, 5).unwrap());
        let (epoch, seal) = keys.seal(&alice(), 9).unwrap();
        let next = NextDraw { number: 9, epoch, seal, sealed_by: None };
        let dealt = Some(draw::deal(&again.0.keys.read()[0].key, &alice(), 9));
        assert_eq!((keys.dealt_under(&alice(), &next), again.dealt_under(&alice(), &next)), (dealt, dealt));
        assert_eq!(keys.dealt_under(&alice(), &NextDraw { number: 1, ..next }), None, "of another draw");
        assert_eq!(keys.dealt_under(&StreamId::player("acme", "bob"), &next), None, "of another player");
        assert_eq!(keys.dealt_under(&alice(), &NextDraw { seal: [0; 32], ..next }), None);
        keys.give_up(6).unwrap();
        assert_eq!(keys.dealt_under(&alice(), &next), None);
    }

    #[test]
    fn pl_28_a_key_is_fresh_each_day_and_older_ones_open_their_seals() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/draws");
        let keys = DrawKeys::open(&path, 5).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut seals = vec![keys.seal(&alice(), 1).unwrap()];
        assert_eq!(keys.renew(4 + DAY_MS).unwrap(), None);
        for day in 1..5 {
            assert!(keys.renew(5 + day * DAY_MS).unwrap().is_some());
            seals.push(keys.seal(&alice(), 1).unwrap());
        }
        let different: BTreeSet<_> = seals.iter().collect();
        assert_eq!(different.len(), 5);
        // Also after a start, by another process, and with a line that a crash cut off.
        fs::write(&path, [fs::read(&path).unwrap(), b"77 00ff".to_vec()].concat()).unwrap();
        let again = DrawKeys::open(&path, 6 + 4 * DAY_MS).unwrap();
        for (epoch, seal) in seals {
            let dealt = [&keys, &again].map(|keys| keys.dealt(&alice(), 1, epoch).unwrap());
            assert_eq!(dealt.map(|dealt| draw::seal(&dealt)), [seal; 2]);
        }
        assert!(again.renew(5 + 5 * DAY_MS).unwrap().is_some());
        // What another process has made is read when it's met.
        let (epoch, seal) = again.seal(&alice(), 7).unwrap();
        assert_eq!(draw::seal(&keys.dealt(&alice(), 7, epoch).unwrap()), seal);
        assert_eq!(keys.dealt(&alice(), 7, [1, 2, 3, 4]), None);
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
            let opened = DrawKeys::open(&path, 2 + DAY_MS);
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
        let open = |_| {
            let path = path.clone();
            std::thread::spawn(move || DrawKeys::open(&path, 9).unwrap().seal(&alice(), 1).unwrap())
        };
        let threads: Vec<_> = (0..8).map(open).collect();
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
            DrawKeys::open(&path, 1).map(|_| ()).map_err(|error| error.to_string())
        };
        let key = "ab".repeat(32);
        assert_eq!(written(&format!("{HEAD}1 {key}\n"), 0o640), Ok(()));
        assert!(written(&format!("1 {key}\n"), 0o604).unwrap_err().contains("0600"));
        for bad in [format!("1 {key}0\n"), format!("{key}\n"), format!("1 {}g\n", &key[1..]), "x\n".to_owned()] {
            let error = written(&format!("# a key\n{bad}"), 0o600).unwrap_err();
            assert!(error.contains("line 2 is no key") && !error.contains("ababab"), "{error}");
        }
        assert!(!format!("{:?}", DrawKeys::of([0xab; 32])).contains("ab, "));
    }
}
