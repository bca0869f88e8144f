//! The table of requests: which request made which commit, so that a repetition is told from a new request, for ever.
//!
//! It says at which position to look. The caller reads the commit there and compares stream and request id: equal hashes cost
//! a read of the log and never a wrong answer. The newest commits are in memory; each 131,072 become a [run](run), a file that
//! never changes, and four runs of about the same length become one. So a new request costs a question to a
//! [filter](filter) for each of a dozen runs, and a repetition one read more than that. Runs hold nothing that the log does not:
//! one that is missing, damaged or of another log is made again from it, and each names the records that it begins and
//! ends with. While a file can't be read, what may be in it is refused as unknown.
//!
//! Costs: 1.5 bytes of memory a commit until the filters' budget is used up, then next to none, and a read for each question
//! to a run without a filter; 2 MB for the newest. 13.5 bytes a commit on the disk, written some six times at 1 G commits.

mod files;
pub(crate) mod filter;
mod name;
mod open;
mod parts;
mod run;
mod sealer;
mod stretch;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use name::{Key, Name};
pub(crate) use sealer::Sealer;
pub(crate) use table::{Requests, Tail};
