//! Seamless wallets in the log (PL-31).

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor};

/// Debit to request from the operator's wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebitAsked {
    /// Id of the bet's request.
    pub request_id: SmolStr,
    /// Fingerprint of that request.
    pub fingerprint: [u8; 16],
    /// Currency of the account.
    pub currency: Currency,
    /// Bet, above 0.
    pub amount: Minor,
}
