use crate::{
    error::ArchiveError,
    manifest::{Manifest, manifest_name},
    objects::{Archive, CHECKPOINT, TAIL, object},
};
use motherlode_log::{Hash, Position, Record, Sealed, Sealer, genesis};
use motherlode_tiles::{Checkpoint, Note, Tree};
use object_store::PutMode;
use sha2::{Digest as _, Sha256};
use std::{mem, time::Duration};

/// Maximum of [`Options::segment_bytes`]. A segment file can exceed it by up to one block.
pub(crate) const SEGMENT_BYTES_MAX: u64 = 512 << 20;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Size at which a segment is full: 4 KiB to 512 MiB.
    pub segment_bytes: u64,
    pub bytes_per_second: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, bytes_per_second: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archived {
    pub before: Position,
    pub end: Position,
    pub head: Hash,
    pub signed: Option<Position>,
}

pub struct Upload<'a> {
    archive: &'a Archive,
    partition: u32,
    options: Options,
    full: Option<Manifest>,
    tail: Option<Manifest>,
    signed: Option<(Checkpoint, Note)>,
    compared: bool,
    sealer: Sealer,
    tree: Tree,
    before: Position,
    seen: (Position, Hash),
}

impl<'a> Upload<'a> {
    /// Begins an upload that continues after the archive's full segments. `signed` is the log's newest checkpoint. The
    /// upload compares the checkpoint's root with the records, and archives the checkpoint after the records.
    pub async fn begin(
        archive: &'a Archive,
        partition: u32,
        options: Options,
        signed: Option<(Checkpoint, Note)>,
    ) -> Result<Self, ArchiveError> {
        let full = archive.last_full(partition).await?;
        let (end, head, tree) = match &full {
            Some(full) => (full.last, full.head, full.tree.clone()),
            None => (0, genesis(partition), Tree::default()),
        };
        let tail = match (archive.tail(partition).await?, &full) {
            (Some(tail), Some(full)) if tail.first <= full.last => {
                remove_tail(archive, &tail, full).await?;
                None
            }
            (tail, _) => tail,
        };
        if let Some(tail) = tail.as_ref().filter(|tail| (tail.first, tail.previous) != (end + 1, head)) {
            let reason =
                format!("the tail segment begins at position {}, but the full segments end at {end}", tail.first);
            return Err(archive.damaged(&object(partition, TAIL), &reason));
        }
        let segment_bytes = options.segment_bytes.clamp(4 << 10, SEGMENT_BYTES_MAX);
        let mut upload = Self {
            archive,
            partition,
            options: Options { segment_bytes, ..options },
            full,
            tail,
            signed,
            compared: false,
            sealer: Sealer::new(partition, end, head),
            tree,
            before: 0,
            seen: (0, head),
        };
        (upload.before, upload.seen) = (upload.end(), upload.after());
        upload.compare()?;
        Ok(upload)
    }

    /// Returns the position after which the caller must start to read the log, and the hash of the record at this position.
    /// The last archived segment is read again to check that the archive belongs to this log.
    #[must_use]
    pub fn after(&self) -> (Position, Hash) {
        let segment = self.tail.as_ref().or(self.full.as_ref());
        segment.map_or((0, genesis(self.partition)), |segment| (segment.first - 1, segment.previous))
    }

    fn archived(&self) -> (Position, Hash) {
        let segment = self.tail.as_ref().or(self.full.as_ref());
        segment.map_or((0, genesis(self.partition)), |segment| (segment.last, segment.head))
    }

    pub async fn take(&mut self, record: Record) -> Result<(), ArchiveError> {
        let Record { position, bytes } = record;
        let hash = motherlode_log::hash(&bytes);
        let (before, previous) = self.seen;
        let (archived, head) = self.archived();
        let chains = position == before + 1 && motherlode_log::previous_hash(&bytes) == Some(previous);
        if !chains || (position == archived && hash != head) {
            return Err(self.other_log(position));
        }
        if position > self.tree.size() {
            // The new segment replaces the archive's partial last segment, so it must not end before that segment does.
            let full = !self.sealer.is_empty() && self.sealer.bytes_with(&bytes) > self.options.segment_bytes;
            if full && position > archived {
                self.end_full().await?;
            }
            self.sealer.push(bytes)?;
            self.tree.append(&hash, |_, _| {});
            self.compare()?;
        }
        self.seen = (position, hash);
        Ok(())
    }

    fn other_log(&self, position: Position) -> ArchiveError {
        ArchiveError::OtherLog { place: self.archive.to_string(), partition: self.partition, position }
    }

    fn compare(&mut self) -> Result<(), ArchiveError> {
        let Some((Checkpoint { origin, size, root }, _)) = &self.signed else { return Ok(()) };
        if *size != self.tree.size() {
            return Ok(());
        }
        self.compared = true;
        match *root == self.tree.root() {
            true => Ok(()),
            false => Err(ArchiveError::Unsigned { partition: self.partition, size: *size, origin: origin.clone() }),
        }
    }

    #[must_use]
    pub fn end(&self) -> Position {
        self.archived().0
    }

    pub async fn finish(mut self) -> Result<Archived, ArchiveError> {
        let ((end, head), archived) = (self.seen, self.end());
        if end < archived {
            return Err(ArchiveError::Shorter { partition: self.partition, end, archived });
        }
        self.end_tail().await?;
        let signed = self.put_checkpoint().await?;
        Ok(Archived { before: self.before, end, head, signed })
    }

    async fn end_full(&mut self) -> Result<(), ArchiveError> {
        let Some((manifest, sealed)) = self.seal() else { return Ok(()) };
        self.send(&manifest, sealed).await?;
        let name = object(self.partition, &manifest_name(manifest.first));
        if !self.archive.put(&name, manifest.to_string().into(), PutMode::Create).await?
            && self.archive.manifest(self.partition, manifest.first).await?.as_ref() != Some(&manifest)
        {
            return Err(ArchiveError::Raced { place: self.archive.to_string(), object: name });
        }
        if let Some(tail) = self.tail.take() {
            remove_tail(self.archive, &tail, &manifest).await?;
        }
        self.full = Some(manifest);
        Ok(())
    }

    async fn end_tail(&mut self) -> Result<(), ArchiveError> {
        let Some((manifest, sealed)) = self.seal() else { return Ok(()) };
        let segment = object(self.partition, &manifest.segment());
        if self.tail.as_ref() == Some(&manifest) && self.archive.has(&segment).await? {
            return Ok(());
        }
        self.send(&manifest, sealed).await?;
        let name = object(self.partition, TAIL);
        self.archive.put(&name, manifest.to_string().into(), PutMode::Overwrite).await?;
        match self.tail.replace(manifest).map(|old| object(self.partition, &old.segment())) {
            Some(old) if old != segment => self.archive.remove(&old).await,
            _ => Ok(()),
        }
    }

    fn seal(&mut self) -> Option<(Manifest, Sealed)> {
        let (end, head) = self.seen;
        let sealed = mem::replace(&mut self.sealer, Sealer::new(self.partition, end, head)).finish()?;
        let Sealed { first, last, previous, head, .. } = sealed;
        let (bytes, sha256) = (sealed.bytes.len() as u64, Sha256::digest(&sealed.bytes).into());
        let tree = self.tree.clone();
        Some((Manifest { partition: self.partition, first, last, previous, head, bytes, sha256, tree }, sealed))
    }

    async fn send(&self, manifest: &Manifest, sealed: Sealed) -> Result<(), ArchiveError> {
        let name = object(self.partition, &manifest.segment());
        self.archive.put(&name, sealed.bytes, PutMode::Overwrite).await?;
        if let Some(rate) = self.options.bytes_per_second {
            tokio::time::sleep(Duration::from_millis(manifest.bytes.saturating_mul(1_000) / rate.max(1))).await;
        }
        Ok(())
    }

    async fn put_checkpoint(&self) -> Result<Option<Position>, ArchiveError> {
        let archived = self.archive.checkpoint(self.partition).await?;
        let archived = archived.and_then(|note| note.text().parse::<Checkpoint>().ok()).map(|archived| archived.size);
        match &self.signed {
            Some((checkpoint, note)) if self.compared && archived < Some(checkpoint.size) => {
                let name = object(self.partition, CHECKPOINT);
                self.archive.put(&name, note.to_string().into(), PutMode::Overwrite).await?;
                Ok(Some(checkpoint.size))
            }
            _ => Ok(archived),
        }
    }
}

async fn remove_tail(archive: &Archive, tail: &Manifest, full: &Manifest) -> Result<(), ArchiveError> {
    if tail.segment() != full.segment() {
        archive.remove(&object(tail.partition, &tail.segment())).await?;
    }
    archive.remove(&object(tail.partition, TAIL)).await
}
