//! Transactions that are under way between a player's account and the operator's wallet (PL-31).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor};

/// The side of a seamless wallet that the books have: nothing but what is under way. The balance is the operator's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    /// The one debit that was asked and has not ended.
    pub debit: Option<Debit>,
    /// Credits that are due and not paid, the oldest first. They are paid in this order.
    pub dues: VecDeque<Due>,
}

impl Wallet {
    /// Credits that may be due before no further round is begun.
    pub const DUES_MAX: usize = 64;

    /// Sum of the credits due in a currency.
    #[must_use]
    pub fn due(&self, currency: Currency) -> Minor {
        let amounts = self.dues.iter().filter(|due| due.currency == currency).map(|due| due.amount.0);
        Minor(amounts.fold(0, i64::saturating_add))
    }

    /// Whether anything is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.debit.is_some() || !self.dues.is_empty()
    }

    /// Whether the operator's wallet is to be called: a credit is due, or a debit is to be rolled back.
    #[must_use]
    pub fn is_owing(&self) -> bool {
        !self.dues.is_empty() || self.debit.as_ref().is_some_and(|debit| debit.rolling_back)
    }

    /// The debit that waits for its bet, if it isn't being rolled back.
    #[must_use]
    pub fn waiting(&self) -> Option<&Debit> {
        self.debit.as_ref().filter(|debit| !debit.rolling_back)
    }
}

/// A debit that was asked: it ends with its round, refused, or rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debit {
    /// The request that bets.
    pub request_id: SmolStr,
    /// Its fingerprint.
    pub fingerprint: [u8; 16],
    /// The account's currency.
    pub currency: Currency,
    /// The bet.
    pub amount: Minor,
    /// Position of the asking.
    pub asked_at: u64,
    /// Time of the asking, Unix ms.
    pub asked_ms: i64,
    /// It's rolled back, whatever the wallet says of it from here on.
    pub rolling_back: bool,
}

/// A credit that is due. The request id of the commit that made it due, and the currency, name it for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// The request whose commit made it due.
    pub request_id: SmolStr,
    /// The account's currency.
    pub currency: Currency,
    /// Above 0.
    pub amount: Minor,
    /// Position of that commit.
    pub due_at: u64,
    /// Time of that commit, Unix ms.
    pub due_ms: i64,
}
