//! Jobs on demand (PL-21, PL-23): audits of the log and simulations of a game.
//!
//! One audit and one simulation run at a time, on threads of the lowest priority. Jobs are in memory only.

mod api;
pub mod compared;
mod going;
mod job;
pub mod simulation;
mod work;

pub use api::JobApi;
pub use job::Jobs;
pub use motherlode_audit::Options as AuditOptions;
