//! Each worker decodes, checks and resolves the records of its players, and computes their daily sums.

use crate::{
    divergence::{Divergence, Fault},
    judge::Judge,
    play::Plays,
    playing::{PlayerDigest, Players},
    reading::{RecordBatch, name_of},
    recalled::Recalled,
};
use motherlode_log::{Hash, Record};
use motherlode_proto::convert::record::{self, Logged};
use motherlode_state::{Commit, CommonState, Left, StreamId, Totals};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender},
    },
};

pub(crate) struct JudgedBatch {
    pub(crate) commits: Vec<(Logged, Left)>,
    pub(crate) totals: Totals,
    pub(crate) players: Vec<PlayerDigest>,
}

pub(crate) struct Worker<'a> {
    pub(crate) players: Players,
    pub(crate) judge: Judge<'a>,
    pub(crate) plays: Plays<'a>,
    partition: u32,
    compared: bool,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(partition: u32, partitions: Option<u32>, recalled: &'a Recalled) -> Self {
        let judge = Judge::new(partition, partitions, recalled);
        let (players, plays) = (Players::default(), Plays::new(recalled));
        Self { players, judge, plays, partition, compared: partitions.is_some() }
    }

    /// Checks batches and sends them to the last stage, `fold`. If a commit is faulty, sends only the batch's commits
    /// before it. Holds the last `kept` batches until `fold` has dropped them, so that this thread frees their memory.
    pub(crate) fn run(
        &mut self,
        parts: &Receiver<RecordBatch>,
        shared: &Receiver<Arc<CommonState>>,
        fold: &SyncSender<Arc<JudgedBatch>>,
        kept: usize,
    ) -> Result<(), Box<Divergence>> {
        let mut handed_on = VecDeque::with_capacity(kept + 1);
        for RecordBatch { of_partition, follows, digests, records } in parts {
            if follows {
                let Ok(shared) = shared.recv() else { break };
                self.judge.share.follow(&shared);
            }
            let mut commits = Vec::with_capacity(records.len());
            let checked = records.into_iter().try_for_each(|(record, hash)| {
                let checked = self.record(of_partition, &record, hash, &mut commits);
                checked.map_err(|fault| fault.at(self.partition, record.position))
            });
            let mut judged = JudgedBatch { commits, totals: self.judge.share.take_totals(), players: vec![] };
            let digested = if digests && checked.is_ok() { self.players.digests() } else { Ok(vec![]) };
            let digested = digested.map(|players| judged.players = players);
            let judged = Arc::new(judged);
            let _ = fold.send(Arc::clone(&judged));
            handed_on.push_back(judged);
            if handed_on.len() > kept {
                handed_on.pop_front();
            }
            checked?;
            digested.map_err(|fault| fault.at(self.partition, 0))?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        of_partition: bool,
        record: &Record,
        hash: Hash,
        commits: &mut Vec<(Logged, Left)>,
    ) -> Result<(), Fault> {
        let Self { players, judge, plays, partition, compared } = self;
        let Record { position, bytes } = record;
        let name = name_of(bytes);
        let known = players.named(&name);
        let logged = record::decode_known(bytes, known.as_deref().map(|player| (&*name, &player.stream)));
        let mut logged = logged.map_err(|malformed| Fault::new("the record is not a commit", "a commit", malformed))?;
        let Commit { stream, .. } = &logged.commit;
        if !of_partition || logged.commit.partition != *partition {
            return Err(Fault::new(
                "the record's partition differs from its log's partition",
                partition,
                logged.commit.partition,
            ));
        }
        if logged.commit.position != *position {
            return Err(Fault::new(
                "the record's position does not match its place in the log",
                position,
                logged.commit.position,
            ));
        }
        if !matches!(stream, StreamId::Player { .. }) {
            commits.push((logged, Left::default()));
            return Ok(());
        }
        let player = match known {
            Some(player) if player.stream == *stream => player,
            None if *name == *stream.to_string().as_bytes() => players.for_stream(stream),
            _ => return Err(Fault::new("the record names two streams", String::from_utf8_lossy(&name), stream)),
        };
        let left = judge.commit(&mut player.state, &logged, hash)?;
        let checked = plays.commit(player, &logged.commit);
        if !*compared {
            logged.commit.events = vec![];
        }
        commits.push((logged, left));
        checked
    }
}
