//! The auditor: verifies a whole log without a service and without trusting its data.
//!
//! [`audit`] verifies files and hash chain, folds all commits into its own books with all their invariants, resolves
//! each step again from its logged seed and choice, compares the outcomes byte for byte, and checks the ledger's index
//! and [`Checkpoints`] if given. [`audit_all`] does this for all partitions and compares them with each other.
//! [`replay`] resolves one round, and [`verify`] a round from a proof file without a log.
//!
//! An audit needs no service, changes nothing in the data folder, and reports the first divergence with its partition,
//! position, expected and found value.
//!
//! Cost: a few microseconds per commit, on one thread per core and two more. Memory grows with players, open rounds and
//! awards, not with the log: at most 6 batches of 512 commits are between the threads.

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
