//! The dealer's script: a request's metadata `motherlode-force` asks for an outcome, and client seeds are tried until the step has
//! it. What was sealed stays, so the log reveals, replays and audits like any other.

use motherlode_books::Event;
use motherlode_ledger::Proposal;
use motherlode_proto::round::v1::{Awaiting, Outcome};
use motherlode_spin::{Dealer, Resolve, Script};
use prost::Message;
use std::sync::Arc;
use tonic::metadata::MetadataMap;

/// Client seeds tried before the wish is given up.
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
    fn client_seed(&self, metadata: &MetadataMap, resolve: Resolve<'_>) -> Option<Vec<u8>> {
        let wanted = wanted(metadata.get(KEY)?.to_str().unwrap_or_default());
        // A step that can't be resolved is refused with any.
        let granted = |client_seed: &Vec<u8>| match resolve(client_seed) {
            Some(proposal) => outcome(&proposal).is_some_and(|outcome| wanted(&proposal, &outcome)),
            None => true,
        };
        (0..TRIES_MAX).map(|number| format!("wish {number}").into_bytes()).find(granted)
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
