//! Images: players' states as of the latest [snapshot](crate::snapshot), in files that can be read player by player.
//!
//! Each snapshot adds a [batch](batch) with the players that have changed since the one before, so it costs what has changed, and not
//! what there is. Of several images of a player the latest counts. Batches that are small beside those after them become one,
//! behind the service; so there are a dozen, and each image is written a few times in its life. A file is of use only if the
//! snapshot names it by its digest: what has another is removed. Images hold nothing that the log does not.
//!
//! sled would keep one value a player, so a snapshot that is being written would be in the one before it; its puts take a third of
//! the service's processor time where every player changes. So these are files of our own, as runs of requests are.

mod batch;
#[cfg(test)]
mod tests;

use crate::{
    error::ImageError,
    requests::{Key, Name},
};
use batch::{Batch, Image, write};
use motherlode_books::{Books, Frozen, Hand, PlayerState, StreamId};
use motherlode_log::Hash;
use motherlode_views::Store;
use parking_lot::{Mutex, RwLock};
use std::{
    collections::HashSet,
    ffi::OsString,
    fs::{self, File},
    io,
    ops::Deref,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// Batches that become one are at least so many.
const MERGED_MIN: usize = 4;
/// Places that are looked at for players to let go when one is read.
const AT_ONCE: usize = 16;
/// Places of players that are looked at while the writer may wait for the books.
pub(crate) const LOOKED_AT: usize = 64;
/// Players of a batch as it's first written.
const BATCH: usize = 1 << 17;

/// The images of a partition's players.
pub(crate) struct Images {
    folder: PathBuf,
    store: Arc<Store>,
    key: Key,
    /// The oldest first.
    batches: RwLock<Arc<[Arc<Batch>]>>,
    /// Those that the latest snapshot names: their files stay.
    kept: Mutex<Vec<Hash>>,
    /// How many players are to be in memory.
    players_max: usize,
    /// Where room was last made for others.
    hand: Mutex<Hand>,
    /// Players that were read so far.
    read: AtomicU64,
    /// The first thing that could not be read.
    pub(crate) failure: watch::Sender<Option<String>>,
    /// Set when the ledger closes: what takes long is broken off.
    pub(crate) stop: AtomicBool,
}

/// A player's state on its way into a batch.
pub(crate) struct Changed {
    pub(crate) operator: Arc<str>,
    pub(crate) player: Box<str>,
    pub(crate) state: Arc<PlayerState>,
}

/// The images of a snapshot, as its file names them.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Named {
    key: Key,
    batches: Vec<Hash>,
}

impl Named {
    #[cfg(feature = "fuzzing")]
    pub(crate) fn none(key: Key) -> Self {
        Self { key, batches: vec![] }
    }
}

impl Images {
    /// Of no player yet.
    pub(crate) fn none(folder: &Path, store: &Arc<Store>, players_max: usize) -> Self {
        Self {
            folder: folder.to_owned(),
            store: Arc::clone(store),
            key: Key::random(),
            batches: RwLock::new(Arc::default()),
            kept: Mutex::default(),
            players_max,
            hand: Mutex::default(),
            read: AtomicU64::new(0),
            failure: watch::Sender::default(),
            stop: AtomicBool::new(false),
        }
    }

    /// Images of no player yet, with a known key.
    #[cfg(test)]
    pub(crate) fn keyed(folder: &Path, partition: u32, key: Key) -> Self {
        let store = Arc::new(Store::open(&folder.join("views"), partition));
        Self { key, ..Self::none(folder, &store, usize::MAX) }
    }

    /// Those that a snapshot names.
    pub(crate) fn open(
        folder: &Path,
        store: &Arc<Store>,
        named: &Named,
        players_max: usize,
    ) -> Result<Self, ImageError> {
        let images = Self { key: named.key, ..Self::none(folder, store, players_max) };
        let open = |id: &Hash| {
            let batch = Batch::open(&folder.join(Batch::file_name(id)), store.partition(), named.key)?;
            if batch.id == *id { Ok(Arc::new(batch)) } else { Err(ImageError::Damaged) }
        };
        let batches: Arc<[_]> = named.batches.iter().map(open).collect::<Result<_, ImageError>>()?;
        *images.batches.write() = batches;
        images.kept.lock().clone_from(&named.batches);
        Ok(images)
    }

    /// The images as they are now, for a reader that needs them while others are written.
    pub(crate) fn fixed(&self) -> FixedImages {
        FixedImages { key: self.key, batches: Arc::clone(&self.batches.read()) }
    }

    /// The same as a snapshot names them, with these batches behind.
    pub(crate) fn named(&self, more: &Written) -> Named {
        let batches = self.batches.read();
        Named { key: self.key, batches: batches.iter().chain(&more.0).map(|batch| batch.id).collect() }
    }

    /// False of no player that has an image.
    pub(crate) fn may_hold(&self, stream: &StreamId) -> bool {
        let StreamId::Player { operator, player } = stream else { return false };
        let name = self.key.player(operator, player);
        self.batches.read().iter().any(|batch| batch.may_hold(name))
    }

    /// The latest image of a player.
    ///
    /// One that can't be read takes the snapshot away: the next start folds the log, and writes all images anew.
    pub(crate) fn find(&self, stream: &StreamId) -> Result<Option<PlayerState>, ImageError> {
        self.find_image(stream).inspect_err(|error| self.give_up(error))
    }

    fn find_image(&self, stream: &StreamId) -> Result<Option<PlayerState>, ImageError> {
        let found = self.fixed().find(stream)?;
        self.read.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
        Ok(found)
    }

    /// How many players were read so far.
    pub(crate) fn players_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn give_up(&self, error: &ImageError) {
        let is_first = self.failure.send_if_modified(|failure| {
            let is_first = failure.is_none();
            if is_first {
                *failure =
                    Some(format!("partition {}: a player's state cannot be read: {error}", self.store.partition()));
            }
            is_first
        });
        if is_first {
            tracing::error!(partition = self.store.partition(), %error, folder = %self.folder.display(),
                "players' states cannot be read: the snapshot is removed, so that the next start makes them anew from the log");
            self.remove_snapshot();
        }
    }

    /// Whether a snapshot would rest on what can't be read.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    /// Removes the snapshot that rests on the images.
    pub(crate) fn remove_snapshot(&self) {
        if let Err(error) = self.store.forget() {
            tracing::error!(%error, "the snapshot is not removed");
        }
    }

    /// Forgets all players, and the snapshot that names them: the log is folded anew.
    pub(crate) fn forget(&self) {
        self.remove_snapshot();
        *self.batches.write() = Arc::default();
        self.kept.lock().clear();
        *self.hand.lock() = Hand::default();
        self.failure.send_replace(None);
    }

    /// Whether a snapshot is due because too few players may leave memory.
    pub(crate) fn wants_snapshot(&self, books: &Books) -> bool {
        books.players_in_memory() > self.players_max && books.players_changed() > self.players_max / 2
    }

    /// Adds a player that was read, and lets others go if they are too many: first those that were not used lately.
    pub(crate) fn load(&self, books: &mut Books, stream: &StreamId, state: PlayerState) {
        self.make_room(books, AT_ONCE);
        books.load(stream, state);
    }

    /// Lets players go if they are too many, looking at so many places; answers whether there may be more to do.
    pub(crate) fn make_room(&self, books: &mut Books, places: usize) -> bool {
        if books.players_in_memory() < self.players_max {
            return false;
        }
        let mut hand = self.hand.lock();
        let recent = books.players_in_memory() > self.players_max.saturating_add(self.players_max / 8);
        !books.evict(&mut hand, places, recent)
    }

    /// Lets players go while a log is replayed, before anybody else has the books. What is written for that is named by the next
    /// snapshot, since nothing else vouches for what the log may not have durably yet.
    pub(crate) fn unload(&self, books: &mut Books) -> Result<(), ImageError> {
        let (mut frozen, mut written) = (books.freeze(), Written::default());
        each_once(&mut frozen);
        let done = self.write_frozen(&frozen, || &*books, &mut written);
        if done.is_ok() {
            let batches: Arc<[_]> = self.batches.read().iter().cloned().chain(written.0).collect();
            *self.batches.write() = batches;
        }
        drop(books.thaw(done.is_err().then_some(frozen)));
        done?;
        self.merge()?;
        self.remove_others();
        for _ in 0..2 {
            while self.make_room(books, LOOKED_AT) {}
        }
        Ok(())
    }

    /// Reads every player's latest image.
    #[cfg(test)]
    pub(crate) fn each(&self, mut player: impl FnMut(StreamId, PlayerState)) -> Result<(), ImageError> {
        let batches = Arc::clone(&self.batches.read());
        for image in latest(&batches) {
            let image = image?;
            let (operator, name) = image.whose()?;
            player(StreamId::player(operator, name), image.state()?);
        }
        Ok(())
    }

    /// Writes the players of a snapshot that has begun, whose places come in order, each once.
    pub(crate) fn write_frozen<B: Deref<Target = Books>>(
        &self,
        frozen: &Frozen,
        books: impl Fn() -> B,
        written: &mut Written,
    ) -> Result<(), ImageError> {
        let mut changed = vec![];
        for (operator, places) in frozen {
            let operator: Arc<str> = operator.as_str().into();
            for some in places.chunks(LOOKED_AT) {
                let books = books();
                for place in some {
                    changed.extend(books.frozen(&operator, *place).map(|(player, state)| Changed {
                        operator: Arc::clone(&operator),
                        player: player.into(),
                        state: Arc::clone(state),
                    }));
                }
                drop(books);
                if changed.len() >= BATCH {
                    self.write(std::mem::take(&mut changed), written)?;
                }
            }
        }
        if changed.is_empty() { Ok(()) } else { self.write(changed, written) }
    }

    /// Writes a batch. It's of use once a snapshot names it.
    pub(crate) fn write(&self, mut changed: Vec<Changed>, into: &mut Written) -> Result<(), ImageError> {
        changed.sort_by_cached_key(|of| self.key.player(&of.operator, &of.player));
        let images = changed.iter().map(|of| Image::of(self.key, &of.operator, &of.player, &of.state));
        into.0.push(Arc::new(self.put(changed.len() as u64, images)?));
        Ok(())
    }

    fn put(&self, most: u64, images: impl Iterator<Item = Result<Image, ImageError>>) -> Result<Batch, ImageError> {
        fs::create_dir_all(&self.folder)?;
        let new = self.folder.join("batch.new");
        let written = write(&new, self.store.partition(), self.key, most, images).and_then(|()| {
            // What was written is read back before anything rests on it.
            let batch = Batch::open(&new, self.store.partition(), self.key)?;
            fs::rename(&new, self.folder.join(Batch::file_name(&batch.id)))?;
            File::open(&self.folder)?.sync_all()?;
            Ok(batch)
        });
        if written.is_err() {
            // The log needs the room, if that is what was missing.
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Takes up batches that a snapshot names now, and removes all files that it doesn't name.
    pub(crate) fn take(&self, written: Written) {
        let batches: Arc<[_]> = self.batches.read().iter().cloned().chain(written.0).collect();
        *self.kept.lock() = batches.iter().map(|batch| batch.id).collect();
        *self.batches.write() = batches;
        self.remove_others();
    }

    /// Removes the files that nobody needs: neither the latest snapshot nor the next one.
    pub(crate) fn remove_others(&self) {
        let mut names: HashSet<OsString> = HashSet::new();
        names.extend(self.kept.lock().iter().map(|id| OsString::from(Batch::file_name(id))));
        names.extend(self.batches.read().iter().map(|batch| OsString::from(Batch::file_name(&batch.id))));
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for file in files.filter(|file| !names.contains(&file.file_name())) {
            if let Err(error) = fs::remove_file(file.path()) {
                tracing::debug!(%error, "a file of images that nobody needs is not removed");
            }
        }
    }

    /// Makes one batch of several, where it's worth it; the files of those stay until a snapshot names the new one. Answers
    /// whether it did.
    pub(crate) fn merge(&self) -> Result<bool, ImageError> {
        let batches = Arc::clone(&self.batches.read());
        let Some(from) = mergeable(&batches.iter().map(|batch| batch.bytes).collect::<Vec<_>>()) else {
            return Ok(false);
        };
        let (older, newer) = batches.split_at(from);
        let images = latest(newer).map(|image| match self.stop.load(Ordering::Relaxed) {
            true => Err(ImageError::Stopped),
            false => image,
        });
        let merged = self.put(newer.iter().map(|batch| batch.count).sum(), images).inspect_err(|error| {
            if matches!(error, ImageError::Damaged | ImageError::Block { .. }) {
                self.give_up(error);
            }
        })?;
        *self.batches.write() = older.iter().cloned().chain([Arc::new(merged)]).collect();
        Ok(true)
    }
}

/// Images of one moment. Their files stay readable although they may be removed meanwhile.
pub(crate) struct FixedImages {
    key: Key,
    /// The oldest first.
    batches: Arc<[Arc<Batch>]>,
}

impl FixedImages {
    /// The latest image of a player.
    pub(crate) fn find(&self, stream: &StreamId) -> Result<Option<PlayerState>, ImageError> {
        let StreamId::Player { operator, player } = stream else { return Ok(None) };
        let name = self.key.player(operator, player);
        for batch in self.batches.iter().rev().filter(|batch| batch.may_hold(name)) {
            if let Some(image) = batch.find(name, operator, player)? {
                return image.state().map(Some);
            }
        }
        Ok(None)
    }
}

/// Places of a snapshot in order, each once.
pub(crate) fn each_once(frozen: &mut Frozen) {
    for (_, places) in frozen {
        places.sort_unstable();
        places.dedup();
    }
}

/// Batches that were written for a snapshot.
#[derive(Default)]
pub(crate) struct Written(Vec<Arc<Batch>>);

/// From which batch on all are to become one, by their lengths, the oldest first: from the first that isn't longer than all after it
/// together.
fn mergeable(bytes: &[u64]) -> Option<usize> {
    let mut after: u64 = bytes.iter().sum();
    let from = bytes.iter().position(|bytes| {
        after -= bytes;
        *bytes <= after
    })?;
    (bytes.len() - from >= MERGED_MIN).then_some(from)
}

/// The images of several batches in order of names, the oldest batch first; of several of a player the latest.
fn latest(batches: &[Arc<Batch>]) -> impl Iterator<Item = Result<Image, ImageError>> {
    let mut heads: Vec<_> = batches.iter().rev().map(|batch| batch.images().peekable()).collect();
    // Players with the name that comes next, each once.
    let mut alike: std::vec::IntoIter<Result<Image, ImageError>> = vec![].into_iter();
    std::iter::from_fn(move || {
        loop {
            if let Some(image) = alike.next() {
                return Some(image);
            }
            // An error has no name, which is the least: it comes at once.
            let least = heads.iter_mut().filter_map(|head| Some(head.peek()?.as_ref().ok().map(|image| image.name)));
            let least: Option<Name> = least.min()?;
            let mut found: Vec<Result<Image, ImageError>> = vec![];
            for head in &mut heads {
                let is_least = |image: &Result<Image, ImageError>| image.as_ref().ok().map(|image| image.name) == least;
                while let Some(image) = head.next_if(is_least) {
                    let is_later = found.iter().any(|later| match (later, &image) {
                        (Ok(later), Ok(image)) => later.whose().is_ok_and(|of| image.whose().is_ok_and(|it| it == of)),
                        _ => false,
                    });
                    if !is_later {
                        found.push(image);
                    }
                }
            }
            alike = found.into_iter();
        }
    })
}

impl From<ImageError> for io::Error {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Io(error) => error,
            other => Self::other(other),
        }
    }
}
