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
    requests::Name,
    shared::{Projection, Shared},
};
use motherlode_books::{Commit, Refused, Stage};
use motherlode_log::{ReadError, Record};
use motherlode_proto::{
    convert::record::{self, Logged},
    log::v1::{FollowRecordsRequest, FollowRecordsResponse},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
    mpsc::SyncSender,
};
use tokio::time::{Duration, Instant, sleep, timeout};
use tonic::{Code, Status};

/// A process that has not begun to send by then is asked no more.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Before a stream that has ended is asked for again.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct Follower {
    pub(super) shared: Arc<Shared>,
    pub(super) link: Arc<Link>,
    /// How far the log is known to be durable.
    pub(super) end: Arc<AtomicU64>,
    pub(super) projector: SyncSender<Projection>,
    pub(super) ahead_max: Duration,
}

impl Follower {
    /// Follows for as long as it's polled, or until what comes is no continuation.
    pub(super) async fn run(self) {
        let mut ahead_since = None;
        loop {
            let (number, mut client) = self.link.client().await;
            let (partition, after_position) = (self.shared.partition, self.shared.durable());
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
            let status = ended.err().unwrap_or_else(|| Status::unavailable("the stream has ended"));
            // A process that another one has taken the log from, and that has not noticed yet, has less than this replica.
            let ahead = status.code() == Code::OutOfRange;
            let since = ahead.then(|| *ahead_since.get_or_insert_with(Instant::now));
            if status.code() == Code::DataLoss || since.is_some_and(|since| since.elapsed() > self.ahead_max) {
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
            taken.map_err(|error| match error {
                // Nobody could be asked for a record that lies back: what wasn't taken up comes again.
                OpenError::Read(ReadError::Io(error)) => Status::unavailable(error.to_string()),
                error => Status::data_loss(error.to_string()),
            })?;
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
        self.end.fetch_max(position + records.len() as u64, Ordering::AcqRel);
        let mut group = Group::after(Held { position, hash });
        for record in records {
            let position = record.position;
            let hash = follow(group.held.hash, std::slice::from_ref(&record))?;
            let logged = record::decode(&record.bytes).map_err(|source| OpenError::Malformed { position, source })?;
            let mut taken = self.stage(&mut group.stage, &logged.commit)?;
            if taken.is_err() && !group.logged.is_empty() {
                // Whoever wrote it rested on what was durable by then, which may be in this very message.
                group = self.publish(group);
                taken = self.stage(&mut group.stage, &logged.commit)?;
            }
            taken.map_err(|source| OpenError::Refused { position, source })?;
            group.names.push(self.shared.requests.read().name(&logged.commit.stream, &logged.commit.request_id));
            group.logged.push(Arc::new(logged));
            group.held = Held { position, hash };
        }
        self.publish(group);
        Ok(())
    }

    /// Adds a commit to a stage over the books, with what it recalls.
    fn stage(&self, stage: &mut Stage, commit: &Commit) -> Result<Result<(), Refused>, OpenError> {
        // Locked once a commit: to recall a round may take a while, and readers are not to wait for it.
        let applied = stage.apply(&self.shared.books.read(), commit);
        let Err(Refused::RecallNeeded { round }) = applied else { return Ok(applied) };
        let recalled = recall(&*self.shared.reader, commit, round)?;
        Ok(stage.apply_recalling(&self.shared.books.read(), commit, recalled.as_ref()))
    }

    /// Makes a group visible; the next one comes after it.
    fn publish(&self, group: Group) -> Group {
        let Group { stage, logged, names, held } = group;
        if !logged.is_empty() {
            self.shared.publish(stage, &logged, &names, held);
            // The projector is a thread of this ledger and outlives the follower.
            let _ = self.projector.send(Projection { logged, held });
        }
        Group::after(held)
    }
}

/// Commits that become visible together.
struct Group {
    stage: Stage,
    logged: Vec<Arc<Logged>>,
    names: Vec<Name>,
    /// The last of them, or what they come after.
    held: Held,
}

impl Group {
    fn after(held: Held) -> Self {
        Self { stage: Stage::new(), logged: vec![], names: vec![], held }
    }
}
