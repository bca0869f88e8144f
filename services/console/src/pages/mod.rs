//! Pages of the console.

pub(crate) mod check;
mod course;
mod day;
mod days;
pub(crate) mod find;
mod frames;
pub(crate) mod games;
pub(crate) mod incidents;
pub(crate) mod jackpots;
pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod now;
pub(crate) mod par;
mod parts;
pub(crate) mod player;
mod postings;
pub(crate) mod reconciliation;
pub(crate) mod reports;
mod returns;
pub(crate) mod revenue;
pub(crate) mod round;
pub(crate) mod switches;
pub(crate) mod trust;
