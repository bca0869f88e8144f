use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebitAsked {
    pub request_id: SmolStr,
    pub fingerprint: [u8; 16],
    pub currency: Currency,
    /// Requested amount; 0 only for a free round.
    pub amount: Minor,
    /// Purpose of the debit, as sent to the wallet (PL-39); `None` in older logs.
    pub facts: Option<Box<DebitFacts>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebitFacts {
    pub game: SmolStr,
    pub rules_version: SmolStr,
    /// Operator's own session id; empty if there is none.
    pub session: SmolStr,
    pub feature_buy: bool,
    pub campaign: Option<SmolStr>,
    /// Price of the free round, which the operator's promotion account pays; 0 if the round is not free.
    pub stake: Minor,
}

/// Parts of the wallet's answer that are logged with the reported balance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalletAnswer {
    /// Id that the wallet gave the transaction; empty if the wallet sent none.
    pub transaction_id: SmolStr,
    pub balance_unknown: bool,
    /// Part of the transaction's amount that is bonus money.
    pub bonus: Minor,
}
