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
    /// The bet, above 0.
    pub amount: Minor,
}
