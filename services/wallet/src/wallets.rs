use crate::{
    breaker::{Breaker, Leave},
    call::Call,
    client::{Answer, CheckedAnswer, Client},
    metrics::{Gauge, Meters, observe},
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use motherlode_proto::wallet::v1::ReasonCode;
use motherlode_runtime::{
    Config, Reason, Refusal,
    config::{Seamless, WalletCredentials},
    connect::{ConnectError, connect_lazily},
};
use motherlode_state::StreamId;
use parking_lot::{Mutex, RwLock};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::Instant,
};

#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    #[error("wallet of operator {operator}: {fault}")]
    Credentials { operator: String, fault: String },
    #[error("wallet of operator {operator}: {source}")]
    Unusable { operator: String, source: ConnectError },
}

fn credentials(operator: &str, settings: &Seamless) -> Result<WalletCredentials, WalletError> {
    settings.credentials().map_err(|fault| WalletError::Credentials { operator: operator.to_owned(), fault })
}

pub(crate) fn client_of(operator: &str, settings: &Seamless) -> Result<Client, WalletError> {
    client(operator, settings, &credentials(operator, settings)?)
}

fn client(operator: &str, settings: &Seamless, credentials: &WalletCredentials) -> Result<Client, WalletError> {
    let answer_max = Duration::from_millis(settings.answer_ms_max);
    let client = match &credentials.signing_key {
        None => connect_lazily(&settings.url, &credentials.shown).map(|link| Client::grpc(link, answer_max)),
        Some(key) => Client::json(&settings.url, credentials.shown.ca.as_deref(), key, answer_max)
            .map_err(ConnectError::Unusable),
    };
    client.map_err(|source| WalletError::Unusable { operator: operator.to_owned(), source })
}

/// Wallets by operator. Clones share one map, so [`replace`](Wallets::replace) changes all of them.
#[derive(Debug, Clone, Default)]
pub struct Wallets {
    wallets: Arc<RwLock<ByOperator>>,
    replaced: watch::Sender<()>,
}

pub type ByOperator = BTreeMap<String, Arc<OperatorWallet>>;

impl Wallets {
    pub fn of_config(config: &Config) -> Result<Self, WalletError> {
        let wallets = Self::default();
        wallets.replace(wallets.changed(config)?);
        observe(&wallets.wallets, GAUGES);
        Ok(wallets)
    }

    /// Reads the credentials and returns the wallets of a configuration. Unchanged wallets are reused. An operator that
    /// has changed back to the transfer wallet keeps its seamless wallet, which still receives old credits.
    pub fn changed(&self, config: &Config) -> Result<ByOperator, WalletError> {
        let (mut wallets, current) = (BTreeMap::new(), self.wallets.read());
        for operator in config.operators.iter().chain(&config.wallets_beside) {
            let (id, Some(settings)) = (&operator.id, &operator.seamless) else { continue };
            let credentials = credentials(id, settings)?;
            let wallet = match current.get(id).filter(|of| of.settings == *settings && of.credentials == credentials) {
                Some(unchanged) => Arc::clone(unchanged),
                None => Arc::new(OperatorWallet::new(id, settings, credentials)?),
            };
            wallets.insert(id.clone(), wallet);
        }
        Ok(wallets)
    }

    /// Calls in progress continue with the previous wallet; retries are sent to the new wallet with the same ids.
    pub fn replace(&self, wallets: ByOperator) {
        *self.wallets.write() = wallets;
        self.replaced.send_replace(());
    }

    #[must_use]
    pub fn replacements(&self) -> watch::Receiver<()> {
        self.replaced.subscribe()
    }

    #[must_use]
    pub fn for_stream(&self, stream: &StreamId) -> Option<Arc<OperatorWallet>> {
        let StreamId::Player { operator, .. } = stream else { return None };
        self.wallets.read().get(operator.as_str()).cloned()
    }

    #[must_use]
    pub fn all(&self) -> Vec<Arc<OperatorWallet>> {
        self.wallets.read().values().cloned().collect()
    }
}

const GAUGES: [Gauge<OperatorWallet>; 4] = [
    (
        "motherlode.wallet.circuit_open",
        "1 while the circuit breaker of an operator's wallet is open; 0 otherwise.",
        |wallet| (wallet.left_ms() > 0).into(),
    ),
    (
        "motherlode.wallet.bets_waiting",
        "Number of bets that wait for an operator's wallet.",
        OperatorWallet::bets_waiting,
    ),
    ("motherlode.wallet.players_under_way", "Number of players with a pending debit or a due credit.", |wallet| {
        wallet.under_way().0
    }),
    ("motherlode.wallet.players_overdue", "Number of players with an overdue debit or credit.", |wallet| {
        wallet.under_way().1
    }),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletState {
    pub operator: String,
    pub circuit_open: bool,
    /// Time since the first failure after the last success, and reason of the latest failure.
    pub failing: Option<(Duration, String)>,
    pub next_call_ms: u64,
    pub bets_waiting: u64,
    pub players_pending: u64,
    pub players_overdue: u64,
}

#[derive(Debug)]
pub struct OperatorWallet {
    operator: String,
    client: Client,
    settings: Seamless,
    credentials: WalletCredentials,
    breaker: Mutex<Breaker>,
    failing: Mutex<Option<(Instant, String)>>,
    bets: Arc<Semaphore>,
    asked: Mutex<HashMap<String, Shared<BoxFuture<'static, Answer>>>>,
    since: Instant,
    meters: Meters,
    under_way: Mutex<BTreeMap<u32, (u64, u64)>>,
}

impl OperatorWallet {
    fn new(operator: &str, settings: &Seamless, credentials: WalletCredentials) -> Result<Self, WalletError> {
        let client = client(operator, settings, &credentials)?;
        let bets = Arc::new(Semaphore::new(settings.bets_max.min(Semaphore::MAX_PERMITS)));
        let (breaker, failing, asked, since) = (Mutex::default(), Mutex::default(), Mutex::default(), Instant::now());
        let (meters, under_way) = (Meters::new(operator), Mutex::default());
        let (operator, settings) = (operator.to_owned(), settings.clone());
        Ok(Self { operator, client, settings, credentials, breaker, failing, bets, asked, since, meters, under_way })
    }

    #[must_use]
    pub fn operator(&self) -> &str {
        &self.operator
    }

    #[must_use]
    pub fn settings(&self) -> &Seamless {
        &self.settings
    }

    /// Fails with WALLET_BUSY if no call slot is free, and with WALLET_UNAVAILABLE while the circuit is open.
    pub fn admit(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let left_ms = self.left_ms();
        if left_ms > 0 {
            return Err(Refusal::new(Reason::WalletUnavailable, "the operator's wallet does not answer: retry later")
                .retry_after(Duration::from_millis(left_ms.max(100))));
        }
        Arc::clone(&self.bets).try_acquire_owned().map_err(|_| {
            let message = "too many bets are waiting for the operator's wallet: retry later";
            Refusal::new(Reason::WalletBusy, message)
        })
    }

    #[must_use]
    pub fn left_ms(&self) -> u64 {
        self.breaker.lock().left_ms(self.now_ms())
    }

    #[must_use]
    pub fn state(&self) -> WalletState {
        let (players_pending, players_overdue) = self.under_way();
        let breaker = self.breaker.lock().clone();
        let failing = self.failing.lock().clone();
        WalletState {
            operator: self.operator.clone(),
            circuit_open: !breaker.is_whole(),
            failing: failing.map(|(since, why)| (since.elapsed(), why)),
            next_call_ms: breaker.left_ms(self.now_ms()),
            bets_waiting: self.bets_waiting(),
            players_pending,
            players_overdue,
        }
    }

    pub(crate) fn bets_waiting(&self) -> u64 {
        let places = self.settings.bets_max.min(Semaphore::MAX_PERMITS);
        places.saturating_sub(self.bets.available_permits()) as u64
    }

    pub(crate) fn note_under_way(&self, partition: u32, players: u64, overdue: u64) {
        self.under_way.lock().insert(partition, (players, overdue));
    }

    pub(crate) fn under_way(&self) -> (u64, u64) {
        self.under_way.lock().values().fold((0, 0), |(all, late), (players, overdue)| (all + players, late + overdue))
    }

    /// Sends a debit. If the caller disconnects, the call continues and keeps its slot, so that the circuit breaker
    /// counts the result. Concurrent requests for one debit wait for the same call.
    pub async fn debit(self: &Arc<Self>, debit: &Call, place: &Arc<OwnedSemaphorePermit>, attempt: u32) -> Answer {
        let call = self
            .asked
            .lock()
            .entry(debit.id().to_owned())
            .or_insert_with(|| {
                let (wallet, debit, place) = (Arc::clone(self), debit.clone(), Arc::clone(place));
                let call = tokio::spawn(async move {
                    let _ended = Ended { wallet: &wallet, id: debit.id(), _place: place };
                    wallet.send(&debit, attempt).await
                });
                let call = call.map(|ended| ended.unwrap_or_else(|error| Answer::Unknown { why: error.to_string() }));
                call.boxed().shared()
            })
            .clone();
        call.await
    }

    pub async fn send(&self, call: &Call, attempt: u32) -> Answer {
        let Some(leave) = self.breaker.lock().leave(self.now_ms()) else {
            return Answer::Unknown { why: "the wallet's circuit breaker is open".to_owned() };
        };
        let begun = Instant::now();
        let CheckedAnswer { answer, contradiction } = self.client.send(call, attempt).await;
        self.meters.note(call.name(), &answer, begun.elapsed());
        if let Some(contradiction) = contradiction {
            self.meters.note_contradiction();
            let operator = self.operator();
            tracing::warn!(
                operator,
                transaction = call.id(),
                contradiction,
                "the operator's wallet reported a balance that contradicts its answer"
            );
        }
        if let Answer::Refused { code, reason } = &answer
            && matches!(code, ReasonCode::DuplicateContent | ReasonCode::InvalidRequest | ReasonCode::Unauthenticated)
        {
            let (operator, transaction, code) = (self.operator(), call.id(), code.as_str_name());
            tracing::error!(
                operator,
                transaction,
                code,
                reason,
                "the operator's wallet refused a call as invalid: compare its implementation with the contract"
            );
        }
        self.note_failure(&answer, begun);
        let mut breaker = self.breaker.lock();
        match &answer {
            Answer::Done { .. } | Answer::Refused { .. } | Answer::Unsure => breaker.answered(),
            // Unanswered reports of round ends do not open the circuit, because bets do not depend on reports.
            Answer::Unknown { .. } if leave == Leave::Given && matches!(call, Call::Close(_)) => {}
            Answer::Unknown { .. } => breaker.failed(leave, call.player(), self.now_ms()),
        }
        answer
    }

    fn note_failure(&self, answer: &Answer, begun: Instant) {
        let mut failing = self.failing.lock();
        match answer {
            Answer::Unknown { why } => {
                let since = failing.as_ref().map_or(begun, |(since, _)| *since);
                *failing = Some((since, why.clone()));
            }
            Answer::Done { .. } | Answer::Refused { .. } | Answer::Unsure => *failing = None,
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

struct Ended<'a> {
    wallet: &'a OperatorWallet,
    id: &'a str,
    _place: Arc<OwnedSemaphorePermit>,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.wallet.asked.lock().remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::{round::v1::Account, wallet::v1::DebitRequest};

    fn debit_of(player: &str) -> Call {
        let account = Account { operator_id: "acme".into(), player_id: player.into(), currency_code: "EUR".into() };
        let transaction_id = format!("debit/acme/{player}/r-1");
        Call::Debit(Box::new(DebitRequest { transaction_id, account: Some(account), ..DebitRequest::default() }))
    }

    fn wallets(settings: &str) -> Wallets {
        let operator = format!("[[operators]]\nid = \"acme\"\n{settings}");
        Wallets::of_config(&Config::parse(&operator).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn pl_31_bets_that_wait_for_a_wallet_are_bounded() {
        let wallets = wallets("wallet = \"seamless\"\nseamless = { url = \"http://127.0.0.1:1\", bets_max = 2 }");
        let wallet = wallets.for_stream(&StreamId::player("acme", "alice")).unwrap();
        let waiting = [wallet.admit().unwrap(), wallet.admit().unwrap()];
        let refusal = wallet.admit().unwrap_err();
        assert_eq!(refusal.reason(), Reason::WalletBusy);
        drop(waiting);
        assert!(wallet.admit().is_ok());
        assert!(wallets.for_stream(&StreamId::player("beta", "bob")).is_none());
    }

    #[tokio::test]
    async fn pl_31_a_wallet_that_is_left_alone_takes_no_bets() {
        let wallets = wallets("seamless = { url = \"http://127.0.0.1:1\" }");
        let wallet = wallets.for_stream(&StreamId::player("acme", "alice")).unwrap();
        let place = Arc::new(wallet.admit().unwrap());
        for player in ["a", "b", "c", "d", "e"] {
            let debit = debit_of(player);
            assert!(wallet.admit().is_ok());
            for _ in 0..3 {
                assert!(matches!(wallet.debit(&debit, &place, 1).await, Answer::Unknown { .. }));
            }
        }
        assert!(
            wallet.breaker.lock().left_ms(0) > 0,
            "after five players in a row without an answer the circuit must be open"
        );
        let state = wallet.state();
        assert!(state.circuit_open && state.failing.is_some_and(|(_, why)| !why.is_empty()));
        assert!(wallet.asked.lock().is_empty(), "no call may be in progress");
        wallet.breaker.lock().failed(Leave::Probe, "a", wallet.now_ms() + 60_000);
        let refusal = wallet.admit().unwrap_err();
        assert_eq!(refusal.reason(), Reason::WalletUnavailable);
    }

    #[tokio::test]
    async fn pl_27_a_reload_replaces_only_changed_wallets() {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "one").unwrap();
        let config = |bets_max: u32, others: &str| {
            let text = format!(
                "[[operators]]\nid = \"acme\"\nwallet = \"seamless\"\n[operators.seamless]\nurl = \"http://127.0.0.1:1\"\n\
                 token_file = {token:?}\nbets_max = {bets_max}\n{others}"
            );
            Config::parse(&text).unwrap()
        };
        let wallets = Wallets::of_config(&config(2, "")).unwrap();
        let (clone, mut replacements) = (wallets.clone(), wallets.replacements());
        let acme = || clone.for_stream(&StreamId::player("acme", "alice")).unwrap();
        let replace = |config: &Config| wallets.replace(wallets.changed(config).unwrap());
        let first = acme();
        replace(&config(2, "[[operators]]\nid = \"beta\"\nseamless = { url = \"http://127.0.0.1:2\" }"));
        assert!(Arc::ptr_eq(&first, &acme()), "it keeps its circuit and its bets");
        assert!(clone.for_stream(&StreamId::player("beta", "bob")).is_some());
        assert!(replacements.has_changed().unwrap());
        replacements.mark_unchanged();
        replace(&config(3, ""));
        assert_eq!(acme().settings().bets_max, 3);
        let second = acme();
        std::fs::write(&token, "two").unwrap();
        replace(&config(3, ""));
        assert!(!Arc::ptr_eq(&second, &acme()), "its token has changed");
        std::fs::remove_file(&token).unwrap();
        assert!(matches!(wallets.changed(&config(3, "")), Err(WalletError::Credentials { .. })));
    }
}
