//! Finds a round in the log and resolves it again (PL-06). The whole log is scanned, because a jackpot can be paid long
//! after the round.

use crate::{
    divergence::{Divergence, Fault, Unusable, open},
    outcome::difference,
};
use motherlode_log::ScanError;
use motherlode_proto::{
    convert::{Malformed, record},
    round::v1::Outcome,
};
use motherlode_rounds::{Fold, Live, RoundView, collection, view::StepView};
use motherlode_slots::{self as slots, Carried, Seed};
use motherlode_state::{RoundStarted, StreamId};
use prost::Message;
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Round with recomputed outcomes. A step that cannot be resolved keeps its logged outcome.
    pub view: RoundView,
    /// For each step, how the recomputed outcome differs from the log; `None` if it matches or the step cannot be resolved
    /// yet.
    pub differs: Vec<Option<String>>,
    pub resolved: usize,
}

impl Replayed {
    #[must_use]
    pub fn matches(&self) -> bool {
        self.differs.iter().all(Option::is_none)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Unusable(#[from] Unusable),
    #[error("{0}")]
    Damaged(Box<Divergence>),
}

pub fn replay(log: &Path, stream: &StreamId, number: u64) -> Result<Option<Replayed>, ReplayError> {
    let mut scan = open(log)?;
    let mut fold = Fold::new(number);
    while let Some(record) = scan.next() {
        let partition = scan.partition_number().unwrap_or_default();
        let record = record.map_err(|error| match error {
            ScanError::Io { path, source } => ReplayError::Unusable(Unusable::Io { path, source }),
            ScanError::Damaged(damage) => ReplayError::Damaged(Divergence::of_damage(partition, damage)),
        })?;
        let no_commit = |malformed: Malformed| {
            let fault = Fault::new("the record is not a commit", "a commit", malformed);
            ReplayError::Damaged(fault.at(partition, record.position))
        };
        let logged = record::decode(&record.bytes).map_err(no_commit)?;
        if logged.commit.stream == *stream {
            fold.add(&logged).map_err(no_commit)?;
        }
    }
    if scan.partition_number().is_none() {
        return Err(Unusable::NoLog(log.to_owned()).into());
    }
    Ok(fold.view().map(resolved))
}

pub(crate) fn resolved(mut view: RoundView) -> Replayed {
    let live = Live::open(&view.started);
    let mut differs = vec![];
    let mut resolved = view.steps.len();
    match live {
        Err(error) => differs.resize(view.steps.len(), Some(error.to_string())),
        Ok(mut live) => {
            let mut carried = live.terms.carried;
            for step in &mut view.steps {
                let Some(seed) = step.seed else { break };
                differs.push(resolve(&mut live, &view.started, &mut carried, step, seed));
            }
            resolved = differs.len();
            differs.resize(view.steps.len(), None);
        }
    }
    Replayed { view, differs, resolved }
}

fn resolve(
    live: &mut Live,
    started: &RoundStarted,
    carried: &mut Carried,
    step: &mut StepView,
    seed: Seed,
) -> Option<String> {
    let (mut outcome, mut bytes) = (slots::Outcome::default(), vec![]);
    if let Err(error) = live.logged(&step.logged, seed, &mut outcome) {
        return Some(error.to_string());
    }
    live.write(&outcome, &mut bytes);
    step.outcome = Outcome::decode(bytes.as_slice()).unwrap_or_default();
    let expected = outcome.carried.and_then(|after| {
        let before = std::mem::replace(carried, after);
        let scope = collection::scope(live.game, started.currency, started.bet);
        collection::change(live.game, &scope, &before, &after)
    });
    if bytes != step.logged.outcome {
        let (field, expected, found) = difference(&bytes, &step.logged.outcome);
        return Some(format!("{field}: the replay gives {expected}, but the log has {found}"));
    }
    let changed = &step.collection;
    (expected != *changed).then(|| format!("collection: the replay gives {expected:?}, but the log has {changed:?}"))
}
