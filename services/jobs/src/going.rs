use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64},
};

#[derive(Debug, Default)]
pub(crate) struct Going {
    /// Number of records read, or of rounds played.
    pub(crate) done: Arc<AtomicU64>,
    pub(crate) stop: Arc<AtomicBool>,
}
