//! Spin service: resolves rounds. Its only state is draw keys and sessions.
//!
//! [`bet`] parses a request, [`decide`] resolves it into events, the ledger appends the events, and [`played`] answers
//! from the commit. After a version conflict a request is decided again on the new state, with the same client seed and
//! request id.

mod abandoned_rounds;
mod answer;
mod api;
mod automatic;
mod autospin;
mod bet;
mod calls;
mod campaign;
mod campaigns;
mod completer;
mod dealer;
mod debited;
mod decide;
mod demo;
mod describe;
mod free_rounds;
mod interruption;
mod jackpot_returns;
mod liability;
mod pace;
mod play_rules;
mod played;
mod registry;
mod seamless;
mod service;
mod session;
mod session_id;
mod stake;
mod state;
mod stated;
mod stream;
mod superseded;
mod waits;

pub use abandoned_rounds::AbandonedRounds;
pub use answer::PlayedBytes;
pub use api::SpinApi;
pub use calls::{Answered, PlayQueue};
pub use dealer::{Dealer, RENEW_EVERY, Resolve, Script};
pub use liability::highest_cost;
pub use waits::{UnknownName, Waits};
