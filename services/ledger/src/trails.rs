//! Positions of rounds' commits not yet in the index.
//!
//! A *group* is a player's rounds of one game in one currency, by number. The index has 64 of them per value, fewer at
//! a mark. A value replaces all that begin among its rounds, since a restart can split them differently.

use crate::index::{Change, Index, IndexError, key};
use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use motherlode_state::{Currency, Event, RoundStarted, StreamId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const PORTION: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) round: u64,
    pub(crate) at: Vec<Position>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    group: Vec<u8>,
    at: Vec<Position>,
    /// Whether the index has the round, perhaps in an earlier state.
    #[serde(skip)]
    kept: bool,
    /// Whether the index lacks the round's current state.
    #[serde(skip)]
    changed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Trails {
    pub(crate) to: Position,
    pending: BTreeMap<Vec<u8>, Vec<Entry>>,
    open: BTreeMap<(StreamId, u64), Open>,
    /// Keys of finished rounds that are open in the index until the next mark is durable, because a restart begins at the
    /// previous mark.
    over: Vec<Vec<u8>>,
}

impl Trails {
    pub(crate) fn load(index: &Index, to: Position) -> Result<Self, IndexError> {
        let mut trails = Self { to, ..Self::default() };
        for entry in index.all(b'O') {
            let (key, value) = entry?;
            let named = parse_open_key(&key).ok_or(IndexError::Malformed)?;
            let open: Open = postcard::from_bytes(&value).map_err(|_| IndexError::Malformed)?;
            trails.open.insert(named, Open { kept: true, ..open });
        }
        Ok(trails)
    }

    pub(crate) fn note(&mut self, logged: &Logged, portions: &mut Vec<Portion>) {
        let commit = &logged.commit;
        let position = commit.position;
        let mut begun: Option<&RoundStarted> = None;
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) => begun = Some(started),
                Event::StepResolved(step) if begun.is_none_or(|begun| begun.round != step.round) => {
                    if let Some(open) = self.open.get_mut(&(commit.stream.clone(), step.round)) {
                        open.add(position);
                    }
                }
                Event::RoundSettled { round, .. } | Event::RoundVoided { round, .. } => {
                    let over = match begun.take_if(|begun| begun.round == *round) {
                        Some(started) => Some((group(&commit.stream, started.currency, &started.game), vec![position])),
                        None => self.end(&commit.stream, *round, position),
                    };
                    if let Some((group, at)) = over {
                        portions.extend(self.add(group, Entry { round: *round, at }));
                    }
                }
                _ => {}
            }
        }
        if let Some(started) = begun {
            let group = || group(&commit.stream, started.currency, &started.game);
            let new = || Open { group: group(), at: vec![], kept: false, changed: true };
            self.open.entry((commit.stream.clone(), started.round)).or_insert_with(new).add(position);
        }
        self.to = position;
    }

    fn end(&mut self, stream: &StreamId, round: u64, position: Position) -> Option<(Vec<u8>, Vec<Position>)> {
        let mut open = self.open.remove(&(stream.clone(), round))?;
        if open.kept {
            self.over.push(open_key(stream, round));
        }
        open.add(position);
        Some((open.group, open.at))
    }

    fn add(&mut self, group: Vec<u8>, entry: Entry) -> Option<Portion> {
        match self.pending.get_mut(&group) {
            None => drop(self.pending.insert(group, vec![entry])),
            Some(pending) if pending.len() + 1 < PORTION => pending.push(entry),
            Some(_) => {
                let mut entries = self.pending.remove(&group)?;
                entries.push(entry);
                return Some(Portion { group, entries });
            }
        }
        None
    }

    pub(crate) fn pending_groups(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn take_rest(&mut self) -> (Vec<Portion>, Vec<Change>) {
        let rest = std::mem::take(&mut self.pending).into_iter();
        let portions = rest.map(|(group, entries)| Portion { group, entries }).collect();
        let changed = self.open.iter_mut().filter(|(_, open)| open.changed || !open.kept);
        let opens = changed.filter_map(|((stream, round), open)| {
            (open.kept, open.changed) = (true, false);
            Some((open_key(stream, *round), Some(postcard::to_allocvec(open).ok()?)))
        });
        (portions, opens.collect())
    }

    pub(crate) fn take_over(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.over).into_iter().map(|key| (key, None)).collect()
    }

    pub(crate) fn round(&self, stream: &StreamId, round: u64) -> Option<Vec<Position>> {
        if let Some(open) = self.open.get(&(stream.clone(), round)) {
            return Some(open.at.clone());
        }
        let groups = key(b'G', &[stream], &[]);
        let mut entries = self.pending_of(&groups).flat_map(|(_, entries)| entries);
        entries.find(|entry| entry.round == round).map(|entry| entry.at.clone())
    }

    pub(crate) fn open_of<'a>(&'a self, stream: &StreamId, groups: &'a [u8]) -> impl Iterator<Item = Entry> + 'a {
        let rounds = self.open.range((stream.clone(), 0)..=(stream.clone(), u64::MAX));
        let within = rounds.filter(|(_, open)| open.group.starts_with(groups));
        within.map(|((_, round), open)| Entry { round: *round, at: open.at.clone() })
    }

    pub(crate) fn pending_of<'a>(&'a self, groups: &'a [u8]) -> impl Iterator<Item = (&'a Vec<u8>, &'a Vec<Entry>)> {
        self.pending.range(groups.to_vec()..).take_while(move |(group, _)| group.starts_with(groups))
    }
}

impl Open {
    fn add(&mut self, position: Position) {
        if self.at.last().is_none_or(|last| *last < position) {
            self.at.push(position);
            self.changed = true;
        }
    }
}

#[derive(Debug)]
pub(crate) struct Portion {
    group: Vec<u8>,
    entries: Vec<Entry>,
}

impl Portion {
    pub(crate) fn changes(&self, index: &Index) -> Result<Vec<Change>, IndexError> {
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else { return Ok(vec![]) };
        let place = portion_key(&self.group, first.round);
        let value = postcard::to_allocvec(&self.entries).map_err(|_| IndexError::Malformed)?;
        let mut changes = vec![];
        for replaced in index.back(&place, &portion_key(&self.group, last.round.saturating_add(1))) {
            changes.push((replaced?.0.to_vec(), None));
        }
        changes.push((place, Some(value)));
        Ok(changes)
    }
}

pub(crate) fn portion_key(group: &[u8], round: u64) -> Vec<u8> {
    [group, &round.to_be_bytes()].concat()
}

pub(crate) fn group(stream: &StreamId, currency: Currency, game: &str) -> Vec<u8> {
    let StreamId::Player { operator, player } = stream else {
        return key(b'G', &[stream, &currency.code(), &game], &[]);
    };
    let parts = ["Gplayer/", operator, "/", player, "\0", currency.code(), "\0", game, "\0"];
    parts.concat().into_bytes()
}

fn open_key(stream: &StreamId, round: u64) -> Vec<u8> {
    key(b'O', &[stream], &round.to_be_bytes())
}

fn parse_open_key(key: &[u8]) -> Option<(StreamId, u64)> {
    let (name, round) = key.get(1..)?.split_last_chunk::<8>()?;
    let stream = std::str::from_utf8(name.strip_suffix(&[0])?).ok()?.parse().ok()?;
    Some((stream, u64::from_be_bytes(*round)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_groups_are_as_those_of_all_else() {
        for stream in [StreamId::player("acme", "alice"), StreamId::player("a", "~b.c-1"), StreamId::pool("bewitched")]
        {
            let formatted = key(b'G', &[&stream, &Currency::EUR.code(), &"neptune"], &[]);
            assert_eq!(group(&stream, Currency::EUR, "neptune"), formatted, "{stream}");
        }
    }
}
