//! Audits of the log and simulations of a game, which clients start as jobs (PL-21, PL-23).
//!
//! At most one audit and one simulation run at the same time, on threads with the lowest priority. Jobs are kept only
//! in memory.

mod api;
pub mod compared;
mod going;
mod job;
pub mod simulation;
mod work;

pub use api::JobApi;
pub use job::Jobs;
pub use motherlode_audit::Options as AuditOptions;
