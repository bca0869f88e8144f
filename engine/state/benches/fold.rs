use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use motherlode_state::{
    Books, CoinValue, CollisionShare, Commit, Contribution, Currency, Event, FxRate, LoggedTerms, Minor, Nano,
    PoolTerms, RoundStarted, RoundTerms, Stage, StepResolved, StreamId, contribution,
};

const PLAYERS: u64 = 1_000;
const SPINS: u64 = 10_000;
const POOL: &str = "bewitched";

struct Writer {
    books: Books,
    log: Vec<Commit>,
}

impl Writer {
    fn write(&mut self, stream: StreamId, events: Vec<Event>) {
        let head = self.books.head(&stream);
        let commit = Commit {
            partition: 0,
            position: self.books.end(0).position + 1,
            stream,
            version: head.version + 1,
            previous: head.position,
            request_id: "".into(),
            fingerprint: [0; 16],
            time_ms: 0,
            events,
        };
        self.books.apply(&commit).expect("the commits of the benchmark are valid");
        self.log.push(commit);
    }
}

fn player(number: u64) -> StreamId {
    StreamId::player("acme", format!("player-{:04}", number % PLAYERS))
}

fn spin(round: u64) -> Vec<Event> {
    let amount = contribution(Minor(100), Currency::EUR, FxRate::ONE, 5_000).expect("a small bet");
    let contribution = Contribution { pool: POOL.into(), terms_version: 1, amount };
    vec![
        Event::RoundStarted(
            RoundStarted {
                round,
                game: POOL.into(),
                rules_version: "1.6".into(),
                model_hash: [7; 32],
                currency: Currency::EUR,
                bet: Minor(100),
                coin_value: CoinValue(100_000),
                stake: LoggedTerms::Terms(RoundTerms::default()),
                rate: FxRate::ONE,
                contribution: Some(contribution),
                session: None,
                jurisdiction: "".into(),
                campaign: None,
            }
            .into(),
        ),
        Event::StepResolved(
            StepResolved {
                round,
                step: 1,
                seed: Some([9; 32]),
                choice: vec![0],
                outcome: vec![0; 40],
                win: Minor(50),
                automatic: None,
                draw: None,
            }
            .into(),
        ),
        Event::RoundSettled { round, win: Minor(50) },
    ]
}

fn story() -> (Books, Vec<Commit>) {
    let mut writer = Writer { books: Books::new(), log: Vec::new() };
    let terms = PoolTerms {
        version: 1,
        contribution_ppm: 5_000,
        seed: Nano::major(20_000),
        base_coin: CoinValue(10_000_000),
        refresh_ms: 3_000,
        collision_share: CollisionShare::Full,
    };
    writer.write(StreamId::pool(POOL), vec![Event::PoolOpened { pool: POOL.into(), terms }]);
    for number in 0..PLAYERS {
        let currency = Currency::EUR;
        let deposit = Event::Deposited { currency, amount: Minor(1_000_000) };
        writer.write(player(number), vec![Event::AccountOpened { currency }, deposit]);
    }
    let funded = writer.books.clone();
    writer.log.clear();
    for number in 0..SPINS {
        writer.write(player(number * 617), spin(number / PLAYERS + 1));
    }
    (funded, writer.log)
}

fn fold(criterion: &mut Criterion) {
    let (funded, log) = story();
    let mut group = criterion.benchmark_group("fold");
    group.throughput(Throughput::Elements(SPINS)).sample_size(20);
    group.bench_function("replay", |bencher| {
        let replay = |mut books: Books| {
            for commit in &log {
                books.apply(commit).expect("a sound log");
            }
            books
        };
        bencher.iter_batched(|| funded.clone(), replay, BatchSize::LargeInput);
    });
    group.bench_function("batches of 64", |bencher| {
        let write = |mut books: Books| {
            for batch in log.chunks(64) {
                let mut stage = Stage::new();
                for commit in batch {
                    stage.apply(&books, commit).expect("a sound log");
                }
                books.absorb(stage);
            }
            books
        };
        bencher.iter_batched(|| funded.clone(), write, BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, fold);
criterion_main!(benches);
