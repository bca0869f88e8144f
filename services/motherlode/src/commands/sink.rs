use super::{Failure, say};
use motherlode_proto::ledger::v1::FollowLogResponse;
use motherlode_server::Backup;
use motherlode_state::HOME;
use std::time::Duration;

pub(super) const FAILURES_MAX: u32 = 10;
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(250);
pub(super) const LAST_WAIT: Duration = Duration::from_secs(8);

pub(super) trait Sink {
    fn partition(&self) -> u32;
    fn position(&self) -> u64;
    async fn take(&mut self, message: FollowLogResponse) -> Result<(), Failure>;
    fn report(&self) -> Result<(), Failure>;
}

impl Sink for Backup {
    fn partition(&self) -> u32 {
        Self::partition(self)
    }

    fn position(&self) -> u64 {
        Self::position(self)
    }

    async fn take(&mut self, message: FollowLogResponse) -> Result<(), Failure> {
        Ok(Self::take(self, message).map(|_| ())?)
    }

    fn report(&self) -> Result<(), Failure> {
        let of = partition_suffix(self.partition());
        say(&format!("Copied up to log position {}{of}: {} records.\n", self.position(), self.records()))
    }
}

pub(super) fn partition_suffix(partition: u32) -> String {
    match partition {
        HOME => String::new(),
        partition => format!(" of partition {partition}"),
    }
}
