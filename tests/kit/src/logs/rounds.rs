use super::{
    Log,
    world::{EUR, World, player, settled, step},
};
use motherlode_state::{DebitAsked, DebitFacts, Event, InternalRequest, Minor, VoidedJackpot, WalletAnswer};

pub(super) fn all() -> Vec<Log> {
    let log = |name: &str, world: World| Log { name: name.into(), partition: 0, records: world.records };
    vec![log("made-wallet-rounds", rounds()), log("made-wallet-reversals", reversals())]
}

fn reversals() -> World {
    let mut world = World::new(0);
    world.write(player("sam"), vec![Event::AccountOpened { currency: EUR }, Event::SeamlessChosen]);
    for (request_id, win) in [("r1", 700), ("r2", 500)] {
        let asked = Event::DebitAsked(DebitAsked {
            request_id: request_id.into(),
            fingerprint: [3; 16],
            currency: EUR,
            amount: Minor(300),
            facts: Some(Box::default()),
        });
        let chosen = (request_id == "r2").then_some(Event::RoundReportsChosen { rounds: true });
        let named = InternalRequest::AskDebit { request_id }.to_string();
        world.write_named(player("sam"), &named, [asked].into_iter().chain(chosen).collect());
        let started = world.bet("sam", "neptune", EUR, 300);
        let round = started.round;
        let confirmed = Event::DebitConfirmed { amount: Minor(300), reported_balance: Minor(9), answer: None };
        let events = vec![confirmed, Event::RoundStarted(started.into()), step(round, 1, win), settled(round, win)];
        world.write_named(player("sam"), request_id, events);
        let (amount, reported_balance) = (Minor(win), Minor(win + 9));
        let request = request_id.into();
        let paid = Event::CreditPaid { request_id: request, currency: EUR, amount, reported_balance, answer: None };
        world.write(player("sam"), vec![paid]);
        let mut void = world.void("sam", round, "support-1", VoidedJackpot::Kept);
        if let Event::RoundVoided { win_taken_back, .. } = &mut void {
            *win_taken_back = Minor(300);
        }
        let due = Event::ReversalDue { round, amount: Minor(win - 300) };
        world.write_named(player("sam"), &format!("void-{request_id}"), vec![void, due]);
        if request_id == "r1" {
            let answer = WalletAnswer { transaction_id: "w-2".into(), ..WalletAnswer::default() };
            let taken = Event::ReversalTaken {
                request_id: "void-r1".into(),
                round,
                currency: EUR,
                amount: Minor(400),
                reported_balance: Minor(309),
                answer: Some(Box::new(answer)),
            };
            world.write(player("sam"), vec![taken]);
        }
    }
    world
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
