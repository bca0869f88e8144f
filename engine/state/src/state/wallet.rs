use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::restore::Restores;
use crate::values::{Currency, Minor, StreamId};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wallet {
    pub debit: Option<Debit>,
    /// Unconfirmed calls to the wallet, in the order in which they became due.
    pub dues: VecDeque<UnpaidCredit>,
    pub reports: bool,
    pub reported: Option<ReportedBalance>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedBalance {
    pub currency: Currency,
    pub balance: Minor,
    pub position: u64,
    pub time_ms: i64,
}

impl Wallet {
    /// Number of a player's due credits plus reversals at which the player's new rounds are refused.
    pub const DUES_MAX: usize = 64;

    /// Number of a player's due round-end reports at which the player's new rounds are refused.
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

    /// Index of the next credit to send: the oldest that is not held, and that does not wait for an earlier report or
    /// reversal of the same round.
    #[must_use]
    pub fn next_credit(&self) -> Option<usize> {
        let is_ready = |(index, due): &(usize, &UnpaidCredit)| {
            let of_round = |earlier: &UnpaidCredit| {
                !earlier.held && earlier.kind() != DueKind::Credit && earlier.closes == due.closes
            };
            let waits = due.closes > 0 && self.dues.iter().take(*index).any(of_round);
            !due.held && due.kind() == DueKind::Credit && !waits
        };
        self.dues.iter().enumerate().find(is_ready).map(|(index, _)| index)
    }

    /// Index of the next round-end report or reversal to send. Held calls are skipped. A report waits for earlier
    /// credits that are not held; a reversal waits for all earlier credits, because only a paid win can be reversed.
    #[must_use]
    pub fn next_report(&self) -> Option<usize> {
        let (mut is_first, mut is_paid) = (true, true);
        self.dues.iter().position(|due| {
            let is_ready = match due.kind() {
                DueKind::Credit => {
                    (is_first, is_paid) = (is_first && due.held, false);
                    false
                }
                DueKind::Close => is_first,
                DueKind::Reversal => is_paid,
            };
            is_ready && !due.held
        })
    }

    /// Sum of the due credits, excluding reversals. Their money has left the player's account, but the wallet has not
    /// confirmed it.
    #[must_use]
    pub fn due(&self, currency: Currency) -> Minor {
        let amounts = self.dues.iter().filter(|due| due.currency == currency).map(|due| due.amount.0.max(0));
        Minor(amounts.fold(0, i64::saturating_add))
    }

    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.debit.is_some() || !self.dues.is_empty()
    }

    #[must_use]
    pub fn is_owing(&self) -> bool {
        self.dues.iter().any(|due| !due.held) || self.debit.as_ref().is_some_and(|debit| debit.rolling_back)
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
    pub asked_at: u64,
    pub asked_ms: i64,
    pub rolling_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpaidCredit {
    pub request_id: SmolStr,
    pub currency: Currency,
    /// Amount in minor units: above 0 for a credit, 0 for a round-end report, below 0 for a reversal.
    pub amount: Minor,
    /// Round whose end the call reports, or whose win it reverses; 0 if it does neither.
    pub closes: u64,
    /// Whether the wallet refused the call, which then waits for `RetryWalletCalls`.
    pub held: bool,
    /// Position of the commit that made the call due.
    pub due_at: u64,
    pub due_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueKind {
    Credit,
    Close,
    Reversal,
}

impl UnpaidCredit {
    #[must_use]
    pub fn kind(&self) -> DueKind {
        match self.amount.0 {
            0 => DueKind::Close,
            1.. => DueKind::Credit,
            _ => DueKind::Reversal,
        }
    }

    #[must_use]
    pub fn reversal(&self) -> Minor {
        Minor(self.amount.0.saturating_neg().max(0))
    }

    #[must_use]
    pub fn is_close(&self) -> bool {
        self.kind() == DueKind::Close
    }

    /// Round whose end the call reports; 0 for a credit or reversal. Round, request id and currency together identify
    /// the call.
    #[must_use]
    pub fn close(&self) -> u64 {
        if self.is_close() { self.closes } else { 0 }
    }

    /// Transaction id that every attempt of the call sends to the operator's wallet.
    #[must_use]
    pub fn transaction_id(&self, stream: &StreamId, restores: &Restores) -> String {
        let Self { request_id, currency, .. } = self;
        let StreamId::Player { operator, player } = stream else { return request_id.to_string() };
        let id = match self.kind() {
            DueKind::Credit => format!("credit/{operator}/{player}/{currency}/{request_id}"),
            DueKind::Reversal => format!("reversal/{operator}/{player}/{currency}/{request_id}"),
            DueKind::Close => format!("close/{operator}/{player}/{}/{request_id}", self.closes),
        };
        restores.transaction_id(self.due_at, id)
    }

    pub(crate) fn is(&self, request_id: &str, currency: Currency, close: u64) -> bool {
        self.request_id == request_id && self.currency == currency && self.close() == close
    }
}
