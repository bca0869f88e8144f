//! The ground floor: what a game promises, and the plain types in which it says so.
//!
//! Nothing here knows a game, a part or a method of calculation. All other floors stand on this one.

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
