use super::{
    json,
    scripted::Wallet,
    world::{World, serve},
};
use crate::PROGRAM;
use motherlode_proto::{ledger::v1::OpenAccountRequest, round::v1::Account};
use motherlode_runtime::{Config, connect::connect};
use motherlode_testkit::sim::Chance;
use motherlode_tests::{
    Client, Process, account, bet, config,
    operators::{NEW_YEAR_MS, operator, token},
    reason,
};
use std::{
    env, fs,
    net::SocketAddr,
    sync::{Arc, Mutex, atomic::AtomicI64},
    time::Duration,
};
use tokio::{net::TcpListener, runtime::Runtime, task::JoinHandle, time::sleep};

/// Default number of random schedules of faults and kills; `tests/run wallet` tests more.
const SCHEDULES: u64 = 3;
const PLAYERS: usize = 4;
const ROUNDS: usize = 6;
const KILLS: usize = 3;
const FUNDS: i64 = 1_000;

struct Killable {
    wallet: Wallet,
    address: SocketAddr,
    json: bool,
    life: Option<Runtime>,
}

impl Killable {
    fn start(wallet: Wallet, address: SocketAddr, json: bool) -> Self {
        let life = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let serving = wallet.clone();
        let (bound, listens) = std::sync::mpsc::channel();
        life.spawn(async move {
            let listener = loop {
                match TcpListener::bind(address).await {
                    Ok(listener) => break listener,
                    Err(_) => sleep(Duration::from_millis(5)).await,
                }
            };
            bound.send(listener.local_addr().unwrap()).unwrap();
            match json {
                true => json::serve_on(listener, &serving, None),
                false => serving.serve_on(listener),
            }
            .await
            .unwrap();
        });
        Self { wallet, address: listens.recv().unwrap(), json, life: Some(life) }
    }

    fn kill(&mut self) {
        self.life.take().unwrap().shutdown_background();
        *self = Self::start(self.wallet.clone(), self.address, self.json);
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        if let Some(life) = self.life.take() {
            life.shutdown_background();
        }
    }
}

async fn play(name: String, at: Arc<Mutex<SocketAddr>>) {
    let account: Account = account(&name, "EUR");
    let mut client: Option<Client> = None;
    for number in 0..ROUNDS {
        loop {
            let address = *at.lock().unwrap();
            if client.is_none() {
                let (target, shown) = (format!("http://{address}"), token("acme"));
                client = connect(&target, &shown, Some(Duration::from_secs(3))).await.ok().map(Client::on);
            }
            let Some(connected) = &mut client else {
                sleep(Duration::from_millis(5)).await;
                continue;
            };
            match connected.play_out(bet(&format!("r{number}"), &account, "0.10")).await {
                Ok(_) => break,
                Err(status) => match reason(&status).as_str() {
                    "INSUFFICIENT_FUNDS" | "DEBIT_ROLLED_BACK" => break,
                    _ => {
                        client = client.filter(|_| *at.lock().unwrap() == address && !reason(&status).is_empty());
                        sleep(Duration::from_millis(5)).await;
                    }
                },
            }
        }
    }
}

async fn schedule(seed: u64) {
    let mut chance = Chance(seed);
    let wallet = Wallet::default();
    let in_json = seed.is_multiple_of(2);
    let mut killable = Killable::start(wallet.clone(), ([127, 0, 0, 1], 0).into(), in_json);
    let data = tempfile::tempdir().unwrap();
    let key = data.path().join("wallet.key");
    fs::write(&key, format!("{}\n", json::KEY)).unwrap();
    let url = format!("http://{}", killable.address);
    let face = match in_json {
        true => json::settings(&url).replace("KEY_FILE", &key.display().to_string()),
        false => format!("url = \"{url}\""),
    };
    let seamless = format!(
        "wallet = \"seamless\"\nseamless = {{ {face}, answer_ms_max = 50, debit_ms_max = 300, overdue_ms = 60000 }}\n\
         [[operators.credentials]]"
    );
    let roles = r#"["play", "wallet", "support", "audit"]"#;
    let text = operator("acme", &[("acme", roles)]).replacen("[[operators.credentials]]", &seamless, 1);
    let file = data.path().join("config.toml");
    fs::write(&file, &text).unwrap();
    let log = data.path().join("data");
    let mut process = Process::start(PROGRAM, &log, Some(&file));
    let at = Arc::new(Mutex::new(process.address));
    let connection = connect(&format!("http://{}", process.address), &token("acme"), None).await.unwrap();
    let mut client = Client::on(connection);
    let names: Vec<_> = (0..PLAYERS).map(|number| format!("p{number}")).collect();
    for name in &names {
        wallet.fund(name, FUNDS);
        let open = OpenAccountRequest { request_id: "open".into(), account: Some(account(name, "EUR")) };
        client.ledger.open_account(open).await.unwrap();
    }
    wallet.books().random = Some((chance.below(40), Chance(seed ^ 0xFA17)));
    let players: Vec<JoinHandle<()>> =
        names.iter().map(|name| tokio::spawn(play(name.clone(), Arc::clone(&at)))).collect();
    for _ in 0..KILLS {
        let until = wallet.books().calls + 1 + chance.below(12);
        while wallet.books().calls < until && !players.iter().all(JoinHandle::is_finished) {
            sleep(Duration::from_millis(1)).await;
        }
        if chance.below(3) < 2 {
            process.kill();
            process = Process::start(PROGRAM, &log, Some(&file));
            *at.lock().unwrap() = process.address;
        } else {
            killable.kill();
        }
    }
    for player in players {
        tokio::time::timeout(Duration::from_secs(600), player).await.expect("all players finish").unwrap();
    }
    process.kill();
    wallet.script(&[]);
    let operators = Config::parse(&text).unwrap().operators;
    let base = config(&log);
    let config = Config { operators, partitions: 1, store: Default::default(), ..base };
    let clock = Arc::new(AtomicI64::new(NEW_YEAR_MS.max(now_ms() + 3_600_000)));
    let server = serve(&config, &clock).await;
    let world = World { server, wallet: wallet.clone(), clock, config, log, data };
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    world.reconciled(&names).await;
    for name in names {
        let moved: i64 = wallet.applied(name);
        assert_eq!(wallet.balance(name), FUNDS + moved, "{name}");
    }
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

fn asked(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_pl_32_random_faults_and_kills_leave_wallet_and_log_equal_to_the_last_unit() {
    let first = asked("MOTHERLODE_WALLET_SEED", 1);
    for seed in first..first + asked("MOTHERLODE_WALLET_SCHEDULES", SCHEDULES) {
        let ended = tokio::spawn(schedule(seed)).await;
        assert!(ended.is_ok(), "the schedule of MOTHERLODE_WALLET_SEED={seed} failed, see above");
        println!("schedule of seed {seed}: wallet and log agree");
    }
}
