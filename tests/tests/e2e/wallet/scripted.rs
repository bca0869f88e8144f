use motherlode_proto::round::v1::{Account, Money};
use motherlode_proto::wallet::v1::{
    CloseRoundRequest, CloseRoundResponse, Context, CreditRequest, CreditResponse, DebitRequest, DebitResponse,
    GetBalanceRequest, GetBalanceResponse, OpenFreeRoundRequest, OpenFreeRoundResponse, Outcome, ReasonCode, Result,
    RollbackRequest, RollbackResponse, Round,
    wallet_service_server::{WalletService, WalletServiceServer},
};
use motherlode_testkit::sim::Chance;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::pending,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{
    Request, Response, Status,
    metadata::MetadataMap,
    transport::{Identity, Server, ServerTlsConfig},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    LostCall,
    LostAnswer,
    Doubled,
    Unsure,
    Hangs,
    Lies(i64),
    /// The call is applied when [`Wallet::catch_up`] is called, and never answered.
    Late,
    /// The call is applied at once, but answered only when [`Wallet::catch_up`] is called.
    AnswersLate,
    Huge,
    Empty,
}

impl Fault {
    fn random(chance: &mut Chance, often: usize) -> Option<Self> {
        const ALL: [Fault; 8] = [
            Fault::LostCall,
            Fault::LostAnswer,
            Fault::Doubled,
            Fault::Unsure,
            Fault::Hangs,
            Fault::Lies(i64::MIN),
            Fault::Huge,
            Fault::Empty,
        ];
        (chance.below(100) < often).then(|| ALL[chance.below(ALL.len())])
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Applied,
    Refused(String),
    RolledBack,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub player: String,
    pub amount: i64,
    pub end: End,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Arrived {
    pub id: String,
    pub call: WalletRequest,
}
#[derive(Debug, Clone, PartialEq)]
pub enum WalletRequest {
    Debit(DebitRequest),
    Open(OpenFreeRoundRequest),
    Credit(CreditRequest),
    Rollback(RollbackRequest),
    Close(CloseRoundRequest),
}
impl Arrived {
    pub fn context(&self) -> &Context {
        let context = match &self.call {
            WalletRequest::Debit(request) => &request.context,
            WalletRequest::Open(request) => &request.context,
            WalletRequest::Credit(request) => &request.context,
            WalletRequest::Rollback(request) => &request.context,
            WalletRequest::Close(request) => &request.context,
        };
        context.as_ref().expect("each call has its context")
    }
    pub fn round(&self) -> &Round {
        let round = match &self.call {
            WalletRequest::Debit(request) => &request.round,
            WalletRequest::Open(request) => &request.round,
            WalletRequest::Credit(request) => &request.round,
            WalletRequest::Rollback(request) => &request.round,
            WalletRequest::Close(request) => &request.round,
        };
        round.as_ref().expect("each call has its round")
    }
}
#[derive(Debug, Default)]
pub struct Books {
    pub balances: BTreeMap<String, i64>,
    pub transactions: BTreeMap<String, Entry>,
    pub order: Vec<String>,
    pub script: VecDeque<Fault>,
    pub always: Option<Fault>,
    pub of: BTreeMap<String, Fault>,
    pub credits_unsure: bool,
    pub random: Option<(usize, Chance)>,
    pub calls: usize,
    pub hanging: (usize, usize),
    pub arrived: Vec<Arrived>,
    pub refuses: BTreeMap<String, ReasonCode>,
    pub declines: Option<ReasonCode>,
    pub is_old: bool,
    pub closes_hang: bool,
    pub is_silent: bool,
    pub tokens: BTreeSet<String>,
}

#[derive(Clone, Default)]
pub struct Wallet(Arc<Mutex<Books>>, Arc<Notify>);

impl Wallet {
    pub async fn serve(&self) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (address, self.serve_on(listener))
    }

    pub fn serve_on(&self, listener: TcpListener) -> JoinHandle<()> {
        let service = WalletServiceServer::new(self.clone());
        tokio::spawn(async move {
            let incoming = TcpListenerStream::new(listener);
            Server::builder().add_service(service).serve_with_incoming(incoming).await.unwrap();
        })
    }

    pub async fn serve_by_tls(&self, certificate: &str, key: &str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = WalletServiceServer::new(self.clone());
        let tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
        let server = Server::builder().tls_config(tls).unwrap().add_service(service);
        tokio::spawn(async move { server.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap() });
        address
    }

    pub fn catch_up(&self) {
        self.1.notify_waiters();
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap()
    }

    pub fn fund(&self, player: &str, amount: i64) {
        self.books().balances.insert(player.into(), amount);
    }

    pub fn balance(&self, player: &str) -> i64 {
        self.books().balances[player]
    }

    pub fn script(&self, faults: &[Fault]) {
        let mut books = self.books();
        (books.script, books.always, books.random) = (faults.iter().copied().collect(), None, None);
        books.of.clear();
    }

    pub fn always(&self, fault: Fault) {
        let mut books = self.books();
        (books.script, books.always) = (VecDeque::new(), Some(fault));
    }

    pub fn applied(&self, player: &str) -> i64 {
        let books = self.books();
        let of = |entry: &&Entry| entry.player == player && entry.end == End::Applied;
        books.transactions.values().filter(of).map(|entry| entry.amount).sum()
    }

    pub fn end(&self, id: &str) -> Option<End> {
        self.books().transactions.get(id).map(|entry| entry.end.clone())
    }

    async fn answer(
        &self,
        player: &str,
        metadata: &MetadataMap,
        apply: impl Fn(&mut Books) -> (Outcome, i64, String) + Send + 'static,
    ) -> std::result::Result<Option<Result>, Status> {
        let fault = {
            let mut books = self.books();
            books.calls += 1;
            let scripted = books.script.pop_front();
            if let Some(token) = metadata.get("authorization") {
                books.tokens.insert(token.to_str().unwrap().to_owned());
            }
            let of_player = books.of.get(player).copied();
            let random = books.random.as_mut().and_then(|(often, chance)| Fault::random(chance, *often));
            scripted.or(of_player).or(books.always).or(random).unwrap_or(Fault::None)
        };
        match fault {
            Fault::LostCall => return Err(Status::unavailable("lost on its way")),
            Fault::Hangs => {
                let _hangs = Hangs::begin(self);
                return pending().await;
            }
            Fault::Late => {
                let late = self.clone();
                // The waiter is registered before the check; otherwise, a notification could be lost.
                let told = Arc::clone(&self.1).notified_owned();
                tokio::spawn(async move {
                    told.await;
                    apply(&mut late.books());
                });
                return pending().await;
            }
            Fault::Unsure => return Ok(Some(Result { outcome: Outcome::Unknown.into(), ..Result::default() })),
            Fault::Doubled => _ = apply(&mut self.books()),
            Fault::AnswersLate => {
                let told = Arc::clone(&self.1).notified_owned();
                let (outcome, balance_minor, reason) = apply(&mut self.books());
                let _hangs = Hangs::begin(self);
                told.await;
                return Ok(Some(said(outcome, balance_minor, &reason)));
            }
            Fault::None | Fault::LostAnswer | Fault::Lies(_) | Fault::Huge | Fault::Empty => {}
        }
        let (outcome, balance_minor, reason) = apply(&mut self.books());
        match fault {
            Fault::LostAnswer => Err(Status::internal("lost on its way back")),
            Fault::Empty => Ok(None),
            Fault::Huge => Ok(Some(said(outcome, balance_minor, &"x".repeat(1 << 20)))),
            Fault::Lies(balance_minor) => Ok(Some(said(outcome, balance_minor, &reason))),
            _ if self.books().is_silent => Ok(Some(Result {
                balance_minor: None,
                amount_bonus_minor: Some(3),
                wallet_transaction_id: "w-1".into(),
                ..said(outcome, balance_minor, &reason)
            })),
            _ => Ok(Some(said(outcome, balance_minor, &reason))),
        }
    }

    fn refused(reason: Option<ReasonCode>) -> Option<Result> {
        let reason_code = reason?.into();
        Some(Result { outcome: Outcome::Refused.into(), reason_code, ..Result::default() })
    }

    fn arrives(&self, id: &str, call: WalletRequest) {
        self.books().arrived.push(Arrived { id: id.to_owned(), call });
    }
}

fn said(outcome: Outcome, balance_minor: i64, reason: &str) -> Result {
    Result {
        outcome: outcome.into(),
        balance_minor: Some(balance_minor),
        reason: reason.to_owned(),
        ..Result::default()
    }
}

struct Hangs(Wallet);

impl Hangs {
    fn begin(wallet: &Wallet) -> Self {
        let mut books = wallet.books();
        let (now, most) = books.hanging;
        books.hanging = (now + 1, most.max(now + 1));
        Self(wallet.clone())
    }
}

impl Drop for Hangs {
    fn drop(&mut self) {
        self.0.books().hanging.0 -= 1;
    }
}

impl Books {
    fn apply(&mut self, id: &str, player: &str, amount: i64) -> (Outcome, i64, String) {
        let balance = *self.balances.entry(player.into()).or_default();
        let refused = |reason: &str| (Outcome::Refused, balance, reason.to_owned());
        if let Some(entry) = self.transactions.get(id) {
            return match &entry.end {
                _ if (entry.player.as_str(), entry.amount) != (player, amount) => refused("OTHER_CONTENT"),
                End::Applied => (Outcome::DoneBefore, balance, String::new()),
                End::Refused(reason) => refused(reason),
                End::RolledBack => refused("ROLLED_BACK"),
            };
        }
        let after = balance + amount;
        let end = if after < 0 { End::Refused("INSUFFICIENT_FUNDS".into()) } else { End::Applied };
        if after < 0 && id.starts_with("reversal/") {
            return refused("INSUFFICIENT_FUNDS");
        }
        self.order.push(id.into());
        self.transactions.insert(id.into(), Entry { player: player.into(), amount, end: end.clone() });
        match end {
            End::Refused(reason) => refused(&reason),
            _ => {
                self.balances.insert(player.into(), after);
                (Outcome::Done, after, String::new())
            }
        }
    }

    fn roll_back(&mut self, id: &str, player: &str, amount: i64) -> (Outcome, i64, String) {
        let before = self.transactions.get(id).map(|entry| entry.end.clone());
        if before == Some(End::Applied) {
            *self.balances.entry(player.into()).or_default() += amount;
        }
        let entry = Entry { player: player.into(), amount: -amount, end: End::RolledBack };
        self.transactions.insert(id.into(), entry);
        let outcome = if before == Some(End::RolledBack) { Outcome::DoneBefore } else { Outcome::Done };
        (outcome, self.balances.get(player).copied().unwrap_or_default(), String::new())
    }
}

fn of(account: Option<Account>, amount: Option<Money>) -> (String, i64) {
    (account.unwrap().player_id, amount.unwrap().amount_minor)
}

#[tonic::async_trait]
impl WalletService for Wallet {
    async fn get_balance(
        &self,
        request: Request<GetBalanceRequest>,
    ) -> std::result::Result<Response<GetBalanceResponse>, Status> {
        let player = request.into_inner().account.unwrap().player_id;
        Ok(Response::new(GetBalanceResponse { balance_minor: self.balance(&player) }))
    }

    async fn debit(&self, request: Request<DebitRequest>) -> std::result::Result<Response<DebitResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        self.arrives(&request.transaction_id, WalletRequest::Debit(request.clone()));
        let DebitRequest { transaction_id, account, amount, .. } = request;
        if let Some(refused) = Self::refused(self.books().declines) {
            return Ok(Response::new(DebitResponse { result: Some(refused) }));
        }
        let (player, amount) = of(account, amount);
        let name = player.clone();
        let apply = move |books: &mut Books| books.apply(&transaction_id, &player, -amount);
        Ok(Response::new(DebitResponse { result: self.answer(&name, &metadata, apply).await? }))
    }

    async fn open_free_round(
        &self,
        request: Request<OpenFreeRoundRequest>,
    ) -> std::result::Result<Response<OpenFreeRoundResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        self.arrives(&request.transaction_id, WalletRequest::Open(request.clone()));
        let OpenFreeRoundRequest { transaction_id, account, .. } = request;
        if let Some(refused) = Self::refused(self.books().declines) {
            return Ok(Response::new(OpenFreeRoundResponse { result: Some(refused) }));
        }
        let player = account.unwrap().player_id;
        let name = player.clone();
        let apply = move |books: &mut Books| books.apply(&transaction_id, &player, 0);
        Ok(Response::new(OpenFreeRoundResponse { result: self.answer(&name, &metadata, apply).await? }))
    }

    async fn credit(&self, request: Request<CreditRequest>) -> std::result::Result<Response<CreditResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        self.arrives(&request.transaction_id, WalletRequest::Credit(request.clone()));
        let CreditRequest { transaction_id, account, amount, .. } = request;
        if self.books().credits_unsure {
            let result = Result { outcome: Outcome::Unknown.into(), ..Result::default() };
            return Ok(Response::new(CreditResponse { result: Some(result) }));
        }
        let (player, amount) = of(account, amount);
        if let Some(refused) = Self::refused(self.books().refuses.get(&player).copied()) {
            return Ok(Response::new(CreditResponse { result: Some(refused) }));
        }
        let name = player.clone();
        let apply = move |books: &mut Books| books.apply(&transaction_id, &player, amount);
        Ok(Response::new(CreditResponse { result: self.answer(&name, &metadata, apply).await? }))
    }

    async fn rollback(
        &self,
        request: Request<RollbackRequest>,
    ) -> std::result::Result<Response<RollbackResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        self.arrives(&request.rollback_id, WalletRequest::Rollback(request.clone()));
        let RollbackRequest { transaction_id, account, amount, .. } = request;
        let (player, amount) = of(account, amount);
        let name = player.clone();
        let apply = move |books: &mut Books| books.roll_back(&transaction_id, &player, amount);
        Ok(Response::new(RollbackResponse { result: self.answer(&name, &metadata, apply).await? }))
    }

    async fn close_round(
        &self,
        request: Request<CloseRoundRequest>,
    ) -> std::result::Result<Response<CloseRoundResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        if self.books().is_old {
            return Err(Status::unimplemented("no such call"));
        }
        if self.books().closes_hang {
            return pending().await;
        }
        self.arrives(&request.transaction_id, WalletRequest::Close(request.clone()));
        let CloseRoundRequest { transaction_id, account, .. } = request;
        let player = account.unwrap().player_id;
        if let Some(refused) = Self::refused(self.books().refuses.get(&player).copied()) {
            return Ok(Response::new(CloseRoundResponse { result: Some(refused) }));
        }
        let name = player.clone();
        let apply = move |books: &mut Books| books.apply(&transaction_id, &player, 0);
        Ok(Response::new(CloseRoundResponse { result: self.answer(&name, &metadata, apply).await? }))
    }
}
