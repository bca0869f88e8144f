use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::values::{Currency, Minor};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebitAsked {
    /// Id of the bet's request.
    pub request_id: SmolStr,
    pub fingerprint: [u8; 16],
    pub currency: Currency,
    /// Above 0.
    pub amount: Minor,
}
