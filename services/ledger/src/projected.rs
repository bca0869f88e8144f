//! Reads of the index, which lags behind the log or may be unavailable. An answer states its position; later commits
//! are found by walking back from the player's latest one. Without an index the walk is bounded; beyond the bound it
//! fails with `FetchError::Behind`.

use crate::{
    chain::record_hash,
    error::OpenError,
    index::{self, ChainHead, Index, IndexError, Mark, read_mark},
    trails::{Entry, Trails, portion_key},
};
use motherlode_log::{Position, Reader};
use motherlode_state::StreamId;
use parking_lot::RwLock;
use std::{
    cmp::Reverse,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

#[derive(Debug)]
pub(crate) struct Projected {
    state: RwLock<Option<Projection>>,
    to: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) index: Index,
    pub(crate) trails: Trails,
}

impl Projection {
    /// Opens an index that may be missing, stale or damaged; returns the mark confirmed by the log.
    pub(crate) fn open(reader: &dyn Reader, folder: &Path) -> Result<(Self, ChainHead), OpenError> {
        let (index, mark) = open_index(reader, folder)?;
        let trails = Trails::load(&index, mark.position).map_err(unusable(folder))?;
        Ok((Self { index, trails }, mark))
    }
}

#[derive(Debug, Default)]
pub(crate) struct IndexAnswer<T> {
    /// Position up to which the index has the answer; 0 without an index.
    pub(crate) to: Position,
    pub(crate) found: T,
}

impl Projected {
    pub(crate) fn new(projection: Projection) -> Self {
        let to = AtomicU64::new(projection.trails.to);
        Self { state: RwLock::new(Some(projection)), to }
    }

    pub(crate) fn to(&self) -> Position {
        self.to.load(Ordering::Acquire)
    }

    /// Returns `None` without an index.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut Projection) -> T) -> Option<T> {
        let mut state = self.state.write();
        let projection = state.as_mut()?;
        let done = work(projection);
        self.to.store(projection.trails.to, Ordering::Release);
        Some(done)
    }

    pub(crate) fn replace(&self, next: Option<Projection>) -> Option<Projection> {
        if let Some(next) = &next {
            self.to.store(next.trails.to, Ordering::Release);
        }
        std::mem::replace(&mut *self.state.write(), next)
    }

    pub(crate) fn close(&self) {
        if let Some(Projection { index, .. }) = self.replace(None)
            && let Err(error) = index.close()
        {
            tracing::warn!(%error, "failed to close the index");
        }
    }

    fn read<T: Default>(
        &self,
        read: impl FnOnce(&Projection) -> Result<T, IndexError>,
    ) -> Result<IndexAnswer<T>, IndexError> {
        match &*self.state.read() {
            Some(projection) => Ok(IndexAnswer { to: projection.trails.to, found: read(projection)? }),
            None => Ok(IndexAnswer::default()),
        }
    }

    /// Returns the round's commits, from the bet on; empty if the index lacks the round.
    pub(crate) fn round(&self, stream: &StreamId, round: u64) -> Result<IndexAnswer<Vec<Position>>, IndexError> {
        self.read(|Projection { index, trails }| {
            if let Some(at) = trails.round(stream, round) {
                return Ok(at);
            }
            for group in groups(index, &index::key(b'G', &[stream], &[]))? {
                let end = portion_key(&group, round.saturating_add(1));
                let Some(portion) = index.back(&portion_key(&group, 0), &end).next() else { continue };
                if let Some(entry) = decode(&portion?.1)?.into_iter().find(|entry| entry.round == round) {
                    return Ok(entry.at);
                }
            }
            Ok(vec![])
        })
    }

    /// Returns a player's rounds below a number in groups with a prefix (see [`crate::trails::group`]), latest first:
    /// at least the latest `max`, and all open ones.
    pub(crate) fn rounds(
        &self,
        stream: &StreamId,
        within: &[u8],
        below: u64,
        max: usize,
    ) -> Result<IndexAnswer<Vec<Entry>>, IndexError> {
        self.read(|Projection { index, trails }| {
            let pending = trails.pending_of(within).flat_map(|(_, entries)| entries);
            let mut found: Vec<_> = pending.filter(|entry| entry.round < below).cloned().collect();
            found.extend(trails.open_of(stream, within).filter(|entry| entry.round < below));
            for group in groups(index, within)? {
                let mut left = max;
                for portion in index.back(&portion_key(&group, 0), &portion_key(&group, below)) {
                    if left == 0 {
                        break;
                    }
                    let entries = decode(&portion?.1)?;
                    let wanted = entries.into_iter().rev().filter(|entry| entry.round < below).take(left);
                    let before = found.len();
                    found.extend(wanted);
                    left -= found.len() - before;
                }
            }
            found.sort_by_key(|entry| Reverse(entry.round));
            found.dedup_by_key(|entry| entry.round);
            Ok(found)
        })
    }

    /// Returns `None` without an index.
    pub(crate) fn awards_before(
        &self,
        pool: &StreamId,
        operator: Option<&str>,
        before: Position,
        max: usize,
    ) -> Result<Option<Vec<Position>>, IndexError> {
        match &*self.state.read() {
            Some(Projection { index, .. }) => Ok(Some(index.awards_before(pool, operator, before, max)?)),
            None => Ok(None),
        }
    }
}

fn groups(index: &Index, within: &[u8]) -> Result<Vec<Vec<u8>>, IndexError> {
    let mut groups = vec![];
    let mut from = within.to_vec();
    while let Some(key) = index.first_from(&from)?.filter(|key| key.starts_with(within)) {
        let (group, _) = key.split_last_chunk::<8>().ok_or(IndexError::Malformed)?;
        from = portion_key(group, u64::MAX);
        groups.push(group.to_vec());
    }
    Ok(groups)
}

fn decode(portion: &[u8]) -> Result<Vec<Entry>, IndexError> {
    postcard::from_bytes(portion).map_err(|_| IndexError::Malformed)
}

/// Opens the index at the mark confirmed by the log, or rebuilds it.
fn open_index(reader: &dyn Reader, folder: &Path) -> Result<(Index, ChainHead), OpenError> {
    // Read before sled is opened: the mark shows whether acknowledged commits are missing.
    let mark = read_mark(folder);
    if let Ok(Some(head)) = mark.as_ref().map(|mark| mark.head())
        && head.position > reader.end()
    {
        return Err(OpenError::Shortened { end: reader.end(), acknowledged: head.position, by: folder.to_owned() });
    }
    match mark {
        Ok(Mark::At(head)) if record_hash(reader, head.position)? == Some(head.hash) => match Index::open(folder) {
            Ok(index) => match agrees(&index, head, reader)? {
                true => return Ok((index, head)),
                false => {
                    tracing::warn!(
                        head.position,
                        ?folder,
                        "the index's folder `sled` is older than its mark, empty or from another log: it is rebuilt from the log"
                    );
                    index.close().map_err(unusable(folder))?;
                }
            },
            Err(error) => tracing::warn!(%error, "the index cannot be opened: it is rebuilt from the log"),
        },
        Ok(Mark::At(ChainHead { position: 0, .. })) => {
            tracing::info!("the index has no commits: it is rebuilt from the log")
        }
        Ok(Mark::At(head)) => {
            tracing::warn!(
                head.position,
                "the index was built from another log, whose record at this position differs: it is rebuilt"
            );
        }
        Ok(Mark::Old(head)) => {
            tracing::info!(head.position, "the index is of an older version: it is rebuilt from the log");
        }
        Ok(Mark::None) if reader.end() == 0 => tracing::info!("the log is new: an empty index is created"),
        Ok(Mark::None) => tracing::info!(commits = reader.end(), "no index found: it is built from the log"),
        Err(error @ IndexError::DamagedMark { .. }) => {
            tracing::warn!(%error, "no commits are lost: the log has them all");
        }
        Err(error) => return Err(unusable(folder)(error)),
    }
    let anew = Index::delete(folder).and_then(|()| Index::open(folder));
    Ok((anew.map_err(unusable(folder))?, ChainHead::NOTHING))
}

/// Returns whether sled has everything up to the mark `head`, and the log confirms sled's latest mark.
fn agrees(index: &Index, head: ChainHead, reader: &dyn Reader) -> Result<bool, OpenError> {
    let Some(marks) = index.sled_marks().filter(|marks| marks.agree_with(head)) else { return Ok(false) };
    Ok(record_hash(reader, marks.latest.position)? == Some(marks.latest.hash))
}

fn unusable(folder: &Path) -> impl Fn(IndexError) -> OpenError {
    move |source| OpenError::Index { folder: folder.to_owned(), source }
}
