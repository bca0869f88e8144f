//! Transactions that are under way between a player's account and the operator's wallet (PL-31).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor, StreamId};

/// The side of a seamless wallet that the books have: nothing but what is under way. The balance is the operator's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    /// The one debit that was asked and has not ended.
    pub debit: Option<Debit>,
    /// Credits that are due and not paid, and ends of rounds that are not reported, the oldest first. Apart from held ones they
    /// are sent in this order.
    pub dues: VecDeque<Due>,
    /// Whether ends of rounds are reported (PL-39).
    pub reports: bool,
}

impl Wallet {
    /// Credits that may be due before no further round is begun.
    pub const DUES_MAX: usize = 64;

    /// Ends of rounds that may wait for their report before no further round is begun.
    pub const CLOSES_MAX: usize = 1_024;

    /// Limit that the waiting calls have reached; no further round is begun.
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

    /// The next call that is due: the oldest that is not held.
    #[must_use]
    pub fn next(&self) -> Option<&Due> {
        self.dues.iter().find(|due| !due.held)
    }

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
        self.next().is_some() || self.debit.as_ref().is_some_and(|debit| debit.rolling_back)
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

/// A credit that is due, or the end of a round that is to be reported. The request id of the commit that caused it, the currency
/// and, for a report, the round identify it permanently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// The request whose commit made it due.
    pub request_id: SmolStr,
    /// The account's currency.
    pub currency: Currency,
    /// Above 0; 0 for the report of a round's end.
    pub amount: Minor,
    /// The round whose end the call reports; 0 for none.
    pub closes: u64,
    /// Whether the wallet refused the call, which waits for an operator.
    pub held: bool,
    /// Position of that commit.
    pub due_at: u64,
    /// Time of that commit, Unix ms.
    pub due_ms: i64,
}

impl Due {
    /// Whether it moves no money and reports the end of a round.
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

    /// Whether it is the call of this identity.
    pub(crate) fn is(&self, request_id: &str, currency: Currency, close: u64) -> bool {
        self.request_id == request_id && self.currency == currency && self.close() == close
    }
}
