//! Finishes rounds by their game's rules after the player skipped the remaining steps (DM-21), the operator closed the
//! round (PL-20), or the round was abandoned (PL-03, ME-20).
//!
//! Each step is a commit that states why the round is finished automatically. The first commit has the caller's request
//! id. Later commits have the request id `auto/<round>/<step>`. After a crash, a repeated request or a sweep can
//! therefore continue the round without resolving a step twice. If a player's choice is logged first, the completer
//! stops.

use crate::{
    automatic::{AutomaticStep, next_step, step_request_id},
    dealer::{Dealer, Undecided},
    decide,
    state::State,
};
use motherlode_ledger::{AppendError, Ledgers, fields::RoundId};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::Refusal;
use motherlode_state::{Event, InternalRequest, OpenRound};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct RoundCompleter {
    pub(crate) ledgers: Ledgers,
    pub(crate) dealer: Dealer,
}

impl RoundCompleter {
    pub(crate) async fn step(&self, asked: &AutomaticStep<'_>) -> Result<Option<Arc<Logged>>, Refusal> {
        let ledger = self.ledgers.for_stream(&asked.round.stream)?;
        loop {
            let stream = &asked.round.stream;
            let state = ledger.books_of(stream, |books| State::of_player(books, stream))?;
            let Some(decided) = decide::automatic(&state, asked, &self.dealer) else { return Ok(None) };
            let proposal = match (decided, &state.player) {
                (Ok(proposal), _) => proposal,
                (Err(Undecided::Unsealed(number, reason)), Some(player)) => {
                    self.dealer.seal(ledger, &asked.round.stream, player, (number, reason)).await?;
                    continue;
                }
                (Err(Undecided::Refused(refusal)), _) => return Err(refusal),
                (Err(Undecided::Unsealed(..)), None) => return Ok(None),
            };
            match ledger.append(proposal).await {
                Ok(logged) => return Ok(Some(logged)),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) async fn finish(&self, round: &RoundId, first: Arc<Logged>) -> Result<Vec<Arc<Logged>>, Refusal> {
        let mut steps = vec![first];
        while let Some(next) = steps.last().and_then(|last| follower(last)) {
            let request_id = step_request_id(round.number, next);
            let why = |open: &OpenRound| open.automatic.clone().filter(|_| next_step(open) == next);
            let asked = AutomaticStep {
                round,
                request_id: request_id.into(),
                fingerprint: InternalRequest::FINGERPRINT,
                why: &why,
                acted: None,
            };
            let made = match self.step(&asked).await? {
                Some(logged) => Some(logged),
                None => self.ledgers.for_stream(&round.stream)?.find(
                    &round.stream,
                    &asked.request_id,
                    InternalRequest::FINGERPRINT,
                )?,
            };
            match made {
                Some(logged) => steps.push(logged),
                None => break,
            }
        }
        Ok(steps)
    }
}

fn follower(logged: &Logged) -> Option<u32> {
    let mut step = None;
    for event in &logged.commit.events {
        match event {
            Event::StepResolved(resolved) => step = resolved.step.checked_add(1),
            Event::RoundSettled { .. } => return None,
            _ => {}
        }
    }
    step
}
