//! The auditor: verifies a log without a service and without trusting its data.
//!
//! [`audit`] verifies files and hash chain, applies all commits to its own books, resolves each step again, compares
//! outcomes byte for byte, and checks the index and the [`Checkpoints`]. [`audit_all`] also compares a log's partitions.
//! [`replay`] resolves one round of a log; [`verify`] resolves the round in a proof file.
//!
//! An audit changes nothing in the data folder, and reports the first divergence. Memory use grows with players, open
//! rounds and awards, not with the log's length.

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
pub use report::{BaseDigest, Comparison, Report, Return, Seals, Voids};
pub use tree::Checkpoints;
pub use whole::{Whole, audit_all};
