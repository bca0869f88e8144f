//! The clock as services are given it.

/// Tells the time, in Unix milliseconds.
pub type Clock = std::sync::Arc<dyn Fn() -> i64 + Send + Sync>;
