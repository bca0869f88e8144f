//! Logs with the events that no golden log has. Each log ends with pending work, so that no part of the state is empty.
//! Never change an existing log; add new events in new logs.

use super::{
    Log,
    world::{EUR, POOL, World, player, revealed, settled, step, terms},
};
use motherlode_state::{
    ANYONE, Automatic, Campaign, ChangeProposed, CollisionShare, Currency, DayLimits, DebitAsked, Event,
    GenerationBegun, Incident, InternalRequest, LiabilityReserved, LoggedTerms, Minor, PoolState, PoolTerms,
    RoundStarted, SealReason, SessionOpened, StartEvidence, StepResolved, StreamId, Switch, VoidedJackpot,
};
use std::num::NonZeroU32;

const DAY_MS: i64 = 86_400_000;

pub(super) fn all() -> Vec<Log> {
    let [home, other] = partitions();
    let worlds = [
        ("made-wallet", 0, wallet()),
        ("made-play", 0, play()),
        ("made-system", 0, system()),
        ("made-pool", 0, pool()),
        ("made-partitions-0", 0, home),
        ("made-partitions-1", 1, other),
    ];
    let log =
        |(name, partition, world): (&str, u32, World)| Log { name: name.into(), partition, records: world.records };
    worlds.into_iter().map(log).collect()
}

fn wallet() -> World {
    let mut world = World::new(0);
    for name in ["alice", "bob", "carl"] {
        world.write(player(name), vec![Event::AccountOpened { currency: EUR }, Event::SeamlessChosen]);
    }
    let ask = |world: &mut World, name: &str, request_id: &str| {
        let asked = DebitAsked {
            request_id: request_id.into(),
            fingerprint: [3; 16],
            currency: EUR,
            amount: Minor(300),
            facts: None,
        };
        let named = InternalRequest::AskDebit { request_id }.to_string();
        world.write_named(player(name), &named, vec![Event::DebitAsked(asked)]);
    };
    let bet = |world: &mut World, name: &str, request_id: &str, win: i64| {
        let started = world.bet(name, "neptune", EUR, 300);
        let round = started.round;
        let confirmed = Event::DebitConfirmed { amount: Minor(300), reported_balance: Minor(7_700), answer: None };
        let events = vec![confirmed, Event::RoundStarted(started.into()), step(round, 1, win), settled(round, win)];
        world.write_named(player(name), request_id, events);
    };
    for (request_id, win) in [("r1", 500), ("r2", 0), ("r3", 90)] {
        ask(&mut world, "alice", request_id);
        bet(&mut world, "alice", request_id, win);
    }
    let paid = Event::CreditPaid {
        request_id: "r1".into(),
        currency: EUR,
        amount: Minor(500),
        reported_balance: Minor(0),
        answer: None,
    };
    world.write(player("alice"), vec![paid]);
    ask(&mut world, "bob", "r4");
    world.write_named(player("bob"), "r4", vec![Event::DebitRefused { reason: "no funds".into(), code: 0 }]);
    let roll_back =
        |request_id: &str| Event::RollbackAsked { request_id: request_id.into(), reason: "no answer".into() };
    ask(&mut world, "bob", "r5");
    world.write(player("bob"), vec![roll_back("r5")]);
    world.write_named(player("bob"), "r5", vec![Event::DebitRolledBack]);
    world.write_named(player("bob"), "r6", vec![Event::RequestCancelled]);
    ask(&mut world, "bob", "r7");
    world.write(player("bob"), vec![roll_back("r7")]);
    ask(&mut world, "carl", "r8");
    let overdue = Event::WalletOverdue { operator: "acme".into(), partition: 0, players: 2, oldest_ms: world.now_ms };
    world.write(StreamId::System, vec![overdue]);
    world
}

fn play() -> World {
    let mut world = World::new(0);
    let rate = |rate: &str| Event::RateSet {
        currency: Currency::USD,
        rate: rate.parse().expect("a rate"),
        source: "bank".into(),
    };
    world.write(StreamId::Rates, vec![rate("0.9")]);
    world.open("ann", EUR, 1_000_000);
    world.open("ann", Currency::USD, 1_000_000);
    world.open("ben", EUR, 1_000_000);
    world.write(player("ann"), vec![Event::Withdrawn { currency: EUR, amount: Minor(5_000) }]);
    let acted = Event::ActedBy { actor: "acme/ops".into(), reference: "ticket 7".into() };
    world.write(player("ann"), vec![Event::Deposited { currency: Currency::USD, amount: Minor(1) }, acted]);
    let collection = |scope: &str, changes: &[(&str, i64)]| Event::CollectionChanged {
        game: "neptune".into(),
        scope: scope.into(),
        changes: changes.iter().map(|(key, value)| ((*key).into(), *value)).collect(),
    };
    world.write(player("ann"), vec![collection("", &[("red", 2), ("blue", 1)]), collection("300", &[("potion", 4)])]);
    world.write(player("ann"), vec![collection("", &[("blue", 0)])]);
    sessions(&mut world);
    campaigns(&mut world);
    draws(&mut world);
    world.open("eve", EUR, 1_000_000);
    let started = world.bet("eve", "medusa", EUR, 400);
    let started = RoundStarted { stake: LoggedTerms::Unreadable(vec![1, 2, 3]), ..started };
    world.write(player("eve"), vec![Event::RoundStarted(started.into()), step(1, 1, 900)]);
    let by_rule = |number: u32, automatic: Automatic| match step(1, number, 900) {
        Event::StepResolved(of) => Event::StepResolved(StepResolved { automatic: Some(automatic), ..*of }.into()),
        other => other,
    };
    let closed = Automatic::Closed { actor: "acme/ops".into(), reason: "asked".into() };
    world.write(player("eve"), vec![by_rule(2, Automatic::Skipped), by_rule(3, Automatic::TimeOver)]);
    world.write(player("eve"), vec![by_rule(4, closed), Event::WinCredited { round: 1, amount: Minor(450) }]);
    world
}

pub(super) fn session(number: u8, game: &str, currency: Currency) -> Event {
    let least = |of| NonZeroU32::new(of);
    let limits = DayLimits {
        reality_check_ms: least(3_600_000),
        time_ms_max: least(36_000_000),
        loss_eur_max: least(5_000),
        losses_max: vec![(EUR, Minor(400_000)), (Currency::USD, Minor(500_000))],
        bets_max: vec![(EUR, Minor(10_000))],
    };
    Event::SessionOpened(SessionOpened {
        session: [number; 16],
        game: game.into(),
        currency,
        jurisdiction: "uk".into(),
        idle_ms: NonZeroU32::MIN.saturating_add(1_799_999),
        limits,
    })
}

fn sessions(world: &mut World) {
    let filled = Event::PlayMoneyGiven { amount: Minor(50_000) };
    world.write(player("ann"), vec![Event::AccountOpened { currency: Currency::PLAY }, filled]);
    for (number, game, currency) in [(1, "neptune", EUR), (2, "neptune", Currency::PLAY), (3, "medusa", Currency::USD)]
    {
        world.write(player("ann"), vec![session(number, game, currency)]);
        for win in [0, 700] {
            world.now_ms += 60_000;
            let started = RoundStarted { session: Some([number; 16]), ..world.bet("ann", game, currency, 300) };
            world.play("ann", started, win);
        }
    }
    world.write(player("ann"), vec![Event::RealityCheckAcknowledged { session: [1; 16] }]);
    world.write(player("ann"), vec![Event::SessionEnded { session: [3; 16], hold_ms: 30_000 }]);
    world.write(player("ben"), vec![session(4, "medusa", EUR)]);
    world.write(player("ben"), vec![Event::SessionEnded { session: [4; 16], hold_ms: 0 }]);
}

fn campaigns(world: &mut World) {
    let campaign = |world: &World, id: &str| Campaign {
        id: id.into(),
        game: "neptune".into(),
        currency: EUR,
        bet: Minor(300),
        coin_value: "0.2".parse().expect("a coin value"),
        lines: 15,
        coins_per_line: 1,
        rounds: 3,
        expires_ms: world.now_ms + 30 * DAY_MS,
    };
    for id in ["spring", "autumn", "winter"] {
        let granted = campaign(world, id);
        world.write(player("ben"), vec![Event::CampaignGranted(granted)]);
    }
    let free =
        |world: &World| RoundStarted { campaign: Some("spring".into()), ..world.bet("ben", "neptune", EUR, 300) };
    let started = free(world);
    world.play("ben", started, 250);
    let started = free(world);
    let round = world.play("ben", started, 0);
    let mut void = world.void("ben", round, ANYONE, VoidedJackpot::Kept);
    if let Event::RoundVoided { refund, .. } = &mut void {
        *refund = Minor(0);
    }
    world.write(player("ben"), vec![void]);
    let (reason, actor) = ("typo".into(), "acme/ops".into());
    world.write(player("ben"), vec![Event::CampaignCancelled { campaign: "autumn".into(), reason, actor }]);
}

fn draws(world: &mut World) {
    for (name, reason) in [("dora", SealReason::Opened), ("dirk", SealReason::Unsealed)] {
        world.open(name, EUR, 1_000_000);
        world.seal(name, reason);
    }
    let bet = |world: &World, name: &str| {
        let started = world.bet(name, "neptune", EUR, 300);
        (started.round, Event::RoundStarted(started.into()))
    };
    let (round, started) = bet(world, "dora");
    world.drawn("dora", vec![started], (round, 1, 40), vec![settled(round, 40), revealed("dora", round, [1])]);
    let evidence = [
        StartEvidence::EmptyLog,
        StartEvidence::MemoryPage,
        StartEvidence::StopMark,
        StartEvidence::Followed,
        StartEvidence::Missing,
        StartEvidence::Restored,
    ];
    let fresh = |number: u8| [number, 1, 1, 1];
    world.write(StreamId::System, vec![Event::GeneratorReseeded { key: Some(fresh(9)) }]);
    world.write(StreamId::System, vec![Event::GeneratorReseeded { key: None }]);
    for (number, evidence) in (1..).zip(evidence) {
        let ends = matches!(evidence, StartEvidence::Missing | StartEvidence::Restored);
        let begun = GenerationBegun {
            number: number.into(),
            salt: [number; 32],
            unused_seals_end: ends,
            evidence,
            lost_to: if evidence == StartEvidence::Restored { 40 } else { 0 },
            keys_added: vec![fresh(number)],
            keys_lost: if ends { vec![fresh(number - 1)] } else { vec![] },
        };
        world.write(StreamId::System, vec![Event::GenerationBegun(begun.into())]);
    }
    world.seal("dora", SealReason::SealsEnded);
    world.seal("dora", SealReason::KeyLost);
    world.seal("dirk", SealReason::SealsEnded);
    let (round, started) = bet(world, "dirk");
    world.drawn("dirk", vec![started], (round, 1, 0), vec![]);
    let void = world.void("dirk", round, "acme/ops", VoidedJackpot::Kept);
    world.write(player("dirk"), vec![void, Event::DrawsLost { round }]);
    let (round, started) = bet(world, "dora");
    world.drawn("dora", vec![started], (round, 1, 60), vec![]);
    world.drawn("dora", vec![], (round, 2, 80), vec![]);
}

fn system() -> World {
    let mut world = World::new(0);
    let system = || StreamId::System;
    let set = |operator: &str, game: &str, on: bool| Event::SwitchSet {
        switch: Switch { operator: operator.into(), game: game.into(), rules_version: "".into() },
        on,
        reason: "reel 3 stuck".into(),
        actor: "ann".into(),
    };
    world.write(system(), vec![set("", "neptune", false)]);
    world.write(system(), vec![set("acme", "", false)]);
    world.write(system(), vec![set("acme", "", true)]);
    let lapses_ms = world.now_ms + 10 * DAY_MS;
    let propose = |world: &mut World, stream: StreamId, change: &Event| {
        let change = Box::new(change.as_proposed());
        let proposed = ChangeProposed { stream, change, actor: "ann".into(), lapses_ms };
        world.write(StreamId::System, vec![Event::ChangeProposed(proposed)])
    };
    let opened = Event::PoolOpened { pool: POOL.into(), terms: terms(1) };
    let change = propose(&mut world, StreamId::pool(POOL), &opened);
    let approved = Event::ChangeApproved { change, proposed_by: "ann".into(), actor: "bob".into() };
    world.write(StreamId::pool(POOL), vec![approved, opened]);
    let change = propose(&mut world, system(), &set("", "medusa", false));
    let rejected = Event::ChangeRejected { change, actor: "bob".into(), reason: "not needed".into() };
    world.write(system(), vec![rejected]);
    propose(&mut world, StreamId::pool(POOL), &Event::PoolSuspended { reason: "check".into(), actor: "ann".into() });
    propose(&mut world, system(), &set("", "neptune", true));
    for (campaign, highest) in [("spring", "1000"), ("autumn", "20.5")] {
        let reserved = LiabilityReserved {
            operator: "acme".into(),
            campaign: campaign.into(),
            players: 2,
            max_liability: highest.parse().expect("a figure"),
            expires_ms: world.now_ms + 20 * DAY_MS,
            cap: "5000".parse().expect("a figure"),
            player_ids: vec!["ann".into(), "ben".into()],
        };
        world.write(system(), vec![Event::LiabilityReserved(reserved)]);
    }
    world.write(system(), vec![Event::IntegrityFailed { check: "self-check".into(), finding: "a test".into() }]);
    world.write(system(), vec![Event::ClockSkewed { by_ms: -2_000 }]);
    world
}

fn pool() -> World {
    let mut world = World::new(0);
    for pool in [POOL, "heir", "third"] {
        world.write(StreamId::pool(pool), vec![Event::PoolOpened { pool: pool.into(), terms: terms(1) }]);
    }
    let bewitched = || StreamId::pool(POOL);
    let suspended = || Event::PoolSuspended { reason: "check".into(), actor: "ops".into() };
    for name in ["ann", "ben"] {
        world.open(name, EUR, 1_000_000);
    }
    let round = |world: &mut World, name: &str, game: &str| {
        let started = world.bet(name, game, EUR, 300);
        world.play(name, started, 0)
    };
    round(&mut world, "ann", POOL);
    world.hit("ann");
    world.hit("ben");
    world.settle_pools();
    world.pay_awards();
    let later = PoolTerms { collision_share: CollisionShare::Proportional, contribution_ppm: 10_000, ..terms(2) };
    world.write(bewitched(), vec![Event::PoolTermsChanged { terms: later }]);
    let charged = world.hit("ann");
    let lost = world.hit("ann");
    world.settle_pools();
    world.pay_awards();
    world.write(bewitched(), vec![Event::PoolTermsChanged { terms: terms(3) }]);
    let old = round(&mut world, "ben", POOL);
    world.settle_pools();
    let kept = world.hit("ben");
    world.settle_pools();
    for (name, round, effect) in [
        ("ann", charged, VoidedJackpot::Charged),
        ("ann", lost, VoidedJackpot::Lost),
        ("ben", old, VoidedJackpot::TakenBack),
        ("ben", kept, VoidedJackpot::Kept),
    ] {
        let void = world.void(name, round, ANYONE, effect);
        world.write(player(name), vec![void]);
    }
    world.settle_pools();
    proposals(&mut world);
    incidents(&mut world);
    let started = world.bet("ben", POOL, EUR, 300);
    let number = started.round;
    world.write(player("ben"), vec![Event::RoundStarted(started.into()), step(number, 1, 0)]);
    world.write(bewitched(), vec![suspended()]);
    let hit = Event::JackpotHit { round: number, pool: POOL.into() };
    world.write(player("ben"), vec![step(number, 2, 0), hit, settled(number, 0)]);
    world.write(bewitched(), vec![Event::HitsReleased { reason: "sound".into(), actor: "ops".into() }]);
    world.settle_pools();
    let room = i64::MAX - world.books.player(&player("ben")).and_then(|ben| ben.balance(EUR)).map_or(0, |held| held.0);
    world.write(player("ben"), vec![Event::Deposited { currency: EUR, amount: Minor(room) }]);
    let owed = world.books.unpaid_awards().find(|(_, _, award)| award.stream == player("ben"));
    let (hit, award) = owed.map(|(_, hit, award)| (hit, award.clone())).expect("an award of ben's");
    let aside = Event::AwardSetAside {
        round: award.round,
        pool: POOL.into(),
        hit,
        amount: award.amount,
        currency: award.currency,
        reason: "figure out of range".into(),
    };
    world.write(player("ben"), vec![aside]);
    world.write(bewitched(), vec![Event::PoolResumed { actor: "ops".into() }]);
    round(&mut world, "ann", "third");
    world.settle_pools();
    world.write(StreamId::pool("third"), vec![suspended()]);
    let retired = world.books.pool("third").map(|PoolState { increments, reserve, .. }| Event::PoolRetired {
        into: "heir".into(),
        increments: *increments,
        reserve: *reserve,
        actor: "ops".into(),
    });
    world.write(StreamId::pool("third"), retired.into_iter().collect());
    world.settle_pools();
    let kept = round(&mut world, "ann", POOL);
    let void = world.void("ann", kept, ANYONE, VoidedJackpot::Kept);
    world.write(player("ann"), vec![void]);
    world.hit("ann");
    let started = world.bet("ann", POOL, EUR, 300);
    world.write(player("ann"), vec![Event::RoundStarted(started.into())]);
    world
}

fn proposals(world: &mut World) {
    let propose = |world: &mut World, round: u64| {
        let proposed = Event::VoidProposed { round, reason: "stuck".into(), actor: "acme/ops".into() };
        world.write(player("ann"), vec![proposed])
    };
    let approved = world.hit("ann");
    let rejected = world.hit("ann");
    let waiting = world.hit("ann");
    world.settle_pools();
    let change = propose(world, approved);
    let approval = Event::ChangeApproved { change, proposed_by: "acme/ops".into(), actor: "bob".into() };
    let void = world.void("ann", approved, "acme/ops", VoidedJackpot::Kept);
    world.write(player("ann"), vec![approval, void]);
    let change = propose(world, rejected);
    let rejection = Event::ChangeRejected { change, actor: "bob".into(), reason: "sound".into() };
    world.write(player("ann"), vec![rejection]);
    propose(world, waiting);
    world.settle_pools();
}

fn incidents(world: &mut World) {
    for _ in 0..2 {
        void_of_a_bet(world, "ann");
        world.now_ms += 60_000;
    }
    world.settle_pools();
    let declared = incident(world, "i-1", "");
    world.write(StreamId::pool(POOL), vec![declared]);
    while let Some(returned) = world.books.pool_return(POOL) {
        world.write(StreamId::pool(POOL), vec![returned]);
    }
    world.now_ms += 60_000;
    void_of_a_bet(world, "ann");
    world.settle_pools();
}

pub(super) fn incident(world: &World, id: &str, rules_version: &str) -> Event {
    let until_ms = world.now_ms / 60_000 * 60_000;
    let incident = Incident {
        id: id.into(),
        operator: "acme".into(),
        game: POOL.into(),
        rules_version: rules_version.into(),
        from_ms: until_ms - 600_000,
        until_ms,
        reason: "reel 3 stuck".into(),
        actor: "ops".into(),
    };
    Event::IncidentDeclared(incident.into())
}

pub(super) fn free_bet(world: &World, name: &str, game: &str, currency: Currency, campaign: &str) -> RoundStarted {
    RoundStarted { campaign: Some(campaign.into()), contribution: None, ..world.bet(name, game, currency, 300) }
}

pub(super) fn void_of_a_bet(world: &mut World, name: &str) {
    let started = world.bet(name, POOL, EUR, 300);
    let round = world.play(name, started, 0);
    let void = world.void(name, round, ANYONE, VoidedJackpot::Kept);
    world.write(player(name), vec![void]);
}

fn partitions() -> [World; 2] {
    let mut worlds = [World::new(0), World::new(1)];
    worlds[0].write(StreamId::pool(POOL), vec![Event::PoolOpened { pool: POOL.into(), terms: terms(1) }]);
    exchange(&mut worlds);
    worlds[0].open("ann", EUR, 1_000_000);
    worlds[1].open("dan", EUR, 1_000_000);
    let started = worlds[0].bet("ann", POOL, EUR, 300);
    worlds[0].play("ann", started, 0);
    let old = worlds[1].bet("dan", POOL, EUR, 300);
    let old = worlds[1].play("dan", old, 0);
    worlds[1].hit("dan");
    let reversed = worlds[1].hit("dan");
    exchange(&mut worlds);
    let void = worlds[1].void("dan", reversed, ANYONE, VoidedJackpot::Kept);
    worlds[1].write(player("dan"), vec![void]);
    worlds[1].pay_awards();
    let void = worlds[1].void("dan", old, ANYONE, VoidedJackpot::TakenBack);
    worlds[1].write(player("dan"), vec![void]);
    void_of_a_bet(&mut worlds[1], "dan");
    exchange(&mut worlds);
    let [home, other] = &mut worlds;
    home.now_ms = home.now_ms.max(other.now_ms) + 120_000;
    incidents(home);
    exchange(&mut worlds);
    let [home, _] = &mut worlds;
    home.write(StreamId::pool(POOL), vec![Event::PoolSuspended { reason: "check".into(), actor: "ops".into() }]);
    mirror(&mut worlds);
    let [home, _] = &mut worlds;
    home.write(StreamId::pool("heir"), vec![Event::PoolOpened { pool: "heir".into(), terms: terms(1) }]);
    exchange(&mut worlds);
    retire(&mut worlds);
    let [_, other] = &mut worlds;
    let started = other.bet("dan", "heir", EUR, 300);
    other.play("dan", started, 0);
    other.hit_at("dan", "heir");
    worlds
}

fn retire(worlds: &mut [World; 2]) {
    let retired = worlds[0].books.pool(POOL).map(|PoolState { increments, reserve, .. }| Event::PoolRetired {
        into: "heir".into(),
        increments: *increments,
        reserve: *reserve,
        actor: "ops".into(),
    });
    worlds[0].write(StreamId::pool(POOL), retired.into_iter().collect());
    exchange(worlds);
}

pub(super) fn exchange(worlds: &mut [World; 2]) {
    loop {
        let before = worlds[0].records.len() + worlds[1].records.len();
        for pool in [POOL, "heir"] {
            while let Some(report) = worlds[0].books.partition_report(pool, 1, &worlds[1].books) {
                worlds[0].write(StreamId::pool(pool), vec![Event::PartitionReported(report.into())]);
                worlds[0].settle_pools();
            }
        }
        worlds[0].settle_pools();
        for pool in [POOL, "heir"] {
            while let Some(returned) = worlds[0].books.pool_return(pool) {
                worlds[0].write(StreamId::pool(pool), vec![returned]);
            }
        }
        mirror(worlds);
        if worlds[0].records.len() + worlds[1].records.len() == before {
            return;
        }
    }
}

fn mirror([home, other]: &mut [World; 2]) {
    for pool in [POOL, "heir"] {
        if let Some(mirrored) = home.books.pool_mirror(pool, 1, &other.books) {
            other.write(StreamId::pool(pool), vec![Event::PoolMirrored(mirrored.into())]);
        }
    }
}
