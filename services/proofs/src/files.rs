use motherlode_tiles::{Checkpoint, Hash, Malformed, Note, NoteError, Stored, Tile, VerifierKey, leaf};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// Number of stored tile levels. With level 0, which is computed, five levels of 256 hashes hold 2^40 records.
const LEVELS: usize = 4;
const HASH: u64 = 32;

#[must_use]
pub fn proofs_folder(data: &Path, partition: u32) -> PathBuf {
    data.join("proofs").join(partition.to_string())
}

#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("cannot use the file {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is not a text file", .0.display())]
    NotText(PathBuf),
    #[error("cannot use the file {}: {source}", path.display())]
    Malformed { path: PathBuf, source: Malformed },
    #[error("cannot use the file {}: {source}", path.display())]
    Unsigned { path: PathBuf, source: NoteError },
}

/// Files of a partition's Merkle tree. Reads do not wait for writes.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    levels: Vec<File>,
}

impl Files {
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Self::new(folder, OpenOptions::new().read(true).write(true).create(true).truncate(false))
    }

    pub fn open_unchanged(folder: &Path) -> io::Result<Self> {
        Self::new(folder, OpenOptions::new().read(true))
    }

    fn new(folder: &Path, options: &OpenOptions) -> io::Result<Self> {
        let names = ["entries".to_owned()].into_iter().chain((1..=LEVELS).map(|level| level.to_string()));
        let levels = names.map(|name| options.open(folder.join(name))).collect::<io::Result<_>>()?;
        Ok(Self { folder: folder.to_owned(), levels })
    }

    fn checkpoint_file(folder: &Path) -> PathBuf {
        folder.join("checkpoint")
    }

    pub fn checkpoint(folder: &Path, key: &VerifierKey) -> Result<Option<(Checkpoint, Note)>, FilesError> {
        let Some((path, note)) = Self::note(folder)? else { return Ok(None) };
        let checkpoint = Checkpoint::open(&note, key).map_err(|source| FilesError::Unsigned { path, source })?;
        Ok(Some((checkpoint, note)))
    }

    pub fn restored_checkpoint(folder: &Path, key: &VerifierKey) -> Result<Option<(Checkpoint, Note)>, FilesError> {
        let Some((path, note)) = Self::note(folder)? else { return Ok(None) };
        let opened = Checkpoint::open_restored(&note, key);
        Ok(Some((opened.map_err(|source| FilesError::Unsigned { path, source })?, note)))
    }

    pub fn unverified_checkpoint(folder: &Path) -> Result<Option<(Checkpoint, Note)>, FilesError> {
        let Some((path, note)) = Self::note(folder)? else { return Ok(None) };
        let checkpoint = note.text().parse().map_err(|source| FilesError::Malformed { path, source })?;
        Ok(Some((checkpoint, note)))
    }

    fn note(folder: &Path) -> Result<Option<(PathBuf, Note)>, FilesError> {
        let path = Self::checkpoint_file(folder);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(FilesError::NotText(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FilesError::Io { path, source }),
        }
        let bytes = fs::read(&path).map_err(|source| FilesError::Io { path: path.clone(), source })?;
        let text = String::from_utf8(bytes).map_err(|_| FilesError::NotText(path.clone()))?;
        let note: Note = text.parse().map_err(|source| FilesError::Malformed { path: path.clone(), source })?;
        Ok(Some((path, note)))
    }

    pub fn keep(&self, checkpoint: &Note) -> io::Result<()> {
        let (path, next) = (Self::checkpoint_file(&self.folder), self.folder.join("checkpoint.next"));
        fs::write(&next, checkpoint.to_string())?;
        fs::rename(next, path)
    }

    pub(crate) fn set_aside(&self) -> io::Result<()> {
        let to = self.folder.join("checkpoint.damaged");
        match fs::symlink_metadata(&to) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&to)?,
            Ok(_) => fs::remove_file(&to)?,
            Err(_) => {}
        }
        fs::rename(Self::checkpoint_file(&self.folder), to)
    }

    pub(crate) fn write(&self, level: Option<u8>, first: u64, hashes: &[Hash]) -> io::Result<()> {
        if hashes.is_empty() {
            return Ok(());
        }
        self.file(level)?.write_all_at(hashes.as_flattened(), first * HASH)
    }

    fn read(&self, level: Option<u8>, first: u64, count: usize) -> io::Result<Vec<Hash>> {
        let mut hashes = vec![Hash::default(); count];
        let end = io::Error::from(io::ErrorKind::UnexpectedEof);
        let at = first.checked_mul(HASH).ok_or(end)?;
        self.file(level)?.read_exact_at(hashes.as_flattened_mut(), at)?;
        Ok(hashes)
    }

    fn file(&self, level: Option<u8>) -> io::Result<&File> {
        let file = self.levels.get(usize::from(level.unwrap_or(0)));
        file.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "the tree cannot have more than 2^40 entries"))
    }

    pub fn entries(&self, first: u64, count: usize) -> io::Result<Vec<Hash>> {
        self.read(None, first, count)
    }

    pub fn tile(&self, tile: Tile) -> io::Result<Vec<u8>> {
        let (first, count) = (tile.first(), usize::from(tile.width));
        match tile.level {
            None => Ok(Tile::bundle(&self.entries(first, count)?)),
            Some(level) => Ok(self.hashes(level, first, count)?.into_flattened()),
        }
    }
}

impl Stored for Files {
    type Error = io::Error;

    fn hashes(&self, level: u8, first: u64, count: usize) -> io::Result<Vec<Hash>> {
        match level {
            0 => Ok(self.entries(first, count)?.iter().map(|entry| leaf(entry)).collect()),
            level => self.read(Some(level), first, count),
        }
    }
}
