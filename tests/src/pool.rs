//! Independent model of the jackpot pool, computed from the logs of all partitions. All bets are in EUR. A jackpot hit
//! wins the fraction (coin value / 10 EUR) of the pool. The pool's stream in partition 0 defines the order of hits and
//! bets (BW-16).

use crate::commits;
use motherlode_ledger::Ledgers;
use motherlode_log::{genesis, hash};
use motherlode_proto::convert::record;
use motherlode_state::{Books, CoinValue, Commit, Event, Nano, PoolState, StreamId};
use std::collections::{BTreeMap, VecDeque};

pub const POOL: &str = "bewitched";
const EUR: i128 = 1_000_000_000;
const SEED: i128 = 20_000 * EUR;

pub type Hit = (u32, u64);

#[derive(Default)]
pub struct Model {
    pub contributed: i128,
    pub expected: Vec<(Hit, i128)>,
    pooled: i128,
    increments: i128,
    reserve: i128,
    house: i128,
    paid: i128,
    last_hit_ms: Option<i64>,
    partitions: BTreeMap<u32, Partition>,
}

#[derive(Default)]
struct Partition {
    left: BTreeMap<u64, i128>,
    /// Jackpot hits whose award is not decided yet: position, Unix milliseconds, coin value in 1e-6 EUR.
    hits: VecDeque<(u64, i64, i128)>,
    pooled_position: u64,
    coins: BTreeMap<(StreamId, u64), CoinValue>,
}

impl Partition {
    fn take(&mut self, commit: &Commit) {
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) if started.contribution.is_some() => {
                    self.coins.insert((commit.stream.clone(), started.round), started.coin_value);
                    self.left.insert(commit.position, i128::from(started.bet.0) * 50_000);
                }
                Event::JackpotHit { round, .. } => {
                    let CoinValue(micros) = self.coins[&(commit.stream.clone(), *round)];
                    self.hits.push_back((commit.position, commit.time_ms, micros.into()));
                }
                _ => {}
            }
        }
    }
}

impl Model {
    fn step(&mut self, event: &Event) {
        match event {
            Event::ContributionsPooled { partition, from, to, amount } => {
                let view = self.partitions.get_mut(partition).expect("the partition exists");
                assert_eq!(*from, view.pooled_position + 1, "the pooled ranges of positions are contiguous");
                view.pooled_position = *to;
                let sum: i128 = view.left.range(from..=to).map(|(_, left)| left).sum();
                assert_eq!(amount.0, sum, "BW-11: the contributions of the range");
                self.pooled += sum;
                self.increments += sum;
            }
            Event::JackpotAwarded(award) => {
                let view = self.partitions.get_mut(&award.partition).expect("the partition exists");
                let (position, time_ms, coin) = view.hits.pop_front().expect("the award belongs to a known hit");
                assert_eq!(
                    (award.hit, view.pooled_position),
                    (position, position),
                    "BW-16: the hit is priced in its turn, after all earlier bets"
                );
                self.win((award.partition, position), time_ms, coin);
            }
            _ => {}
        }
        assert_eq!(self.pooled + self.house, self.paid + self.increments + self.reserve, "BW-18");
    }

    fn win(&mut self, hit: Hit, time_ms: i64, coin_micros: i128) {
        let seed = SEED * coin_micros / 10_000_000;
        let collision = self.last_hit_ms.is_some_and(|last| last / 3_000 == time_ms / 3_000);
        let share = if collision { self.increments } else { self.increments * coin_micros / 10_000_000 };
        let cents = (seed + share) / (EUR / 100);
        let from_reserve = seed.min(self.reserve);
        self.house += seed - from_reserve;
        self.paid += cents * (EUR / 100);
        self.reserve += seed - from_reserve + self.increments - cents * (EUR / 100);
        self.increments = 0;
        self.last_hit_ms = Some(time_ms);
        self.expected.push((hit, cents));
    }
}

/// Checks every award and payment, and that the accounts balance at every position (PL-09). Panics if there are fewer than
/// `hits` hits, or a hit has no award.
pub fn pool_model(ledgers: &Ledgers, hits: usize) -> Model {
    let mut model = Model::default();
    let (mut steps, mut awarded, mut paid) = (vec![], vec![], BTreeMap::<Hit, Vec<i128>>::new());
    for ledger in ledgers.all() {
        let (mut books, mut view, partition) = (Books::new(), Partition::default(), ledger.partition());
        let mut head = genesis(partition);
        for logged in commits(ledger, 1) {
            let commit = &logged.commit;
            assert_eq!(commit.partition, partition);
            view.take(commit);
            head = hash(&record::encode(&head, &logged));
            books.apply_recorded(commit, None, head).expect("the books accept the commit");
            let all_zero = books.trial_balance().is_empty();
            assert!(books.pools().all(PoolState::is_balanced) && all_zero, "{partition}: {}", commit.position);
            let is_pool = commit.stream == StreamId::pool(POOL);
            for event in &commit.events {
                match event {
                    Event::JackpotPaid { hit, amount, .. } => {
                        paid.entry((partition, *hit)).or_default().push(amount.0.into());
                    }
                    Event::JackpotAwarded(award) => {
                        assert_eq!(partition, 0, "partition 0 decides the award");
                        awarded.push(((award.partition, award.hit), i128::from(award.amount.0)));
                    }
                    _ => {}
                }
                if is_pool && partition == 0 {
                    steps.push(event.clone());
                }
            }
        }
        model.contributed += view.left.values().sum::<i128>();
        model.partitions.insert(partition, view);
    }
    steps.iter().for_each(|event| model.step(event));
    assert!(model.expected.len() >= hits && model.partitions.values().all(|view| view.hits.is_empty()));
    assert_eq!(awarded, model.expected, "the award");
    let once: BTreeMap<_, _> = model.expected.iter().map(|(hit, cents)| (*hit, vec![*cents])).collect();
    assert_eq!(paid, once, "each award is paid once");
    ledgers.home().books(|books| {
        let pool = books.pool(POOL).expect("the pool is open");
        let figures = (pool.contributions, pool.reserve, pool.house_funding, pool.paid);
        assert_eq!(figures, (Nano(model.pooled), Nano(model.reserve), Nano(model.house), Nano(model.paid)));
    });
    model
}
