//! A partition's tree as it grows with the log.

use crate::files::{Files, FilesError};
use motherlode_ledger::Handle;
use motherlode_log::{Position, ReadError, genesis, hash, previous_hash};
use motherlode_tiles::{Checkpoint, Hash, Note, Stored as _, Tree, VerifierKey};
use std::{io, path::Path, sync::Arc};

/// Records, and bytes of them, read at once.
const RECORDS: usize = 4096;
const BYTES: usize = 1 << 20;
/// Entries that are looked at together when the files are checked.
const TOGETHER: usize = 4096;

/// The log is not the one that was signed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("partition {partition}, position {position}: {what}")]
pub struct Contradiction {
    /// The partition.
    pub partition: u32,
    /// Up to where the log was signed, or where it stops being the one that was.
    pub position: Position,
    /// How it shows.
    pub what: String,
}

/// Why a tree does not grow.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrowError {
    /// Its files can't be read or written: it's tried again.
    #[error("the tree's files: {0}")]
    Files(#[from] io::Error),
    /// The log can't be read: it's tried again.
    #[error("the log: {0}")]
    Log(#[from] ReadError),
    /// It must not.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
}

/// Whether the files of a tree agree with themselves up to a size: each hash is that of the entries beneath. Asked to stop, it
/// says so of as much as it has looked at.
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

/// A tree and its files.
pub(crate) struct Growing {
    partition: u32,
    tree: Tree,
    /// The hash of the last record in it, which the next one must name.
    head: Hash,
    pub(crate) files: Arc<Files>,
    /// The last signed checkpoint, while a tree that is made anew has not come to its size.
    expected: Option<Checkpoint>,
}

impl Growing {
    /// The tree in a folder, with the last checkpoint that was signed. What is damaged is made anew as it grows; then there is no
    /// checkpoint before it has come to where it was.
    pub(crate) fn open(
        folder: &Path,
        ledger: &Handle,
        key: &VerifierKey,
    ) -> Result<(Self, Option<(Checkpoint, Note)>), GrowError> {
        let partition = ledger.partition();
        let files = Arc::new(Files::open(folder)?);
        let signed = match Files::checkpoint(folder, key) {
            Ok(signed) => signed,
            Err(FilesError::Io { source, .. }) => return Err(source.into()),
            Err(error) => {
                tracing::error!(partition, %error, "the last checkpoint is damaged: it is renamed, and the tree is rebuilt from the log");
                files.set_aside()?;
                None
            }
        };
        let anew = Self { partition, tree: Tree::default(), head: genesis(partition), files, expected: None };
        let Some((checkpoint, note)) = signed else { return Ok((anew, None)) };
        let contradiction = |what: String| Contradiction { partition, position: checkpoint.size, what };
        let (size, end) = (checkpoint.size, ledger.durable());
        if size > end {
            return Err(contradiction(format!("a checkpoint was signed up to here, but the log ends at {end}")).into());
        }
        let Ok(tree) = Tree::read(&*anew.files, size) else { return Ok((anew.expecting(checkpoint), None)) };
        if tree.root() != checkpoint.root {
            return Ok((anew.expecting(checkpoint), None));
        }
        if size == 0 {
            return Ok((anew, Some((checkpoint, note))));
        }
        // One record is enough: by the chain it stands for all before it.
        let head = anew.files.entries(size - 1, 1)?.first().copied().unwrap_or_default();
        let found = ledger.records(size, 1, BYTES)?.first().map(|record| hash(&record.bytes));
        match found == Some(head) {
            true => Ok((Self { tree, head, ..anew }, Some((checkpoint, note)))),
            false if anew.is_within(&tree, head) => {
                Err(contradiction("the record is not the one that was signed".into()).into())
            }
            // The entry itself is damaged.
            false => Ok((anew.expecting(checkpoint), None)),
        }
    }

    /// Whether an entry is the last one of a tree, by the tree's own root.
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
        tracing::warn!(
            partition,
            position,
            "the tree's files are not those of its last checkpoint: they are made anew"
        );
        Self { expected: Some(checkpoint), ..self }
    }

    /// Begins anew, up to a checkpoint that was signed already.
    pub(crate) fn begin_anew(&mut self, expected: Option<Checkpoint>) {
        (self.tree, self.head, self.expected) = (Tree::default(), genesis(self.partition), expected);
    }

    pub(crate) fn size(&self) -> Position {
        self.tree.size()
    }

    /// The hash of the last record in it.
    pub(crate) fn head(&self) -> &Hash {
        &self.head
    }

    /// Whether it has come to where it was signed before.
    pub(crate) fn is_whole(&self) -> bool {
        self.expected.is_none()
    }

    /// The checkpoint of what it is now.
    pub(crate) fn checkpoint(&self, origin: &str) -> Checkpoint {
        Checkpoint { origin: origin.to_owned(), size: self.tree.size(), root: self.tree.root() }
    }

    /// Takes up some of the next records, up to a position; false where there are none.
    pub(crate) fn grow(&mut self, ledger: &Handle, to: Position) -> Result<bool, GrowError> {
        let size = self.tree.size();
        // No further than to the next place where something is known.
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
            return Err(self.contradiction(expected.size, "the log up to here is not the one that was signed"));
        }
        Ok(true)
    }

    /// The hashes of the next records, where the ledger has them in memory and they follow the last one.
    fn written(&self, ledger: &Handle, count: usize) -> Option<Vec<Hash>> {
        let mut hashes = ledger.hashes(self.tree.size(), count + 1)?;
        (hashes.len() > 1 && hashes.remove(0) == self.head).then_some(hashes)
    }

    /// The hashes of the next records, as the log has them.
    fn read(&self, ledger: &Handle, count: usize) -> Result<Vec<Hash>, GrowError> {
        let first = self.tree.size() + 1;
        let records = ledger.records(first, count, BYTES)?;
        let Some(last) = records.last() else { return Ok(vec![]) };
        // Each record names the hash of the one before it: only the last has to be hashed.
        let named: Option<Vec<Hash>> = records.iter().map(|record| previous_hash(&record.bytes)).collect();
        let mut entries = named.ok_or_else(|| self.contradiction(first, "a record names none before it"))?;
        if entries.remove(0) != self.head {
            return Err(self.contradiction(first, "the record does not continue what was taken up"));
        }
        entries.push(hash(&last.bytes));
        Ok(entries)
    }

    fn contradiction(&self, position: Position, what: &str) -> GrowError {
        Contradiction { partition: self.partition, position, what: what.into() }.into()
    }
}
