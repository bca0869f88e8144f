use super::{Failure, say};
use motherlode_books::HOME;
use motherlode_proto::ledger::v1::FollowLogResponse;
use motherlode_server::Backup;
use std::time::Duration;

pub(super) const FAILURES_MAX: u32 = 10;
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(250);
pub(super) const LAST_WAIT: Duration = Duration::from_secs(8);

pub(super) trait Sink {
    fn partition(&self) -> u32;
    fn held(&self) -> u64;
    async fn take(&mut self, message: FollowLogResponse) -> Result<(), Failure>;
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
        say(&format!("Copied up to log position {}{of}: {} records.\n", self.held(), self.records()))
    }
}

pub(super) fn of(partition: u32) -> String {
    match partition {
        HOME => String::new(),
        partition => format!(" of partition {partition}"),
    }
}
