use crate::{
    error::ArchiveError,
    manifest::{self, Manifest, manifest_name, with_digest},
    s3,
};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, TryStreamExt as _};
use motherlode_log::{OsDisk, Position};
use motherlode_tiles::Note;
use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, local::LocalFileSystem, path::Path,
};
use std::{fmt, future::Future, sync::Arc, time::Duration};

const TRANSFER_MAX: Duration = Duration::from_secs(600);
const ROOT: &str = "archive";
const ROOT_TITLE: &str = "motherlode archive v1";
const ROOT_BYTES_MAX: u64 = 1 << 20;
const NOTE_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, Clone)]
pub struct Archive {
    objects: Arc<dyn ObjectStore>,
    root: Path,
    place: String,
}

impl fmt::Display for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl Archive {
    /// Opens the archive at `place`, which is a folder or `s3://bucket/prefix`.
    pub fn open(place: &str) -> Result<Self, ArchiveError> {
        let unusable = |reason: String| unusable(place, reason);
        let (objects, root) = match place.split_once("://") {
            None => {
                let folder = LocalFileSystem::new_with_prefix(place).map_err(|error| unusable(error.to_string()))?;
                (Arc::new(folder.with_fsync(true)) as Arc<dyn ObjectStore>, "")
            }
            Some(("s3", rest)) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                (s3::open(bucket).map_err(unusable)?, prefix)
            }
            Some(_) => return Err(unusable(PLACES.to_owned())),
        };
        let root = Path::parse(root).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { objects, root, place: place.to_owned() })
    }

    pub fn check(place: &str) -> Result<(), ArchiveError> {
        match place.split_once("://") {
            None | Some(("s3", _)) => Ok(()),
            Some(_) => Err(unusable(place, PLACES.to_owned())),
        }
    }

    pub fn create(place: &str) -> Result<Self, ArchiveError> {
        if !place.contains("://") {
            let made = motherlode_log::Disk::create_dir(&OsDisk, place.as_ref());
            made.map_err(|error| unusable(place, error.to_string()))?;
        }
        Self::open(place)
    }

    #[must_use]
    pub fn with_store(objects: Arc<dyn ObjectStore>, place: &str) -> Self {
        Self { objects, root: Path::default(), place: place.to_owned() }
    }

    /// Returns each partition's last archived position, as of the latest upload that archived all partitions. If
    /// records up to these positions refer to records of other partitions, those records are archived too.
    pub async fn ends(&self) -> Result<Option<Vec<Position>>, ArchiveError> {
        let Some(bytes) = self.get(ROOT, ROOT_BYTES_MAX).await? else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        let ends = text.lines().filter_map(|line| line.strip_prefix("end ")?.parse().ok()).collect::<Vec<_>>();
        match !ends.is_empty() && root_text(&ends) == text {
            true => Ok(Some(ends)),
            false => Err(self.damaged(ROOT, "the object does not list the last position of each partition")),
        }
    }

    pub async fn check_partitions(&self, found: usize) -> Result<(), ArchiveError> {
        match self.ends().await?.map(|ends| ends.len()) {
            Some(archived) if archived != found => {
                Err(ArchiveError::Partitions { place: self.place.clone(), archived, found })
            }
            _ => Ok(()),
        }
    }

    pub async fn complete(&self, ends: &[Position]) -> Result<(), ArchiveError> {
        self.put(ROOT, root_text(ends).into(), PutMode::Overwrite).await.map(drop)
    }

    pub(crate) async fn manifest(&self, partition: u32, first: Position) -> Result<Option<Manifest>, ArchiveError> {
        let manifest = self.read_manifest(partition, &manifest_name(first)).await?;
        let misplaced = manifest.as_ref().is_some_and(|manifest| manifest.first != first);
        if misplaced {
            Err(self.damaged(
                &object(partition, &manifest_name(first)),
                "the manifest's first position differs from the position in the manifest's name",
            ))
        } else {
            Ok(manifest)
        }
    }

    pub(crate) async fn tail(&self, partition: u32) -> Result<Option<Manifest>, ArchiveError> {
        self.read_manifest(partition, TAIL).await
    }

    async fn read_manifest(&self, partition: u32, name: &str) -> Result<Option<Manifest>, ArchiveError> {
        let name = object(partition, name);
        let Some(bytes) = self.get(&name, manifest::BYTES_MAX).await? else { return Ok(None) };
        let manifest =
            std::str::from_utf8(&bytes).map_err(|_| "the manifest is not UTF-8 text").and_then(str::parse::<Manifest>);
        let manifest = manifest.map_err(|reason| self.damaged(&name, reason))?;
        match manifest.partition == partition {
            true => Ok(Some(manifest)),
            false => Err(self
                .damaged(&name, "the partition in the manifest differs from the partition of the manifest's folder")),
        }
    }

    pub(crate) async fn last_full(&self, partition: u32) -> Result<Option<Manifest>, ArchiveError> {
        match self.last_full_to(partition, Position::MAX).await? {
            Some(first) => self.manifest(partition, first).await,
            None => Ok(None),
        }
    }

    /// Returns the first position of the last full segment that starts at or before `to`.
    pub(crate) async fn last_full_to(&self, partition: u32, to: Position) -> Result<Option<Position>, ArchiveError> {
        let folder = self.path(&object(partition, "manifests"));
        let mut listed = self.objects.list(Some(&folder));
        let mut last = None;
        while let Some(found) = listed.next().await {
            let found = found.map_err(|source| self.failed(source))?;
            let first = found.location.filename().and_then(|name| name.parse::<Position>().ok());
            last = last.max(first.filter(|first| *first <= to));
        }
        Ok(last)
    }

    pub(crate) async fn firsts_after(
        &self,
        partition: u32,
        after: Position,
        max: usize,
    ) -> Result<Vec<Position>, ArchiveError> {
        let folder = self.path(&object(partition, "manifests"));
        let offset = self.path(&object(partition, &manifest_name(after)));
        let listed = self.objects.list_with_offset(Some(&folder), &offset).take(max);
        let first = listed
            .try_filter_map(async |found| Ok(found.location.filename().and_then(|name| name.parse::<Position>().ok())));
        first.try_collect().await.map_err(|source| self.failed(source))
    }

    pub(crate) async fn checkpoint(&self, partition: u32) -> Result<Option<Note>, ArchiveError> {
        let name = object(partition, CHECKPOINT);
        let Some(bytes) = self.get(&name, NOTE_BYTES_MAX).await? else { return Ok(None) };
        let note = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
        note.map(Some).ok_or_else(|| self.damaged(&name, "the checkpoint is not a signed note"))
    }

    pub(crate) async fn get(&self, name: &str, bytes_max: u64) -> Result<Option<Bytes>, ArchiveError> {
        let read = async {
            let found = self.objects.get(&self.path(name)).await?;
            let size = usize::try_from(found.meta.size.min(bytes_max)).unwrap_or_default();
            let (mut parts, mut bytes) = (found.into_stream(), BytesMut::with_capacity(size));
            while let Some(part) = parts.try_next().await? {
                bytes.extend_from_slice(&part);
                if bytes.len() as u64 > bytes_max {
                    return Ok(None);
                }
            }
            Ok(Some(bytes.freeze()))
        };
        match self.within(name, read).await? {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => Err(self.damaged(name, &format!("the object has more than {bytes_max} bytes"))),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Writes an object and reads it back. With [`PutMode::Create`], returns false if the object already exists.
    pub(crate) async fn put(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<bool, ArchiveError> {
        let (path, options) = (self.path(name), PutOptions::from(mode));
        match self.within(name, self.objects.put_opts(&path, bytes.clone().into(), options)).await? {
            Ok(_) => {}
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => return Ok(false),
            Err(source) => return Err(self.failed(source)),
        }
        match self.get(name, bytes.len() as u64).await? {
            Some(read) if read == bytes => Ok(true),
            _ => Err(ArchiveError::Altered { place: self.place.clone(), object: name.to_owned() }),
        }
    }

    pub(crate) async fn has(&self, name: &str) -> Result<bool, ArchiveError> {
        match self.within(name, self.objects.head(&self.path(name))).await? {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(source) => Err(self.failed(source)),
        }
    }

    pub(crate) async fn remove(&self, name: &str) -> Result<(), ArchiveError> {
        match self.within(name, self.objects.delete(&self.path(name))).await? {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(source) => Err(self.failed(source)),
        }
    }

    async fn within<T>(&self, name: &str, work: impl Future<Output = T>) -> Result<T, ArchiveError> {
        let seconds = TRANSFER_MAX.as_secs();
        let slow = |_| ArchiveError::Slow { place: self.place.clone(), object: name.to_owned(), seconds };
        tokio::time::timeout(TRANSFER_MAX, work).await.map_err(slow)
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }

    fn failed(&self, source: StoreError) -> ArchiveError {
        ArchiveError::Store { place: self.place.clone(), source }
    }

    pub(crate) fn damaged(&self, object: &str, reason: &str) -> ArchiveError {
        ArchiveError::Damaged { place: self.place.clone(), object: object.to_owned(), reason: reason.to_owned() }
    }
}

pub(crate) const TAIL: &str = "tail";
pub(crate) const CHECKPOINT: &str = "checkpoint";

pub(crate) fn object(partition: u32, name: &str) -> String {
    format!("{partition}/{name}")
}

const PLACES: &str = "an archive must be a folder or s3://bucket/prefix";

fn unusable(place: &str, reason: String) -> ArchiveError {
    ArchiveError::Place { place: place.to_owned(), reason }
}

fn root_text(ends: &[Position]) -> String {
    let ends: String = ends.iter().map(|end| format!("end {end}\n")).collect();
    with_digest(format!("{ROOT_TITLE}\n{ends}"))
}
