use crate::{golden, message};
use arbitrary::{Result, Unstructured};
use motherlode_ledger::fuzzing::{sealed_snapshot, snapshot_body};
use motherlode_proto::{
    convert::{event, record},
    log::v1,
};
use motherlode_state::{
    Books, CoinValue, Commit, Contribution, Currency, Event, FxRate, LoggedTerms, Minor, Nano, PoolStatus, PoolTerms,
    RoundStarted, SettledRound, SmolStr, Stage, StepResolved, StreamId, VoidedJackpot, contribution,
};
use prost::Message;

const POOL: &str = "bewitched";
const CURRENCIES: [Currency; 4] = [Currency::EUR, Currency::JPY, Currency::KWD, Currency::PLAY];

/// The same state, computed in two ways: by folding the commits as a replay does, and by staging them as the writer does.
#[derive(Default)]
pub struct Story {
    books: Books,
    log: Vec<Commit>,
    now_ms: i64,
    durable: Books,
    stage: Stage,
    staged: usize,
}

impl Story {
    #[must_use]
    pub fn len(&self) -> usize {
        self.log.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    pub fn tell(&mut self, choose: &mut Unstructured<'_>) -> Result<()> {
        if self.log.is_empty() {
            self.begin();
        }
        self.now_ms += i64::from(choose.int_in_range(0..=4_000u16)?);
        let (stream, events) = self.next(choose)?;
        let head = self.books.head(&stream);
        let mut commit = Commit {
            partition: 0,
            position: self.books.end(0).position + 1,
            stream,
            version: head.version + 1,
            previous: head.position,
            request_id: format!("request-{}", self.log.len()).into(),
            fingerprint: [0; 16],
            time_ms: self.now_ms,
            events,
        };
        match choose.int_in_range(0..=40u8)? {
            0 => commit.position = choose.arbitrary()?,
            1 => commit.version = choose.arbitrary()?,
            2 => commit.previous = choose.arbitrary()?,
            3 => commit.time_ms = choose.arbitrary()?,
            4 => commit.partition = choose.int_in_range(0..=3)?,
            5 => commit.events.clear(),
            6 => commit.events.extend(commit.events.clone()),
            _ => {}
        }
        self.fold(&commit, choose.ratio(1, 3)?);
        Ok(())
    }

    pub fn end(mut self) {
        self.absorb();
        assert!(self.books == self.durable, "the books of writer and replay differ");
        let read = sealed_snapshot(&snapshot_body(&self.books));
        assert!(read.is_some_and(|read| read == self.books), "reading a snapshot gives other books");
    }

    fn begin(&mut self) {
        let terms = PoolTerms {
            version: 1,
            contribution_ppm: 5_000,
            seed: Nano::major(20_000),
            base_coin: CoinValue(10_000_000),
            refresh_ms: 3_000,
            collision_share: motherlode_state::CollisionShare::Full,
        };
        let mut first = vec![(StreamId::pool(POOL), vec![Event::PoolOpened { pool: POOL.into(), terms }])];
        let rate = |mantissa, exponent| FxRate::new(mantissa, exponent).expect("a rate");
        for (currency, rate) in [(Currency::JPY, rate(6_123, -6)), (Currency::KWD, rate(3_207, -3))] {
            first.push((StreamId::Rates, vec![Event::RateSet { currency, rate, source: "fuzz".to_owned() }]));
        }
        for (stream, events) in first {
            let head = self.books.head(&stream);
            let position = self.books.end(0).position + 1;
            let commit = Commit {
                partition: 0,
                position,
                stream,
                version: head.version + 1,
                previous: head.position,
                request_id: format!("begin-{position}").into(),
                fingerprint: [0; 16],
                time_ms: 0,
                events,
            };
            self.fold(&commit, true);
        }
    }

    fn fold(&mut self, commit: &Commit, absorb: bool) {
        let recalled = self.recall(commit);
        let recalled = recalled.as_ref();
        let balanced = match self.books.postings(commit, recalled) {
            Ok(postings) => {
                for currency in postings.iter().map(|posting| posting.currency) {
                    let of = postings.iter().filter(|posting| posting.currency == currency);
                    assert_eq!(of.map(|posting| posting.amount.0).sum::<i128>(), 0, "postings in {currency}");
                }
                true
            }
            Err(_) => false,
        };
        let before = self.books.clone();
        let mut staged = self.stage.apply_recalling(&self.durable, commit, recalled);
        let replayed = self.books.apply_recalling(commit, recalled);
        assert_eq!(balanced, replayed.is_ok(), "the fold accepts unbalanced postings, or refuses balanced ones");
        if replayed.is_err() {
            assert!(self.books == before, "a refused commit changed the books");
        }
        if staged.is_err() && staged != replayed {
            // The pools include only durable commits, so the staged commits are made durable first.
            self.absorb();
            staged = self.stage.apply_recalling(&self.durable, commit, recalled);
        }
        assert_eq!(staged, replayed, "{commit:?}");
        if replayed.is_ok() {
            self.staged += 1;
            self.check(commit);
            self.log.push(commit.clone());
        }
        if absorb {
            self.absorb();
        }
    }

    fn absorb(&mut self) {
        self.durable.absorb(std::mem::take(&mut self.stage));
        self.staged = 0;
    }

    fn check(&self, commit: &Commit) {
        assert!(self.books.trial_balance().is_empty(), "PL-09");
        for pool in self.books.pools() {
            assert!(pool.is_balanced(), "BW-18: {pool:?}");
            let _ = self.books.pool_step(&pool.name);
        }
        if let Some(player) = self.books.player(&commit.stream) {
            assert!(player.balances().all(|(_, balance)| balance >= Minor::ZERO), "PL-09: no balance is negative");
            let (balances_after, due_after) = (player.balances().collect(), player.due().collect());
            let logged = record::Logged { commit: commit.clone(), balances_after, due_after, proposer: None };
            let read = record::decode(&record::encode(&[0; 32], &logged));
            assert_eq!(read.as_ref(), Ok(&logged), "reading an accepted commit gives another commit");
        }
    }

    fn recall(&self, commit: &Commit) -> Option<SettledRound> {
        let round = commit.events.iter().find_map(|event| match event {
            Event::RoundVoided { round, .. } => Some(*round),
            _ => None,
        })?;
        SettledRound::recall(round, self.log.iter().filter(|earlier| earlier.stream == commit.stream))
    }

    fn next(&self, choose: &mut Unstructured<'_>) -> Result<(StreamId, Vec<Event>)> {
        let stream = StreamId::player("acme", *choose.choose(&["alice", "bob"])?);
        let currency = *choose.choose(&CURRENCIES)?;
        let player = self.books.player(&stream);
        let open = player.and_then(|player| player.open_rounds().next());
        let round = match open {
            Some(open) if choose.ratio(7, 8)? => open.started.round,
            _ => choose.int_in_range(0..=6)?,
        };
        let events = match choose.int_in_range(0..=17u8)? {
            0 => vec![Event::AccountOpened { currency }],
            1 => vec![Event::AccountOpened { currency }, Event::Deposited { currency, amount: amount(choose)? }],
            2 => vec![Event::Deposited { currency, amount: amount(choose)? }],
            3 => vec![Event::Withdrawn { currency, amount: amount(choose)? }],
            4 => vec![Event::PlayMoneyGiven { amount: amount(choose)? }],
            5 | 6 => {
                let started = self.start(&stream, currency, choose)?;
                let (round, win) = (started.round, amount(choose)?);
                let mut events = vec![Event::RoundStarted(started.into())];
                if choose.ratio(3, 4)? {
                    events.push(step(round, 1, win));
                    if choose.ratio(1, 3)? {
                        events.push(Event::JackpotHit { round, pool: POOL.into() });
                    }
                    if choose.ratio(2, 3)? {
                        events.push(Event::RoundSettled { round, win });
                    }
                }
                events
            }
            7 => vec![step(round, choose.int_in_range(1..=4)?, amount(choose)?)],
            8 => {
                let win = amount(choose)?;
                vec![step(round, choose.int_in_range(1..=4)?, win), Event::RoundSettled { round, win }]
            }
            9 => vec![Event::RoundSettled { round, win: amount(choose)? }],
            10 => vec![
                step(round, choose.int_in_range(1..=4)?, amount(choose)?),
                Event::JackpotHit { round, pool: POOL.into() },
            ],
            11 => vec![self.void(&stream, round, choose)?],
            12 => return Ok(self.pool_step(choose)?.unwrap_or((StreamId::System, vec![]))),
            13 => return Ok(self.pay(choose)?.unwrap_or((StreamId::System, vec![]))),
            14 => {
                let rate = FxRate::new(choose.int_in_range(1..=999_999)?, choose.int_in_range(-12..=6)?);
                let Ok(rate) = rate else { return Ok((StreamId::Rates, vec![])) };
                return Ok((StreamId::Rates, vec![Event::RateSet { currency, rate, source: "fuzz".to_owned() }]));
            }
            15 => {
                let log = choose.choose(&golden::COMMITS)?;
                let logged = choose.choose(log)?;
                return Ok((logged.commit.stream.clone(), logged.commit.events.clone()));
            }
            16 => {
                let log = choose.choose(&golden::COMMITS)?;
                vec![choose.choose(&choose_events(log))?.clone()]
            }
            _ => {
                let descriptor = message::POOL.get_message_by_name("motherlode.log.v1.Event").expect("the event");
                let bytes = message::bytes(&descriptor, choose)?;
                let read = v1::Event::decode(&bytes[..]).ok().and_then(|message| event::from_log(message).ok());
                read.into_iter().collect()
            }
        };
        let elsewhere = [stream.clone(), stream, StreamId::System, StreamId::pool(POOL), StreamId::Rates];
        let at = if events.len() == 1 { choose.choose_index(elsewhere.len())? } else { 0 };
        Ok((elsewhere[at].clone(), events))
    }

    fn start(&self, stream: &StreamId, currency: Currency, choose: &mut Unstructured<'_>) -> Result<RoundStarted> {
        let rounds = self.books.player(stream).map_or(0, |player| player.rounds_started);
        let rate = self.books.rate(currency).unwrap_or(FxRate::ONE);
        let game = *choose.choose(&[POOL, "neptune"])?;
        let bet = amount(choose)?;
        let pool = self
            .books
            .pool(POOL)
            .filter(|pool| pool.status == PoolStatus::Active && game == POOL && currency != Currency::PLAY);
        let added = pool.and_then(|pool| {
            let amount = contribution(bet, currency, rate, pool.terms.contribution_ppm).ok()?;
            Some(Contribution { pool: POOL.into(), terms_version: pool.terms.version, amount })
        });
        let campaigns = self.books.player(stream).into_iter().flat_map(|player| player.campaigns());
        let campaign = campaigns.map(|state| state.campaign.id.clone()).next();
        Ok(RoundStarted {
            round: rounds + 1,
            game: game.into(),
            rules_version: "1.6".into(),
            model_hash: [7; 32],
            currency,
            bet,
            coin_value: CoinValue(*choose.choose(&[10_000, 200_000, 10_000_000, 1, u64::MAX])?),
            stake: LoggedTerms::Unreadable(vec![1, 2, 3]),
            rate,
            contribution: if choose.ratio(9, 10)? { added } else { None },
            session: None,
            jurisdiction: SmolStr::default(),
            campaign: if choose.ratio(1, 6)? { campaign } else { None },
        })
    }

    fn void(&self, stream: &StreamId, round: u64, choose: &mut Unstructured<'_>) -> Result<Event> {
        let settled = SettledRound::recall(round, self.log.iter().filter(|earlier| earlier.stream == *stream));
        let open = self.books.player(stream).and_then(|player| player.open_round(round));
        let bet = open.map(|open| open.started.charged()).or(settled.as_ref().map(|round| round.started.charged()));
        let win = settled.as_ref().map_or(Minor::ZERO, |round| round.win);
        let stated = settled.map(Box::new);
        Ok(Event::RoundVoided {
            round,
            reason: "fuzz".to_owned(),
            actor: "fuzz".to_owned(),
            refund: if choose.ratio(7, 8)? { bet.unwrap_or_default() } else { amount(choose)? },
            win_taken_back: if choose.ratio(7, 8)? { win } else { amount(choose)? },
            jackpot: *choose.choose(&[
                VoidedJackpot::TakenBack,
                VoidedJackpot::Kept,
                VoidedJackpot::Charged,
                VoidedJackpot::Lost,
            ])?,
            settled: if choose.ratio(1, 2)? { stated } else { None },
        })
    }

    fn pool_step(&self, choose: &mut Unstructured<'_>) -> Result<Option<(StreamId, Vec<Event>)>> {
        let mut events = self.books.pool_step(POOL).ok().flatten().unwrap_or_default();
        if !events.is_empty() && choose.ratio(1, 16)? {
            let at = choose.choose_index(events.len())?;
            match &mut events[at] {
                Event::ContributionsPooled { amount, .. } => amount.0 += i128::from(choose.arbitrary::<i8>()?),
                Event::JackpotAwarded(award) => award.amount.0 += i64::from(choose.arbitrary::<i8>()?),
                _ => {}
            }
        }
        Ok(Some((StreamId::pool(POOL), events)))
    }

    fn pay(&self, choose: &mut Unstructured<'_>) -> Result<Option<(StreamId, Vec<Event>)>> {
        let awards = self.log.iter().flat_map(|commit| &commit.events).filter_map(|event| match event {
            Event::JackpotAwarded(award) => Some(award),
            _ => None,
        });
        let awards: Vec<_> = awards.collect();
        if awards.is_empty() {
            return Ok(None);
        }
        let award = choose.choose(&awards)?;
        let paid = Event::JackpotPaid {
            round: award.round,
            pool: POOL.into(),
            hit: award.hit,
            amount: award.amount,
            currency: award.currency,
        };
        Ok(Some((award.stream.clone(), vec![paid])))
    }
}

fn choose_events(log: &[record::Logged]) -> Vec<Event> {
    log.iter().flat_map(|logged| logged.commit.events.iter().cloned()).collect()
}

fn step(round: u64, step: u32, win: Minor) -> Event {
    let step = StepResolved {
        round,
        step,
        seed: Some([9; 32]),
        choice: vec![4],
        outcome: vec![5, 6],
        win,
        automatic: None,
        draw: None,
    };
    Event::StepResolved(step.into())
}

fn amount(choose: &mut Unstructured<'_>) -> Result<Minor> {
    Ok(Minor(match choose.int_in_range(0..=7u8)? {
        0 => *choose.choose(&[i64::MAX, i64::MAX - 1, i64::MAX / 2, -1, 0, i64::MIN, 1_000_000_000_000_000])?,
        1 => choose.arbitrary()?,
        _ => choose.int_in_range(0..=5_000)?,
    }))
}
