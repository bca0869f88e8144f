use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use std::{collections::VecDeque, sync::Arc};

/// Maximum number of cached commits, which should fit into the processor's caches.
const COMMITS_MAX: usize = 2_048;
const BYTES_MAX: usize = 32 << 20;

#[derive(Debug, Default)]
pub(crate) struct Recent {
    commits: VecDeque<(usize, Arc<Logged>)>,
    bytes: usize,
}

impl Recent {
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

    pub(crate) fn read(&self, from: Position, max: usize) -> Option<Vec<Arc<Logged>>> {
        let (_, first) = self.commits.front()?;
        let skip = from.checked_sub(first.commit.position)?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Some(self.commits.iter().skip(skip).take(max).map(|(_, commit)| Arc::clone(commit)).collect())
    }
}
