//! Plain values: money, currencies, rates, names. They are exact, and know nothing of what happens to them.

pub(crate) mod account;
pub(crate) mod actor;
pub(crate) mod ceiling;
pub(crate) mod currency;
pub(crate) mod decimal;
pub(crate) mod error;
pub(crate) mod head;
pub(crate) mod money;
pub(crate) mod name;
pub(crate) mod per_currency;
pub(crate) mod rate;
pub(crate) mod stream;
pub(crate) mod switch;
