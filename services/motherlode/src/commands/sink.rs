//! Where `follow` puts the records of a partition: a copy on disk, or a feed to standard output or a subject of NATS.

use super::{Failure, say};
use motherlode_books::HOME;
use motherlode_proto::ledger::v1::FollowLogResponse;
use motherlode_server::Backup;
use std::time::Duration;

/// With --once, failures in a row before the other side is taken to be gone.
pub(super) const FAILURES_MAX: u32 = 10;
/// The first wait before it's tried again; it doubles up to the last.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(250);
pub(super) const LAST_WAIT: Duration = Duration::from_secs(8);

/// Where a partition's records go.
pub(super) trait Sink {
    /// The partition.
    fn partition(&self) -> u32;
    /// The last position that is held, or passed over.
    fn held(&self) -> u64;
    /// Takes a message.
    async fn take(&mut self, message: FollowLogResponse) -> Result<(), Failure>;
    /// Says how far it is.
    fn told(&self) -> Result<(), Failure>;
}

impl Sink for Backup {
    fn partition(&self) -> u32 {
        Self::partition(self)
    }

    fn held(&self) -> u64 {
        Self::held(self)
    }

    async fn take(&mut self, message: FollowLogResponse) -> Result<(), Failure> {
        Ok(Self::take(self, message).map(|_| ())?)
    }

    fn told(&self) -> Result<(), Failure> {
        let of = of(self.partition());
        say(&format!("Held up to log position {}{of}: {} records.\n", self.held(), self.records()))
    }
}

/// Names a partition where there may be several.
pub(super) fn of(partition: u32) -> String {
    match partition {
        HOME => String::new(),
        partition => format!(" of partition {partition}"),
    }
}
