//! Long work on demand (PL-21, PL-23): audits of the log and simulations of a game's rounds, started, watched and cancelled while the
//! service plays on.
//!
//! One audit and one simulation run at a time, on threads of the lowest priority; what was done last is kept in memory, so much of it.
//! Nothing of a job is logged, and none outlives the process. The command line plays simulations by the same [`simulation`].
//!
//! Costs: an audit has a reading thread, one that resolves and one that folds, and a few batches of records between them; a simulation
//! has one thread.

mod api;
pub mod compared;
mod going;
mod job;
pub mod simulation;
mod work;

pub use api::JobApi;
pub use job::Jobs;
/// The part of the log that an audit is of.
pub use motherlode_audit::Options as AuditOptions;
