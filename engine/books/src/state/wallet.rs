//! Seamless wallets' transactions in progress (PL-31).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor};

/// Seamless wallet without its balance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    /// Open debit.
    pub debit: Option<Debit>,
    /// Credits due, paid in this order.
    pub dues: VecDeque<Due>,
}

impl Wallet {
    /// Credits due that prevent a new round.
    pub const DUES_MAX: usize = 64;

    /// Returns the credits due in a currency.
    #[must_use]
    pub fn due(&self, currency: Currency) -> Minor {
        let amounts = self.dues.iter().filter(|due| due.currency == currency).map(|due| due.amount.0);
        Minor(amounts.fold(0, i64::saturating_add))
    }

    /// Returns whether anything is in progress.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.debit.is_some() || !self.dues.is_empty()
    }

    /// Returns whether the wallet must be called.
    #[must_use]
    pub fn is_owing(&self) -> bool {
        !self.dues.is_empty() || self.debit.as_ref().is_some_and(|debit| debit.rolling_back)
    }

    /// Returns the debit, unless being rolled back.
    #[must_use]
    pub fn waiting(&self) -> Option<&Debit> {
        self.debit.as_ref().filter(|debit| !debit.rolling_back)
    }
}

/// Open debit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debit {
    /// Id of the bet's request.
    pub request_id: SmolStr,
    /// Fingerprint of the request.
    pub fingerprint: [u8; 16],
    /// Currency of the account.
    pub currency: Currency,
    /// Bet.
    pub amount: Minor,
    /// Position of the request for it.
    pub asked_at: u64,
    /// Time of its request, Unix ms.
    pub asked_ms: i64,
    /// Whether it must be rolled back.
    pub rolling_back: bool,
}

/// Credit due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// Request that made it due.
    pub request_id: SmolStr,
    /// Currency of the account.
    pub currency: Currency,
    /// Above 0.
    pub amount: Minor,
    /// Position of that commit.
    pub due_at: u64,
    /// Time of that commit, Unix ms.
    pub due_ms: i64,
}
