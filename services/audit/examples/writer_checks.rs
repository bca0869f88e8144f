//! Measures two costs per commit of a round: the writer's checks of a proposal by another process (PL-44), and the admission
//! of the commit to the log.
//!
//! `cargo run --release -p motherlode-audit --example writer_checks [ROUNDS] [PLAYERS]`

#[path = "../tests/integration/common/mod.rs"]
mod common;

use common::Tale;
use motherlode_ledger::DrawKeys;
use motherlode_log::{genesis, hash};
use motherlode_proto::convert::record;
use motherlode_rounds::check::{Before, check};
use motherlode_slots::{Awaiting, Choice, Picked};
use motherlode_state::{Books, CoinValue, Commit, DrawName, Event, RecordHash, Stage};
use std::{
    env,
    time::{Duration, Instant},
};

const PICK_EVERY: u32 = 100;

fn main() {
    let mut arguments = env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (rounds, players) = (number(100_000), number(1_000));
    let names: Vec<_> = (0..players).map(|number| format!("player-{number:05}")).collect();
    let mut tale = Tale::sealed(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for round in 0..rounds {
        let name = &names[round as usize * 617 % names.len()];
        match round % PICK_EVERY {
            0 => {
                let name = &format!("picker-{round:05}");
                tale.join(name);
                let picks = tale.bet(name, 15, 1, CoinValue(100_000), |outcome| outcome.awaiting == Awaiting::Pick);
                let picked = Choice::Pick(Picked::new(&[0, 2, 4]).expect("three vials"));
                tale.choose(name, picks, picked, |outcome| !outcome.jackpot);
            }
            _ => {
                tale.plain_spin(name);
            }
        }
    }
    let keys = DrawKeys::from_key(tale.key.expect("a key"));
    for _ in 0..5 {
        let (mut bets, mut choices) = (Costs::default(), Costs::default());
        let (mut books, mut head) = (Books::new(), genesis(0));
        for logged in &tale.log {
            let commit = &logged.commit;
            let checked = timed(|| check_commit(&books, &keys, commit));
            let admitted = timed(|| admit(&mut books, &mut head, commit));
            let starts = commit.events.iter().any(|event| matches!(event, Event::RoundStarted(_)));
            match commit.events.iter().any(|event| matches!(event, Event::StepResolved(_))) {
                true if starts => bets.add(checked, admitted),
                true => choices.add(checked, admitted),
                false => {}
            }
        }
        println!("bets:  {}\npicks: {}", bets.text(), choices.text());
    }
}

#[derive(Default)]
struct Costs {
    count: u32,
    check: Duration,
    admission: Duration,
}

impl Costs {
    fn add(&mut self, check: Duration, admission: Duration) {
        self.count += 1;
        self.check += check;
        self.admission += admission;
    }

    fn text(&self) -> String {
        let (check, admission) = (self.check / self.count.max(1), self.admission / self.count.max(1));
        format!("{} commits, check {check:.2?} each, admission {admission:.2?}", self.count)
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn check_commit(books: &Books, keys: &DrawKeys, commit: &Commit) {
    if !commit.events.iter().any(|event| matches!(event, Event::StepResolved(_))) {
        return;
    }
    let player = books.player(&commit.stream).cloned().unwrap_or_default();
    let generations = books.generations();
    for event in &commit.events {
        if let Event::StepResolved(step) = event {
            let draw = step.draw.as_ref().expect("a sealed draw");
            let expected = keys.expected_seal(&commit.stream, draw.next_name(), generations);
            assert_eq!(expected, Some(draw.next_seal));
        }
    }
    let dealt_of = |name: DrawName| keys.dealt(&commit.stream, name, generations);
    let before =
        Before { stream: &commit.stream, player: &player, request_id: &commit.request_id, dealt_of: &dealt_of };
    check(&before, &commit.events).expect("the log is sound");
}

fn admit(books: &mut Books, head: &mut RecordHash, commit: &Commit) {
    books.admit(commit).expect("the log is sound");
    let (mut stage, mut balances_after, mut due_after) = (Stage::new(), vec![], vec![]);
    let applied = stage.apply_recorded(books, commit, None, |player| {
        balances_after = player.map(|player| player.balances().collect()).unwrap_or_default();
        due_after = player.map(|player| player.due().collect()).unwrap_or_default();
        let mut bytes = vec![];
        record::write_commit(head, commit, &balances_after, &mut bytes);
        record::write_end(None, &due_after, &mut bytes);
        *head = hash(&bytes);
        *head
    });
    applied.expect("the log is sound");
    books.absorb(stage);
}
