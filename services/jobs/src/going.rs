//! Progress of a job, shared with its thread.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64},
};

#[derive(Debug, Default)]
pub(crate) struct Going {
    /// Records read, or rounds played.
    pub(crate) done: Arc<AtomicU64>,
    /// Set to cancel the job.
    pub(crate) stop: Arc<AtomicBool>,
}
