use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    pub debit: Option<Debit>,
    pub dues: VecDeque<UnpaidCredit>,
}

impl Wallet {
    /// Credits due that prevent a new round.
    pub const DUES_MAX: usize = 64;

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
        !self.dues.is_empty() || self.debit.as_ref().is_some_and(|debit| debit.rolling_back)
    }

    /// Returns the debit that is not being rolled back.
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
    /// Position of the request for it.
    pub asked_at: u64,
    pub asked_ms: i64,
    pub rolling_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpaidCredit {
    pub request_id: SmolStr,
    pub currency: Currency,
    pub amount: Minor,
    pub due_at: u64,
    pub due_ms: i64,
}
