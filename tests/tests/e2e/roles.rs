use motherlode_ledger::{DrawKeys, Options, Standing, Stores};
use motherlode_log::MemoryStore;
use motherlode_proto::{
    jackpot::v1::GetPoolRequest,
    ledger::v1::DepositRequest,
    log::v1::{
        FollowRecordsRequest, GetHeadRequest, ProposeRequest, ReadRecordsRequest, log_service_client::LogServiceClient,
    },
    round::v1::RoundState,
    spin::v1::{OpenSessionRequest, SpinRequest},
};
use motherlode_runtime::{Config, config::Role};
use motherlode_server::Server;
use motherlode_spin::Dealer;
use motherlode_tests::{Cable, Client, EUR, Player, bet, checked, config, reason, whole};
use std::{net::SocketAddr, path::Path, time::Duration};
use tonic::{Code, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

const SPIN: &str = "motherlode.spin.v1.SpinService";
const LEDGER: &str = "motherlode.ledger.v1.LedgerService";
const JACKPOT: &str = "motherlode.jackpot.v1.JackpotService";
const LOG: &str = "motherlode.log.v1.LogService";

const NEVER: Duration = Duration::from_secs(120);

fn dealer() -> Dealer {
    Dealer::from_master([9; 32])
}

async fn ledger_on(config: &Config, stores: impl Into<Stores>) -> Server {
    let config = Config { role: Role::Ledger, ..config.clone() };
    Server::start(&config, whole(&config, stores), Options::default(), dealer()).await.unwrap()
}

async fn join(role: Role, data: &Path, ledger: SocketAddr) -> Server {
    let mut config = Config { role, data: data.to_owned(), ..config(data) };
    config.ledger.targets = vec![format!("http://{ledger}")];
    Server::join(&config, Options::default(), dealer()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a7_a_spin_process_that_is_older_than_the_draw_keys_joins_their_writer() {
    let folder = tempfile::tempdir().unwrap();
    let [data, spin, keys] = ["data", "spin", "draws"].map(|name| folder.path().join(name));
    let open = || Dealer::from_keys(DrawKeys::open(&keys).unwrap());
    let older = open();
    let written = Config { role: Role::Ledger, ..config(&data) };
    let stores = whole(&written, Box::new(MemoryStore::new(0)));
    let ledger = Server::start(&written, stores, Options::default(), open()).await.unwrap();
    let mut joined = Config { role: Role::Spin, data: spin, ..written };
    joined.ledger.targets = vec![format!("http://{}", ledger.address())];
    let spins = Server::join(&joined, Options::default(), older).await.unwrap();
    let account = Client::connect(ledger.address()).await.fund("alice", EUR, 15).await;
    Client::connect(spins.address()).await.spin(bet("r", &account, "0.01"), None).await.unwrap();
    spins.stop().await.unwrap();
    ledger.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_what_one_process_acknowledged_is_true_at_every_other_at_once() {
    let data = tempfile::tempdir().unwrap();
    let ledger = ledger_on(&config(data.path()), Box::new(MemoryStore::new(0))).await;
    let spins = [
        join(Role::Spin, &data.path().join("a"), ledger.address()).await,
        join(Role::Spin, &data.path().join("b"), ledger.address()).await,
    ];
    let jackpot = join(Role::Jackpot, &data.path().join("j"), ledger.address()).await;
    let mut at_ledger = Client::connect(ledger.address()).await;
    let mut at_spins = [Client::connect(spins[0].address()).await, Client::connect(spins[1].address()).await];
    let account = at_ledger.fund("alice", EUR, 15).await;
    // The balance covers each bet only after the preceding deposit, which the spin process may not have read yet.
    for round in 0..100 {
        let bet = bet(&format!("r{round}"), &account, "0.01");
        let played = at_spins[round % 2].spin(bet, None).await.unwrap();
        let mut last = played;
        let mut step = 0;
        while let Some(choice) = motherlode_tests::next_choice(&last) {
            step += 1;
            let id = format!("r{round}.{step}");
            last = at_spins[(round + step) % 2].choose(&id, &last.round_id, choice, None).await.unwrap();
        }
        let balance = at_ledger.balance(&account).await;
        assert_eq!(last.balance.unwrap().amount_minor, balance, "the ledger has the round's balance");
        if balance < 15 {
            let request_id = format!("d{round}");
            let request = DepositRequest { request_id, account: Some(account.clone()), amount_minor: 15 - balance };
            at_ledger.ledger.deposit(request).await.unwrap();
        }
    }
    let pooled = || ledger.ledger().books(|books| books.pending_contributions("bewitched", 0, u64::MAX).0 == 0);
    let mut head = ledger.ledger().head();
    tokio::time::timeout(NEVER, async {
        while !pooled() {
            head.changed().await.unwrap();
        }
    })
    .await
    .expect("all contributions are pooled");
    let pool = GetPoolRequest { pool_id: "bewitched".to_owned() };
    Client::connect(jackpot.address()).await.jackpot.get_pool(pool).await.unwrap();
    for server in spins.into_iter().chain([jackpot, ledger]) {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_play_goes_on_over_restarts_of_the_ledger_and_each_request_has_one_effect() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    let store = motherlode_server::open_stores(&config).unwrap();
    let mut ledger = ledger_on(&config, store).await;
    config.listen = ledger.address();
    let spin = join(Role::Spin, &data.path().join("spin"), ledger.address()).await;
    let jackpot = join(Role::Jackpot, &data.path().join("jackpot"), ledger.address()).await;
    let mut at_ledger = Client::connect(ledger.address()).await;
    let mut player = Player::join(&mut at_ledger, "alice", "0.05").await;
    let mut at_spin = Client::connect(spin.address()).await;
    for _ in 0..3 {
        let playing = tokio::spawn(async move {
            while let Err(status) = player.play_rounds(&mut at_spin, 50).await {
                assert!(matches!(&*reason(&status), "OUTCOME_UNKNOWN" | "NOT_CURRENT"), "{status:?}");
            }
            (player, at_spin)
        });
        ledger.stop().await.unwrap();
        let store = motherlode_server::open_stores(&config).unwrap();
        ledger = ledger_on(&config, store).await;
        (player, at_spin) = tokio::time::timeout(NEVER, playing).await.expect("play continues").unwrap();
    }
    let mut at_both = Client::connect(ledger.address()).await;
    at_both.spin = at_spin.spin.clone();
    player.check(&mut at_both).await;
    for server in [spin, jackpot, ledger] {
        server.stop().await.unwrap();
    }
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_over_at_a_spin_process_that_did_not_open_it_and_its_round_is_open_at_every_one() {
    let data = tempfile::tempdir().unwrap();
    let ledger = ledger_on(&config(data.path()), Box::new(MemoryStore::new(0))).await;
    let spins = [
        join(Role::Spin, &data.path().join("a"), ledger.address()).await,
        join(Role::Spin, &data.path().join("b"), ledger.address()).await,
    ];
    let account = Client::connect(ledger.address()).await.fund("alice", EUR, 100_000).await;
    let [mut here, mut there] = [Client::connect(spins[0].address()).await, Client::connect(spins[1].address()).await];
    let open = |request_id: &str| OpenSessionRequest {
        request_id: request_id.to_owned(),
        account: Some(account.clone()),
        game: "bewitched".to_owned(),
        ..OpenSessionRequest::default()
    };
    let opened = here.spin.open_session(open("here")).await.unwrap().into_inner();
    let bet_in = |session_id: &str, number| {
        let session_id = session_id.to_owned();
        SpinRequest { session_id, ..bet(&format!("r{number}"), &account, "0.01") }
    };
    let mut number = 0;
    let waiting = loop {
        number += 1;
        let played = here.spin(bet_in(&opened.session_id, number), None).await.unwrap();
        if played.state() == RoundState::Open {
            break played;
        }
    };
    let refused = there.spin(bet_in(&opened.session_id, number + 1), None).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::FailedPrecondition, "SESSION_EXPIRED"));
    let again = there.spin.open_session(open("there")).await.unwrap().into_inner();
    assert_eq!(again.open_round.unwrap().round_id, waiting.round_id);
    let mut last = waiting;
    while let Some(choice) = motherlode_tests::next_choice(&last) {
        last = there.choose(&format!("c{}", last.step), &last.round_id, choice, None).await.unwrap();
    }
    there.spin(bet_in(&again.session_id, number + 1), None).await.unwrap();
    for server in spins.into_iter().chain([ledger]) {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_replica_that_was_cut_off_takes_up_what_it_missed() {
    let data = tempfile::tempdir().unwrap();
    let ledger = ledger_on(&config(data.path()), Box::new(MemoryStore::new(0))).await;
    let cable = Cable::to(ledger.address()).await;
    let cut_off = join(Role::Spin, &data.path().join("a"), cable.address).await;
    let spin = join(Role::Spin, &data.path().join("b"), ledger.address()).await;
    let jackpot = join(Role::Jackpot, &data.path().join("j"), ledger.address()).await;
    let account = Client::connect(ledger.address()).await.fund("alice", EUR, 100_000).await;
    cable.cut();
    let mut at_spin = Client::connect(spin.address()).await;
    for round in 0..20 {
        at_spin.play_out(bet(&format!("r{round}"), &account, "0.01")).await.unwrap();
    }
    let pooled = || ledger.ledger().books(|books| books.pending_contributions("bewitched", 0, u64::MAX).0 == 0);
    let mut head = ledger.ledger().head();
    let pooling = async {
        while !pooled() {
            head.changed().await.unwrap();
        }
    };
    tokio::time::timeout(NEVER, pooling).await.expect("all contributions are pooled");
    cable.mend();
    let mut at_cut_off = Client::connect(cut_off.address()).await;
    let playing = async {
        while let Err(status) = at_cut_off.play_out(bet("after", &account, "0.01")).await {
            assert_eq!(reason(&status), "NOT_CURRENT", "{status:?}");
            let standing = cut_off.ledger().standing();
            assert!(!matches!(*standing.borrow(), Standing::Failed(_)), "the replica must not fail");
        }
    };
    tokio::time::timeout(NEVER, playing).await.expect("the player continues");
    for server in [cut_off, spin, jackpot, ledger] {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_serves_what_its_role_says_and_its_health_says_the_same() {
    let data = tempfile::tempdir().unwrap();
    let ledger = ledger_on(&config(data.path()), Box::new(MemoryStore::new(0))).await;
    let spin = join(Role::Spin, &data.path().join("spin"), ledger.address()).await;
    let jackpot = join(Role::Jackpot, &data.path().join("jackpot"), ledger.address()).await;
    for (server, served) in [(&ledger, &[LEDGER, JACKPOT, LOG][..]), (&spin, &[SPIN]), (&jackpot, &[JACKPOT])] {
        let channel = Channel::from_shared(format!("http://{}", server.address())).unwrap().connect().await.unwrap();
        let mut health = HealthClient::new(channel);
        for service in [SPIN, LEDGER, JACKPOT, LOG] {
            let answer = health.check(HealthCheckRequest { service: service.to_owned() }).await;
            assert_eq!(answer.is_ok(), served.contains(&service), "{service} of {served:?}");
        }
        let mut client = Client::connect(server.address()).await;
        let pool = client.jackpot.get_pool(GetPoolRequest { pool_id: "bewitched".to_owned() }).await;
        match served.contains(&JACKPOT) {
            true => drop(pool.unwrap()),
            false => assert_eq!(pool.unwrap_err().code(), Code::Unimplemented),
        }
    }
    for server in [spin, jackpot, ledger] {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_the_log_is_read_record_by_record_and_what_is_not_there_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let ledger = ledger_on(&config(data.path()), Box::new(MemoryStore::new(0))).await;
    let mut client = Client::connect(ledger.address()).await;
    for player in 0..10 {
        client.fund(&format!("p{player}"), EUR, 100).await;
    }
    let end = ledger.ledger().durable();
    let channel = Channel::from_shared(format!("http://{}", ledger.address())).unwrap().connect().await.unwrap();
    let mut log = LogServiceClient::new(channel);
    let head = log.get_head(GetHeadRequest { partition: 0 }).await.unwrap().into_inner();
    let read = |from_position, records_max| ReadRecordsRequest { from_position, records_max, ..Default::default() };
    let all = log.read_records(read(1, 0)).await.unwrap().into_inner().records;
    assert_eq!((head.position, all.len() as u64), (end, end));
    assert_eq!(motherlode_log::hash(all.last().unwrap()).to_vec(), head.hash);
    assert_eq!(log.read_records(read(3, 2)).await.unwrap().into_inner().records, all[2..4]);
    assert!(log.read_records(read(end + 1, 0)).await.unwrap().into_inner().records.is_empty());
    let mut follow =
        log.follow_records(FollowRecordsRequest { partition: 0, after_position: end - 2 }).await.unwrap().into_inner();
    client.fund("late", EUR, 100).await;
    let mut next = end - 1;
    while next < end + 3 {
        let message =
            tokio::time::timeout(NEVER, follow.message()).await.expect("the record arrives").unwrap().unwrap();
        assert_eq!(message.first_position, next, "dense");
        next += message.records.len() as u64;
    }
    let ahead = FollowRecordsRequest { partition: 0, after_position: 1_000 };
    assert_eq!(reason(&log.follow_records(ahead).await.unwrap_err()), "POSITION_AHEAD");
    let elsewhere = [
        log.get_head(GetHeadRequest { partition: 7 }).await.unwrap_err(),
        log.read_records(ReadRecordsRequest { partition: 7, ..Default::default() }).await.unwrap_err(),
        log.follow_records(FollowRecordsRequest { partition: 7, after_position: 0 }).await.unwrap_err(),
    ];
    assert!(elsewhere.iter().all(|status| reason(status) == "PARTITION_UNKNOWN"), "{elsewhere:?}");
    let message = ProposeRequest { partition: 7, proposals: vec![] };
    let mut verdicts = log.propose(tokio_stream::iter([message])).await.unwrap().into_inner();
    assert_eq!(reason(&verdicts.message().await.unwrap_err()), "PARTITION_UNKNOWN");
    ledger.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_replica_takes_up_nothing_that_does_not_continue_its_log() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    let first = ledger_on(&config, Box::new(MemoryStore::new(0))).await;
    config.listen = first.address();
    let spin = join(Role::Spin, &data.path().join("spin"), first.address()).await;
    Client::connect(first.address()).await.fund("alice", EUR, 100).await;
    let mut at_spin = Client::connect(spin.address()).await;
    let account = motherlode_tests::account("alice", EUR);
    at_spin.spin(bet("r", &account, "0.01"), None).await.unwrap();
    let held = spin.ledger().durable();
    first.stop().await.unwrap();
    config.data = data.path().join("other");
    let other = ledger_on(&config, Box::new(MemoryStore::new(0))).await;
    let mut at_other = Client::connect(other.address()).await;
    for player in 0..10 {
        at_other.fund(&format!("p{player}"), EUR, 100).await;
    }
    tokio::time::timeout(NEVER, spin.failed()).await.expect("the spin process stops");
    let refused = at_spin.spin(bet("s", &account, "0.01"), None).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::Unavailable, "NOT_CURRENT"), "{refused:?}");
    assert_eq!(spin.ledger().durable(), held);
    for server in [spin, other] {
        server.stop().await.unwrap();
    }
}
