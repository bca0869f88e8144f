//! One operator uses as many shared threads, log bytes and open rounds as possible. `MOTHERLODE_STRANGERS_SECONDS`:
//! duration of the attack in seconds, 60 by default.

use crate::{
    BYTES_MAX, PROGRAM,
    alternate::alternate,
    figure,
    honest::Honest,
    strangers::{configure, rate, seconds},
};
use motherlode_proto::{
    ledger::v1::{DepositRequest, GetAccountRequest, OpenAccountRequest},
    round::v1::{Account, Choice, RoundState, Stake, choice},
    spin::v1::{
        AutospinRequest, ChooseRequest, PlayStreamRequest, Played, SpinRequest, play_stream_request::Call,
        play_stream_response::Answer,
    },
};
use motherlode_runtime::connect::connect;
use motherlode_tests::{Client, Process, bet, hostile::Target, next_choice, reason};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

const READERS: u64 = 32;
const BETTORS: u64 = 32;
const OPENERS: u64 = 16;
const STREAMS: u64 = 2;
const STREAM_PLAYERS: u64 = 512;
const ON_ONE: u64 = 8;
const OPEN_MAX: u64 = 2_000;
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone)]
struct Greedy {
    client: Client,
    until: Instant,
    counts: Arc<Mutex<BTreeMap<(&'static str, String), u64>>>,
    next: Arc<AtomicU64>,
}

impl Greedy {
    async fn counted<T>(&self, kind: &'static str, answer: &Result<T, Status>) {
        let how =
            answer.as_ref().map_or_else(|status| format!("{:?} {}", status.code(), reason(status)), |_| "OK".into());
        *self.counts.lock().unwrap().entry((kind, how)).or_default() += 1;
        if answer.is_err() {
            sleep(PAUSE).await;
        }
    }

    fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    async fn read(mut self) {
        let request = GetAccountRequest { account: Some(account("bettor-0")) };
        while !self.is_over() {
            let answer = self.client.ledger.get_account(request.clone()).await;
            self.counted("reads", &answer).await;
        }
    }

    async fn bet(mut self, player: u64) {
        let account = account(&format!("bettor-{player}"));
        while !self.is_over() {
            let id = format!("b{}", self.id());
            let answer = self.client.play_out(bet(&id, &account, "0.01")).await;
            self.counted("rounds", &answer).await;
            let SpinRequest { account, game, stake, witch, .. } = bet("", &account, "0.01");
            let request_id = format!("{id}-series");
            let series = AutospinRequest { request_id, account, game, stake, witch, spins: 200, ..Default::default() };
            self.series(series).await;
        }
    }

    async fn series(&mut self, request: AutospinRequest) {
        let mut stream = match self.client.autospin(request, None).await {
            Ok(stream) => stream,
            Err(status) => return self.counted::<()>("series", &Err(status)).await,
        };
        while !self.is_over() {
            match stream.message().await {
                Ok(None) => return,
                Ok(Some(answer)) => {
                    self.counted("rounds of series", &Ok(())).await;
                    if let Some(played) = answer.played {
                        self.finish(played).await;
                    }
                }
                Err(status) => return self.counted::<()>("series", &Err(status)).await,
            }
        }
    }

    async fn finish(&mut self, mut played: Played) {
        while let Some(kind) = next_choice(&played) {
            let id = format!("c{}", self.id());
            let answer = self.client.choose(&id, &played.round_id, kind, None).await;
            self.counted("choices", &answer).await;
            let Ok(chosen) = answer else { return };
            played = chosen;
        }
    }

    async fn stream(mut self, number: u64) {
        let (sender, calls) = mpsc::unbounded_channel();
        let mut answers = match self.client.spin.play_stream(UnboundedReceiverStream::new(calls)).await {
            Ok(answers) => answers.into_inner(),
            Err(status) => return self.counted::<()>("streams", &Err(status)).await,
        };
        let spin = |player| {
            let account = account(&streamer(number, player));
            Call::Spin(bet(&format!("s{}", self.id()), &account, "0.01"))
        };
        let send = |player, call| sender.send(PlayStreamRequest { tag: player, call: Some(call) }).is_ok();
        for player in 0..STREAM_PLAYERS {
            send(player, spin(player));
        }
        while !self.is_over() {
            let answer = match answers.message().await {
                Ok(Some(answer)) => answer,
                Ok(None) => return,
                Err(status) => return self.counted::<()>("streams", &Err(status)).await,
            };
            let call = match answer.answer {
                Some(Answer::Played(played)) => {
                    self.counted("answers on streams", &Ok(())).await;
                    next_choice(&played)
                        .map_or_else(|| spin(answer.tag), |kind| Call::Choose(self.choice(&played, kind)))
                }
                _ => {
                    self.counted("answers on streams", &Err::<(), _>(Status::unknown("refused"))).await;
                    spin(answer.tag)
                }
            };
            if !send(answer.tag, call) {
                return;
            }
        }
    }

    fn choice(&self, played: &Played, kind: choice::Kind) -> ChooseRequest {
        ChooseRequest {
            request_id: format!("c{}", self.id()),
            round_id: played.round_id.clone(),
            choice: Some(Choice { kind: Some(kind) }),
            ..ChooseRequest::default()
        }
    }

    async fn open(mut self) {
        while !self.is_over() {
            let account = account(&format!("opener-{}", self.id()));
            let open = OpenAccountRequest { request_id: "o".into(), account: Some(account.clone()) };
            let opened = self.client.ledger.open_account(open).await;
            self.counted("accounts", &opened).await;
            let deposit =
                DepositRequest { request_id: "d".into(), account: Some(account.clone()), amount_minor: 100_000 };
            let deposited = self.client.ledger.deposit(deposit).await;
            self.counted("deposits", &deposited).await;
            let bought = SpinRequest {
                request_id: "b".into(),
                account: Some(account),
                game: "mystery-elves".into(),
                stake: Some(Stake { coin_value: "0.01".into(), lines: 10, coins_per_line: 1, buy_feature: true }),
                ..SpinRequest::default()
            };
            let bought = self.client.spin(bought, None).await;
            let is_open = bought.as_ref().map_or(true, |played| played.state() == RoundState::Open);
            self.counted(if is_open { "open rounds" } else { "rounds over at once" }, &bought).await;
        }
    }
}

fn account(player: &str) -> Account {
    Account { operator_id: "mallory".into(), player_id: player.into(), currency_code: "EUR".into() }
}

fn streamer(stream: u64, player: u64) -> String {
    format!("streamer-{stream}-{player}")
}

async fn clients(target: &Target, connections: u64) -> Vec<Client> {
    let (url, credentials) = target.with("mallory").honest();
    let mut clients = vec![];
    for _ in 0..connections {
        clients.push(Client::on(connect(&url, &credentials, None).await.unwrap()));
    }
    clients
}

fn written(process: &Process) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{}/io", process.id())).unwrap();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_b3_an_operator_that_takes_all_it_can_delays_no_other_operator() {
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = configure(folder.path(), &format!("open_rounds_per_operator_max = {OPEN_MAX}"));
    let process = Process::start(PROGRAM, &folder.path().join("data"), Some(&file));
    let target = target.at(process.address);
    let honest = Honest::connect(&target.with("honest"), rate()).await;
    honest.fund().await;
    let clients = clients(&target, STREAMS + (READERS + BETTORS + OPENERS) / ON_ONE).await;
    let streamers = (0..STREAMS).flat_map(|stream| (0..STREAM_PLAYERS).map(move |player| streamer(stream, player)));
    for player in (0..BETTORS).map(|player| format!("bettor-{player}")).chain(streamers) {
        clients[0].clone().fund_account(&account(&player), 1_000_000_000).await;
    }
    let (counts, next) = (Arc::default(), Arc::default());
    let play = async |time| vec![("rounds", honest.play(time).await)];
    let attack = |until| {
        let greedy_on = |connection: u64| {
            let client = clients[usize::try_from(connection).unwrap()].clone();
            Greedy { client, until, counts: Arc::clone(&counts), next: Arc::clone(&next) }
        };
        let greedy = |number| greedy_on(STREAMS + number / ON_ONE);
        let streams = (0..STREAMS).map(|number| tokio::spawn(greedy_on(number).stream(number)));
        let reads = (0..READERS).map(|number| tokio::spawn(greedy(number).read()));
        let bets = (0..BETTORS).map(|number| tokio::spawn(greedy(READERS + number).bet(number)));
        let opens = (0..OPENERS).map(|number| tokio::spawn(greedy(READERS + BETTORS + number).open()));
        streams.chain(reads).chain(bets).chain(opens).collect::<Vec<JoinHandle<()>>>()
    };
    let before = written(&process);
    alternate(&process, seconds(), play, attack).await;
    println!("{} MB written to files and sockets", (written(&process) - before) >> 20);
    let counts = counts.lock().unwrap().clone();
    for ((kind, how), count) in &counts {
        println!("  {kind}: {how} {count}");
    }
    let count = |kind, how: &str| counts.get(&(kind, how.to_owned())).copied().unwrap_or_default();
    assert!(count("open rounds", "OK") <= OPEN_MAX, "the attacker's open rounds are bounded");
    assert!(count("open rounds", "ResourceExhausted OPEN_ROUNDS_FULL") > 0, "the bound is reached");
    assert!(
        count("rounds of series", "OK") > 0 && count("answers on streams", "OK") > 0,
        "the attacker makes calls and writes to the log"
    );
    let memory = figure(&process, "VmHWM:");
    assert!(memory < BYTES_MAX, "{memory} bytes");
    assert_eq!(process.terminate().await, Some(0));
}
