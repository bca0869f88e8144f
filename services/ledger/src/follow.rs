//! Streams durable records to independent copies of the log (PL-30). An operator receives its own commits. The platform
//! receives all commits. If no operators are configured, every caller receives all commits. The operators take turns at
//! reading the log ([`Reads`]).

use crate::{
    chain::ChainHead,
    error::FetchError,
    handle::Handle,
    ledgers::Ledgers,
    readers::{ReaderKind, Reading},
};
use futures_util::{Stream, stream};
use motherlode_log::{Position, Record};
use motherlode_proto::{convert::record, ledger::v1 as wire};
use motherlode_runtime::{Caller, Reads, Reason, Refusal, Stop};
use motherlode_state::ANYONE;
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::watch;
use tonic::Status;

const RECORDS_MAX: usize = 512;
const BYTES_MAX: usize = 64 << 10;
const STREAMS_MAX: usize = 64;
const QUIET: Duration = Duration::from_millis(100);

/// Number of open streams per operator, by operator id; the platform's id is empty.
#[derive(Clone, Default)]
pub(crate) struct Followers(Arc<Mutex<BTreeMap<String, usize>>>);

struct Follower {
    all: Followers,
    operator: String,
}

impl Followers {
    fn add(&self, operator: &str) -> Result<Follower, Refusal> {
        let mut all = self.0.lock();
        let streams = all.entry(operator.to_owned()).or_default();
        if *streams >= STREAMS_MAX {
            let message = "the operator has reached its limit of log streams: close one of its streams first";
            return Err(Refusal::new(Reason::FollowersMax, message).with("streams_max", STREAMS_MAX));
        }
        *streams += 1;
        Ok(Follower { all: self.clone(), operator: operator.to_owned() })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        if let Some(streams) = all.get_mut(&self.operator) {
            *streams -= 1;
            if *streams == 0 {
                all.remove(&self.operator);
            }
        }
    }
}

struct Follow {
    _follower: Follower,
    reads: Reads,
    caller: Caller,
    ledger: Handle,
    stop: Stop,
    head: watch::Receiver<ChainHead>,
    operator: Option<String>,
    reading: Option<Reading>,
    sent: Position,
    reported: Option<Position>,
    quiet: bool,
}

pub(crate) fn follow(
    ledgers: &Ledgers,
    followers: &Followers,
    stop: &Stop,
    caller: &Caller,
    request: &wire::FollowLogRequest,
) -> Result<impl Stream<Item = Result<wire::FollowLogResponse, Status>> + Send + use<>, Refusal> {
    let partitions = ledgers.count();
    if request.partition >= partitions {
        return Err(Refusal::field("partition", format!("must be below {partitions}")));
    }
    let ledger = ledgers.loaded(request.partition)?;
    let (sent, durable) = (request.after_position, ledger.durable());
    if sent > durable {
        let message = "the log is shorter than the copy: the copy belongs to another log or is ahead of this log";
        return Err(Refusal::new(Reason::PositionAhead, message).with("position", durable));
    }
    let whole = caller.own().is_none();
    let name = || caller.actor().unwrap_or_else(|| ANYONE.to_owned());
    let follow = Follow {
        _follower: followers.add(caller.own().unwrap_or_default())?,
        reads: ledgers.reads().clone(),
        caller: caller.clone(),
        ledger: ledger.clone(),
        stop: stop.clone(),
        head: ledger.head(),
        operator: caller.own().map(str::to_owned),
        reading: whole.then(|| ledger.reading(ReaderKind::Copy, name(), sent)),
        sent,
        reported: None,
        quiet: false,
    };
    Ok(stream::unfold(Some(follow), |follow| async {
        let mut follow = follow?;
        match follow.next().await {
            Ok(message) => Some((Ok(message?), Some(follow))),
            Err(refusal) => Some((Err(refusal.into()), None)),
        }
    }))
}

impl Follow {
    async fn next(&mut self) -> Result<Option<wire::FollowLogResponse>, Refusal> {
        if self.quiet && tokio::time::timeout(QUIET, self.stop.clone().requested()).await.is_ok() {
            return Ok(None);
        }
        loop {
            let end = self.head.borrow_and_update().position;
            while self.sent < end {
                let records = self.read(end).await?;
                if !records.is_empty() {
                    return Ok(Some(self.say(records)));
                }
            }
            if self.reported != Some(self.sent) {
                return Ok(Some(self.say(vec![])));
            }
            tokio::select! {
                biased;
                () = self.stop.clone().requested() => return Ok(None),
                changed = self.head.changed() => if changed.is_err() { return Ok(None) },
            }
        }
    }

    fn say(&mut self, records: Vec<wire::LogRecord>) -> wire::FollowLogResponse {
        (self.reported, self.quiet) = (Some(self.sent), records.is_empty());
        let operator_id = self.operator.clone().unwrap_or_default();
        wire::FollowLogResponse { records, sent_position: self.sent, operator_id }
    }

    async fn read(&mut self, end: Position) -> Result<Vec<wire::LogRecord>, Refusal> {
        let (ledger, operator, from) = (self.ledger.clone(), self.operator.clone(), self.sent + 1);
        let read = move || {
            let mut stored = ledger.records(from, RECORDS_MAX, BYTES_MAX)?;
            stored.retain(|record| record.position <= end);
            let last = stored.last().map(|record| record.position).ok_or(FetchError::Missing(from))?;
            let partition = ledger.partition();
            let own =
                stored.into_iter().filter_map(|stored| to_wire(operator.as_deref(), partition, stored).transpose());
            Ok::<_, FetchError>((own.collect::<Result<Vec<_>, FetchError>>()?, last))
        };
        let (records, last) = self.reads.run(&self.caller, read).await??;
        self.sent = last;
        if let Some(reading) = &self.reading {
            reading.sent(last);
        }
        Ok(records)
    }
}

fn to_wire(operator: Option<&str>, partition: u32, stored: Record) -> Result<Option<wire::LogRecord>, FetchError> {
    let Record { position, bytes } = stored;
    if let Some(operator) = operator {
        let malformed = |source| FetchError::Malformed { position, source };
        // The name of a record's stream is enough to skip most records without decoding them.
        let concerns = match record::stream(&bytes).map_err(malformed)?.concerns(operator) {
            Some(concerns) => concerns,
            None => record::decode(&bytes).map_err(malformed)?.commit.concerns(operator),
        };
        if !concerns {
            return Ok(None);
        }
    }
    Ok(Some(wire::LogRecord { position, partition, record: bytes.to_vec() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::log::v1::Commit;
    use prost::Message;

    #[test]
    fn uf_04_an_operator_follows_on_so_many_streams_and_keeps_no_other_from_it() {
        let followers = Followers::default();
        let mut acme: Vec<_> = (0..STREAMS_MAX).map(|_| followers.add("acme").unwrap()).collect();
        let refused = followers.add("acme").map(drop).unwrap_err();
        assert_eq!(refused.reason(), Reason::FollowersMax);
        let other = followers.add("other").unwrap();
        acme.pop();
        acme.push(followers.add("acme").unwrap());
        drop((acme, other));
        assert!(followers.0.lock().is_empty(), "followers that disconnected must be removed");
    }

    #[test]
    fn uf_04_of_the_records_of_others_nothing_but_the_streams_name_is_decoded() {
        let of = |stream: &str| {
            let bytes = Commit { stream: stream.to_owned(), ..Commit::default() }.encode_to_vec().into();
            let found = super::to_wire(Some("acme"), 3, Record { position: 7, bytes });
            found.map(|found| found.map(|record| (record.partition, record.position)))
        };
        assert_eq!(of("player/other/alice").unwrap(), None);
        assert_eq!(of("pool/bewitched").unwrap(), None);
        assert_eq!(of("player/acme/alice").unwrap(), Some((3, 7)));
        assert_eq!(of("rates").unwrap(), Some((3, 7)));
        assert!(
            matches!(of("system"), Err(FetchError::Malformed { position: 7, .. })),
            "the events must be decoded to find the operator"
        );
        assert!(matches!(of("player/acme"), Err(FetchError::Malformed { position: 7, .. })));
    }
}
