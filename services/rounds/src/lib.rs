//! Computations on rounds, without I/O or a clock.
//!
//! - [`live`]: rounds resolved in the engine; [`draws`]: seeds of rounds
//! - [`collection`]: figures carried between rounds
//! - [`check`]: verification of steps; [`due`]: events that an outcome requires
//! - [`view`]: rounds computed from commits; `award`: jackpot awards of rounds
//! - [`shown`]: displayed figures that are not in the log; [`wire`]: conversion to messages

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
