//! The auditor: reads a log from its first byte to its last and believes nothing.
//!
//! [`audit`] verifies the files and the hash chain, folds every commit into books of its own (all invariants of the
//! money and of the pools), resolves every step again from its logged seed and choice and compares the outcome byte for
//! byte, and holds the ledger's index against the result. [`audit_all`] does it for all partitions of a log and compares
//! what they say of each other. [`replay`] does it for one round, to be shown step by step; [`verify`] for one that comes as a proof
//! in a file, without a log. Where there are checkpoints, the log is held against them ([`Checkpoints`]).
//!
//! Promises: no service is needed, nothing in the data folder is written or locked for longer than a look, and the first
//! place where the log is not what it should be is named: partition, position, what was expected and what was found.
//!
//! Costs: a few microseconds a commit in all, on as many threads as there are cores and two more: one reads and chains, some decode,
//! judge and resolve, each for its own players, one folds what all share. Memory grows with players, open rounds and awards, not with the length of the
//! log: between the threads are at most 6 batches of 512 commits.

#[cfg(test)]
extern crate self as motherlode_audit;

#[cfg(test)]
mod attacks;
mod audit;
mod campaigns;
mod cancelled;
mod compare;
mod copy;
mod days;
mod demo;
mod divergence;
mod exchange;
mod facts;
mod fold;
mod judge;
mod outcome;
mod play;
mod playing;
mod projection;
mod proof;
mod reading;
mod recalled;
mod replay;
mod report;
mod tree;
mod whole;
mod worker;

pub use audit::{Options, audit};
pub use copy::{CopyReport, Digest, NOT_CHECKED, audit_copy, digest};
pub use divergence::{Divergence, Unusable};
pub use proof::{Proven, ShownDraw, Unproven, verify};
pub use replay::{ReplayError, Replayed, replay};
pub use report::{Comparison, Report, Return, Seals, Voids};
pub use tree::Checkpoints;
pub use whole::{Whole, audit_all};
