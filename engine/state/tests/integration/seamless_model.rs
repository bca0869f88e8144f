//! Exhaustive model of the seamless wallet (PL-31, PL-32), run against the real state code. For one winning bet, it
//! tries every order of calls, with late and duplicate deliveries, lost answers and crashes.

use crate::common::*;
use motherlode_state::*;
use std::collections::BTreeSet;

const BET: i64 = 100;
const WIN: i64 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Debited {
    Unknown,
    Applied,
    Refused,
    RolledBack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    Debit,
    Rollback,
    Credit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    DebitDone,
    DebitRefused,
    RollbackDone,
    CreditDone,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Ask,
    Send(Call),
    Arrives(Call),
    Answered(Answer),
    GiveUp,
    ServiceCrashes,
}

#[derive(Clone)]
struct Model {
    world: World,
    rich: bool,
    debited: Debited,
    credits: u32,
    calls: BTreeSet<Call>,
    answers: BTreeSet<Answer>,
}

type Key = (u32, Option<bool>, usize, Debited, u32, Vec<Call>, Vec<Answer>);

impl Model {
    fn new(rich: bool) -> Self {
        let mut world = World::with_players(&[]);
        world.write(player("alice"), vec![Event::AccountOpened { currency: Currency::EUR }, Event::SeamlessChosen]);
        Self { world, rich, debited: Debited::Unknown, credits: 0, calls: BTreeSet::new(), answers: BTreeSet::new() }
    }

    fn wallet(&self) -> &Wallet {
        self.world.books.player(&player("alice")).unwrap().wallet().unwrap()
    }

    fn ended(&self) -> Option<&Event> {
        self.world.log.iter().find(|commit| commit.request_id == "r").map(|commit| &commit.events[0])
    }

    fn key(&self) -> Key {
        let end = match self.ended() {
            None => 0,
            Some(Event::DebitConfirmed { .. }) => 1,
            Some(Event::DebitRefused { .. }) => 2,
            _ => 3,
        };
        let rolling = self.wallet().debit.as_ref().map(|debit| debit.rolling_back);
        let (calls, answers) = (self.calls.iter().copied().collect(), self.answers.iter().copied().collect());
        (end, rolling, self.wallet().dues.len(), self.debited, self.credits, calls, answers)
    }

    fn commit(&mut self, request_id: &str, events: Vec<Event>) {
        if self.world.log.iter().any(|commit| commit.request_id == request_id) {
            return;
        }
        let commit = Commit { request_id: request_id.into(), ..self.world.next(player("alice"), events) };
        if self.world.books.apply(&commit).is_ok() {
            self.world.log.push(commit);
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::ServiceCrashes];
        let debit = self.wallet().debit.as_ref();
        if debit.is_none() && self.ended().is_none() {
            steps.push(Step::Ask);
        }
        match debit.map(|debit| debit.rolling_back) {
            Some(false) => steps.extend([Step::Send(Call::Debit), Step::GiveUp]),
            Some(true) => steps.push(Step::Send(Call::Rollback)),
            None => {}
        }
        if !self.wallet().dues.is_empty() {
            steps.push(Step::Send(Call::Credit));
        }
        steps.extend(self.calls.iter().map(|call| Step::Arrives(*call)));
        steps.extend(self.answers.iter().map(|answer| Step::Answered(*answer)));
        steps
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Ask => {
                let asked = DebitAsked {
                    request_id: "r".into(),
                    fingerprint: [0; 16],
                    currency: Currency::EUR,
                    amount: Minor(BET),
                    facts: None,
                };
                self.commit("debit/r", vec![Event::DebitAsked(asked)]);
            }
            Step::Send(call) => _ = self.calls.insert(call),
            Step::Arrives(call) => {
                let answer = self.arrives(call);
                self.answers.insert(answer);
            }
            Step::Answered(answer) => self.answered(answer),
            Step::GiveUp => {
                let event = Event::RollbackAsked { request_id: "r".into(), reason: "late".into() };
                self.commit("rollback/r", vec![event]);
            }
            Step::ServiceCrashes => self.answers.clear(),
        }
    }

    fn arrives(&mut self, call: Call) -> Answer {
        match call {
            Call::Debit => {
                if self.debited == Debited::Unknown {
                    self.debited = if self.rich { Debited::Applied } else { Debited::Refused };
                }
                if self.debited == Debited::Applied { Answer::DebitDone } else { Answer::DebitRefused }
            }
            Call::Rollback => {
                self.debited = Debited::RolledBack;
                Answer::RollbackDone
            }
            Call::Credit => {
                self.credits = 1;
                Answer::CreditDone
            }
        }
    }

    fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::DebitDone => {
                let started = self.world.start("alice", POOL, Currency::EUR, BET, "0.2");
                let number = started.round;
                let confirmed = Event::DebitConfirmed { amount: Minor(BET), reported_balance: Minor(0), answer: None };
                let events =
                    vec![confirmed, Event::RoundStarted(started.into()), step(number, 1, WIN), settled(number, WIN)];
                self.commit("r", events);
            }
            Answer::DebitRefused => self.commit("r", vec![Event::DebitRefused { reason: "poor".into(), code: 0 }]),
            Answer::RollbackDone => self.commit("r", vec![Event::DebitRolledBack]),
            Answer::CreditDone => {
                let (request_id, currency) = ("r".to_owned(), Currency::EUR);
                self.commit(
                    "credit/EUR/r",
                    vec![Event::CreditPaid {
                        request_id: request_id.into(),
                        currency,
                        amount: Minor(WIN),
                        reported_balance: Minor(0),
                        answer: None,
                    }],
                );
            }
        }
    }

    fn check(&self) {
        let rounds = self.world.books.player(&player("alice")).unwrap().rounds_started;
        match self.ended() {
            None => assert_eq!(rounds, 0, "no round exists before its debit is confirmed"),
            Some(Event::DebitConfirmed { .. }) => assert_eq!((rounds, self.debited), (1, Debited::Applied)),
            Some(Event::DebitRefused { .. }) => assert_eq!((rounds, self.debited), (0, Debited::Refused)),
            Some(Event::DebitRolledBack) => assert_eq!((rounds, self.debited), (0, Debited::RolledBack)),
            Some(other) => panic!("a debit cannot end as {other:?}"),
        }
        assert!(self.credits == 0 || rounds == 1, "nothing is credited for a round that was not played");
        let paid = self.world.log.iter().any(|commit| commit.request_id == "credit/EUR/r");
        assert!(!paid || self.credits == 1, "a credit that the books record as paid was paid");
    }

    fn finish(mut self) {
        for _ in 0..20 {
            let debit = self.wallet().debit.as_ref().map(|debit| debit.rolling_back);
            let call = match (debit, self.wallet().dues.is_empty()) {
                (Some(true), _) => Call::Rollback,
                (Some(false), _) => {
                    self.step(Step::GiveUp);
                    continue;
                }
                (None, false) => Call::Credit,
                (None, true) => break,
            };
            let answer = self.arrives(call);
            self.answered(answer);
            self.check();
        }
        assert!(!self.wallet().is_busy());
        assert_eq!(self.world.books.holding(Account::Transit("acme"), Currency::EUR), Nano::ZERO);
        let played = matches!(self.ended(), Some(Event::DebitConfirmed { .. }));
        assert_eq!(self.credits, u32::from(played), "a due credit takes effect once");
        assert!(played || self.debited != Debited::Applied || self.ended().is_none(), "each debit ends");
    }
}

#[test]
fn pl_31_pl_32_whatever_is_lost_late_or_doubled_each_debit_has_one_end_and_each_due_one_credit() {
    for rich in [true, false] {
        let mut seen = BTreeSet::new();
        let mut left = vec![Model::new(rich)];
        let mut ends = BTreeSet::new();
        while let Some(model) = left.pop() {
            if !seen.insert(model.key()) {
                continue;
            }
            model.check();
            ends.insert(model.key().0);
            model.clone().finish();
            for step in model.steps() {
                let mut next = model.clone();
                next.step(step);
                left.push(next);
            }
        }
        assert!(seen.len() > 20, "{} states", seen.len());
        let all: BTreeSet<u32> = if rich { [0, 1, 3].into() } else { [0, 2, 3].into() };
        assert_eq!(ends, all, "every end is reached");
    }
}
