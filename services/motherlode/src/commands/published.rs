//! Publishes the change feed on a NATS subject, one message per record (PL-34).

use super::{
    Failure, NO_STREAM,
    feed::line,
    say,
    sink::{FAILURES_MAX, FIRST_WAIT, LAST_WAIT, Sink, partition_suffix},
    tie::Tie,
};
use motherlode_jetstream::{Entry, Feed, FeedError, Last};
use motherlode_proto::{convert::play::hex, ledger::v1::FollowLogResponse};
use motherlode_runtime::config::Store;
use std::{collections::BTreeMap, rc::Rc};
use tokio::{sync::Mutex, time::sleep};

pub(super) struct Published {
    partition: u32,
    position: u64,
    tie: Tie,
    feed: Rc<Mutex<Feed>>,
    once: bool,
}

impl Published {
    /// Also returns the position after which the feed resumes in each partition.
    pub(super) async fn feed(
        config: &Store,
        to: &str,
        begin: Option<BTreeMap<u32, Last>>,
    ) -> Result<(Rc<Mutex<Feed>>, BTreeMap<u32, Last>), Failure> {
        let (servers, subject) = to.rsplit_once('/').unwrap_or_default();
        let config = config.at(servers).map_err(|_| {
            Failure::unusable(format!("--to {to}: must be nats://host:port,.../SUBJECT; commas separate the servers"))
        })?;
        let (feed, after) = Feed::open(&config, subject, begin).await.map_err(failed)?;
        Ok((Rc::new(Mutex::new(feed)), after))
    }

    pub(super) fn new(partition: u32, after: Last, feed: Rc<Mutex<Feed>>, once: bool) -> Self {
        let (tie, position) = Tie::after(partition, after);
        Self { partition, position, tie, feed, once }
    }
}

impl Sink for Published {
    fn partition(&self) -> u32 {
        self.partition
    }

    fn position(&self) -> u64 {
        self.position
    }

    async fn take(&mut self, message: FollowLogResponse) -> Result<(), Failure> {
        let entry = |stored: &motherlode_proto::ledger::v1::LogRecord| {
            let payload = line(self.partition, stored.position, &stored.record)?.into();
            let sha256 = hex(&motherlode_log::hash(&stored.record));
            Ok(Entry { partition: self.partition, position: stored.position, sha256, payload })
        };
        let entries = self.tie.records(&message)?.iter().map(entry).collect::<Result<Vec<_>, Failure>>()?;
        let (mut failures, mut wait) = (0, FIRST_WAIT);
        while let Err(error) = { self.feed.lock().await.publish(&entries).await } {
            failures += 1;
            if !matches!(error, FeedError::Passing(_)) || (self.once && failures == FAILURES_MAX) {
                return Err(failed(error));
            }
            eprintln!("Failed to publish ({error}); retrying in {} ms.", wait.as_millis());
            sleep(wait).await;
            wait = (wait * 2).min(LAST_WAIT);
        }
        self.position = self.position.max(message.sent_position);
        Ok(())
    }

    fn report(&self) -> Result<(), Failure> {
        say(&format!("Published up to log position {}{}.\n", self.position, partition_suffix(self.partition)))
    }
}

fn failed(error: FeedError) -> Failure {
    match error {
        FeedError::Unreachable { .. } => Failure::found(error).with_step(NO_STREAM),
        FeedError::Unusable(_) => Failure::unusable(error),
        FeedError::Refused(_) | FeedError::Passing(_) => Failure::found(error),
    }
}
