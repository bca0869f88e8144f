//! Attacks on sealed draws, by a generator, each judged in memory as the audit judges a log: its books and its replay. A forger
//! who writes the log can chain it anew, so the chain is no part of it.

#[allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]
#[path = "../tests/integration/common/mod.rs"]
mod common;

use crate::{divergence::Divergence, fold::Fold, play::Plays, recalled::Recalled};
use common::{Tale, player, step};
use motherlode_books::{CoinValue, Event, Minor};
use motherlode_proto::convert::record::Logged;
use motherlode_slots::{Awaiting, Card, Choice, Picked};
use std::{collections::VecDeque, path::PathBuf};

/// Of each attack.
const TIMES: u64 = 1_500;

/// The verdict of the audit's stages on commits, without the chain; books first, as at one position they come first.
fn judged(log: &[Logged]) -> Option<Box<Divergence>> {
    let recalled = Recalled::new(PathBuf::new(), |_| None);
    let folded = Fold::new(0, &recalled, VecDeque::new()).batch(log).err();
    let played = Plays::new(&recalled).batch(log).err();
    [folded, played].into_iter().flatten().min_by_key(|divergence| divergence.position)
}

/// A log with a round of one step, one of several, one that was voided, and one that is open; each began with a window.
fn tale() -> Tale {
    let mut tale = Tale::sealed(&["alice", "bob"]);
    tale.plain_spin("alice");
    tale.double = true;
    let double = tale.bet("bob", 15, 1, CoinValue(100_000), |outcome| outcome.awaiting == Awaiting::Double);
    tale.choose("bob", double, Choice::Double(Card::RedHeart), |outcome| outcome.card.is_some_and(|turn| turn.won));
    tale.choose("bob", double, Choice::Collect, |_| true);
    tale.double = false;
    let pick = tale.spin("bob", |outcome| outcome.awaiting == Awaiting::Pick);
    let (reason, actor) = (String::from("reel 3 stuck"), String::from("support"));
    let voided = Event::RoundVoided { round: pick, reason, actor, refund: Minor(150), win_taken_back: Minor(0) };
    let revealed = tale.revealed("bob", pick).expect("an open round");
    tale.write(player("bob"), vec![voided, revealed]);
    tale.spin("alice", |outcome| outcome.awaiting == Awaiting::Pick);
    tale
}

/// Changes one place of the log, the next each time; what was found must be at the place or behind it.
fn attack(tale: &Tale, hits: impl Fn(&Event) -> bool, mut change: impl FnMut(u64, &mut Logged)) {
    assert!(judged(&tale.log).is_none(), "the log is sound before the attack");
    let places: Vec<_> = (0..tale.log.len()).filter(|at| tale.log[*at].commit.events.iter().any(&hits)).collect();
    assert!(!places.is_empty());
    for (number, at) in (0..TIMES).zip(places.into_iter().cycle()) {
        let mut log = tale.log.clone();
        change(number, &mut log[at]);
        assert!(log[at] != tale.log[at], "attack {number} changes something");
        let found = judged(&log).unwrap_or_else(|| panic!("attack {number} on position {} is not found", at + 1));
        assert!(found.position > at as u64, "attack {number}: {found}");
    }
}

fn reveals(event: &Event) -> bool {
    matches!(event, Event::DrawsRevealed { .. })
}

fn dealt(logged: &mut Logged) -> &mut Vec<[u8; 32]> {
    let mut dealt = logged.commit.events.iter_mut().filter_map(|event| match event {
        Event::DrawsRevealed { dealt, .. } => Some(dealt),
        _ => None,
    });
    dealt.next().expect("a reveal")
}

/// Whether an event is a first step, which shows a window: of a card, another seed may give the same.
fn first_step(event: &Event) -> bool {
    matches!(event, Event::StepResolved(step) if step.step == 1)
}

#[test]
fn a_substituted_dealt_value_is_found() {
    attack(&tale(), reveals, |number, logged| {
        let dealt = dealt(logged);
        let (at, bit) = (usize::try_from(number).unwrap_or_default(), 1 << (number % 8));
        let count = dealt.len();
        dealt[at % count][at / 8 % 32] ^= bit;
    });
}

#[test]
fn a_missing_reveal_is_found() {
    attack(&tale(), reveals, |number, logged| match number % 3 {
        0 => logged.commit.events.retain(|event| !reveals(event)),
        1 => _ = dealt(logged).pop(),
        _ => {
            let round = logged.commit.events.iter().find_map(|event| match event {
                Event::DrawsRevealed { round, .. } => Some(*round),
                _ => None,
            });
            let (round, is_void) =
                (round.expect("a reveal"), matches!(logged.commit.events[0], Event::RoundVoided { .. }));
            // Of a void it's for the log to say that a key was lost, and for all to see.
            let instead = Event::DrawsLost { round: if is_void { round + 1 } else { round } };
            let place = logged.commit.events.iter_mut().find(|event| reveals(event));
            *place.expect("a reveal") = instead;
        }
    });
}

#[test]
fn a_substituted_client_seed_is_found_once_its_round_is_over() {
    let mut tale = tale();
    // The last round is open: nothing of it can be resolved yet.
    tale.log.pop();
    attack(&tale, first_step, |number, logged| {
        let draw = step(logged).draw.as_mut().expect("a sealed draw");
        draw.client_seed = number.to_le_bytes()[..1 + usize::try_from(number % 8).unwrap_or_default()].to_vec();
    });
}

#[test]
fn an_outcome_of_another_seed_is_found() {
    for number in 0..TIMES {
        let mut tale = Tale::sealed(&["alice"]);
        tale.plain_spin("alice");
        assert!(judged(&tale.log).is_none(), "the log is sound before the attack");
        tale.seeds = number << 32;
        tale.forged = true;
        tale.plain_spin("alice");
        let found = judged(&tale.log).unwrap_or_else(|| panic!("forgery {number} is not found"));
        assert!(
            found.position == tale.log.len() as u64 && found.what.starts_with("PL-06"),
            "forgery {number}: {found}"
        );
    }
}

#[test]
fn a_draw_used_twice_or_given_up_without_a_word_is_found() {
    attack(&tale(), first_step, |number, logged| {
        let draw = step(logged).draw.as_mut().expect("a sealed draw");
        match number % 3 {
            0 => draw.number = draw.number.wrapping_sub(1 + number % 7),
            1 => draw.number += 1 + number % 7,
            _ => draw.epoch[usize::try_from(number).unwrap_or_default() % 4] ^= 1,
        }
    });
}

#[test]
fn what_an_open_round_said_of_its_steps_is_held_against_them_when_they_are_revealed() {
    let mut tale = Tale::sealed(&["alice"]);
    let round = tale.spin("alice", |outcome| outcome.awaiting == Awaiting::Pick);
    let bet = tale.log.len() - 1;
    tale.choose("alice", round, Choice::Pick(Picked::new(&[0, 2, 4]).expect("three vials")), |outcome| {
        outcome.awaiting == Awaiting::Nothing
    });
    assert!(judged(&tale.log).is_none());
    let mut log = tale.log.clone();
    step(&mut log[bet]).outcome[3] ^= 1;
    let found = judged(&log).expect("found");
    assert_eq!((found.position, found.what.starts_with("PL-06")), (tale.log.len() as u64, true), "{found}");
    // Not before: without the key nobody can tell.
    assert!(judged(&log[..=bet]).is_none());
}
