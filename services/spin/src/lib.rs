//! The spin service: resolves rounds. It holds no money, and no state but its generator and the sessions.
//!
//! A call is followed through four files: [`bet`] checks the request, [`decide`] reads the player's state and resolves
//! the step into events, the ledger appends them, [`played`] says what the commit did. On a conflict the decision is
//! made again on the new state, with the same client seed and request id; a draw is used once, and the outcome of an attempt
//! that didn't come to be is nobody's.

mod answer;
mod api;
mod automatic;
mod autospin;
mod bet;
mod calls;
mod campaign;
mod campaigns;
mod dealer;
mod debited;
mod decide;
mod demo;
mod describe;
mod finisher;
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
mod sweeper;
mod waits;

pub use answer::PlayedBytes;
pub use api::SpinApi;
pub use calls::{Answered, Call, Calls, Play};
pub use dealer::{Dealer, RENEW_EVERY, Resolve, Script};
pub use liability::highest_cost;
pub use sweeper::Sweeper;
pub use waits::{UnknownName, Waits};
