/// Returns Unix milliseconds.
pub type Clock = std::sync::Arc<dyn Fn() -> i64 + Send + Sync>;
