use motherlode_ledger::{Options, Origin};
use motherlode_log::MemoryStore;
use motherlode_proto::{
    ledger::v1::{DepositRequest, GetAccountRequest, SetSwitchRequest, Switch, set_switch_request::State},
    log::v1::{GetHeadRequest, log_service_client::LogServiceClient},
    round::v1::Account,
};
use motherlode_runtime::{Config, config::Role, connect::Credentials};
use motherlode_server::{Server, bind, log_folder, open_stores};
use motherlode_spin::Dealer;
use motherlode_state::{Nano, StreamId};
use motherlode_tests::{
    Client, EUR, Player, audited, bet, config,
    partitions::{balanced, settled},
    pool::POOL,
    reason,
};
use std::{
    collections::BTreeSet,
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tonic::{Code, transport::Channel};
use tonic_health::{
    ServingStatus,
    pb::{HealthCheckRequest, health_client::HealthClient},
};

const NEVER: Duration = Duration::from_secs(120);
pub(crate) const PARTITIONS: u32 = 3;

pub fn shared_stream_key(data: &Path) -> PathBuf {
    let key = data.join("keys").join("stream");
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, "5a".repeat(32)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    key
}

pub(crate) struct Installation {
    pub(crate) configs: [Config; 2],
}

impl Installation {
    pub(crate) fn new(data: &Path) -> (Self, [TcpListener; 2]) {
        let key = shared_stream_key(data);
        let of = |folder: &str, writes: &[u32]| {
            let mut config =
                Config { role: Role::Ledger, partitions: PARTITIONS, data: data.join(folder), ..config(data) };
            config.store.key_file = Some(key.clone());
            config.ledger.write_partitions = writes.iter().copied().collect();
            config.limits.request_ms_max = 60_000;
            config
        };
        let mut configs = [of("a", &[0, 2]), of("b", &[1])];
        let listeners = [bind(&configs[0]).unwrap(), bind(&configs[1]).unwrap()];
        let addresses: Vec<_> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        for config in &mut configs {
            config.ledger.targets = addresses.iter().map(|address| format!("http://{address}")).collect();
        }
        (Self { configs }, listeners)
    }

    pub(crate) async fn start(&self, which: usize, listener: TcpListener) -> Server {
        let config = &self.configs[which];
        let stores = open_stores(config).unwrap();
        let starting = Server::start_on(listener, config, stores, Options::default(), dealer());
        tokio::time::timeout(NEVER, starting)
            .await
            .expect("both processes start, because each serves the partitions that the other lacks")
            .unwrap()
    }

    pub(crate) async fn join(&self, role: Role, data: &Path) -> Server {
        let mut config = Config { role, data: data.to_owned(), ..self.configs[0].clone() };
        config.ledger.write_partitions = BTreeSet::new();
        Server::join(&config, Options::default(), dealer()).await.unwrap()
    }

    fn gathered(&self, data: &Path) {
        for config in self.configs.iter().filter(|config| config.store.url.is_none()) {
            for partition in config.write_partitions() {
                let to = log_folder(data, partition);
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::rename(log_folder(&config.data, partition), to).unwrap();
            }
        }
    }
}

pub(crate) fn dealer() -> Dealer {
    Dealer::from_master([5; 32])
}

pub(crate) fn living_in(partition: u32) -> String {
    let mut names = (0..).map(|number| format!("p{number}"));
    names.find(|name| StreamId::player("acme", name.as_str()).partition(PARTITIONS) == partition).unwrap()
}

async fn head_of(address: SocketAddr, partition: u32) -> Result<u32, String> {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let asked = LogServiceClient::new(channel).get_head(GetHeadRequest { partition }).await;
    asked.map(|head| head.into_inner().partitions).map_err(|status| reason(&status))
}

async fn deposit(client: &mut Client, id: &str, account: &Account) {
    let request = DepositRequest { request_id: id.to_owned(), account: Some(account.clone()), amount_minor: 1_000 };
    client.ledger.deposit(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_09_pl_11_partitions_of_two_processes_are_one_log_to_whoever_calls() {
    let data = tempfile::tempdir().unwrap();
    let (installation, [at_a, at_b]) = Installation::new(data.path());
    let (a, b) = tokio::join!(installation.start(0, at_a), installation.start(1, at_b));
    let spin = installation.join(Role::Spin, &data.path().join("spin")).await;
    let jackpot = installation.join(Role::Jackpot, &data.path().join("jackpot")).await;

    for (server, writes) in [(&a, [0, 2].as_slice()), (&b, &[1])] {
        for partition in 0..PARTITIONS {
            let expected = if writes.contains(&partition) { Ok(PARTITIONS) } else { Err("NOT_THE_WRITER".to_owned()) };
            assert_eq!(head_of(server.address(), partition).await, expected, "partition {partition}");
        }
        assert_eq!(head_of(server.address(), PARTITIONS).await, Err("PARTITION_UNKNOWN".to_owned()));
    }

    let mut clients = [Client::connect(a.address()).await, Client::connect(b.address()).await];
    let mut at_spin = Client::connect(spin.address()).await;
    for partition in 0..PARTITIONS {
        let account = clients[partition as usize % 2].fund(&living_in(partition), EUR, 1_000_000).await;
        for turn in 0..4 {
            let [one, other] = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
            let before = clients[other].balance(&account).await;
            deposit(&mut clients[one], &format!("d{turn}"), &account).await;
            assert_eq!(clients[other].balance(&account).await, before + 1_000);
            let last = at_spin.play_out(bet(&format!("r{turn}"), &account, "0.05")).await.unwrap().pop().unwrap();
            for client in &mut clients {
                assert_eq!(client.balance(&account).await, last.balance.as_ref().unwrap().amount_minor);
            }
        }
    }

    let switch = |id: &str, state| SetSwitchRequest {
        request_id: id.to_owned(),
        switch: Some(Switch { game: "bewitched".to_owned(), ..Switch::default() }),
        state: state as i32,
        reason: "a test".to_owned(),
        actor: "the test".to_owned(),
        preview: false,
    };
    clients[1].ledger.set_switch(switch("off", State::Off)).await.unwrap();
    for partition in 0..PARTITIONS {
        let account = motherlode_tests::account(&living_in(partition), EUR);
        let refused = at_spin.spin(bet("while-off", &account, "0.05"), None).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::FailedPrecondition, "GAME_DISABLED"));
    }
    clients[0].ledger.set_switch(switch("on", State::On)).await.unwrap();
    for partition in 0..PARTITIONS {
        let account = motherlode_tests::account(&living_in(partition), EUR);
        at_spin.play_out(bet("on-again", &account, "0.05")).await.unwrap();
    }

    for server in [&a, &b] {
        settled(server.ledgers()).await;
        balanced(server.ledgers());
        let pooled = server.ledger().books(|books| books.pool(POOL).unwrap().contributions);
        assert_eq!(pooled, "0.05625".parse::<Nano>().unwrap());
    }
    for server in [spin, jackpot, b, a] {
        server.stop().await.unwrap();
    }
    installation.gathered(data.path());
    assert_eq!(audited(data.path(), PARTITIONS as usize).in_transit, Nano::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_while_a_partition_has_no_writer_nothing_is_lost_or_doubled() {
    let data = tempfile::tempdir().unwrap();
    let (installation, [at_a, at_b]) = Installation::new(data.path());
    let (a, mut b) = tokio::join!(installation.start(0, at_a), installation.start(1, at_b));
    let spin = installation.join(Role::Spin, &data.path().join("spin")).await;
    let jackpot = installation.join(Role::Jackpot, &data.path().join("jackpot")).await;
    let mut wallet = Client::connect(a.address()).await;
    let mut players = vec![];
    for partition in 0..PARTITIONS {
        players.push((
            Player::join(&mut wallet, &living_in(partition), "0.05").await,
            Client::connect(spin.address()).await,
        ));
    }
    for _ in 0..3 {
        let playing: Vec<_> = players
            .into_iter()
            .map(|(mut player, mut client)| {
                tokio::spawn(async move {
                    while let Err(status) = player.play_rounds(&mut client, 30).await {
                        assert!(matches!(&*reason(&status), "OUTCOME_UNKNOWN" | "NOT_CURRENT"), "{status:?}");
                    }
                    (player, client)
                })
            })
            .collect();
        let address = b.address();
        b.stop().await.unwrap();
        let listener = bind(&Config { listen: address, ..installation.configs[1].clone() }).unwrap();
        b = installation.start(1, listener).await;
        players = vec![];
        for playing in playing {
            players.push(tokio::time::timeout(NEVER, playing).await.expect("play continues").unwrap());
        }
    }
    for (player, client) in &mut players {
        let mut client = Client { spin: client.spin.clone(), ..wallet.clone() };
        player.check(&mut client).await;
    }
    settled(a.ledgers()).await;
    balanced(a.ledgers());
    drop((players, wallet));
    for server in [spin, jackpot, b, a] {
        server.stop().await.unwrap();
    }
    installation.gathered(data.path());
    assert_eq!(audited(data.path(), PARTITIONS as usize).in_transit, Nano::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_waits_for_the_others_gives_out_what_it_writes_and_refuses_the_rest() {
    let data = tempfile::tempdir().unwrap();
    let (installation, [at_a, at_b]) = Installation::new(data.path());
    let address = at_a.local_addr().unwrap();
    let starting = installation.start(0, at_a);
    let waiting = async {
        assert_eq!(head_of(address, 2).await, Ok(PARTITIONS));
        assert_eq!(head_of(address, 1).await, Err("NOT_THE_WRITER".to_owned()));
        let account = Some(motherlode_tests::account("p0", EUR));
        let mut client = Client::connect(address).await;
        let refused = client.ledger.get_account(GetAccountRequest { account }).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unavailable, "NOT_THE_WRITER"));
        let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        let health = HealthClient::new(channel).check(HealthCheckRequest::default()).await.unwrap();
        assert_eq!(health.into_inner().status, ServingStatus::NotServing as i32);
        installation.start(1, at_b).await
    };
    let (a, b) = tokio::join!(starting, waiting);
    for server in [b, a] {
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_lacks_a_partition_and_knows_of_no_other_process_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let config = Config { partitions: PARTITIONS, ..config(data.path()) };
    let store = Box::new(MemoryStore::new(0));
    let starting = Server::start(&config, store, Options::default(), dealer());
    let refused = tokio::time::timeout(NEVER, starting)
        .await
        .expect("the start fails without waiting")
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("found partitions [0]"), "{refused}");
    let origin = Origin { targets: vec![], credentials: Credentials::default(), partitions: PARTITIONS };
    let index = data.path().join("index");
    let joining = motherlode_ledger::join(origin, 1, &index, Options::default());
    let refused =
        tokio::time::timeout(NEVER, joining).await.expect("the start fails without waiting").err().unwrap().to_string();
    assert!(refused.contains("names no writer of the log"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_the_log_that_is_there_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let (installation, [at_a, at_b]) = Installation::new(data.path());
    let (a, b) = tokio::join!(installation.start(0, at_a), installation.start(1, at_b));
    let mut other =
        Config { role: Role::Spin, partitions: 2, data: data.path().join("x"), ..installation.configs[0].clone() };
    other.ledger.write_partitions = BTreeSet::new();
    let refused = Server::join(&other, Options::default(), dealer()).await.err().unwrap().to_string();
    assert!(refused.contains("log has 3 partitions, but this process is configured for 2"), "{refused}");
    for server in [b, a] {
        server.stop().await.unwrap();
    }
    if installation.configs[0].store.url.is_none() {
        for writes in [vec![0], vec![0, 1], vec![1]] {
            let mut config = installation.configs[0].clone();
            config.ledger.write_partitions = writes.into_iter().collect();
            let refused = open_stores(&config).err().unwrap().to_string();
            assert!(refused.contains("0, 2"), "{refused}");
        }
    }
    drop(open_stores(&installation.configs[0]).unwrap());
}
