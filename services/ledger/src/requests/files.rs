//! The folder of the runs: how runs are made of what is in memory, of the log, and of each other.
//!
//! A file has its name only when it's whole and synced, and the log up to its end is durable. What has another name, or is not
//! of this log, is removed: the log has all that it had.

use super::{
    name::{Key, Name},
    run::{Range, Run, RunError, write},
    stretch::Stretch,
};
use crate::{chain::record_hash, error::OpenError};
use motherlode_log::{Hash, Position, Reader};
use motherlode_proto::convert::record;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The folder of a partition's runs, and the log that they are of.
pub(super) struct Files {
    pub(super) folder: PathBuf,
    pub(super) partition: u32,
    pub(super) key: Key,
    pub(super) reader: Arc<dyn Reader>,
    /// A run whose filter is longer is read without.
    pub(super) filter_bytes_max: u64,
    /// Set when the ledger closes: what takes long is broken off.
    pub(super) stop: AtomicBool,
}

impl Files {
    /// Writes a run of the names of consecutive commits. It has no name yet.
    pub(super) fn seal(&self, stretch: &Stretch) -> Result<Run, RunError> {
        let range = self.range(stretch.from, stretch.to())?;
        self.write(&range, stretch.sorted().into_iter().map(Ok))
    }

    /// Writes one run with all that adjacent ones have. It has no name yet.
    pub(super) fn merge(&self, runs: &[Arc<Run>]) -> Result<Run, RunError> {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Err(RunError::Damaged) };
        let range = Range { to: last.range.to, last: last.range.last, ..first.range.clone() };
        let mut heads: Vec<_> = runs.iter().map(|run| run.entries().peekable()).collect();
        let merged = std::iter::from_fn(|| {
            // An error has no key, which is the least: it comes at once.
            let keyed = heads.iter_mut().filter_map(|head| {
                let key = head.peek()?.as_ref().ok().copied();
                Some((key, head))
            });
            keyed.min_by_key(|(key, _)| *key).and_then(|(_, head)| head.next())
        });
        self.write(&range, merged)
    }

    fn write(
        &self,
        range: &Range,
        entries: impl Iterator<Item = Result<(Name, Position), RunError>>,
    ) -> Result<Run, RunError> {
        fs::create_dir_all(&self.folder)?;
        let unnamed = self.unnamed(range);
        let unless_stopped = entries.map(|entry| match self.stop.load(Ordering::Relaxed) {
            true => Err(RunError::Stopped),
            false => entry,
        });
        let written = write(&unnamed, range, unless_stopped);
        // What was written is read back before anything rests on it.
        let read = written.and_then(|()| Run::open(&unnamed, self.partition, self.filter_bytes_max));
        if read.is_err() {
            // The log needs the room, if that is what was missing.
            let _ = fs::remove_file(&unnamed);
        }
        read
    }

    /// Gives runs their names, durably.
    pub(super) fn give_names<'a>(&self, ranges: impl IntoIterator<Item = &'a Range>) -> io::Result<()> {
        for range in ranges {
            match fs::rename(self.unnamed(range), self.named(range)) {
                // An earlier try got so far.
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.named(range).exists() => {}
                renamed => renamed?,
            }
        }
        File::open(&self.folder)?.sync_all()
    }

    /// Removes the file of a run that others have replaced. One that stays is removed by the next start.
    pub(super) fn remove(&self, range: &Range) {
        if let Err(error) = fs::remove_file(self.named(range)) {
            tracing::debug!(%error, "a run of requests that others have replaced is not removed");
        }
    }

    fn range(&self, from: Position, to: Position) -> Result<Range, RunError> {
        let (first, last) = (self.hash(from + 1)?, self.hash(to)?);
        Ok(Range { key: self.key, partition: self.partition, from, to, first, last })
    }

    fn hash(&self, position: Position) -> Result<Hash, OpenError> {
        record_hash(&*self.reader, position)?.ok_or_else(|| OpenError::Chain(format!("it has no record {position}")))
    }

    fn unnamed(&self, range: &Range) -> PathBuf {
        self.named(range).with_extension("new")
    }

    pub(super) fn named(&self, range: &Range) -> PathBuf {
        self.folder.join(range.file_name())
    }

    /// The names of commits after a position up to another, as the log has them.
    pub(super) fn read_log(
        &self,
        from: Position,
        to: Position,
        mut each: impl FnMut(Name) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        const BYTES: usize = 4 << 20;
        let mut next = from + 1;
        while next <= to {
            if self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Stopped);
            }
            let most = usize::try_from(to - next + 1).unwrap_or(usize::MAX).max(2);
            let records = self.reader.read(next, most, BYTES).map_err(OpenError::Read)?;
            if records.is_empty() {
                return Err(OpenError::Chain(format!("it has no record {next}")).into());
            }
            for stored in records.iter().filter(|stored| stored.position <= to) {
                let position = stored.position;
                let request =
                    record::request(&stored.bytes).map_err(|source| OpenError::Malformed { position, source })?;
                each(self.key.name(&request.0, &request.1))?;
                next = position + 1;
            }
        }
        Ok(())
    }
}

/// The files that may be runs; what was not finished is removed.
pub(super) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut runs = vec![];
    for entry in entries {
        let path = entry?.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("run") => runs.push(path),
            Some("new") => fs::remove_file(path)?,
            _ => {}
        }
    }
    Ok(runs)
}
