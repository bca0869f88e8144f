//! Plain values: money, currencies, rates, names. Each is exact, and knows nothing of what happens to it.

pub(crate) mod account;
pub(crate) mod currency;
pub(crate) mod decimal;
pub(crate) mod money;
pub(crate) mod name;
pub(crate) mod per_currency;
pub(crate) mod rate;
pub(crate) mod stream;
