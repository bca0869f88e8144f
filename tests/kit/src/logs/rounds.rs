//! A made log of a seamless player whose rounds are reported to the operator's wallet (PL-39).

use super::{
    Log,
    world::{EUR, World, player, settled, step},
};
use motherlode_state::{DebitAsked, DebitFacts, Event, InternalRequest, Minor, WalletAnswer};

pub(super) fn all() -> Vec<Log> {
    vec![Log { name: "made-wallet-rounds".into(), partition: 0, records: rounds().records }]
}

fn rounds() -> World {
    let mut world = World::new(0);
    world.write(player("rita"), vec![Event::AccountOpened { currency: EUR }, Event::SeamlessChosen]);
    for (request_id, win) in [("r1", 0), ("r2", 500), ("r3", 90), ("r4", 0)] {
        let facts = DebitFacts {
            game: "neptune".into(),
            rules_version: "1.6".into(),
            session: "op-7".into(),
            ..DebitFacts::default()
        };
        let asked = Event::DebitAsked(DebitAsked {
            request_id: request_id.into(),
            fingerprint: [3; 16],
            currency: EUR,
            amount: Minor(300),
            facts: Some(Box::new(facts)),
        });
        let chosen = (request_id == "r1").then_some(Event::RoundReportsChosen { rounds: true });
        let named = InternalRequest::AskDebit { request_id }.to_string();
        world.write_named(player("rita"), &named, [asked].into_iter().chain(chosen).collect());
        let started = world.bet("rita", "neptune", EUR, 300);
        let round = started.round;
        let answer = WalletAnswer { transaction_id: "w-1".into(), balance_unknown: true, bonus: Minor(100) };
        let confirmed =
            Event::DebitConfirmed { amount: Minor(300), reported_balance: Minor(0), answer: Some(Box::new(answer)) };
        let session = Event::OperatorSession { session: "op-7".into() };
        let events =
            vec![confirmed, Event::RoundStarted(started.into()), step(round, 1, win), settled(round, win), session];
        world.write_named(player("rita"), request_id, events);
    }
    let reported = Event::CloseReported { request_id: "r1".into(), currency: EUR, round: 1, skipped: false };
    world.write(player("rita"), vec![reported]);
    let held = |request_id: &str| Event::WalletCallHeld {
        request_id: request_id.into(),
        currency: EUR,
        close: 0,
        reason: "PLAYER_BLOCKED".into(),
        code: 3,
    };
    world.write(player("rita"), vec![held("r2")]);
    let released = Event::WalletCallReleased { request_id: "r2".into(), currency: EUR, close: 0 };
    world.write(player("rita"), vec![released]);
    let paid = Event::CreditPaid {
        request_id: "r2".into(),
        currency: EUR,
        amount: Minor(500),
        reported_balance: Minor(700),
        answer: None,
    };
    world.write(player("rita"), vec![paid]);
    world.write(player("rita"), vec![held("r3")]);
    world
}
