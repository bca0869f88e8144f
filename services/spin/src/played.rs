//! Answers: what a commit did, said the same way each time it is asked for (PL-11).

use crate::api::SpinApi;
use motherlode_books::{Event, RoundStarted, StepResolved};
use motherlode_ledger::{
    fields::{money, round_name},
    rounds::{self, award_request_id},
};
use motherlode_proto::{
    convert::record::Logged,
    round::v1::{JackpotWin, Outcome, RoundState},
    spin::v1::Played,
};
use motherlode_rounds::{shown, view::JackpotView, wire};
use motherlode_runtime::Refusal;
use prost::Message;
use std::sync::Arc;
use tonic::Code;

impl SpinApi {
    /// What a commit of this service did. Where it hit the jackpot the answer waits for the award, for a bounded time;
    /// after that it says "pending", and the award still comes.
    pub(crate) async fn played(&self, logged: &Arc<Logged>) -> Result<Played, Refusal> {
        let commit = &logged.commit;
        let find = |wanted: fn(&Event) -> bool| commit.events.iter().find(|event| wanted(event));
        let Some(Event::StepResolved(step)) = find(|event| matches!(event, Event::StepResolved(_))) else {
            return Err(Refusal::request_id_reused(&commit.request_id));
        };
        let (earlier, steps);
        let (started, steps) = match find(|event| matches!(event, Event::RoundStarted(_))) {
            Some(Event::RoundStarted(started)) => (started, std::slice::from_ref(step)),
            _ => {
                (earlier, steps) = rounds::steps(self.ledgers.of(&commit.stream), logged, step.round)?;
                (&earlier, steps.as_slice())
            }
        };
        let settled = find(|event| matches!(event, Event::RoundSettled { .. })).is_some();
        let jackpot = match find(|event| matches!(event, Event::JackpotHit { .. })) {
            Some(Event::JackpotHit { pool, .. }) => Some(self.award(logged, pool).await?),
            _ => None,
        };
        let mut played = answer(logged, step, started, settled, jackpot)?;
        if let Some(outcome) = &mut played.outcome {
            complete(started, steps, outcome, settled);
        }
        Ok(played)
    }

    async fn award(&self, logged: &Logged, pool: &str) -> Result<JackpotWin, Refusal> {
        let commit = &logged.commit;
        let id = award_request_id(pool, commit.partition, commit.position);
        let ledger = self.ledgers.of(&commit.stream);
        let mut head = ledger.head();
        let wait = async {
            while ledger.find_position(&commit.stream, &id)?.is_none()
                && rounds::set_aside(ledger, commit.position).is_none()
                && head.changed().await.is_ok()
            {}
            Ok::<_, Refusal>(())
        };
        tokio::time::timeout(self.award_wait_max, wait).await.unwrap_or(Ok(()))?;
        let award = rounds::award(ledger, &commit.stream, pool, commit.position)?;
        Ok(wire::jackpot(&JackpotView { pool: pool.to_owned(), hit: commit.position, award }))
    }
}

/// Adds to the outcome of the latest of a round's steps what its log does not hold (ME-05, DM-12, NP-12).
fn complete(started: &RoundStarted, steps: &[StepResolved], outcome: &mut Outcome, settled: bool) {
    shown::name_all(started, outcome);
    let Some((_, earlier)) = steps.split_last().filter(|_| shown::has_more(outcome, settled)) else { return };
    let mut others = vec![Outcome::default(); earlier.len()];
    let all = steps.iter().zip(others.iter_mut().chain([outcome]));
    if let Err(error) = shown::complete(started, all, settled) {
        tracing::warn!(round = started.round, %error, "the step is shown as it was logged");
    }
}

fn answer(
    logged: &Logged,
    step: &StepResolved,
    started: &RoundStarted,
    settled: bool,
    jackpot: Option<JackpotWin>,
) -> Result<Played, Refusal> {
    let (commit, currency) = (&logged.commit, started.currency);
    let outcome = Outcome::decode(step.outcome.as_slice()).map_err(|error| {
        Refusal::new(Code::DataLoss, "LOG_UNREADABLE", format!("position {}: {error}", commit.position))
    })?;
    let state = if settled { RoundState::Settled } else { RoundState::Open };
    Ok(Played {
        round_id: round_name(&commit.stream, step.round),
        step: step.step,
        outcome: Some(outcome),
        bet: Some(money(started.bet, currency)),
        win: Some(money(step.win, currency)),
        balance: Some(money(motherlode_ledger::balance_after(logged, currency), currency)),
        state: state.into(),
        position: commit.position,
        jackpot,
        campaign_id: started.campaign.clone().unwrap_or_default(),
    })
}
