//! Audit of an operator's copy of the log (PL-30), which omits other operators' records.
//!
//! The audit verifies the copy's hash chain, the links of adjacent records and the completeness of each player's
//! stream, applies the commits to the books, and resolves each step again. Effects on pools are ignored, because a copy
//! lacks the pools' streams. [`NOT_CHECKED`] lists the checks that a copy does not permit.

use crate::{
    divergence::{Divergence, Fault, Unusable, open},
    fold::Fold,
    judge::Judge,
    play::Plays,
    playing::Players,
    recalled::Recalled,
    report::Return,
};
use motherlode_log::{Hash, Position, Record, ScanError, Tail, hash, previous_hash};
use motherlode_proto::convert::{
    copied::{self, Copied},
    play::hex,
    record::{self, Logged},
};
use motherlode_state::{Books, Commit, Event, Minor, PerCurrency, SmolStr, StreamId};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    sync::Arc,
};

pub const NOT_CHECKED: [&str; 3] = [
    "pools, contributions and awards cannot be checked, because they depend on the bets of all operators",
    "missing records at a stream's end cannot be found: compare the copy's digest with that of the platform's log",
    "the hash chain across other operators' omitted records cannot be verified",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    pub operator: String,
    pub records: u64,
    /// Log position of the copy's last record; 0 if the copy is empty.
    pub position: Position,
    /// SHA-256 over all records, each as its position (8 bytes, big-endian) followed by its own SHA-256.
    pub digest: Hash,
}

struct Digesting {
    records: u64,
    position: Position,
    hasher: Sha256,
}

impl Digesting {
    fn new() -> Self {
        Self { records: 0, position: 0, hasher: Sha256::new() }
    }

    fn add(&mut self, position: Position, record: &[u8]) {
        (self.records, self.position) = (self.records + 1, position);
        self.hasher.update(position.to_be_bytes());
        self.hasher.update(hash(record));
    }

    fn for_operator(&self, operator: &str) -> Digest {
        let Self { records, position, hasher } = self;
        let digest = hasher.clone().finalize().into();
        Digest { operator: operator.to_owned(), records: *records, position: *position, digest }
    }
}

/// Returns the digest of a complete copy of the operator's records, computed from the log. Records after a damaged record
/// are omitted; the audit reports the damage.
pub fn digest(log: &Path, operator: &str, to: Position) -> Result<Digest, Unusable> {
    let mut digesting = Digesting::new();
    for record in open(log)? {
        let Record { position, bytes } = match record {
            Ok(record) => record,
            Err(ScanError::Io { path, source }) => return Err(Unusable::Io { path, source }),
            Err(ScanError::Damaged(_)) => break,
        };
        if position > to {
            break;
        }
        if record::decode(&bytes).is_ok_and(|logged| logged.commit.concerns(operator)) {
            digesting.add(position, &bytes);
        }
    }
    Ok(digesting.for_operator(operator))
}

/// If there is a divergence, the figures cover only the records before the divergence.
#[derive(Debug)]
pub struct CopyReport {
    pub partition: u32,
    pub digest: Digest,
    pub head: Hash,
    pub tail: Tail,
    pub books: Books,
    /// Return to player of each game. Jackpot awards are excluded, because they depend on pools.
    pub returns: Vec<Return>,
    pub jackpots: PerCurrency<i128>,
    /// First divergence, with its record's log position; `None` if the copy has no divergence.
    pub divergence: Option<Divergence>,
}

pub fn audit_copy(folder: &Path) -> Result<CopyReport, Unusable> {
    let mut scan = open(folder)?;
    let recalled = Recalled::new(folder.to_owned(), |bytes| {
        let commit = record::decode(&copied::decode(bytes).ok()?.record).ok()?.commit;
        Some(Commit { events: commit.events.iter().filter_map(without_pools).collect(), ..commit })
    });
    let mut copy = Auditing::new(&recalled);
    let mut divergence = None;
    while divergence.is_none() {
        let checked = match scan.next() {
            None => break,
            Some(Ok(record)) => copy.record(&record),
            Some(Err(ScanError::Damaged(damage))) => Err(Divergence::of_damage(copy.partition, damage)),
            Some(Err(ScanError::Io { path, source })) => return Err(Unusable::Io { path, source }),
        };
        divergence = checked.err();
    }
    copy.fold.join(copy.judge, copy.players);
    if divergence.is_none() {
        let (partition, position) = (copy.partition, copy.digest.position);
        divergence = copy.fold.end().err().map(|fault| fault.at(partition, position));
    }
    let (_, head) = scan.verified();
    if copy.last.is_none() && divergence.is_none() {
        return Err(Unusable::NoLog(folder.to_owned()));
    }
    Ok(CopyReport {
        partition: copy.partition,
        digest: copy.digest.for_operator(copy.operator.as_deref().unwrap_or_default()),
        head,
        tail: scan.tail().clone(),
        books: copy.fold.books,
        returns: copy.plays.into_returns(),
        jackpots: copy.jackpots,
        divergence: divergence.map(|found| *found),
    })
}

struct Auditing<'a> {
    partition: u32,
    operator: Option<String>,
    last: Option<(Position, i64, Hash)>,
    streams: BTreeMap<StreamId, (u64, Position)>,
    requests: BTreeSet<[u8; 16]>,
    hits: BTreeMap<Position, (StreamId, u64, SmolStr)>,
    jackpots: PerCurrency<i128>,
    judge: Judge<'a>,
    fold: Fold,
    players: Players,
    plays: Plays<'a>,
    digest: Digesting,
}

impl<'a> Auditing<'a> {
    fn new(recalled: &'a Recalled) -> Self {
        Self {
            partition: 0,
            operator: None,
            last: None,
            streams: BTreeMap::new(),
            requests: BTreeSet::new(),
            hits: BTreeMap::new(),
            jackpots: PerCurrency::default(),
            judge: Judge::new(0, None, recalled),
            fold: Fold::new(0, VecDeque::new()),
            players: Players::default(),
            plays: Plays::new(recalled),
            digest: Digesting::new(),
        }
    }

    fn record(&mut self, stored: &Record) -> Result<(), Box<Divergence>> {
        let before = self.digest.position;
        let copied = copied::decode(&stored.bytes).map_err(|malformed| {
            Fault::new("the record is not from a copy of the log for one operator", "a CopiedRecord message", malformed)
        });
        let copied = copied.map_err(|fault| fault.at(self.partition, before))?;
        let (partition, position) = (copied.partition, copied.position);
        let logged = self.place(&copied).map_err(|fault| fault.at(partition, position))?;
        let commit = &logged.commit;
        let checked = self
            .stream(commit)
            .and_then(|()| self.jackpots(commit))
            .and_then(|()| self.fold(&logged, hash(&copied.record)));
        checked.map_err(|fault| fault.at(partition, position))?;
        self.plays.take(&mut self.players, &logged.commit).map_err(|fault| fault.at(partition, position))?;
        self.digest.add(position, &copied.record);
        Ok(())
    }

    fn place(&mut self, copied: &Copied) -> Result<Logged, Fault> {
        let Copied { operator, partition, position, record } = copied;
        let of = self.operator.get_or_insert_with(|| operator.clone());
        if of != operator {
            return Err(Fault::new(
                "the record and the first record are from copies of different operators",
                of,
                operator,
            ));
        }
        if self.last.is_some() && self.partition != *partition {
            return Err(Fault::new(
                "the record and the first record are from different partitions",
                self.partition,
                partition,
            ));
        }
        self.partition = *partition;
        let logged = record::decode(record)
            .map_err(|malformed| Fault::new("the record is not a commit", "a commit", malformed))?;
        let Commit { position: named, partition: in_partition, time_ms, .. } = logged.commit;
        if (named, in_partition) != (*position, *partition) {
            let place = |partition, position| format!("position {position} of partition {partition}");
            let (expected, found) = (place(*partition, *position), place(in_partition, named));
            return Err(Fault::new(
                "the record's position differs from the position stated in the copy",
                expected,
                found,
            ));
        }
        if !logged.commit.concerns(operator) {
            let what = "the record does not concern the operator";
            return Err(Fault::new(what, format!("the record must concern {operator}"), &logged.commit.stream));
        }
        if let Some((last, last_ms, last_hash)) = self.last {
            if *position <= last {
                return Err(Fault::new(
                    "the record's position is not after that of the previous record",
                    format!("past {last}"),
                    position,
                ));
            }
            if time_ms < last_ms {
                return Err(Fault::new(
                    "the record's time is before its predecessor's time",
                    format!("{last_ms} or later"),
                    time_ms,
                ));
            }
            let linked = previous_hash(record);
            if *position == last + 1 && linked != Some(last_hash) {
                let found = linked.map_or("none".into(), |hash| hex(&hash));
                return Err(Fault::new(
                    "the record does not contain the hash of its predecessor in the log",
                    hex(&last_hash),
                    found,
                ));
            }
        }
        self.last = Some((*position, time_ms, hash(record)));
        Ok(logged)
    }

    fn stream(&mut self, commit: &Commit) -> Result<(), Fault> {
        let Commit { stream, version, previous, position, request_id, .. } = commit;
        let (last_version, last) = self.streams.get(stream).copied().unwrap_or_default();
        let whole = *version == last_version + 1 && *previous == last;
        // An operator's copy has only some records of the system's stream.
        let with_gaps = *stream == StreamId::System
            && *version > last_version
            && (last..*position).contains(previous)
            && (*version == last_version + 1) == (*previous == last);
        if !whole && !with_gaps {
            let place = |version, previous| {
                format!("record number {version} of the stream, after its record at position {previous}")
            };
            let (expected, found) = (place(last_version + 1, last), place(*version, *previous));
            return Err(Fault::new(format!("a record of {stream} is missing or out of place"), expected, found));
        }
        self.streams.insert(stream.clone(), (*version, *position));
        let named = Sha256::digest(format!("{stream}\0{request_id}"));
        let mut name = [0; 16];
        name.copy_from_slice(&named[..16]);
        if !self.requests.insert(name) {
            let what = format!("PL-11: request {request_id} of {stream} took effect twice");
            return Err(Fault::new(what, "one effect", "two"));
        }
        Ok(())
    }

    /// Checks that each paid jackpot was hit before and is paid only once. The paid amount cannot be verified without the
    /// pools.
    fn jackpots(&mut self, commit: &Commit) -> Result<(), Fault> {
        for event in &commit.events {
            match event {
                Event::JackpotHit { round, pool } => {
                    self.hits.insert(commit.position, (commit.stream.clone(), *round, pool.clone()));
                }
                Event::JackpotPaid { round, pool, hit, amount, currency } => {
                    let paid = (commit.stream.clone(), *round, pool.clone());
                    if self.hits.remove(hit).as_ref() != Some(&paid) {
                        let what = "a jackpot was paid without a jackpot hit, or was paid twice";
                        return Err(Fault::new(
                            what,
                            "the round must have an unpaid jackpot hit",
                            format!("payment to round {round} for a jackpot hit at position {hit}"),
                        ));
                    }
                    *self.jackpots.entry(*currency) += i128::from(amount.0);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn fold(&mut self, logged: &Logged, record: Hash) -> Result<(), Fault> {
        let Logged { commit, balances_after, due_after, .. } = logged;
        let events: Vec<_> = commit.events.iter().filter_map(without_pools).collect();
        if events.is_empty() {
            return Ok(());
        }
        let books = &self.fold.books;
        let head = match &commit.stream {
            StreamId::Player { .. } => self.players.for_stream(&commit.stream).state.head,
            stream => books.head(stream),
        };
        let commit = Commit {
            partition: 0,
            position: books.end(0).position + 1,
            version: head.version + 1,
            previous: head.position,
            events,
            ..commit.clone()
        };
        let (balances_after, due_after) = (balances_after.clone(), due_after.clone());
        let logged = Logged { commit, balances_after, due_after, proposer: None };
        self.fold.judged_by(&mut self.judge, &mut self.players, &logged, record)
    }
}

/// Removes references to pools from an event: a bet contributes nothing, and a paid jackpot becomes a deposit.
fn without_pools(event: &Event) -> Option<Event> {
    let mut event = event.clone();
    match &mut event {
        Event::RoundStarted(started) => Arc::make_mut(started).contribution = None,
        Event::JackpotHit { .. } | Event::AwardSetAside { .. } | Event::ChangeApproved { .. } => return None,
        Event::JackpotPaid { amount, currency, .. } => {
            let (amount, currency) = (*amount, *currency);
            return (amount > Minor::ZERO).then_some(Event::Deposited { currency, amount });
        }
        _ => {}
    }
    Some(event)
}
