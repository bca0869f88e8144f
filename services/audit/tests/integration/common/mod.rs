#![allow(dead_code, reason = "each user takes its own part")]

use bytes::Bytes;
use motherlode_audit::{Divergence, Options, Report, audit};
use motherlode_log::{Options as StoreOptions, SegmentStore, Store, genesis, hash};
use motherlode_proto::{
    convert::{
        play::choice_to_wire,
        record::{self, Logged},
    },
    round::v1,
};
use motherlode_rounds::{
    Live,
    collection::{self, Sharing},
    draws::{self, seed_of},
    gamble_max_minor, round_name, terms_to_log,
};
use motherlode_slots::{self as slots, Awaiting, Choice, Outcome};
use motherlode_state::*;
use prost::Message;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub const POOL: &str = "bewitched";

pub fn player(name: &str) -> StreamId {
    StreamId::player("acme", name)
}

pub fn pool() -> StreamId {
    StreamId::pool(POOL)
}

pub fn terms() -> PoolTerms {
    PoolTerms {
        version: 1,
        contribution_ppm: 5_000,
        seed: Nano::major(20_000),
        base_coin: CoinValue(10_000_000),
        refresh_ms: 3_000,
        collision_share: CollisionShare::Full,
    }
}

#[derive(Clone, Default)]
pub struct Tale {
    pub books: Books,
    pub log: Vec<Logged>,
    pub head: Option<RecordHash>,
    pub now_ms: i64,
    pub double: bool,
    pub campaign: Option<String>,
    pub partition: u32,
    pub request_id: Option<String>,
    pub seeds: u64,
    /// Key of the sealed draws; `None` for a log without sealed draws, as written by older versions.
    pub key: Option<[u8; 32]>,
    pub currency: Option<Currency>,
    /// Rules version of the bets; `None` for the game's newest version. If set, this version also determines which
    /// saved progress applies in all currencies.
    pub version: Option<&'static str>,
    pub forged: bool,
}

impl Tale {
    pub fn with_players(names: &[&str]) -> Self {
        Self::with_key(names, None)
    }

    pub fn sealed(names: &[&str]) -> Self {
        Self::with_key(names, Some([42; 32]))
    }

    fn with_key(names: &[&str], key: Option<[u8; 32]>) -> Self {
        let mut tale = Self { now_ms: 1_700_000_000_000, key, ..Self::default() };
        tale.write(pool(), vec![Event::PoolOpened { pool: POOL.into(), terms: terms() }]);
        names.iter().for_each(|name| tale.join(name));
        tale
    }

    pub fn join(&mut self, name: &str) {
        let currency = Currency::EUR;
        let deposit = Event::Deposited { currency, amount: Minor(100_000_000) };
        let seal = self.seal(&player(name), 1).map(|(epoch, seal)| {
            Event::DrawSealed(DrawSealed { number: 1, epoch, generation: 0, seal, reason: SealReason::Opened })
        });
        let opened = [Event::AccountOpened { currency }, deposit];
        self.write(player(name), opened.into_iter().chain(seal).collect());
    }

    fn sharing(&self) -> Sharing {
        if self.version.is_some() { Sharing::Version } else { Sharing::Game }
    }

    fn seal(&self, stream: &StreamId, number: u64) -> Option<(Epoch, Seal)> {
        self.key.map(|key| (draw::epoch(&key), draw::seal(&draw::deal(&key, stream, number))))
    }

    pub fn write(&mut self, stream: StreamId, events: Vec<Event>) -> u64 {
        self.write_recalling(stream, events, None)
    }

    pub fn write_recalling(&mut self, stream: StreamId, events: Vec<Event>, recalled: Option<&SettledRound>) -> u64 {
        let head = self.books.head(&stream);
        let commit = Commit {
            partition: self.partition,
            position: self.books.end(self.partition).position + 1,
            version: head.version + 1,
            previous: head.position,
            request_id: self
                .request_id
                .take()
                .unwrap_or_else(|| format!("request-{}", self.books.end(self.partition).position))
                .into(),
            fingerprint: [1; 16],
            time_ms: self.now_ms,
            stream,
            events,
        };
        self.now_ms += 7;
        let (mut stage, mut balances_after, mut due_after) = (Stage::new(), vec![], vec![]);
        let previous = self.head.unwrap_or_else(|| genesis(self.partition));
        let applied = stage.apply_recorded(&self.books, &commit, recalled, |player| {
            balances_after = player.map(|player| player.balances().collect()).unwrap_or_default();
            due_after = player.map(|player| player.due().collect()).unwrap_or_default();
            let mut bytes = vec![];
            record::write_commit(&previous, &commit, &balances_after, &mut bytes);
            record::write_end(None, &due_after, &mut bytes);
            *self.head.insert(hash(&bytes))
        });
        applied.expect("the tale is sound");
        self.books.absorb(stage);
        let position = commit.position;
        self.log.push(Logged { commit, balances_after, due_after, proposer: None });
        position
    }

    fn seed(&mut self) -> slots::Seed {
        self.seeds += 1;
        let mut seed = slots::Seed::default();
        seed[..8].copy_from_slice(&self.seeds.to_le_bytes());
        seed
    }

    pub fn spin(&mut self, name: &str, wish: impl Fn(&Outcome) -> bool) -> u64 {
        self.bet(name, 15, 1, CoinValue(100_000), wish)
    }

    pub fn plain_spin(&mut self, name: &str) -> u64 {
        self.spin(name, |outcome| outcome.awaiting == Awaiting::Nothing)
    }

    pub fn bet(
        &mut self,
        name: &str,
        lines: u32,
        coins_per_line: u32,
        coin_value: CoinValue,
        wish: impl Fn(&Outcome) -> bool,
    ) -> u64 {
        let stake = slots::Stake { coin_value_micros: coin_value.0, lines, coins_per_line, buy_feature: false };
        self.bet_on("bewitched", name, stake, wish)
    }

    pub fn bet_on(&mut self, game: &str, name: &str, stake: slots::Stake, wish: impl Fn(&Outcome) -> bool) -> u64 {
        let stream = player(name);
        let player = self.books.player(&stream).expect("a player");
        let number = player.rounds_started + 1;
        let game = self.version.map_or_else(|| slots::latest(game), |version| slots::game(game, version));
        let game = game.expect("the game");
        let coin_value = CoinValue(stake.coin_value_micros);
        let contributes = self.campaign.is_none()
            && game.info().jackpot
            && self.books.pool(POOL).is_some_and(|pool| pool.status == PoolStatus::Active);
        let currency = self.currency.unwrap_or(Currency::EUR);
        let gamble_max_minor = match self.double {
            true => gamble_max_minor(game, currency, FxRate::ONE).expect("a limit"),
            false => 0,
        };
        let bet = cash(game.check_stake(&stake).expect("a stake").into(), coin_value, currency).expect("cash");
        let scope = collection::scope(game, currency, bet);
        let plain = slots::Terms::plain(collection::carried_under(game, self.sharing(), player, &scope));
        let terms = slots::Terms { jackpot: contributes, double: self.double, gamble_max_minor, ..plain };
        let amount = contribution(bet, currency, FxRate::ONE, 5_000).expect("a contribution");
        let started = RoundStarted {
            round: number,
            game: game.name().into(),
            rules_version: game.rules_version().into(),
            model_hash: game.model_hash(),
            currency,
            bet,
            coin_value,
            stake: LoggedTerms::Terms(terms_to_log(&stake, &terms, game.carries())),
            rate: FxRate::ONE,
            contribution: contributes.then(|| Contribution { pool: POOL.into(), terms_version: 1, amount }),
            session: None,
            jurisdiction: "".into(),
            campaign: self.campaign.as_deref().map(SmolStr::new),
        };
        let mut events = vec![Event::RoundStarted(started.clone().into())];
        events.extend(self.resolve(&stream, &started, &[], Choice::Spin, wish));
        self.write(stream, events);
        number
    }

    pub fn choose(&mut self, name: &str, number: u64, choice: Choice, wish: impl Fn(&Outcome) -> bool) -> u64 {
        let open = self.books.player(&player(name)).and_then(|player| player.open_round(number)).cloned();
        let open = open.expect("an open round");
        let events = self.resolve(&player(name), &open.started, &open.steps, choice, wish);
        self.write(player(name), events)
    }

    fn resolve(
        &mut self,
        stream: &StreamId,
        started: &RoundStarted,
        before: &[Step],
        choice: Choice,
        wish: impl Fn(&Outcome) -> bool,
    ) -> Vec<Event> {
        let choice = choice_to_wire(&choice).encode_to_vec();
        let mut outcome = Outcome::default();
        let step = u32::try_from(before.len()).expect("few steps") + 1;
        let (name, next) = (round_name(stream, started.round), self.books.player(stream).expect("a player").draw);
        let key = self.key.unwrap_or_default();
        let dealt_of = |name: DrawName| Some(draw::deal(&key, stream, name.number));
        let (seed, client_seed, live) = loop {
            let client_seed = self.seed().to_vec();
            let seed = match next {
                Some(_) if self.forged => draw::seal(&client_seed.as_slice().try_into().expect("32 bytes")),
                Some(next) => draw::seed(&draw::deal(&key, stream, next.number), &client_seed, &name, step),
                None => client_seed.as_slice().try_into().expect("a seed"),
            };
            let mut live = Live::open(started).expect("a round");
            for (step, number) in before.iter().zip(1..) {
                let seed = seed_of(&step.drawn, &name, number, &dealt_of).expect("a seed");
                live.again(seed, &step.choice, &mut outcome).expect("a step");
            }
            live.again(seed, &choice, &mut outcome).expect("a step");
            if wish(&outcome) {
                break (seed, client_seed, live);
            }
        };
        let sealed = next.map(|next| {
            let (next_epoch, next_seal) = self.seal(stream, next.number + 1).expect("a key");
            let (number, epoch, sealed_by) = (next.number, next.epoch, next.sealed_by);
            Draw { number, epoch, generation: 0, client_seed, next_epoch, next_generation: 0, next_seal, sealed_by }
        });
        let game = live.game;
        let win = Minor(i64::try_from(outcome.round_win_minor).expect("cash"));
        let mut bytes = vec![];
        live.write(&outcome, &mut bytes);
        let round = started.round;
        let seed = sealed.is_none().then_some(seed);
        let step = StepResolved { round, step, seed, choice, outcome: bytes, win, automatic: None, draw: sealed };
        let mut events = vec![Event::StepResolved(step.into())];
        if let Some(after) = &outcome.carried {
            let scope = collection::scope(game, started.currency, started.bet);
            let before = self.books.player(stream).expect("a player");
            let before = collection::carried_under(game, self.sharing(), before, &scope);
            events.extend(collection::change(game, &scope, &before, after));
        }
        if outcome.credited_minor > 0 {
            let amount = Minor(i64::try_from(outcome.credited_minor).expect("cash"));
            events.push(Event::WinCredited { round, amount });
        }
        if let (true, Some(given)) = (outcome.jackpot, &started.contribution) {
            events.push(Event::JackpotHit { round, pool: given.pool.clone() });
        }
        if outcome.awaiting == Awaiting::Nothing {
            events.push(Event::RoundSettled { round, win });
            let earlier = before.iter().filter_map(|step| match &step.drawn {
                Drawn::Sealed { number, .. } => Some(*number),
                Drawn::Seed(_) => None,
            });
            let dealt: Vec<_> =
                earlier.chain(next.map(|next| next.number)).map(|number| draw::deal(&key, stream, number)).collect();
            events.extend((!dealt.is_empty()).then_some(Event::DrawsRevealed { round, dealt }));
        }
        events
    }

    pub fn revealed(&self, name: &str, round: u64) -> Option<Event> {
        let key = self.key?;
        let open = self.books.player(&player(name))?.open_round(round)?;
        let dealt = open.draws().map(|draw| draw::deal(&key, &player(name), draw.number)).collect();
        Some(Event::DrawsRevealed { round, dealt })
    }

    pub fn hit(&mut self, name: &str, coin_value: CoinValue) -> u64 {
        let round = self.bet(name, 15, 10, coin_value, |outcome| outcome.awaiting == Awaiting::Pick);
        self.choose(name, round, Choice::Pick(slots::Picked::new(&[0, 2, 4]).expect("three vials")), |outcome| {
            outcome.jackpot && outcome.awaiting == Awaiting::Nothing
        })
    }

    pub fn tend(&mut self) {
        while let Some(events) = self.books.pool_step(POOL).expect("figures that fit") {
            self.write(pool(), events);
        }
        let unpaid: Vec<_> = self.books.unpaid_awards().map(|(_, hit, award)| (hit, award.clone())).collect();
        for (hit, award) in unpaid {
            let UnpaidAward { pool, stream, round, amount, currency, .. } = award;
            let request = InternalRequest::PayAward { pool: &pool, partition: self.partition, hit };
            self.request_id = Some(request.to_string());
            self.write(stream, vec![Event::JackpotPaid { round, pool: SmolStr::new(&pool), hit, amount, currency }]);
        }
    }

    pub fn of_everything() -> Self {
        Self::everything(Self::with_players(&["alice", "bob"]))
    }

    pub fn of_everything_sealed() -> Self {
        Self::everything(Self::sealed(&["alice", "bob"]))
    }

    fn everything(mut tale: Self) -> Self {
        for _ in 0..20 {
            tale.plain_spin("alice");
            tale.plain_spin("bob");
        }
        tale.tend();
        let free = tale.spin("alice", |outcome| outcome.awaiting == Awaiting::FreeSpins);
        tale.choose("alice", free, Choice::StartFreeSpins, |outcome| outcome.awaiting == Awaiting::Nothing);
        tale.double = true;
        let double = tale.spin("bob", |outcome| outcome.awaiting == Awaiting::Double);
        tale.choose("bob", double, Choice::Double(slots::Card::RedHeart), |outcome| {
            outcome.card.is_some_and(|turn| turn.won)
        });
        tale.choose("bob", double, Choice::Collect, |_| true);
        tale.double = false;
        tale.hit("alice", CoinValue(200_000));
        tale.plain_spin("bob");
        tale.tend();
        let void = tale.spin("bob", |outcome| outcome.awaiting == Awaiting::Pick);
        let (reason, actor) = ("reel 3 stuck".into(), "support".into());
        let voided = Event::RoundVoided {
            round: void,
            reason,
            actor,
            refund: Minor(150),
            win_taken_back: Minor(0),
            jackpot: motherlode_state::VoidedJackpot::TakenBack,
            settled: None,
        };
        let revealed = tale.revealed("bob", void);
        tale.write(player("bob"), [voided].into_iter().chain(revealed).collect());
        tale.tend();
        tale.write(StreamId::System, vec![Event::GeneratorReseeded { key: None }]);
        tale.spin("alice", |outcome| outcome.awaiting == Awaiting::Pick);
        tale.plain_spin("bob");
        tale
    }

    pub fn find(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.log.iter().position(|logged| logged.commit.events.iter().any(&wanted)).expect("such an event")
    }
}

pub fn chained(log: &[Logged]) -> Vec<Bytes> {
    linked(log).into_iter().map(|(_, bytes)| bytes).collect()
}

pub fn linked(log: &[Logged]) -> Vec<(Logged, Bytes)> {
    let mut sealed_by = BTreeMap::new();
    chaining(log, |logged, before| {
        let mut sealing = sealed_by.get(&logged.commit.stream).copied();
        for event in &mut logged.commit.events {
            if let Event::StepResolved(step) = event
                && let Some(Draw { sealed_by: Some(named), .. }) = &mut step.draw
            {
                *named = sealing.take().unwrap_or(*named);
            }
        }
        let record = hash(&record::encode(before, logged));
        if draws::sealed(&logged.commit.events).next().is_some() {
            sealed_by.insert(logged.commit.stream.clone(), record);
        }
    })
}

pub fn chained_as_they_are(log: &[Logged]) -> Vec<(Logged, Bytes)> {
    chaining(log, |_, _| {})
}

fn chaining(log: &[Logged], mut change: impl FnMut(&mut Logged, &RecordHash)) -> Vec<(Logged, Bytes)> {
    let mut before = genesis(log.first().map_or(0, |logged| logged.commit.partition));
    let chain = |logged: &Logged| {
        let mut logged = logged.clone();
        change(&mut logged, &before);
        let bytes = record::encode(&before, &logged);
        before = hash(&bytes);
        (logged, bytes)
    };
    log.iter().map(chain).collect()
}

pub fn store(folder: &Path, records: &[Bytes]) {
    store_partition(folder, 0, records);
}

pub fn store_partition(folder: &Path, partition: u32, records: &[Bytes]) {
    let options = StoreOptions { segment_bytes: 16 << 10, zero_bytes: 512 };
    let mut store = SegmentStore::open(folder, partition, options).expect("a log");
    for block in records.chunks(5) {
        store.append(store.end(), block).expect("an append");
    }
}

pub fn options(folder: &Path) -> Options {
    Options { log: folder.to_owned(), index: None, partition: 0, ..Options::default() }
}

pub fn audited(log: &[Logged]) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    store(folder.path(), &chained(log));
    audit(&options(folder.path())).expect("a log that can be read")
}

pub fn divergence(log: &[Logged]) -> Divergence {
    audited(log).divergence.expect("a divergence")
}

pub fn found(tale: &Tale, at: usize, change: impl FnOnce(&mut Logged)) -> Divergence {
    let mut log = tale.log.clone();
    change(&mut log[at]);
    assert!(log[at] != tale.log[at], "the change has no effect");
    let found = divergence(&log);
    assert_eq!((found.partition, found.position), (0, at as u64 + 1), "{found}");
    assert_ne!(found.expected, found.found);
    found
}

pub fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    files
}

pub fn step(logged: &mut Logged) -> &mut StepResolved {
    let steps = logged.commit.events.iter_mut();
    let mut steps = steps.filter_map(|event| match event {
        Event::StepResolved(step) => Some(step),
        _ => None,
    });
    steps.next().expect("a step")
}

pub fn change_outcome(step: &mut StepResolved, change: impl FnOnce(&mut v1::Outcome)) {
    let mut outcome = v1::Outcome::decode(step.outcome.as_slice()).expect("an outcome");
    change(&mut outcome);
    step.outcome = outcome.encode_to_vec();
}
