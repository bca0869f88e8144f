use motherlode_proto::{
    round::v1::{Account, Money},
    wallet::v1::{
        CloseRoundRequest, CloseRoundResponse, CreditKind, CreditRequest, CreditResponse, DebitKind, DebitRequest,
        DebitResponse, GetBalanceRequest, GetBalanceResponse, OpenFreeRoundRequest, OpenFreeRoundResponse, Outcome,
        ReasonCode, Result as WalletResult, RollbackRequest, RollbackResponse, Round,
        wallet_service_server::{WalletService, WalletServiceServer},
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{net::TcpListener, task::yield_now};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    AppliesRepeats,
    IgnoresAmount,
    IdsPerPlayer,
    /// Fault: between a call's check and its effect, another call may take effect.
    Races,
    Overdraws,
    /// Fault: amounts are rounded to 24 significant bits.
    Rounds,
    RestoresTwice,
    NoTombstone,
    RefusesRollback,
    NoJackpotAfterClose,
    StoresRefusedReversal,
    NoCloseRound,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    player: String,
    currency: String,
    amount: i64,
    round: String,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Applied,
    Refused,
    RolledBack,
}

#[derive(Default)]
struct Books {
    balances: BTreeMap<(String, String), i64>,
    entries: BTreeMap<String, Entry>,
    played: BTreeSet<String>,
    racing: BTreeMap<String, usize>,
}

#[derive(Clone)]
pub struct Wallet {
    plant: Option<Plant>,
    books: Arc<Mutex<Books>>,
}

type Answer<T> = Result<Response<T>, Status>;

impl Wallet {
    pub fn new(plant: Option<Plant>) -> Self {
        Self { plant, books: Arc::default() }
    }

    pub fn give(&self, player: &str, minor: i64) {
        self.books().balances.insert((player.into(), "EUR".into()), minor);
    }

    pub async fn serve(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = WalletServiceServer::new(self.clone());
        let serving = Server::builder().add_service(service).serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(async move { serving.await.unwrap() });
        address
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }

    fn has(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    fn id(&self, id: String, player: &str) -> String {
        if self.has(Plant::IdsPerPlayer) { format!("{player} {id}") } else { id }
    }

    async fn apply(&self, id: String, of: (Option<Account>, i64, Option<Round>), stores: bool) -> WalletResult {
        let (account, amount, round) = (of.0.unwrap(), of.1, of.2.unwrap());
        let id = self.id(id, &account.player_id);
        let key = (account.player_id.clone(), account.currency_code.clone());
        let amount = if self.has(Plant::Rounds) && amount > 1 << 24 { amount >> 8 << 8 } else { amount };
        let entry = Entry {
            player: account.player_id,
            currency: account.currency_code,
            amount,
            round: round.round_uuid.clone(),
            end: End::Applied,
        };
        let known = self.books().entries.get(&id).cloned();
        if let Some(known) = known.filter(|_| !self.has(Plant::AppliesRepeats)) {
            let same = Entry { end: End::Applied, ..known.clone() };
            let same = if self.has(Plant::IgnoresAmount) { Entry { amount, ..same } } else { same };
            return match known.end {
                End::RolledBack => self.refused(&key, ReasonCode::RolledBack),
                _ if same != entry => self.refused(&key, ReasonCode::DuplicateContent),
                End::Refused => self.refused(&key, ReasonCode::InsufficientFunds),
                End::Applied => self.done(&key, Outcome::DoneBefore),
            };
        }
        if self.has(Plant::Races) {
            *self.books().racing.entry(id.clone()).or_default() += 1;
            for _ in 0..20_000 {
                if self.books().racing[&id] > 1 {
                    break;
                }
                yield_now().await;
            }
        }
        let mut books = self.books();
        if !self.has(Plant::Races) && !self.has(Plant::AppliesRepeats) && books.entries.contains_key(&id) {
            drop(books);
            return self.done(&key, Outcome::DoneBefore);
        }
        let balance = books.balances.get(&key).copied().unwrap_or_default();
        if balance + amount < 0 && !self.has(Plant::Overdraws) {
            if stores || self.has(Plant::StoresRefusedReversal) {
                books.entries.insert(id, Entry { end: End::Refused, ..entry });
            }
            drop(books);
            return self.refused(&key, ReasonCode::InsufficientFunds);
        }
        books.entries.insert(id, entry);
        books.balances.insert(key.clone(), balance + amount);
        if amount > 0 || round.closed {
            books.played.insert(round.round_uuid);
        }
        drop(books);
        self.done(&key, Outcome::Done)
    }

    fn done(&self, key: &(String, String), outcome: Outcome) -> WalletResult {
        let balance_minor = Some(self.books().balances.get(key).copied().unwrap_or_default());
        WalletResult { outcome: outcome.into(), balance_minor, ..WalletResult::default() }
    }

    fn refused(&self, key: &(String, String), code: ReasonCode) -> WalletResult {
        WalletResult { reason_code: code.into(), ..self.done(key, Outcome::Refused) }
    }

    fn undo(&self, request: RollbackRequest) -> Result<WalletResult, Status> {
        let (account, round) = (request.account.unwrap(), request.round.unwrap());
        let key = (account.player_id.clone(), account.currency_code.clone());
        let id = self.id(request.transaction_id, &account.player_id);
        let mut books = self.books();
        let known = books.entries.get(&id).cloned();
        if known.as_ref().is_some_and(|known| known.player != account.player_id || books.played.contains(&known.round))
        {
            return Err(Status::failed_precondition("a rollback of a played round needs a manual decision"));
        }
        let outcome = match known.as_ref().map(|known| known.end) {
            None if self.has(Plant::RefusesRollback) => {
                drop(books);
                return Ok(self.refused(&key, ReasonCode::InvalidRequest));
            }
            None if self.has(Plant::NoTombstone) => Outcome::Done,
            Some(End::RolledBack) if !self.has(Plant::RestoresTwice) => Outcome::DoneBefore,
            Some(End::Applied | End::RolledBack) => {
                let amount = known.as_ref().map_or(0, |known| known.amount);
                *books.balances.entry(key.clone()).or_default() -= amount;
                Outcome::Done
            }
            None | Some(End::Refused) => Outcome::Done,
        };
        if known.is_some() || !self.has(Plant::NoTombstone) {
            let amount = known.map_or(-request.amount.unwrap().amount_minor, |known| known.amount);
            let Account { player_id: player, currency_code: currency, .. } = account;
            let round = round.round_uuid;
            books.entries.insert(id, Entry { player, currency, amount, round, end: End::RolledBack });
        }
        drop(books);
        Ok(self.done(&key, outcome))
    }
}

fn minor(amount: &Option<Money>) -> i64 {
    amount.as_ref().unwrap().amount_minor
}

#[tonic::async_trait]
impl WalletService for Wallet {
    async fn get_balance(&self, request: Request<GetBalanceRequest>) -> Answer<GetBalanceResponse> {
        let account = request.into_inner().account.unwrap();
        let key = (account.player_id, account.currency_code);
        Ok(Response::new(GetBalanceResponse { balance_minor: self.books().balances.get(&key).copied().unwrap_or(0) }))
    }

    async fn debit(&self, request: Request<DebitRequest>) -> Answer<DebitResponse> {
        let request = request.into_inner();
        let (amount, stores) = (-minor(&request.amount), request.kind() != DebitKind::Reversal);
        let of = (request.account, amount, request.round);
        Ok(Response::new(DebitResponse { result: Some(self.apply(request.transaction_id, of, stores).await) }))
    }

    async fn credit(&self, request: Request<CreditRequest>) -> Answer<CreditResponse> {
        let request = request.into_inner();
        let is_late = self.books().played.contains(&request.round.as_ref().unwrap().round_uuid);
        if self.has(Plant::NoJackpotAfterClose) && is_late && request.kind() == CreditKind::Jackpot {
            return Err(Status::failed_precondition("the round is closed"));
        }
        let of = (request.account.clone(), minor(&request.amount), request.round);
        Ok(Response::new(CreditResponse { result: Some(self.apply(request.transaction_id, of, true).await) }))
    }

    async fn rollback(&self, request: Request<RollbackRequest>) -> Answer<RollbackResponse> {
        Ok(Response::new(RollbackResponse { result: Some(self.undo(request.into_inner())?) }))
    }

    async fn open_free_round(&self, request: Request<OpenFreeRoundRequest>) -> Answer<OpenFreeRoundResponse> {
        let request = request.into_inner();
        let of = (request.account, 0, request.round);
        Ok(Response::new(OpenFreeRoundResponse { result: Some(self.apply(request.transaction_id, of, true).await) }))
    }

    async fn close_round(&self, request: Request<CloseRoundRequest>) -> Answer<CloseRoundResponse> {
        if self.has(Plant::NoCloseRound) {
            return Err(Status::unimplemented("no such call"));
        }
        let request = request.into_inner();
        let of = (request.account, 0, request.round);
        Ok(Response::new(CloseRoundResponse { result: Some(self.apply(request.transaction_id, of, true).await) }))
    }
}
