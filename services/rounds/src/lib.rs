//! Rounds: computations shared by play, display, voids, reports and audits, without I/O and clock.
//!
//! - [`live`], `terms`, [`draws`]: rounds resolved in the engine, their terms and seeds
//! - [`collection`]: figures carried between rounds
//! - [`check`], [`due`]: verification of steps, events required by an outcome
//! - [`view`], `award`: rounds folded from commits, their awards
//! - [`shown`], [`wire`]: displayed figures that are not in the log, conversion to messages

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
pub use due::StepEvents;
pub use live::{Live, Unresolvable, game_of, is_gamble};
pub use name::round_name;
pub use terms::{gamble_max_minor, minor_micros, terms_of, terms_to_log};
pub use view::{Fold, RoundView, balance_after};
