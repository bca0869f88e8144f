//! Shared by all services: configuration, access, refusals as gRPC statuses, telemetry, the stop signal.

pub mod access;
mod appends;
pub mod buffers;
pub mod config;
pub mod connect;
pub mod connections;
pub mod jurisdiction;
mod reads;
pub mod refusal;
pub mod refusal_details;
pub mod stop;
pub mod telemetry;
pub mod trace;
pub mod until;

pub use access::Caller;
pub use appends::Appends;
pub use config::{Config, ConfigError, Interruption};
pub use jurisdiction::{Profiles, UNRESTRICTED};
pub use reads::Reads;
pub use refusal::Refusal;
pub use stop::Stop;

/// Tells the time, in Unix milliseconds.
pub type Clock = std::sync::Arc<dyn Fn() -> i64 + Send + Sync>;
