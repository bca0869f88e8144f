//! The newest durable commits, decoded, for followers and for reads of a commit just made: bounded by number and bytes.

use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use std::{collections::VecDeque, sync::Arc};

/// Number of commits; older ones are read from the log. More of them leave the processors' caches before their memory is
/// used again.
const COMMITS_MAX: usize = 2_048;
/// Bytes of their records, except a single longer one.
const BYTES_MAX: usize = 32 << 20;

/// The newest commits, contiguous, in order, each with the bytes of its record.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    commits: VecDeque<(usize, Arc<Logged>)>,
    bytes: usize,
}

impl Recent {
    /// Adds the next commits, and drops the oldest past the bounds.
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

    /// Returns at most `max` commits from a position on; `None` if they begin later.
    pub(crate) fn read(&self, from: Position, max: usize) -> Option<Vec<Arc<Logged>>> {
        let (_, first) = self.commits.front()?;
        let skip = from.checked_sub(first.commit.position)?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Some(self.commits.iter().skip(skip).take(max).map(|(_, commit)| Arc::clone(commit)).collect())
    }
}
