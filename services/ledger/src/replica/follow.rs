use super::link::{Link, archived, status_text};
use crate::{applier::Applier, error::OpenError, standing::Hindrance};
use motherlode_log::ReadError;
use motherlode_proto::log::v1::{FollowRecordsRequest, FollowRecordsResponse};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::time::{Duration, Instant, sleep, timeout};
use tonic::{Code, Status};

const ANSWER_MAX: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Follower {
    pub(super) applier: Applier,
    pub(super) link: Arc<Link>,
    pub(super) end: Arc<AtomicU64>,
    pub(super) ahead_max: Duration,
}

impl Follower {
    pub(super) async fn run(self) {
        let mut ahead_since = None;
        loop {
            let (number, mut client) = self.link.client().await;
            let (partition, after_position) = (self.applier.shared.partition, self.applier.shared.durable());
            let request = FollowRecordsRequest { partition, after_position };
            let following = async {
                let opened = timeout(ANSWER_MAX, client.follow_records(request)).await;
                let records = opened.map_err(|_| Status::unavailable("no answer"))??.into_inner();
                ahead_since = None;
                self.take_all(records).await
            };
            let ended = tokio::select! {
                ended = following => ended,
                () = self.link.gone(number) => Ok(()),
            };
            let status = ended.err().unwrap_or_else(|| Status::unavailable("the writer closed the stream of records"));
            // A former writer that does not know of its replacement may have a shorter log, so the replica only seems
            // to be ahead.
            let ahead = status.code() == Code::OutOfRange;
            let since = ahead.then(|| *ahead_since.get_or_insert_with(Instant::now));
            let is_over = status.code() == Code::DataLoss || archived(&status).is_some();
            if is_over || since.is_some_and(|since| since.elapsed() > self.ahead_max) {
                return self.applier.shared.diverged(&status_text(&status));
            }
            self.link.lost(number, &status_text(&status)).await;
            sleep(PAUSE).await;
        }
    }

    async fn take_all(&self, mut stream: tonic::Streaming<FollowRecordsResponse>) -> Result<(), Status> {
        while let Some(message) = stream.message().await? {
            // Applying records can take long, so the runtime moves its other tasks to another thread.
            let taken = tokio::task::block_in_place(|| self.take(message));
            taken.map_err(|error| match error {
                OpenError::Read(ReadError::Io(error)) => Status::unavailable(error.to_string()),
                error => Status::data_loss(error.to_string()),
            })?;
        }
        Ok(())
    }

    fn take(&self, message: FollowRecordsResponse) -> Result<(), OpenError> {
        let FollowRecordsResponse { first_position, records, stalled } = message;
        // While the writer accepts no commits, proposals are still forwarded, and the writer refuses them.
        match stalled.as_str() {
            "" => self.applier.shared.standings.clear(Hindrance::Store),
            why => self.applier.shared.standings.hinder(Hindrance::Store, why),
        }
        let held = self.applier.shared.durable();
        if records.is_empty() {
            return Ok(());
        }
        if first_position != held + 1 {
            return Err(OpenError::Chain(format!("the writer sent position {first_position} instead of {}", held + 1)));
        }
        self.end.fetch_max(held + records.len() as u64, Ordering::AcqRel);
        self.applier.apply(records.into_iter().map(Into::into))
    }
}
