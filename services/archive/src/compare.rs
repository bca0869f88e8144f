use crate::{
    error::ArchiveError,
    manifest::{Manifest, manifest_name},
    objects::{Archive, object},
    restore::segment_bytes,
};
use motherlode_log::{Position, Reader, Record, Unsealer};
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the position from which the next upload reads the log: the start of the last archived segment, or 1.
pub async fn needed_from(archive: &Archive, partition: u32) -> Result<Position, ArchiveError> {
    let last = match archive.tail(partition).await? {
        Some(tail) => Some(tail),
        None => archive.last_full(partition).await?,
    };
    Ok(last.map_or(1, |last| last.first))
}

/// Downloads the full segments that contain the log's first records, up to the record before `upto`, and compares each
/// archived record with the record in the log.
pub async fn compare(
    archive: &Archive,
    partition: u32,
    log: &dyn Reader,
    upto: Position,
    done: &AtomicU64,
) -> Result<(), ArchiveError> {
    let mut next = log.first();
    let mut before: Option<Manifest> = None;
    while next < upto {
        let place = archive.last_full_to(partition, next).await?.unwrap_or(1);
        let missing = |first| ArchiveError::Missing {
            place: archive.to_string(),
            object: object(partition, &manifest_name(first)),
        };
        let manifest = archive.manifest(partition, place).await?.filter(|manifest| manifest.last >= next);
        let manifest = manifest.ok_or_else(|| missing(next))?;
        if before.is_some_and(|before| (before.last + 1, before.head) != (manifest.first, manifest.previous)) {
            let name = object(partition, &manifest_name(manifest.first));
            return Err(archive.damaged(&name, "the segment does not continue the segment before it"));
        }
        segment(archive, &manifest, log, upto, done).await?;
        next = manifest.last + 1;
        before = Some(manifest);
    }
    Ok(())
}

async fn segment(
    archive: &Archive,
    manifest: &Manifest,
    log: &dyn Reader,
    upto: Position,
    done: &AtomicU64,
) -> Result<(), ArchiveError> {
    let partition = manifest.partition;
    let damaged = |reason: &str| archive.damaged(&object(partition, &manifest.segment()), reason);
    let bytes = segment_bytes(archive, manifest).await?;
    let mut blocks = Unsealer::new(bytes, partition, manifest.first, manifest.previous)
        .map_err(|damage| damaged(&damage.to_string()))?;
    for block in blocks.by_ref() {
        let block = block.map_err(|damage| damaged(&damage.to_string()))?;
        let wanted: Vec<_> =
            block.into_iter().filter(|record| (log.first()..upto).contains(&record.position)).collect();
        differing(&wanted, log)?.map_or(Ok(()), |position| {
            Err(ArchiveError::OtherLog { place: archive.to_string(), partition, position })
        })?;
        done.fetch_add(wanted.len() as u64, Ordering::Relaxed);
    }
    match blocks.verified() == (manifest.last, manifest.head) {
        true => Ok(()),
        false => Err(damaged("the segment's records do not match the manifest")),
    }
}

fn differing(archived: &[Record], log: &dyn Reader) -> Result<Option<Position>, ArchiveError> {
    let mut rest = archived;
    while let Some(first) = rest.first().map(|first| first.position) {
        let read = log.read(first, rest.len(), usize::MAX)?;
        let same = read.iter().zip(rest).take_while(|(found, archived)| found == archived).count();
        if same == 0 || same < read.len() {
            return Ok(Some(first + same as u64));
        }
        rest = &rest[same..];
    }
    Ok(None)
}
