//! Index of the log: finds the commits of a round, the awards of a pool, and records by their hash or [names](names).
//! The index consists of four keyspaces in the store of views.
//!
//! Commits are indexed when they change the state, so the index is never behind it. The newest entries ("notes") are in
//! memory; older entries are in sorted files ("runs"). A missing, damaged or outdated run is rebuilt from the log.
//!
//! ```text
//! keyspace  key                                                           value
//! rounds    player (8-byte hash), currency, 0, game, 0, round (8)         number and bet position of up to 64 rounds
//! rounds    player, 0, round (8), position (8)                            positions of the round's commits after its bet
//! awards    pool, 0, operator (empty for all operators), 0, position (8)  empty
//! hashes    first 8 bytes of the record's hash, position (5)              empty
//! names     operator and name (8-byte hash), position (5)                 empty
//! ```
//!
//! Keys contain only a part of each hash, so callers must check that the found record has the wanted stream or hash.

use crate::{error::OpenError, requests::WriteError};
use motherlode_log::{Hash, Position, Reader, hash};
use motherlode_proto::convert::record;
use motherlode_state::{Commit, Currency, Event, StreamId};
use motherlode_views::{Checkpoint, Keyspace, KeyspaceTables, Run, Store, ViewError, Writer, filter_hash, mergeable};
use parking_lot::RwLock;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

mod names;

const KEYSPACES: usize = 4;
static ROUNDS: Keyspace = Keyspace { name: "rounds", version: 1, widths: None, filtered: 8 };
static AWARDS: Keyspace = Keyspace { name: "awards", version: 1, widths: None, filtered: 0 };
static HASHES: Keyspace = Keyspace { name: "hashes", version: 1, widths: Some((13, 0)), filtered: 0 };
static NAMES: Keyspace = Keyspace { name: "names", version: 1, widths: Some((13, 0)), filtered: 0 };
const ALL: [&Keyspace; KEYSPACES] = [&ROUNDS, &AWARDS, &HASHES, &NAMES];

const PORTION: usize = 64;
const NOTED: u64 = 1 << 16;
const RUNS_MAX: usize = 64;
const BYTES: usize = 4 << 20;

pub(crate) type Bet = (u64, Position);

type Entry = (Vec<u8>, Vec<u8>);

pub(crate) struct Index {
    store: Arc<Store>,
    reader: Arc<dyn Reader>,
    state: RwLock<State>,
    rebuilt: AtomicBool,
}

#[derive(Default)]
struct State {
    runs: [Vec<Run>; KEYSPACES],
    frozen: Vec<Arc<Notes>>,
    notes: Notes,
}

#[derive(Default)]
struct Notes {
    from: Position,
    bets: BTreeMap<Vec<u8>, Vec<Bet>>,
    later: BTreeMap<([u8; 8], u64), Vec<Position>>,
    awards: BTreeSet<Vec<u8>>,
    hashes: Vec<[u8; 8]>,
    names: Vec<([u8; 8], Position)>,
}

impl Notes {
    fn after(from: Position) -> Self {
        Self { from, ..Self::default() }
    }

    fn to(&self) -> Position {
        self.from + self.hashes.len() as u64
    }

    fn push(&mut self, commit: &Commit, hash: &Hash) {
        let (position, mut begun) = (commit.position, None);
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) => {
                    begun = Some(started.round);
                    let group = group(&commit.stream, started.currency, &started.game);
                    self.bets.entry(group).or_default().push((started.round, position));
                }
                Event::JackpotAwarded(award) => {
                    self.awards.insert(numbered(&award_prefix(&commit.stream, ""), position));
                    if let StreamId::Player { operator, .. } = &award.stream {
                        self.awards.insert(numbered(&award_prefix(&commit.stream, operator), position));
                    }
                }
                _ => {
                    if let Some(round) = round_of(event).filter(|round| begun != Some(*round)) {
                        let later = self.later.entry((player_hash(&commit.stream), round)).or_default();
                        if later.last() != Some(&position) {
                            later.push(position);
                        }
                    }
                }
            }
        }
        self.hashes.push(prefix(hash));
        names::of_commit(commit, |operator, name| self.names.push((names::key(operator, name), position)));
    }

    fn entries(&self, keyspace: &Keyspace) -> Result<Vec<Entry>, ViewError> {
        let wrong = |reason| move || ViewError::Entry { keyspace: keyspace.name, reason };
        let encoded =
            |positions: Result<Vec<u8>, postcard::Error>| positions.map_err(|_| wrong("the entry cannot be encoded")());
        let at = |hash: &[u8; 8], position: Position| match position.to_be_bytes() {
            [0, 0, 0, short @ ..] => Ok([&hash[..], &short].concat()),
            _ => Err(wrong("the position of a record has more than 40 bits")()),
        };
        let mut entries = vec![];
        match keyspace.name {
            "rounds" => {
                for (group, bets) in &self.bets {
                    for portion in bets.chunks(PORTION) {
                        let first = portion.first().map_or(0, |(round, _)| *round);
                        entries.push((numbered(group, first), encoded(postcard::to_allocvec(portion))?));
                    }
                }
                for ((player, round), later) in &self.later {
                    let first = later.first().copied().unwrap_or_default();
                    entries
                        .push((numbered(&later_key(*player, *round), first), encoded(postcard::to_allocvec(later))?));
                }
            }
            "awards" => entries.extend(self.awards.iter().map(|key| (key.clone(), vec![]))),
            "names" => {
                for (name, position) in &self.names {
                    entries.push((at(name, *position)?, vec![]));
                }
            }
            _ => {
                for (hash, position) in self.hashes.iter().zip(self.from + 1..) {
                    entries.push((at(hash, position)?, vec![]));
                }
            }
        }
        entries.sort_unstable();
        Ok(entries)
    }
}

impl Index {
    pub(crate) fn open(
        store: &Arc<Store>,
        checkpoint: Option<&Checkpoint>,
        reader: &Arc<dyn Reader>,
    ) -> Result<Self, OpenError> {
        let (store, reader) = (Arc::clone(store), Arc::clone(reader));
        let index = Self { store, reader, state: RwLock::default(), rebuilt: AtomicBool::new(false) };
        let Some(checkpoint) = checkpoint else { return Ok(index) };
        index.state.write().notes = Notes::after(checkpoint.position);
        for (number, keyspace) in ALL.into_iter().enumerate() {
            let mut to = 0;
            for named in checkpoint.runs(keyspace).unwrap_or_default() {
                match index.store.run(named, keyspace, u64::MAX) {
                    Ok(run) => {
                        index.rebuild(number, to, run.from())?;
                        to = run.to();
                        index.state.write().runs[number].push(run);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot open a file of the index: rebuilding the file from the log")
                    }
                }
            }
            index.rebuild(number, to, checkpoint.position)?;
        }
        Ok(index)
    }

    pub(crate) fn to(&self) -> Position {
        self.state.read().notes.to()
    }

    pub(crate) fn unwritten(&self) -> u64 {
        let state = self.state.read();
        state.notes.to() - state.frozen.first().map_or(state.notes.from, |notes| notes.from)
    }

    pub(crate) fn note<'a>(&self, commits: impl Iterator<Item = (&'a Commit, Hash)>) {
        let mut state = self.state.write();
        commits.for_each(|(commit, hash)| state.notes.push(commit, &hash));
    }

    pub(crate) fn freeze(&self) {
        let mut state = self.state.write();
        let next = Notes::after(state.notes.to());
        if next.from > state.notes.from {
            let notes = mem::replace(&mut state.notes, next);
            state.frozen.push(Arc::new(notes));
        }
    }

    pub(crate) fn write_frozen(&self) -> Result<(), ViewError> {
        loop {
            let Some(notes) = self.state.read().frozen.first().cloned() else { return Ok(()) };
            let runs = ALL.map(|keyspace| self.write_run(keyspace, &notes));
            let mut state = self.state.write();
            for (all, run) in state.runs.iter_mut().zip(runs.into_iter().collect::<Result<Vec<_>, _>>()?) {
                // Entries that a rebuild failed to write can be older than existing runs.
                let at = all.partition_point(|of| of.from() < run.from());
                all.insert(at, run);
            }
            state.frozen.remove(0);
        }
    }

    pub(crate) fn write_full(&self) -> Result<(), ViewError> {
        if self.unwritten() >= NOTED {
            self.freeze();
            self.write_frozen()?;
        }
        Ok(())
    }

    pub(crate) fn write_replayed(&self) -> Result<(), ViewError> {
        self.write_full()?;
        while self.state.read().runs.iter().any(|runs| runs.len() > RUNS_MAX) && self.merge()? {}
        Ok(())
    }

    fn write_run(&self, keyspace: &'static Keyspace, notes: &Notes) -> Result<Run, ViewError> {
        let mut writer = Writer::new(&self.store, keyspace, (notes.from, notes.to()), u64::MAX);
        notes.entries(keyspace)?.iter().try_for_each(|(key, value)| writer.put(key, value))?;
        writer.finish()
    }

    pub(crate) fn merge(&self) -> Result<bool, ViewError> {
        let mut merged = false;
        for (number, keyspace) in ALL.into_iter().enumerate() {
            let runs = self.state.read().runs[number].clone();
            if let Some(range) = mergeable(&runs) {
                let run = Writer::merge(&self.store, keyspace, &runs[range.clone()], u64::MAX)?;
                self.state.write().runs[number].splice(range, [run]);
                merged = true;
            }
        }
        Ok(merged)
    }

    pub(crate) fn repair(&self) -> Result<(), WriteError> {
        for (number, keyspace) in ALL.into_iter().enumerate() {
            let damaged = || self.state.read().runs[number].iter().find(|run| run.is_damaged()).cloned();
            while let Some(run) = damaged() {
                tracing::warn!(
                    from = run.from(),
                    to = run.to(),
                    "a file of the index is damaged: rebuilding the file from the log"
                );
                let mut again = vec![];
                self.read_log(run.from(), run.to(), |notes| {
                    again.push(self.write_run(keyspace, &notes)?);
                    Ok(())
                })?;
                let mut state = self.state.write();
                let at = state.runs[number].partition_point(|of| of.from() < run.from());
                state.runs[number].splice(at..=at, again);
            }
        }
        Ok(())
    }

    /// If the rebuilt sorted file cannot be written, its entries stay in memory.
    fn rebuild(&self, number: usize, from: Position, to: Position) -> Result<(), OpenError> {
        if from >= to {
            return Ok(());
        }
        tracing::info!(from, to, keyspace = ALL[number].name, "rebuilding a part of the index from the log");
        self.rebuilt.store(true, Ordering::Relaxed);
        let read = self.read_log(from, to, |notes| {
            let written = self.write_run(ALL[number], &notes);
            let mut state = self.state.write();
            match written {
                Ok(run) => state.runs[number].push(run),
                Err(error) => {
                    tracing::warn!(%error, "failed to write a file of the index: its entries stay in memory");
                    state.frozen.push(Arc::new(notes));
                }
            }
            Ok(())
        });
        read.map_err(OpenError::from)
    }

    pub(crate) fn take_rebuilt(&self) -> bool {
        self.rebuilt.swap(false, Ordering::Relaxed)
    }

    fn read_log(
        &self,
        from: Position,
        to: Position,
        mut each: impl FnMut(Notes) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut notes = Notes::after(from);
        while notes.to() < to {
            if self.store.is_stopped() {
                return Err(ViewError::Stopped.into());
            }
            let next = notes.to() + 1;
            let count = usize::try_from(to - notes.to()).unwrap_or(usize::MAX);
            let records = self.reader.read(next, count, BYTES)?;
            if records.is_empty() {
                return Err(OpenError::Chain(format!("the record at position {next} is missing")).into());
            }
            for stored in records {
                let position = stored.position;
                let logged =
                    record::decode(&stored.bytes).map_err(|source| OpenError::Malformed { position, source })?;
                notes.push(&logged.commit, &hash(&stored.bytes));
            }
            if notes.hashes.len() as u64 >= NOTED || notes.to() >= to {
                let next = Notes::after(notes.to());
                each(mem::replace(&mut notes, next))?;
            }
        }
        Ok(())
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = KeyspaceTables> {
        let state = self.state.read();
        ALL.into_iter()
            .zip(&state.runs)
            .map(|(keyspace, runs)| KeyspaceTables::new(keyspace, runs))
            .collect::<Vec<_>>()
            .into_iter()
    }

    pub(crate) fn ids(&self) -> Vec<Hash> {
        self.state.read().runs.iter().flatten().flat_map(Run::ids).collect()
    }

    fn look(&self, number: usize, mut each: impl FnMut(&Notes)) -> Vec<Run> {
        let state = self.state.read();
        each(&state.notes);
        state.frozen.iter().rev().for_each(|notes| each(notes));
        state.runs[number].iter().rev().cloned().collect()
    }

    pub(crate) fn round(
        &self,
        stream: &StreamId,
        round: u64,
        bet: Option<Position>,
    ) -> Result<Vec<Position>, ViewError> {
        let player = player_hash(stream);
        let mut found: BTreeSet<Position> = bet.into_iter().collect();
        let runs = self.look(0, |notes| {
            found.extend(notes.later.get(&(player, round)).into_iter().flatten());
            if bet.is_none() {
                let bets = groups_of(&notes.bets, &player).flat_map(|(_, bets)| bets);
                found.extend(bets.filter(|of| of.0 == round).map(|of| of.1));
            }
        });
        let later = later_key(player, round);
        for run in having(runs, &player) {
            run.find(&later, |_, value| {
                found.extend(postcard::from_bytes::<Vec<Position>>(value).unwrap_or_default())
            })?;
            if bet.is_none() {
                for group in groups(&run, &player)? {
                    let bets = latest_bets(&run, &group, round.saturating_add(1), 1)?;
                    found.extend(bets.into_iter().filter(|of| of.0 == round).map(|of| of.1));
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the player's latest rounds with a number below `below` and a [`group`] (player, currency, game) that
    /// starts with `within`. Can return more than `max` rounds; returns fewer only if no more exist.
    pub(crate) fn bets(&self, player: &StreamId, within: &[u8], below: u64, max: usize) -> Result<Vec<Bet>, ViewError> {
        let mut found = vec![];
        let runs = self.look(0, |notes| {
            let bets = groups_of(&notes.bets, within)
                .flat_map(|(_, bets)| bets.iter().rev().filter(|of| of.0 < below).take(max));
            found.extend(bets.copied());
        });
        for run in having(runs, &player_hash(player)) {
            if found.len() >= max {
                break;
            }
            for group in groups(&run, within)? {
                found.extend(latest_bets(&run, &group, below, max)?);
            }
        }
        Ok(found)
    }

    pub(crate) fn awards_before(
        &self,
        pool: &StreamId,
        operator: Option<&str>,
        before: Position,
        max: usize,
    ) -> Result<Vec<Position>, ViewError> {
        let all = award_prefix(pool, operator.unwrap_or_default());
        let range = numbered(&all, 0)..numbered(&all, before);
        let mut found = vec![];
        let runs = self.look(1, |notes| {
            found.extend(notes.awards.range(range.clone()).rev().take(max).map(|key| number(key)));
        });
        for run in runs {
            if found.len() >= max {
                break;
            }
            found.extend(latest(&run, &all, before, max, |_| 1)?.into_iter().rev().map(|(position, _)| position));
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.dedup();
        found.truncate(max);
        Ok(found)
    }

    /// Returns the positions of commits with this [name](names) or another name with the same hash, latest first, at
    /// most `max` per run.
    pub(crate) fn with_name(&self, operator: &str, name: &str, max: usize) -> Result<Vec<Position>, ViewError> {
        let (wanted, mut found) = (names::key(operator, name), vec![]);
        let runs = self.look(3, |notes| {
            let all = notes.names.iter().rev().filter(|(of, _)| *of == wanted);
            found.extend(all.take(max).map(|(_, position)| *position));
        });
        for run in runs {
            let mut left = max;
            run.scan(&wanted, |key, _| {
                let is_wanted = key.starts_with(&wanted) && left > 0;
                if is_wanted {
                    left -= 1;
                    found.push(short_position(key));
                }
                is_wanted
            })?;
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.dedup();
        Ok(found)
    }

    pub(crate) fn with_hash(&self, hash: &Hash) -> Result<Vec<Position>, ViewError> {
        let (wanted, mut found) = (prefix(hash), vec![]);
        let runs = self.look(2, |notes| {
            let all = notes.hashes.iter().zip(notes.from + 1..);
            found.extend(all.filter(|(of, _)| **of == wanted).map(|(_, position)| position));
        });
        for run in runs {
            run.find(&wanted, |key, _| found.push(short_position(key)))?;
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        Ok(found)
    }
}

fn round_of(event: &Event) -> Option<u64> {
    match event {
        Event::StepResolved(step) => Some(step.round),
        Event::RoundSettled { round, .. } | Event::RoundVoided { round, .. } | Event::JackpotHit { round, .. } => {
            Some(*round)
        }
        _ => None,
    }
}

fn groups_of<'a>(
    bets: &'a BTreeMap<Vec<u8>, Vec<Bet>>,
    within: &'a [u8],
) -> impl Iterator<Item = (&'a Vec<u8>, &'a Vec<Bet>)> {
    bets.range(within.to_vec()..).take_while(move |(group, _)| group.starts_with(within))
}

fn having(runs: Vec<Run>, player: &[u8; 8]) -> impl Iterator<Item = Run> {
    let (player, hash) = (*player, filter_hash(player));
    runs.into_iter().filter(move |run| run.may_contain(&player, hash))
}

fn groups(run: &Run, within: &[u8]) -> Result<Vec<Vec<u8>>, ViewError> {
    let (mut groups, mut from) = (vec![], within.to_vec());
    // After a player's hash (8 bytes), a bet's key has a currency. Later commits of a round have 0 and are skipped.
    if from.len() == 8 {
        from.push(1);
    }
    loop {
        let mut next = None;
        run.scan(&from, |key, _| {
            next = key.split_last_chunk::<8>().filter(|_| key.starts_with(within)).map(|(group, _)| group.to_vec());
            false
        })?;
        let Some(group) = next else { return Ok(groups) };
        from = [&numbered(&group, u64::MAX)[..], &[0]].concat();
        groups.push(group);
    }
}

fn latest_bets(run: &Run, group: &[u8], below: u64, max: usize) -> Result<Vec<Bet>, ViewError> {
    let decode = |value: &[u8]| postcard::from_bytes::<Vec<Bet>>(value);
    let found = latest(run, group, below, max, |value| {
        decode(value).map_or(0, |bets| bets.iter().filter(|of| of.0 < below).count())
    })?;
    let mut bets = vec![];
    for (_, value) in found {
        let wrong = |_| ViewError::Entry { keyspace: ROUNDS.name, reason: "the entry cannot be decoded" };
        bets.extend(decode(&value).map_err(wrong)?.into_iter().filter(|of| of.0 < below));
    }
    Ok(bets)
}

/// Returns the run's last entries whose key is `all` followed by a number below `below`, in key order. The sum
/// of `count` over the entries is below `max` only if there are no more entries.
fn latest(
    run: &Run,
    all: &[u8],
    below: u64,
    max: usize,
    count: impl Fn(&[u8]) -> usize,
) -> Result<Vec<(u64, Vec<u8>)>, ViewError> {
    let mut window: u64 = 1 << 10;
    loop {
        let (first, end) = (below.saturating_sub(window), numbered(all, below));
        let (mut found, mut counted) = (vec![], 0);
        run.scan(&numbered(all, first), |key, value| {
            let is_before = *key < end[..];
            if is_before {
                counted += count(value);
                found.push((number(key), value.to_vec()));
            }
            is_before
        })?;
        if first == 0 || counted >= max {
            return Ok(found);
        }
        window = window.saturating_mul(32);
    }
}

fn player_hash(stream: &StreamId) -> [u8; 8] {
    match stream {
        StreamId::Player { operator, player } => {
            filter_hash(&[operator.as_bytes(), &[0], player.as_bytes()].concat()).to_be_bytes()
        }
        other => filter_hash(other.to_string().as_bytes()).to_be_bytes(),
    }
}

pub(crate) fn group(stream: &StreamId, currency: Currency, game: &str) -> Vec<u8> {
    let mut group = [&player_hash(stream)[..], currency.code().as_bytes(), &[0]].concat();
    if !game.is_empty() {
        group.extend_from_slice(game.as_bytes());
        group.push(0);
    }
    group
}

fn later_key(player: [u8; 8], round: u64) -> Vec<u8> {
    [&player[..], &[0], &round.to_be_bytes()].concat()
}

fn award_prefix(pool: &StreamId, operator: &str) -> Vec<u8> {
    format!("{pool}\0{operator}\0").into_bytes()
}

fn numbered(all: &[u8], number: u64) -> Vec<u8> {
    [all, &number.to_be_bytes()].concat()
}

fn number(key: &[u8]) -> u64 {
    key.last_chunk().copied().map_or(0, u64::from_be_bytes)
}

fn short_position(key: &[u8]) -> Position {
    number(key) & ((1 << 40) - 1)
}

fn prefix(hash: &Hash) -> [u8; 8] {
    hash.first_chunk().copied().unwrap_or_default()
}

pub(crate) use names::of_commit as names_of;

#[cfg(test)]
mod tests;
