//! Limits of a prune (PL-37). A limit is the first record that the next start, a later commit or unfinished work still
//! has to read from the log.

use crate::{core::LedgerCore, error::FetchError, recovery::Recovered, remote::is_copied};
use motherlode_log::{Position, ReadError};
use motherlode_proto::convert::record;
use motherlode_state::{InternalRequest, PlayerState, StreamId, rounds_named};
use std::{collections::BTreeSet, io, ops::RangeInclusive, sync::atomic::Ordering};

const BATCH: usize = 512;

/// First position that a prune must keep, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneLimit {
    pub name: &'static str,
    pub first: Position,
}

struct Needed<'a> {
    core: &'a LedgerCore,
    first: Position,
}

impl Needed<'_> {
    fn record(&mut self, position: Position) {
        self.first = self.first.min(position);
    }

    fn round(&mut self, stream: &StreamId, round: u64) -> Result<(), FetchError> {
        let positions = self.core.index.round(stream, round, None)?;
        positions.into_iter().for_each(|position| self.record(position));
        Ok(())
    }

    fn rounds_of(&mut self, position: Position) -> Result<(), FetchError> {
        self.record(position);
        if position >= self.core.reader.first() {
            let logged = self.core.fetch(position)?;
            rounds_named(&logged.commit).try_for_each(|round| self.round(&logged.commit.stream, round))?;
        }
        Ok(())
    }
}

impl Recovered {
    /// Returns the limits; `None` if no base (digest of the state) is confirmed. Records since the time `kept_from_ms`
    /// are kept because of their age.
    pub fn prune_limits(&self, kept_from_ms: i64) -> Result<Option<Vec<PruneLimit>>, FetchError> {
        let core = &*self.applier.shared;
        let Some(base) = core.books.read().confirmed_base().map(|base| base.position + 1) else { return Ok(None) };
        let limit = |name, first| PruneLimit { name, first };
        Ok(Some(vec![
            limit("confirmed base", base),
            limit("snapshot", core.snapshot.load(Ordering::Relaxed)),
            limit("days to keep", core.first_since(kept_from_ms)?),
            limit("open rounds", core.books.read().first_open_round().unwrap_or(Position::MAX)),
            limit("pending wallet calls and proposed voids", of_players(core)?),
            limit("unpaid jackpots", of_awards(core)?),
            limit(
                "proposed changes",
                core.books.read().pending_changes().map(|(at, _)| at).min().unwrap_or(Position::MAX),
            ),
            limit("reports", of_reports(core)?),
        ]))
    }

    pub fn copied_decisions(&self) -> Result<Vec<(StreamId, Position)>, FetchError> {
        let (core, mut found) = (&*self.applier.shared, vec![]);
        for stream in [StreamId::Rates, StreamId::System] {
            let mut position = core.books.read().head(&stream).position;
            while position >= core.reader.first() {
                let logged = core.fetch(position)?;
                if logged.commit.events.iter().any(is_copied) {
                    found.push((stream.clone(), position));
                }
                position = logged.commit.previous;
            }
        }
        Ok(found)
    }

    pub fn first_uncopied(&self, decisions: &[(StreamId, Position)]) -> Result<Option<Position>, FetchError> {
        let (requests, mut first) = (&self.applier.shared.requests, None);
        for (stream, position) in decisions {
            let name = requests.name(stream, &InternalRequest::CopyHome { position: *position }.to_string());
            let copies = requests.candidates(name).map_err(|error| ReadError::Io(io::Error::other(error)))?;
            if copies.is_empty() {
                first = Some(first.map_or(*position, |first: Position| first.min(*position)));
            }
        }
        Ok(first)
    }
}

impl LedgerCore {
    fn first_since(&self, time_ms: i64) -> Result<Position, FetchError> {
        let (mut from, mut to) = (self.reader.first(), self.durable() + 1);
        while from < to {
            let middle = from.midpoint(to);
            match self.fetch(middle)?.commit.time_ms < time_ms {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        Ok(from)
    }
}

fn of_players(core: &LedgerCore) -> Result<Position, FetchError> {
    let mut players: Vec<(StreamId, PlayerState)> = vec![];
    let mut add = |stream: StreamId, player: &PlayerState| {
        if player.void_proposals().next().is_some() || player.wallet().is_some_and(|wallet| wallet.is_busy()) {
            players.push((stream, player.clone()));
        }
    };
    let books = core.books.read();
    books.players().for_each(|(operator, name, player)| add(StreamId::player(operator, name), player));
    core.players.fixed().each(|stream, player| {
        if books.player(&stream).is_none() {
            add(stream, &player);
        }
    })?;
    drop(books);
    let mut needed = Needed { core, first: Position::MAX };
    for (stream, player) in &players {
        for proposal in player.void_proposals() {
            needed.record(proposal.position);
            needed.round(stream, proposal.round)?;
        }
        let Some(wallet) = player.wallet() else { continue };
        wallet.debit.iter().for_each(|debit| needed.record(debit.asked_at));
        for due in &wallet.dues {
            needed.rounds_of(due.due_at)?;
            if due.closes > 0 {
                needed.round(stream, due.closes)?;
            }
        }
    }
    Ok(needed.first)
}

fn of_awards(core: &LedgerCore) -> Result<Position, FetchError> {
    let books = core.books.read();
    let own = |(partition, hit, stream, round): (u32, Position, &StreamId, u64)| {
        (partition == core.partition).then(|| (hit, stream.clone(), round))
    };
    let unpaid = books.unpaid_awards().map(|(partition, hit, award)| (partition, hit, &award.stream, award.round));
    let mut waiting: Vec<_> = unpaid.filter_map(own).collect();
    for pool in books.pools() {
        let hits = books.pending_hits(&pool.name).map(|hit| (hit.partition, hit.position, &hit.stream, hit.round));
        waiting.extend(hits.filter_map(own));
    }
    drop(books);
    let mut needed = Needed { core, first: Position::MAX };
    for (hit, stream, round) in waiting {
        needed.record(hit);
        needed.round(&stream, round)?;
    }
    Ok(needed.first)
}

/// The reports still need the records that their tables do not include yet, and all commits of the rounds in them.
fn of_reports(core: &LedgerCore) -> Result<Position, FetchError> {
    let rest: RangeInclusive<Position> = core.follower_views.to() + 1..=core.durable();
    let mut needed = Needed { core, first: *rest.start() };
    let (mut next, mut seen) = (*rest.start(), BTreeSet::new());
    while rest.contains(&next) {
        let records = core.reader.read(next, BATCH, 4 << 20)?;
        let Some(last) = records.last().map(|last| last.position) else { break };
        for stored in &records {
            let position = stored.position;
            let logged = record::decode(&stored.bytes).map_err(|source| FetchError::Malformed { position, source })?;
            for round in rounds_named(&logged.commit) {
                if seen.insert((logged.commit.stream.to_string(), round)) {
                    needed.round(&logged.commit.stream, round)?;
                }
            }
        }
        next = last + 1;
    }
    Ok(needed.first)
}
