use motherlode_log::Position;
use motherlode_state::{Books, Commit, Decision, Event, HOME, Nano, PoolState, SmolStr, StreamId};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::mpsc::{Receiver, SyncSender},
};

#[derive(Debug)]
pub(crate) enum Fact {
    Contributed(Contributed),
    Pool { position: Position, events: Vec<Event>, state: Box<PoolState> },
    Control(Control),
    End(Position),
}

#[derive(Debug)]
pub(crate) struct Contributed {
    pub(crate) position: Position,
    pub(crate) pool: String,
    pub(crate) contribution: Nano,
    pub(crate) decision: Option<Decision>,
    pub(crate) kept: Option<KeptContribution>,
    pub(crate) open_rounds: u64,
}

#[derive(Debug)]
pub(crate) struct KeptContribution {
    pub(crate) operator: SmolStr,
    pub(crate) game: SmolStr,
    pub(crate) rules_version: SmolStr,
    pub(crate) minute: i64,
    pub(crate) amount: Nano,
}

#[derive(Debug, Clone)]
pub(crate) struct Control {
    pub(crate) position: Position,
    pub(crate) copies: Option<Position>,
    pub(crate) stream: StreamId,
    pub(crate) events: Vec<Event>,
}

impl Fact {
    fn position(&self) -> Position {
        match self {
            Self::Contributed(effect) => effect.position,
            Self::Control(control) => control.position,
            Self::Pool { position, .. } | Self::End(position) => *position,
        }
    }
}

pub(crate) struct FactSender {
    pub(crate) partitions: u32,
    to: SyncSender<Vec<Fact>>,
    batch: Vec<Fact>,
    open_rounds: BTreeMap<String, u64>,
}

impl FactSender {
    pub(crate) fn new(partitions: u32, to: SyncSender<Vec<Fact>>) -> Self {
        Self { partitions, to, batch: vec![], open_rounds: BTreeMap::new() }
    }

    pub(crate) fn take(&mut self, commit: &Commit, books: &Books) {
        let position = commit.position;
        match &commit.stream {
            StreamId::Player { .. } if commit.partition == HOME => {}
            StreamId::Player { .. } => books.pools().for_each(|pool| self.player(commit, books, &pool.name)),
            StreamId::Pool(name) => {
                let state = books.pool(name).cloned().map(Box::new);
                let events = commit.events.clone();
                self.batch.extend(state.map(|state| Fact::Pool { position, events, state }));
            }
            stream @ (StreamId::Rates | StreamId::System) => {
                let holds = |event: &&Event| matches!(event, Event::RateSet { .. } | Event::SwitchSet { .. });
                let events: Vec<_> = commit.events.iter().filter(holds).cloned().collect();
                if !events.is_empty() {
                    let (copies, stream) = (commit.copies(), stream.clone());
                    self.batch.push(Fact::Control(Control { position, copies, stream, events }));
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
        let kept = books.void_at(pool, commit.position).map(|void| KeptContribution {
            operator: void.operator,
            game: void.game,
            rules_version: void.rules_version,
            minute: void.minute,
            amount: void.in_stretch,
        });
        let open_rounds = books.contributing_rounds(pool);
        let opened_or_closed = self.open_rounds.get(pool).copied().unwrap_or_default() != open_rounds;
        if contribution != Nano::ZERO || decision.is_some() || kept.is_some() || opened_or_closed {
            self.open_rounds.insert(pool.to_owned(), open_rounds);
            let (position, pool) = (commit.position, pool.to_owned());
            let contributed = Contributed { position, pool, contribution, decision, kept, open_rounds };
            self.batch.push(Fact::Contributed(contributed));
        }
    }

    pub(crate) fn flush(&mut self) {
        if !self.batch.is_empty() {
            let _ = self.to.send(std::mem::take(&mut self.batch));
        }
    }

    pub(crate) fn end(&mut self, position: Position) {
        self.batch.push(Fact::End(position));
        self.flush();
    }
}

pub(crate) struct FactReceiver {
    from: Receiver<Vec<Fact>>,
    received: VecDeque<Fact>,
    pub(crate) end: Option<Position>,
}

#[derive(Debug)]
pub(crate) struct Disconnected;

impl FactReceiver {
    pub(crate) fn new(from: Receiver<Vec<Fact>>) -> Self {
        Self { from, received: VecDeque::new(), end: None }
    }

    pub(crate) fn next(&mut self, to: Position) -> Result<Option<Fact>, Disconnected> {
        while self.received.is_empty() && self.end.is_none() {
            self.received.extend(self.from.recv().map_err(|_| Disconnected)?);
        }
        let fact = self.received.pop_front_if(|fact| fact.position() <= to || matches!(fact, Fact::End(_)));
        match fact {
            Some(Fact::End(position)) => {
                self.end = Some(position);
                Ok(None)
            }
            fact => Ok(fact),
        }
    }
}
