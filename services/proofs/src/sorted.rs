//! Index from a record's hash to its position: the tree's entries, sorted in runs of 65,536, in a derived file that
//! each start rebuilds.
//!
//! Hashes are evenly distributed, so a search reads one short stretch per run; entries after the last complete run are
//! searched one by one. Cost: 10 bytes of disk per record; a search reads 15 KB per run, about a millisecond in ten
//! million records.

use crate::files::Files;
use motherlode_tiles::Hash;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

const RUN: u64 = 1 << 16;
/// Bytes of an item: the first 8 bytes of the hash, and its place in the run.
const ITEM: usize = 10;
/// Number of items read around the expected place: six standard deviations.
const AROUND: usize = 768;
const TOGETHER: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Sorted {
    file: File,
    runs: AtomicU64,
}

impl Sorted {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join("sorted"))?;
        Ok(Self { file, runs: AtomicU64::new(0) })
    }

    pub(crate) fn grow(&self, files: &Files, size: u64, stop: impl Fn() -> bool) -> io::Result<()> {
        let mut run = self.runs.load(Ordering::Acquire);
        while run < size / RUN && !stop() {
            let mut items = Vec::with_capacity(1 << 16);
            for (place, entry) in (0..=u16::MAX).zip(files.entries(run * RUN, 1 << 16)?) {
                items.push((prefix(&entry), place));
            }
            items.sort_unstable();
            let bytes: Vec<u8> = items
                .iter()
                .flat_map(|(prefix, place)| prefix.to_be_bytes().into_iter().chain(place.to_be_bytes()))
                .collect();
            self.file.write_all_at(&bytes, run * RUN * ITEM as u64)?;
            // The sync is not for durability: many dirty pages would delay the log's own syncs.
            self.file.sync_data()?;
            run += 1;
            self.runs.store(run, Ordering::Release);
        }
        Ok(())
    }

    pub(crate) fn begin_anew(&self) {
        self.runs.store(0, Ordering::Release);
    }

    pub(crate) fn find(&self, files: &Files, hash: &Hash, size: u64) -> io::Result<Option<u64>> {
        let runs = self.runs.load(Ordering::Acquire).min(size / RUN);
        if let Some(index) = Self::look_through(files, hash, runs * RUN, size)? {
            return Ok(Some(index));
        }
        for run in (0..runs).rev() {
            for place in self.places(run, prefix(hash))? {
                let index = run * RUN + u64::from(place);
                if files.entries(index, 1)?.first() == Some(hash) {
                    return Ok(Some(index));
                }
            }
        }
        Ok(None)
    }

    pub(crate) fn look_through(files: &Files, hash: &Hash, from: u64, to: u64) -> io::Result<Option<u64>> {
        let mut end = to;
        while end > from {
            let first = end.saturating_sub(TOGETHER).max(from);
            let entries = files.entries(first, usize::try_from(end - first).unwrap_or_default())?;
            if let Some(place) = entries.iter().rposition(|entry| entry == hash) {
                return Ok(Some(first + place as u64));
            }
            end = first;
        }
        Ok(None)
    }

    fn places(&self, run: u64, prefix: u64) -> io::Result<Vec<u16>> {
        let expected = usize::try_from(prefix >> 48).unwrap_or_default();
        let (first, end) = (expected.saturating_sub(AROUND), (expected + AROUND).min(1 << 16));
        let near = self.items(run, first, end)?;
        let below = first == 0 || near.first().is_some_and(|item| item.0 < prefix);
        let above = end == 1 << 16 || near.last().is_some_and(|item| item.0 > prefix);
        let items = if below && above { near } else { self.items(run, 0, 1 << 16)? };
        let from = items.partition_point(|item| item.0 < prefix);
        Ok(items[from..].iter().take_while(|item| item.0 == prefix).map(|item| item.1).collect())
    }

    fn items(&self, run: u64, first: usize, end: usize) -> io::Result<Vec<(u64, u16)>> {
        let mut bytes = vec![0; (end - first) * ITEM];
        self.file.read_exact_at(&mut bytes, run * RUN * ITEM as u64 + (first * ITEM) as u64)?;
        let item = |bytes: &[u8; ITEM]| {
            let [a, b, c, d, e, f, g, h, i, j] = *bytes;
            (u64::from_be_bytes([a, b, c, d, e, f, g, h]), u16::from_be_bytes([i, j]))
        };
        Ok(bytes.as_chunks().0.iter().map(item).collect())
    }
}

fn prefix(hash: &Hash) -> u64 {
    hash.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    fn entry(index: u64) -> Hash {
        Sha256::digest(index.to_be_bytes()).into()
    }

    fn files(size: u64) -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(folder.path()).unwrap();
        let entries: Vec<_> = (0..size).map(entry).collect();
        files.write(None, 0, &entries).unwrap();
        (folder, files)
    }

    #[test]
    fn pl_30_a_record_is_found_by_its_hash_in_whole_runs_and_behind_them() {
        let size = 2 * RUN + 5_000;
        let (folder, files) = files(size);
        let sorted = Sorted::open(folder.path()).unwrap();
        let found = |index| sorted.find(&files, &entry(index), size).unwrap();
        assert_eq!(found(70_000), Some(70_000), "before anything is sorted");
        sorted.grow(&files, size, || false).unwrap();
        for index in [0, 1, RUN - 1, RUN, 70_000, 2 * RUN, size - 1] {
            assert_eq!(found(index), Some(index));
        }
        assert_eq!(found(size), None);
        assert_eq!(
            sorted.find(&files, &entry(70_000), 70_000).unwrap(),
            None,
            "what the tree has not signed is not there"
        );
    }

    #[test]
    fn pl_30_hashes_that_are_not_evenly_spread_are_found() {
        let (folder, files) = files(RUN);
        let odd: Vec<_> = (0..RUN)
            .map(|index| {
                let mut hash = entry(index);
                hash[..7].fill(0xFF);
                hash
            })
            .collect();
        files.write(None, 0, &odd).unwrap();
        let sorted = Sorted::open(folder.path()).unwrap();
        sorted.grow(&files, RUN, || false).unwrap();
        for index in [0_u64, 40_000, RUN - 1] {
            let hash = odd[usize::try_from(index).unwrap()];
            assert_eq!(sorted.find(&files, &hash, RUN).unwrap(), Some(index));
        }
    }

    #[test]
    fn pl_30_runs_are_made_again_at_the_start_whatever_the_file_has() {
        let (folder, files) = files(RUN);
        std::fs::write(folder.path().join("sorted"), vec![0; 700_000]).unwrap();
        let sorted = Sorted::open(folder.path()).unwrap();
        sorted.grow(&files, RUN, || false).unwrap();
        assert_eq!(sorted.find(&files, &entry(12_345), RUN).unwrap(), Some(12_345));
        sorted.begin_anew();
        sorted.grow(&files, RUN, || true).unwrap();
        assert_eq!(sorted.find(&files, &entry(12_345), RUN).unwrap(), Some(12_345), "without a run, entry by entry");
    }
}
