use futures_util::StreamExt;
use motherlode_ledger::Stores;
use motherlode_log::{AppendError, Chained, Hash, LogStart, MemoryStore, Position, Reader, Store};
use motherlode_proto::{
    jackpot::v1::{WatchCountersRequest, WatchCountersResponse},
    ledger::v1::{GetLogStatusRequest, ListRoundsRequest},
    round::v1::Account,
    spin::v1::{PlayStreamRequest, Played, play_stream_request::Call, play_stream_response::Answer},
};
use motherlode_runtime::Config;
use motherlode_state::Nano;
use motherlode_tests::{Client, EUR, bet, commits, config, partitions::settled, reason, start_fresh, start_on};
use prost::Message;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Status, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};
use tonic_types::pb;

const SERVICES: [&str; 3] =
    ["motherlode.jackpot.v1.JackpotService", "motherlode.ledger.v1.LedgerService", "motherlode.spin.v1.SpinService"];

const NEVER: Duration = Duration::from_secs(20);

async fn channel(server: &motherlode_tests::Server) -> Channel {
    Channel::from_shared(format!("http://{}", server.address())).unwrap().connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_told_for_each_service_and_for_no_other() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut health = HealthClient::new(channel(&server).await);
    let of = |service: &str| HealthCheckRequest { service: service.to_owned() };
    for service in SERVICES.into_iter().chain([""]) {
        let answer = health.check(of(service)).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
    assert_eq!(health.check(of("poker")).await.unwrap_err().code(), Code::NotFound);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_told_to_those_who_watch_and_waits_for_none_of_them() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut health = HealthClient::new(channel(&server).await);
    let request = HealthCheckRequest { service: SERVICES[2].to_owned() };
    let mut watched = health.watch(request).await.unwrap().into_inner();
    assert_eq!(watched.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let stopping = tokio::spawn(server.stop());
    assert_eq!(watched.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    tokio::time::timeout(NEVER, stopping)
        .await
        .expect("the service stops although a health watch is open")
        .unwrap()
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_lists_the_services() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut reflection = ServerReflectionClient::new(channel(&server).await);
    let list = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = reflection.server_reflection_info(tokio_stream::iter([list])).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(listed) = answer else { panic!("{answer:?}") };
    let names: BTreeSet<_> = listed.service.into_iter().map(|service| service.name).collect();
    for service in SERVICES.into_iter().chain(["grpc.health.v1.Health"]) {
        assert!(names.contains(service), "{service}");
    }
    drop(answers);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_a_message_above_the_limit_is_refused_and_one_at_the_limit_is_read() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.limits.message_bytes_max = 4096;
    let server = start_fresh(&config).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100).await;
    let position = server.ends();
    let mut request = bet("x", &account, "0.01");
    request.game = "x".repeat(4096 - request.encoded_len() + request.game.len() - 1);
    assert_eq!(request.encoded_len(), 4096);
    assert_eq!(
        reason(&client.spin(request.clone(), None).await.unwrap_err()),
        "INVALID_FIELD",
        "the service reads a message of the maximum length"
    );
    request.game.push('x');
    assert_eq!(client.spin(request, None).await.unwrap_err().code(), Code::OutOfRange);
    assert_eq!(client.balance(&account).await, 100);
    assert_eq!(server.ends(), position, "no commit was written");
    server.stop().await.unwrap();
}

struct Gate(MemoryStore, Latch);

type Latch = Arc<(Mutex<Shut>, Condvar)>;

#[derive(Default)]
struct Shut {
    shut: bool,
    waits: bool,
}

fn set(latch: &Latch, shut: bool) {
    *latch.0.lock().unwrap() = Shut { shut, waits: false };
    latch.1.notify_all();
}

fn waits(latch: &Latch) {
    let waiting = latch.1.wait_timeout_while(latch.0.lock().unwrap(), NEVER, |shut| !shut.waits).unwrap();
    assert!(!waiting.1.timed_out(), "the test did not open the store in time");
}

fn gated(config: &Config, latch: &Latch) -> Stores {
    let gate = |partition| Box::new(Gate(MemoryStore::new(partition), Arc::clone(latch)));
    let stores: Vec<_> = (0..config.partitions).map(|partition| gate(partition) as Box<dyn Store>).collect();
    stores.into()
}

impl Store for Gate {
    fn partition(&self) -> u32 {
        self.0.partition()
    }

    fn start(&self) -> LogStart {
        self.0.start()
    }

    fn end(&self) -> Position {
        self.0.end()
    }

    fn head(&self) -> Hash {
        self.0.head()
    }

    fn append_chained(&mut self, after: Position, chained: &Chained) -> Result<(), AppendError> {
        let Gate(_, latch) = self;
        let is_shut = |shut: &mut Shut| {
            if shut.shut && !shut.waits {
                shut.waits = true;
                latch.1.notify_all();
            }
            shut.shut
        };
        drop(latch.1.wait_while(latch.0.lock().unwrap(), is_shut).unwrap());
        self.0.append_chained(after, chained)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.0.reader()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_a_call_out_of_time_and_its_repetition_have_one_effect() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.limits.request_ms_max = 2_000;
    let latch = Latch::default();
    let server = start_on(&config, gated(&config, &latch)).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100_000).await;
    for (id, timeout) in [("caller", Some(Duration::from_millis(20))), ("service", None)] {
        set(&latch, true);
        let mut request = Request::new(bet(id, &account, "0.01"));
        if let Some(timeout) = timeout {
            request.set_timeout(timeout);
        }
        let status = client.spin.spin(request).await.unwrap_err();
        set(&latch, false);
        let by_caller = timeout.is_some() && status.code() == Code::Cancelled;
        assert!(by_caller || status.code() == Code::DeadlineExceeded, "{id}: {status}");
        client.play_out(bet(id, &account, "0.01")).await.unwrap();
    }
    let rounds = ListRoundsRequest { account: Some(account), ..Default::default() };
    assert_eq!(client.ledger.list_rounds(rounds).await.unwrap().into_inner().rounds.len(), 2);
    server.stop().await.unwrap();
}

struct Play {
    calls: mpsc::Sender<PlayStreamRequest>,
    answers: tonic::Streaming<motherlode_proto::spin::v1::PlayStreamResponse>,
}

impl Play {
    async fn open(client: &mut Client) -> Self {
        let (calls, receiver) = mpsc::channel(1024);
        let answers = client.spin.play_stream(ReceiverStream::new(receiver)).await.unwrap().into_inner();
        Self { calls, answers }
    }

    async fn send(&self, tag: u64, call: Option<Call>) {
        self.calls.send(PlayStreamRequest { tag, call }).await.unwrap();
    }

    async fn next(&mut self) -> Option<(u64, Result<Played, pb::Status>)> {
        let answer = self.answers.message().await.expect("the stream ends without an error")?;
        let result = match answer.answer.unwrap() {
            Answer::Played(played) => Ok(*played),
            Answer::Error(status) => Err(status),
        };
        Some((answer.tag, result))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_pl_12_a_stream_answers_by_tag_with_what_the_unary_call_says() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let mut play = Play::open(&mut client).await;
    let mut accounts = BTreeMap::new();
    for tag in 0..50 {
        accounts.insert(tag, client.fund(&format!("p{tag}"), EUR, 10_000).await);
    }
    for (tag, account) in &accounts {
        play.send(*tag, Some(Call::Spin(bet("s", account, "0.01")))).await;
    }
    let mut answers = BTreeMap::new();
    while answers.len() < accounts.len() {
        let (tag, played) = play.next().await.unwrap();
        assert!(answers.insert(tag, played.unwrap()).is_none(), "tag {tag} is answered once");
    }
    for (tag, account) in &accounts {
        assert_eq!(client.spin(bet("s", account, "0.01"), None).await.unwrap(), answers[tag]);
    }
    let other = bet("s", &accounts[&0], "0.02");
    let mut malformed = other.clone();
    malformed.request_id.clear();
    let mut poor = bet("t", &accounts[&1], "10.00");
    poor.stake.as_mut().unwrap().coins_per_line = 10;
    for (tag, request) in [other, malformed, poor].into_iter().enumerate() {
        let unary = client.spin(request.clone(), None).await.unwrap_err();
        play.send(tag as u64, Some(Call::Spin(request))).await;
        let (answered, streamed) = play.next().await.unwrap();
        assert_eq!(answered, tag as u64);
        assert_eq!(facts(&streamed.unwrap_err()), facts(&pb::Status::decode(unary.details()).unwrap()));
    }
    play.send(9, None).await;
    assert_eq!(play.next().await.unwrap().1.unwrap_err().code, i32::from(Code::InvalidArgument));
    let Play { calls, mut answers } = play;
    drop(calls);
    assert_eq!(answers.message().await.unwrap(), None, "the stream ends after the caller's last message");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_bets_of_one_player_on_one_stream_have_one_effect_each() {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100_000).await;
    let mut play = Play::open(&mut client).await;
    for tag in 0..40 {
        play.send(tag, Some(Call::Spin(bet(&format!("s{tag}"), &account, "0.01")))).await;
    }
    let (mut played, mut steps) = (BTreeMap::new(), BTreeSet::new());
    for _ in 0..40 {
        match play.next().await.unwrap() {
            (tag, Ok(answer)) => {
                assert!(steps.insert(answer.position), "each bet has a commit");
                assert!(played.insert(tag, answer).is_none());
            }
            (_, Err(status)) => assert_eq!(facts(&status).2["reason"], "ROUND_IN_PROGRESS"),
        }
    }
    let rounds = ListRoundsRequest { account: Some(account.clone()), page_size: 100, ..Default::default() };
    let listed = client.ledger.list_rounds(rounds).await.unwrap().into_inner().rounds;
    assert_eq!(listed.len(), played.len());
    for (tag, answer) in &played {
        assert_eq!(client.spin(bet(&format!("s{tag}"), &account, "0.01"), None).await.unwrap(), *answer);
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_a_streams_call_out_of_time_and_its_repetition_have_one_effect() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.limits.request_ms_max = 2_000;
    let latch = Latch::default();
    let server = start_on(&config, gated(&config, &latch)).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100_000).await;
    let mut play = Play::open(&mut client).await;
    set(&latch, true);
    play.send(1, Some(Call::Spin(bet("s", &account, "0.01")))).await;
    let (tag, late) = play.next().await.unwrap();
    let late = late.unwrap_err();
    assert_eq!((tag, late.code), (1, i32::from(Code::DeadlineExceeded)));
    assert_eq!(facts(&late).2["reason"], "OUTCOME_UNKNOWN");
    set(&latch, false);
    play.send(2, Some(Call::Spin(bet("s", &account, "0.01")))).await;
    let (tag, again) = play.next().await.unwrap();
    assert_eq!((tag, again.unwrap()), (2, client.spin(bet("s", &account, "0.01"), None).await.unwrap()));
    let rounds = ListRoundsRequest { account: Some(account), ..Default::default() };
    assert_eq!(client.ledger.list_rounds(rounds).await.unwrap().into_inner().rounds.len(), 1);
    server.stop().await.unwrap();
}

fn facts(status: &pb::Status) -> (i32, String, BTreeMap<String, String>, Vec<Vec<u8>>) {
    let (info, others): (Vec<_>, Vec<_>) =
        status.details.iter().partition(|detail| detail.type_url.ends_with("ErrorInfo"));
    let mut info = pb::ErrorInfo::decode(info[0].value.as_slice()).unwrap();
    info.metadata.insert("reason".to_owned(), info.reason);
    let metadata = info.metadata.into_iter().collect();
    (status.code, status.message.clone(), metadata, others.into_iter().map(|other| other.value.clone()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_stop_ends_a_stream_after_answering_what_it_took() {
    let data = tempfile::tempdir().unwrap();
    let latch = Latch::default();
    let config = config(data.path());
    let server = start_on(&config, gated(&config, &latch)).await;
    let ledgers = server.ledgers().clone();
    let mut client = Client::connect(server.address()).await;
    let mut accounts: Vec<Account> = vec![];
    for player in 0..100 {
        accounts.push(client.fund(&format!("p{player}"), EUR, 10_000).await);
    }
    let mut play = Play::open(&mut client).await;
    play.send(100, Some(Call::Spin(bet("first", &accounts[0], "0.01")))).await;
    let (_, first) = play.next().await.unwrap();
    first.unwrap();
    settled(&ledgers).await;
    set(&latch, true);
    for (tag, account) in accounts.iter().enumerate().skip(1) {
        play.send(tag as u64, Some(Call::Spin(bet("s", account, "0.01")))).await;
    }
    tokio::task::block_in_place(|| waits(&latch));
    let stopping = tokio::spawn(server.stop());
    let opening = tokio::task::spawn_blocking(move || set(&latch, false));
    let mut answered = BTreeSet::new();
    while let Some((_, played)) = play.next().await {
        answered.insert(played.unwrap().round_id);
    }
    opening.await.unwrap();
    tokio::time::timeout(NEVER, stopping).await.expect("the service stops").unwrap().unwrap();
    let logged = ledgers.all().flat_map(|ledger| commits(ledger, 1));
    let bets = logged.filter(|logged| logged.commit.request_id == "s").count();
    assert!(bets > 0, "the first bets waited for the disk");
    assert_eq!(bets, answered.len(), "every logged bet was answered");
}

async fn watch(client: &Client, pool: &str, coins: &[&str]) -> tonic::Streaming<WatchCountersResponse> {
    let coin_values = coins.iter().map(|coin| (*coin).to_owned()).collect();
    let request = WatchCountersRequest { pool_id: pool.to_owned(), coin_values, currency_code: String::new() };
    in_time(async || client.jackpot.clone().watch_counters(request.clone()).await).await.into_inner()
}

async fn in_time<T>(ask: impl AsyncFn() -> Result<T, Status>) -> T {
    let asking = async {
        loop {
            match ask().await {
                Ok(answer) => break answer,
                Err(status) => assert!(matches!(&*reason(&status), "OUTCOME_UNKNOWN" | "NOT_CURRENT"), "{status:?}"),
            }
        }
    };
    tokio::time::timeout(NEVER, asking).await.expect("the service answers")
}

fn millis(counters: &WatchCountersResponse) -> i64 {
    let time = counters.refresh_time.unwrap();
    time.seconds * 1000 + i64::from(time.nanos) / 1_000_000
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_14_counters_come_at_once_and_at_the_multiples_of_the_refresh() {
    use motherlode_proto::jackpot::v1::{OpenPoolRequest, PoolTerms};
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.limits.request_ms_max = 300;
    let server = start_fresh(&config).await;
    let client = Client::connect(server.address()).await;
    let terms = PoolTerms {
        contribution_ppm: 5_000,
        seed_eur: "1000".into(),
        base_coin: "10".into(),
        refresh_ms: 100,
        ..Default::default()
    };
    let open = OpenPoolRequest { request_id: "o".into(), pool_id: "test".into(), terms: Some(terms) };
    in_time(async || client.jackpot.clone().open_pool(open.clone()).await).await;
    let mut counters = watch(&client, "test", &["0.05", "10"]).await;
    let mut times = vec![];
    let mut position = 0;
    for _ in 0..7 {
        let update = counters.message().await.unwrap().expect("the stream continues");
        let figures: Vec<Nano> = update.counters.iter().map(|counter| counter.figure.parse().unwrap()).collect();
        assert_eq!(figures, [Nano(5_000_000_000), Nano(1_000_000_000_000)]);
        assert!(update.position >= position, "the position never falls");
        position = update.position;
        times.push(millis(&update));
    }
    assert!(times[1..].iter().all(|time| time % 100 == 0), "{times:?}");
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "a refresh arrived twice: {times:?}");
    let stopping = tokio::spawn(server.stop());
    while counters.next().await.is_some() {}
    tokio::time::timeout(NEVER, stopping).await.expect("a stop ends the stream").unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_20_retiring_a_pool_moves_its_increments_and_reserve() {
    use motherlode_proto::jackpot::v1::{
        GetPoolRequest, OpenPoolRequest, PoolStatus, RetirePoolRequest, SuspendPoolRequest,
    };
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 10_000_000).await;
    let pool = |pool_id: &str| GetPoolRequest { pool_id: pool_id.to_owned() };
    let mut terms = client.jackpot.get_pool(pool("bewitched")).await.unwrap().into_inner().pool.unwrap().terms.unwrap();
    terms.seed_eur = "500".into();
    let open = OpenPoolRequest { request_id: "o".into(), pool_id: "heir".into(), terms: Some(terms) };
    client.jackpot.open_pool(open).await.unwrap();
    client.play_out(bet("r", &account, "1.00")).await.unwrap();
    let suspend = SuspendPoolRequest {
        request_id: "s".into(),
        pool_id: "bewitched".into(),
        reason: "the game is closed".into(),
        actor: "ann".into(),
    };
    client.jackpot.suspend_pool(suspend).await.unwrap();
    let of = |name: &str| server.ledger().books(|books| books.pool(name).unwrap().clone());
    settled(server.ledgers()).await;
    let before = of("bewitched");
    assert!(before.contributions.0 == 75_000_000 && (before.cycle > 1 || before.increments.0 == 75_000_000));
    let retire = RetirePoolRequest {
        request_id: "t".into(),
        pool_id: "bewitched".into(),
        into_pool_id: "heir".into(),
        actor: "ann".into(),
    };
    let retired = client.jackpot.retire_pool(retire.clone()).await.unwrap().into_inner().pool.unwrap();
    assert_eq!(retired.status(), PoolStatus::Retired);
    let received = || of("heir").increments == before.increments && of("heir").reserve == before.reserve;
    let mut head = server.ledger().head();
    let wait = head.wait_for(|_| received());
    tokio::time::timeout(NEVER, wait).await.expect("the commit arrives").unwrap();
    let (retired, heir) = (of("bewitched"), of("heir"));
    assert_eq!((retired.increments.0, retired.reserve.0), (0, 0));
    assert!(retired.is_balanced() && heir.is_balanced());
    for ledger in server.ledgers().all() {
        ledger.books(|books| assert!(books.trial_balance().is_empty()));
    }
    client.jackpot.retire_pool(retire).await.expect("a repeated request has no second effect");
    let played = client.play_out(bet("after", &account, "1.00")).await.unwrap().pop().unwrap();
    let round = motherlode_proto::ledger::v1::GetRoundRequest { round_id: played.round_id };
    let round = client.ledger.get_round(round).await.unwrap().into_inner().round.unwrap();
    assert_eq!(round.contribution_eur, "");
    assert_eq!(of("heir").increments, before.increments);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_11_pl_12_no_pool_opens_for_a_game_without_a_jackpot() {
    use motherlode_proto::jackpot::v1::{GetPoolRequest, OpenPoolRequest};
    use tonic_types::StatusExt;
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let pool = |pool_id: &str| GetPoolRequest { pool_id: pool_id.to_owned() };
    let terms = client.jackpot.get_pool(pool("bewitched")).await.unwrap().into_inner().pool.unwrap().terms;
    let mut refused = 0;
    for game in motherlode_slots::latest_games().iter().filter(|game| !game.info().jackpot) {
        let open = OpenPoolRequest { request_id: "o".into(), pool_id: game.name().into(), terms: terms.clone() };
        let status = client.jackpot.open_pool(open).await.unwrap_err();
        assert_eq!((status.code(), reason(&status).as_str()), (Code::InvalidArgument, "INVALID_FIELD"));
        let details = status.get_error_details();
        assert_eq!(details.bad_request().unwrap().field_violations[0].field, "pool_id");
        assert_eq!(client.jackpot.get_pool(pool(game.name())).await.unwrap_err().code(), Code::NotFound);
        refused += 1;
    }
    assert_eq!(refused, 4, "all games without the jackpot refuse to open a pool");
    let open = OpenPoolRequest { request_id: "o".into(), pool_id: "heir".into(), terms };
    client.jackpot.open_pool(open).await.expect("another name is free, and the request id was not used up");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_20_new_terms_wait_for_the_next_cycle() {
    use motherlode_proto::jackpot::v1::{ChangePoolTermsRequest, GetPoolRequest};
    use motherlode_tests::{Force, vials};
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 100_000_000).await;
    let request = GetPoolRequest { pool_id: "bewitched".into() };
    let mut terms = client.jackpot.get_pool(request.clone()).await.unwrap().into_inner().pool.unwrap().terms.unwrap();
    (terms.contribution_ppm, terms.seed_eur) = (2_500, "30000".into());
    let mut out = terms.clone();
    out.contribution_ppm = 10_000;
    let refused = ChangePoolTermsRequest { request_id: "out".into(), pool_id: "bewitched".into(), terms: Some(out) };
    assert_eq!(reason(&client.jackpot.change_pool_terms(refused).await.unwrap_err()), "TERMS_OUT_OF_SPAN");
    let change = ChangePoolTermsRequest { request_id: "c".into(), pool_id: "bewitched".into(), terms: Some(terms) };
    let changed = client.jackpot.change_pool_terms(change).await.unwrap().into_inner().pool.unwrap();
    assert_eq!(changed.terms.unwrap().contribution_ppm, 5_000);
    assert_eq!(changed.pending_terms.as_ref().unwrap().version, 2);
    let contribution = |round_id: String| motherlode_proto::ledger::v1::GetRoundRequest { round_id };
    let mut spin = bet("hit", &account, "1.00");
    spin.stake.as_mut().unwrap().coins_per_line = 10;
    let spun = client.spin(spin, Some(Force::Pick)).await.unwrap();
    let hit = client.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
    let mut last = hit.clone();
    for step in 2.. {
        let Some(choice) = motherlode_tests::next_choice(&last) else { break };
        last = client.choose(&format!("hit.{step}"), &spun.round_id, choice, None).await.unwrap();
    }
    let won = hit.jackpot.unwrap().amount.unwrap().amount_minor;
    assert_eq!(won, 200_007, "the win ends the cycle on the old terms");
    let pool = client.jackpot.get_pool(request).await.unwrap().into_inner().pool.unwrap();
    assert_eq!((pool.cycle, pool.pending_terms.is_none()), (2, true));
    assert_eq!(pool.base_figure_eur.parse(), Ok(Nano(30_000_000_000_000)));
    let after = client.play_out(bet("after", &account, "1.00")).await.unwrap().pop().unwrap();
    let round = client.ledger.get_round(contribution(after.round_id)).await.unwrap().into_inner().round.unwrap();
    assert_eq!(round.contribution_eur, "0.0375", "0.25 % of 15");
    let request = motherlode_proto::spin::v1::GetGameRequest { game: "bewitched".into(), ..Default::default() };
    let game = client.spin.get_game(request).await.unwrap().into_inner();
    let returns = game.jackpot_returns.unwrap();
    assert_eq!((&*game.rtp, &*returns.rtp_min, &*returns.rtp_max), ("0.948500", "0.9485", "0.9510"));
    assert!(returns.assumes.contains("30000 EUR, and it grows by 0.25 %"), "{}", returns.assumes);
    assert_eq!(returns.coins.last().unwrap().rtp, "0.95100000");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_10_pl_12_what_was_refused_takes_no_request_id() -> Result<(), Status> {
    let data = tempfile::tempdir().unwrap();
    let server = start_fresh(&config(data.path())).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1).await;
    let position = client.ledger.get_log_status(GetLogStatusRequest {}).await?.into_inner().position;
    let request = bet("x", &account, "0.01");
    assert_eq!(reason(&client.spin(request.clone(), None).await.unwrap_err()), "INSUFFICIENT_FUNDS");
    assert_eq!(client.ledger.get_log_status(GetLogStatusRequest {}).await?.into_inner().position, position);
    let deposit = motherlode_proto::ledger::v1::DepositRequest {
        request_id: "more".into(),
        account: Some(account),
        amount_minor: 14,
    };
    client.ledger.deposit(deposit).await?;
    assert_eq!(client.spin(request, None).await?.bet.unwrap().amount_minor, 15);
    server.stop().await.unwrap();
    Ok(())
}
