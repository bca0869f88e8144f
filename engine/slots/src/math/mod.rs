//! Exact sums, proven bounds and simulation.

pub mod cash;
pub mod first_spins;
pub mod highest;
pub mod highest_paid;
pub mod moments;
mod pairs;
pub(crate) mod run;
pub mod scan;
pub mod simulate;
pub mod ways_moments;
pub mod ways_residues;
