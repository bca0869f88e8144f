//! A round's one home: what the log says of it, in the engine's words and in those of the wire.
//!
//! - [`live`]: a round in the engine, opened and resolved as the log has it; `terms`: what it's opened with; [`draws`]: the
//!   seeds of its steps;
//! - [`collection`]: what its player carries from round to round;
//! - [`check`]: a commit that plays, resolved again;
//! - [`due`]: the events that a step's outcome demands of its commit;
//! - [`view`]: all that commits say of one round, folded; `award`: what becomes of its jackpots;
//! - [`shown`]: what is shown of outcomes besides what the log holds; [`wire`]: a round as the message that people see.
//!
//! Whoever plays, shows, voids, reports or audits a round does it by these, so a round has one shape and a step is
//! resolved one way. Pure: no I/O, no clock. It stands above the messages of the log, since what the log holds of a
//! stake, a choice and an outcome are messages.

pub mod award;
pub mod check;
pub mod collection;
pub mod draws;
pub mod due;
pub mod live;
pub mod name;
pub mod shown;
pub mod terms;
pub mod view;
pub mod wire;

pub use award::Award;
pub use due::Due;
pub use live::{Live, Unresolvable, game_of, is_gamble};
pub use name::round_name;
pub use terms::{gamble_max_minor, minor_micros, terms_of, terms_to_log};
pub use view::{Fold, RoundView, balance_after};
