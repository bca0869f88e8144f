use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64},
};

#[derive(Debug, Default)]
pub(crate) struct Going {
    pub(crate) done: Arc<AtomicU64>,
    pub(crate) stop: Arc<AtomicBool>,
}
