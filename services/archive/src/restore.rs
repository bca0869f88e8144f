use crate::{
    error::ArchiveError,
    manifest::Manifest,
    objects::{Archive, CHECKPOINT, object},
    upload::SEGMENT_BYTES_MAX,
};
use bytes::Bytes;
use motherlode_log::{Hash, Position, Record, Store, Unsealer, genesis, hash};
use motherlode_tiles::{Checkpoint, Note, Tree, VerifierKey};
use sha2::{Digest as _, Sha256};
use std::sync::atomic::{AtomicU64, Ordering};

const READ_RECORDS: usize = 4096;
const READ_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub before: Position,
    pub end: Position,
    pub head: Hash,
    pub verified: Position,
    pub segments: u64,
    /// Archived checkpoint, whose root matches the records; `None` if no checkpoint was archived.
    pub signed: Option<Checkpoint>,
}

/// Verifies the whole archive of a partition, and appends to `target` the records up to `upto` that `target` lacks. `target`
/// must be empty or a prefix of the archived log. If `key` is given, the archived checkpoint must be signed with `key`.
/// `done` counts verified records.
pub async fn restore<'a>(
    archive: &'a Archive,
    partition: u32,
    target: Option<&'a mut (dyn Store + 'a)>,
    upto: Position,
    key: Option<&VerifierKey>,
    done: &'a AtomicU64,
) -> Result<Restored, ArchiveError> {
    let mut keep = move |record: &Record| record.position <= upto;
    let restored = restore_while(archive, partition, target, &mut keep, key, done).await?;
    match upto != Position::MAX && restored.end < upto {
        true => Err(archive.damaged(&object(partition, "manifests"), "the newest segments are missing")),
        false => Ok(restored),
    }
}

/// Works like [`restore`], but appends only the records before the first record for which `keep` returns false. `keep`
/// receives all records of the archive in order, once each.
pub async fn restore_while<'a, 'k>(
    archive: &'a Archive,
    partition: u32,
    target: Option<&'a mut (dyn Store + 'a)>,
    keep: &'k mut (dyn FnMut(&Record) -> bool + 'k),
    key: Option<&VerifierKey>,
    done: &'a AtomicU64,
) -> Result<Restored, ArchiveError> {
    let signed = checkpoint(archive, partition, key).await?.map(|(checkpoint, _)| checkpoint);
    let before = target.as_ref().map_or(0, |target| target.end());
    let (tree, head) = (Tree::default(), genesis(partition));
    let (is_cut, end) = (false, (0, head));
    let mut walk = Walk { archive, partition, target, keep, is_cut, signed, before, tree, head, end, done };
    walk.compare()?;
    let mut segments = 0;
    while let Some(manifest) = next(archive, partition, walk.tree.size() + 1).await? {
        walk.segment(&manifest).await?;
        segments += 1;
    }
    walk.end(segments)
}

/// Returns the archived checkpoint. After a restore to an earlier position, the checkpoint's origin (name of the log)
/// ends with the random number of the restore.
pub async fn checkpoint(
    archive: &Archive,
    partition: u32,
    key: Option<&VerifierKey>,
) -> Result<Option<(Checkpoint, Note)>, ArchiveError> {
    let Some(note) = archive.checkpoint(partition).await? else {
        let missing = || ArchiveError::Missing { place: archive.to_string(), object: object(partition, CHECKPOINT) };
        return if key.is_some() { Err(missing()) } else { Ok(None) };
    };
    let signature = |source| ArchiveError::Signature { partition, source };
    let checkpoint = match key {
        Some(key) => Checkpoint::open_restored(&note, key).map_err(signature)?,
        None => note.text().parse().map_err(|malformed: motherlode_tiles::Malformed| signature(malformed.into()))?,
    };
    Ok(Some((checkpoint, note)))
}

async fn next(archive: &Archive, partition: u32, first: Position) -> Result<Option<Manifest>, ArchiveError> {
    match archive.manifest(partition, first).await? {
        Some(full) => Ok(Some(full)),
        None => Ok(archive.tail(partition).await?.filter(|tail| tail.first == first)),
    }
}

pub(crate) async fn segment_bytes(archive: &Archive, manifest: &Manifest) -> Result<Bytes, ArchiveError> {
    let bytes = download(archive, manifest).await?;
    check_bytes(archive, manifest, &bytes)?;
    Ok(bytes)
}

pub(crate) async fn download(archive: &Archive, manifest: &Manifest) -> Result<Bytes, ArchiveError> {
    let name = object(manifest.partition, &manifest.segment());
    let bytes = archive.get(&name, manifest.bytes.min(2 * SEGMENT_BYTES_MAX)).await?;
    bytes.ok_or_else(|| ArchiveError::Missing { place: archive.to_string(), object: name })
}

pub(crate) fn check_bytes(archive: &Archive, manifest: &Manifest, bytes: &[u8]) -> Result<(), ArchiveError> {
    if Sha256::digest(bytes)[..] == manifest.sha256 {
        return Ok(());
    }
    let name = object(manifest.partition, &manifest.segment());
    Err(archive.damaged(&name, "the SHA-256 of the segment's bytes differs from the SHA-256 in the manifest"))
}

struct Walk<'a, 'k> {
    archive: &'a Archive,
    partition: u32,
    target: Option<&'a mut (dyn Store + 'a)>,
    keep: &'k mut (dyn FnMut(&Record) -> bool + 'k),
    is_cut: bool,
    signed: Option<Checkpoint>,
    before: Position,
    tree: Tree,
    head: Hash,
    end: (Position, Hash),
    done: &'a AtomicU64,
}

impl Walk<'_, '_> {
    async fn segment(&mut self, manifest: &Manifest) -> Result<(), ArchiveError> {
        if manifest.last <= self.before {
            self.read_target(manifest)?;
        } else {
            self.download(manifest).await?;
        }
        let found = (self.tree.size(), &self.head, &self.tree);
        match found == (manifest.last, &manifest.head, &manifest.tree) {
            true => Ok(()),
            false if manifest.last <= self.before => Err(self.other_log()),
            false => Err(self.damaged(manifest, "the segment's records do not match the manifest")),
        }
    }

    async fn download(&mut self, manifest: &Manifest) -> Result<(), ArchiveError> {
        let bytes = segment_bytes(self.archive, manifest).await?;
        let blocks = Unsealer::new(bytes, self.partition, self.tree.size() + 1, self.head);
        for block in blocks.map_err(|damage| self.damaged(manifest, &damage.to_string()))? {
            let block = block.map_err(|damage| self.damaged(manifest, &damage.to_string()))?;
            let kept = self.pass(&block)?;
            self.append(&block, kept)?;
        }
        Ok(())
    }

    fn append(&mut self, block: &[Record], kept: usize) -> Result<(), ArchiveError> {
        let Some(target) = &mut self.target else { return Ok(()) };
        let common = block.iter().find(|record| record.position == self.before);
        if common.is_some_and(|common| hash(&common.bytes) != target.head()) {
            return Err(self.other_log());
        }
        let lacking = block.iter().take(kept).filter(|record| record.position > self.before);
        let records: Vec<Bytes> = lacking.map(|record| record.bytes.clone()).collect();
        if !records.is_empty() {
            target.append(target.end(), &records)?;
        }
        Ok(())
    }

    fn read_target(&mut self, manifest: &Manifest) -> Result<(), ArchiveError> {
        let Some(reader) = self.target.as_ref().map(|target| target.reader()) else { return Ok(()) };
        while self.tree.size() < manifest.last {
            let left = usize::try_from(manifest.last - self.tree.size()).unwrap_or(usize::MAX);
            let records = reader.read(self.tree.size() + 1, left.min(READ_RECORDS), READ_BYTES)?;
            if records.is_empty() {
                return Err(self.other_log());
            }
            self.pass(&records)?;
        }
        Ok(())
    }

    /// Verifies records. Returns how many leading records to append: those before the first that `keep` rejects.
    fn pass(&mut self, records: &[Record]) -> Result<usize, ArchiveError> {
        let mut kept = 0;
        for record in records {
            self.head = hash(&record.bytes);
            self.tree.append(&self.head, |_, _| {});
            self.compare()?;
            self.is_cut |= !(self.keep)(record);
            if !self.is_cut {
                self.end = (record.position, self.head);
                kept += 1;
            }
        }
        self.done.fetch_add(records.len() as u64, Ordering::Relaxed);
        Ok(kept)
    }

    fn compare(&self) -> Result<(), ArchiveError> {
        let reached = self.signed.as_ref().filter(|checkpoint| checkpoint.size == self.tree.size());
        match reached.filter(|checkpoint| checkpoint.root != self.tree.root()) {
            None => Ok(()),
            Some(Checkpoint { origin, size, .. }) => {
                Err(ArchiveError::Unsigned { partition: self.partition, size: *size, origin: origin.clone() })
            }
        }
    }

    fn end(self, segments: u64) -> Result<Restored, ArchiveError> {
        let (partition, verified, (end, head)) = (self.partition, self.tree.size(), self.end);
        if let Some(size) = self.signed.as_ref().map(|signed| signed.size).filter(|size| *size > verified) {
            return Err(ArchiveError::Missed { partition, end: verified, size });
        }
        if self.before > end {
            return Err(self.other_log());
        }
        Ok(Restored { before: self.before, end, head, verified, segments, signed: self.signed })
    }

    fn other_log(&self) -> ArchiveError {
        let position = self.tree.size() + 1;
        ArchiveError::OtherLog { place: self.archive.to_string(), partition: self.partition, position }
    }

    fn damaged(&self, manifest: &Manifest, reason: &str) -> ArchiveError {
        self.archive.damaged(&object(self.partition, &manifest.segment()), reason)
    }
}
