use crate::files::{Files, FilesError};
use motherlode_ledger::Handle;
use motherlode_log::{Position, ReadError, genesis, hash, previous_hash};
use motherlode_tiles::{Checkpoint, Hash, Note, NoteError, Stored as _, Tree, VerifierKey};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

const RECORDS: usize = 4096;
const BYTES: usize = 1 << 20;
const TOGETHER: usize = 4096;

#[derive(Debug, Clone, thiserror::Error)]
#[error("partition {partition}, position {position}: {what}")]
pub struct Contradiction {
    pub partition: u32,
    /// Position to which `what` refers.
    pub position: Position,
    pub what: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GrowError {
    #[error("cannot read or write the files of the Merkle tree: {0}")]
    Files(#[from] io::Error),
    #[error("cannot read the log's records for the Merkle tree: {0}")]
    Log(#[from] ReadError),
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    #[error("the checkpoint {} was not signed with the key of this process", .0.display())]
    OtherKey(PathBuf),
}

pub(crate) fn is_sound(files: &Files, size: Position, stop: impl Fn() -> bool) -> bool {
    let (mut tree, mut counts) = (Tree::default(), [0_u64; 256]);
    while tree.size() < size && !stop() {
        let count = usize::try_from(size - tree.size()).unwrap_or(usize::MAX).min(TOGETHER);
        let Ok(entries) = files.entries(tree.size(), count) else { return false };
        for entry in entries {
            let mut sound = true;
            tree.append(&entry, |level, hash| {
                let count = &mut counts[usize::from(level)];
                if level > 0 {
                    sound &= files.hashes(level, *count, 1).is_ok_and(|stored| stored == [hash]);
                }
                *count += 1;
            });
            if !sound {
                return false;
            }
        }
    }
    true
}

pub(crate) struct Growing {
    partition: u32,
    tree: Tree,
    head: Hash,
    pub(crate) files: Arc<Files>,
    expected: Option<Checkpoint>,
}

impl Growing {
    /// Opens the tree. If the tree's files are damaged, they are rebuilt, and no checkpoint is returned until the tree
    /// reaches its signed size again. A checkpoint signed with another key is an error unless `accept_new_key` is set.
    pub(crate) fn open(
        folder: &Path,
        ledger: &Handle,
        key: &VerifierKey,
        accept_new_key: bool,
    ) -> Result<(Self, Option<(Checkpoint, Note)>), GrowError> {
        let partition = ledger.partition();
        let files = Arc::new(Files::open(folder)?);
        let signed = match Files::checkpoint(folder, key) {
            Ok(signed) => signed,
            Err(FilesError::Io { source, .. }) => return Err(source.into()),
            Err(FilesError::Unsigned { path, source: NoteError::Unsigned }) if !accept_new_key => {
                return Err(GrowError::OtherKey(path));
            }
            Err(error) => {
                tracing::error!(partition, %error, "the last checkpoint is damaged: renaming it and rebuilding the tree from the log");
                files.set_aside()?;
                None
            }
        };
        let anew = Self { partition, tree: Tree::default(), head: genesis(partition), files, expected: None };
        let Some((checkpoint, note)) = signed else { return Ok((anew, None)) };
        let contradiction = |what: String| Contradiction { partition, position: checkpoint.size, what };
        let (size, end) = (checkpoint.size, ledger.durable());
        if size > end {
            return Err(contradiction(format!(
                "a checkpoint up to this position was signed, but the log ends at position {end}"
            ))
            .into());
        }
        let Ok(tree) = Tree::read(&*anew.files, size) else { return Ok((anew.expecting(checkpoint), None)) };
        if tree.root() != checkpoint.root {
            return Ok((anew.expecting(checkpoint), None));
        }
        if size == 0 {
            return Ok((anew, Some((checkpoint, note))));
        }
        // Only the checkpoint's last record is compared with the log, because its hash covers all earlier records.
        let head = anew.files.entries(size - 1, 1)?.first().copied().unwrap_or_default();
        let found = ledger.records(size, 1, BYTES)?.first().map(|record| hash(&record.bytes));
        match found == Some(head) {
            true => Ok((Self { tree, head, ..anew }, Some((checkpoint, note)))),
            false if anew.is_within(&tree, head) => {
                Err(contradiction("the record in the log differs from the signed record".into()).into())
            }
            false => Ok((anew.expecting(checkpoint), None)),
        }
    }

    fn is_within(&self, tree: &Tree, entry: Hash) -> bool {
        let mut before = match Tree::read(&*self.files, tree.size() - 1) {
            Ok(before) => before,
            Err(_) => return false,
        };
        before.append(&entry, |_, _| {});
        before.root() == tree.root()
    }

    fn expecting(self, checkpoint: Checkpoint) -> Self {
        let (partition, position) = (self.partition, checkpoint.size);
        tracing::warn!(partition, position, "the tree's files do not match the last checkpoint: rebuilding them");
        Self { expected: Some(checkpoint), ..self }
    }

    pub(crate) fn begin_anew(&mut self, expected: Option<Checkpoint>) {
        (self.tree, self.head, self.expected) = (Tree::default(), genesis(self.partition), expected);
    }

    pub(crate) fn size(&self) -> Position {
        self.tree.size()
    }

    pub(crate) fn head(&self) -> &Hash {
        &self.head
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.expected.is_none()
    }

    pub(crate) fn checkpoint(&self, origin: &str) -> Checkpoint {
        Checkpoint { origin: origin.to_owned(), size: self.tree.size(), root: self.tree.root() }
    }

    /// Returns false if no records remain to be added.
    pub(crate) fn grow(&mut self, ledger: &Handle, to: Position) -> Result<bool, GrowError> {
        let size = self.tree.size();
        // The tree first grows only to the signed size, where its root is compared with the checkpoint.
        let to = self.expected.as_ref().map_or(to, |expected| to.min(expected.size));
        let left = usize::try_from(to.saturating_sub(size)).unwrap_or(usize::MAX).min(RECORDS);
        if left == 0 {
            return Ok(false);
        }
        let entries = match self.written(ledger, left) {
            Some(entries) => entries,
            None => self.read(ledger, left)?,
        };
        let Some(&head) = entries.last() else { return Ok(false) };
        let mut tree = self.tree.clone();
        let mut levels: [Vec<Hash>; 8] = Default::default();
        for entry in &entries {
            tree.append(entry, |level, hash| {
                if let Some(hashes) = levels.get_mut(usize::from(level)) {
                    hashes.push(hash);
                }
            });
        }
        self.files.write(None, size, &entries)?;
        for (level, hashes) in (1_u8..).zip(&levels[1..]) {
            self.files.write(Some(level), size >> (8 * u32::from(level)), hashes)?;
        }
        (self.tree, self.head) = (tree, head);
        if let Some(expected) = self.expected.take_if(|expected| expected.size == self.tree.size())
            && expected.root != self.tree.root()
        {
            return Err(
                self.contradiction(expected.size, "the log up to this position differs from the log that was signed")
            );
        }
        Ok(true)
    }

    fn written(&self, ledger: &Handle, count: usize) -> Option<Vec<Hash>> {
        let mut hashes = ledger.hashes(self.tree.size(), count + 1)?;
        (hashes.len() > 1 && hashes.remove(0) == self.head).then_some(hashes)
    }

    fn read(&self, ledger: &Handle, count: usize) -> Result<Vec<Hash>, GrowError> {
        let first = self.tree.size() + 1;
        let records = ledger.records(first, count, BYTES)?;
        let Some(last) = records.last() else { return Ok(vec![]) };
        let named: Option<Vec<Hash>> = records.iter().map(|record| previous_hash(&record.bytes)).collect();
        let mut entries = named.ok_or_else(|| {
            self.contradiction(
                first,
                "a record at or after this position does not contain the hash of the previous record",
            )
        })?;
        if entries.remove(0) != self.head {
            return Err(self.contradiction(first, "the record does not contain the hash of the previous record"));
        }
        entries.push(hash(&last.bytes));
        Ok(entries)
    }

    fn contradiction(&self, position: Position, what: &str) -> GrowError {
        Contradiction { partition: self.partition, position, what: what.into() }.into()
    }
}
