use super::{
    DEBIT_MS, facts, json,
    scripted::{End, Wallet},
};
use motherlode_ledger::Options;
use motherlode_proto::{ledger::v1::OpenAccountRequest, round::v1::Account};
use motherlode_runtime::{Config, config::Store, connect::connect};
use motherlode_server::open_stores;
use motherlode_state::{Account as Books, Currency, Event, StreamId};
use motherlode_tests::{
    Client, Server, audited, commits, config,
    operators::{NEW_YEAR_MS, operator, token},
    start_with,
};
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

pub struct World {
    pub server: Server,
    pub wallet: Wallet,
    pub clock: Arc<AtomicI64>,
    pub config: Config,
    pub log: PathBuf,
    pub data: tempfile::TempDir,
}

impl World {
    pub async fn start() -> Self {
        let wallet = Wallet::default();
        let (address, _) = wallet.serve().await;
        Self::with(wallet, &format!("url = \"http://{address}\"")).await
    }

    pub async fn start_json() -> Self {
        let wallet = Wallet::default();
        let address = json::serve(&wallet, None).await;
        Self::with(wallet, &json::settings(&format!("http://{address}"))).await
    }

    pub async fn both() -> [Self; 2] {
        [Self::start().await, Self::start_json().await]
    }

    /// Starts a service with the wallet settings `of_wallet`, in which `KEY_FILE` is replaced by the signing key's
    /// path.
    pub async fn with(wallet: Wallet, of_wallet: &str) -> Self {
        Self::new(wallet, of_wallet, |config| config).await
    }

    pub async fn in_folder(partitions: u32) -> Self {
        let wallet = Wallet::default();
        let (address, _) = wallet.serve().await;
        let change = |config| Config { store: Store::default(), partitions, ..config };
        Self::new(wallet, &format!("url = \"http://{address}\""), change).await
    }

    async fn new(wallet: Wallet, of_wallet: &str, change: impl FnOnce(Config) -> Config) -> Self {
        let data = tempfile::tempdir().unwrap();
        let key = data.path().join("wallet.key");
        fs::write(&key, format!("{}\n", json::KEY)).unwrap();
        let of_wallet = of_wallet.replace("KEY_FILE", &key.display().to_string());
        let answer_max = if of_wallet.contains("answer_ms_max") { "" } else { "answer_ms_max = 200, " };
        let seamless = format!(
            "wallet = \"seamless\"\nseamless = {{ {answer_max}debit_ms_max = {DEBIT_MS}, overdue_ms = 60000, \
             {of_wallet} }}\n[[operators.credentials]]"
        );
        let acme = operator("acme", &[("acme", ALL)]).replacen("[[operators.credentials]]", &seamless, 1);
        let platform = operator("platform", &[("platform", r#"["admin", "audit"]"#)]);
        let text = acme + &operator("other", &[("other", ALL)]) + &platform;
        let config = change(config(data.path()));
        let config = Config { operators: Config::parse(&text).unwrap().operators, ..config };
        let clock = Arc::new(AtomicI64::new(NEW_YEAR_MS));
        let server = serve(&config, &clock).await;
        Self { server, wallet, clock, config, log: data.path().to_owned(), data }
    }

    pub async fn restart(self) -> Self {
        self.server.stop().await.unwrap();
        let server = serve(&self.config, &self.clock).await;
        Self { server, ..self }
    }

    pub async fn client(&self, of: &str) -> Client {
        let target = format!("http://{}", self.server.address());
        Client::on(connect(&target, &token(of), None).await.unwrap())
    }

    pub async fn player(&self, client: &mut Client, name: &str, amount: i64) -> Account {
        let account = motherlode_tests::account(name, "EUR");
        self.wallet.fund(name, amount);
        let open = OpenAccountRequest { request_id: "open".into(), account: Some(account.clone()) };
        client.ledger.open_account(open).await.unwrap();
        account
    }

    pub async fn settled(&self, players: &[&str]) {
        let busy = || {
            let players = players.iter().map(|name| StreamId::player("acme", *name));
            let ledgers = self.server.ledgers();
            players.into_iter().any(|stream| {
                let player = ledgers.for_stream(&stream).unwrap().player(&stream).unwrap().unwrap();
                player.wallet().is_some_and(motherlode_state::Wallet::is_busy)
            })
        };
        until(|| !busy(), "all credits are paid").await;
    }

    pub async fn reconciled(self, players: &[&str]) {
        self.settled(players).await;
        for name in players {
            let stream = StreamId::player("acme", *name);
            let (mut debits, mut credits, mut charged) = (0, 0, 0);
            let ledger = self.server.ledgers().for_stream(&stream).unwrap();
            let all: Vec<_> = commits(ledger, 1).collect();
            facts::reconcile(&self.wallet, &all, name);
            for logged in all.iter().filter(|logged| logged.commit.stream == stream) {
                for event in &logged.commit.events {
                    match event {
                        Event::RoundStarted(started) => charged += started.charged().0,
                        Event::DebitConfirmed { amount, .. } if amount.0 > 0 => {
                            debits += amount.0;
                            let id = format!("debit/acme/{name}/{}", logged.commit.request_id);
                            assert_eq!(self.wallet.end(&id), Some(End::Applied), "{id}");
                        }
                        Event::CreditPaid { request_id, currency, amount, .. } => {
                            credits += amount.0;
                            let id = format!("credit/acme/{name}/{currency}/{request_id}");
                            assert_eq!(self.wallet.end(&id), Some(End::Applied), "{id}");
                        }
                        Event::ReversalTaken { request_id, currency, amount, .. } => {
                            credits -= amount.0;
                            let id = format!("reversal/acme/{name}/{currency}/{request_id}");
                            assert_eq!(self.wallet.end(&id), Some(End::Applied), "{id}");
                        }
                        Event::DebitRolledBack => {
                            let request_id = &logged.commit.request_id;
                            let ends = ["debit", "open"]
                                .map(|kind| self.wallet.end(&format!("{kind}/acme/{name}/{request_id}")));
                            assert!(ends.contains(&Some(End::RolledBack)), "{request_id}");
                        }
                        _ => {}
                    }
                }
            }
            assert_eq!(debits, charged, "{name}: each stake was debited, and nothing else");
            let books = self.wallet.books();
            let applied =
                books.transactions.values().filter(|entry| entry.player == *name && entry.end == End::Applied);
            assert_eq!(
                applied.map(|entry| entry.amount).sum::<i64>(),
                credits - debits,
                "{name}: the wallet moved more or less than the debits and credits"
            );
        }
        let transit = self.server.holding(Books::Transit("acme"), Currency::EUR);
        assert_eq!(transit, 0, "the transit account must be zero");
        let Self { server, config, log, data: _data, .. } = self;
        server.stop().await.unwrap();
        audited(&log, usize::try_from(config.partitions).unwrap());
    }
}

pub async fn serve(config: &Config, clock: &Arc<AtomicI64>) -> Server {
    let time = Arc::clone(clock);
    let options = Options::on_clock(move || time.load(Ordering::SeqCst));
    start_with(config, open_stores(config).unwrap(), options).await
}

pub async fn until(done: impl Fn() -> bool, what: &str) {
    let wait = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap_or_else(|_| panic!("{what}"));
}
