//! The figures of a partition's log that reports are made of: one fold, commit by commit.

use crate::{open_round::OpenRound, pools::Pools, returns::Returns, significant::Significant};
use motherlode_books::{Event, StreamId};
use motherlode_proto::convert::record::Logged;
use motherlode_rounds::is_gamble;
use motherlode_runtime::config::Report;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};

/// The figures of a partition's log.
#[derive(Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) significant: Significant,
    pub(crate) returns: Returns,
    pub(crate) pools: Pools,
    /// Rounds that stayed open past the commit of their bet.
    open: BTreeMap<(StreamId, u64), OpenRound<'static>>,
}

impl Figures {
    pub(crate) fn new(config: &Report) -> Self {
        let (returns, pools) = (Returns::default(), Pools::default());
        Self { significant: Significant::new(config), returns, pools, open: BTreeMap::new() }
    }

    /// The same with these thresholds, which are not kept with them.
    pub(crate) fn with(self, config: &Report) -> Self {
        Self { significant: self.significant.with(config), ..self }
    }

    /// Rounds that wait for their players.
    pub(crate) fn open_rounds(&self) -> u64 {
        self.open.len() as u64
    }

    /// Takes up a commit.
    pub(crate) fn take(&mut self, logged: &Logged) {
        let commit = &logged.commit;
        let key = |round: u64| (commit.stream.clone(), round);
        // Most rounds settle in the commit of their bet, and are never kept.
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
                        self.returns.settled(operator, open);
                    }
                    open
                }
                Event::RoundVoided { round, .. } => self.open.remove(&key(*round)),
                _ => None,
            };
            self.pools.take(logged, event);
            self.significant.take(logged, number, event, ended.as_ref());
        }
        if let Some(open) = begun {
            self.open.insert(key(open.started.round), open.into_owned());
        }
    }
}
