//! Rounds that were voided after their settlement (PL-04). At the first such void the audit reads the log two more
//! times: first to find all voided rounds, then to collect their events.

use crate::divergence::{Fault, open};
use motherlode_state::{Commit, Event, SettledRound, StreamId};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::OnceLock,
};

type Key = (StreamId, u64);

pub(crate) struct Recalled {
    log: PathBuf,
    read: fn(&[u8]) -> Option<Commit>,
    rounds: OnceLock<BTreeMap<Key, SettledRound>>,
}

impl Recalled {
    pub(crate) fn new(log: PathBuf, read: fn(&[u8]) -> Option<Commit>) -> Self {
        Self { log, read, rounds: OnceLock::new() }
    }

    pub(crate) fn round(&self, stream: &StreamId, round: u64) -> Result<&SettledRound, Fault> {
        let rounds = self.rounds.get_or_init(|| self.look_up());
        let settled = rounds.get(&(stream.clone(), round));
        settled.ok_or_else(|| Fault::new("the settlement of a voided round is missing", "its settlement", "none"))
    }

    fn look_up(&self) -> BTreeMap<Key, SettledRound> {
        let voids: BTreeSet<Key> = self.commits().flat_map(|commit| rounds_of(&commit, is_void)).collect();
        let mut commits = BTreeMap::<Key, Vec<Commit>>::new();
        for commit in self.commits() {
            for key in rounds_of(&commit, is_play).intersection(&voids) {
                commits.entry(key.clone()).or_default().push(commit.clone());
            }
        }
        let recall = |(key, commits): (Key, Vec<Commit>)| SettledRound::recall(key.1, &commits).map(|of| (key, of));
        commits.into_iter().filter_map(recall).collect()
    }

    fn commits(&self) -> impl Iterator<Item = Commit> {
        let records = open(&self.log).ok().into_iter().flatten().map_while(Result::ok);
        records.map_while(|stored| (self.read)(&stored.bytes))
    }
}

fn rounds_of(commit: &Commit, of: fn(&Event) -> Option<u64>) -> BTreeSet<Key> {
    commit.events.iter().filter_map(of).map(|round| (commit.stream.clone(), round)).collect()
}

fn is_void(event: &Event) -> Option<u64> {
    match event {
        Event::RoundVoided { round, .. } => Some(*round),
        _ => None,
    }
}

fn is_play(event: &Event) -> Option<u64> {
    match event {
        Event::RoundStarted(started) => Some(started.round),
        Event::StepResolved(step) => Some(step.round),
        Event::RoundSettled { round, .. } | Event::JackpotPaid { round, .. } => Some(*round),
        _ => None,
    }
}
