//! The audit of an operator's copy of the log (PL-30): all that can be checked without the records of others.
//!
//! The copy is a chain of its own, whose bytes are verified as a log's are. Within it: every record is the operator's to
//! have, places and times rise, records that stood side by side in the log still name each other, every player's stream
//! is whole up to its last record here, no request was taken twice. Then the books are folded from it, the real ones, with
//! what concerns pools left out: balances, rounds, collections, rates and switches must come to what the records say, and
//! every step is resolved again.
//!
//! [`NOT_CHECKED`] lists the properties that it cannot show. A digest over the records is there to be compared with the
//! platform's own log, see [`digest`]. One thread; some microseconds a commit; memory grows with players and requests.

use crate::{
    divergence::{Divergence, Fault, Unusable, open},
    fold::Fold,
    judge::Judge,
    play::Plays,
    playing::Players,
    recalled::Recalled,
    report::Return,
};
use motherlode_books::{Books, Commit, Event, Minor, PerCurrency, SmolStr, StreamId};
use motherlode_log::{Hash, Position, Record, ScanError, Tail, hash, previous_hash};
use motherlode_proto::convert::{
    copied::{self, Copied},
    play::hex,
    record::{self, Logged},
};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    sync::Arc,
};

/// Properties that no copy of one operator's records can show.
pub const NOT_CHECKED: [&str; 3] = [
    "what pools hold, whether contributions and awards are the right ones: pools take the bets of all operators",
    "whether records are missing behind a stream's last one here: hold the digest against the platform's log",
    "the log's own hash chain, where records of others lie between",
];

/// The records of one operator, in a few figures: equal where the records are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Whose.
    pub operator: String,
    /// How many.
    pub records: u64,
    /// Place of the last in the log; 0 for none.
    pub position: Position,
    /// SHA-256 over each record's position (8 bytes, big-endian) and the SHA-256 of its bytes.
    pub digest: Hash,
}

/// A digest in the making.
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

    fn of(&self, operator: &str) -> Digest {
        let Self { records, position, hasher } = self;
        let digest = hasher.clone().finalize().into();
        Digest { operator: operator.to_owned(), records: *records, position: *position, digest }
    }
}

/// The digest of an operator's records of a whole log, up to a position: what a copy that holds all of them has.
///
/// # Errors
/// [`Unusable`] when the log cannot be read; a damaged one is for [`audit`](crate::audit()) to find.
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
    Ok(digesting.of(operator))
}

/// The result of auditing a copy. With a divergence, the figures cover the records up to it.
#[derive(Debug)]
pub struct CopyReport {
    /// The partition of the log.
    pub partition: u32,
    /// Its records.
    pub digest: Digest,
    /// SHA-256 of the copy's own last record.
    pub head: Hash,
    /// The bytes after the last whole append.
    pub tail: Tail,
    /// The books that the copy makes, without pools.
    pub books: Books,
    /// Bets and wins by game, version and currency; awards are decided by the pools, which are not in the copy.
    pub returns: Vec<Return>,
    /// Jackpots that reached players, by currency; sums of minor units.
    pub jackpots: PerCurrency<i128>,
    /// The first divergence, at the place in the log of the record that has it; `None` when all holds.
    pub divergence: Option<Divergence>,
}

/// Audits an operator's copy.
///
/// # Errors
/// [`Unusable`] when there is no copy, or it cannot be read; what is wrong within it is a
/// [`divergence`](CopyReport::divergence).
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
        digest: copy.digest.of(copy.operator.as_deref().unwrap_or_default()),
        head,
        tail: scan.tail().clone(),
        books: copy.fold.books,
        returns: copy.plays.into_returns(),
        jackpots: copy.jackpots,
        divergence: divergence.map(|found| *found),
    })
}

/// A copy being audited.
struct Auditing<'a> {
    partition: u32,
    operator: Option<String>,
    /// Place, time and hash of the record before.
    last: Option<(Position, i64, Hash)>,
    /// Where each stream stands in the log: version and position.
    streams: BTreeMap<StreamId, (u64, Position)>,
    /// Every request, by a digest of its stream and id.
    requests: BTreeSet<[u8; 16]>,
    /// Hits that were not paid yet: their round and pool.
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
        let copied = copied::decode(&stored.bytes)
            .map_err(|malformed| Fault::new("the record is none of a copy", "a copied record", malformed));
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

    /// Whether a record may stand here in a copy, by what it says of itself and the one before.
    fn place(&mut self, copied: &Copied) -> Result<Logged, Fault> {
        let Copied { operator, partition, position, record } = copied;
        let of = self.operator.get_or_insert_with(|| operator.clone());
        if of != operator {
            return Err(Fault::new("the record is of another operator's copy", of, operator));
        }
        if self.last.is_some() && self.partition != *partition {
            return Err(Fault::new("the record is another partition's", self.partition, partition));
        }
        self.partition = *partition;
        let logged =
            record::decode(record).map_err(|malformed| Fault::new("the record is no commit", "a commit", malformed))?;
        let Commit { position: named, partition: in_partition, time_ms, .. } = logged.commit;
        if (named, in_partition) != (*position, *partition) {
            let place = |partition, position| format!("position {position} of partition {partition}");
            let (expected, found) = (place(*partition, *position), place(in_partition, named));
            return Err(Fault::new("the record names another place", expected, found));
        }
        if !logged.commit.concerns(operator) {
            let what = "the record is not the operator's to have";
            return Err(Fault::new(what, format!("one that concerns {operator}"), &logged.commit.stream));
        }
        if let Some((last, last_ms, last_hash)) = self.last {
            if *position <= last {
                return Err(Fault::new("the record stood before the last", format!("past {last}"), position));
            }
            if time_ms < last_ms {
                return Err(Fault::new("the time ran back", format!("{last_ms} or later"), time_ms));
            }
            // Side by side in the log, they are linked there.
            let linked = previous_hash(record);
            if *position == last + 1 && linked != Some(last_hash) {
                let found = linked.map_or("none".into(), |hash| hex(&hash));
                return Err(Fault::new(
                    "the record does not name the one before it in the log",
                    hex(&last_hash),
                    found,
                ));
            }
        }
        self.last = Some((*position, time_ms, hash(record)));
        Ok(logged)
    }

    /// Whether the stream goes on where it stood, and the request is a new one.
    fn stream(&mut self, commit: &Commit) -> Result<(), Fault> {
        let Commit { stream, version, previous, position, request_id, .. } = commit;
        let (last_version, last) = self.streams.get(stream).copied().unwrap_or_default();
        let whole = *version == last_version + 1 && *previous == last;
        // What of the system's stream is nobody's but the platform's lies between.
        let with_gaps = *stream == StreamId::System
            && *version > last_version
            && (last..*position).contains(previous)
            && (*version == last_version + 1) == (*previous == last);
        if !whole && !with_gaps {
            let place = |version, previous| format!("version {version} after position {previous}");
            let (expected, found) = (place(last_version + 1, last), place(*version, *previous));
            return Err(Fault::new(format!("a record of {stream} is missing or out of place"), expected, found));
        }
        self.streams.insert(stream.clone(), (*version, *position));
        let named = Sha256::digest(format!("{stream}\0{request_id}"));
        let mut name = [0; 16];
        name.copy_from_slice(&named[..16]);
        if !self.requests.insert(name) {
            let what = format!("PL-11: request {request_id} of {stream} was taken twice");
            return Err(Fault::new(what, "one effect", "two"));
        }
        Ok(())
    }

    /// Whether every jackpot that is paid was hit, and once; what it's worth is the pool's to say.
    fn jackpots(&mut self, commit: &Commit) -> Result<(), Fault> {
        for event in &commit.events {
            match event {
                Event::JackpotHit { round, pool } => {
                    self.hits.insert(commit.position, (commit.stream.clone(), *round, pool.clone()));
                }
                Event::JackpotPaid { round, pool, hit, amount, currency } => {
                    let paid = (commit.stream.clone(), *round, pool.clone());
                    if self.hits.remove(hit).as_ref() != Some(&paid) {
                        let what = "a jackpot is paid that was not hit, or was paid before";
                        return Err(Fault::new(what, "a hit of the round", format!("round {round}, hit {hit}")));
                    }
                    *self.jackpots.entry(*currency) += i128::from(amount.0);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Folds a commit as if there were no pools and no records of others.
    fn fold(&mut self, logged: &Logged, record: Hash) -> Result<(), Fault> {
        let Logged { commit, balances_after, due_after, .. } = logged;
        let events: Vec<_> = commit.events.iter().filter_map(without_pools).collect();
        if events.is_empty() {
            return Ok(());
        }
        let books = &self.fold.books;
        let head = match &commit.stream {
            StreamId::Player { .. } => self.players.of(&commit.stream).state.head,
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

/// An event as it is where there are no pools: a bet adds nothing, and what a jackpot pays comes from outside.
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
