//! Rounds finished for their player by the rules of their game: skipped to the result (DM-21), closed by the operator
//! (PL-20), or left alone for longer than the game waits (PL-03, ME-20).
//!
//! Each step is a commit of its own that says why it was automatic. The first has the request id of whoever asks for it,
//! every further one the id `auto/<round>/<step>`, whoever makes it: so a repetition, the sweeper and a second sweeper
//! finish what a crash left unfinished, and nothing is done twice. A choice of the player's that comes first in the log
//! wins: what follows it is theirs again.

use crate::{
    automatic::{Asked, next_step, step_request_id},
    dealer::{Dealer, Undecided},
    decide,
    state::State,
};
use motherlode_books::{Event, InternalRequest, OpenRound};
use motherlode_ledger::{AppendError, Ledgers, fields::RoundId};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::Refusal;
use std::sync::Arc;

/// Finishes rounds on the ledgers, with draws of a dealer.
#[derive(Clone)]
pub(crate) struct Finisher {
    pub(crate) ledgers: Ledgers,
    pub(crate) dealer: Dealer,
}

impl Finisher {
    /// Resolves the next step of a round; `None` where it's not open, or not to be resolved. On a conflict it's decided
    /// again.
    pub(crate) async fn step(&self, asked: &Asked<'_>) -> Result<Option<Arc<Logged>>, Refusal> {
        let ledger = self.ledgers.of(&asked.round.stream)?;
        loop {
            let stream = &asked.round.stream;
            let state = ledger.books_of(stream, |books| State::of_player(books, stream))?;
            let Some(decided) = decide::automatic(&state, asked, &self.dealer) else { return Ok(None) };
            let decided = match (decided, &state.player) {
                (Ok(decided), _) => decided,
                (Err(Undecided::Unsealed(number, reason)), Some(player)) => {
                    self.dealer.seal(ledger, &asked.round.stream, player, (number, reason)).await?;
                    continue;
                }
                (Err(Undecided::Refused(refusal)), _) => return Err(refusal),
                (Err(Undecided::Unsealed(..)), None) => return Ok(None),
            };
            match ledger.append(decided.proposal).await {
                Ok(logged) => return Ok(Some(logged)),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Resolves a round to its end after a step that was automatic; that step and all further ones, as far as they
    /// were automatic.
    pub(crate) async fn finish(&self, round: &RoundId, first: Arc<Logged>) -> Result<Vec<Arc<Logged>>, Refusal> {
        let mut steps = vec![first];
        while let Some(next) = steps.last().and_then(|last| follower(last)) {
            let request_id = step_request_id(round.number, next);
            let why = |open: &OpenRound| open.automatic.clone().filter(|_| next_step(open) == next);
            let asked = Asked {
                round,
                request_id: request_id.into(),
                fingerprint: InternalRequest::FINGERPRINT,
                why: &why,
                acted: None,
            };
            let made = match self.step(&asked).await? {
                Some(logged) => Some(logged),
                None => self.ledgers.of(&round.stream)?.find(
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

/// The number of the step after the one that a commit resolved; none where it settled the round.
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
