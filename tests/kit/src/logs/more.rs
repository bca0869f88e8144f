use super::{
    Log,
    made::{exchange, free_bet, incident, session, void_of_a_bet},
    world::{EUR, POOL, World, player, settled, step, terms},
};
use motherlode_state::{
    ANYONE, BaseConfirmed, BaseTaken, Campaign, ConfigurationReloaded, Currency, DebitAsked, Event, GenerationBegun,
    InternalRequest, LogRestored, LoggedTerms, Minor, PoolTerms, RoundStarted, RoundTerms, SIGNAL, StartEvidence,
    StreamId, Switch, VoidedJackpot,
};

const USD: Currency = Currency::USD;
const FREE: u8 = 2;
const COLLECTION: u8 = 3;

pub(super) fn all() -> Vec<Log> {
    let [home, other] = partitions();
    let worlds = [
        ("more", 0, more()),
        ("more-partitions-0", 0, home),
        ("more-partitions-1", 1, other),
        ("more-damaged-0", 0, damaged(0)),
        ("more-damaged-1", 1, damaged(1)),
        ("bases", 1, bases()),
        ("more-reloads", 0, reloads()),
        ("restored", 0, restored()),
    ];
    let log =
        |(name, partition, world): (&str, u32, World)| Log { name: name.into(), partition, records: world.records };
    worlds.into_iter().map(log).collect()
}

fn damaged(partition: u32) -> World {
    let mut world = World::new(partition);
    let found = || Event::IntegrityFailed { check: Event::CHECK_OF_LOG.into(), finding: "a block".into() };
    world.write(StreamId::System, vec![found()]);
    world.write(StreamId::System, vec![Event::LogVerified { to: 1 }]);
    world.write(StreamId::System, vec![found()]);
    world
}

fn reloads() -> World {
    let mut world = World::new(0);
    let digest = |digit: &str| digit.repeat(64);
    for (actor, before, keys) in [("admin-1", "1", vec!["operators.acme.weight".into()]), (SIGNAL, "2", vec![])] {
        let key_count = if keys.is_empty() { 0 } else { 1 };
        let (before, after, actor) = (digest(before), digest("2"), actor.into());
        let reloaded = ConfigurationReloaded { before, after, keys, key_count, actor };
        world.write(StreamId::System, vec![Event::ConfigurationReloaded(Box::new(reloaded))]);
    }
    world
}

fn restored() -> World {
    let mut world = World::new(0);
    let rate = "0.9".parse().expect("a rate");
    world.write(StreamId::Rates, vec![Event::RateSet { currency: USD, rate, source: "bank".into() }]);
    wallet(&mut world);
    for (generation, number) in [(1, 7), (2, 5)] {
        let position = world.books.end(0).position;
        let (record_hash, origin, checkpoint) = ([7; 32], "example.com/log/0".into(), String::new());
        let restored = LogRestored { number, position, record_hash, origin, checkpoint };
        let begun = GenerationBegun {
            number: generation,
            salt: [u8::try_from(number).unwrap_or_default(); 32],
            unused_seals_end: true,
            evidence: StartEvidence::Restored,
            lost_to: position + 9,
            keys_added: vec![],
            keys_lost: vec![],
        };
        let events = vec![Event::LogRestored(restored.into()), Event::GenerationBegun(begun.into())];
        world.write(StreamId::System, events);
    }
    world
}

fn bases() -> World {
    let mut world = damaged(1);
    world.open("ann", EUR, 1_000);
    let taken = |position, actor: &str| BaseTaken {
        position,
        record_hash: [7; 32],
        form: 1,
        digest: [8; 32],
        actor: actor.into(),
    };
    world.write(StreamId::System, vec![Event::BaseTaken(taken(1, "ann").into())]);
    let confirmed = BaseConfirmed { position: 1, digest: [8; 32], actor: "auditor".into() };
    world.write(StreamId::System, vec![Event::BaseConfirmed(confirmed.into())]);
    world.write(StreamId::System, vec![Event::BaseTaken(taken(2, "bob").into())]);
    world
}

fn more() -> World {
    let mut world = World::new(0);
    let rate = "0.9".parse().expect("a rate");
    world.write(StreamId::Rates, vec![Event::RateSet { currency: USD, rate, source: "bank".into() }]);
    let switch = Switch { operator: "acme".into(), game: "dwarf-mine".into(), rules_version: "1.0".into() };
    let (reason, actor) = ("reel 3 stuck".into(), "ann".into());
    world.write(StreamId::System, vec![Event::SwitchSet { switch, on: false, reason, actor }]);
    world.write(StreamId::pool(POOL), vec![Event::PoolOpened { pool: POOL.into(), terms: terms(1) }]);
    for (name, currency) in [("uma", USD), ("udo", USD), ("ann", EUR)] {
        world.open(name, currency, 1_000_000);
    }
    hit(&mut world, "uma", false);
    world.settle_pools();
    world.pay_awards();
    hit(&mut world, "uma", true);
    world.settle_pools();
    world.pay_awards();
    hit(&mut world, "udo", false);
    world.settle_pools();
    void_of_a_bet(&mut world, "ann");
    world.now_ms += 60_000;
    let declared = incident(&world, "i-2", "1.6");
    world.write(StreamId::pool(POOL), vec![declared]);
    let later = PoolTerms { contribution_ppm: 10_000, ..terms(2) };
    world.write(StreamId::pool(POOL), vec![Event::PoolTermsChanged { terms: later }]);
    open_rounds(&mut world);
    wallet(&mut world);
    hit(&mut world, "udo", true);
    world.write(player("ann"), vec![Event::PartOf { request_id: "series".into() }]);
    world
}

fn hit(world: &mut World, name: &str, is_open: bool) {
    let started = world.bet(name, POOL, USD, 300);
    let round = started.round;
    let hit = Event::JackpotHit { round, pool: POOL.into() };
    let end = (!is_open).then(|| settled(round, 0));
    let events = [Event::RoundStarted(started.into()), step(round, 1, 0), hit];
    world.write(player(name), events.into_iter().chain(end).collect());
}

fn open_rounds(world: &mut World) {
    world.write(player("ann"), vec![session(7, "neptune", EUR)]);
    let carried =
        RoundTerms { lines: 15, buy_feature: true, carried: vec![3, 0, 1], witch: 2, ..RoundTerms::default() };
    let carried = RoundTerms { double: true, gamble_max_minor: 5_000, ..carried };
    let started = RoundStarted {
        session: Some([7; 16]),
        stake: LoggedTerms::Terms(carried),
        ..world.bet("ann", "neptune", EUR, 300)
    };
    let round = started.round;
    world.write(player("ann"), vec![Event::RoundStarted(started.into()), step(round, 1, 40)]);
    let campaign = Campaign {
        id: "summer".into(),
        game: "medusa".into(),
        currency: USD,
        bet: Minor(300),
        coin_value: "0.2".parse().expect("a coin value"),
        lines: 15,
        coins_per_line: 1,
        rounds: 5,
        expires_ms: world.now_ms + 86_400_000,
    };
    world.write(player("udo"), vec![Event::CampaignGranted(campaign)]);
    let started = free_bet(world, "udo", "medusa", USD, "summer");
    let round = started.round;
    world.write(player("udo"), vec![Event::RoundStarted(started.into()), step(round, 1, 0)]);
    let started = RoundStarted { rules_version: "1.0.1".into(), ..world.bet("ann", "dwarf-mine", EUR, 300) };
    let round = started.round;
    let gift = Event::CollectionChanged {
        game: "dwarf-mine".into(),
        scope: "".into(),
        changes: vec![("crystals_gifted".into(), 1)],
    };
    let mut spins = step(round, 1, 50);
    if let Event::StepResolved(spins) = &mut spins {
        spins.outcome = [[0x0A, 4, 0x08, FREE, 0x58, 20], [0x0A, 4, 0x08, COLLECTION, 0x58, 30]].concat();
    }
    world.write(player("ann"), vec![Event::RoundStarted(started.into()), spins, gift]);
    let started = world.bet("udo", "neptune", USD, 300);
    let round = world.play("udo", started, 200);
    let mut void = world.void("udo", round, ANYONE, VoidedJackpot::Kept);
    if let Event::RoundVoided { win_taken_back, .. } = &mut void {
        *win_taken_back = Minor(200);
    }
    world.write(player("udo"), vec![void]);
}

fn wallet(world: &mut World) {
    world.write(player("vic"), vec![Event::AccountOpened { currency: USD }, Event::SeamlessChosen]);
    let ask = |world: &mut World, request_id: &str| {
        let asked = DebitAsked {
            request_id: request_id.into(),
            fingerprint: [3; 16],
            currency: USD,
            amount: Minor(300),
            facts: None,
        };
        let named = InternalRequest::AskDebit { request_id }.to_string();
        world.write_named(player("vic"), &named, vec![Event::DebitAsked(asked)]);
    };
    ask(world, "v1");
    let started = world.bet("vic", "neptune", USD, 300);
    let round = started.round;
    let confirmed = Event::DebitConfirmed { amount: Minor(300), reported_balance: Minor(7_700), answer: None };
    let events = vec![confirmed, Event::RoundStarted(started.into()), step(round, 1, 500), settled(round, 500)];
    world.write_named(player("vic"), "v1", events);
    ask(world, "v2");
}

fn partitions() -> [World; 2] {
    let mut worlds = [World::new(0), World::new(1)];
    worlds[0].write(StreamId::pool(POOL), vec![Event::PoolOpened { pool: POOL.into(), terms: terms(1) }]);
    exchange(&mut worlds);
    worlds[1].open("dan", EUR, 1_000_000);
    let old = worlds[1].bet("dan", POOL, EUR, 300);
    let old = worlds[1].play("dan", old, 0);
    worlds[1].hit("dan");
    exchange(&mut worlds);
    let void = worlds[1].void("dan", old, ANYONE, VoidedJackpot::Kept);
    worlds[1].write(player("dan"), vec![void]);
    exchange(&mut worlds);
    let [home, other] = &mut worlds;
    home.now_ms = home.now_ms.max(other.now_ms) + 120_000;
    let declared = incident(home, "i-3", "");
    home.write(StreamId::pool(POOL), vec![declared]);
    while let Some(returned) = home.books.pool_return(POOL) {
        home.write(StreamId::pool(POOL), vec![returned]);
    }
    other.hit("dan");
    let rate = "0.9".parse().expect("a rate");
    other.write(StreamId::Rates, vec![Event::RateSet { currency: USD, rate, source: "home".into() }]);
    other.open("dee", USD, 1_000_000);
    hit(other, "dee", false);
    report(home, other);
    home.settle_pools();
    void_of_a_bet(other, "dan");
    let started = other.bet("dan", POOL, EUR, 300);
    let round = started.round;
    other.write(player("dan"), vec![Event::RoundStarted(started.into()), step(round, 1, 0)]);
    report(home, other);
    worlds
}

fn report(home: &mut World, other: &World) {
    for _ in 0..4 {
        if let Some(report) = home.books.partition_report(POOL, 1, &other.books) {
            home.write(StreamId::pool(POOL), vec![Event::PartitionReported(report.into())]);
        }
    }
}
