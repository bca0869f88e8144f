//! Forced outcomes, for tests: a request's metadata `motherlode-force` asks for an outcome, and the seed is searched
//! for until the step has it. Everything after the seed is as ever: the log replays and audits like any other.
//!
//! Only behind the feature `forced-outcomes`, which no release build has.

use crate::{dealer::Dealer, service::Deal};
use motherlode_books::Event;
use motherlode_ledger::Proposal;
use motherlode_proto::round::v1::{Awaiting, Outcome};
use motherlode_runtime::Refusal;
use motherlode_slots::Seed;
use prost::Message;
use tonic::Request;

/// Seeds tried before the wish is given up.
const TRIES_MAX: usize = 2_000_000;

/// The outcomes that a wish is content with; none for any.
pub(crate) type Wanted = Option<fn(&Proposal, &Outcome) -> bool>;

/// What a request wishes for.
pub(crate) struct Wish<'a> {
    dealer: &'a Dealer,
    wanted: Wanted,
    dealt: Option<Seed>,
}

/// The wish in a request's metadata.
pub(crate) fn wanted<T>(request: &Request<T>) -> Result<Wanted, Refusal> {
    match request.metadata().get("motherlode-force").map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok("pick")) => Ok(Some(|_, outcome| outcome.awaiting() == Awaiting::Pick)),
        Some(Ok("free-spins")) => Ok(Some(|_, outcome| outcome.awaiting() == Awaiting::FreeSpins)),
        Some(Ok("feature")) => Ok(Some(|_, outcome| outcome.awaiting() == Awaiting::Feature)),
        Some(Ok("double")) => Ok(Some(|_, outcome| outcome.awaiting() == Awaiting::Double)),
        Some(Ok("loss")) => {
            Ok(Some(|_, outcome| outcome.round_win_coins == 0 && outcome.awaiting() == Awaiting::Nothing))
        }
        Some(Ok("right")) => Ok(Some(|_, outcome| outcome.card.is_some_and(|card| card.won))),
        Some(Ok("jackpot")) => {
            Ok(Some(|proposal, _| proposal.events.iter().any(|event| matches!(event, Event::JackpotHit { .. }))))
        }
        Some(_) => Err(Refusal::field("motherlode-force", "is no outcome that can be forced")),
    }
}

impl<'a> Wish<'a> {
    pub(crate) fn of<T>(request: &Request<T>, dealer: &'a Dealer) -> Result<Self, Refusal> {
        Ok(Self::new(wanted(request)?, dealer))
    }

    pub(crate) fn new(wanted: Wanted, dealer: &'a Dealer) -> Self {
        Self { dealer, wanted, dealt: None }
    }
}

impl Deal for Wish<'_> {
    fn seed(&mut self, resolve: &dyn Fn(Seed) -> Result<Proposal, Refusal>) -> Seed {
        if let Some(seed) = self.dealt {
            return seed;
        }
        let mut seed = self.dealer.deal();
        if let Some(wanted) = self.wanted {
            for _ in 0..TRIES_MAX {
                match resolve(seed) {
                    Ok(proposal) if outcome(&proposal).is_some_and(|outcome| wanted(&proposal, &outcome)) => break,
                    Ok(_) => seed = self.dealer.deal(),
                    Err(_) => return seed,
                }
            }
        }
        *self.dealt.insert(seed)
    }
}

fn outcome(proposal: &Proposal) -> Option<Outcome> {
    proposal.events.iter().find_map(|event| match event {
        Event::StepResolved(step) => Outcome::decode(step.outcome.as_slice()).ok(),
        _ => None,
    })
}
