//! How far a job is, as what works and what tells of it share it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64},
};

/// How far a job is, and whether it's to go on. What works counts it up.
#[derive(Debug, Default)]
pub(crate) struct Going {
    /// Records read, or rounds played.
    pub(crate) done: Arc<AtomicU64>,
    /// Set when it's cancelled.
    pub(crate) stop: Arc<AtomicBool>,
}
