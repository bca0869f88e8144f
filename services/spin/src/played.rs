//! Builds answers from commits, so a repeated request always gets the same answer (PL-11).

use crate::{
    answer::{Answer, PlayedBytes},
    api::SpinApi,
    debited::ended,
};
use motherlode_ledger::{FetchError, rounds};
use motherlode_proto::{
    convert::record::Logged,
    round::v1::{JackpotWin, RoundState},
};
use motherlode_rounds::{view::JackpotView, wire};
use motherlode_runtime::Refusal;
use motherlode_state::{Commit, Event, InternalRequest, StepResolved};
use std::sync::Arc;

impl SpinApi {
    pub(crate) async fn played(&self, logged: &Arc<Logged>, answer: Option<Answer>) -> Result<PlayedBytes, Refusal> {
        let jackpot = match hit_pool(&logged.commit) {
            Some(pool) => Some(self.award(logged, pool).await?),
            None => None,
        };
        self.answer_to(logged, answer, jackpot.as_ref())
    }

    pub(crate) fn answer_to(
        &self,
        logged: &Arc<Logged>,
        answer: Option<Answer>,
        jackpot: Option<&JackpotWin>,
    ) -> Result<PlayedBytes, Refusal> {
        let commit = &logged.commit;
        let step = commit.events.iter().find_map(|event| match event {
            Event::StepResolved(step) => Some(step),
            _ => None,
        });
        let step = step.ok_or_else(|| ended(commit))?;
        let answer = match answer.filter(|answer| answer.is_to(step)) {
            Some(answer) => answer,
            None => self.read_back(logged, step)?,
        };
        Ok(answer.completed(logged, step, jackpot))
    }

    fn read_back(&self, logged: &Arc<Logged>, step: &StepResolved) -> Result<Answer, Refusal> {
        let stream = &logged.commit.stream;
        let ledger = self.ledgers.for_stream(stream)?;
        let (mut view, generations) = (rounds::as_of(ledger, logged, step.round)?, ledger.generations());
        if let Err(error) = view.complete(&self.dealer.dealt_of(stream, &generations)) {
            tracing::warn!(round = step.round, %error, "failed to compute a step from its draw: the step is shown \
                 with the logged fields only");
        }
        let over = view.state() != RoundState::Open;
        let found = view.steps.into_iter().find(|of| of.logged.step == step.step);
        let found = found.ok_or(FetchError::Missing(logged.commit.position))?;
        Ok(Answer::new(&view.started, step, Some(Box::new(found.outcome)), over))
    }

    async fn award(&self, logged: &Logged, pool: &str) -> Result<JackpotWin, Refusal> {
        let commit = &logged.commit;
        let paid = InternalRequest::PayAward { pool, partition: commit.partition, hit: commit.position }.to_string();
        let ledger = self.ledgers.for_stream(&commit.stream)?;
        let mut awards = ledger.awards();
        let wait = async {
            while ledger.find_position(&commit.stream, &paid)?.is_none()
                && rounds::set_aside(ledger, commit.position).is_none()
                && awards.changed().await.is_ok()
            {}
            Ok::<_, Refusal>(())
        };
        tokio::time::timeout(self.award_wait_max, wait).await.unwrap_or(Ok(()))?;
        let award = rounds::award(ledger, &commit.stream, pool, commit.position)?;
        Ok(wire::jackpot(&JackpotView { pool: pool.into(), hit: commit.position, award }))
    }
}

pub(crate) fn hit_pool(commit: &Commit) -> Option<&str> {
    commit.events.iter().find_map(|event| match event {
        Event::JackpotHit { pool, .. } => Some(pool.as_str()),
        _ => None,
    })
}
