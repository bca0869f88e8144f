use motherlode_state::*;

pub const POOL: &str = "bewitched";
pub const MODEL: [u8; 32] = [7; 32];

pub fn terms(version: u32) -> PoolTerms {
    PoolTerms {
        version,
        contribution_ppm: 5_000,
        seed: "20000".parse().unwrap(),
        base_coin: "10".parse().unwrap(),
        refresh_ms: 3_000,
        collision_share: CollisionShare::Full,
    }
}

pub fn player(name: &str) -> StreamId {
    StreamId::player("acme", name)
}

pub fn pool_stream() -> StreamId {
    StreamId::pool(POOL)
}

pub fn nano(text: &str) -> Nano {
    text.parse().unwrap()
}

pub fn coin(text: &str) -> CoinValue {
    text.parse().unwrap()
}

#[derive(Clone, Default)]
pub struct World {
    pub books: Books,
    pub log: Vec<Commit>,
    pub now_ms: i64,
    pub partition: u32,
}

impl World {
    pub fn with_players(names: &[&str]) -> Self {
        let mut world = Self::default();
        world.write(pool_stream(), vec![Event::PoolOpened { pool: POOL.into(), terms: terms(1) }]);
        for name in names {
            world.open_account(name, Currency::EUR, 100_000_000);
        }
        world
    }

    pub fn open_account(&mut self, name: &str, currency: Currency, amount: i64) {
        let amount = Minor(amount);
        let events = vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount }];
        self.write(player(name), events);
    }

    pub fn next(&self, stream: StreamId, events: Vec<Event>) -> Commit {
        let head = self.books.head(&stream);
        Commit {
            partition: self.partition,
            position: self.books.end(self.partition).position + 1,
            stream,
            version: head.version + 1,
            previous: head.position,
            request_id: format!("request-{}", self.log.len()).into(),
            fingerprint: [0; 16],
            time_ms: self.now_ms,
            events,
        }
    }

    pub fn write(&mut self, stream: StreamId, events: Vec<Event>) -> u64 {
        let position = self.books.end(self.partition).position + 1;
        self.try_write(stream, events).unwrap();
        position
    }

    pub fn try_write(&mut self, stream: StreamId, events: Vec<Event>) -> Result<(), Refused> {
        let commit = self.next(stream, events);
        let recalled = self.recall(&commit);
        let before = self.books.clone();
        let postings = before.postings(&commit, recalled.as_ref());
        match self.books.apply_recalling(&commit, recalled.as_ref()) {
            Ok(()) => {
                check_postings(&before, &self.books, &postings.unwrap());
                check(&self.books);
                self.log.push(commit);
                Ok(())
            }
            Err(refused) => {
                assert_eq!(postings.unwrap_err(), refused);
                assert_eq!(self.books, before, "a refused commit changed something");
                Err(refused)
            }
        }
    }

    pub fn recall(&self, commit: &Commit) -> Option<SettledRound> {
        recall(&self.log, commit)
    }

    pub fn start(&self, name: &str, game: &str, currency: Currency, bet: i64, coin_value: &str) -> RoundStarted {
        let rounds = self.books.player(&player(name)).map_or(0, |state| state.rounds_started);
        let rate = self.books.rate(currency).unwrap();
        let pool = self.books.pool(POOL);
        let pool = pool.filter(|pool| pool.status == PoolStatus::Active);
        RoundStarted {
            round: rounds + 1,
            game: game.into(),
            rules_version: "1.6".into(),
            model_hash: MODEL,
            currency,
            bet: Minor(bet),
            coin_value: coin(coin_value),
            stake: LoggedTerms::Unreadable(vec![1, 2, 3]),
            rate,
            contribution: pool.map(|pool| Contribution {
                pool: POOL.into(),
                terms_version: pool.terms.version,
                amount: contribution(Minor(bet), currency, rate, pool.terms.contribution_ppm).unwrap(),
            }),
            session: None,
            jurisdiction: "".into(),
            campaign: None,
        }
    }

    pub fn play(&mut self, name: &str, bet: i64, coin_value: &str, win: i64) -> (u64, u64) {
        let started = self.start(name, POOL, Currency::EUR, bet, coin_value);
        let round = started.round;
        let events = vec![Event::RoundStarted(started.into()), step(round, 1, win), settled(round, win)];
        (round, self.write(player(name), events))
    }

    pub fn hit(&mut self, name: &str, currency: Currency, bet: i64, coin_value: &str) -> (u64, u64) {
        let started = self.start(name, POOL, currency, bet, coin_value);
        let round = started.round;
        let hit = Event::JackpotHit { round, pool: POOL.into() };
        let events = vec![Event::RoundStarted(started.into()), step(round, 1, 0), hit, settled(round, 0)];
        (round, self.write(player(name), events))
    }

    pub fn void(&mut self, name: &str, round: u64, refund: i64, win_taken_back: i64) -> Result<(), Refused> {
        self.try_write(player(name), vec![voided(round, refund, win_taken_back)])
    }

    pub fn settle_pool(&mut self) -> Vec<Award> {
        let mut awards = Vec::new();
        while let Some(events) = self.books.pool_step(POOL).unwrap() {
            assert!(awards.len() <= self.log.len(), "the steps of the pool do not end");
            awards.extend(events.iter().filter_map(|event| match event {
                Event::JackpotAwarded(award) => Some((**award).clone()),
                _ => None,
            }));
            self.write(pool_stream(), events);
        }
        awards
    }

    pub fn pay(&mut self, award: &Award) -> Result<(), Refused> {
        self.try_write(award.stream.clone(), vec![paid(award)])
    }

    pub fn pool(&self) -> &PoolState {
        self.books.pool(POOL).unwrap()
    }

    pub fn balance(&self, name: &str, currency: Currency) -> i64 {
        self.books.player(&player(name)).unwrap().balance(currency).unwrap().0
    }
}

pub fn recall(log: &[Commit], commit: &Commit) -> Option<SettledRound> {
    let round = commit.events.iter().find_map(|event| match event {
        Event::RoundVoided { round, .. } => Some(*round),
        _ => None,
    })?;
    SettledRound::recall(round, log.iter().filter(|earlier| earlier.stream == commit.stream))
}

pub fn step(round: u64, step: u32, win: i64) -> Event {
    Event::StepResolved(
        StepResolved {
            round,
            step,
            seed: Some([9; 32]),
            choice: vec![4],
            outcome: vec![5, 6],
            win: Minor(win),
            automatic: None,
            draw: None,
        }
        .into(),
    )
}

pub fn settled(round: u64, win: i64) -> Event {
    Event::RoundSettled { round, win: Minor(win) }
}

pub fn voided(round: u64, refund: i64, win_taken_back: i64) -> Event {
    Event::RoundVoided {
        round,
        reason: "reel display fault".into(),
        actor: "support-1".into(),
        refund: Minor(refund),
        win_taken_back: Minor(win_taken_back),
        jackpot: VoidedJackpot::TakenBack,
        settled: None,
    }
}

pub fn voided_as(round: u64, refund: i64, win_taken_back: i64, jackpot: VoidedJackpot) -> Event {
    Event::RoundVoided {
        round,
        reason: "reel display fault".into(),
        actor: ANYONE.into(),
        refund: Minor(refund),
        win_taken_back: Minor(win_taken_back),
        jackpot,
        settled: None,
    }
}

pub fn effect(x: u64) -> VoidedJackpot {
    match x % 4 {
        0 => VoidedJackpot::TakenBack,
        1 => VoidedJackpot::Charged,
        2 => VoidedJackpot::Lost,
        _ => VoidedJackpot::Kept,
    }
}

pub fn paid(award: &Award) -> Event {
    Event::JackpotPaid {
        round: award.round,
        pool: POOL.into(),
        hit: award.hit,
        amount: award.amount,
        currency: award.currency,
    }
}

pub fn check(books: &Books) {
    assert_eq!(books.trial_balance(), PerCurrency::default(), "PL-09");
    for pool in books.pools() {
        assert!(pool.is_balanced(), "BW-18: {pool:?}");
    }
    for currency in Currency::all() {
        let mut sum = 0;
        for (_, _, player) in books.players() {
            let balance = player.balance(currency).unwrap_or_default();
            assert!(balance >= Minor::ZERO, "PL-09: no balance is negative");
            sum += balance.to_nano(currency).0;
        }
        let totals: i128 = books.operators().map(|name| books.players_total(name, currency).0).sum();
        assert_eq!(sum, totals, "the players' total equals the sum over the players");
    }
    for operator in books.operators() {
        let listed: Vec<_> = books.open_rounds(operator, 0).map(|(name, open)| (name, open.started.round)).collect();
        let players = books.players().filter(|(of, ..)| *of == operator);
        let mut open: Vec<_> = players
            .flat_map(|(_, name, player)| {
                player.open_rounds().map(move |open| (open.opened_at, name, open.started.round))
            })
            .collect();
        open.sort_unstable();
        let open: Vec<_> = open.into_iter().map(|(_, name, round)| (name, round)).collect();
        assert_eq!(listed, open, "PL-20: every open round is listed, oldest bet first");
    }
}

fn check_postings(before: &Books, after: &Books, postings: &[Posting<'_>]) {
    for posting in postings {
        let (account, currency) = (posting.account, posting.currency);
        let change = after.holding(account, currency).0 - before.holding(account, currency).0;
        let of_account = postings.iter().filter(|other| other.account == account && other.currency == currency);
        assert_eq!(change, of_account.map(|other| other.amount.0).sum::<i128>(), "{account} {currency}");
    }
}
