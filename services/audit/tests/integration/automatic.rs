use crate::common::{Tale, audited, divergence, step};
use motherlode_proto::convert::record::Logged;
use motherlode_slots::{Awaiting, Card, Choice, Picked};
use motherlode_state::{Automatic, Event};

fn chosen(awaiting: Awaiting, choice: Choice) -> Tale {
    let mut tale = Tale::with_players(&["alice"]);
    tale.double = true;
    let round = tale.spin("alice", |outcome| outcome.awaiting == awaiting);
    tale.choose("alice", round, choice, |outcome| outcome.awaiting != Awaiting::Pick);
    tale
}

fn marked(tale: &Tale, at: usize) -> Vec<Logged> {
    let mut log = tale.log.clone();
    step(&mut log[at]).automatic = Some(Automatic::TimeOver);
    log
}

fn vials(objects: &[u8]) -> Choice {
    Choice::Pick(Picked::new(objects).unwrap())
}

#[test]
fn pl_03_what_the_rule_chooses_may_be_automatic() {
    let by_rule = [
        (Awaiting::Pick, vials(&[0, 1, 2])),
        (Awaiting::FreeSpins, Choice::StartFreeSpins),
        (Awaiting::Double, Choice::Collect),
    ];
    for (awaiting, choice) in by_rule {
        let tale = chosen(awaiting, choice);
        assert_eq!(audited(&marked(&tale, tale.log.len() - 1)).divergence, None);
    }
}

#[test]
fn pl_03_a_choice_of_the_players_own_and_a_bet_that_are_called_automatic_are_found() {
    let own = [(Awaiting::Pick, vials(&[2, 1, 0])), (Awaiting::Double, Choice::Double(Card::RedHeart))];
    for (awaiting, choice) in own {
        let tale = chosen(awaiting, choice);
        let at = tale.log.len() - 1;
        let found = divergence(&marked(&tale, at));
        assert_eq!(found.position, tale.log[at].commit.position);
        assert!(found.found.contains("logged as automatic"), "{found}");
    }
    let mut tale = Tale::with_players(&["alice"]);
    tale.plain_spin("alice");
    let bet = tale.find(|event| matches!(event, Event::RoundStarted(_)));
    let found = divergence(&marked(&tale, bet));
    assert!(found.found.contains("logged as automatic"), "{found}");
}
