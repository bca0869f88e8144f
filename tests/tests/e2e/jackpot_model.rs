use motherlode_ledger::{Handle, Options};
use motherlode_proto::{
    jackpot::v1::{DeclareIncidentRequest, ResumePoolRequest, SuspendPoolRequest},
    ledger::v1::{SetExchangeRateRequest, VoidRoundRequest},
    round::v1::{RoundState, jackpot_win},
    spin::v1::{Played, SpinRequest},
};
use motherlode_server::open_stores;
use motherlode_state::{Account as Books, Currency};
use motherlode_tests::{
    Client, Force, Server, account, bet, checked, config, incidents::incident, next_choice, partitions::is_settled,
    pool::POOL, start_with, vials,
};
use proptest::{
    collection::vec,
    test_runner::{Config, RngSeed, TestRunner},
};
use std::{
    cell::Cell,
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

const SEED: i128 = 20_000 * 1_000_000_000;
const CURRENCIES: [&str; 2] = ["EUR", "SEK"];
const COINS: [(&str, i128); 4] = [("0.01", 10_000), ("0.10", 100_000), ("0.20", 200_000), ("1", 1_000_000)];

type Op = (u8, usize, u64);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Pool {
    increments: i128,
    reserve: i128,
    house: i128,
    paid: i128,
    cycle: u32,
    hit_ms: Option<i64>,
    met: [u32; 3],
}

impl Pool {
    fn hit(&mut self, coin_micros: i128, minor: i128, now_ms: i64) -> i128 {
        let part = |whole: i128| whole * coin_micros * minor / 10_i128.pow(14);
        let close = self.hit_ms.is_some_and(|last| last / 3_000 == now_ms / 3_000);
        self.met[0] += 1;
        self.met[1] += u32::from(close);
        let share = if close { self.increments } else { part(self.increments) };
        let award = (part(SEED) + share) / minor;
        let from_reserve = part(SEED).min(self.reserve);
        let from_house = part(SEED) - from_reserve;
        self.house += from_house;
        self.paid += award * minor;
        self.reserve += from_house + self.increments - award * minor;
        (self.increments, self.cycle, self.hit_ms) = (0, self.cycle + 1, Some(now_ms));
        award
    }

    /// BW-19: returns contributions. Those made since the last jackpot hit are taken from the pool's increments, the
    /// rest from its reserve and then from the house.
    fn give_back(&mut self, contributed: i128, in_cycle: i128) {
        let from_increments = in_cycle.min(self.increments);
        let from_reserve = (contributed - from_increments).min(self.reserve);
        self.met[2] += u32::from(from_increments < contributed);
        self.increments -= from_increments;
        self.reserve -= from_reserve;
        self.house += contributed - from_increments - from_reserve;
    }
}

struct Round {
    at: usize,
    bet: i64,
    win: i64,
    contributed: i128,
    cycle: u32,
    minute: i64,
}

struct World {
    data: tempfile::TempDir,
    clock: Arc<AtomicI64>,
    server: Server,
    client: Client,
    balances: [i64; 2],
    krona: i128,
    suspended: bool,
    pool: Pool,
    contributed: i128,
    rounds: BTreeMap<String, Round>,
    voided: Vec<Round>,
    incidents: Vec<(i64, i64)>,
    returning: bool,
}

async fn serve(data: &Path, clock: &Arc<AtomicI64>) -> (Server, Client) {
    let config = config(data);
    let clock = Arc::clone(clock);
    let options = Options::on_clock(move || clock.load(Ordering::SeqCst));
    let server = start_with(&config, open_stores(&config).unwrap(), options).await;
    let client = Client::connect(server.address()).await;
    (server, client)
}

impl World {
    async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(1_790_000_000_000));
        let (server, mut client) = serve(data.path(), &clock).await;
        for currency in CURRENCIES {
            client.fund("ann", currency, 10_000_000).await;
        }
        let (balances, pool) = ([10_000_000; 2], Pool::default());
        let mut world = Self {
            data,
            clock,
            server,
            client,
            balances,
            krona: 0,
            suspended: false,
            pool,
            contributed: 0,
            rounds: BTreeMap::new(),
            voided: vec![],
            incidents: vec![],
            returning: false,
        };
        world.set_rate("first", 875).await;
        world
    }

    async fn restart(mut self) -> Self {
        self.server.stop().await.unwrap();
        (self.server, self.client) = serve(self.data.path(), &self.clock).await;
        self
    }

    async fn set_rate(&mut self, id: &str, krona: i128) {
        let (currency_code, source) = ("SEK".to_owned(), "test".to_owned());
        let eur_per_unit = format!("0.{krona:04}");
        let request = SetExchangeRateRequest { request_id: id.into(), currency_code, eur_per_unit, source };
        self.client.ledger.set_exchange_rate(request).await.unwrap();
        self.krona = krona;
    }

    async fn play(&mut self, at: usize, id: &str, x: u64, hit: bool) {
        let (coin, micros) = COINS[usize::try_from(x % 4).unwrap()];
        let mut request: SpinRequest = bet(id, &account("ann", CURRENCIES[at]), coin);
        let coins = if hit { 10 } else { u32::try_from(x / 4 % 10).unwrap() + 1 };
        request.stake.as_mut().unwrap().coins_per_line = coins;
        let bet = i64::try_from(15 * i128::from(coins) * micros / 10_000).unwrap();
        let minor = if at == 0 { 10_000_000 } else { self.krona * 1_000 };
        let contributed = if self.suspended { 0 } else { i128::from(bet) * minor / 200 };
        self.balances[at] -= bet;
        self.pool.increments += contributed;
        self.contributed += contributed;
        let cycle = self.pool.cycle;
        let minute = self.clock.load(Ordering::SeqCst) / 60_000;
        let mut played = self.client.spin(request, hit.then_some(Force::Pick)).await.unwrap();
        for step in 1.. {
            self.paid(&played, at, (micros, minor));
            if played.state() == RoundState::Settled {
                break;
            }
            let force = (hit && step == 1).then_some(Force::Jackpot);
            let choice = if force.is_some() { vials() } else { next_choice(&played).unwrap() };
            played = self.client.choose(&format!("{id}.{step}"), &played.round_id, choice, force).await.unwrap();
        }
        let win = played.win.unwrap().amount_minor;
        self.balances[at] += win;
        self.rounds.insert(played.round_id, Round { at, bet, win, contributed, cycle, minute });
    }

    fn paid(&mut self, played: &Played, at: usize, (micros, minor): (i128, i128)) {
        let Some(won) = &played.jackpot else { return };
        assert_eq!(won.state(), jackpot_win::State::Paid);
        let expected = self.pool.hit(micros, minor, self.clock.load(Ordering::SeqCst));
        let amount = won.amount.as_ref().unwrap().amount_minor;
        assert_eq!(i128::from(amount), expected, "{played:?}");
        self.balances[at] += amount;
    }

    async fn void(&mut self, id: &str, x: u64) {
        let count = self.rounds.len().max(1);
        let Some(round_id) = self.rounds.keys().nth(usize::try_from(x).unwrap() % count).cloned() else { return };
        let round = self.rounds.remove(&round_id).unwrap();
        let (reason, actor) = ("reel 3 stuck".to_owned(), "ann".to_owned());
        let request = VoidRoundRequest { request_id: id.into(), round_id, reason, actor };
        self.client.ledger.void_round(request).await.unwrap();
        let balance = &mut self.balances[round.at];
        *balance += round.bet;
        *balance -= round.win.min(*balance);
        self.voided.push(round);
        self.give_back();
    }

    async fn incident(&mut self, id: &str, x: u64) {
        let now_ms = self.clock.load(Ordering::SeqCst);
        let mut incident = incident(id, "acme", now_ms);
        let minutes = i64::try_from(x % 4).unwrap();
        incident.from_time = incident
            .until_time
            .map(|until| prost_types::Timestamp { seconds: until.seconds - minutes * 60 - 1, nanos: 0 });
        let (request_id, pool_id, actor) = (id.to_owned(), POOL.to_owned(), "ops".to_owned());
        let request = DeclareIncidentRequest { request_id, pool_id, incident: Some(incident), actor };
        self.client.jackpot.declare_incident(request).await.unwrap();
        let now_s = now_ms / 1_000;
        self.incidents.push(((now_s - minutes * 60 - 1) / 60, (now_ms + 59_999) / 60_000));
        self.give_back();
    }

    fn give_back(&mut self) {
        for (first, end) in self.incidents.clone() {
            let due: Vec<_> = self.voided.extract_if(.., |round| (first..end).contains(&round.minute)).collect();
            let in_cycle = due.iter().filter(|round| round.cycle == self.pool.cycle);
            let in_cycle = in_cycle.map(|round| round.contributed).sum();
            let contributed: i128 = due.iter().map(|round| round.contributed).sum();
            if contributed > 0 {
                self.pool.give_back(contributed, in_cycle);
                self.contributed -= contributed;
                self.returning = true;
            }
        }
    }

    async fn switch(&mut self, id: &str) {
        let (request_id, pool_id, actor) = (id.to_owned(), POOL.to_owned(), "ops".to_owned());
        if self.suspended {
            self.client.jackpot.resume_pool(ResumePoolRequest { request_id, pool_id, actor }).await.unwrap();
        } else {
            let request = SuspendPoolRequest { request_id, pool_id, reason: "test".into(), actor };
            self.client.jackpot.suspend_pool(request).await.unwrap();
        }
        self.suspended ^= true;
    }

    async fn agree(&mut self, after: &str) {
        let returning = std::mem::take(&mut self.returning);
        let decided = async {
            while self.server.ledgers().all().any(waits) || (returning && !is_settled(self.server.ledgers())) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), decided).await.expect("the pool settles all hits");
        let Pool { increments, reserve, house, paid, .. } = self.pool;
        assert_eq!(self.contributed + house, paid + increments + reserve, "BW-18: the model's books must balance");
        for ledger in self.server.ledgers().all() {
            assert!(ledger.books(|books| books.trial_balance().is_empty()), "PL-09");
        }
        let player = self.server.player("ann");
        let balances = CURRENCIES.map(|currency| player.balance(currency.parse().unwrap()).unwrap().0);
        assert_eq!(balances, self.balances, "{after}");
        let holding = |account| self.server.holding(account, Currency::EUR);
        let found = [
            self.server.collected(POOL),
            holding(Books::Reserve(POOL)),
            -holding(Books::SeedFunding(POOL)),
            self.server.ledger().books(|books| books.pool(POOL).unwrap().paid.0),
            holding(Books::JackpotPayable(POOL)),
        ];
        assert_eq!(found, [increments, reserve, house, paid, 0], "{after}");
    }
}

fn waits(ledger: &Handle) -> bool {
    ledger.books(|books| books.pending_decisions(POOL).next().is_some() || books.unpaid_awards().next().is_some())
}

async fn history(ops: &[Op]) -> [u32; 3] {
    let mut world = World::new().await;
    for (number, (kind, at, x)) in ops.iter().copied().enumerate() {
        let id = format!("op-{number}");
        world.clock.fetch_add(i64::try_from(x % 2_500).unwrap(), Ordering::SeqCst);
        match kind {
            0..=5 => world.play(at, &id, x, false).await,
            6..=8 if !world.suspended => world.play(at, &id, x, true).await,
            9..=11 => world.void(&id, x).await,
            12 => world.switch(&id).await,
            13 => world.set_rate(&id, 800 + i128::from(x % 200)).await,
            14 if x.is_multiple_of(3) => world = world.restart().await,
            15 => world.incident(&id, x).await,
            _ => {}
        }
        world.agree(&format!("{number}: {kind} {at} {x}")).await;
    }
    world = world.restart().await;
    world.agree("a restart").await;
    world.server.stop().await.unwrap();
    checked(world.data.path());
    world.pool.met
}

#[test]
fn bw_16_bw_17_a_simple_model_agrees_at_every_step_of_any_history() {
    let config = Config {
        cases: 6,
        rng_seed: RngSeed::Fixed(16),
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ops = vec((0..16_u8, 0..2_usize, 0..10_000_u64), 80..150);
    let met = Cell::new([0; 3]);
    let run = TestRunner::new(config).run(&ops, |ops| {
        let more = runtime.block_on(history(&ops));
        met.set(std::array::from_fn(|at| met.get()[at] + more[at]));
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        met.get().into_iter().all(|times| times > 3),
        "the histories must cover each case more than three times: {met:?}"
    );
}
