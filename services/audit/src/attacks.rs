//! Tests with generated attacks: a dishonest writer changes the log, recomputes the hash chain and the tree, and signs the
//! result. The audit and `verify` must detect attacks on draws; earlier checkpoints and a witness must reveal a rewritten
//! log.

#[allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test may panic")]
#[path = "../tests/integration/common/mod.rs"]
mod common;

use crate::{
    ShownDraw, Unproven,
    divergence::{Divergence, Fault},
    fold::Fold,
    judge::Judge,
    play::Plays,
    playing::Players,
    recalled::Recalled,
    tree::{Checkpoints, TreeCheck},
    verify,
};
use bytes::Bytes;
use common::{Tale, chained, chained_as_they_are, linked, player, step};
use motherlode_ledger::rounds::is_for;
use motherlode_log::hash;
use motherlode_proofs::shortened;
use motherlode_proto::{
    convert::record::Logged,
    proof::v1::{ProvenRecord, RoundRecords},
};
use motherlode_rounds::draws;
use motherlode_slots::{Awaiting, Card, Choice, Picked};
use motherlode_state::{CoinValue, Event, Minor, StreamId};
use motherlode_tiles::{
    AddCheckpoint, Checkpoint, Hash, KeyKind, Note, NoteError, Proof, Seen, SignerKey, Stored, Tree, Unwitnessed,
    consistency, inclusion, judge, leaf,
};
use prost::Message as _;
use std::{collections::VecDeque, convert::Infallible, path::PathBuf};

const VERIFIED: u64 = 41;
const ORIGIN: &str = "example.com/motherlode/log/0";

fn times() -> u64 {
    std::env::var("MOTHERLODE_TESTS_ATTACKS")
        .map_or(1_000, |times| times.parse().expect("MOTHERLODE_TESTS_ATTACKS is not a number"))
}

struct Leaves(Vec<Hash>);

impl Leaves {
    fn new(records: &[Bytes]) -> Self {
        Self(records.iter().map(|record| leaf(&hash(record))).collect())
    }
}

impl Stored for Leaves {
    type Error = Infallible;

    fn hashes(&self, level: u8, first: u64, count: usize) -> Result<Vec<Hash>, Infallible> {
        assert_eq!(level, 0, "the test log must have fewer records than one tile of the Merkle tree");
        let first = usize::try_from(first).unwrap();
        Ok(self.0[first..first + count].to_vec())
    }
}

fn log_key() -> SignerKey {
    SignerKey::new(ORIGIN, KeyKind::Log, [7; 32]).unwrap()
}

fn tree_of(records: &[Bytes]) -> Checkpoint {
    let mut tree = Tree::default();
    records.iter().for_each(|record| tree.append(&hash(record), |_, _| {}));
    Checkpoint { origin: ORIGIN.to_owned(), size: tree.size(), root: tree.root() }
}

fn signed(records: &[Bytes]) -> Note {
    tree_of(records).sign(&log_key()).unwrap()
}

fn proof_of(log: &[(Logged, Bytes)], stream: &StreamId, number: u64) -> Proof {
    let (linked, records) = log.iter().cloned().unzip::<_, _, Vec<_>, Vec<_>>();
    let (mut sealing, mut round) = (vec![], vec![]);
    let leaves = Leaves::new(&records);
    let path = |at: usize| inclusion(&leaves, at as u64, records.len() as u64).unwrap();
    let mut sealed = None;
    for (at, logged) in linked.iter().enumerate().filter(|(_, logged)| logged.commit.stream == *stream) {
        let (events, of_round) = (&logged.commit.events, is_for(logged, number));
        if draws::used(events, number).next().is_some() {
            sealing.extend(sealed.take());
        }
        if draws::sealed(events).next().is_some() {
            sealed = (!of_round).then_some(at);
        }
        if of_round {
            round.push(at);
        }
    }
    let last = *round.last().expect("the round");
    let named = |at: usize| {
        let after = round.iter().chain(&sealing).filter(|after| **after > at);
        after.flat_map(|after| draws::sealed_by(&linked[*after].commit.events)).any(|named| named == hash(&records[at]))
    };
    let mut before = None;
    let mut proven = |at: &usize| {
        let path = if *at == last || named(*at) { vec![] } else { path(*at) };
        let path = path.iter().map(|hash| hash.to_vec()).collect();
        let (record, copied) = shortened(&records[*at], before.replace(&records[*at]).map(|before| &before[..]));
        ProvenRecord { record, copied, path, ..ProvenRecord::default() }
    };
    let sealing = sealing.iter().map(&mut proven).collect();
    let records_of_round = round.iter().map(proven).collect();
    let extra = RoundRecords { records: records_of_round, sealing, round: number, ..RoundRecords::default() };
    Proof { extra: extra.encode_to_vec(), index: last as u64, path: path(last), checkpoint: signed(&records) }
}

fn refuted(log: &[(Logged, Bytes)], at: usize) -> bool {
    let commit = &log[at].0.commit;
    let round = commit.events.iter().find_map(|event| match event {
        Event::StepResolved(step) => Some(step.round),
        Event::RoundVoided { round, .. } => Some(*round),
        _ => None,
    });
    let proof = proof_of(log, &commit.stream, round.expect("a round"));
    match verify(&proof, log_key().verifier(), None) {
        Ok(proven) => {
            !proven.replayed.matches() || !proven.draws.iter().all(|draw| matches!(draw, ShownDraw::Sealed(..)))
        }
        Err(_) => true,
    }
}

fn dice(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    }
}

fn judged(log: &[Logged]) -> Option<Box<Divergence>> {
    judged_with(&linked(log))
}

fn judged_with(log: &[(Logged, Bytes)]) -> Option<Box<Divergence>> {
    let recalled = Recalled::new(PathBuf::new(), |_| None);
    let (mut fold, mut judge) = (Fold::new(0, VecDeque::new()), Judge::new(0, None, &recalled));
    let mut players = Players::default();
    let fold = |(logged, bytes): &(Logged, Bytes)| {
        let judged = fold.judged_by(&mut judge, &mut players, logged, hash(bytes));
        judged.map_err(|fault| fault.at(0, logged.commit.position))
    };
    let folded = log.iter().try_for_each(fold).err();
    let (mut plays, mut players) = (Plays::new(&recalled), Players::default());
    let play = |(Logged { commit, .. }, _): &(Logged, Bytes)| {
        let played = plays.take(&mut players, commit);
        played.map_err(|fault| fault.at(0, commit.position))
    };
    let played = log.iter().try_for_each(play).err();
    [folded, played].into_iter().flatten().min_by_key(|divergence| divergence.position)
}

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
    let voided = Event::RoundVoided {
        round: pick,
        reason,
        actor,
        refund: Minor(150),
        win_taken_back: Minor(0),
        jackpot: motherlode_state::VoidedJackpot::TakenBack,
        settled: None,
    };
    let revealed = tale.revealed("bob", pick).expect("an open round");
    tale.write(player("bob"), vec![voided, revealed]);
    tale.spin("alice", |outcome| outcome.awaiting == Awaiting::Pick);
    tale
}

fn attack(tale: &Tale, hits: impl Fn(&Event) -> bool, mut change: impl FnMut(u64, &mut Logged)) {
    assert!(judged(&tale.log).is_none(), "the check refused the unchanged log");
    let places: Vec<_> = (0..tale.log.len()).filter(|at| tale.log[*at].commit.events.iter().any(&hits)).collect();
    assert!(!places.is_empty());
    for (number, at) in (0..times()).zip(places.into_iter().cycle()) {
        let mut log = tale.log.clone();
        change(number, &mut log[at]);
        assert!(log[at] != tale.log[at], "attack {number} does not change the log");
        let found =
            judged(&log).unwrap_or_else(|| panic!("the check did not detect attack {number} at position {}", at + 1));
        assert!(found.position > at as u64, "attack {number}: {found}");
        if number % VERIFIED == 0 {
            assert!(!refuted(&linked(&tale.log), at), "attack {number}: the check refuted the original round");
            assert!(
                refuted(&linked(&log), at),
                "`verify` accepted the log after attack {number} at position {}",
                at + 1
            );
        }
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

/// Attacks change only first steps of rounds: in a later step, a changed seed may draw the same card.
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
            // In a commit that voids a round, `DrawsLost` can be valid, so the forged event names a different round.
            let instead = Event::DrawsLost { round: if is_void { round + 1 } else { round } };
            let place = logged.commit.events.iter_mut().find(|event| reveals(event));
            *place.expect("a reveal") = instead;
        }
    });
}

#[test]
fn a_substituted_client_seed_is_found_once_its_round_is_over() {
    let mut tale = tale();
    tale.log.pop();
    attack(&tale, first_step, |number, logged| {
        let draw = step(logged).draw.as_mut().expect("a sealed draw");
        draw.client_seed = number.to_le_bytes()[..1 + usize::try_from(number % 8).unwrap_or_default()].to_vec();
    });
}

#[test]
fn an_outcome_of_another_seed_is_found() {
    let mut sound = Tale::sealed(&["alice"]);
    sound.plain_spin("alice");
    assert!(judged(&sound.log).is_none(), "the check refused the unchanged log");
    for number in 0..times() {
        let mut tale = sound.clone();
        tale.seeds = number << 32;
        tale.forged = true;
        tale.plain_spin("alice");
        let found = judged(&tale.log).unwrap_or_else(|| panic!("the check did not detect forgery {number}"));
        assert!(
            found.position == tale.log.len() as u64 && found.what.starts_with("PL-06"),
            "forgery {number}: {found}"
        );
        assert!(
            number % VERIFIED > 0 || refuted(&linked(&tale.log), tale.log.len() - 1),
            "`verify` accepted forgery {number}"
        );
    }
}

#[test]
fn a_draw_used_twice_or_given_up_without_a_word_is_found() {
    let mut tale = tale();
    tale.log.pop();
    attack(&tale, first_step, |number, logged| {
        let draw = step(logged).draw.as_mut().expect("a sealed draw");
        match number % 3 {
            0 => draw.number = draw.number.wrapping_sub(1 + number % 7),
            1 => draw.number += 1 + number % 7,
            _ => draw.epoch[usize::try_from(number).unwrap_or_default() % 4] ^= 1,
        }
    });
}

#[test]
fn a_step_that_names_another_record_for_its_seal_is_found() {
    let mut tale = tale();
    tale.log.pop();
    let hashes: Vec<_> = chained(&tale.log).iter().map(|record| hash(record)).collect();
    let places: Vec<_> = (0..tale.log.len()).filter(|at| tale.log[*at].commit.events.iter().any(first_step)).collect();
    let mut roll = dice(9);
    for (number, at) in (0..times()).zip(places.into_iter().cycle()) {
        let mut log = tale.log.clone();
        let named = step(&mut log[at]).draw.as_mut().and_then(|draw| draw.sealed_by.as_mut()).expect("a name");
        match number % 2 {
            0 => named[roll(32)] ^= 1 << roll(8),
            _ => {
                let right = *named;
                let others: Vec<_> = hashes[..at].iter().filter(|other| **other != right).collect();
                *named = *others[roll(others.len())];
            }
        }
        let log = chained_as_they_are(&log);
        let found = judged_with(&log)
            .unwrap_or_else(|| panic!("the check did not detect attack {number} at position {}", at + 1));
        assert!(found.position == at as u64 + 1, "attack {number}: {found}");
        assert!(
            number % VERIFIED > 0 || refuted(&log, at),
            "`verify` accepted the log after attack {number} at position {}",
            at + 1
        );
    }
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
    assert!(judged(&log[..=bet]).is_none());
}

fn against(kept: &Checkpoint, records: &[Bytes]) -> Result<(), Fault> {
    let checkpoints = Checkpoints { signed: vec![kept.clone()], files: None };
    let mut check = TreeCheck::new(&checkpoints)?.expect("a checkpoint");
    let (last, before) = records.split_last().expect("records");
    before.iter().try_for_each(|record| check.take(hash(record)))?;
    check.end(records.len() as u64, hash(last))
}

fn witnessed(turn: u64, seen: &Checkpoint, seen_records: &[Bytes], shown: &[Bytes]) -> Result<Checkpoint, Unwitnessed> {
    let (new, seen_size) = (shown.len() as u64, seen_records.len() as u64);
    let old = [seen.size, new.min(seen.size), 0][usize::try_from(turn % 3).unwrap()];
    let path = match turn / 3 % 3 {
        0 if old <= new => consistency(&Leaves::new(shown), old, new).unwrap(),
        1 if old <= seen_size => consistency(&Leaves::new(seen_records), old, seen_size).unwrap(),
        _ => vec![],
    };
    let request = AddCheckpoint { old, path, checkpoint: signed(shown) };
    judge(&request, log_key().verifier(), Some(Seen { size: seen.size, root: seen.root }))
}

fn rewritten(log: &[Logged], at: usize, number: u64) -> Vec<Bytes> {
    let mut log = log.to_vec();
    match number % 3 {
        0 => log[at].commit.request_id = format!("{}{number}", log[at].commit.request_id).into(),
        1 => log[at].commit.fingerprint[usize::try_from(number / 3 % 16).unwrap()] ^= 1 << (number % 8),
        _ => log[at].commit.time_ms += 1 + i64::try_from(number % 5).unwrap(),
    }
    chained(&log)
}

#[test]
fn a_record_rewritten_with_its_chain_and_tree_redone_is_caught_by_a_kept_checkpoint_and_by_a_witness() {
    let tale = tale();
    let honest = chained(&tale.log);
    let mut roll = dice(5);
    for number in 0..times() {
        let kept = 1 + roll(honest.len());
        let at = roll(kept);
        let forged = rewritten(&tale.log, at, number);
        let checkpoint = tree_of(&honest[..kept]);
        assert!(number > 0 || against(&checkpoint, &honest).is_ok(), "the check refused the unchanged log");
        assert!(
            against(&checkpoint, &forged).is_err(),
            "the check did not detect attack {number} at position {}",
            at + 1
        );
        if number % VERIFIED == 0 {
            let said = witnessed(number / VERIFIED, &checkpoint, &honest[..kept], &forged);
            assert!(said.is_err(), "the witness cosigned the log after attack {number}: {said:?}");
        }
    }
}

#[test]
fn a_split_view_is_caught_by_the_witness() {
    let tale = tale();
    let honest = chained(&tale.log);
    let mut roll = dice(6);
    for number in 0..times() {
        let seen = 2 + roll(honest.len() - 1);
        let parted = 1 + roll(seen - 1);
        let other = rewritten(&tale.log, parted, number);
        let shown = &other[..parted + 1 + roll(other.len() - parted)];
        let said = witnessed(number, &tree_of(&honest[..seen]), &honest[..seen], shown);
        assert!(said.is_err(), "the witness cosigned the forked log {number}: {said:?}");
        if number == 0 {
            let said = witnessed(0, &tree_of(&honest[..seen]), &honest[..seen], &honest);
            assert!(said.is_ok(), "the witness refused a continuation of the known log: {said:?}");
        }
    }
}

#[test]
fn a_checkpoint_of_another_key_proves_nothing() {
    let tale = tale();
    let at = tale.find(|event| matches!(event, Event::RoundSettled { .. }));
    let honest = proof_of(&linked(&tale.log), &tale.log[at].commit.stream, 1);
    let key = log_key();
    assert!(verify(&honest, key.verifier(), None).is_ok());
    let mut roll = dice(7);
    for number in 0..times() {
        let seed: [u8; 32] = std::array::from_fn(|_| u8::try_from(roll(256)).unwrap());
        let name = if number % 4 == 3 { "example.org/motherlode/log/0" } else { ORIGIN };
        let mut signature = SignerKey::new(name, KeyKind::Log, seed).unwrap().sign(honest.checkpoint.text());
        if number % 2 == 1 {
            (signature.name, signature.id) = (ORIGIN.to_owned(), key.verifier().id());
        }
        let checkpoint = honest.checkpoint.clone().with(vec![signature]);
        let found = verify(&Proof { checkpoint, ..honest.clone() }, key.verifier(), None);
        let is_told = matches!(found, Err(Unproven::Checkpoint(NoteError::Unsigned | NoteError::False)));
        assert!(is_told, "attack {number}: {found:?}");
    }
}

#[test]
fn a_truncated_tree_is_found() {
    let tale = tale();
    let honest = chained(&tale.log);
    let at = tale.find(|event| matches!(event, Event::RoundSettled { .. }));
    let proof = proof_of(&linked(&tale.log), &tale.log[at].commit.stream, 1);
    let mut roll = dice(8);
    for number in 0..times() {
        let kept = 2 + roll(honest.len() - 1);
        let checkpoint = tree_of(&honest[..kept]);
        let cut = &honest[..1 + roll(kept - 1)];
        assert!(
            against(&checkpoint, cut).is_err(),
            "attack {number}: the check accepted a log cut to {} of {kept} records",
            cut.len()
        );
        if number % VERIFIED == 0 {
            let said = witnessed(number / VERIFIED, &checkpoint, &honest[..kept], cut);
            assert!(said.is_err(), "the witness cosigned the log after attack {number}: {said:?}");
        }
        let mut cut = proof.clone();
        match number % 2 {
            0 => cut.path.truncate(roll(proof.path.len())),
            _ => cut.checkpoint = signed(&honest[..1 + roll(at)]),
        }
        let found = verify(&cut, log_key().verifier(), None);
        assert!(matches!(found, Err(Unproven::NotIncluded(_))), "attack {number}: {found:?}");
    }
}
