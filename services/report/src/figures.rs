use crate::{
    open_round::OpenRound, pool_operators::PoolOperators, pools::Pools, returns::Returns, significant::Significant,
};
use motherlode_proto::convert::record::Logged;
use motherlode_rounds::is_gamble;
use motherlode_runtime::config::Report;
use motherlode_state::{Bet, Event, Revenue, RoundKey, Statement, StreamId, UnknownBet, date};
use motherlode_views::Run;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};

#[derive(Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) significant: Significant,
    pub(crate) returns: Returns,
    pub(crate) pools: Pools,
    pub(crate) pool_operators: PoolOperators,
    statement: Statement,
    pub(crate) revenue: Revenue,
    days: BTreeMap<i64, u64>,
    open: BTreeMap<(StreamId, u64), OpenRound<'static>>,
}

impl Figures {
    pub(crate) fn new(config: &Report) -> Self {
        Self {
            significant: Significant::new(config),
            returns: Returns::default(),
            pools: Pools::default(),
            pool_operators: PoolOperators::default(),
            statement: Statement::default(),
            revenue: Revenue::default(),
            days: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    pub(crate) fn with(self, config: &Report, events: Vec<Run>) -> Option<Self> {
        Some(Self { significant: self.significant.with(config, events)?, ..self })
    }

    pub(crate) fn open_rounds(&self) -> u64 {
        self.open.len() as u64
    }

    pub(crate) fn of_day(&self, day: i64) -> Option<(u64, Option<u64>)> {
        let first = *self.days.get(&day)?;
        Some((first, self.days.range(day + 1..).next().map(|(_, next)| *next)))
    }

    /// Adds a commit's figures; an error leaves the figures unchanged. For `known`, see [`Statement::take`].
    pub(crate) fn take(&mut self, logged: &Logged, known: &BTreeMap<RoundKey, Bet>) -> Result<(), UnknownBet> {
        let commit = &logged.commit;
        let transactions = self.statement.take(commit, &logged.balances_after, known)?;
        if let StreamId::Player { operator, .. } = &commit.stream {
            self.revenue.take(operator, commit.time_ms, &transactions);
        }
        self.days.entry(date::day_of(commit.time_ms)).or_insert(commit.position);
        let key = |round: u64| (commit.stream.clone(), round);
        let mut begun: Option<OpenRound<'_>> = None;
        for (number, event) in (1..).zip(&commit.events) {
            let ended = match event {
                Event::RoundStarted(started) => {
                    begun = Some(OpenRound::new(Cow::Borrowed(started)));
                    None
                }
                Event::StepResolved(step) if is_gamble(&step.choice) => None,
                Event::StepResolved(step) => {
                    if let Some(open) = &mut begun {
                        open.step(step);
                    } else if let Some(open) = self.open.get_mut(&key(step.round)) {
                        open.step(step);
                    }
                    None
                }
                Event::CollectionChanged { changes, .. } => {
                    if let Some(open) = &mut begun {
                        open.carries(changes);
                    }
                    None
                }
                Event::RoundSettled { round, .. } => {
                    let open = begun.take().or_else(|| self.open.remove(&key(*round)));
                    if let (Some(open), StreamId::Player { operator, .. }) = (&open, &commit.stream) {
                        self.returns.settled(operator, open, commit.time_ms);
                    }
                    open
                }
                Event::RoundVoided { round, .. } => self.open.remove(&key(*round)),
                _ => None,
            };
            self.pools.take(logged, event);
            self.pool_operators.take(logged, event);
            self.significant.take(logged, number, event, ended.as_ref());
        }
        if let Some(open) = begun {
            self.open.insert(key(open.started.round), open.into_owned());
        }
        Ok(())
    }
}
