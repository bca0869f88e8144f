use motherlode_proto::wallet::v1::ReasonCode;
use motherlode_runtime::{Reason, Refusal};
use motherlode_state::{Commit, Currency, Event, Minor, WalletAnswer};

#[derive(Clone)]
pub(crate) struct ConfirmedDebit {
    pub(crate) currency: Currency,
    pub(crate) amount: Minor,
    pub(crate) reported_balance: Minor,
    pub(crate) answer: Option<Box<WalletAnswer>>,
}

impl ConfirmedDebit {
    pub(crate) fn event(&self) -> Event {
        let Self { amount, reported_balance, answer, .. } = self.clone();
        Event::DebitConfirmed { amount, reported_balance, answer }
    }
}

pub(crate) fn ended(commit: &Commit) -> Refusal {
    match commit.events.first() {
        Some(Event::DebitRefused { reason, code }) => {
            let code = i32::try_from(*code).ok().and_then(|code| ReasonCode::try_from(code).ok());
            let code = code.unwrap_or(ReasonCode::Unspecified);
            let is_poor = matches!(code, ReasonCode::Unspecified | ReasonCode::InsufficientFunds);
            let name = if is_poor { Reason::InsufficientFunds } else { Reason::WalletRefused };
            Refusal::new(name, "the operator's wallet refused the bet")
                .with("wallet_reason", reason)
                .with("wallet_reason_code", code.as_str_name().trim_start_matches("REASON_CODE_"))
        }
        Some(Event::DebitRolledBack) => {
            Refusal::new(Reason::DebitRolledBack, "the bet was not played, and its debit is rolled back")
        }
        _ => Refusal::request_id_reused(&commit.request_id),
    }
}
