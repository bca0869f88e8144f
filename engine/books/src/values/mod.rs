//! Plain exact values.

mod account;
mod actor;
mod ceiling;
mod currency;
pub mod date;
mod decimal;
pub mod draw;
mod error;
mod head;
mod money;
mod name;
mod per_currency;
mod rate;
mod stream;
mod switch;

pub use account::{Account, Posting};
pub use actor::ANYONE;
pub use ceiling::Ceiling;
pub use currency::Currency;
pub use decimal::digits;
pub use draw::{Dealt, DrawName, Epoch, RecordHash, Salt, Seal};
pub use error::MoneyError;
pub use head::{End, Head};
pub use money::{CoinValue, Minor, Nano, cash};
pub use name::{is_id, is_name, is_text, is_visible, number};
pub use per_currency::PerCurrency;
pub use rate::{FxRate, Rates, contribution};
pub use stream::{HOME, NotAStream, StreamId};
pub use switch::Switch;

pub(crate) use actor::operator_of;
pub(crate) use rate::exchange;
