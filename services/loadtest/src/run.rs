use crate::{
    books::{self, Actual, Books, PoolCheck, Pooled},
    connect::{Error, connect},
    drive::drive,
    lane::Lane,
    options::Options,
    player::{Expected, Player, Table},
    readers::Readers,
    report::Report,
    retry::insist,
    tally::Tally,
    usage::Usage,
};
use futures_util::{StreamExt, TryStreamExt, future::LocalBoxFuture, stream};
use motherlode_proto::{
    jackpot::v1::{GetPoolRequest, Pool, PoolStatus, jackpot_service_client::JackpotServiceClient},
    ledger::v1::{
        DepositRequest, GetAccountRequest, GetRoundRequest, OpenAccountRequest,
        ledger_service_client::LedgerServiceClient,
    },
    round::v1::{Account, Stake, jackpot_win},
};
use motherlode_runtime::connect::Connection;
use motherlode_slots::latest;
use motherlode_state::{Currency, Nano, StreamId};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tonic::{Code, Status};

const WAIT_MAX: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs a load test; `progress` is called with the number of settled rounds several times per second.
pub fn run<'a>(options: &'a Options, progress: &'a dyn Fn(u64)) -> LocalBoxFuture<'a, Result<Report, Error>> {
    run_until(options, progress, std::future::pending())
}

/// Like [`run`], but starts no rounds after `interrupted` is ready; the report covers the rounds already played.
pub fn run_until<'a>(
    options: &'a Options,
    progress: &'a dyn Fn(u64),
    interrupted: impl Future<Output = ()> + 'a,
) -> LocalBoxFuture<'a, Result<Report, Error>> {
    Box::pin(async move {
        options.check().map_err(Error::Unusable)?;
        let deposit = options.deposit().map_err(Error::Unusable)?;
        options.pid.map(used_by_both).transpose()?;
        let connections = connect(options).await?;
        let lane = |it: &Connection| if options.stream { Lane::stream(it.clone()) } else { Lane::unary(it.clone()) };
        let lanes: Vec<Lane> = connections.iter().map(lane).collect();
        let service = Service {
            connections,
            operator: options.operator.clone(),
            seamless: options.seamless,
            concurrency: options.concurrency,
            retries: AtomicU64::new(0),
        };

        let run = run_name()?;
        let mut players = match &options.existing {
            None => service.players(options.players, &run, deposit).await?,
            Some(prefix) => service.existing(options.players, prefix).await?,
        };
        let table = Arc::new(table(options, run));
        // One round opens each connection before the measurement. Once the pool has these contributions, it has all
        // earlier ones too, because it receives contributions in log order.
        for (player, lane) in players.iter_mut().zip(&lanes) {
            player.play_round(&table, lane, None).await.map_err(Error::setup("the first round"))?;
        }
        let warm = Sums::new(&players);
        let before = service.pool(&options.game, &warm).await.map_err(Error::setup("the pool"))?;

        let again = || Table {
            start: Instant::now(),
            tally: Tally::new(),
            game: table.game.clone(),
            stake: table.stake.clone(),
            picks: table.picks,
            run: table.run.clone(),
        };
        let table = Arc::new(again());
        let accounts: Vec<_> = players.iter().map(|player| player.account.clone()).collect();
        let apart = connect(&Options { connections: 1, ..options.clone() }).await?;
        let readers = Readers::start(options.readers, &apart, &accounts, &options.game);
        let used = options.pid.map(used_by_both).transpose()?;
        let playing = drive(options, &table, &lanes, players, interrupted);
        let (mut players, took) = watched(playing, || progress(table.tally.rounds.load(Ordering::Relaxed))).await;
        let rounds = table.tally.rounds.load(Ordering::Relaxed);
        let cost = options.pid.zip(used).map(|(pid, before)| {
            let after = used_by_both(pid)?;
            Ok::<_, Error>([0, 1].map(|of| after[of].cost(before[of], rounds)))
        });
        let cost = cost.transpose()?;

        let reads = readers.end().await;

        // Rounds with an unknown outcome are retried with the same request ids, so that the books can be compared.
        let after = again();
        let in_doubt = stream::iter(players.iter_mut().filter(|player| player.in_doubt));
        let asked_again = in_doubt.for_each_concurrent(options.concurrency, async |player| {
            let _ = player.play_round(&after, &lanes[0], None).await;
        });
        asked_again.await;
        let books = service.books(options, &mut players, &warm, &before).await.map_err(Error::setup("the books"))?;
        let (cost, client_cost) = cost.map_or((None, None), |[service, client]| (Some(service), Some(client)));
        Ok(Report { cost, client_cost, ..Report::new(options, &table.tally, took, books, reads) })
    })
}

fn used_by_both(service: u32) -> Result<[Usage; 2], Error> {
    let used = |pid| Usage::for_process(pid).map_err(|source| Error::Usage { pid, source });
    Ok([used(service)?, used(std::process::id())?])
}

fn run_name() -> Result<String, Error> {
    let mut run = [0; 8];
    getrandom::fill(&mut run).map_err(Error::Entropy)?;
    Ok(format!("{:016x}", u64::from_be_bytes(run)))
}

fn table(options: &Options, run: String) -> Table {
    let Options { lines, coins_per_line, buy_feature, .. } = *options;
    let stake = Stake { coin_value: options.coin_value.to_string(), lines, coins_per_line, buy_feature };
    let is_new = options.existing.is_none();
    let picks = is_new && latest(&options.game).is_some_and(|game| !game.info().companions.is_empty());
    let run = if is_new { String::new() } else { run + "-" };
    Table { game: options.game.clone(), stake, picks, run, tally: Tally::new(), start: Instant::now() }
}

async fn watched<T>(done: impl Future<Output = T>, look: impl Fn()) -> T {
    let mut ticks = tokio::time::interval(Duration::from_millis(200));
    tokio::pin!(done);
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => look(),
            done = &mut done => break done,
        }
    }
}

fn stream_of(account: &Account) -> StreamId {
    StreamId::player(account.operator_id.as_str(), account.player_id.as_str())
}

struct Sums {
    bets: i64,
    latest: Vec<(StreamId, u64)>,
}

impl Sums {
    fn new(players: &[Player]) -> Self {
        let expected = || players.iter().map(|player| &player.expected);
        Self {
            bets: expected().map(|expected| expected.bets).sum(),
            latest: players.iter().map(|player| (stream_of(&player.account), player.expected.bet_position)).collect(),
        }
    }

    fn are_pooled(&self, pool: &Pool) -> bool {
        let partitions = u32::try_from(pool.pooled_positions.len()).unwrap_or(u32::MAX);
        let is_pooled = |(stream, position): &(StreamId, u64)| {
            let partition = usize::try_from(stream.partition(partitions)).unwrap_or(usize::MAX);
            pool.pooled_positions.get(partition).is_some_and(|pooled| pooled >= position)
        };
        self.latest.iter().all(is_pooled)
    }
}

struct Service {
    connections: Vec<Connection>,
    operator: String,
    seamless: bool,
    concurrency: usize,
    retries: AtomicU64,
}

impl Service {
    fn ledger(&self, which: usize) -> LedgerServiceClient<Connection> {
        LedgerServiceClient::new(self.connections[which % self.connections.len()].clone())
    }

    async fn players(&self, count: usize, run: &str, deposit: i64) -> Result<Vec<Player>, Error> {
        let opened = (0..count).map(async |number| {
            let mut player = Player::new(self.account(format!("{run}-{number}")), self.seamless);
            self.fund(number, &mut player, deposit).await?;
            Ok(player)
        });
        let players = stream::iter(opened).buffer_unordered(self.concurrency).try_collect();
        players.await.map_err(Error::setup("opening and funding the players' accounts"))
    }

    async fn existing(&self, count: usize, prefix: &str) -> Result<Vec<Player>, Error> {
        let found = (0..count).map(async |number| {
            let mut player = Player::new(self.account(format!("{prefix}{number:08}")), self.seamless);
            player.expected.deposits = self.actual(number, &player).await?.balance;
            Ok(player)
        });
        let players = stream::iter(found).buffer_unordered(self.concurrency).try_collect();
        players.await.map_err(Error::setup("looking up the players"))
    }

    fn account(&self, player_id: String) -> Account {
        Account { operator_id: self.operator.clone(), player_id, currency_code: Currency::EUR.to_string() }
    }

    async fn fund(&self, which: usize, player: &mut Player, amount_minor: i64) -> Result<(), Status> {
        let account = &player.account;
        insist(&self.retries, || {
            let request = OpenAccountRequest { request_id: "open".to_owned(), account: Some(account.clone()) };
            let mut ledger = self.ledger(which);
            async move { ledger.open_account(request).await }
        })
        .await?;
        if self.seamless {
            return Ok(());
        }
        insist(&self.retries, || {
            let account = Some(account.clone());
            let request = DepositRequest { request_id: "deposit".to_owned(), account, amount_minor };
            let mut ledger = self.ledger(which);
            async move { ledger.deposit(request).await }
        })
        .await?;
        player.expected.deposits += amount_minor;
        Ok(())
    }

    async fn pool(&self, game: &str, sums: &Sums) -> Result<Pool, Status> {
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            let request = || {
                let mut jackpot = JackpotServiceClient::new(self.connections[0].clone());
                async move { jackpot.get_pool(GetPoolRequest { pool_id: game.to_owned() }).await }
            };
            let pool = match insist(&self.retries, request).await {
                Err(status) if status.code() == Code::NotFound => return Ok(Pool::default()),
                answered => answered?.into_inner().pool.unwrap_or_default(),
            };
            if sums.are_pooled(&pool) || pool.status() != PoolStatus::Active || Instant::now() >= deadline {
                return Ok(pool);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn books(
        &self,
        options: &Options,
        players: &mut [Player],
        warm: &Sums,
        before: &Pool,
    ) -> Result<Books, Status> {
        for player in players.iter_mut() {
            self.await_awards(&mut player.expected).await?;
        }
        let players = &*players;
        let sums = Sums::new(players);
        let pool = self.pool(&options.game, &sums).await?;
        let found = stream::iter(players.iter().enumerate().map(async |(which, player)| {
            let actual = self.actual(which, player).await?;
            Ok::<_, Status>((&player.expected, actual))
        }));
        let accounts: Vec<(&Expected, Actual)> = found.buffer_unordered(self.concurrency).try_collect().await?;
        let pooled = pooled(options, before, &pool, &sums)?;
        Ok(books::check(&accounts, sums.bets - warm.bets, pooled))
    }

    async fn actual(&self, which: usize, player: &Player) -> Result<Actual, Status> {
        let response = insist(&self.retries, || {
            let request = GetAccountRequest { account: Some(player.account.clone()) };
            let mut ledger = self.ledger(which);
            async move { ledger.get_account(request).await }
        });
        let account = response.await?.into_inner();
        Ok(Actual {
            player: player.account.player_id.clone(),
            balance: account.balance.map_or(0, |balance| balance.amount_minor),
            open_rounds: account.open_round_ids,
        })
    }

    async fn await_awards(&self, expected: &mut Expected) -> Result<(), Status> {
        let deadline = Instant::now() + WAIT_MAX;
        while let Some((round_id, hit)) = expected.pending.last() {
            let request = || {
                let request = GetRoundRequest { round_id: round_id.clone() };
                let mut ledger = self.ledger(0);
                async move { ledger.get_round(request).await }
            };
            let round = insist(&self.retries, request).await?.into_inner().round.unwrap_or_default();
            let award = round.jackpots.iter().find(|jackpot| jackpot.hit_position == *hit);
            match award
                .filter(|award| award.state() == jackpot_win::State::Paid)
                .and_then(|award| award.amount.as_ref())
            {
                Some(amount) => {
                    expected.jackpots += amount.amount_minor;
                    expected.pending.pop();
                }
                None if Instant::now() >= deadline => break,
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
        Ok(())
    }
}

fn pooled(options: &Options, before: &Pool, after: &Pool, sums: &Sums) -> Result<Pooled, Status> {
    let ppm = |pool: &Pool| pool.terms.as_ref().map_or(0, |terms| terms.contribution_ppm);
    let nano = |text: &str| {
        text.parse::<Nano>().map_err(|_| {
            Status::internal(format!("the service reported pool contributions that are not a number: {text}"))
        })
    };
    let active = |pool: &Pool| pool.status() == PoolStatus::Active;
    let check = match (active(before) && active(after) && ppm(before) == ppm(after), options.shared) {
        (false, _) => PoolCheck::None,
        (true, false) => PoolCheck::Exact,
        (true, true) => PoolCheck::AtLeast,
    };
    if check == PoolCheck::None {
        return Ok(Pooled { check, contribution_ppm: 0, contributions: Nano::ZERO, caught_up: false });
    }
    let contributions = nano(&after.contributions_eur)?.checked_sub(nano(&before.contributions_eur)?);
    Ok(Pooled {
        check,
        contribution_ppm: ppm(before),
        contributions: contributions.unwrap_or(Nano::ZERO),
        caught_up: sums.are_pooled(after),
    })
}
