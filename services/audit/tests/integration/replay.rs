use crate::common::{Tale, chained, change_outcome, player, segments, step, store};
use motherlode_audit::{ReplayError, Replayed, replay};
use motherlode_ledger::rounds;
use motherlode_log::{Options as StoreOptions, SegmentStore};
use motherlode_proto::{
    convert::record::Logged,
    round::v1::{Outcome, RoundState},
};
use motherlode_rounds::{Award, draws::no_key, wire};
use motherlode_slots::Awaiting;
use motherlode_state::{Currency, Event, Minor, StreamId};
use prost::Message;
use std::{fs, sync::Arc};

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
            assert!(!round.view.steps.is_empty());
            for step in &round.view.steps {
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
    assert_eq!(pending.view.jackpots[0].award, Award::Pending);
    tale.tend();

    let round = replayed(&tale.log, &player("alice"), round).unwrap().view;
    let [spin, vials] = &round.steps[..] else { panic!("two steps") };
    assert_eq!((round.balance_before, round.started.bet), (Minor(100_000_000), Minor(3_000)));
    assert_eq!(spin.balance_after, Minor(100_000_000 - 3_000));
    let win = round.settled.unwrap();
    assert_eq!(vials.balance_after, Minor(100_000_000 - 3_000 + win.0));
    assert_eq!(vials.position, hit);
    let paid = Award::Paid(Minor(40_000), Currency::EUR);
    assert_eq!((round.jackpots[0].hit, round.jackpots[0].award), (hit, paid));
    assert_eq!(round.voided, None);
}

#[tokio::test]
async fn pl_05_the_ledger_and_the_audit_tell_a_round_alike() {
    let mut tale = Tale::of_everything();
    tale.spin("bob", |outcome| outcome.awaiting == Awaiting::Nothing && outcome.round_win_minor > 0);
    let second = tale.plain_spin("bob");
    let then = tale.log.pop().unwrap();
    let both = tale.log.last_mut().unwrap();
    both.commit.events.extend(then.commit.events);
    both.balances_after = then.balances_after;

    let (folder, index) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    store(folder.path(), &chained(&tale.log));
    let log = SegmentStore::open(folder.path(), 0, StoreOptions { segment_bytes: 16 << 10, zero_bytes: 512 }).unwrap();
    let ledger = motherlode_ledger::open(Box::new(log), index.path(), Default::default()).unwrap();
    let mut told = vec![];
    for (name, last) in [("alice", 23), ("bob", second)] {
        for number in 1..=last {
            let round = rounds::read(&ledger, &player(name), number).unwrap().unwrap();
            let mut view = replayed(&tale.log, &player(name), number).unwrap().view;
            view.complete(&no_key).unwrap();
            let mut audited = wire::round(view, &player(name));
            if audited.state() == RoundState::Open {
                audited.steps.iter_mut().for_each(|step| step.seed.clear());
            }
            assert_eq!(round, audited);
            told.push(round);
        }
    }
    ledger.close().await;

    let [.., earlier, first, second] = &told[..] else { panic!("rounds") };
    let minor = |money: &Option<motherlode_proto::round::v1::Money>| money.as_ref().unwrap().amount_minor;
    assert!(minor(&first.win) > 0);
    assert_eq!(minor(&first.balance_before), minor(&earlier.balance_after));
    assert_eq!(
        minor(&second.balance_before),
        minor(&first.balance_before) - minor(&first.bet) + minor(&first.win),
        "the second round started after the first was settled"
    );
}

#[test]
fn pl_06_a_step_that_does_not_match_says_how() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.plain_spin("alice");
    let at = tale.log.len() - 1;
    change_outcome(step(&mut tale.log[at]), |outcome| outcome.spins[0].stops[0] += 1);
    let round = replayed(&tale.log, &player("alice"), round).unwrap();
    assert!(!round.matches());
    assert!(round.differs[0].as_deref().unwrap().starts_with("spin 1, stops"));
}

#[test]
fn pl_01_a_round_of_an_unknown_model_is_shown_as_logged_and_does_not_match() {
    let mut tale = Tale::with_players(&["alice"]);
    let round = tale.plain_spin("alice");
    let at = tale.log.len() - 1;
    let Event::RoundStarted(started) = &mut tale.log[at].commit.events[0] else { unreachable!() };
    let started = Arc::make_mut(started);
    started.model_hash = [0xAB; 32];
    let round = replayed(&tale.log, &player("alice"), round).unwrap();
    assert!(round.differs[0].as_deref().unwrap().contains("abab"));
    assert_eq!(round.view.steps[0].outcome.spins.len(), 1);
}

#[test]
fn a_voided_round_says_why() {
    let tale = Tale::of_everything();
    let at = tale.find(|event| matches!(event, Event::RoundVoided { .. }));
    let Event::RoundVoided { round, .. } = &tale.log[at].commit.events[0] else { unreachable!() };
    let round = replayed(&tale.log, &player("bob"), *round).unwrap().view;
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
