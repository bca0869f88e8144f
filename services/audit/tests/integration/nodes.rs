use crate::common::{Tale, audited, chained, divergence, found, options, player, pool, step, store};
use motherlode_audit::{Report, audit};
use motherlode_ledger::DrawKeys;
use motherlode_proto::convert::record::{Logged, Proposer};
use motherlode_state::{CoinValue, DrawSealed, Event, SealReason, draw};

fn audited_with_keys(log: &[Logged], key: [u8; 32]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), &chained(log));
    let mut options = options(folder.path());
    options.draws = Some(DrawKeys::from_key(key));
    audit(&options).unwrap()
}

fn sealed() -> (Tale, [u8; 32]) {
    let mut tale = Tale::sealed(&["alice", "bob"]);
    for _ in 0..3 {
        tale.plain_spin("alice");
        tale.plain_spin("bob");
    }
    tale.tend();
    let key = tale.key.unwrap();
    (tale, key)
}

#[test]
fn mf_e1_a_chosen_seal_is_found_with_the_draw_keys() {
    let (mut tale, key) = sealed();
    let report = audited_with_keys(&tale.log, key);
    assert!(report.divergence.is_none(), "{report:?}");
    assert!(report.seals.checked > 0 && report.seals.unchecked == 0, "{:?}", report.seals);
    let other = audited_with_keys(&tale.log, [1; 32]);
    assert!(other.divergence.is_none() && other.seals.checked == 0 && other.seals.unchecked > 0);

    tale.plain_spin("bob");
    let mut log = tale.log.clone();
    let last = log.len() - 1;
    let draw = step(&mut log[last]).draw.as_mut().unwrap();
    let number = draw.number + 1;
    draw.next_seal = draw::seal(&[7; 32]);
    assert!(audited(&log).divergence.is_none(), "the log alone does not show the fault");
    let found = audited_with_keys(&log, key).divergence.unwrap();
    assert_eq!((found.partition, found.position), (0, last as u64 + 1));
    assert!(found.to_string().contains(&format!("the seal of draw {number} ")), "{found}");
}

#[test]
fn mf_e1_a_false_reseal_is_found_with_the_draw_keys() {
    for chosen in [false, true] {
        let (mut tale, key) = sealed();
        let next = tale.books.player(&player("bob")).unwrap().draw.unwrap();
        let number = next.number + 1;
        let seal = match chosen {
            true => draw::seal(&[7; 32]),
            false => draw::seal(&draw::deal(&key, &player("bob"), number)),
        };
        let (epoch, reason) = (draw::epoch(&key), SealReason::KeyLost);
        let position = tale
            .write(player("bob"), vec![Event::DrawSealed(DrawSealed { number, epoch, generation: 0, seal, reason })]);
        assert!(audited(&tale.log).divergence.is_none(), "the log alone does not show the fault");
        let found = audited_with_keys(&tale.log, key).divergence;
        assert_eq!(found.as_ref().map(|found| found.position), chosen.then_some(position), "{found:?}");
    }
}

fn proposed_by(roles: &str) -> Option<std::sync::Arc<Proposer>> {
    Some(Proposer { credential: "c7".into(), roles: roles.into() }.into())
}

#[test]
fn mf_e2_the_audit_checks_the_roles_of_proposers() {
    let mut tale = Tale::with_players(&["alice"]);
    tale.plain_spin("alice");
    tale.hit("alice", CoinValue(200_000));
    tale.tend();
    let deposit = tale.find(|event| matches!(event, Event::Deposited { .. }));
    let played = tale.find(|event| matches!(event, Event::StepResolved(_)));
    let award = tale.find(|event| matches!(event, Event::JackpotAwarded(_)));
    let paid = tale.find(|event| matches!(event, Event::JackpotPaid { .. }));
    assert_eq!(tale.log[award].commit.stream, pool());
    let mut honest = tale.log.clone();
    for (at, roles) in
        [(deposit, "node-ledger"), (played, "node-spin"), (award, "node-jackpot"), (paid, "node-spin node-jackpot")]
    {
        honest[at].proposer = proposed_by(roles);
    }
    assert!(audited(&honest).divergence.is_none());
    honest[deposit].proposer = proposed_by("");
    assert!(audited(&honest).divergence.is_none());
    for (at, roles) in [
        (deposit, "node-spin"),
        (deposit, "node-jackpot"),
        (played, "node-jackpot"),
        (played, "node-ledger"),
        (award, "node-spin"),
        (award, "node-ledger"),
        (paid, "node-spin"),
        (paid, "unknown"),
    ] {
        let found = found(&tale, at, |logged| logged.proposer = proposed_by(roles));
        assert!(found.to_string().contains("credential c7 proposed a commit"), "{found}");
    }
    honest[award].proposer = proposed_by("node-spin");
    assert_eq!(divergence(&honest).position, award as u64 + 1);
}
