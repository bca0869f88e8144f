use motherlode_proto::{
    ledger::v1::GetAccountRequest,
    round::v1::{Account, Choice, Stake, choice},
    spin::v1::{ChooseRequest, Played, SpinRequest},
};
use motherlode_runtime::connect::connect;
use motherlode_tests::{Client, hostile::Target, next_choice, reason};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time::sleep};
use tonic::{Code, Request, Status};

const DEADLINE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);
const PLAYERS: u64 = 400;

#[derive(Clone)]
pub struct Honest {
    client: Client,
    rate: u32,
    next: Arc<AtomicU64>,
    run: u128,
}

#[derive(Default)]
pub struct Rounds {
    took: Vec<Duration>,
    pub failed: Vec<String>,
    again: u64,
}

impl Rounds {
    pub async fn collect(mut playing: JoinSet<(Result<Duration, String>, u64)>) -> Self {
        let mut rounds = Self::default();
        while let Some(played) = playing.join_next().await {
            let (took, again) = played.unwrap();
            rounds.again += again;
            match took {
                Ok(took) => rounds.took.push(took),
                Err(why) => rounds.failed.push(why),
            }
        }
        rounds.took.sort_unstable();
        rounds
    }

    pub fn p99(&self) -> Duration {
        self.at(99)
    }

    fn at(&self, percent: usize) -> Duration {
        let last = self.took.len().saturating_sub(1);
        self.took.get((self.took.len() * percent / 100).min(last)).copied().unwrap_or_default()
    }
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99, most) = (self.at(50), self.at(99), self.at(100));
        write!(f, "{} rounds, p50 {p50:.1?}, p99 {p99:.1?}, most {most:.1?}", self.took.len())?;
        write!(f, ", {} repeated, {} failed", self.again, self.failed.len())
    }
}

fn account(player: u64) -> Account {
    Account { operator_id: "honest".into(), player_id: format!("p{player}"), currency_code: "EUR".into() }
}

impl Honest {
    pub async fn connect(target: &Target, rate: u32) -> Self {
        let (url, credentials) = target.honest();
        let client = Client::on(connect(&url, &credentials, None).await.unwrap());
        let run = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        Self { client, rate, next: Arc::default(), run }
    }

    pub async fn fund(&self) {
        let mut opening = JoinSet::new();
        for player in 0..PLAYERS {
            let mut client = self.client.clone();
            opening.spawn(async move { client.fund_account(&account(player), 10_000_000).await });
        }
        while let Some(opened) = opening.join_next().await {
            opened.unwrap();
        }
    }

    pub async fn balances(&self) -> Vec<i64> {
        let mut balances = vec![];
        for player in 0..PLAYERS {
            let request = GetAccountRequest { account: Some(account(player)) };
            let answer = self.client.clone().ledger.get_account(request).await.unwrap().into_inner();
            balances.push(answer.balance.unwrap().amount_minor);
        }
        balances
    }

    pub async fn play(&self, time: Duration) -> Rounds {
        let (begun, every) = (Instant::now(), Duration::from_secs(1) / self.rate);
        let mut playing = JoinSet::new();
        let mut due = begun;
        while due < begun + time {
            tokio::time::sleep_until(due.into()).await;
            let (honest, number, since) = (self.clone(), self.next.fetch_add(1, Ordering::Relaxed), due);
            playing.spawn(async move {
                let (took, again) = honest.round(number, since).await;
                let why = |status: Status| format!("{:?} {}: {}", status.code(), reason(&status), status.message());
                (took.map_err(why), again)
            });
            due += every;
        }
        Rounds::collect(playing).await
    }

    async fn round(&self, number: u64, due: Instant) -> (Result<Duration, Status>, u64) {
        let mut again = 0;
        let request_id = format!("{}-{number}", self.run);
        let spin = SpinRequest {
            request_id: request_id.clone(),
            account: Some(account(number % PLAYERS)),
            game: "neptune".into(),
            stake: Some(Stake { coin_value: "0.01".into(), lines: 15, coins_per_line: 1, buy_feature: false }),
            ..SpinRequest::default()
        };
        let client = &self.client;
        let bet = patiently(due + DEADLINE, &mut again, |time| {
            let (mut client, mut request) = (client.spin.clone(), Request::new(spin.clone()));
            request.set_timeout(time);
            async move { Ok(client.spin(request).await?.into_inner().played) }
        });
        let mut played = match bet.await {
            Ok(played) => played,
            Err(status) => return (Err(status), again),
        };
        let took = due.elapsed();
        let mut step = 0;
        while let Some(kind) = next_choice(&played) {
            step += 1;
            let choose = choice(&request_id, step, &played, kind);
            let chosen = patiently(Instant::now() + DEADLINE, &mut again, |time| {
                let (mut client, mut request) = (client.spin.clone(), Request::new(choose.clone()));
                request.set_timeout(time);
                async move { Ok(client.choose(request).await?.into_inner().played) }
            });
            match chosen.await {
                Ok(chosen) => played = chosen,
                Err(status) => return (Err(status), again),
            }
        }
        (Ok(took), again)
    }
}

fn choice(request_id: &str, step: u32, played: &Played, kind: choice::Kind) -> ChooseRequest {
    ChooseRequest {
        request_id: format!("{request_id}.{step}"),
        round_id: played.round_id.clone(),
        choice: Some(Choice { kind: Some(kind) }),
        ..ChooseRequest::default()
    }
}

async fn patiently<F>(until: Instant, again: &mut u64, ask: impl Fn(Duration) -> F) -> Result<Played, Status>
where
    F: Future<Output = Result<Option<Played>, Status>>,
{
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match ask(left.max(Duration::from_millis(1))).await {
            Ok(played) => return played.ok_or_else(|| Status::internal("no answer in the response")),
            Err(status) => {
                let later = matches!(status.code(), Code::Unavailable | Code::ResourceExhausted | Code::Aborted);
                if !later || Instant::now() + PAUSE >= until {
                    return Err(status);
                }
                *again += 1;
                sleep(PAUSE).await;
            }
        }
    }
}
