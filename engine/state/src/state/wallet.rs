use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor, StreamId};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    pub debit: Option<Debit>,
    /// Credits that are due and not paid, and ends of rounds that are not reported, the oldest first. Apart from held ones they
    /// are sent in this order.
    pub dues: VecDeque<UnpaidCredit>,
    /// Whether ends of rounds are reported (PL-39).
    pub reports: bool,
}

impl Wallet {
    /// Credits due that prevent a new round.
    pub const DUES_MAX: usize = 64;

    /// Reports due that prevent a new round.
    pub const CLOSES_MAX: usize = 1_024;

    #[must_use]
    pub fn full(&self) -> Option<usize> {
        let closes = self.dues.iter().filter(|due| due.is_close()).count();
        let credits = self.dues.len() - closes;
        match (credits >= Self::DUES_MAX, closes >= Self::CLOSES_MAX) {
            (true, _) => Some(Self::DUES_MAX),
            (false, true) => Some(Self::CLOSES_MAX),
            (false, false) => None,
        }
    }

    /// Skips held calls.
    #[must_use]
    pub fn next(&self) -> Option<&UnpaidCredit> {
        self.dues.iter().find(|due| !due.held)
    }

    #[must_use]
    pub fn due(&self, currency: Currency) -> Minor {
        let amounts = self.dues.iter().filter(|due| due.currency == currency).map(|due| due.amount.0);
        Minor(amounts.fold(0, i64::saturating_add))
    }

    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.debit.is_some() || !self.dues.is_empty()
    }

    #[must_use]
    pub fn is_owing(&self) -> bool {
        self.next().is_some() || self.debit.as_ref().is_some_and(|debit| debit.rolling_back)
    }

    #[must_use]
    pub fn waiting(&self) -> Option<&Debit> {
        self.debit.as_ref().filter(|debit| !debit.rolling_back)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debit {
    pub request_id: SmolStr,
    pub fingerprint: [u8; 16],
    pub currency: Currency,
    pub amount: Minor,
    /// Position of its `DebitAsked`.
    pub asked_at: u64,
    pub asked_ms: i64,
    pub rolling_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpaidCredit {
    pub request_id: SmolStr,
    pub currency: Currency,
    /// Amount in minor units, above 0; 0 for the report of a round's end.
    pub amount: Minor,
    /// The round whose end the call reports; 0 for none.
    pub closes: u64,
    /// Whether the wallet refused the call, which waits for an operator.
    pub held: bool,
    /// Position of the commit that made the call due.
    pub due_at: u64,
    pub due_ms: i64,
}

impl UnpaidCredit {
    #[must_use]
    pub fn is_close(&self) -> bool {
        self.amount == Minor::ZERO
    }

    /// The round of a report, or 0 for a credit: with the request and the currency, the identity of the call.
    #[must_use]
    pub fn close(&self) -> u64 {
        if self.is_close() { self.closes } else { 0 }
    }

    /// Permanent id of the transaction at the operator's wallet.
    #[must_use]
    pub fn transaction_id(&self, stream: &StreamId) -> String {
        let Self { request_id, currency, .. } = self;
        let StreamId::Player { operator, player } = stream else { return request_id.to_string() };
        match self.close() {
            0 => format!("credit/{operator}/{player}/{currency}/{request_id}"),
            round => format!("close/{operator}/{player}/{round}/{request_id}"),
        }
    }

    pub(crate) fn is(&self, request_id: &str, currency: Currency, close: u64) -> bool {
        self.request_id == request_id && self.currency == currency && self.close() == close
    }
}
