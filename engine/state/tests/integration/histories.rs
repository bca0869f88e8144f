use std::collections::BTreeMap;

use crate::common::*;
use motherlode_state::*;
use proptest::prelude::*;

#[derive(Debug, Default, PartialEq, Eq)]
struct Model {
    k: i128,
    r: i128,
    h: i128,
    contributed: i128,
    paid: i128,
    last_hit_at: u64,
    last_hit_ms: Option<i64>,
    rounds: BTreeMap<(StreamId, u64), ModelRound>,
    rates: BTreeMap<Currency, i128>,
    awards: Vec<(u64, i64)>,
    hits: BTreeMap<u64, ModelHit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelHit {
    round: (StreamId, u64),
    paid: i128,
    from_house: i128,
    is_paid: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelRound {
    currency: Currency,
    coin: i128,
    rate: i128,
    at: u64,
    added: i128,
}

const SEED: i128 = 20_000_000_000_000;

impl Model {
    fn tell(&mut self, commit: &Commit) {
        for event in &commit.events {
            match event {
                Event::RateSet { currency, rate, .. } => {
                    let millionths = rate.to_string().parse::<Nano>().unwrap().0 / 1_000;
                    self.rates.insert(*currency, millionths);
                }
                Event::RoundStarted(started) => self.bet(commit, started),
                Event::JackpotHit { round, .. } => self.hit(commit, *round),
                Event::RoundVoided { round, jackpot: VoidedJackpot::TakenBack, .. } => self.void(commit, *round),
                Event::RoundVoided { round, jackpot, .. } => self.reverse(commit, *round, *jackpot),
                Event::JackpotPaid { hit, .. } => self.hits.get_mut(hit).unwrap().is_paid = true,
                _ => {}
            }
        }
    }

    fn bet(&mut self, commit: &Commit, started: &RoundStarted) {
        let rate = if started.currency == Currency::EUR { 1_000_000 } else { self.rates[&started.currency] };
        let mut added = 0;
        if started.contribution.is_some() {
            let minor = match started.currency.digits() {
                0 => 1_000_000_000,
                2 => 10_000_000,
                _ => 1_000_000,
            };
            let bet = i128::from(started.bet.0) * minor;
            let exact = bet * rate * 5 / 1_000;
            added = exact / 1_000_000;
            let beyond = exact % 1_000_000;
            if beyond > 500_000 || (beyond == 500_000 && added % 2 == 1) {
                added += 1;
            }
        }
        self.k += added;
        self.contributed += added;
        let coin = i128::from(started.coin_value.0);
        let round = ModelRound { currency: started.currency, coin, rate, at: commit.position, added };
        self.rounds.insert((commit.stream.clone(), started.round), round);
    }

    fn hit(&mut self, commit: &Commit, round: u64) {
        let ModelRound { currency, coin, rate, .. } = self.rounds[&(commit.stream.clone(), round)];
        let minor = 10i128.pow(9 - currency.digits());
        let collision = self.last_hit_ms.is_some_and(|last| last / 3_000 == commit.time_ms / 3_000);
        let top = if collision {
            SEED * coin * rate + self.k * 1_000_000 * 10_000_000
        } else {
            (SEED + self.k) * coin * rate
        };
        let amount = top / (10_000_000 * rate * minor);
        let paid = amount * minor * rate / 1_000_000;
        let seed_share = SEED * coin * rate / 10_000_000 / 1_000_000;
        let from_house = (seed_share - self.r).max(0);
        self.r = self.r + self.k + from_house - paid;
        self.h += from_house;
        self.k = 0;
        self.paid += paid;
        self.last_hit_at = commit.position;
        self.last_hit_ms = Some(commit.time_ms);
        self.awards.push((commit.position, i64::try_from(amount).unwrap()));
        let round = (commit.stream.clone(), round);
        self.hits.insert(commit.position, ModelHit { round, paid, from_house, is_paid: false });
    }

    fn reverse(&mut self, commit: &Commit, round: u64, effect: VoidedJackpot) {
        let round = (commit.stream.clone(), round);
        for hit in self.hits.values().filter(|hit| hit.round == round) {
            let to_house = if hit.is_paid { 0 } else { hit.from_house.min(hit.paid) };
            if !hit.is_paid || effect == VoidedJackpot::Charged {
                self.paid -= hit.paid;
                self.h -= to_house;
                self.r += hit.paid - to_house;
            }
        }
    }

    fn void(&mut self, commit: &Commit, round: u64) {
        let ModelRound { at, added: mut amount, .. } = self.rounds[&(commit.stream.clone(), round)];
        self.contributed -= amount;
        if at > self.last_hit_at {
            self.k -= amount;
            return;
        }
        let from_reserve = amount.min(self.r);
        self.r -= from_reserve;
        amount -= from_reserve;
        self.h += amount;
    }
}

const PLAYERS: [(&str, Currency); 4] =
    [("ann", Currency::EUR), ("ben", Currency::EUR), ("chie", Currency::JPY), ("dana", Currency::KWD)];
const COINS: [&str; 5] = ["0.01", "0.2", "0.25", "1", "2.5"];
const GAMES: [&str; 2] = [POOL, "neptune"];

pub type Op = (u8, usize, u64);

pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec((0u8..24, 0..PLAYERS.len(), 0u64..10_000), 1..80)
}

pub fn begin() -> World {
    let mut world = World::with_players(&[]);
    for (currency, rate) in [(Currency::JPY, "0.006123"), (Currency::KWD, "3.207")] {
        let event = Event::RateSet { currency, rate: rate.parse().unwrap(), source: "test".into() };
        world.write(StreamId::Rates, vec![event]);
    }
    for (name, currency) in PLAYERS {
        world.open_account(name, currency, 300_000);
    }
    world
}

pub fn attempt(world: &mut World, (kind, who, x): Op) {
    let (name, currency) = PLAYERS[who];
    let amount = Minor(i64::try_from(x).unwrap());
    let stream = player(name);
    let state = world.books.player(&stream).unwrap().clone();
    let _ = match kind {
        0..=4 => play(world, name, currency, x),
        5 | 6 => match state.open_rounds().next() {
            Some(open) => go_on(world, stream, open, x),
            None => Ok(()),
        },
        7 => void(world, &stream, &state, x),
        8 => world.try_write(stream, vec![Event::Deposited { currency, amount }]),
        9 => world.try_write(stream, vec![Event::Withdrawn { currency, amount }]),
        10 | 11 => {
            world.now_ms += i64::try_from(x / 4).unwrap();
            Ok(())
        }
        12 => match world.books.pool_step(POOL).unwrap() {
            Some(events) => world.try_write(pool_stream(), events),
            None => Ok(()),
        },
        13 => match world.books.clone().unpaid_awards().next() {
            Some((_, hit, award)) => {
                let (round, amount, currency) = (award.round, award.amount, award.currency);
                let event = Event::JackpotPaid { round, pool: POOL.into(), hit, amount, currency };
                world.try_write(award.stream.clone(), vec![event])
            }
            None => Ok(()),
        },
        14 if x % 3 > 0 => world.try_write(pool_stream(), vec![Event::PoolResumed { actor: "ops".into() }]),
        14 => {
            let (reason, actor) = ("test".into(), "ops".into());
            world.try_write(pool_stream(), vec![Event::PoolSuspended { reason, actor }])
        }
        15 => {
            let game = if x % 2 == 0 { POOL.to_owned() } else { String::new() };
            let (switch, reason, actor) =
                (Switch { game: game.into(), ..Switch::default() }, "test".into(), "ops".into());
            world.try_write(StreamId::System, vec![Event::SwitchSet { switch, on: x % 3 > 0, reason, actor }])
        }
        16 => world.try_write(stream, vec![Event::CampaignGranted(campaign(world.now_ms, currency, x))]),
        17..=21 => free(world, name, currency, x),
        22 if x % 5 == 0 => {
            let (reason, actor) = ("test".into(), "ops".into());
            let cancelled = Event::CampaignCancelled { campaign: format!("c{}", x % 3).into(), reason, actor };
            world.try_write(stream, vec![cancelled])
        }
        22 if x % 7 == 0 => world.try_write(stream, vec![Event::RequestCancelled]),
        22 => void(world, &stream, &state, x),
        _ => {
            let rate = FxRate::new(1 + x % 4_000, -3).unwrap();
            world.try_write(StreamId::Rates, vec![Event::RateSet { currency, rate, source: "test".into() }])
        }
    };
}

fn play(world: &mut World, name: &str, currency: Currency, x: u64) -> Result<(), Refused> {
    let game = GAMES[usize::from(x.is_multiple_of(5))];
    let coin = COINS[usize::try_from(x / 7 % 5).unwrap()];
    let started = world.start(name, game, currency, i64::try_from(x).unwrap(), coin);
    let (round, pools) = (started.round, started.contribution.is_some());
    let win = i64::try_from(x % 11 * 20).unwrap();
    let mut events = vec![Event::RoundStarted(started.into()), step(round, 1, win)];
    if pools && x.is_multiple_of(6) {
        events.push(Event::JackpotHit { round, pool: POOL.into() });
    }
    if !x.is_multiple_of(4) {
        events.push(settled(round, win));
    }
    world.try_write(player(name), events)
}

fn campaign(now_ms: i64, currency: Currency, x: u64) -> Campaign {
    Campaign {
        id: format!("c{}", x % 3).into(),
        game: GAMES[usize::from(x.is_multiple_of(5))].into(),
        currency,
        bet: Minor(i64::try_from(x).unwrap()),
        coin_value: coin(COINS[usize::try_from(x / 7 % 5).unwrap()]),
        lines: 15,
        coins_per_line: 1,
        rounds: u32::try_from(x / 3 % 4).unwrap() + 1,
        expires_ms: now_ms + i64::try_from(x).unwrap() * 4,
    }
}

fn free(world: &mut World, name: &str, currency: Currency, x: u64) -> Result<(), Refused> {
    let id = format!("c{}", x % 3);
    let state = world.books.player(&player(name)).and_then(|state| state.campaign(&id));
    let Some(Campaign { game, bet, coin_value, .. }) = state.map(|state| state.campaign.clone()) else { return Ok(()) };
    let paid = world.start(name, &game, currency, bet.0, &coin_value.to_string());
    let started = RoundStarted { contribution: None, campaign: Some(id.into()), ..paid };
    let (round, win) = (started.round, i64::try_from(x % 11 * 20).unwrap());
    let mut events = vec![Event::RoundStarted(started.into()), step(round, 1, win)];
    if !x.is_multiple_of(4) {
        events.push(settled(round, win));
    }
    world.try_write(player(name), events)
}

fn go_on(world: &mut World, stream: StreamId, open: &OpenRound, x: u64) -> Result<(), Refused> {
    let (round, win) = (open.started.round, i64::try_from(x).unwrap());
    let mut events = vec![step(round, u32::try_from(open.steps.len()).unwrap() + 1, win)];
    if open.started.contribution.is_some() && x.is_multiple_of(3) {
        events.push(Event::JackpotHit { round, pool: POOL.into() });
    }
    if x.is_multiple_of(2) {
        events.push(settled(round, win));
    }
    world.try_write(stream, events)
}

fn void(world: &mut World, stream: &StreamId, state: &PlayerState, x: u64) -> Result<(), Refused> {
    let round = 1 + x % (state.rounds_started + 1);
    let facts = match state.open_round(round) {
        Some(open) => Some((open.started.charged(), Minor::ZERO, open.started.currency)),
        None => SettledRound::recall(round, world.log.iter().filter(|commit| commit.stream == *stream))
            .map(|round| (round.started.charged(), round.win, round.started.currency)),
    };
    let (bet, win, currency) = facts.unwrap_or((Minor(1), Minor(0), Currency::EUR));
    let back = win.0.min(state.balance(currency).unwrap_or_default().0 + bet.0);
    world.try_write(stream.clone(), vec![voided_as(round, bet.0, back, effect(x / 3))])
}

fn spoil(world: &World, (_, who, x): Op) -> Commit {
    let (name, currency) = PLAYERS[who];
    let mut started = world.start(name, "spoilt", currency, 10, "0.2");
    let mut win = 0;
    let round = started.round;
    match x % 8 {
        0 => started.bet.0 = 0,
        1 => started.bet.0 = i64::MAX,
        2 => started.round += 1,
        3 => started.rate = "0.123456".parse().unwrap(),
        4 => win = 1,
        5 => started.currency = Currency::USD,
        6 => match &mut started.contribution {
            Some(contribution) => contribution.amount.0 -= 1,
            None => started.bet.0 = -1,
        },
        _ => match &mut started.contribution {
            Some(contribution) => contribution.pool = "none".into(),
            None => started.bet.0 = -1,
        },
    }
    let events = vec![Event::RoundStarted(started.into()), step(round, 1, 0), settled(round, win)];
    let mut commit = world.next(player(name), events);
    commit.version += u64::from(x % 80 == 9);
    commit
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pl_09_bw_18_hold_at_every_position_and_the_model_agrees(ops in ops()) {
        let mut world = begin();
        for op in ops {
            attempt(&mut world, op);
        }
        let _ = world.try_write(pool_stream(), vec![Event::PoolResumed { actor: "ops".into() }]);
        world.settle_pool();

        let mut model = Model::default();
        world.log.iter().for_each(|commit| model.tell(commit));
        let pool = world.pool();
        let figures = [pool.increments, pool.reserve, pool.house_funding, pool.contributions, pool.paid];
        let expected = [model.k, model.r, model.h, model.contributed, model.paid];
        prop_assert_eq!(figures.map(|figure| figure.0), expected);
        let awards: Vec<_> = world.log.iter().flat_map(|commit| &commit.events).filter_map(|event| match event {
            Event::JackpotAwarded(award) => Some((award.hit, award.amount.0)),
            _ => None,
        }).collect();
        prop_assert_eq!(awards, model.awards);

        let mut promoted = PerCurrency::<i128>::default();
        for (name, currency) in PLAYERS {
            for state in world.books.player(&player(name)).unwrap().campaigns() {
                let free = |event: &Event| matches!(event, Event::RoundStarted(round) if round.campaign.as_ref() == Some(&state.campaign.id));
                let commits = world.log.iter().filter(|commit| commit.stream == player(name));
                let begun = commits.flat_map(|commit| &commit.events).filter(|event| free(event)).count() as u64;
                let standing = begun - state.given_back;
                prop_assert!(begun == state.begun && standing + state.left() == u64::from(state.campaign.rounds));
                *promoted.entry(currency) -= state.campaign.bet.to_nano(currency).0 * i128::from(standing);
            }
        }
        for currency in Currency::all() {
            let paid = world.books.holding(Account::Promotion("acme"), currency).0;
            prop_assert_eq!(paid, promoted.get(currency).copied().unwrap_or_default());
        }
    }

    #[test]
    fn staged_groups_and_single_commits_come_to_the_same_books(
        ops in ops(),
        sizes in prop::collection::vec(1usize..12, 1..30),
        at_once in 0usize..4,
    ) {
        let mut world = begin();
        for op in ops {
            attempt(&mut world, op);
        }
        let mut books = Books::new();
        let mut stage = Stage::new();
        let mut sizes = sizes.iter().cycle();
        let (mut room, mut sealed) = (*sizes.next().unwrap(), 0);
        for commit in &world.log {
            let is_pools = matches!(commit.stream, StreamId::Pool(_));
            if room == 0 || is_pools {
                stage.seal();
                (room, sealed) = (*sizes.next().unwrap(), sealed + 1);
                while sealed > if is_pools { 0 } else { at_once } {
                    books.absorb_oldest(&mut stage);
                    sealed -= 1;
                }
            }
            let recalled = recall(&world.log, commit);
            stage.apply_recalling(&books, commit, recalled.as_ref()).unwrap();
            room = room.saturating_sub(1);
        }
        books.absorb(stage);
        prop_assert_eq!(books, world.books);
    }

    #[test]
    fn players_folded_apart_come_to_the_same_books(ops in ops(), count in 1usize..4) {
        let mut world = begin();
        for op in ops {
            attempt(&mut world, op);
        }
        let mut books = Books::new();
        let mut shares: Vec<_> = (0..count).map(|_| Share::default()).collect();
        let mut players = BTreeMap::<StreamId, PlayerState>::new();
        for commit in &world.log {
            let Some(at) = PLAYERS.iter().position(|(name, _)| commit.stream == player(name)) else {
                books.apply(commit).unwrap();
                if CommonState::is_changed_by(commit) {
                    let shared = books.common();
                    shares.iter_mut().for_each(|share| share.follow(&shared));
                }
                continue;
            };
            let share = &mut shares[at % count];
            let recalled = recall(&world.log, commit);
            let judged = players.entry(commit.stream.clone()).or_default();
            let left = share.apply_recorded(judged, commit, recalled.as_ref(), |_| [0; 32]).unwrap();
            books.take_left(commit, &left).unwrap();
            books.take_totals(&share.take_totals());
            prop_assert_eq!(books.trial_balance(), PerCurrency::default());
        }
        players.into_iter().for_each(|(stream, player)| books.join(stream, player));
        prop_assert_eq!(books, world.books);
    }

    #[test]
    fn pl_12_a_spoilt_commit_is_refused_and_leaves_books_and_stage_alone(ops in ops(), last in (0u8..1, 0..PLAYERS.len(), 0u64..10_000)) {
        let mut world = begin();
        for op in ops {
            attempt(&mut world, op);
        }
        let before = world.books.clone();
        let spoilt = spoil(&world, last);
        prop_assert!(world.books.apply(&spoilt).is_err());
        prop_assert_eq!(&world.books, &before);

        let deposit = Event::Deposited { currency: Currency::EUR, amount: Minor(5) };
        let good = world.next(player("ann"), vec![deposit]);
        let mut stage = Stage::new();
        stage.apply(&world.books, &good).unwrap();
        let mut after = spoilt;
        after.position += 1;
        prop_assert!(stage.apply(&world.books, &after).is_err());
        world.books.absorb(stage);
        let mut alone = before;
        alone.apply(&good).unwrap();
        prop_assert_eq!(world.books, alone);
    }
}
