//! Cache of the newest durable commits, decoded, for followers and for reads of new commits. Bounded by number and
//! bytes.

use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use std::{collections::VecDeque, sync::Arc};

/// Maximum number of commits. More would exceed the processor's caches before their memory is reused.
const COMMITS_MAX: usize = 2_048;
/// Maximum bytes of their records, except a single longer one.
const BYTES_MAX: usize = 32 << 20;

/// Newest commits, contiguous and in order, with the sizes of their records.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    commits: VecDeque<(usize, Arc<Logged>)>,
    bytes: usize,
}

impl Recent {
    /// Appends the next commits and drops the oldest beyond the bounds.
    pub(crate) fn push(&mut self, commits: impl Iterator<Item = (usize, Arc<Logged>)>) {
        for (bytes, commit) in commits {
            self.bytes += bytes;
            self.commits.push_back((bytes, commit));
            while self.commits.len() > COMMITS_MAX || (self.bytes > BYTES_MAX && self.commits.len() > 1) {
                let dropped = self.commits.pop_front();
                self.bytes -= dropped.map_or(0, |(bytes, _)| bytes);
            }
        }
    }

    /// Returns at most `max` commits from a position on; `None` if the cache begins later.
    pub(crate) fn read(&self, from: Position, max: usize) -> Option<Vec<Arc<Logged>>> {
        let (_, first) = self.commits.front()?;
        let skip = from.checked_sub(first.commit.position)?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Some(self.commits.iter().skip(skip).take(max).map(|(_, commit)| Arc::clone(commit)).collect())
    }
}
