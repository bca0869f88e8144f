use bytes::Bytes;
use motherlode_log::{Hash, genesis, hash};
use motherlode_proto::convert::record::{Logged, encode};
use motherlode_state::{
    Award, Books, Commit, Contribution, Currency, Dealt, Draw, DrawSealed, Event, FxRate, Minor, PoolStatus, PoolTerms,
    RoundStarted, RoundTerms, SealReason, SettledRound, StepResolved, StreamId, UnpaidAward, VoidedJackpot,
    contribution, draw,
};

pub(super) const POOL: &str = "bewitched";
pub(super) const EUR: Currency = Currency::EUR;
const START_MS: i64 = 1_700_000_000_000;
const KEY: [u8; 32] = [42; 32];

pub(super) struct World {
    pub books: Books,
    pub records: Vec<Bytes>,
    pub now_ms: i64,
    partition: u32,
    commits: Vec<Commit>,
    head: Hash,
}

impl World {
    pub fn new(partition: u32) -> Self {
        let (books, head) = (Books::new(), genesis(partition));
        Self { books, records: vec![], now_ms: START_MS, partition, commits: vec![], head }
    }

    pub fn write(&mut self, stream: StreamId, events: Vec<Event>) -> u64 {
        let request_id = format!("request-{}", self.commits.len());
        self.write_named(stream, &request_id, events)
    }

    pub fn write_named(&mut self, stream: StreamId, request_id: &str, events: Vec<Event>) -> u64 {
        self.now_ms += 250;
        let (head, position) = (self.books.head(&stream), self.books.end(self.partition).position + 1);
        let commit = Commit {
            partition: self.partition,
            position,
            stream,
            version: head.version + 1,
            previous: head.position,
            request_id: request_id.into(),
            fingerprint: [3; 16],
            time_ms: self.now_ms,
            events,
        };
        let recalled = self.recall(&commit);
        let mut after = self.books.clone();
        after
            .apply_recalling(&commit, recalled.as_ref())
            .unwrap_or_else(|refused| panic!("position {position} is refused: {refused}: {:?}", commit.events));
        let player = after.player(&commit.stream);
        let (balances_after, due_after) =
            player.map(|player| (player.balances().collect(), player.due().collect())).unwrap_or_default();
        let logged = Logged { commit, balances_after, due_after, proposer: None };
        let record = encode(&self.head, &logged);
        self.head = hash(&record);
        self.books.apply_recorded(&logged.commit, recalled.as_ref(), self.head).expect("the books accept it");
        self.records.push(record);
        self.commits.push(logged.commit);
        position
    }

    fn recall(&self, commit: &Commit) -> Option<SettledRound> {
        let void = |event: &Event| if let Event::RoundVoided { round, .. } = event { Some(*round) } else { None };
        let round = commit.events.iter().find_map(void)?;
        SettledRound::recall(round, self.commits.iter().filter(|earlier| earlier.stream == commit.stream))
    }

    pub fn open(&mut self, name: &str, currency: Currency, amount: i64) {
        let amount = Minor(amount);
        self.write(player(name), vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount }]);
    }

    pub fn bet(&self, name: &str, game: &str, currency: Currency, bet: i64) -> RoundStarted {
        let rounds = self.books.player(&player(name)).map_or(0, |state| state.rounds_started);
        let rate = self.books.rate(currency).unwrap_or(FxRate::ONE);
        let pool = self.books.pool(game).filter(|pool| pool.status == PoolStatus::Active && currency.is_real());
        let terms = RoundTerms { lines: 15, coins_per_line: 1, jackpot: true, ..RoundTerms::default() };
        RoundStarted {
            round: rounds + 1,
            game: game.into(),
            rules_version: "1.6".into(),
            model_hash: [7; 32],
            currency,
            bet: Minor(bet),
            coin_value: "0.2".parse().expect("a coin value"),
            stake: motherlode_state::LoggedTerms::Terms(terms),
            rate,
            contribution: pool.map(|pool| Contribution {
                pool: game.into(),
                terms_version: pool.terms.version,
                amount: contribution(Minor(bet), currency, rate, pool.terms.contribution_ppm).expect("an amount"),
            }),
            session: None,
            jurisdiction: "uk".into(),
            campaign: None,
        }
    }

    pub fn play(&mut self, name: &str, started: RoundStarted, win: i64) -> u64 {
        let round = started.round;
        self.write(player(name), vec![Event::RoundStarted(started.into()), step(round, 1, win), settled(round, win)]);
        round
    }

    pub fn hit(&mut self, name: &str) -> u64 {
        self.hit_at(name, POOL)
    }

    pub fn hit_at(&mut self, name: &str, game: &str) -> u64 {
        let started = self.bet(name, game, EUR, 300);
        let round = started.round;
        let hit = Event::JackpotHit { round, pool: game.into() };
        let started = Event::RoundStarted(started.into());
        self.write(player(name), vec![started, step(round, 1, 0), hit, settled(round, 0)]);
        round
    }

    pub fn drawn(&mut self, name: &str, before: Vec<Event>, (round, number, win): (u64, u32, i64), after: Vec<Event>) {
        let stream = player(name);
        let next = self.books.player(&stream).and_then(|player| player.draw).expect("a sealed draw");
        let draw = Draw {
            number: next.number,
            epoch: next.epoch,
            generation: next.generation,
            client_seed: vec![1, 2],
            next_epoch: draw::epoch(&KEY),
            next_generation: self.books.generations().current().number,
            next_seal: draw::seal(&dealt(name, next.number + 1)),
            sealed_by: next.sealed_by,
        };
        let Event::StepResolved(mut step) = step(round, number, win) else { unreachable!("a step") };
        (step.seed, step.draw) = (None, Some(draw));
        let step = Event::StepResolved(step);
        self.write(stream, before.into_iter().chain([step]).chain(after).collect());
    }

    pub fn seal(&mut self, name: &str, reason: SealReason) {
        let next = self.books.player(&player(name)).and_then(|player| player.draw);
        let number = next.map_or(1, |next| next.number + 1);
        let (epoch, generation) = (draw::epoch(&KEY), self.books.generations().current().number);
        let seal = draw::seal(&dealt(name, number));
        self.write(player(name), vec![Event::DrawSealed(DrawSealed { number, epoch, generation, seal, reason })]);
    }

    pub fn settle_pools(&mut self) -> Vec<Award> {
        let (mut awards, mut steps) = (vec![], true);
        while std::mem::take(&mut steps) {
            let pools: Vec<_> = self.books.pools().map(|pool| pool.name.to_string()).collect();
            for pool in pools {
                while let Some(events) = self.books.pool_step(&pool).expect("a step") {
                    awards.extend(events.iter().filter_map(|event| match event {
                        Event::JackpotAwarded(award) => Some((**award).clone()),
                        _ => None,
                    }));
                    self.write(StreamId::pool(&pool), events);
                    steps = true;
                }
            }
        }
        awards
    }

    pub fn pay_awards(&mut self) {
        let unpaid: Vec<_> = self.books.unpaid_awards().map(|(_, hit, award)| (hit, award.clone())).collect();
        for (hit, award) in unpaid {
            let UnpaidAward { stream, pool, round, amount, currency, .. } = award;
            self.write(stream, vec![Event::JackpotPaid { round, pool: (*pool).into(), hit, amount, currency }]);
        }
    }

    pub fn void(&self, name: &str, round: u64, actor: &str, jackpot: VoidedJackpot) -> Event {
        let mut event = Event::RoundVoided {
            round,
            reason: "display fault".to_owned(),
            actor: actor.to_owned(),
            refund: Minor(300),
            win_taken_back: Minor(0),
            jackpot,
            settled: None,
        };
        let of_player = self.commits.iter().filter(|commit| commit.stream == player(name));
        if let (Event::RoundVoided { settled, .. }, true) = (&mut event, jackpot != VoidedJackpot::TakenBack) {
            *settled = SettledRound::recall(round, of_player).map(Box::new);
        }
        event
    }
}

pub(super) fn player(name: &str) -> StreamId {
    StreamId::player("acme", name)
}

pub(super) fn dealt(name: &str, number: u64) -> Dealt {
    draw::deal(&KEY, &player(name), number)
}

pub(super) fn revealed(name: &str, round: u64, numbers: impl IntoIterator<Item = u64>) -> Event {
    Event::DrawsRevealed { round, dealt: numbers.into_iter().map(|number| dealt(name, number)).collect() }
}

pub(super) fn step(round: u64, step: u32, win: i64) -> Event {
    let (choice, outcome) = (vec![4], vec![5, 6]);
    let (seed, win) = (Some([9; 32]), Minor(win));
    Event::StepResolved(StepResolved { round, step, seed, choice, outcome, win, automatic: None, draw: None }.into())
}

pub(super) fn settled(round: u64, win: i64) -> Event {
    Event::RoundSettled { round, win: Minor(win) }
}

pub(super) fn terms(version: u32) -> PoolTerms {
    PoolTerms {
        version,
        contribution_ppm: 5_000,
        seed: "20000".parse().expect("a figure"),
        base_coin: "10".parse().expect("a coin value"),
        refresh_ms: 3_000,
        collision_share: motherlode_state::CollisionShare::Full,
    }
}
