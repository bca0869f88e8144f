//! Script for the dealer in tests. A request's metadata `motherlode-force` lists wishes, and the dealer tries client
//! seeds until the step's outcome fulfils them. The sealed draw does not change, so rounds can be replayed and audited.
//!
//! A wish is a word such as `open`, or a word and a value (see [`figured`]). Wishes are separated by `, `, and one step
//! must fulfil all of them.

use motherlode_ledger::Proposal;
use motherlode_proto::round::v1::{Awaiting, Card, MarkKind, Outcome, SpinKind, SpinResult, prize::Kind as PrizeKind};
use motherlode_runtime::{Reason, Refusal};
use motherlode_spin::{Dealer, Resolve, Script};
use motherlode_state::Event;
use prost::Message;
use std::{collections::BTreeSet, sync::Arc};
use tonic::metadata::MetadataMap;

const TRIES_MAX: usize = 400_000;

pub(crate) const KEY: &str = "motherlode-force";

#[must_use]
pub fn scripted(dealer: Dealer) -> Dealer {
    dealer.scripted(Arc::new(Wishes))
}

struct Wishes;

impl Script for Wishes {
    fn client_seed(&self, metadata: &MetadataMap, resolve: Resolve<'_>) -> Result<Option<Vec<u8>>, Refusal> {
        let Some(asked) = metadata.get(KEY) else { return Ok(None) };
        let asked = asked.to_str().unwrap_or_default();
        let refused = |why: String| Refusal::new(Reason::Refused, why).with("wish", asked);
        let wishes = asked.split(", ").map(wanted).collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let all = |proposal: &Proposal, outcome: &Outcome| wishes.iter().all(|wanted| wanted(proposal, outcome));
        let granted = |client_seed: &Vec<u8>| match resolve(client_seed) {
            Some(proposal) => outcome(&proposal).is_some_and(|outcome| all(&proposal, &outcome)),
            None => true,
        };
        let found = (0..TRIES_MAX).map(|number| format!("wish {number}").into_bytes()).find(granted);
        found.map(Some).ok_or_else(|| refused(format!("none of {TRIES_MAX} client seeds results in {asked}")))
    }
}

type Wanted<'a> = Box<dyn Fn(&Proposal, &Outcome) -> bool + 'a>;

fn wanted(wish: &str) -> Result<Wanted<'_>, String> {
    match wish.split_once(' ') {
        Some((what, figure)) => figured(what, figure).ok_or_else(|| format!("{wish} is not a valid wish")),
        None => worded(wish)
            .map(|wanted| -> Wanted<'_> { Box::new(wanted) })
            .ok_or_else(|| format!("{wish} is not a valid wish")),
    }
}

/// Parses a wish with a value:
///
/// - `spin KIND`: a reel window of the kind KIND. `rows N`: a window with N rows. `times N`: a window with multiplier
///   N. `features N`: at least N kinds of windows in the step.
/// - `mark KIND` or `mark KIND=VALUE`: a cell mark of the [`MarkKind`] KIND (with this value); `marks N`: a window with
///   at least N cell marks.
/// - `win LINE`, `win WAYS`, `win SCATTER`: a line win, ways win or scatter win.
/// - `left N`: at least N free spins left; `more N`: a free spin that awards N further free spins.
/// - `needs N`: a pick of N hidden objects; `prize multiple`, `prize free-spins`: a bonus with this prize.
/// - `card NAME`: the drawn card is NAME.
/// - `carries KEY=VALUE`: the step sets KEY to VALUE in the player's collection.
fn figured<'a>(what: &str, figure: &'a str) -> Option<Wanted<'a>> {
    let number = || figure.parse::<u32>().ok();
    Some(match what {
        "spin" => {
            let kind = SpinKind::from_str_name(&format!("SPIN_KIND_{figure}"))?;
            of_spins(move |spin| spin.kind() == kind)
        }
        "rows" => {
            let rows = number()?;
            of_spins(move |spin| spin.rows == rows)
        }
        "times" => {
            let times = number()?;
            of_spins(move |spin| spin.multiplier == times)
        }
        "features" => {
            let kinds = figure.parse::<usize>().ok()?;
            Box::new(move |_, outcome| {
                outcome.spins.iter().map(|spin| spin.kind).collect::<BTreeSet<_>>().len() >= kinds
            })
        }
        "mark" => {
            let (kind, value) = figure.split_once('=').map_or((figure, None), |(kind, value)| (kind, Some(value)));
            let value: Option<u32> = value.map(str::parse).transpose().ok()?;
            let kind = MarkKind::from_str_name(&format!("MARK_KIND_{kind}"))?;
            of_spins(move |spin| {
                spin.marks.iter().any(|mark| mark.kind() == kind && value.is_none_or(|value| mark.value == value))
            })
        }
        "marks" => {
            let marks = figure.parse::<usize>().ok()?;
            of_spins(move |spin| spin.marks.len() >= marks)
        }
        "win" => match figure {
            "LINE" => of_spins(|spin| spin.wins.iter().any(|win| win.line > 0)),
            "WAYS" => of_spins(|spin| spin.wins.iter().any(|win| win.ways > 0)),
            "SCATTER" => of_spins(|spin| spin.wins.iter().any(|win| win.line == 0 && win.ways == 0)),
            _ => return None,
        },
        "left" => {
            let left = number()?;
            Box::new(move |_, outcome| outcome.free_spins_left >= left)
        }
        "more" => {
            let more = number()?;
            of_spins(move |spin| spin.kind() == SpinKind::Free && spin.free_spins_won == more)
        }
        "needs" => {
            let needs = number()?;
            Box::new(move |_, outcome| outcome.pick.is_some_and(|pick| pick.needs == needs))
        }
        "prize" => {
            let wanted: fn(&PrizeKind) -> bool = match figure {
                "multiple" => |prize| matches!(prize, PrizeKind::Multiple(_)),
                "free-spins" => |prize| matches!(prize, PrizeKind::FreeSpins(_)),
                _ => return None,
            };
            Box::new(move |_, outcome| outcome.prize.and_then(|prize| prize.kind).is_some_and(|prize| wanted(&prize)))
        }
        "card" => {
            let card = Card::from_str_name(&format!("CARD_{figure}"))?;
            Box::new(move |_, outcome| outcome.card.is_some_and(|turn| turn.drawn() == card))
        }
        "carries" => {
            let (key, value) = figure.split_once('=')?;
            let value: i64 = value.parse().ok()?;
            Box::new(move |proposal, _| proposal.events.iter().any(|event| carries(event, key, value)))
        }
        _ => return None,
    })
}

fn of_spins<'a>(wanted: impl Fn(&SpinResult) -> bool + 'a) -> Wanted<'a> {
    Box::new(move |_, outcome| outcome.spins.iter().any(&wanted))
}

fn carries(event: &Event, key: &str, value: i64) -> bool {
    match event {
        Event::CollectionChanged { changes, .. } => changes.iter().any(|(of, now)| of == key && *now == value),
        _ => false,
    }
}

fn worded(wish: &str) -> Option<fn(&Proposal, &Outcome) -> bool> {
    Some(match wish {
        "open" => |_, outcome| outcome.awaiting() != Awaiting::Nothing,
        "over" => |_, outcome| outcome.awaiting() == Awaiting::Nothing,
        "pick" => |_, outcome| outcome.awaiting() == Awaiting::Pick,
        "free-spins" => |_, outcome| outcome.awaiting() == Awaiting::FreeSpins,
        "feature" => |_, outcome| outcome.awaiting() == Awaiting::Feature,
        "again" => {
            |_, outcome| outcome.spins.iter().any(|spin| spin.kind() == SpinKind::Free && spin.free_spins_won > 0)
        }
        "double" => |_, outcome| outcome.awaiting() == Awaiting::Double,
        "loss" => |_, outcome| outcome.round_win_coins == 0 && outcome.awaiting() == Awaiting::Nothing,
        "right" => |_, outcome| outcome.card.is_some_and(|card| card.won),
        "wrong" => |_, outcome| outcome.card.is_some_and(|card| !card.won),
        "jackpot" => |proposal, _| proposal.events.iter().any(|event| matches!(event, Event::JackpotHit { .. })),
        _ => return None,
    })
}

fn outcome(proposal: &Proposal) -> Option<Outcome> {
    proposal.events.iter().find_map(|event| match event {
        Event::StepResolved(step) => Outcome::decode(step.outcome.as_slice()).ok(),
        _ => None,
    })
}
