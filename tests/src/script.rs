//! The dealer's script: a request's metadata `motherlode-force` asks for an outcome, and client seeds are tried until the step has
//! it. What was sealed stays, so the log reveals, replays and audits like any other.
//!
//! A wish is a word (`open`, `pick`, ...), `spin KIND` for a window of a kind such as `HIGH_SYMBOLS`, `left N` for so many free spins
//! still to be played, or `carries KEY=VALUE` for a figure of the player's collection that the step changes so. One that isn't granted in
//! as many tries as there are fails the call: nothing spins for minutes.

use motherlode_books::Event;
use motherlode_ledger::Proposal;
use motherlode_proto::round::v1::{Awaiting, Outcome, SpinKind};
use motherlode_spin::{Dealer, Resolve, Script};
use prost::Message;
use std::sync::Arc;
use tonic::metadata::MetadataMap;

/// Client seeds tried before the wish is given up. Of what a step can have at all, the rarest comes once in some ten thousand.
const TRIES_MAX: usize = 400_000;

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
        let wish = metadata.get(KEY)?.to_str().unwrap_or_default();
        let wanted = wanted(wish);
        // A step that can't be resolved is refused with any.
        let granted = |client_seed: &Vec<u8>| match resolve(client_seed) {
            Some(proposal) => outcome(&proposal).is_some_and(|outcome| wanted(&proposal, &outcome)),
            None => true,
        };
        let found = (0..TRIES_MAX).map(|number| format!("wish {number}").into_bytes()).find(granted);
        assert!(found.is_some(), "{wish} is not granted in {TRIES_MAX} tries");
        found
    }
}

/// Says whether an outcome is the one that is wished for.
type Wanted<'a> = Box<dyn Fn(&Proposal, &Outcome) -> bool + 'a>;

/// The wish in words.
fn wanted(wish: &str) -> Wanted<'_> {
    if let Some(kind) = wish.strip_prefix("spin ") {
        let kind = SpinKind::from_str_name(&format!("SPIN_KIND_{kind}"));
        let kind = kind.unwrap_or_else(|| panic!("{wish} names no kind of spin"));
        return Box::new(move |_, outcome| outcome.spins.iter().any(|spin| spin.kind() == kind));
    }
    if let Some(count) = wish.strip_prefix("left ") {
        let count: u32 = count.parse().unwrap_or_else(|_| panic!("{wish} names no number of free spins"));
        return Box::new(move |_, outcome| outcome.free_spins_left >= count);
    }
    if let Some((key, value)) = wish.strip_prefix("carries ").and_then(|figure| figure.split_once('=')) {
        let value: i64 = value.parse().unwrap_or_else(|_| panic!("{wish} names no figure"));
        return Box::new(move |proposal, _| proposal.events.iter().any(|event| carries(event, key, value)));
    }
    Box::new(worded(wish))
}

/// Whether an event leaves a figure of a collection so.
fn carries(event: &Event, key: &str, value: i64) -> bool {
    match event {
        Event::CollectionChanged { changes, .. } => changes.iter().any(|(of, now)| of == key && *now == value),
        _ => false,
    }
}

/// The same of a wish of one word.
fn worded(wish: &str) -> fn(&Proposal, &Outcome) -> bool {
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
