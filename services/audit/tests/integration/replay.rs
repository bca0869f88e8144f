//! One round, found and resolved again.

use crate::common::{Tale, chained, change_outcome, player, segments, step, store};
use motherlode_audit::{ReplayError, Replayed, replay};
use motherlode_books::{Event, Minor, StreamId};
use motherlode_proto::{convert::record::Logged, round::v1::Outcome};
use prost::Message;
use std::fs;

fn replayed(log: &[Logged], stream: &StreamId, number: u64) -> Option<Replayed> {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &chained(log));
    replay(folder.path(), stream, number).unwrap()
}

#[test]
fn pl_06_every_round_of_a_log_replays_to_its_very_bytes() {
    let tale = Tale::of_everything();
    for name in ["alice", "bob"] {
        let rounds = tale.books.player(&player(name)).unwrap().rounds_started;
        for number in 1..=rounds {
            let round = replayed(&tale.log, &player(name), number).unwrap();
            assert!(round.matches());
            assert!(!round.steps.is_empty());
            for step in &round.steps {
                assert_eq!(step.outcome, Outcome::decode(step.logged.outcome.as_slice()).unwrap());
            }
        }
        assert!(replayed(&tale.log, &player(name), rounds + 1).is_none());
    }
    assert!(replayed(&tale.log, &player("carol"), 1).is_none());
}

#[test]
fn pl_05_money_before_and_after_and_the_jackpot_are_the_logs() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.books.player(&player("alice")).unwrap().rounds_started + 1;
    let hit = tale.hit("alice", "0.2".parse().unwrap());
    let pending = replayed(&tale.log, &player("alice"), round).unwrap();
    assert_eq!(pending.jackpots[0].paid, None);
    tale.tend();

    let round = replayed(&tale.log, &player("alice"), round).unwrap();
    let [spin, vials] = &round.steps[..] else { panic!("two steps") };
    // 15 lines of 10 coins of 0.20.
    assert_eq!((round.balance_before, round.started.bet), (Minor(100_000_000), Minor(3_000)));
    assert_eq!(spin.balance_after, Minor(100_000_000 - 3_000));
    let win = round.settled.unwrap();
    assert_eq!(vials.balance_after, Minor(100_000_000 - 3_000 + win.0));
    assert_eq!(vials.position, hit);
    let (paid, _, _) = round.jackpots[0].paid.unwrap();
    // BW-16: (20,000 + 0.15) x 0.2 / 10, cut to the cent.
    assert_eq!((round.jackpots[0].hit, paid), (hit, Minor(40_000)));
    assert_eq!(round.voided, None);
}

#[test]
fn pl_06_a_step_that_does_not_match_says_how() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.plain_spin("alice");
    let at = tale.log.len() - 1;
    change_outcome(step(&mut tale.log[at]), |outcome| outcome.spins[0].stops[0] += 1);
    let round = replayed(&tale.log, &player("alice"), round).unwrap();
    assert!(!round.matches());
    assert!(round.steps[0].differs.as_deref().unwrap().starts_with("spin 1, stops"));
}

#[test]
fn pl_01_a_round_of_an_unknown_model_is_shown_as_logged_and_does_not_match() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.plain_spin("alice");
    let at = tale.log.len() - 1;
    let Event::RoundStarted(started) = &mut tale.log[at].commit.events[0] else { unreachable!() };
    started.model_hash = [0xAB; 32];
    let round = replayed(&tale.log, &player("alice"), round).unwrap();
    assert!(round.steps[0].differs.as_deref().unwrap().contains("abab"));
    assert_eq!(round.steps[0].outcome.spins.len(), 1);
}

#[test]
fn a_voided_round_says_why() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::RoundVoided { .. }));
    let Event::RoundVoided { round, .. } = &tale.log[at].commit.events[0] else { unreachable!() };
    let round = replayed(&tale.log, &player("bob"), *round).unwrap();
    assert_eq!((round.voided.map(|void| void.reason).as_deref(), round.settled), (Some("reel 3 stuck"), None));
}

#[test]
fn a_damaged_log_is_not_believed() {
    let tale = Tale::of_everything();
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &chained(&tale.log));
    let first = segments(folder.path()).remove(0);
    let mut bytes = fs::read(&first).unwrap();
    bytes[200] ^= 1;
    fs::write(&first, bytes).unwrap();
    assert!(matches!(replay(folder.path(), &player("alice"), 1), Err(ReplayError::Damaged(_))));
}
