//! Data file sections and round mechanics.

pub mod collection;
pub mod data;
pub mod expansion;
pub mod file;
pub mod free_spins;
pub mod gamble;
pub mod hold_and_win;
pub mod ladder;
pub mod lines;
pub mod picks;
pub mod placed;
pub mod reels;
pub mod scatters;
pub mod ways;
pub mod weights;
pub mod wheel;
pub mod windows;
pub mod worth;
