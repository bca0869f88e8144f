//! Jackpot service: pools contributions and decides hits in log order, pays awards, shows counters. All proposals are
//! pure functions of the books ([`motherlode_state::Books::pool_step`]), which check them. An award's request id
//! contains the hit's position, so it is paid once.

mod coordinator;
mod copies;
mod counters;
mod payments;
mod proposal;
mod service;
mod span;
mod wire;

pub use coordinator::{PoolCoordinator, standard_terms};
pub use service::JackpotApi;
