//! If `MOTHERLODE_TESTS_WALLET` is `seamless` (`tests/run seamless`), this process serves a wallet for each operator, and
//! the tests' client deposits into that wallet. Each test then needs a separate process (nextest).

use motherlode_ledger::Ledgers;
use motherlode_proto::{
    round::v1::{Account, Money},
    wallet::v1::{
        CloseRoundRequest, CloseRoundResponse, CreditRequest, CreditResponse, DebitRequest, DebitResponse,
        GetBalanceRequest, GetBalanceResponse, OpenFreeRoundRequest, OpenFreeRoundResponse, Outcome,
        Result as WalletResult, RollbackRequest, RollbackResponse,
        wallet_service_server::{WalletService, WalletServiceServer},
    },
};
use motherlode_runtime::{
    Config,
    config::{Operator, PLATFORM},
};
use motherlode_state::{StreamId, Wallet as UnderWay};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc},
    thread,
    time::Duration,
};
use tokio::{net::TcpListener, time::sleep};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

static WALLET: OnceLock<Wallet> = OnceLock::new();

#[must_use]
pub fn is_on() -> bool {
    env::var("MOTHERLODE_TESTS_WALLET").is_ok_and(|kind| kind == "seamless")
}

pub(crate) fn give_wallets(config: &mut Config) {
    if !is_on() {
        return;
    }
    let wallet = wallet();
    // Reports of round ends are off, because they would add commits, which many tests count.
    let seamless =
        format!("wallet = \"seamless\"\nseamless = {{ url = \"http://{}\", close_rounds = false }}\n", wallet.address);
    let of = |id: &str| parsed(&format!("[[operators]]\nid = \"{id}\"\n{seamless}"));
    if config.operators.is_empty() {
        config.wallets_beside = vec![of("acme")];
    }
    let given = of("any");
    for operator in
        config.operators.iter_mut().chain(&mut config.wallets_beside).filter(|operator| operator.id != PLATFORM)
    {
        if operator.seamless.is_none() {
            (operator.wallet, operator.seamless) = (given.wallet, given.seamless.clone());
        }
        wallet.books().operators.insert(operator.id.clone());
    }
}

fn parsed(text: &str) -> Operator {
    let config = Config::parse(text).expect("the operator is valid");
    config.operators.into_iter().next().expect("the operator has a name")
}

#[must_use]
pub fn keeps(account: &Account) -> bool {
    let play_money = account.currency_code == "XTS";
    is_on() && !play_money && wallet().books().operators.contains(&account.operator_id)
}

pub(crate) fn fund(account: &Account, minor: i64) {
    *wallet().books().balances.entry(key(account)).or_default() += minor;
}

pub(crate) async fn balance(account: &Account) -> i64 {
    settled(account).await;
    wallet().books().balances.get(&key(account)).copied().unwrap_or_default()
}

pub async fn settled(account: &Account) {
    if !is_on() {
        return;
    }
    let stream = StreamId::player(&*account.operator_id, &*account.player_id);
    let busy = || {
        let services = wallet().books().services.clone();
        services.values().any(|ledgers| {
            let player = ledgers.for_stream(&stream).ok().and_then(|ledger| ledger.player(&stream).ok().flatten());
            player.is_some_and(|player| player.wallet().is_some_and(UnderWay::is_busy))
        })
    };
    let wait = async {
        while busy() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.expect("all credits are paid");
}

pub(crate) struct Running(Option<u64>);

impl Running {
    pub(crate) fn begin(ledgers: &Ledgers) -> Self {
        if !is_on() {
            return Self(None);
        }
        let mut books = wallet().books();
        books.begun += 1;
        let number = books.begun;
        books.services.insert(number, ledgers.clone());
        Self(Some(number))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            wallet().books().services.remove(&number);
        }
    }
}

fn wallet() -> &'static Wallet {
    WALLET.get_or_init(Wallet::serve)
}

#[derive(Clone)]
struct Wallet {
    address: SocketAddr,
    books: Arc<Mutex<Books>>,
}

type Key = (String, String, String);

#[derive(Default)]
struct Books {
    operators: BTreeSet<String>,
    balances: BTreeMap<Key, i64>,
    transactions: BTreeMap<String, Option<i64>>,
    services: BTreeMap<u64, Ledgers>,
    begun: u64,
}

impl Wallet {
    /// Serves on a separate thread, because a test's thread may block.
    fn serve() -> Self {
        let (bound, listens) = mpsc::channel();
        let books = Arc::new(Mutex::new(Books::default()));
        let shared = Arc::clone(&books);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
                let address = listener.local_addr().expect("the listener has an address");
                let service = WalletServiceServer::new(Self { address, books: shared });
                bound.send(address).expect("somebody waits");
                let server = Server::builder().tcp_nodelay(true).add_service(service);
                server.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("the wallet serves");
            });
        });
        Self { address: listens.recv().expect("the wallet listens"), books }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, id: String, account: &Account, amount: i64) -> WalletResult {
        let mut books = self.books();
        let balance = books.balances.get(&key(account)).copied().unwrap_or_default();
        let (outcome, after, reason) = match books.transactions.get(&id) {
            Some(Some(_)) => (Outcome::DoneBefore, balance, ""),
            Some(None) => (Outcome::Refused, balance, "ROLLED_BACK"),
            None if balance + amount < 0 => (Outcome::Refused, balance, "INSUFFICIENT_FUNDS"),
            None => (Outcome::Done, balance + amount, ""),
        };
        books.balances.insert(key(account), after);
        if outcome != Outcome::DoneBefore {
            books.transactions.insert(id, (outcome == Outcome::Done).then_some(amount));
        }
        WalletResult {
            outcome: outcome.into(),
            balance_minor: Some(after),
            reason: reason.to_owned(),
            ..WalletResult::default()
        }
    }

    fn roll_back(&self, id: String, account: &Account) -> WalletResult {
        let mut books = self.books();
        let moved = books.transactions.insert(id, None).flatten().unwrap_or_default();
        let balance = books.balances.entry(key(account)).or_default();
        *balance -= moved;
        WalletResult { outcome: Outcome::Done.into(), balance_minor: Some(*balance), ..WalletResult::default() }
    }
}

fn key(account: &Account) -> Key {
    let Account { operator_id, player_id, currency_code } = account.clone();
    (operator_id, player_id, currency_code)
}

fn of(account: Option<Account>, amount: Option<Money>) -> Result<(Account, i64), Status> {
    let missing = || Status::invalid_argument("account or amount is missing");
    Ok((account.ok_or_else(missing)?, amount.ok_or_else(missing)?.amount_minor))
}

#[tonic::async_trait]
impl WalletService for Wallet {
    async fn get_balance(&self, request: Request<GetBalanceRequest>) -> Result<Response<GetBalanceResponse>, Status> {
        let (account, _) = of(request.into_inner().account, Some(Money::default()))?;
        let balance_minor = self.books().balances.get(&key(&account)).copied().unwrap_or_default();
        Ok(Response::new(GetBalanceResponse { balance_minor }))
    }

    async fn debit(&self, request: Request<DebitRequest>) -> Result<Response<DebitResponse>, Status> {
        let DebitRequest { transaction_id, account, amount, .. } = request.into_inner();
        let (account, amount) = of(account, amount)?;
        Ok(Response::new(DebitResponse { result: Some(self.apply(transaction_id, &account, -amount)) }))
    }

    async fn credit(&self, request: Request<CreditRequest>) -> Result<Response<CreditResponse>, Status> {
        let CreditRequest { transaction_id, account, amount, .. } = request.into_inner();
        let (account, amount) = of(account, amount)?;
        Ok(Response::new(CreditResponse { result: Some(self.apply(transaction_id, &account, amount)) }))
    }

    async fn rollback(&self, request: Request<RollbackRequest>) -> Result<Response<RollbackResponse>, Status> {
        let RollbackRequest { transaction_id, account, amount, .. } = request.into_inner();
        let (account, _) = of(account, amount)?;
        Ok(Response::new(RollbackResponse { result: Some(self.roll_back(transaction_id, &account)) }))
    }

    async fn open_free_round(
        &self,
        request: Request<OpenFreeRoundRequest>,
    ) -> Result<Response<OpenFreeRoundResponse>, Status> {
        let OpenFreeRoundRequest { transaction_id, account, .. } = request.into_inner();
        let (account, _) = of(account, Some(Money::default()))?;
        Ok(Response::new(OpenFreeRoundResponse { result: Some(self.apply(transaction_id, &account, 0)) }))
    }

    async fn close_round(&self, request: Request<CloseRoundRequest>) -> Result<Response<CloseRoundResponse>, Status> {
        let CloseRoundRequest { transaction_id, account, .. } = request.into_inner();
        let (account, _) = of(account, Some(Money::default()))?;
        Ok(Response::new(CloseRoundResponse { result: Some(self.apply(transaction_id, &account, 0)) }))
    }
}
