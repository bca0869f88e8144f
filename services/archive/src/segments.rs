//! Verified segments in memory, for reads of single records.

use crate::{
    error::ArchiveError,
    manifest::{Manifest, manifest_name},
    objects::{Archive, object},
    restore::{check_bytes, download},
    slots::Slots,
};
use bytes::Bytes;
use motherlode_log::{Hash, Position, Record, Unsealer, genesis, hash};
use motherlode_runtime::apart;
use motherlode_tiles::Tree;
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Time limit of a download, which continues after its caller has stopped waiting.
const DOWNLOAD_MAX: Duration = Duration::from_secs(60);
const SEGMENTS_MAX: usize = 1 << 20;
const RECORD_BYTES: u64 = size_of::<Bytes>() as u64;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum bytes of all segments in memory or in transfer.
    pub bytes_max: u64,
    pub downloads_max: usize,
    pub downloads_per_operator_max: usize,
    pub wait_max: Duration,
}

impl Limits {
    #[must_use]
    pub fn with_bytes(bytes_max: u64) -> Self {
        Self { bytes_max, downloads_max: 4, downloads_per_operator_max: 2, wait_max: Duration::from_secs(10) }
    }
}

#[derive(Debug)]
pub struct Segment {
    first: Position,
    records: Vec<Bytes>,
    _room: OwnedSemaphorePermit,
}

impl Segment {
    #[must_use]
    pub fn last(&self) -> Position {
        self.first + self.records.len() as Position - 1
    }

    #[must_use]
    pub fn record(&self, position: Position) -> Option<&Bytes> {
        self.records.get(usize::try_from(position.checked_sub(self.first)?).ok()?)
    }
}

#[derive(Debug, Clone)]
pub struct Segments(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    place: String,
    limits: Limits,
    slots: Slots,
    /// Unused part of `Limits::bytes_max`, one permit per KiB.
    room: Arc<Semaphore>,
    listing: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

type Key = (u32, Position);

#[derive(Debug, Default)]
struct State {
    archive: Option<Archive>,
    firsts: BTreeMap<u32, Vec<Position>>,
    cached: BTreeMap<Key, (u64, Arc<Segment>)>,
    uses: u64,
    loading: BTreeMap<Key, Arc<tokio::sync::Mutex<()>>>,
}

impl Segments {
    /// The archive is opened by the first read.
    #[must_use]
    pub fn new(place: String, limits: Limits) -> Self {
        Self::with(place, None, limits)
    }

    #[must_use]
    pub fn of_archive(archive: Archive, limits: Limits) -> Self {
        Self::with(archive.to_string(), Some(archive), limits)
    }

    fn with(place: String, archive: Option<Archive>, limits: Limits) -> Self {
        let kib = usize::try_from(limits.bytes_max >> 10).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let slots = Slots::new(limits.downloads_max, limits.downloads_per_operator_max);
        let room = Arc::new(Semaphore::new(kib));
        let state = Mutex::new(State { archive, ..State::default() });
        Self(Arc::new(Shared { place, limits, slots, room, listing: tokio::sync::Mutex::default(), state }))
    }

    pub async fn segment(
        &self,
        partition: u32,
        position: Position,
        operator: &str,
    ) -> Result<Arc<Segment>, ArchiveError> {
        let (shared, wait_max) = (&self.0, self.0.limits.wait_max);
        let object = || format!("the segment with position {position} of partition {partition}");
        let found = async {
            if let Some(cached) = shared.cached(partition, position) {
                return Ok(cached);
            }
            let slot = shared.slots.take(operator).await.map_err(|error| shared.unusable(error))?;
            let (of, object) = (Arc::clone(shared), object());
            let download = async move {
                let loaded = tokio::time::timeout(DOWNLOAD_MAX, of.load(partition, position)).await;
                drop(slot);
                loaded.unwrap_or_else(|_| Err(of.slow(object, DOWNLOAD_MAX)))
            };
            tokio::spawn(download).await.unwrap_or_else(|error| Err(shared.unusable(error)))
        };
        tokio::time::timeout(wait_max, found).await.unwrap_or_else(|_| Err(shared.slow(object(), wait_max)))
    }
}

impl Shared {
    fn cached(&self, partition: u32, position: Position) -> Option<Arc<Segment>> {
        let state = &mut *self.state.lock();
        let (_, (used, segment)) = state.cached.range_mut((partition, 0)..=(partition, position)).next_back()?;
        if segment.last() < position {
            return None;
        }
        state.uses += 1;
        *used = state.uses;
        Some(Arc::clone(segment))
    }

    async fn load(&self, partition: u32, position: Position) -> Result<Arc<Segment>, ArchiveError> {
        let archive = self.archive().await?;
        let (first, before) = self.first(&archive, partition, position).await?;
        let key = (partition, first);
        let turn = {
            let loading = &mut self.state.lock().loading;
            loading.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(loading.entry(key).or_default())
        };
        let _turn = turn.lock().await;
        if let Some(cached) = self.cached(partition, position) {
            return Ok(cached);
        }
        let segment = Arc::new(self.download(archive.clone(), key, before).await?);
        let mut state = self.state.lock();
        state.uses += 1;
        let uses = state.uses;
        state.cached.insert(key, (uses, Arc::clone(&segment)));
        match segment.last() < position {
            true => Err(missing(&archive, partition, position)),
            false => Ok(segment),
        }
    }

    async fn archive(&self) -> Result<Archive, ArchiveError> {
        if let Some(archive) = &self.state.lock().archive {
            return Ok(archive.clone());
        }
        let place = self.place.clone();
        let opened = apart("archive", move || Archive::open(&place)).await.map_err(|error| self.unusable(error))??;
        Ok(self.state.lock().archive.insert(opened).clone())
    }

    /// Returns the first position of the segment that contains `position`, and that of the segment before it.
    async fn first(
        &self,
        archive: &Archive,
        partition: u32,
        position: Position,
    ) -> Result<(Position, Option<Position>), ArchiveError> {
        let known = |is_complete: bool| {
            let state = self.state.lock();
            let firsts = state.firsts.get(&partition).map(Vec::as_slice).unwrap_or_default();
            let next = firsts.partition_point(|first| *first <= position);
            // The last known segment may end before `position`, so it is used only after all segments have been listed.
            let at = next.checked_sub(1).filter(|_| is_complete || next < firsts.len())?;
            Some((firsts[at], at.checked_sub(1).map(|before| firsts[before])))
        };
        if let Some(known) = known(false) {
            return Ok(known);
        }
        let _turn = self.listing.lock().await;
        if let Some(known) = known(false) {
            return Ok(known);
        }
        let last = self.state.lock().firsts.get(&partition).and_then(|firsts| firsts.last().copied());
        let mut found = archive.firsts_after(partition, last.unwrap_or_default(), SEGMENTS_MAX).await?;
        found.sort_unstable();
        self.state.lock().firsts.entry(partition).or_default().append(&mut found);
        known(true).ok_or_else(|| missing(archive, partition, position))
    }

    async fn download(
        &self,
        archive: Archive,
        (partition, first): Key,
        before: Option<Position>,
    ) -> Result<Segment, ArchiveError> {
        let read = async |first| {
            let manifest = archive.manifest(partition, first).await?;
            manifest.ok_or_else(|| missing(&archive, partition, first))
        };
        let manifest = read(first).await?;
        let (end, head, tree) = match before {
            Some(before) => {
                let Manifest { last, head, tree, .. } = read(before).await?;
                (last, head, tree)
            }
            None => (0, genesis(partition), Tree::default()),
        };
        if (end + 1, head) != (first, manifest.previous) {
            let name = object(partition, &manifest_name(first));
            return Err(archive.damaged(&name, "the segment does not continue the segment before it"));
        }
        let room = self.room(manifest.bytes.saturating_add((manifest.last - end).saturating_mul(RECORD_BYTES)))?;
        let bytes = download(&archive, &manifest).await?;
        let verified = apart("archive", move || verified(&archive, &manifest, bytes, tree)).await;
        let records = verified.map_err(|error| self.unusable(error))??;
        Ok(Segment { first, records, _room: room })
    }

    fn room(&self, bytes: u64) -> Result<OwnedSemaphorePermit, ArchiveError> {
        let refused = || ArchiveError::Memory { place: self.place.clone(), bytes, bytes_max: self.limits.bytes_max };
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).map_err(|_| refused())?;
        if bytes > self.limits.bytes_max {
            return Err(refused());
        }
        loop {
            if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(kib) {
                return Ok(room);
            }
            let cached = &mut self.state.lock().cached;
            let oldest = cached.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key);
            cached.remove(&oldest.ok_or_else(refused)?);
        }
    }

    fn slow(&self, object: String, wait: Duration) -> ArchiveError {
        ArchiveError::Slow { place: self.place.clone(), object, seconds: wait.as_secs() }
    }

    fn unusable(&self, error: impl ToString) -> ArchiveError {
        ArchiveError::Place { place: self.place.clone(), reason: error.to_string() }
    }
}

fn missing(archive: &Archive, partition: u32, position: Position) -> ArchiveError {
    let object = format!("the segment that contains position {position} of partition {partition}");
    ArchiveError::Missing { place: archive.to_string(), object }
}

fn verified(archive: &Archive, manifest: &Manifest, bytes: Bytes, mut tree: Tree) -> Result<Vec<Bytes>, ArchiveError> {
    let partition = manifest.partition;
    let damaged = |reason: &str| archive.damaged(&object(partition, &manifest.segment()), reason);
    check_bytes(archive, manifest, &bytes)?;
    let blocks = Unsealer::new(bytes, partition, manifest.first, manifest.previous);
    let (mut records, mut head): (Vec<Bytes>, Hash) = (vec![], manifest.previous);
    for block in blocks.map_err(|damage| damaged(&damage.to_string()))? {
        for Record { bytes, .. } in block.map_err(|damage| damaged(&damage.to_string()))? {
            head = hash(&bytes);
            tree.append(&head, |_, _| {});
            records.push(bytes);
        }
    }
    match (tree.size(), &head, &tree) == (manifest.last, &manifest.head, &manifest.tree) {
        true => Ok(records),
        false => Err(damaged("the segment's records do not match the manifest")),
    }
}
