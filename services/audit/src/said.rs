//! The facts by which partitions are compared, on their way from each partition's fold to the comparison.

use motherlode_books::{Books, Commit, Decision, Event, HOME, Nano, PoolState, StreamId};
use motherlode_log::Position;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::mpsc::{Receiver, SyncSender},
};

/// One thing that was said, in the order of the partition's log.
#[derive(Debug)]
pub(crate) enum Said {
    /// By a player's commit in another partition than home: something is left for a pool.
    Left(Left),
    /// By a commit of a pool's stream; the pool after it.
    Pool { position: Position, events: Vec<Event>, state: Box<PoolState> },
    /// By a commit of the rates or the system: what holds for all partitions.
    Control(Control),
    /// The whole log was read and held, up to here.
    End(Position),
}

/// The effect of a player's commit on a pool.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) position: Position,
    pub(crate) pool: String,
    pub(crate) contribution: Nano,
    pub(crate) decision: Option<Decision>,
    /// Rounds open after it that contributed and can still hit.
    pub(crate) open_rounds: u64,
}

/// Rates and switches that were set in one commit.
#[derive(Debug, Clone)]
pub(crate) struct Control {
    pub(crate) position: Position,
    /// The position at home that it copies, if it's a copy.
    pub(crate) copies: Option<Position>,
    pub(crate) stream: StreamId,
    pub(crate) events: Vec<Event>,
}

impl Said {
    fn position(&self) -> Position {
        match self {
            Self::Left(left) => left.position,
            Self::Control(control) => control.position,
            Self::Pool { position, .. } | Self::End(position) => *position,
        }
    }
}

/// The mouth: what commits say, a batch at a time. Nobody listens any more once something was found.
pub(crate) struct Telling {
    /// How many partitions there are.
    pub(crate) partitions: u32,
    to: SyncSender<Vec<Said>>,
    batch: Vec<Said>,
    open_rounds: BTreeMap<String, u64>,
}

impl Telling {
    pub(crate) fn new(partitions: u32, to: SyncSender<Vec<Said>>) -> Self {
        Self { partitions, to, batch: vec![], open_rounds: BTreeMap::new() }
    }

    /// Takes a commit, and the books after it.
    pub(crate) fn take(&mut self, commit: &Commit, books: &Books) {
        let position = commit.position;
        match &commit.stream {
            StreamId::Player { .. } if commit.partition == HOME => {}
            StreamId::Player { .. } => books.pools().for_each(|pool| self.player(commit, books, &pool.name)),
            StreamId::Pool(name) => {
                let state = books.pool(name).cloned().map(Box::new);
                let events = commit.events.clone();
                self.batch.extend(state.map(|state| Said::Pool { position, events, state }));
            }
            stream @ (StreamId::Rates | StreamId::System) => {
                let holds = |event: &&Event| matches!(event, Event::RateSet { .. } | Event::SwitchSet { .. });
                let events: Vec<_> = commit.events.iter().filter(holds).cloned().collect();
                if !events.is_empty() {
                    let (copies, stream) = (commit.copies(), stream.clone());
                    self.batch.push(Said::Control(Control { position, copies, stream, events }));
                }
            }
        }
    }

    fn player(&mut self, commit: &Commit, books: &Books, pool: &str) {
        let given = commit.events.iter().filter_map(|event| match event {
            Event::RoundStarted(started) => started.contribution.as_ref().filter(|given| given.pool == *pool),
            _ => None,
        });
        let contribution = Nano(given.map(|given| given.amount.0).sum());
        let decides = |event: &Event| matches!(event, Event::JackpotHit { .. } | Event::RoundVoided { .. });
        let decision = match commit.events.iter().any(decides) {
            true => books.pending_decisions(pool).last().filter(|last| last.position() == commit.position).cloned(),
            false => None,
        };
        let open_rounds = books.contributing_rounds(pool);
        let opened_or_closed = self.open_rounds.get(pool).copied().unwrap_or_default() != open_rounds;
        if contribution != Nano::ZERO || decision.is_some() || opened_or_closed {
            self.open_rounds.insert(pool.to_owned(), open_rounds);
            let (position, pool) = (commit.position, pool.to_owned());
            self.batch.push(Said::Left(Left { position, pool, contribution, decision, open_rounds }));
        }
    }

    /// Sends what was taken since.
    pub(crate) fn flush(&mut self) {
        if !self.batch.is_empty() {
            let _ = self.to.send(std::mem::take(&mut self.batch));
        }
    }

    /// The whole log was read and held.
    pub(crate) fn end(&mut self, position: Position) {
        self.batch.push(Said::End(position));
        self.flush();
    }
}

/// The ear: what one partition says, in order.
pub(crate) struct Hearing {
    from: Receiver<Vec<Said>>,
    heard: VecDeque<Said>,
    /// Where the partition ends, once that was heard.
    pub(crate) end: Option<Position>,
}

/// A partition fell silent before its end: its own audit has found something.
#[derive(Debug)]
pub(crate) struct Silent;

impl Hearing {
    pub(crate) fn new(from: Receiver<Vec<Said>>) -> Self {
        Self { from, heard: VecDeque::new(), end: None }
    }

    /// The next thing that was said up to a position; `None` when nothing more was.
    pub(crate) fn next(&mut self, to: Position) -> Result<Option<Said>, Silent> {
        while self.heard.is_empty() && self.end.is_none() {
            self.heard.extend(self.from.recv().map_err(|_| Silent)?);
        }
        let said = self.heard.pop_front_if(|said| said.position() <= to || matches!(said, Said::End(_)));
        match said {
            Some(Said::End(position)) => {
                self.end = Some(position);
                Ok(None)
            }
            said => Ok(said),
        }
    }
}
