//! Client of a wallet. Callers repeat a call with the same id until its answer is known.

use crate::json::Json;
use motherlode_books::{Currency, InternalRequest, Minor, StreamId, is_visible};
use motherlode_proto::{
    round::v1::{Account, Money},
    wallet::v1::{self as wire, Outcome, wallet_service_client::WalletServiceClient},
};
use motherlode_runtime::connect::Connection;
use std::{sync::Arc, time::Duration};
use tonic::Status;

/// Maximum bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Maximum characters of an operator's reason.
const REASON_MAX: usize = 200;

/// Wallet's answer about a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Applied, now or before.
    Done {
        /// Reported balance.
        told: Minor,
    },
    /// Not applied, finally.
    Refused {
        /// Operator's reason.
        reason: String,
    },
    /// The wallet does not know the outcome; the call is repeated.
    Unsure,
    /// No answer arrived; the call is repeated.
    Unknown {
        /// Failure.
        why: String,
    },
}

/// Answer with a check of its balance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) answer: Answer,
    /// Contradiction of the reported balance, for a warning only (PL-31).
    pub(crate) contradiction: Option<&'static str>,
}

/// Transaction with a permanent id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    id: String,
    account: Account,
    amount: Money,
    request_id: String,
}

impl Transaction {
    /// Creates a bet's debit: `debit/<operator>/<player>/<request id>`.
    #[must_use]
    pub fn debit(stream: &StreamId, request_id: &str, currency: Currency, amount: Minor) -> Self {
        Self::new(stream, "debit", request_id.to_owned(), request_id, (currency, amount))
    }

    /// Creates a due credit: `credit/<operator>/<player>/<currency>/<request id>`.
    #[must_use]
    pub fn credit(stream: &StreamId, request_id: &str, currency: Currency, amount: Minor) -> Self {
        let name = InternalRequest::PayCredit { request_id, currency }.to_string();
        let name = name.strip_prefix("credit/").unwrap_or(&name).to_owned();
        Self::new(stream, "credit", name, request_id, (currency, amount))
    }

    /// Returns the permanent id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the player.
    #[must_use]
    pub fn player(&self) -> &str {
        &self.account.player_id
    }

    fn new(
        stream: &StreamId,
        kind: &str,
        name: String,
        request_id: &str,
        (currency, amount): (Currency, Minor),
    ) -> Self {
        let (operator_id, player_id) = match stream {
            StreamId::Player { operator, player } => (operator.clone(), player.clone()),
            _ => Default::default(),
        };
        let currency_code = currency.code().to_owned();
        Self {
            id: format!("{kind}/{operator_id}/{player_id}/{name}"),
            account: Account {
                operator_id: operator_id.into(),
                player_id: player_id.into(),
                currency_code: currency_code.clone(),
            },
            amount: Money { amount_minor: amount.0, currency_code },
            request_id: request_id.to_owned(),
        }
    }
}

/// Client of a wallet.
#[derive(Debug, Clone)]
pub struct Client {
    face: Face,
    answer_max: Duration,
}

#[derive(Debug, Clone)]
enum Face {
    Grpc(WalletServiceClient<Connection>),
    Json(Arc<Json>),
}

impl Client {
    /// Creates a gRPC client with a maximum time per answer.
    #[must_use]
    pub fn grpc(connection: Connection, answer_max: Duration) -> Self {
        let wallet = WalletServiceClient::new(connection).max_decoding_message_size(ANSWER_BYTES_MAX);
        Self { face: Face::Grpc(wallet), answer_max }
    }

    /// Creates a client of JSON over HTTP/1.1, which signs requests with a key of at least 32 bytes. `ca` is the root
    /// certificate for https (PEM), by default the system's. Fails with the unusable setting.
    pub fn json(url: &str, ca: Option<&[u8]>, key: &[u8], answer_max: Duration) -> Result<Self, String> {
        Ok(Self { face: Face::Json(Arc::new(Json::new(url, ca, key, ANSWER_BYTES_MAX)?)), answer_max })
    }

    pub(crate) async fn debit(&self, transaction: &Transaction) -> Told {
        let Transaction { id, account, amount, request_id } = transaction.clone();
        let minor = amount.amount_minor;
        let request =
            wire::DebitRequest { transaction_id: id, account: Some(account), amount: Some(amount), request_id };
        let asked = async move {
            let answered: wire::DebitResponse = match self.face.clone() {
                Face::Grpc(mut wallet) => wallet.debit(request).await?.into_inner(),
                Face::Json(wallet) => wallet.call("Debit", &request).await?,
            };
            Ok(answered.result)
        };
        self.answer(Kind::Debit, minor, asked).await
    }

    /// Pays a credit that is due since a position.
    pub(crate) async fn credit(&self, transaction: &Transaction, position: u64) -> Told {
        let Transaction { id, account, amount, request_id } = transaction.clone();
        let minor = amount.amount_minor;
        let request = wire::CreditRequest {
            transaction_id: id,
            account: Some(account),
            amount: Some(amount),
            request_id,
            position,
        };
        let asked = async move {
            let answered: wire::CreditResponse = match self.face.clone() {
                Face::Grpc(mut wallet) => wallet.credit(request).await?.into_inner(),
                Face::Json(wallet) => wallet.call("Credit", &request).await?,
            };
            Ok(answered.result)
        };
        self.answer(Kind::Credit, minor, asked).await
    }

    /// Reverses a debit, or prevents it from being applied.
    pub(crate) async fn roll_back(&self, transaction: &Transaction) -> Told {
        let Transaction { id, account, amount, .. } = transaction.clone();
        let minor = amount.amount_minor;
        let request = wire::RollbackRequest { transaction_id: id, account: Some(account), amount: Some(amount) };
        let asked = async move {
            let answered: wire::RollbackResponse = match self.face.clone() {
                Face::Grpc(mut wallet) => wallet.rollback(request).await?.into_inner(),
                Face::Json(wallet) => wallet.call("Rollback", &request).await?,
            };
            Ok(answered.result)
        };
        self.answer(Kind::Rollback, minor, asked).await
    }

    async fn answer(
        &self,
        kind: Kind,
        amount_minor: i64,
        asked: impl Future<Output = Result<Option<wire::Result>, Status>>,
    ) -> Told {
        let unknown = |why: &str| Told { answer: Answer::Unknown { why: kept(why) }, contradiction: None };
        match tokio::time::timeout(self.answer_max, asked).await {
            Err(_) => unknown("no answer in time"),
            Ok(Err(status)) => unknown(&format!("{:?}: {}", status.code(), status.message())),
            Ok(Ok(None)) => unknown("an answer without a result"),
            Ok(Ok(Some(result))) => {
                let answer = match result.outcome() {
                    Outcome::Done | Outcome::DoneBefore => Answer::Done { told: Minor(result.balance_minor) },
                    Outcome::Refused => Answer::Refused { reason: kept(&result.reason) },
                    Outcome::Unknown => Answer::Unsure,
                    Outcome::Unspecified => return unknown("an answer without an outcome"),
                };
                Told { answer, contradiction: contradiction(kind, amount_minor, &result) }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Debit,
    Credit,
    Rollback,
}

/// Returns why a reported balance is impossible without negative balances (PL-09).
fn contradiction(kind: Kind, amount_minor: i64, result: &wire::Result) -> Option<&'static str> {
    let told = result.balance_minor;
    match (result.outcome(), kind) {
        (Outcome::Done | Outcome::DoneBefore, _) if told < 0 => Some("a balance below 0 after a confirmed call"),
        (Outcome::Done, Kind::Credit) if told < amount_minor => Some("a balance below the applied credit"),
        (Outcome::Refused, Kind::Debit) if result.reason == "INSUFFICIENT_FUNDS" && told >= amount_minor => {
            Some("a balance that covers the bet refused for insufficient funds")
        }
        _ => None,
    }
}

fn kept(text: &str) -> String {
    text.chars().filter(|letter| is_visible(*letter)).take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_31_a_transactions_id_follows_from_player_and_request_alone() {
        let alice = StreamId::player("acme", "alice");
        let debit = Transaction::debit(&alice, "r-1", Currency::SEK, Minor(5));
        assert_eq!(debit.id, "debit/acme/alice/r-1");
        assert_eq!((debit.amount.amount_minor, &*debit.amount.currency_code), (5, "SEK"));
        let credit = Transaction::credit(&alice, "award/bewitched/0/7", Currency::EUR, Minor(5));
        assert_eq!(credit.id, "credit/acme/alice/EUR/award/bewitched/0/7");
        assert_eq!(credit.request_id, "award/bewitched/0/7");
    }

    #[test]
    fn pl_12_an_operators_reason_is_short_and_can_be_seen() {
        assert_eq!(kept("no\u{1b}[31m money"), "no[31m money");
        assert_eq!(kept(&"x".repeat(1_000)).len(), REASON_MAX);
    }

    #[test]
    fn pl_31_a_balance_that_can_not_be_true_is_found_and_one_that_can_is_not() {
        let said = |outcome: Outcome, balance_minor, reason: &str| wire::Result {
            outcome: outcome.into(),
            balance_minor,
            reason: reason.to_owned(),
        };
        let is_false = |kind, result: &wire::Result| contradiction(kind, 100, result).is_some();
        for kind in [Kind::Debit, Kind::Credit, Kind::Rollback] {
            assert!(is_false(kind, &said(Outcome::Done, -1, "")));
            assert!(is_false(kind, &said(Outcome::DoneBefore, i64::MIN, "")));
            assert!(!is_false(kind, &said(Outcome::Unknown, -1, "")), "it says nothing");
        }
        assert!(!is_false(Kind::Debit, &said(Outcome::Done, 0, "")));
        assert!(is_false(Kind::Credit, &said(Outcome::Done, 99, "")));
        assert!(!is_false(Kind::Credit, &said(Outcome::DoneBefore, 0, "")), "it may be spent meanwhile");
        assert!(is_false(Kind::Debit, &said(Outcome::Refused, 100, "INSUFFICIENT_FUNDS")));
        assert!(!is_false(Kind::Debit, &said(Outcome::Refused, 99, "INSUFFICIENT_FUNDS")));
        assert!(!is_false(Kind::Debit, &said(Outcome::Refused, 100, "LIMIT")), "there are other reasons");
    }
}
