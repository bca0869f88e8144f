//! The jackpot service: pools contributions and decides hits in log order, has awards paid, shows the counters.
//!
//! A bet writes to no pool. [`Steward`] follows the log: it pools contributions by position, prices each hit at its
//! place in the log, and has the award paid into the player's stream under a request id made of the hit's position, so
//! that after any crash the same award is paid once. It also copies home's decisions into all other partitions. Its
//! proposals are a pure function of the books ([`motherlode_books::Books::pool_step`]), and the ledger checks them like
//! any others.

mod copies;
mod counters;
mod payments;
mod proposal;
mod service;
mod span;
mod steward;
mod wire;

pub use service::JackpotApi;
pub use steward::{Steward, standard_terms};
