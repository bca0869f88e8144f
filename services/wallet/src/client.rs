//! Callers retry a call with the same id until its outcome is known.

use crate::{call::Call, json::Json};
use motherlode_proto::{
    round::v1::Account,
    wallet::v1::{self as wire, Outcome, ReasonCode, wallet_service_client::WalletServiceClient},
};
use motherlode_runtime::connect::Connection;
use motherlode_state::{Minor, WalletAnswer, is_visible};
use std::{sync::Arc, time::Duration};
use tonic::{Code, Status};

const ANSWER_BYTES_MAX: usize = 64 << 10;

const REASON_MAX: usize = 200;

const ID_MAX: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The transaction was applied, by this call or by an earlier one.
    Done { reported_balance: Minor, facts: Option<Box<WalletAnswer>> },
    /// The transaction is refused and will never be applied.
    Refused { reason: String, code: ReasonCode },
    /// The wallet does not know the outcome; the call is retried.
    Unsure,
    /// The wallet gave no valid answer; the call is retried.
    Unknown { why: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckedAnswer {
    pub(crate) answer: Answer,
    pub(crate) contradiction: Option<&'static str>,
}

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
    #[must_use]
    pub fn grpc(connection: Connection, answer_max: Duration) -> Self {
        let wallet = WalletServiceClient::new(connection).max_decoding_message_size(ANSWER_BYTES_MAX);
        Self { face: Face::Grpc(wallet), answer_max }
    }

    /// The key must have at least 32 bytes. `ca` is a root certificate (PEM) for https; `None` means the system's roots.
    pub fn json(url: &str, ca: Option<&[u8]>, key: &[u8], answer_max: Duration) -> Result<Self, String> {
        Ok(Self { face: Face::Json(Arc::new(Json::new(url, ca, key, ANSWER_BYTES_MAX)?)), answer_max })
    }

    pub(crate) async fn send(&self, call: &Call, attempt: u32) -> CheckedAnswer {
        self.answer(call, self.ask(call, attempt)).await
    }

    pub(crate) async fn ask(&self, call: &Call, attempt: u32) -> Result<Option<wire::Result>, Status> {
        macro_rules! ask {
            ($request:ident, $grpc:ident, $json:literal, $response:ty) => {{
                let mut request = (**$request).clone();
                if let Some(context) = &mut request.context {
                    context.attempt = attempt;
                }
                let answered: $response = match self.face.clone() {
                    Face::Grpc(mut wallet) => wallet.$grpc(request).await?.into_inner(),
                    Face::Json(wallet) => wallet.call($json, &request).await?,
                };
                Ok(answered.result)
            }};
        }
        match call {
            Call::Debit(request) => ask!(request, debit, "Debit", wire::DebitResponse),
            Call::Open(request) => ask!(request, open_free_round, "OpenFreeRound", wire::OpenFreeRoundResponse),
            Call::Credit(request) => ask!(request, credit, "Credit", wire::CreditResponse),
            Call::Rollback(request) => ask!(request, rollback, "Rollback", wire::RollbackResponse),
            Call::Close(request) => ask!(request, close_round, "CloseRound", wire::CloseRoundResponse),
        }
    }

    pub(crate) async fn balance(&self, account: &Account) -> Result<i64, Status> {
        let request = wire::GetBalanceRequest { account: Some(account.clone()) };
        let answered: wire::GetBalanceResponse = match self.face.clone() {
            Face::Grpc(mut wallet) => wallet.get_balance(request).await?.into_inner(),
            Face::Json(wallet) => wallet.call("GetBalance", &request).await?,
        };
        Ok(answered.balance_minor)
    }

    pub(crate) fn as_json(&self) -> Option<&Json> {
        match &self.face {
            Face::Grpc(_) => None,
            Face::Json(json) => Some(json),
        }
    }

    async fn answer(
        &self,
        call: &Call,
        asked: impl Future<Output = Result<Option<wire::Result>, Status>>,
    ) -> CheckedAnswer {
        let unknown = |why: &str| CheckedAnswer {
            answer: Answer::Unknown { why: truncated(why, REASON_MAX) },
            contradiction: None,
        };
        match tokio::time::timeout(self.answer_max, asked).await {
            Err(_) => unknown("the wallet did not answer in time"),
            // If the wallet lacks CloseRound, the report counts as refused, so only RetryWalletCalls retries it.
            Ok(Err(status)) if status.code() == Code::Unimplemented && matches!(call, Call::Close(_)) => {
                let reason =
                    truncated(&format!("the wallet does not implement CloseRound: {}", status.message()), REASON_MAX);
                CheckedAnswer { answer: Answer::Refused { reason, code: ReasonCode::Unspecified }, contradiction: None }
            }
            Ok(Err(status)) => unknown(&format!("{:?}: {}", status.code(), status.message())),
            Ok(Ok(None)) => unknown("the wallet's answer has no result"),
            Ok(Ok(Some(result))) => {
                let answer = match result.outcome() {
                    Outcome::Done | Outcome::DoneBefore => Answer::Done {
                        reported_balance: Minor(result.balance_minor.unwrap_or_default()),
                        facts: facts(&result),
                    },
                    Outcome::Refused => Answer::Refused { reason: reason(&result), code: result.reason_code() },
                    Outcome::Unknown => Answer::Unsure,
                    Outcome::Unspecified => return unknown("the wallet's answer has no outcome"),
                };
                CheckedAnswer { answer, contradiction: contradiction(call, &result) }
            }
        }
    }
}

fn facts(result: &wire::Result) -> Option<Box<WalletAnswer>> {
    let answer = WalletAnswer {
        transaction_id: truncated(&result.wallet_transaction_id, ID_MAX).into(),
        balance_unknown: result.balance_minor.is_none(),
        bonus: Minor(result.amount_bonus_minor.unwrap_or_default()),
    };
    (answer != WalletAnswer::default()).then(|| Box::new(answer))
}

fn reason(result: &wire::Result) -> String {
    match (result.reason.as_str(), result.reason_code()) {
        ("", ReasonCode::Unspecified) => String::new(),
        ("", code) => code.as_str_name().trim_start_matches("REASON_CODE_").to_owned(),
        (text, _) => truncated(text, REASON_MAX),
    }
}

/// Returns how the reported balance contradicts the outcome; `None` if a concurrent transaction outside this service could
/// explain the balance. A negative balance after a confirmed call is always a contradiction (PL-09).
fn contradiction(call: &Call, result: &wire::Result) -> Option<&'static str> {
    let reported = result.balance_minor?;
    let amount = match call {
        Call::Debit(request) => request.amount.as_ref(),
        Call::Credit(request) => request.amount.as_ref(),
        Call::Open(_) | Call::Rollback(_) | Call::Close(_) => None,
    };
    let amount = amount.map_or(0, |amount| amount.amount_minor);
    let poor = result.reason == "INSUFFICIENT_FUNDS" || result.reason_code() == ReasonCode::InsufficientFunds;
    match (result.outcome(), call) {
        (Outcome::Done | Outcome::DoneBefore, _) if reported < 0 => {
            Some("the reported balance is negative after a confirmed call")
        }
        (Outcome::Done, Call::Credit(_)) if reported < amount => {
            Some("the reported balance is below the amount just credited")
        }
        (Outcome::Refused, Call::Debit(_)) if poor && reported >= amount => {
            Some("the bet was refused for insufficient funds, but the reported balance covers it")
        }
        _ => None,
    }
}

fn truncated(text: &str, characters_max: usize) -> String {
    text.chars().filter(|letter| is_visible(*letter)).take(characters_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::Money;

    #[test]
    fn pl_12_an_operators_reason_is_short_and_can_be_seen() {
        assert_eq!(truncated("no\u{1b}[31m money", REASON_MAX), "no[31m money");
        assert_eq!(truncated(&"x".repeat(1_000), REASON_MAX).len(), REASON_MAX);
    }

    #[test]
    fn pl_31_a_balance_that_can_not_be_true_is_found_and_one_that_can_is_not() {
        let amount = Some(Money { amount_minor: 100, currency_code: "EUR".to_owned() });
        let debit = Call::Debit(Box::new(wire::DebitRequest { amount: amount.clone(), ..Default::default() }));
        let credit = Call::Credit(Box::new(wire::CreditRequest { amount: amount.clone(), ..Default::default() }));
        let rollback = Call::Rollback(Box::new(wire::RollbackRequest { amount, ..Default::default() }));
        let said = |outcome: Outcome, balance_minor, reason: &str| wire::Result {
            outcome: outcome.into(),
            balance_minor: Some(balance_minor),
            reason: reason.to_owned(),
            ..wire::Result::default()
        };
        let is_false = |call: &Call, result: &wire::Result| contradiction(call, result).is_some();
        for call in [&debit, &credit, &rollback] {
            assert!(is_false(call, &said(Outcome::Done, -1, "")));
            assert!(is_false(call, &said(Outcome::DoneBefore, i64::MIN, "")));
            assert!(!is_false(call, &said(Outcome::Unknown, -1, "")), "an unknown outcome contradicts no balance");
            let silent = wire::Result { balance_minor: None, ..said(Outcome::Done, 0, "") };
            assert!(!is_false(call, &silent), "no balance is reported");
        }
        assert!(!is_false(&debit, &said(Outcome::Done, 0, "")));
        assert!(is_false(&credit, &said(Outcome::Done, 99, "")));
        assert!(!is_false(&credit, &said(Outcome::DoneBefore, 0, "")), "the money may have been spent in the meantime");
        assert!(is_false(&debit, &said(Outcome::Refused, 100, "INSUFFICIENT_FUNDS")));
        let code = ReasonCode::InsufficientFunds.into();
        assert!(is_false(&debit, &wire::Result { reason_code: code, ..said(Outcome::Refused, 100, "") }));
        assert!(!is_false(&debit, &said(Outcome::Refused, 99, "INSUFFICIENT_FUNDS")));
        assert!(
            !is_false(&debit, &said(Outcome::Refused, 100, "LIMIT")),
            "a refusal for another reason contradicts no balance"
        );
    }

    #[test]
    fn pl_39_an_answers_own_id_and_bonus_part_are_kept_and_a_missing_balance_is_no_zero() {
        let plain = wire::Result { balance_minor: Some(0), ..wire::Result::default() };
        assert_eq!(facts(&plain), None);
        let silent = wire::Result { balance_minor: None, ..plain.clone() };
        assert!(facts(&silent).unwrap().balance_unknown);
        let named = wire::Result { wallet_transaction_id: "t".repeat(200), amount_bonus_minor: Some(30), ..plain };
        let kept = facts(&named).unwrap();
        assert_eq!((kept.transaction_id.len(), kept.bonus, kept.balance_unknown), (ID_MAX, Minor(30), false));
    }

    #[test]
    fn pl_39_a_refusal_without_words_has_the_name_of_its_reason() {
        let limit = wire::Result { reason_code: ReasonCode::LimitReached.into(), ..wire::Result::default() };
        assert_eq!(reason(&limit), "LIMIT_REACHED");
        assert_eq!(reason(&wire::Result { reason: "no more today".into(), ..limit }), "no more today");
    }
}
