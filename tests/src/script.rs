//! The dealer's script: a request's metadata `motherlode-force` asks for an outcome, and seeds are dealt until the step has it.
//! Everything after the seed is as ever: the log replays and audits like any other.

use motherlode_books::Event;
use motherlode_ledger::Proposal;
use motherlode_proto::round::v1::{Awaiting, Outcome};
use motherlode_slots::Seed;
use motherlode_spin::{Dealer, Resolve, Script};
use prost::Message;
use std::sync::Arc;
use tonic::metadata::MetadataMap;

/// Seeds tried before the wish is given up.
const TRIES_MAX: usize = 2_000_000;

/// The metadata's key.
pub(crate) const KEY: &str = "motherlode-force";

/// The same dealer, and it grants what requests ask for.
#[must_use]
pub fn scripted(dealer: Dealer) -> Dealer {
    dealer.scripted(Arc::new(Wishes))
}

struct Wishes;

impl Script for Wishes {
    fn seed(&self, metadata: &MetadataMap, deal: &dyn Fn() -> Seed, resolve: Resolve<'_>) -> Seed {
        let mut seed = deal();
        let Some(wanted) = metadata.get(KEY).map(|wish| wanted(wish.to_str().unwrap_or_default())) else { return seed };
        for _ in 0..TRIES_MAX {
            match resolve(seed) {
                Ok(proposal) if outcome(&proposal).is_some_and(|outcome| wanted(&proposal, &outcome)) => break,
                Ok(_) => seed = deal(),
                Err(_) => break,
            }
        }
        seed
    }
}

/// Whether an outcome is the one that is wished for.
fn wanted(wish: &str) -> fn(&Proposal, &Outcome) -> bool {
    match wish {
        "open" => |_, outcome| outcome.awaiting() != Awaiting::Nothing,
        "pick" => |_, outcome| outcome.awaiting() == Awaiting::Pick,
        "free-spins" => |_, outcome| outcome.awaiting() == Awaiting::FreeSpins,
        "feature" => |_, outcome| outcome.awaiting() == Awaiting::Feature,
        "double" => |_, outcome| outcome.awaiting() == Awaiting::Double,
        "loss" => |_, outcome| outcome.round_win_coins == 0 && outcome.awaiting() == Awaiting::Nothing,
        "right" => |_, outcome| outcome.card.is_some_and(|card| card.won),
        "jackpot" => |proposal, _| proposal.events.iter().any(|event| matches!(event, Event::JackpotHit { .. })),
        other => panic!("{other} is no outcome that can be forced"),
    }
}

fn outcome(proposal: &Proposal) -> Option<Outcome> {
    proposal.events.iter().find_map(|event| match event {
        Event::StepResolved(step) => Outcome::decode(step.outcome.as_slice()).ok(),
        _ => None,
    })
}
