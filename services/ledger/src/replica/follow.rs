//! Following the log: what becomes durable is verified, folded and made visible, as the writer's own commits are where the
//! log is.

use super::{
    doubt,
    link::{Link, said},
};
use crate::{
    OpenError,
    index::Held,
    open::{follow, recall},
    shared::{Projection, Shared},
};
use motherlode_books::{Refused, Stage};
use motherlode_log::Record;
use motherlode_proto::{
    convert::record,
    log::v1::{FollowRecordsRequest, FollowRecordsResponse},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
    mpsc::SyncSender,
};
use tokio::time::{Duration, sleep};
use tonic::{Code, Status};

/// Before a stream that has ended is asked for again.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Follower {
    pub(super) shared: Arc<Shared>,
    pub(super) link: Arc<Link>,
    /// How far the log is known to be durable.
    pub(super) end: Arc<AtomicU64>,
    pub(super) projector: SyncSender<Projection>,
}

impl Follower {
    /// Follows for as long as it's polled, or until what comes is no continuation.
    pub(super) async fn run(self) {
        loop {
            let (number, mut client) = self.link.client().await;
            let (partition, after_position) = (self.shared.partition, self.shared.durable());
            let request = FollowRecordsRequest { partition, after_position };
            let ended = match client.follow_records(request).await {
                Ok(stream) => tokio::select! {
                    ended = self.take_all(stream.into_inner()) => ended,
                    () = self.link.gone(number) => Ok(()),
                },
                Err(status) => Err(status),
            };
            let status = ended.err().unwrap_or_else(|| Status::unavailable("the stream has ended"));
            if matches!(status.code(), Code::OutOfRange | Code::DataLoss) {
                return doubt(&self.shared, &said(&status));
            }
            self.link.lost(number, &said(&status)).await;
            sleep(PAUSE).await;
        }
    }

    /// Takes up what a stream brings, to its end.
    async fn take_all(&self, mut stream: tonic::Streaming<FollowRecordsResponse>) -> Result<(), Status> {
        while let Some(message) = stream.message().await? {
            // Folding, and waiting for the projector, are no task for a thread that others need.
            let taken = tokio::task::block_in_place(|| self.take(message));
            taken.map_err(|error| Status::data_loss(error.to_string()))?;
        }
        Ok(())
    }

    /// Takes up records that continue what is held.
    fn take(&self, message: FollowRecordsResponse) -> Result<(), OpenError> {
        let Held { position, hash } = *self.shared.head.borrow();
        if message.records.is_empty() {
            return Ok(());
        }
        if message.first_position != position + 1 {
            let (found, expected) = (message.first_position, position + 1);
            return Err(OpenError::Chain(format!("position {found} where {expected} comes next")));
        }
        let records = message.records.into_iter().zip(position + 1..);
        let records: Vec<_> = records.map(|(bytes, position)| Record { position, bytes: bytes.into() }).collect();
        let held = Held { position: position + records.len() as u64, hash: follow(hash, &records)? };
        self.end.fetch_max(held.position, Ordering::AcqRel);
        let (mut stage, mut logged, mut names) = (Stage::new(), vec![], vec![]);
        for Record { position, bytes } in records {
            let commit = record::decode(&bytes).map_err(|source| OpenError::Malformed { position, source })?;
            let refused = |source| OpenError::Refused { position, source };
            // Locked once a commit: to recall a round may take a while, and readers are not to wait for it.
            let applied = stage.apply(&self.shared.books.read(), &commit.commit);
            match applied {
                Err(Refused::RecallNeeded { round }) => {
                    let recalled = recall(&*self.shared.reader, &commit.commit, round)?;
                    let books = self.shared.books.read();
                    stage.apply_recalling(&books, &commit.commit, recalled.as_ref()).map_err(refused)?;
                }
                applied => applied.map_err(refused)?,
            }
            names.push(self.shared.requests.read().name(&commit.commit.stream, &commit.commit.request_id));
            logged.push(Arc::new(commit));
        }
        self.shared.publish(stage, &logged, &names, held);
        // The projector is a thread of this ledger and outlives the follower.
        let _ = self.projector.send(Projection { logged, held });
        Ok(())
    }
}
