//! Jackpot service: pools contributions, decides hits in log order, pays awards and shows counters. All proposals are
//! pure functions of the books ([`motherlode_state::Books::pool_step`]), so the books can recompute and check each
//! proposal.

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
