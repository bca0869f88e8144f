//! Traits and plain types of games.

pub mod carried;
pub mod draws;
pub mod game;
pub mod highest_win;
pub mod info;
pub mod most_expected;
pub mod nature;
pub mod outcome;
pub mod par;
pub mod pool;
pub mod round;
pub mod rounding;
pub mod stake;
