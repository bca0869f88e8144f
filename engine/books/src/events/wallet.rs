//! The parts of a seamless wallet in the log (PL-31): money that the operator keeps, and what it is asked for.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor};

/// A bet's debit is to be asked of the operator's wallet (see [`Event::DebitAsked`](crate::Event::DebitAsked)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebitAsked {
    /// The request that bets. Its one commit ends the debit.
    pub request_id: SmolStr,
    /// The fingerprint of that request.
    pub fingerprint: [u8; 16],
    /// The account's currency.
    pub currency: Currency,
    /// The bet, above 0; 0 to open a free round at the wallet.
    pub amount: Minor,
    /// Purpose of the debit, as it's stated to the wallet (PL-39); `None` in older logs.
    pub facts: Option<Box<DebitFacts>>,
}

/// Purpose of a debit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebitFacts {
    /// Game of the bet.
    pub game: SmolStr,
    /// Version of its rules at the time of the debit.
    pub rules_version: SmolStr,
    /// The operator's session reference; empty for none.
    pub session: SmolStr,
    /// Whether the bet buys a feature (ME-18).
    pub feature_buy: bool,
    /// Campaign of a free round that is opened at the wallet.
    pub campaign: Option<SmolStr>,
    /// Stake of that free round, which the operator's promotion pays; else 0.
    pub stake: Minor,
}

/// Logged parts of a wallet's answer besides the reported balance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalletAnswer {
    /// The wallet's own id of the transaction; empty for none.
    pub transaction_id: SmolStr,
    /// Whether the wallet reported no balance.
    pub balance_unknown: bool,
    /// Part of the amount that was bonus money.
    pub bonus: Minor,
}
